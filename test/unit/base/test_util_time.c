/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "httpd.h"
#include "util_time.h"
#include "test_pool.h"

#define MAY_2024 \
    (APR_TIME_C(1715000000) * APR_USEC_PER_SEC + 123456) /* Mon May 6 12:53:20 2024 UTC */

static int set_zone(void **state)
{
    setenv("TZ", "EST5", 1);
    tzset();
    return test_pool_setup(state);
}

static void test_explode(void **state)
{
    apr_time_t t;
    apr_time_exp_t fast, slow;

    /* backwards, so that seconds of the cache are replaced by earlier ones too */
    for (t = MAY_2024; t > MAY_2024 - apr_time_from_sec(40); t -= 777777) {
        assert_int_equal(ap_explode_recent_gmt(&fast, t), APR_SUCCESS);
        apr_time_exp_gmt(&slow, t);
        assert_memory_equal(&fast, &slow, sizeof(fast));
        assert_int_equal(ap_explode_recent_localtime(&fast, t), APR_SUCCESS);
        apr_time_exp_lt(&slow, t);
        assert_memory_equal(&fast, &slow, sizeof(fast));
    }
    assert_int_equal(ap_explode_recent_gmt(&fast, 0), APR_SUCCESS);
    assert_int_equal(fast.tm_year, 70);
}

static void test_rfc1123(void **state)
{
    static const apr_int64_t seconds[] = {0, 784111777, 951782400, 1715000000, 4102444799};
    char ours[APR_RFC822_DATE_LEN], apr[APR_RFC822_DATE_LEN];
    size_t i;

    for (i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        ap_recent_rfc822_date(ours, apr_time_from_sec(seconds[i]));
        apr_rfc822_date(apr, apr_time_from_sec(seconds[i]));
        assert_string_equal(ours, apr);
        assert_string_equal(
            ap_ht_time(test_pool, apr_time_from_sec(seconds[i]), "%a, %d %b %Y %H:%M:%S %Z", 1),
            apr);
    }
}

static void test_ctime(void **state)
{
    static const struct {
        int option;
        const char *text;
    } cases[] = {
        {AP_CTIME_OPTION_NONE, "Mon May 06 07:53:20 2024"},
        {AP_CTIME_OPTION_USEC, "Mon May 06 07:53:20.123456 2024"},
        {AP_CTIME_OPTION_MSEC, "Mon May 06 07:53:20.123 2024"},
        {AP_CTIME_OPTION_COMPACT, "2024-05-06 07:53:20"},
        {AP_CTIME_OPTION_COMPACT | AP_CTIME_OPTION_USEC, "2024-05-06 07:53:20.123456"},
        {AP_CTIME_OPTION_COMPACT | AP_CTIME_OPTION_GMTOFF, "2024-05-06 07:53:20 -0500"},
        {AP_CTIME_OPTION_GMTOFF | AP_CTIME_OPTION_MSEC, "Mon May 06 07:53:20.123 2024 -0500"},
    };
    char text[64];
    size_t i;

    ap_recent_ctime(text, MAY_2024);
    assert_string_equal(text, "Mon May 06 07:53:20 2024");
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int exact = (int)strlen(cases[i].text) + 1, len = exact;

        memset(text, 'Z', sizeof(text));
        assert_int_equal(ap_recent_ctime_ex(text, MAY_2024, cases[i].option, &len), APR_SUCCESS);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(len, exact);
        assert_int_equal(text[exact], 'Z');
        len = exact - 1;
        assert_int_equal(ap_recent_ctime_ex(text, MAY_2024, cases[i].option, &len), APR_ENOMEM);
    }
}

static void test_ht_time(void **state)
{
    static const struct {
        const char *format;
        int gmt;
        const char *text;
    } cases[] = {
        {"%H %Z%z", 1, "12 GMT+0000"},
        {"%H %Z%z", 0, "07 EST-0500"},
        {"%%Z", 1, "%Z"},
        {"%", 1, "%"},
        {"", 1, ""},
        {"plain", 0, "plain"},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(ap_ht_time(test_pool, MAY_2024, cases[i].format, cases[i].gmt),
                            cases[i].text);
}

/* Dates that were shown are kept by their second and format; a new zone shows after some uses. */
static void test_local_times_are_kept(void **state)
{
    const char *last = "";
    apr_time_exp_t tm;
    int n;

    for (int i = 0; i < 3; i++) {
        assert_string_equal(ap_ht_time(test_pool, MAY_2024, "%H:%M:%S %Z", 0), "07:53:20 EST");
        assert_string_equal(ap_ht_time(test_pool, MAY_2024, "%M %Z", 0), "53 EST");
        assert_string_equal(ap_ht_time(test_pool, MAY_2024 + APR_USEC_PER_SEC, "%M:%S", 0),
                            "53:21");
    }
    assert_string_equal(ap_ht_time(test_pool, MAY_2024, "%H %Z", 0), "07 EST");
    assert_int_equal(ap_explode_recent_localtime(&tm, MAY_2024), APR_SUCCESS);
    assert_int_equal(tm.tm_hour, 7);
    setenv("TZ", "XYZ-1", 1);
    tzset();
    assert_int_equal(ap_explode_recent_localtime(&tm, MAY_2024), APR_SUCCESS); /* not anew */
    assert_int_equal(tm.tm_hour, 7);
    for (n = 0; n < 1000 && strcmp(last, "XYZ"); n++)
        last = ap_ht_time(test_pool, MAY_2024, "%H %Z", 0) + 3;
    assert_in_range(n, 2, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_explode, set_zone, test_pool_teardown),
        cmocka_unit_test_setup_teardown(test_rfc1123, set_zone, test_pool_teardown),
        cmocka_unit_test_setup_teardown(test_ctime, set_zone, test_pool_teardown),
        cmocka_unit_test_setup_teardown(test_ht_time, set_zone, test_pool_teardown),
        cmocka_unit_test_setup_teardown(test_local_times_are_kept, set_zone, test_pool_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
