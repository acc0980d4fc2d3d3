/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "substitute_private.h"
#include "test_request.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_hooks.h"
#include "apr_general.h"
#include "apr_strings.h"

extern module AP_MODULE_DECLARE_DATA substitute_module;

static apr_pool_t *pool;

static int set_up(void **state)
{
    (void)state;
    return apr_initialize() || apr_pool_create(&pool, NULL);
}

static void test_arguments(void **state)
{
    static const struct {
        const char *line, *error;
    } cases[] = {
        {"s/a/b/", NULL},
        {"s/a/b", NULL},
        {"S|a|b|infq", NULL},
        {"x/a/b/", "Bad Substitute format, must be an s/// pattern"},
        {"s", "Bad Substitute format, must be a complete s/// pattern"},
        {"s/", "Bad Substitute format, must be a complete s/// pattern"},
        {"s/a", "Bad Substitute format, must be a complete s/// pattern"},
        {"s//b/", "Bad Substitute format, must be a complete s/// pattern"},
        {"s/a/b/g", "Bad Substitute flag, only s///[infq] are supported"},
        {"s/(/b/", "Substitute could not compile regex"},
        {"s/(/b/n", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        subst_rule rule;
        const char *error = subst_parse(pool, cases[i].line, &rule);

        if (cases[i].error)
            assert_string_equal(error, cases[i].error);
        else
            assert_null(error);
    }
}

/* @a rules, with blanks between them, on a line; NULL: it gets too long. */
static const char *applied(const char *rules, const char *line, apr_size_t most)
{
    apr_array_header_t *all = apr_array_make(pool, 4, sizeof(subst_rule));
    apr_array_header_t *pieces = apr_array_make(pool, 1, sizeof(subst_piece));
    const char *result = "";

    while (*rules)
        assert_null(subst_parse(pool, ap_getword_white(pool, &rules), apr_array_push(all)));
    APR_ARRAY_PUSH(pieces, subst_piece) = (subst_piece){line, strlen(line)};
    if (subst_line(test_request(pool), pool, all, most, &pieces) != APR_SUCCESS)
        return NULL;
    for (int i = 0; i < pieces->nelts; i++) {
        const subst_piece *piece = &APR_ARRAY_IDX(pieces, i, subst_piece);

        result = apr_pstrcat(pool, result, apr_pstrmemdup(pool, piece->data, piece->len), NULL);
    }
    return result;
}

static void test_lines(void **state)
{
    static const struct {
        const char *rules, *line, *result;
    } cases[] = {
        {"s/foo/bar/", "a foo b foo\n", "a bar b bar\n"},
        {"s/A/x/ni", "aAa\n", "xxx\n"},
        {"s/a.b/X/n", "a.b axb\n", "X axb\n"},
        {"s/a/$1/n", "a\n", "$1\n"},
        {"s/^a/X/", "aaa\n", "XXX\n"},
        {"s/a$/X/", "aaa\n", "aaa\n"},
        {"s/./X/", "ab\n", "XX\n"},
        {"s/\\n/X/", "ab\n", "abX"},
        {"s/(a)(b)?/[$1$2$0&\\&\\$1]/", "ab\n", "[abab&&$1]\n"},
        {"s/foo/bar/ s/xbar/Z/", "xfoo\n", "Z\n"},
        {"s/foo/bar/q s/xbar/Z/", "xfoo\n", "xbar\n"},
        {"s/foo/bar/nq s/bar/Z/nq", "xfoo bar\n", "xZ Z\n"},
        {"s/a+// s/q/r/", "aab\n", "b\n"},
        /* nothing is found for ever */
        {"s/x*/Y/", "axb", "YaYYb"},
        {"s/^/Y/ s/q/r/", "ab", "YaYb"},
        {"s/$/Z/", "ab", "abZ"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(applied(cases[i].rules, cases[i].line, 1000), cases[i].result);
}

/* As Apache counts: what is replaced and what stands before it; of one rule for strings all of the line. */
static void test_long_lines(void **state)
{
    (void)state;
    assert_non_null(applied("s/A/1/", "Acccccccccc\n", 6));
    assert_null(applied("s/A/1/n", "Acccccccccc\n", 6));
    assert_non_null(applied("s/A/12345/n", "cA", 6));
    assert_null(applied("s/A/12345/", "cA", 6));
    assert_non_null(applied("s/A/123/n s/q/r/", "cccA\n", 6));
    assert_null(applied("s/A/123/n s/q/r/", "ccccA\n", 6));
    assert_null(applied("s/a/b/", "a\n", 0));
    assert_non_null(applied("s/a/b/", "\n", 0));
}

/* Of a file of a known size that is small no worker is needed. */
static void test_much_text_is_for_a_worker(void **state)
{
    static const struct {
        int has_filter;
        apr_filetype_e type;
        apr_off_t size;
        int blocks;
    } cases[] = {
        {1, APR_NOFILE, 0, 1},
        {1, APR_REG, 100, 0},
        {1, APR_REG, 100 << 20, 1},
        {0, APR_NOFILE, 0, 0},
    };

    (void)state;
    apr_hook_global_pool = pool;
    substitute_module.register_hooks(pool);
    apr_hook_sort_all();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        request_rec *r = test_request_kept(pool, NULL, NULL);

        r->server->module_config = apr_pcalloc(pool, 8 * sizeof(void *));
        ap_add_output_filter(cases[i].has_filter ? "SUBSTITUTE" : "other", NULL, r, r->connection);
        r->finfo.filetype = cases[i].type;
        r->finfo.size = cases[i].size;
        ap_run_insert_filter(r);
        assert_int_equal(request_may_block(r), cases[i].blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_much_text_is_for_a_worker),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
