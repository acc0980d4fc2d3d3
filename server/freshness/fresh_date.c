/* SPDX-License-Identifier: Apache-2.0 */
/* Dates of HTTP in their three forms. A form that RFC 9110 does not have is no date: Expires with one is in the past,
 * so a response is never kept longer than its origin meant. */
#include "fresh_fields.h"
#include "brigade/assert.h"

#include <string.h>
#include <strings.h>

static int fresh_two(const char *p)
{
    if (p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9')
        return -1;
    return (p[0] - '0') * 10 + p[1] - '0';
}

static int fresh_month(const char *p)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

    BRG_ASSERT_DEBUG(p);
    for (int i = 0; i < 12; i++)
        if (!strncasecmp(p, names + 3 * i, 3))
            return i;
    return -1;
}

/* hh:mm:ss; -1: another form. A leap second is the second before it. */
static int fresh_clock(const char *p)
{
    const int h = fresh_two(p), m = fresh_two(p + 3), s = fresh_two(p + 6);

    if (h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 60 || p[2] != ':' || p[5] != ':')
        return -1;
    return h * 3600 + m * 60 + (s == 60 ? 59 : s);
}

/* Days since 1970 of a date of the Gregorian calendar: years begin in March here, so that leap days are last. */
static int64_t fresh_days(int year, int month, int day)
{
    const int y = month < 2 ? year - 1 : year, m = month < 2 ? month + 10 : month - 2;
    const int64_t era = y / 400, of_era = y - era * 400;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * m + 2) / 5 + day - 1 -
           719468;
}

static apr_time_t fresh_when(int year, int month, int day, int clock)
{
    static const char most[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t seconds;

    if (month < 0 || day < 1 || day > most[month] || clock < 0 || year < 1970)
        return 0;
    if (month == 1 && day == 29 && (year % 4 || (year % 100 == 0 && year % 400)))
        return 0;
    seconds = fresh_days(year, month, day) * 86400 + clock;
    return seconds ? apr_time_from_sec(seconds) : 1; /* 0 means: no date */
}

static int fresh_is_day(const char *p, size_t len)
{
    static const char *const days[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                       "Friday", "Saturday", "Sunday"};

    for (int i = 0; i < 7; i++)
        if ((len == 3 || len == strlen(days[i])) && !strncasecmp(p, days[i], len))
            return 1;
    return 0;
}

/* Sun, 06 Nov 1994 08:49:37 GMT */
static apr_time_t fresh_imf(const char *p)
{
    const int day = fresh_two(p + 5), century = fresh_two(p + 12), year = fresh_two(p + 14);

    if (!fresh_is_day(p, 3) || memcmp(p + 3, ", ", 2) || p[7] != ' ' || p[11] != ' ' ||
        p[16] != ' ' || strncasecmp(p + 25, " GMT", 4) || century < 0 || year < 0)
        return 0;
    return fresh_when(century * 100 + year, fresh_month(p + 8), day, fresh_clock(p + 17));
}

/* Sunday, 06-Nov-94 08:49:37 GMT: more than 50 years ahead is the century before. Without a clock years begin with 1970,
 * which is no later. */
static apr_time_t fresh_850(const char *p, size_t len, apr_time_t now)
{
    const char *comma = memchr(p, ',', len);
    const size_t name = comma ? (size_t)(comma - p) : 0;
    const int this_year = 1970 + (int)(apr_time_sec(now) / 31556952);
    int year;

    if (!comma || len - name != 24 || name < 6 || !fresh_is_day(p, name) || comma[1] != ' ' ||
        comma[4] != '-' || comma[8] != '-' || comma[11] != ' ' ||
        strncasecmp(comma + 20, " GMT", 4))
        return 0;
    year = fresh_two(comma + 9);
    if (year < 0)
        return 0;
    if (!now) {
        year += year < 70 ? 2000 : 1900;
    } else {
        year += this_year / 100 * 100;
        if (year > this_year + 50)
            year -= 100;
    }
    return fresh_when(year, fresh_month(comma + 5), fresh_two(comma + 2), fresh_clock(comma + 12));
}

/* Sun Nov  6 08:49:37 1994 */
static apr_time_t fresh_asctime(const char *p)
{
    const char day[2] = {p[8] == ' ' ? '0' : p[8], p[9]};
    const int century = fresh_two(p + 20), year = fresh_two(p + 22);

    if (!fresh_is_day(p, 3) || p[3] != ' ' || p[7] != ' ' || p[10] != ' ' || p[19] != ' ' ||
        century < 0 || year < 0)
        return 0;
    return fresh_when(century * 100 + year, fresh_month(p + 4), fresh_two(day),
                      fresh_clock(p + 11));
}

apr_time_t fresh_date(const char *value, size_t len, apr_time_t now)
{
    if (len == 29)
        return fresh_imf(value);
    if (len == 24)
        return fresh_asctime(value);
    return len >= 30 && len <= 33 ? fresh_850(value, len, now) : 0;
}
