/* SPDX-License-Identifier: Apache-2.0 */
/* Whole strings that are judged 16 bytes at a time: the same as byte by byte, for each length, place and byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "http_fields.h"
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
            for (size_t from = 0; from <= len; from += 7)
                assert_ptr_equal(http_scan_value_behind(text, text + from, text + len),
                                 http_scan_value(text + from, text + len));
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

static void measured(const char *text, size_t len)
{
    http_measure m;

    http_field_measure(text, text, &m);
    assert_int_equal(m.name, len);
    assert_int_equal(m.value, len);
    assert_int_equal(m.name_is_safe != 0, len && bytewise(text, len, HTTP_C_TOKEN));
    assert_int_equal(m.value_is_safe != 0, bytewise(text, len, HTTP_C_VALUE));
}

/* Up to the NUL, which is the last byte of a page behind which there is nothing. */
static void test_measured(void **state)
{
    const size_t page = 4096;
    char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(at, MAP_FAILED);
    assert_int_equal(mprotect(at + page, page, PROT_NONE), 0);
    for (size_t len = 0; len <= LONGEST; len++) {
        char *text = at + page - len - 1;

        memset(text, 'a', len);
        measured(text, len);
        for (size_t i = 0; i < len; i++) {
            for (int c = 1; c < 256; c++) {
                text[i] = (char)c;
                measured(text, len);
            }
            text[i] = i % 3 ? '-' : 'a';
        }
    }
    munmap(at, 2 * page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_byte_by_byte),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
