/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of memory systems, sizes, and messages about wrong ones. */
#include "sms_private.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

BRG_DECLARE(const char *) brg_sms_message(apr_pool_t *p, const char *format, ...)
{
    static __thread char kept[SMS_MESSAGE];
    char buffer[SMS_MESSAGE]; /* an argument may be the message before */
    va_list args;
    char *copy;
    size_t n;

    va_start(args, format);
    vsnprintf(buffer, sizeof(buffer), format, args);
    va_end(args);
    n = strlen(buffer) + 1;
    /* Not with apr_pstrdup(): this is called before it is known that APR's functions use these
     * pools. */
    copy = p != NULL ? apr_palloc(p, n) : kept;
    return copy != NULL ? memcpy(copy, buffer, n) : "out of memory";
}

/* Sizes. */

BRG_DECLARE(int) brg_sms_parse_size(const char *text, size_t *bytes)
{
    size_t n = 0, unit = 1;
    const char *c = text;

    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(n, (size_t)10, &n) ||
            __builtin_add_overflow(n, (size_t)(*c - '0'), &n))
            return -1;
    if (c == text)
        return -1;
    switch (*c) {
    case 'g':
    case 'G':
        unit <<= 10; /* fall through */
    case 'm':
    case 'M':
        unit <<= 10; /* fall through */
    case 'k':
    case 'K':
        unit <<= 10;
        c++;
        break;
    default:
        break;
    }
    if (*c != '\0' || __builtin_mul_overflow(n, unit, &n))
        return -1;
    *bytes = n;
    return 0;
}

const char *sms_format_size(size_t bytes, char *buffer)
{
    static const char units[] = "\0KMG";
    int unit = 0;

    while (unit < 3 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(buffer, 24, unit > 0 ? "%zu%c" : "%zu", bytes, units[unit]);
    return buffer;
}

/* Written as a size is, and more than can be counted. */
static int param_is_large(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    size_t unit = text[digits] != '\0' && strchr("kKmMgG", text[digits]) != NULL;

    return digits > 0 && text[digits + unit] == '\0';
}

const char *sms_param_size(const brg_sms_param *param, size_t least, size_t most, size_t *out,
                           apr_pool_t *p)
{
    char low[24], high[24];
    size_t value;

    if (brg_sms_parse_size(param->value, &value) != 0)
        return brg_sms_message(p,
                               param_is_large(param->value) ? "%.32s is too large"
                                                            : "\"%.32s\" is no size (64k, 16M, 1G)",
                               param->value);
    if (value < least && most == SMS_LARGEST)
        return brg_sms_message(
            p, "%s%s%.32s is less than %s", param->name != NULL ? param->name : "",
            param->name != NULL ? "=" : "", param->value, sms_format_size(least, low));
    if (value > most && most == SMS_LARGEST)
        return brg_sms_message(p, "%.32s is too large", param->value);
    if (value < least || value > most)
        return brg_sms_message(p, "%s%s%.32s is not between %s and %s",
                               param->name != NULL ? param->name : "",
                               param->name != NULL ? "=" : "", param->value,
                               sms_format_size(least, low), sms_format_size(most, high));
    *out = value;
    return NULL;
}

int sms_param_is(const brg_sms_param *param, const char *name)
{
    return param->name != NULL && strcmp(param->name, name) == 0;
}

const char *sms_param_unknown(const brg_sms_param *param, apr_pool_t *p)
{
    return brg_sms_message(p, "it does not know \"%.32s%s%.32s\"",
                           param->name != NULL ? param->name : "", param->name != NULL ? "=" : "",
                           param->value);
}
