/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of Header and RequestHeader, from the directive to the table of headers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "test_pool.h"
#include "test_directive.h"
#include "test_request.h"
#include "headers_private.h"

static const headers_conf *headers_context(const char *const *lines)
{
    headers_conf *conf = headers_module.create_dir_config(test_pool, NULL);

    for (; *lines; lines++) {
        assert_null(test_directive(test_pool, &headers_module, NULL, conf, "/", *lines));
    }
    return conf;
}

/* The value of X after the rules ran over a table that holds X: start (NULL = nothing). */
static const char *headers_result(const char *start, const char *line)
{
    const char *lines[] = {line, NULL};
    request_rec *r = test_request(test_pool);

    if (start) {
        apr_table_setn(r->headers_out, "X", start);
    }
    apr_table_setn(r->subprocess_env, "E", "one\r\ntwo");
    assert_int_equal(
        headers_apply(r, r->headers_out, headers_context(lines)->rules[HEADERS_SUCCESS], 0), 1);
    return apr_table_get(r->headers_out, "X");
}

static const struct {
    const char *start, *line, *expected;
} headers_cases[] = {
    {NULL, "Header set X a", "a"},
    {"b", "Header set X: a", "a"},
    {"b", "Header setifempty X a", "b"},
    {NULL, "Header setifempty X a", "a"},
    {"b", "Header append X a", "b, a"},
    {"b", "Header unset x", NULL},
    {"a,b ,\"c,d\"", "Header merge X b", "a,b ,\"c,d\", b"},
    {"a, b", "Header merge X b", "a, b"},
    {"a,\"b,c\"", "Header merge X c", "a,\"b,c\", c"},
    {"a", "Header merge X A", "a, A"},
    {NULL, "Header merge X b", "b"},
    {"a-b-c", "Header edit X - +", "a+b-c"},
    {"a-b-c", "Header edit* X - +", "a+b+c"},
    {"abc", "Header edit X (b) <$1$1>", "a<bb>c"},
    {"abc", "Header edit X z y", "abc"},
    {"abc", "Header edit* X ^ y", "yabc"}, /* a match without length, which Apache's recurses on */
    {"abc", "Header edit* X z* y", "yabc"},
    {"abc", "Header edit* X . \"\"", ""},
    {NULL, "Header set X \"100%% %{E}e|%{none}e\"", "100% one  two|(null)"},
    {NULL, "Header set X 'a\\tb\\\\\\\\c\\q%'", "a\tb\\c\\q%"},
    {NULL, "Header set X a env=none", NULL},
    {NULL, "Header set X a env=!none", "a"},
    {NULL, "Header set X a env=E", "a"},
    {NULL, "Header set X a early", NULL},
    {NULL, "Header onsuccess set X a", "a"},
    {NULL, "Header always set X a", NULL},
};

static void rules_change_the_table(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(headers_cases) / sizeof(headers_cases[0]); i++) {
        const char *value = headers_result(headers_cases[i].start, headers_cases[i].line);

        if (headers_cases[i].expected == NULL) {
            assert_null(value);
        } else {
            assert_non_null(value);
            assert_string_equal(value, headers_cases[i].expected);
        }
    }
}

static void rules_that_vary_are_known(void **state)
{
    static const struct {
        const char *line;
        int varies;
    } cases[] = {
        {"Header set X a", 0},  {"Header always unset X", 0}, {"Header edit X a b", 0},
        {"Header set X %%", 0}, {"Header set X %D", 1},       {"Header set X a env=b", 0},
        {"Header echo X", 1},   {"Header edit X a %{b}e", 0}, {"RequestHeader unset X", 0},
        {"Header note X n", 0},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *lines[] = {cases[i].line, NULL};

        assert_int_equal(headers_context(lines)->varies, cases[i].varies);
    }
}

static void mistakes_are_refused(void **state)
{
    static const char *const lines[] = {
        "Header",
        "Header set A",
        "Header set A b c",
        "Header unset A b c",
        "Header edit A b",
        "Header edit A ( b",
        "Header echo (",
        "Header set A b env=",
        "Header set A %q",
        "Header set A %{x",
        "RequestHeader echo A",
        "RequestHeader note A b",
        "Header edit A b c early x",
    };
    size_t i;

    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        headers_conf *conf = headers_module.create_dir_config(test_pool, NULL);

        assert_non_null(test_directive(test_pool, &headers_module, NULL, conf, NULL, lines[i]));
        assert_null(conf->rules[HEADERS_SUCCESS]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(rules_change_the_table),
        TEST_WITH_POOL(rules_that_vary_are_known),
        TEST_WITH_POOL(mistakes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
