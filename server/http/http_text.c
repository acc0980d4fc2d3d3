/* SPDX-License-Identifier: Apache-2.0 */
/* Dates and numbers as text, without printf. */
#include "program_thread.h"
#include "http_text.h"
#include "apr_time.h"
#include "brigade/decimal.h"
#include <string.h>

/* Of the years 1970 to 9999. */
#define DATE_SECONDS_END 253402300800

static char *put_two(char *to, unsigned n)
{
    *to++ = (char)('0' + n / 10);
    *to++ = (char)('0' + n % 10);
    return to;
}

static char *put_word(char *to, const char *words, unsigned which)
{
    memcpy(to, words + 4 * which, 4);
    return to + 4;
}

/* Years are counted from March on, so that the day that a leap year has more is their last one, and months have
 * 30.6 days, rounded. */
static char *put_day(char *to, unsigned days)
{
    const unsigned since = days + 719468; /* since the first of March of the year 0 */
    const unsigned of_400 = since % 146097;
    const unsigned year = (of_400 - of_400 / 1460 + of_400 / 36524 - of_400 / 146096) / 365;
    const unsigned day = of_400 - (365 * year + year / 4 - year / 100);
    const unsigned month = (5 * day + 2) / 153;
    const unsigned of_calendar = year + since / 146097 * 400 + (month >= 10);

    to = put_word(to, "Sun,Mon,Tue,Wed,Thu,Fri,Sat,", (days + 4) % 7);
    *to++ = ' ';
    to = put_two(to, day - (153 * month + 2) / 5 + 1);
    *to++ = ' ';
    to = put_word(to, "Mar Apr May Jun Jul Aug Sep Oct Nov Dec Jan Feb ", month);
    to = put_two(to, of_calendar / 100);
    return put_two(to, of_calendar % 100);
}

/* @param seconds  since 1970, of the years that put_day() knows */
static void put_date(char *to, apr_time_t seconds)
{
    const unsigned of_day = (unsigned)(seconds % 86400);

    to = put_day(to, (unsigned)(seconds / 86400));
    *to++ = ' ';
    to = put_two(to, of_day / 3600);
    *to++ = ':';
    to = put_two(to, of_day / 60 % 60);
    *to++ = ':';
    to = put_two(to, of_day % 60);
    memcpy(to, " GMT", 5);
}

#define DATES_BITS 4 /* of a thread's dates */

typedef struct kept_date {
    apr_time_t after; /* the second behind it; 0: none is kept */
    char text[32];
} kept_date;

/* Files are sent again and again, and each time with the same date. */
void http_put_date(char *to, apr_time_t when)
{
    static PROGRAM_THREAD_LOCAL kept_date kept[1 << DATES_BITS];
    const apr_time_t seconds = apr_time_sec(when);
    kept_date *date;

    if (when < 0 || seconds >= DATE_SECONDS_END) {
        apr_rfc822_date(to, when);
        return;
    }
    date = &kept[(apr_uint64_t)seconds * UINT64_C(0x9e3779b97f4a7c15) >> (64 - DATES_BITS)];
    if (date->after != seconds + 1) {
        put_date(date->text, seconds);
        date->after = seconds + 1;
    }
    memcpy(to, date->text, APR_RFC822_DATE_LEN);
}

const char *http_date_now(apr_time_t now)
{
    static PROGRAM_THREAD_LOCAL apr_time_t second = -1;
    static PROGRAM_THREAD_LOCAL char text[APR_RFC822_DATE_LEN];

    if (apr_time_sec(now) != second) {
        http_put_date(text, now);
        second = apr_time_sec(now);
    }
    return text;
}

size_t http_put_number(char *buf, apr_uint64_t n)
{
    return brg_decimal_put(buf, n);
}
