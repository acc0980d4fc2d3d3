/* SPDX-License-Identifier: Apache-2.0 */
/* Which lines of RequestLimit --takeover-check tells in place of mod_evasive's and mod_qos's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "main_parts.h"
#include "test_pool.h"

static char text[4096];

/* Prints into a file, which is standard output meanwhile. */
static int told(const ap_directive_t *tree, int found)
{
    FILE *before = stdout, *file = tmpfile();
    size_t n;
    int rc;

    assert_non_null(file);
    stdout = file;
    rc = main_takeover_limits(test_pool, tree, found);
    stdout = before;
    rewind(file);
    n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    return rc;
}

static void test_nothing(void **state)
{
    ap_directive_t other = {.directive = "Alias", .args = "/a /b"};

    assert_int_equal(told(NULL, 0), 0);
    assert_int_equal(told(&other, 0), 0);
    assert_string_equal(text, "");
    assert_int_equal(told(&other, 1), 1);
}

static void test_words_of_lines(void **state)
{
    ap_directive_t second = {.directive = "QS_SrvMaxConn", .args = "\"7 8\""},
                   first = {.directive = "qs_locrequestlimit", .args = "/a 5", .next = &second};

    assert_int_equal(told(&first, 0), 1);
    assert_string_equal(
        text, "Limits, by the built-in RequestLimit:\n"
              "  qs_locrequestlimit /a 5: <Location /a> RequestLimit place by=all inflight=5\n"
              "  QS_SrvMaxConn \"7 8\": RequestLimit all by=all connections=7 8\n");
}

/* A word that is not there is empty; a line of a section counts, too, and the heading comes once. */
static void test_sections(void **state)
{
    ap_directive_t inner = {.directive = "DOSPageCount", .args = ""},
                   last = {.directive = "QS_LogOnly", .args = "on"},
                   section = {.directive = "<IfModule",
                              .args = "x>",
                              .first_child = &inner,
                              .next = &last};

    assert_int_equal(told(&section, 0), 1);
    assert_string_equal(text, "Limits, by the built-in RequestLimit:\n"
                              "  DOSPageCount : RequestLimit page by=client,path rate=/s burst= "
                              "(of DOSPageInterval seconds: 1)\n"
                              "  QS_LogOnly on: dry-run in each RequestLimit\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_nothing),
        TEST_WITH_POOL(test_words_of_lines),
        TEST_WITH_POOL(test_sections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
