/* SPDX-License-Identifier: Apache-2.0 */
#include "http_part.h"
#include "http_text.h"
#include "brigade/assert.h"
#include <string.h>
#include <strings.h>

#define PART_UNIT "bytes="
#define PART_DIGITS 18 /* as many always fit apr_off_t */

/* @return behind the number; NULL: there is none, or it is too long */
static const char *part_number(const char *p, const char *end, apr_off_t *out)
{
    const char *start = p;

    for (*out = 0; p < end && *p >= '0' && *p <= '9'; p++) {
        if (p - start >= PART_DIGITS)
            return NULL;
        *out = *out * 10 + (*p - '0');
    }
    return p > start ? p : NULL;
}

/* "-n": the last n bytes. */
static int part_parse_suffix(http_part *out, const char *p, const char *end)
{
    apr_off_t n;

    if (part_number(p, end, &n) != end || n == 0)
        return 0;
    out->first = n < out->length ? out->length - n : 0;
    out->last = out->length - 1;
    return 1;
}

int http_part_parse(http_part *out, const char *value, size_t len, apr_off_t length)
{
    const size_t unit = sizeof PART_UNIT - 1;
    const char *p = value + unit, *end = value + len;

    if (len <= unit || strncasecmp(value, PART_UNIT, unit) || length <= 0)
        return 0;
    out->length = length;
    if (*p == '-')
        return part_parse_suffix(out, p + 1, end);
    p = part_number(p, end, &out->first);
    if (!p || p == end || *p++ != '-' || out->first >= length)
        return 0;
    out->last = length - 1;
    if (p < end) {
        apr_off_t last;

        if (part_number(p, end, &last) != end || last < out->first)
            return 0;
        out->last = last < length ? last : length - 1;
    }
    return 1;
}

size_t http_part_text(char *out, const http_part *part)
{
    char *p = out;

    BRG_ASSERT(part->first >= 0 && part->first <= part->last && part->last < part->length);
    memcpy(p, "bytes ", 6);
    p += 6;
    p += http_put_number(p, (apr_uint64_t)part->first);
    *p++ = '-';
    p += http_put_number(p, (apr_uint64_t)part->last);
    *p++ = '/';
    p += http_put_number(p, (apr_uint64_t)part->length);
    *p = '\0';
    return (size_t)(p - out);
}
