/* SPDX-License-Identifier: Apache-2.0 */
/* Substitutions, conditions and targets of a request without a server. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <apr_general.h>
#include "rewrite_private.h"
#include "test_request.h"

static apr_pool_t *pool;
static rewrite_run run;

static int set_up(void **state)
{
    static const char subject[] = "/a b?c/d";

    apr_pool_create(&pool, NULL);
    memset(&run, 0, sizeof run);
    run.r = test_request(pool);
    run.uri = subject;
    run.rule.source = run.cond.source = subject;
    for (int i = 0; i < AP_MAX_REG_MATCH; i++)
        run.rule.at[i] = run.cond.at[i] = (ap_regmatch_t){-1, -1};
    run.rule.at[0] = (ap_regmatch_t){0, 8};
    run.rule.at[1] = (ap_regmatch_t){1, 6}; /* a b?c */
    run.cond.at[1] = (ap_regmatch_t){7, 8}; /* d */
    apr_table_setn(run.r->subprocess_env, "E", "env");
    return 0;
}

static int tear_down(void **state)
{
    apr_pool_destroy(pool);
    return 0;
}

static void references_are_replaced(void **state)
{
    static const char *const texts[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"$0|$1|$2|%1|%2", "/a b?c/d|a b?c||d|"},
        {"\\$1\\%1\\\\\\", "$1%1\\\\"},
        {"$x%x$", "$x%x$"},
        {"%{ENV:E}%{env:none}%{ENV:E", "env%{ENV:E"},
        {"%{PATH_INFO}%{path_info}%{NONE}", "/info/info"},
        {"${no-colon}", "${no-colon}"},
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(rewrite_expand(&run, texts[i][0], NULL), texts[i][1]);
}

static void groups_are_escaped(void **state)
{
    rewrite_rule rule = {.flags = REWRITE_F_ESCAPE};

    assert_string_equal(rewrite_expand(&run, "$1", &rule), "a+b%3fc");
    rule.flags |= REWRITE_F_NOPLUS;
    assert_string_equal(rewrite_expand(&run, "$1", &rule), "a%20b%3fc");
    rule.noescapes = " ";
    assert_string_equal(rewrite_expand(&run, "$1", &rule), "a b%3fc");
    rule.noescapes = NULL;
    rule.escapes = "ab?";
    assert_string_equal(rewrite_expand(&run, "$1", &rule), "a b%3fc");
    rule.escapes = NULL;
    rule.flags |= REWRITE_F_CTLS;
    assert_string_equal(rewrite_expand(&run, "$1", &rule), "a%20b?c");
}

static void a_mark_from_outside_is_seen(void **state)
{
    (void)rewrite_expand(&run, "/x/$1", NULL);
    assert_true(run.is_unsafe);
    (void)rewrite_expand(&run, "/x?$1", NULL);
    assert_false(run.is_unsafe);
    (void)rewrite_expand(&run, "/x/%1", NULL);
    assert_false(run.is_unsafe);
}

static void comparisons_are_by_length_and_number(void **state)
{
    static const struct {
        const char *input, *operand;
        rewrite_test test;
        int holds;
    } cases[] = {
        {"b", "aa", REWRITE_LESS, 1},      {"aa", "b", REWRITE_MORE, 1},
        {"a", "a", REWRITE_SAME, 1},       {"a", "a", REWRITE_MORE_EQUAL, 1},
        {"a", "b", REWRITE_MORE_EQUAL, 0}, {"5", "10", REWRITE_LT, 1},
        {"x", "0", REWRITE_EQ, 1},         {"-3", "-2", REWRITE_GE, 0},
        {"7", "7", REWRITE_LE, 1},         {"8", "7", REWRITE_GT, 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rewrite_cond cond = {.input = cases[i].input,
                             .shown = "",
                             .operand = cases[i].operand,
                             .test = cases[i].test};

        assert_int_equal(rewrite_cond_holds(&run, &cond), cases[i].holds);
        cond.negated = 1;
        assert_int_equal(rewrite_cond_holds(&run, &cond), !cases[i].holds);
        cond.negated = 0;
        assert_int_equal(rewrite_cond_kind(&cond, cond.input, strlen(cond.input)), cases[i].holds);
    }
}

static void fields_are_known(void **state)
{
    assert_string_equal(rewrite_field_of(pool, "%{HTTP_USER_AGENT}"), "User-Agent");
    assert_string_equal(rewrite_field_of(pool, "%{http:X-A}"), "X-A");
    assert_null(rewrite_field_of(pool, "%{HTTP_HOST}"));
    assert_null(rewrite_field_of(pool, "%{REQUEST_URI}"));
    assert_null(rewrite_field_of(pool, "x%{HTTP_COOKIE}"));
    assert_null(rewrite_field_of(pool, "%{HTTP_COOKIE}%{HTTP_COOKIE}"));
    assert_null(rewrite_field_of(pool, "%{"));
}

/* ---- targets ---- */

static void schemes_have_lengths(void **state)
{
    int has_query = 0;

    assert_int_equal(rewrite_scheme("http://x", &has_query), 7);
    assert_int_equal(has_query, 1);
    assert_int_equal(rewrite_scheme("MAILTO:x", NULL), 7);
    assert_int_equal(rewrite_scheme("ldap://x", &has_query), 7);
    assert_int_equal(has_query, 0);
    assert_int_equal(rewrite_scheme("foo://x", NULL), 0);
    assert_int_equal(rewrite_scheme("/http://x", NULL), 0);
}

static const char *split(const char *filename, const char *args, unsigned flags)
{
    run.r->filename = apr_pstrdup(pool, filename);
    run.r->args = args ? apr_pstrdup(pool, args) : NULL;
    rewrite_split_query(run.r, flags);
    return run.r->args ? run.r->args : "(none)";
}

static void queries_are_split_off(void **state)
{
    assert_string_equal(split("/a?b", "c", 0), "b");
    assert_string_equal(run.r->filename, "/a");
    assert_string_equal(split("/a", "c", 0), "c");
    assert_string_equal(split("/a?b", "c", REWRITE_F_QSAPPEND), "b&c");
    assert_string_equal(split("/a?b", NULL, REWRITE_F_QSAPPEND), "b");
    assert_string_equal(split("/a?", "c", REWRITE_F_QSAPPEND), "c");
    assert_string_equal(split("/a?", "c", 0), "(none)");
    assert_string_equal(split("/a?b?c", "d", REWRITE_F_QSLAST), "c");
    assert_string_equal(run.r->filename, "/a?b");
    assert_string_equal(split("/a?b", "c", REWRITE_F_QSNONE), "(none)");
    assert_string_equal(split("/a", "c", REWRITE_F_QSDISCARD), "(none)");
    assert_string_equal(split("ldap://h/dn?x", "c", 0), "(none)");
    assert_string_equal(run.r->filename, "ldap://h/dn?x");
}

static const char *escaped(const char *url)
{
    return rewrite_escape_url(pool, apr_pstrdup(pool, url), rewrite_scheme(url, NULL));
}

static void paths_of_urls_are_escaped(void **state)
{
    assert_string_equal(escaped("http://h/a b%"), "http://h/a%20b%25");
    assert_string_equal(escaped("http://h"), "http://h");
    assert_string_equal(escaped("http://h/"), "http://h/");
    assert_string_equal(escaped("http://a b/"), "http://a b/");
    assert_string_equal(escaped("mailto:a b"), "mailto:a%20b");
    assert_string_equal(escaped("ldap://h/d n?a b?s?f?e?x y"),
                        "ldap://h/d%20n?a%20b?s?f?e%3fx%20y");
}

static const char *replaced(const char *text, const char *match, const char *subst)
{
    return rewrite_replace_prefix(run.r, apr_pstrdup(pool, text), match, subst);
}

static void folders_are_replaced(void **state)
{
    assert_string_equal(replaced("/a/b/c", "/a/b", "/x"), "/x/c");
    assert_string_equal(replaced("/a/b/c", "/a/b/", "/x/"), "/x/c");
    assert_string_equal(replaced("/a/bc", "/a/b", "/x"), "/a/bc");
    assert_string_equal(replaced("/a/b", "/a/b", "/x"), "/a/b");
    assert_string_equal(replaced("/a", "", "/x"), "/x/a");
    assert_string_equal(replaced("/a/b", "/a", ""), "b");
}

int main(void)
{
#define WITH_REQUEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_REQUEST(references_are_replaced),
        WITH_REQUEST(groups_are_escaped),
        WITH_REQUEST(a_mark_from_outside_is_seen),
        WITH_REQUEST(comparisons_are_by_length_and_number),
        WITH_REQUEST(fields_are_known),
        WITH_REQUEST(schemes_have_lengths),
        WITH_REQUEST(queries_are_split_off),
        WITH_REQUEST(paths_of_urls_are_escaped),
        WITH_REQUEST(folders_are_replaced),
    };

    apr_initialize();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
