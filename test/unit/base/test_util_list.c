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

static void test_items(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {" ,, ,", ""},
        {"a, b", "a|b"},
        {" A = B ; Q=0.5, \"X  Y\" z", "a=b;q=0.5|\"X  Y\" z"},
        {"Text / HTML", "text/html"},
        {"(A, B) c", "(A, B) c"},
        {"\"a,B\",c", "\"a,B\"|c"},
        {"\"a\\\",b\",c", "\"a\\\",b\"|c"},
        {"a  \t b", "a b"},
        {"\"unterminated, x", "\"unterminated, x"},
        {"a\\", "a\\"},
        {"(((a", "(((a"},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *line = cases[i][0], *all = "", *item;

        while ((item = ap_get_list_item(test_pool, &line)) != NULL)
            all = apr_pstrcat(test_pool, all, *all ? "|" : "", item, NULL);
        assert_string_equal(all, cases[i][1]);
    }
}

/* A long field costs linear time and space. */
static void test_huge_list(void **state)
{
    enum { N = 20000 };
    char *line = apr_palloc(test_pool, 2 * N + 1);
    const char *at = line;
    int i, len, n = 0;

    for (i = 0; i < N; i++)
        memcpy(line + 2 * i, "a,", 2);
    line[2 * N] = '\0';
    while (ap_size_list_item(&at, &len))
        n += len;
    assert_int_equal(n, N);
    assert_false(ap_find_list_item(test_pool, line, "b"));
    assert_false(ap_find_token(test_pool, line, "b"));
    assert_false(ap_find_etag_weak(test_pool, line, "\"b\""));
}

static void test_find_item(void **state)
{
    assert_true(ap_find_list_item(test_pool, "a, B;q=1", "b;q=1"));
    assert_true(ap_find_list_item(test_pool, "x , B ; q = 1", "b;q=1"));
    assert_true(ap_find_list_item(test_pool, "\"A\"", "\"A\""));
    assert_false(ap_find_list_item(test_pool, "\"A\"", "\"a\""));
    assert_false(ap_find_list_item(test_pool, "ab", "a"));
    assert_false(ap_find_list_item(test_pool, NULL, "a"));
}

static const struct etag_case {
    const char *line, *tag;
    int weak, strong;
} etag_cases[] = {
    {"\"x\"", "\"x\"", 1, 1},
    {"W/\"x\"", "\"x\"", 1, 0},
    {"\"x\"", "W/\"x\"", 1, 0},
    {"W/\"x\"", "W/\"x\"", 1, 0},
    {"w/\"x\"", "W/\"x\"", 0, 0},
    {"\"a\", W/\"b\" , \"c\"", "\"c\"", 1, 1},
    {"\"a,b\", \"c\"", "\"c\"", 1, 1},
    {"\"X\"", "\"x\"", 0, 0},
    {"x", "x", 0, 0},
    {"*", "\"x\"", 0, 0},
    {"\"xy\"", "\"x\"", 0, 0},
    {"junk, \"x\"", "\"x\"", 0, 0},
    {"\"x", "\"x\"", 0, 0},
    {"", "\"x\"", 0, 0},
};

static void test_etags(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(etag_cases) / sizeof(etag_cases[0]); i++) {
        const struct etag_case *c = &etag_cases[i];

        assert_int_equal(ap_find_etag_weak(test_pool, c->line, c->tag), c->weak);
        assert_int_equal(ap_find_etag_strong(test_pool, c->line, c->tag), c->strong);
    }
}

static void test_tokens(void **state)
{
    assert_true(ap_find_token(test_pool, "keep-alive, Close", "close"));
    assert_true(ap_find_token(test_pool, "a;close", "close"));
    assert_false(ap_find_token(test_pool, "closer, xclose", "close"));
    assert_false(ap_find_token(test_pool, "clos", "close"));
    assert_false(ap_find_token(test_pool, NULL, "close"));
    assert_true(ap_find_last_token(test_pool, "gzip, chunked", "chunked"));
    assert_true(ap_find_last_token(test_pool, "chunked", "chunked"));
    assert_false(ap_find_last_token(test_pool, "chunked, gzip", "chunked"));
    assert_false(ap_find_last_token(test_pool, "xchunked", "chunked"));
    assert_true(ap_is_chunked(test_pool, "gzip, Chunked"));
    assert_false(ap_is_chunked(test_pool, "chunked, gzip"));
    assert_false(ap_is_chunked(test_pool, "chunked;q=1"));
    assert_false(ap_is_chunked(test_pool, "xchunked"));
    assert_false(ap_is_chunked(test_pool, NULL));
}

static void test_strict_tokens(void **state)
{
    apr_array_header_t *tokens = NULL;

    assert_null(ap_parse_token_list_strict(test_pool, " a ,, b\t,c", &tokens, 0));
    assert_int_equal(tokens->nelts, 3);
    assert_string_equal(APR_ARRAY_IDX(tokens, 1, char *), "b");
    tokens = NULL;
    assert_non_null(ap_parse_token_list_strict(test_pool, "a b", &tokens, 1));
    assert_null(tokens);
    assert_string_equal(ap_parse_token_list_strict(test_pool, "a;b", &tokens, 0),
                        "Encountered illegal separator '\\x3b'");
    assert_null(ap_parse_token_list_strict(test_pool, "a;b, c", &tokens, 1));
    assert_int_equal(tokens->nelts, 1);
    assert_string_equal(APR_ARRAY_IDX(tokens, 0, char *), "c");
}

static void test_scan(void **state)
{
    assert_string_equal(ap_scan_http_token("abc:d"), ":d");
    assert_string_equal(ap_scan_http_token("a\x80"), "\x80");
    assert_string_equal(ap_scan_http_field_content("a b\tc\x80\rd"), "\rd");
    assert_string_equal(ap_scan_http_field_content("a\x7f"), "\x7f");
    assert_string_equal(ap_scan_vchar_obstext("a\xff b"), " b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_items),     TEST_WITH_POOL(test_huge_list),
        TEST_WITH_POOL(test_find_item), TEST_WITH_POOL(test_etags),
        TEST_WITH_POOL(test_tokens),    TEST_WITH_POOL(test_strict_tokens),
        cmocka_unit_test(test_scan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
