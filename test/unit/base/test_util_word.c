/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "httpd.h"
#include "apr_strings.h"
#include "test_pool.h"

typedef char *word_fn(apr_pool_t *p, const char **line);

static char *by_comma(apr_pool_t *p, const char **line)
{
    return ap_getword(p, line, ',');
}

static char *by_comma_nulls(apr_pool_t *p, const char **line)
{
    return ap_getword_nulls(p, line, ',');
}

static char *token(apr_pool_t *p, const char **line)
{
    char *word = ap_get_token(p, line, 0);

    if (**line == ',' || **line == ';')
        ++*line;
    return word;
}

/* All words of the line, joined by '|'. */
static const char *words(word_fn *fn, const char *line)
{
    const char *all = "";

    while (*line)
        all = apr_pstrcat(test_pool, all, *all ? "|" : "", fn(test_pool, &line), NULL);
    return all;
}

static const struct word_case {
    word_fn *fn;
    const char *line, *words;
} word_cases[] = {
    {by_comma, "a,b,,c", "a|b|c"},
    {by_comma, "abc", "abc"},
    {by_comma_nulls, "a,,c", "a||c"},
    {ap_getword_white, "a b\t\n c", "a|b|c"},
    {ap_getword_conf, "  a  b ", "a|b"},
    {ap_getword_conf, "\"a b\" c", "a b|c"},
    {ap_getword_conf, "'a \"b' c", "a \"b|c"},
    {ap_getword_conf, "\"a\\\"b\\\\\" c", "a\"b\\|c"},
    {ap_getword_conf, "\"a\\nb\"", "a\\nb"},
    {ap_getword_conf, "\"one sided", "one sided"},
    {ap_getword_conf, "a\"b c\"", "a\"b|c\""},
    {ap_getword_conf, "a\\\\b", "a\\b"},
    {ap_getword_conf, "\"a\\", "a\\"},
    {ap_getword_conf, "\"a\"b", "a|b"},
    {ap_getword_conf2, "{a b} c", "a b|c"},
    {ap_getword_conf2, "{a {b} c}d", "a {b} c|d"},
    {ap_getword_conf2, "{a {b", "a {b"},
    {ap_getword_conf2, "\"x y\" {z}", "x y|z"},
    {token, " text/html ; q=1, x", "text/html|q=1|x"},
    {token, "\"a;b\" c;d", "\"a;b\"|c|d"},
    {token, "a\"b c", "a\"b c"},
};

static void test_words(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(word_cases) / sizeof(word_cases[0]); i++)
        assert_string_equal(words(word_cases[i].fn, word_cases[i].line), word_cases[i].words);
}

/* A word is found even where nothing is left, and the line stays at its end. */
static void test_at_end(void **state)
{
    const char *line = "";

    assert_string_equal(ap_getword(test_pool, &line, ','), "");
    assert_string_equal(ap_getword_nulls(test_pool, &line, ','), "");
    assert_string_equal(ap_getword_white(test_pool, &line), "");
    assert_string_equal(ap_getword_conf(test_pool, &line), "");
    assert_string_equal(ap_getword_conf2(test_pool, &line), "");
    assert_string_equal(ap_get_token(test_pool, &line, 1), "");
    assert_string_equal(line, "");
    line = "a,";
    assert_string_equal(ap_getword_nulls(test_pool, &line, ','), "a");
    assert_string_equal(line, "");
}

static void test_nc(void **state)
{
    char text[] = "a b", *line = text;

    assert_string_equal(ap_getword_conf_nc(test_pool, &line), "a");
    assert_string_equal(ap_getword_white_nc(test_pool, &line), "b");
    assert_ptr_equal(line, text + 3);
}

static void test_noparam(void **state)
{
    assert_null(ap_field_noparam(test_pool, NULL));
    assert_string_equal(ap_field_noparam(test_pool, "text/html ; charset=x"), "text/html");
    assert_string_equal(ap_field_noparam(test_pool, "text/html"), "text/html");
    assert_string_equal(ap_field_noparam(test_pool, ";x"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_words),
        TEST_WITH_POOL(test_at_end),
        TEST_WITH_POOL(test_nc),
        TEST_WITH_POOL(test_noparam),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
