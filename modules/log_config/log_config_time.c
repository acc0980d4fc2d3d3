/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times in log lines. The common %t changes once a second, so each thread keeps its last text. The
 * clock is read only for formats that ask how long a request took or when it ended, and then once
 * per request.
 */
#include "log_config_private.h"
#include "util_time.h"
#include "apr_strings.h"

#define LOG_TIME_TEXT 32 /* "[18/Sep/2011:19:18:28 -0400]" */

static char *log_two_digits(char *d, int n)
{
    *d++ = (char)('0' + n / 10 % 10);
    *d++ = (char)('0' + n % 10);
    return d;
}

static apr_size_t log_time_default(char *text, const apr_time_exp_t *t)
{
    char *d = text;
    int offset = t->tm_gmtoff / 60, year = t->tm_year + 1900;

    *d++ = '[';
    d = log_two_digits(d, t->tm_mday);
    *d++ = '/';
    memcpy(d, apr_month_snames[t->tm_mon], 3);
    d += 3;
    *d++ = '/';
    d = log_two_digits(d, year / 100);
    d = log_two_digits(d, year % 100);
    *d++ = ':';
    d = log_two_digits(d, t->tm_hour);
    *d++ = ':';
    d = log_two_digits(d, t->tm_min);
    *d++ = ':';
    d = log_two_digits(d, t->tm_sec);
    *d++ = ' ';
    *d++ = offset < 0 ? '-' : '+';
    offset = offset < 0 ? -offset : offset;
    d = log_two_digits(d, offset / 60);
    d = log_two_digits(d, offset % 60);
    *d++ = ']';
    return (apr_size_t)(d - text);
}

static void log_out_time_default(log_out *out, apr_time_t when)
{
    static _Thread_local struct {
        apr_int64_t second;
        apr_size_t len;
        char text[LOG_TIME_TEXT];
    } last = {.second = -1};
    apr_int64_t second = apr_time_sec(when);

    if (second != last.second) {
        apr_time_exp_t t;

        ap_explode_recent_localtime(&t, when);
        last.len = log_time_default(last.text, &t);
        last.second = second;
    }
    log_out_bytes(out, last.text, last.len);
}

static apr_time_t log_entry_end(log_entry *entry)
{
    if (!entry->end_us)
        entry->end_us = apr_time_now();
    return entry->end_us;
}

static void log_out_fraction(log_out *out, int value, int digits)
{
    char text[6];

    for (int i = digits; i-- > 0; value /= 10)
        text[i] = (char)('0' + value % 10);
    log_out_bytes(out, text, (apr_size_t)digits);
}

static void log_out_time_formatted(log_out *out, apr_time_t when, const char *format)
{
    apr_time_exp_t t;
    apr_size_t len = 0;
    char text[256];

    ap_explode_recent_localtime(&t, when);
    if (apr_strftime(text, &len, sizeof(text), format, &t) == APR_SUCCESS)
        log_out_bytes(out, text, len);
}

/* RFC 3339 section 5.6, to the microsecond. */
static void log_out_time_rfc3339(log_out *out, apr_time_t when)
{
    apr_time_exp_t t;
    char text[LOG_TIME_TEXT];
    char *d = text;
    int offset;

    ap_explode_recent_localtime(&t, when);
    offset = t.tm_gmtoff / 60;
    d = log_two_digits(d, (t.tm_year + 1900) / 100);
    d = log_two_digits(d, t.tm_year + 1900);
    *d++ = '-';
    d = log_two_digits(d, t.tm_mon + 1);
    *d++ = '-';
    d = log_two_digits(d, t.tm_mday);
    *d++ = 'T';
    d = log_two_digits(d, t.tm_hour);
    *d++ = ':';
    d = log_two_digits(d, t.tm_min);
    *d++ = ':';
    d = log_two_digits(d, t.tm_sec);
    *d++ = '.';
    log_out_bytes(out, text, (apr_size_t)(d - text));
    log_out_fraction(out, (int)apr_time_usec(when), 6);
    d = text;
    *d++ = offset < 0 ? '-' : '+';
    offset = offset < 0 ? -offset : offset;
    d = log_two_digits(d, offset / 60);
    *d++ = ':';
    d = log_two_digits(d, offset % 60);
    log_out_bytes(out, text, (apr_size_t)(d - text));
}

/* Own tokens of %{...}t: @return 1 if @a format was one and is written. */
static int log_out_time_token(log_out *out, apr_time_t when, const char *format)
{
    if (strcmp(format, "sec") == 0)
        log_out_number(out, apr_time_sec(when));
    else if (strcmp(format, "msec") == 0)
        log_out_number(out, apr_time_as_msec(when));
    else if (strcmp(format, "usec") == 0)
        log_out_number(out, when);
    else if (strcmp(format, "msec_frac") == 0)
        log_out_fraction(out, (int)apr_time_msec(when), 3);
    else if (strcmp(format, "usec_frac") == 0)
        log_out_fraction(out, (int)apr_time_usec(when), 6);
    else if (strcmp(format, "rfc3339") == 0)
        log_out_time_rfc3339(out, when);
    else
        return 0;
    return 1;
}

void log_emit_time(log_out *out, const brg_transaction *t, const log_item *item, log_entry *entry)
{
    const char *format = item->arg;
    apr_time_t when = t->request_time;

    if (!*format) {
        log_out_time_default(out, when);
        return;
    }
    if (strncmp(format, "begin", 5) == 0 && (!format[5] || format[5] == ':')) {
        format += format[5] ? 6 : 5;
    } else if (strncmp(format, "end", 3) == 0 && (!format[3] || format[3] == ':')) {
        format += format[3] ? 4 : 3;
        when = log_entry_end(entry);
    }
    if (!*format)
        log_out_time_default(out, when);
    else if (!log_out_time_token(out, when, format))
        log_out_time_formatted(out, when, format);
}

void log_emit_duration(log_out *out, const brg_transaction *t, const log_item *item,
                       log_entry *entry)
{
    const apr_time_t taken = log_entry_end(entry) - t->request_time;

    if (!*item->arg || strcasecmp(item->arg, "s") == 0)
        log_out_number(out, apr_time_sec(taken));
    else if (strcasecmp(item->arg, "ms") == 0)
        log_out_number(out, apr_time_as_msec(taken));
    else if (strcasecmp(item->arg, "us") == 0)
        log_out_number(out, taken);
    else if (strcasecmp(item->arg, "ns") == 0)
        log_out_number(out, taken * 1000);
    else
        log_out_bytes(out, item->arg, item->arg_len);
}

void log_emit_duration_us(log_out *out, const brg_transaction *t, const log_item *item,
                          log_entry *entry)
{
    log_out_number(out, log_entry_end(entry) - t->request_time);
}
