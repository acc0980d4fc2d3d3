/* SPDX-License-Identifier: Apache-2.0 */
/* Range fields as text: what they ask for, and how parts are told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "http_part.h"
#include "mod_core.h"
#include <limits.h>
#include <string.h>

#define ROOM 4

static const http_part_limits no_limits = {INT_MAX, INT_MAX, INT_MAX};

/* "whole", "outside", "no room", or the values of Content-Range, one after the other. */
static const char *read_parts(const char *value, apr_off_t length, const http_part_limits *limits)
{
    static char text[ROOM * (HTTP_PART_ROOM + 1)];
    http_part part[ROOM];
    char *p = text;
    int n;

    switch (http_parts_read(value, strlen(value), length, limits, part, ROOM, &n)) {
    case HTTP_PARTS_WHOLE:
        return "whole";
    case HTTP_PARTS_OUTSIDE:
        return "outside";
    case HTTP_PARTS_NO_ROOM:
        return "no room";
    default:
        break;
    }
    assert_in_range(n, 1, ROOM);
    for (int i = 0; i < n; i++) {
        size_t len;

        if (i)
            *p++ = ' ';
        len = http_part_text(p, &part[i]);
        assert_int_equal(len, strlen(p));
        memmove(p, p + strlen("bytes "), len - strlen("bytes ") + 1);
        p += len - strlen("bytes ");
    }
    return text;
}

static void test_what_is_asked_for(void **state)
{
    static const char *const table[][2] = {{"bytes=0-0", "0-0/10"},
                                           {"bytes=0-", "0-9/10"},
                                           {"ByTes=9-", "9-9/10"},
                                           {"bytes=3-99", "3-9/10"},
                                           {"bytes=-3", "7-9/10"},
                                           {"bytes=-30", "0-9/10"},
                                           {"bytes=1-2,4-5", "1-2/10 4-5/10"},
                                           {"bytes=4-5,1-2", "4-5/10 1-2/10"},
                                           {"bytes=0-4,3-6", "0-6/10"},
                                           {"bytes=0-1,2-3", "0-3/10"},
                                           {"bytes=1-2,", "1-2/10"},
                                           {"bytes= 1-2 ,\t-1", "1-2/10 9-9/10"},
                                           {"bytes=10-,1-1,99-", "1-1/10"},
                                           {"bytes=10-", "outside"},
                                           {"bytes=99-100,10-", "outside"},
                                           {"bytes=0-0,2-2,4-4,6-6", "0-0/10 2-2/10 4-4/10 6-6/10"},
                                           {"bytes=0-0,2-2,4-4,6-6,8-8", "no room"},
                                           {"bytes=0-4,0-9,0-9", "0-9/10"},
                                           {"bytes=5-9,0-3,5-9", "whole"}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_string_equal(read_parts(table[i][0], 10, &no_limits), table[i][1]);
    assert_string_equal(
        read_parts("bytes=0-999999999999999999", 999999999999999999, &no_limits),
        "0-999999999999999998/999999999999999999");
    assert_string_equal(read_parts("bytes=0-", 0, &no_limits), "whole");
}

static void test_what_counts_for_nothing(void **state)
{
    static const char *const table[] = {"",
                                        "bytes",
                                        "bytes=",
                                        "bytes=,",
                                        "bytes=-",
                                        "bytes=-0",
                                        "bytes=5-4",
                                        "bytes=1 -2",
                                        "bytes=x-2",
                                        "bytes=1-x",
                                        "bytes=1",
                                        "lines=1-2",
                                        "bytes=1-2-3",
                                        "bytes=--1",
                                        "bytes=1-2,5-4",
                                        "bytes=0-0,2-2,4-4,6-6,8-8,x",
                                        "bytes=0-9999999999999999999",
                                        "bytes=9999999999999999999-"};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_string_equal(read_parts(table[i], 10, &no_limits), "whole");
}

static void test_limits(void **state)
{
    const http_part_limits none = {0, INT_MAX, INT_MAX}, two = {2, INT_MAX, INT_MAX};
    const http_part_limits overlap = {INT_MAX, 1, INT_MAX}, reversal = {INT_MAX, INT_MAX, 1};

    assert_string_equal(read_parts("bytes=0-0", 10, &none), "whole");
    assert_string_equal(read_parts("bytes=99-", 10, &none), "whole");
    assert_string_equal(read_parts("bytes=0-0,2-2", 10, &two), "0-0/10 2-2/10");
    assert_string_equal(read_parts("bytes=0-0,2-2,4-4", 10, &two), "whole");
    assert_string_equal(read_parts("bytes=0-1,1-2", 10, &overlap), "0-2/10");
    assert_string_equal(read_parts("bytes=0-1,1-2,2-3", 10, &overlap), "whole");
    assert_string_equal(read_parts("bytes=3-4,2-3", 10, &reversal), "2-4/10");
    assert_string_equal(read_parts("bytes=3-4,2-3,1-2", 10, &reversal), "whole");
}

/* Not a byte beyond the value is read. */
static void test_every_cut(void **state)
{
    const char *value = "bytes=1-345,400-";
    http_part part[2];
    int n;

    for (size_t len = 0; len <= strlen(value); len++) {
        char cut[24];
        http_parts_verdict verdict;

        memcpy(cut, value, len);
        memset(cut + len, '7', sizeof cut - len);
        verdict = http_parts_read(cut, len, 1000, &no_limits, part, 2, &n);
        assert_int_equal(verdict == HTTP_PARTS_SOME,
                         len == strlen(value) ||
                             (len >= strlen("bytes=1-") && len <= strlen("bytes=1-345,")));
        if (len == strlen("bytes=1-34"))
            assert_int_equal(part->last, 34);
    }
    assert_int_equal(n, 2);
}

static void test_multipart(void **state)
{
    static const char *const types[] = {NULL, "text/plain; charset=utf-8"};
    const http_part part[] = {{0, 0, 1000}, {998, 999, 1000}};
    char text[1000], *p;

    ap_multipart_boundary = "BOUND";
    for (int i = 0; i < 2; i++) {
        p = text;
        for (int k = 0; k < 2; k++) {
            const size_t len = http_part_head(p, types[i], &part[k]);

            assert_true(len <= http_part_head_room(types[i]));
            p += len;
            memset(p, 'x', (size_t)(part[k].last - part[k].first + 1));
            p += part[k].last - part[k].first + 1;
        }
        assert_int_equal(http_parts_end(p), http_parts_end_room());
        p += http_parts_end_room();
        assert_int_equal(p - text, http_parts_length(types[i], part, 2));
        *p = '\0';
        assert_string_equal(text, i ? "\r\n--BOUND\r\nContent-type: text/plain; charset=utf-8"
                                      "\r\nContent-range: bytes 0-0/1000\r\n\r\nx"
                                      "\r\n--BOUND\r\nContent-type: text/plain; charset=utf-8"
                                      "\r\nContent-range: bytes 998-999/1000\r\n\r\nxx"
                                      "\r\n--BOUND--\r\n"
                                    : "\r\n--BOUND\r\nContent-range: bytes 0-0/1000\r\n\r\nx"
                                      "\r\n--BOUND\r\nContent-range: bytes 998-999/1000\r\n\r\nxx"
                                      "\r\n--BOUND--\r\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_asked_for), cmocka_unit_test(test_what_counts_for_nothing),
        cmocka_unit_test(test_limits),            cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_multipart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
