/* SPDX-License-Identifier: Apache-2.0 */
/* Dates of heads are those that APR writes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "http_text.h"

#define DAY_S 86400

static void check(apr_time_t when)
{
    char own[APR_RFC822_DATE_LEN], apr[APR_RFC822_DATE_LEN];

    http_put_date(own, when);
    apr_rfc822_date(apr, when);
    assert_string_equal(own, apr);
}

/* Each day of the years 1970 to 2500, at another second of it; what lies outside; ends of what is counted here. */
static void test_dates(void **state)
{
    apr_time_t second = 0;

    for (apr_time_t day = 0; day < (apr_time_t)530 * 366; day++, second = (second + 12347) % DAY_S)
        check(apr_time_from_sec(day * DAY_S + second) + second);
    for (apr_time_t at = 253402300799 - DAY_S; at < 253402300799; at += 3599)
        check(apr_time_from_sec(at));
    check(apr_time_from_sec(253402300799));
    check(-1);
    check(apr_time_from_sec(-DAY_S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dates)};

    return cmocka_run_group_tests_name("http_text", tests, NULL, NULL);
}
