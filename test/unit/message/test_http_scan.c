/* SPDX-License-Identifier: Apache-2.0 */
/* Whole strings that are judged 16 bytes at a time: the same as byte by byte, for each length, place and byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "http_scan.h"

#define LONGEST 50

static int bytewise(const char *p, size_t n, int class)
{
    for (size_t i = 0; i < n; i++)
        if (!http_is(p[i], class))
            return 0;
    return 1;
}

/* In memory of just its size, so that a byte behind it is not read unseen. */
static void each(size_t len, char fill)
{
    char *text = malloc(len ? len : 1);

    assert_non_null(text);
    memset(text, fill, len);
    for (size_t at = 0; at < len; at++) {
        for (int c = 0; c < 256; c++) {
            text[at] = (char)c;
            assert_int_equal(http_is_value(text, len) != 0, bytewise(text, len, HTTP_C_VALUE));
            assert_int_equal(http_is_token(text, len) != 0, bytewise(text, len, HTTP_C_TOKEN));
        }
        text[at] = fill;
    }
    free(text);
}

static void test_as_byte_by_byte(void **state)
{
    for (size_t len = 1; len <= LONGEST; len++) {
        each(len, 'a');
        each(len, '-');
        each(len, '!');
    }
}

static void test_empty(void **state)
{
    assert_true(http_is_value("", 0));
    assert_false(http_is_token("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_byte_by_byte),
        cmocka_unit_test(test_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
