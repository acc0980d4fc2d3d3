/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "httpd.h"
#include "util_md5.h"
#include "test_pool.h"

static void test_strict_length(void **state)
{
    static const struct {
        const char *text;
        int ok;
        apr_off_t value;
    } cases[] = {
        {"0", 1, 0},
        {"007", 1, 7},
        {"", 0, 0},
        {"-1", 0, 0},
        {"+1", 0, 0},
        {" 1", 0, 0},
        {"1 ", 0, 0},
        {"1,2", 0, 0},
        {"0x10", 0, 0},
        {"9223372036854775807", 1, INT64_MAX},
        {"9223372036854775808", 0, 0},
        {"99999999999999999999999", 0, 0},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        apr_off_t value = -7;

        assert_int_equal(ap_parse_strict_length(&value, cases[i].text), cases[i].ok);
        assert_true(value == (cases[i].ok ? cases[i].value : -7));
    }
}

static void test_timeout(void **state)
{
    static const struct {
        const char *text, *unit;
        apr_interval_time_t value; /* -1: refused */
    } cases[] = {
        {"5", "s", 5000000},
        {"5", "ms", 5000},
        {"5", "h", 18000000000},
        {"5ms", "s", 5000},
        {"5mi", "s", 300000000},
        {"5min", "s", 300000000},
        {"2h", "s", 7200000000},
        {"0", "s", 0},
        {"5m", "s", -1},
        {"5x", "s", -1},
        {"-5", "s", -1},
        {"5 s", "s", -1},
        {"5", "x", -1},
        {"99999999999999999999", "s", -1},
        {"9223372036854775807", "h", -1},
        {"9223372036854775", "ms", 9223372036854775000},
        {"9223372036854776", "ms", -1},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        apr_interval_time_t value = -7;
        apr_status_t rv = ap_timeout_parameter_parse(cases[i].text, &value, cases[i].unit);

        assert_int_equal(rv == APR_SUCCESS, cases[i].value >= 0);
        if (rv == APR_SUCCESS)
            assert_true(value == cases[i].value);
    }
}

static void test_alnum(void **state)
{
    const char *clean;
    char buffer[8];

    ap_pstr2_alnum(test_pool, "a-b_C 1\x01~\x7f\xe9", &clean);
    assert_string_equal(clean, "a_b_C_1x_xx");
    ap_str2_alnum("/x", buffer);
    assert_string_equal(buffer, "_x");
}

static void test_is_url(void **state)
{
    assert_true(ap_is_url("http://x"));
    assert_true(ap_is_url("a+b-c.d:"));
    assert_false(ap_is_url("/http:x"));
    assert_false(ap_is_url(":x"));
    assert_false(ap_is_url("abc"));
    assert_false(ap_is_url(""));
}

static void test_hashes(void **state)
{
    char hex[9];

    ap_bin2hex("\x00\x7f\xff\xa5", 4, hex);
    assert_string_equal(hex, "007fffa5");
    assert_string_equal(ap_md5(test_pool, (const unsigned char *)"foo"),
                        "acbd18db4cc2f85cedef654fccc4a4d8");
    assert_string_equal(ap_md5_binary(test_pool, (const unsigned char *)"", 0),
                        "d41d8cd98f00b204e9800998ecf8427e");
    assert_string_equal(ap_pbase64encode(test_pool, (char *)"ab"), "YWI=");
    assert_string_equal(ap_pbase64decode(test_pool, "YWI="), "ab");
    assert_string_equal(ap_pbase64decode(test_pool, ""), "");
    assert_string_equal(ap_pbase64decode(test_pool, "!"), "");
}

static void test_random(void **state)
{
    unsigned char a[300], b[300];
    int i, low = 0, high = 0;

    ap_random_insecure_bytes(a, sizeof(a));
    ap_random_insecure_bytes(b, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
    ap_random_insecure_bytes(a, 16);
    ap_random_insecure_bytes(b, 16);
    assert_memory_not_equal(a, b, 16);
    for (i = 0; i < 2000; i++) {
        apr_uint32_t n = ap_random_pick(10, 12);

        assert_in_range(n, 10, 12);
        low += n == 10;
        high += n == 12;
    }
    assert_true(low > 500 && high > 500);
    assert_int_equal(ap_random_pick(7, 7), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strict_length), cmocka_unit_test(test_timeout),
        TEST_WITH_POOL(test_alnum),           cmocka_unit_test(test_is_url),
        TEST_WITH_POOL(test_hashes),          TEST_WITH_POOL(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
