/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "http_part.h"
#include <string.h>

static const char *read_part(const char *value, apr_off_t length)
{
    static char text[HTTP_PART_ROOM];
    http_part part;
    size_t len;

    if (!http_part_parse(&part, value, strlen(value), length))
        return NULL;
    len = http_part_text(text, &part);
    assert_int_equal(len, strlen(text));
    return text;
}

static void test_what_is_one_part(void **state)
{
    assert_string_equal(read_part("bytes=0-0", 10), "bytes 0-0/10");
    assert_string_equal(read_part("bytes=0-", 10), "bytes 0-9/10");
    assert_string_equal(read_part("ByTes=9-", 10), "bytes 9-9/10");
    assert_string_equal(read_part("bytes=3-99", 10), "bytes 3-9/10");
    assert_string_equal(read_part("bytes=-3", 10), "bytes 7-9/10");
    assert_string_equal(read_part("bytes=-30", 10), "bytes 0-9/10");
    assert_string_equal(read_part("bytes=0-999999999999999999", 999999999999999999),
                        "bytes 0-999999999999999998/999999999999999999");
}

static void test_what_is_left_to_the_filter(void **state)
{
    static const char *const table[] = {"",
                                        "bytes",
                                        "bytes=",
                                        "bytes=-",
                                        "bytes=-0",
                                        "bytes=10-",
                                        "bytes=5-4",
                                        "bytes=1-2,3-4",
                                        "bytes=1-2,",
                                        "bytes= 1-2",
                                        "bytes=1-2 ",
                                        "bytes=1 -2",
                                        "bytes=x-2",
                                        "bytes=1-x",
                                        "bytes=1",
                                        "lines=1-2",
                                        "bytes=1-2-3",
                                        "bytes=--1",
                                        "bytes=0-9999999999999999999",
                                        "bytes=9999999999999999999-"};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_null(read_part(table[i], 10));
    assert_null(read_part("bytes=0-", 0));
}

/* Not a byte beyond the value is read. */
static void test_every_cut(void **state)
{
    const char *value = "bytes=1-345";
    http_part part;

    for (size_t n = 0; n <= strlen(value); n++) {
        char cut[16];

        memcpy(cut, value, n);
        memset(cut + n, '7', sizeof cut - n);
        assert_int_equal(http_part_parse(&part, cut, n, 1000), n >= strlen("bytes=1-"));
        if (n == strlen("bytes=1-34"))
            assert_int_equal(part.last, 34);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_one_part),
        cmocka_unit_test(test_what_is_left_to_the_filter),
        cmocka_unit_test(test_every_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
