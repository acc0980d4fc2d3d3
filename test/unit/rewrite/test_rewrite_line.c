/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments and flags of RewriteCond and RewriteRule. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <apr_general.h>
#include <apr_strings.h>
#include "rewrite_private.h"

static apr_pool_t *pool;

static const struct {
    const char *line;
    const char *arg[3];
} lines[] = {
    {"a b", {"a", "b", NULL}},         {"  a   b   [L]  ", {"a", "b", "[L]"}},
    {"a\\ b c", {"a\\ b", "c", NULL}}, {"\"a b\" 'c d' \"[L, R]\"", {"a b", "c d", "[L, R]"}},
    {"a \"b c", {"a", "b c", NULL}},   {"a b c d", {"a", "b", "c"}},
    {"\"a\"b c", {"a", "b", "c"}},     {"a\"b c'd", {"a\"b", "c'd", NULL}},
    {"'a'", {"a", "", NULL}},          {"\"a\" ", {"a", "", NULL}},
};

static void a_line_is_split(void **state)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *arg[3];

        assert_int_equal(rewrite_split_line(apr_pstrdup(pool, lines[i].line), arg), 0);
        for (int k = 0; k < 3; k++)
            if (lines[i].arg[k])
                assert_string_equal(arg[k], lines[i].arg[k]);
            else
                assert_null(arg[k]);
    }
}

static void one_argument_is_too_few(void **state)
{
    static const char *const bad[] = {"", " ", "a", "\"a b"};
    char *arg[3];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(rewrite_split_line(apr_pstrdup(pool, bad[i]), arg), -1);
}

static const char *flags_of(rewrite_rule *rule, const char *field)
{
    memset(rule, 0, sizeof *rule);
    rule->status = HTTP_MOVED_TEMPORARILY;
    return rewrite_parse_flags(pool, rule, apr_pstrdup(pool, field), rewrite_rule_flag);
}

static void flags_set_their_fields(void **state)
{
    rewrite_rule rule;

    assert_null(flags_of(&rule, "[L, NC ,QSA,R=301]"));
    assert_int_equal(rule.flags,
                     REWRITE_F_LAST | REWRITE_F_NOCASE | REWRITE_F_QSAPPEND | REWRITE_F_REDIRECT);
    assert_int_equal(rule.status, 301);
    assert_null(flags_of(&rule, "[redirect=SeeOther]"));
    assert_int_equal(rule.status, HTTP_SEE_OTHER);
    assert_null(flags_of(&rule, "[F,R]"));
    assert_int_equal(rule.status, HTTP_FORBIDDEN);
    assert_null(flags_of(&rule, "[R=404]"));
    assert_true(rule.flags & REWRITE_F_STATUS);
    assert_null(flags_of(&rule, "[E=a:b,E=!c,S=3,N=7,B=+,BNE=-]"));
    assert_int_equal(rule.envs->nelts, 2);
    assert_string_equal(APR_ARRAY_IDX(rule.envs, 0, const char *), "a:b");
    assert_int_equal(rule.skip, 3);
    assert_int_equal(rule.rounds, 7);
    assert_string_equal(rule.escapes, "+");
    assert_string_equal(rule.noescapes, "-");
    assert_null(flags_of(&rule, "[dpi]"));
    assert_int_equal(rule.flags, REWRITE_F_DISCARDPATH);
}

static void wrong_flags_are_named(void **state)
{
    static const char *const bad[][2] = {
        {"L", "bad flag delimiters"},
        {"[L", "bad flag delimiters"},
        {"", "bad flag delimiters"},
        {"[]", "unknown flag ''"},
        {"[L,]", "unknown flag ''"},
        {"[QS]", "unknown flag 'QS'"},
        {"[R=99]", "invalid HTTP response code '99' for flag 'R'"},
        {"[R=3O1]", "invalid HTTP response code '3O1' for flag 'R'"},
        {"[BNE]", "flag 'BNE' wants a list of characters (i.e. [BNE=...])"},
    };
    rewrite_rule rule;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_string_equal(flags_of(&rule, bad[i][0]), bad[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_split),
        cmocka_unit_test(one_argument_is_too_few),
        cmocka_unit_test(flags_set_their_fields),
        cmocka_unit_test(wrong_flags_are_named),
    };

    apr_initialize();
    apr_pool_create(&pool, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
