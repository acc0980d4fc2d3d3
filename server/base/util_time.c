/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as text. Exploded times of the last few seconds are cached per thread, so that
 * the loggers of a busy thread convert each second once and share nothing with other threads.
 */
#include <string.h>
#include "httpd.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include "apr_time.h"
#include "util_time.h"

#define UTIL_RECENT_N 16 /* a power of two above AP_TIME_RECENT_THRESHOLD */

_Static_assert(UTIL_RECENT_N > AP_TIME_RECENT_THRESHOLD, "a recent second must not evict another");

typedef struct util_recent {
    apr_int64_t second; /* since the epoch, plus 1 so that 0 means unused */
    apr_time_exp_t exploded;
} util_recent;

static _Thread_local util_recent util_recent_gmt[UTIL_RECENT_N];
static _Thread_local util_recent util_recent_local[UTIL_RECENT_N];

typedef apr_status_t util_explode_fn(apr_time_exp_t *, apr_time_t);

static apr_status_t util_explode(apr_time_exp_t *tm, apr_time_t t, util_recent *cache,
                                 util_explode_fn *explode)
{
    apr_int64_t second = apr_time_sec(t);
    util_recent *entry = &cache[second & (UTIL_RECENT_N - 1)];

    BRG_ASSERT(cache == util_recent_gmt || cache == util_recent_local); /* of this thread */
    if (entry->second != second + 1) {
        apr_status_t rv = explode(&entry->exploded, apr_time_from_sec(second));

        entry->second = rv == APR_SUCCESS ? second + 1 : 0;
        if (rv != APR_SUCCESS)
            return rv;
    }
    *tm = entry->exploded;
    tm->tm_usec = (apr_int32_t)apr_time_usec(t);
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t) ap_explode_recent_localtime(apr_time_exp_t *tm, apr_time_t t)
{
    return util_explode(tm, t, util_recent_local, apr_time_exp_lt);
}

AP_DECLARE(apr_status_t) ap_explode_recent_gmt(apr_time_exp_t *tm, apr_time_t t)
{
    return util_explode(tm, t, util_recent_gmt, apr_time_exp_gmt);
}

/* Decimal digits with leading zeros. */
static char *util_put_digits(char *d, int value, int digits)
{
    int i;

    for (i = digits - 1; i >= 0; i--) {
        d[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return d + digits;
}

static char *util_put_name(char *d, const char *name)
{
    memcpy(d, name, 3);
    return d + 3;
}

static char *util_put_clock(char *d, const apr_time_exp_t *tm)
{
    d = util_put_digits(d, tm->tm_hour, 2);
    *d++ = ':';
    d = util_put_digits(d, tm->tm_min, 2);
    *d++ = ':';
    return util_put_digits(d, tm->tm_sec, 2);
}

/* "Sun, 06 Nov 1994 08:49:37 GMT", RFC 9110 section 5.6.7. */
static void util_put_rfc1123(char *d, const apr_time_exp_t *tm)
{
    d = util_put_name(d, apr_day_snames[tm->tm_wday]);
    *d++ = ',';
    *d++ = ' ';
    d = util_put_digits(d, tm->tm_mday, 2);
    *d++ = ' ';
    d = util_put_name(d, apr_month_snames[tm->tm_mon]);
    *d++ = ' ';
    d = util_put_digits(d, tm->tm_year + 1900, 4);
    *d++ = ' ';
    d = util_put_clock(d, tm);
    memcpy(d, " GMT", 5);
}

AP_DECLARE(apr_status_t) ap_recent_rfc822_date(char *date_str, apr_time_t t)
{
    apr_time_exp_t tm;
    apr_status_t rv = ap_explode_recent_gmt(&tm, t);

    if (rv == APR_SUCCESS)
        util_put_rfc1123(date_str, &tm);
    return rv;
}

static char *util_put_fraction(char *d, const apr_time_exp_t *tm, int option)
{
    if (option & AP_CTIME_OPTION_USEC) {
        *d++ = '.';
        d = util_put_digits(d, tm->tm_usec, 6);
    } else if (option & AP_CTIME_OPTION_MSEC) {
        *d++ = '.';
        d = util_put_digits(d, tm->tm_usec / 1000, 3);
    }
    return d;
}

static char *util_put_zone(char *d, int seconds)
{
    int minutes = (seconds < 0 ? -seconds : seconds) / 60;

    *d++ = ' ';
    *d++ = seconds < 0 ? '-' : '+';
    d = util_put_digits(d, minutes / 60, 2);
    return util_put_digits(d, minutes % 60, 2);
}

static char *util_put_iso(char *d, const apr_time_exp_t *tm, int option)
{
    d = util_put_digits(d, tm->tm_year + 1900, 4);
    *d++ = '-';
    d = util_put_digits(d, tm->tm_mon + 1, 2);
    *d++ = '-';
    d = util_put_digits(d, tm->tm_mday, 2);
    *d++ = ' ';
    return util_put_fraction(util_put_clock(d, tm), tm, option);
}

static char *util_put_ctime(char *d, const apr_time_exp_t *tm, int option)
{
    d = util_put_name(d, apr_day_snames[tm->tm_wday]);
    *d++ = ' ';
    d = util_put_name(d, apr_month_snames[tm->tm_mon]);
    *d++ = ' ';
    d = util_put_digits(d, tm->tm_mday, 2);
    *d++ = ' ';
    d = util_put_fraction(util_put_clock(d, tm), tm, option);
    *d++ = ' ';
    return util_put_digits(d, tm->tm_year + 1900, 4);
}

AP_DECLARE(apr_status_t)
ap_recent_ctime_ex(char *date_str, apr_time_t t, int option, int *len)
{
    int needed = option & AP_CTIME_OPTION_COMPACT ? 20 : 25;
    apr_time_exp_t tm;
    apr_status_t rv;
    char *d;

    if (option & AP_CTIME_OPTION_USEC)
        needed += 7;
    else if (option & AP_CTIME_OPTION_MSEC)
        needed += 4;
    if (option & AP_CTIME_OPTION_GMTOFF)
        needed += 6;
    if (needed > *len) {
        *len = 0;
        return APR_ENOMEM;
    }
    rv = ap_explode_recent_localtime(&tm, t);
    if (rv != APR_SUCCESS)
        return rv;
    if (option & AP_CTIME_OPTION_COMPACT)
        d = util_put_iso(date_str, &tm, option);
    else
        d = util_put_ctime(date_str, &tm, option);
    if (option & AP_CTIME_OPTION_GMTOFF)
        d = util_put_zone(d, tm.tm_gmtoff);
    BRG_ASSERT(d < date_str + needed);
    *d = '\0';
    *len = needed;
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t) ap_recent_ctime(char *date_str, apr_time_t t)
{
    int len = APR_CTIME_LEN;

    return ap_recent_ctime_ex(date_str, t, AP_CTIME_OPTION_NONE, &len);
}

/* strftime knows the zone of the machine only: write %Z and %z of GMT as text. */
static const char *util_gmt_format(apr_pool_t *p, const char *fmt)
{
    size_t len = strlen(fmt);
    char *out, *d;

    if (!strstr(fmt, "%Z") && !strstr(fmt, "%z"))
        return fmt;
    d = out = apr_palloc(p, len * 3 + 1);
    while (*fmt) {
        if (fmt[0] == '%' && fmt[1] == 'Z') {
            d = util_put_name(d, "GMT");
            fmt += 2;
        } else if (fmt[0] == '%' && fmt[1] == 'z') {
            memcpy(d, "+0000", 5);
            d += 5;
            fmt += 2;
        } else {
            if (fmt[0] == '%' && fmt[1])
                *d++ = *fmt++;
            *d++ = *fmt++;
        }
    }
    BRG_ASSERT(d <= out + 3 * len);
    *d = '\0';
    return out;
}

/*
 * Local times that were shown, by thread. Pages show the dates of the same files again and again, and strftime() asks each
 * time whether the machine's zone has changed (stat of /etc/localtime). A change shows after SHOWN_USES times at most.
 */
#define SHOWN_PLACES 8
#define SHOWN_USES 64

typedef struct util_shown {
    apr_int64_t second;
    int left; /* so often it may be shown; 0: nothing is here */
    apr_size_t len;
    char format[40], text[56];
} util_shown;

static util_shown *util_shown_at(apr_int64_t second)
{
    static _Thread_local util_shown shown[SHOWN_PLACES];

    return &shown[((apr_uint64_t)second * 0x9e3779b97f4a7c15ull) >> 61];
}

static void util_shown_keep(util_shown *s, apr_int64_t second, const char *fmt, const char *text,
                            apr_size_t len)
{
    const apr_size_t format_len = strlen(fmt);

    if (format_len >= sizeof s->format || len > sizeof s->text)
        return;
    memcpy(s->format, fmt, format_len + 1);
    memcpy(s->text, text, len);
    s->second = second;
    s->len = len;
    s->left = SHOWN_USES;
}

static char *util_local_time(apr_pool_t *p, apr_time_t t, const char *fmt)
{
    const apr_int64_t second = apr_time_sec(t);
    util_shown *s = util_shown_at(second);
    char text[MAX_STRING_LEN];
    apr_time_exp_t tm;
    apr_size_t len = 0;

    if (s->left && s->second == second && !strcmp(s->format, fmt)) {
        s->left--;
        return apr_pstrmemdup(p, s->text, s->len);
    }
    ap_explode_recent_localtime(&tm, t);
    apr_strftime(text, &len, sizeof(text), fmt, &tm);
    util_shown_keep(s, second, fmt, text, len);
    return apr_pstrmemdup(p, text, len);
}

AP_DECLARE(char *) ap_ht_time(apr_pool_t *p, apr_time_t t, const char *fmt, int gmt)
{
    char text[MAX_STRING_LEN];
    apr_time_exp_t tm;
    apr_size_t len = 0;

    if (!gmt)
        return util_local_time(p, t, fmt);
    ap_explode_recent_gmt(&tm, t);
    if (strcmp(fmt, "%a, %d %b %Y %H:%M:%S %Z") == 0) {
        char *date = apr_palloc(p, APR_RFC822_DATE_LEN);

        util_put_rfc1123(date, &tm);
        return date;
    }
    fmt = util_gmt_format(p, fmt);
    apr_strftime(text, &len, sizeof(text), fmt, &tm);
    return apr_pstrmemdup(p, text, len);
}
