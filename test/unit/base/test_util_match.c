/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "httpd.h"
#include "apr_strings.h"
#include "apr_tables.h"
#include "test_pool.h"
#include "util_char.h"

static const struct match_case {
    const char *text, *pattern;
    int equal, equal_nocase;
} match_cases[] = {
    {"", "", 1, 1},        {"", "*", 1, 1},
    {"", "?", 0, 0},       {"a", "", 0, 0},
    {"abc", "a*c", 1, 1},  {"abc", "A*C", 0, 1},
    {"abc", "a?c", 1, 1},  {"ac", "a?c", 0, 0},
    {"abc", "**", 1, 1},   {"aab", "*ab", 1, 1},
    {"abab", "*ab", 1, 1}, {"ab", "a*b*c", 0, 0},
    {"a*c", "a*c", 1, 1},  {"mississippi", "m*iss*pi", 1, 1},
};

static void test_wildcards(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(match_cases) / sizeof(match_cases[0]); i++) {
        const struct match_case *c = &match_cases[i];

        assert_int_equal(ap_strcmp_match(c->text, c->pattern) == 0, c->equal);
        assert_int_equal(ap_strcasecmp_match(c->text, c->pattern) == 0, c->equal_nocase);
    }
    assert_true(ap_is_matchexp("a*"));
    assert_true(ap_is_matchexp("?"));
    assert_false(ap_is_matchexp("a[b]"));
}

/* Many stars must not make the search exponential. */
static void test_wildcard_cost(void **state)
{
    char text[2001], pattern[201];
    int i;

    memset(text, 'a', 2000);
    text[2000] = '\0';
    for (i = 0; i < 100; i++)
        memcpy(pattern + 2 * i, "*a", 2);
    strcpy(pattern + 198, "*b");
    assert_int_not_equal(ap_strcmp_match(text, pattern), 0);
}

/* Against a search that tries everything. */
static int naive_match(const char *s, const char *p)
{
    if (!*p)
        return !*s;
    if (*p == '*')
        return naive_match(s, p + 1) || (*s && naive_match(s + 1, p));
    return *s && (*p == '?' || *p == *s) && naive_match(s + 1, p + 1);
}

static void test_wildcard_model(void **state)
{
    int i, k;

    srand(1);
    for (i = 0; i < 20000; i++) {
        char text[8] = "", pattern[7] = "";

        for (k = rand() % 7; k > 0; k--)
            text[k - 1] = "ab"[rand() % 2];
        for (k = rand() % 6; k > 0; k--)
            pattern[k - 1] = "ab*?"[rand() % 4];
        assert_int_equal(ap_strcmp_match(text, pattern) == 0, naive_match(text, pattern));
    }
}

static void test_case(void **state)
{
    char text[] = "Text/HTML; Charset=UTF-8";

    ap_content_type_tolower(text);
    assert_string_equal(text, "text/html; Charset=UTF-8");
    ap_str_toupper(text);
    assert_string_equal(text, "TEXT/HTML; CHARSET=UTF-8");
    ap_str_tolower(text);
    assert_string_equal(text, "text/html; charset=utf-8");
    assert_int_equal(ap_cstr_casecmp("aBc", "AbC"), 0);
    assert_true(ap_cstr_casecmp("a", "B") < 0);
    assert_true(ap_cstr_casecmp("\xe9", "\xc9") > 0);
    assert_true(ap_cstr_casecmp("[", "{") < 0);
    assert_int_equal(ap_cstr_casecmpn("abcX", "ABCY", 3), 0);
    assert_true(ap_cstr_casecmpn("ab", "abc", 3) < 0);
    assert_int_equal(ap_cstr_casecmpn("a", "b", 0), 0);
}

static void test_search(void **state)
{
    static const char text[] = "aBcabC";

    assert_ptr_equal(ap_strcasestr(text, "BC"), text + 1);
    assert_ptr_equal(ap_strcasestr(text, "cabc"), text + 2);
    assert_ptr_equal(ap_strcasestr(text, ""), text);
    assert_null(ap_strcasestr(text, "abcd"));
    assert_ptr_equal(ap_stripprefix(text, "aB"), text + 2);
    assert_ptr_equal(ap_stripprefix(text, "ab"), text);
    assert_ptr_equal(ap_stripprefix(text, ""), text);
    assert_int_equal(ap_ind(text, 'c'), 2);
    assert_int_equal(ap_rind("abcb", 'b'), 3);
    assert_int_equal(ap_ind(text, 'x'), -1);
    assert_int_equal(ap_rind(text, 'x'), -1);
}

static void test_timingsafe(void **state)
{
    assert_true(ap_memeq_timingsafe("abc", "abd", 2));
    assert_false(ap_memeq_timingsafe("abc", "abd", 3));
    assert_true(ap_streq_timingsafe("secret", "secret"));
    assert_false(ap_streq_timingsafe("secret", "secreT"));
    assert_false(ap_streq_timingsafe("secret", "secre"));
    assert_false(ap_streq_timingsafe("secre", "secret"));
    assert_false(ap_streq_timingsafe("", "a"));
    assert_true(ap_streq_timingsafe("", ""));
    assert_true(ap_strneq_timingsafe("abcd", "abce", 3));
    assert_false(ap_strneq_timingsafe("ab", "abc", 3));
}

static void test_arrays(void **state)
{
    apr_array_header_t *array = apr_array_make(test_pool, 3, sizeof(char *));

    APR_ARRAY_PUSH(array, const char *) = "a";
    APR_ARRAY_PUSH(array, const char *) = "b";
    APR_ARRAY_PUSH(array, const char *) = "a";
    assert_int_equal(ap_array_str_index(array, "a", 0), 0);
    assert_int_equal(ap_array_str_index(array, "a", 1), 2);
    assert_int_equal(ap_array_str_index(array, "a", 3), -1);
    assert_int_equal(ap_array_str_index(array, "a", -1), -1);
    assert_true(ap_array_str_contains(array, "b"));
    assert_false(ap_array_str_contains(array, "A"));
}

/* The table against the C locale and the sets of the RFCs. */
static void test_classes(void **state)
{
    int i;

    for (i = 0; i < 256; i++) {
        char c = (char)i;
        int alnum = (i >= '0' && i <= '9') || (i >= 'a' && i <= 'z') || (i >= 'A' && i <= 'Z');

        assert_int_equal(util_is(c, UTIL_C_ALNUM), alnum);
        assert_int_equal(util_is(c, UTIL_C_TOKEN), i && (alnum || strchr("!#$%&'*+-.^_`|~", i)));
        assert_int_equal(util_is(c, UTIL_C_UNRES), i && (alnum || strchr("-._~", i)));
        assert_int_equal(util_is(c, UTIL_C_VISIBLE), i > 0x20 && i != 0x7f);
        assert_int_equal(util_is(c, UTIL_C_FIELD), (i >= 0x20 && i != 0x7f) || i == '\t');
        assert_int_equal(util_is(c, UTIL_C_SPACE), i && strchr(" \t\n\v\f\r", i));
        assert_int_equal(util_is(c, UTIL_C_HEX), i && strchr("0123456789abcdefABCDEF", i));
    }
    assert_int_equal(util_hex_value('9'), 9);
    assert_int_equal(util_hex_value('a'), 10);
    assert_int_equal(util_hex_value('F'), 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wildcards),      cmocka_unit_test(test_wildcard_cost),
        cmocka_unit_test(test_wildcard_model), cmocka_unit_test(test_case),
        cmocka_unit_test(test_search),         cmocka_unit_test(test_timingsafe),
        TEST_WITH_POOL(test_arrays),           cmocka_unit_test(test_classes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
