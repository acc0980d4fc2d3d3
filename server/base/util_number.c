/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and names read from text: lengths, times with units, identifiers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "httpd.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include "util_char.h"

AP_DECLARE(int) ap_parse_strict_length(apr_off_t *len, const char *str)
{
    apr_off_t value = 0;

    if (!util_is(*str, UTIL_C_DIGIT))
        return 0;
    for (; util_is(*str, UTIL_C_DIGIT); str++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *str - '0', &value))
            return 0;
    if (*str)
        return 0;
    BRG_ASSERT(value >= 0);
    *len = value;
    return 1;
}

/* Microseconds of one unit, 0 if there is no such unit. Only the first letters count. */
static apr_int64_t util_time_unit(const char *unit)
{
    switch (unit[0]) {
    case 's':
        return APR_USEC_PER_SEC;
    case 'h':
        return APR_USEC_PER_SEC * 3600;
    case 'm':
        if (unit[1] == 's')
            return 1000;
        return unit[1] == 'i' ? APR_USEC_PER_SEC * 60 : 0;
    default:
        return 0;
    }
}

AP_DECLARE(apr_status_t)
ap_timeout_parameter_parse(const char *timeout_parameter, apr_interval_time_t *timeout,
                           const char *default_time_unit)
{
    apr_int64_t value, unit;
    char *end;

    errno = 0;
    value = apr_strtoi64(timeout_parameter, &end, 10);
    if (errno)
        return errno;
    unit = util_time_unit(*end ? end : default_time_unit);
    if (unit == 0 || value < 0 || __builtin_mul_overflow(value, unit, &value))
        return APR_EGENERAL;
    *timeout = value;
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t) ap_str2_alnum(const char *src, char *dest)
{
    for (; *src; src++, dest++)
        if (util_is(*src, UTIL_C_ALNUM))
            *dest = *src;
        else
            *dest = (unsigned char)*src >= 0x20 && (unsigned char)*src < 0x7f ? '_' : 'x';
    *dest = '\0';
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t) ap_pstr2_alnum(apr_pool_t *p, const char *src, const char **dest)
{
    char *out = apr_palloc(p, strlen(src) + 1);

    *dest = out;
    return ap_str2_alnum(src, out);
}

AP_DECLARE(int) ap_is_url(const char *u)
{
    const char *s = u;

    while (util_is(*s, UTIL_C_ALNUM) || *s == '+' || *s == '-' || *s == '.')
        s++;
    return *s == ':' && s > u;
}
