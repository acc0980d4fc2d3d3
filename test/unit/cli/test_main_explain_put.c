/* SPDX-License-Identifier: Apache-2.0 */
/* The report of --explain, for people and for programs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "main_explain_private.h"
#include "test_pool.h"

static char *printed;

static apr_array_header_t *items(void)
{
    return apr_array_make(test_pool, 4, sizeof(explain_item));
}

static const char *print(const apr_array_header_t *list, int json)
{
    size_t len;
    FILE *out;

    free(printed);
    assert_non_null(out = open_memstream(&printed, &len));
    explain_print(out, list, json);
    fclose(out);
    return printed;
}

static void test_nothing(void **state)
{
    assert_string_equal(print(items(), 0), "");
    assert_string_equal(print(items(), 1), "{\"report\":[\n\n]}\n");
}

static void test_headings_and_texts(void **state)
{
    apr_array_header_t *list = items();

    explain_head(list, "handler", "Handler: ", "default");
    explain_text(list, 2, "below");
    explain_text(list, 4, "far \"below\"");
    explain_text(list, 2, "beside");
    explain_head(list, NULL, "Logs:", "");
    assert_string_equal(print(list, 0),
                        "Handler: default\n  below\n    far \"below\"\n  beside\nLogs:\n");
    assert_string_equal(
        print(list, 1),
        "{\"report\":[\n"
        "{\"name\":\"handler\",\"text\":\"default\",\"lines\":[{\"text\":\"below\",\"lines\":"
        "[{\"text\":\"far \\\"below\\\"\"}]},{\"text\":\"beside\"}]},\n"
        "{}\n]}\n");
}

/* The place stands before a line that belongs to another, and behind a heading. */
static void test_places(void **state)
{
    const ap_directive_t
        with = {.directive = "Alias", .args = "/a /b", .filename = "a.conf", .line_num = 7},
        empty = {.directive = "Foo", .args = "", .filename = "b.conf", .line_num = 8},
        none = {.directive = "Bar", .args = NULL, .filename = "c.conf", .line_num = 9};
    apr_array_header_t *list = items();

    explain_at(list, 0, &with, " (twice)");
    explain_at(list, 3, &empty, "");
    explain_at(list, 3, &none, "");
    assert_string_equal(print(list, 0),
                        "Alias /a /b (twice) (a.conf:7)\n   b.conf:8: Foo\n   c.conf:9: Bar\n");
    assert_string_equal(print(list, 1), "{\"report\":[\n{\"file\":\"a.conf\",\"line\":7,\"text\":"
                                        "\"Alias /a /b (twice)\",\"lines\":["
                                        "{\"file\":\"b.conf\",\"line\":8,\"text\":\"Foo\"},{"
                                        "\"file\":\"c.conf\",\"line\":9,\"text\":\"Bar\"}]}\n]}\n");
}

static void test_an_item_without_a_text(void **state)
{
    apr_array_header_t *list = items();

    explain_head(list, NULL, "", "");
    explain_text(list, 1, "below");
    assert_string_equal(print(list, 1), "{\"report\":[\n{\"lines\":[{\"text\":\"below\"}]}\n]}\n");
}

static void test_lines_of_others(void **state)
{
    apr_array_header_t *list = items();

    explain_lines_of(list, "one\n  two\n\n    three\nfour");
    assert_int_equal(list->nelts, 4);
    assert_int_equal(APR_ARRAY_IDX(list, 1, explain_item).indent, 2);
    assert_string_equal(APR_ARRAY_IDX(list, 1, explain_item).text, "two");
    assert_string_equal(print(list, 0), "one\n  two\n    three\nfour\n");
}

static int end(void **state)
{
    free(printed);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_nothing),         TEST_WITH_POOL(test_headings_and_texts),
        TEST_WITH_POOL(test_places),          TEST_WITH_POOL(test_an_item_without_a_text),
        TEST_WITH_POOL(test_lines_of_others),
    };

    return cmocka_run_group_tests(tests, NULL, end);
}
