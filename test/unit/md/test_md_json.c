/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of authorities: what is read, and what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "apr_strings.h"
#include "md_json.h"
#include "test_pool.h"

static const md_json *read_it(const char *text)
{
    return md_json_read(test_pool, text, strlen(text));
}

static void test_numbers(void **state)
{
    static const char *const good[] = {"0", "-0", "7", "-12", "10.25", "-1.5e3", "2E+9", "3e-1"},
                             *const bad[] = {"-",  "01",  "+1",  ".5", "1.",
                                             "1e", "1e+", "0x1", "--1"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const md_json *v = read_it(good[i]);

        if (!v || v->kind != MD_JSON_NUMBER)
            fail_msg("%s is a number", good[i]);
        assert_string_equal(v->text, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (read_it(bad[i]))
            fail_msg("%s is no number", bad[i]);
}

/* Whole ones of 0 to 2^53 are taken, of others the fallback. */
static void test_whole_numbers(void **state)
{
    const md_json *v = read_it("{\"a\":12,\"b\":-1,\"c\":1.5,\"d\":9007199254740992,"
                               "\"e\":9007199254740993,\"f\":\"3\",\"g\":1e2}");

    assert_int_equal(md_json_number(v, "a", 9), 12);
    assert_int_equal(md_json_number(v, "b", 9), 9);
    assert_int_equal(md_json_number(v, "c", 9), 9);
    assert_true(md_json_number(v, "d", 9) == INT64_C(1) << 53);
    assert_int_equal(md_json_number(v, "e", 9), 9);
    assert_int_equal(md_json_number(v, "f", 9), 9);
    assert_int_equal(md_json_number(v, "g", 9), 9);
    assert_int_equal(md_json_number(v, "h", 9), 9);
    assert_int_equal(md_json_number(NULL, "a", 9), 9);
}

static void test_texts(void **state)
{
    static const char *const bad[] = {
        "\"",          "\"a",          "\"\\x\"",  "\"\\u12\"", "\"\\u0000\"",        "\"\\ud800\"",
        "\"\\udc00\"", "\"\\ud800x\"", "\"\x01\"", "\"\xff\"",  "\"\\ud800\\u0041\"", "'a'"};

    assert_string_equal(read_it("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"")->text, "\"\\/\b\f\n\r\t");
    assert_string_equal(read_it("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"")->text,
                        "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (read_it(bad[i]))
            fail_msg("case %zu: %s is no text", i, bad[i]);
}

static void test_parts(void **state)
{
    const md_json *v = read_it(" { \"a\" : [ 1 , \"x\" , null ] , \"b\" : { } , \"c\" : true } ");
    const md_json *item = md_json_items(md_json_get(v, "a"));

    assert_non_null(v);
    assert_string_equal(item->text, "1");
    assert_string_equal(item->next->text, "x");
    assert_int_equal(item->next->next->kind, MD_JSON_NULL);
    assert_null(item->next->next->next);
    assert_int_equal(md_json_get(v, "b")->kind, MD_JSON_OBJECT);
    assert_null(md_json_get(v, "b")->first);
    assert_true(md_json_is_true(v, "c"));
    assert_false(md_json_is_true(v, "a"));
    assert_null(md_json_text(v, "c"));
    assert_null(md_json_items(md_json_get(v, "b")));
}

static void test_refused(void **state)
{
    static const char *const bad[] = {"",        "[1,]",       "[1 2]",    "{\"a\"}",
                                      "{a:1}",   "{\"a\":1,}", "{\"a\":1", "{\"a\":1,\"a\":2}",
                                      "[1] [2]", "tru",        "nul",      "{\"a\":1]"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (read_it(bad[i]))
            fail_msg("%s is no JSON", bad[i]);
}

static const char *nested(int depth)
{
    char *text = apr_palloc(test_pool, (apr_size_t)depth * 2 + 1);

    memset(text, '[', (size_t)depth);
    memset(text + depth, ']', (size_t)depth);
    text[depth * 2] = '\0';
    return text;
}

static void test_depth(void **state)
{
    assert_non_null(read_it(nested(MD_JSON_DEPTH)));
    assert_null(read_it(nested(MD_JSON_DEPTH + 1)));
}

static void test_writing(void **state)
{
    apr_array_header_t *list = apr_array_make(test_pool, 2, sizeof(const char *));

    assert_string_equal(md_json_list(test_pool, NULL), "[]");
    assert_string_equal(md_json_list(test_pool, list), "[]");
    APR_ARRAY_PUSH(list, const char *) = "a\"b";
    APR_ARRAY_PUSH(list, const char *) = "";
    assert_string_equal(md_json_list(test_pool, list), "[\"a\\\"b\",\"\"]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_numbers), TEST_WITH_POOL(test_whole_numbers),
        TEST_WITH_POOL(test_texts),   TEST_WITH_POOL(test_parts),
        TEST_WITH_POOL(test_refused), TEST_WITH_POOL(test_depth),
        TEST_WITH_POOL(test_writing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
