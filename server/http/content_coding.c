/* SPDX-License-Identifier: Apache-2.0 */
/* Accept-Encoding: RFC 9110, 12.5.3 and 12.4.2. */
#include "brigade/content_coding.h"
#include "brigade/assert.h"
#include "apr_lib.h"
#include <string.h>

#define QUALITY_ONE 1000
#define QUALITY_ABSENT (-1)

static const char *const coding_names[BRG_CODINGS] = {NULL, "br", "zstd", "gzip"};

BRG_DECLARE(const char *) brg_coding_name(enum brg_coding coding)
{
    BRG_ASSERT(coding > BRG_CODING_NONE && coding < BRG_CODINGS);
    return coding_names[coding];
}

BRG_DECLARE(enum brg_coding) brg_coding_named(const char *name)
{
    for (int i = 1; i < BRG_CODINGS; i++)
        if (!ap_cstr_casecmp(name, coding_names[i]))
            return (enum brg_coding)i;
    return BRG_CODING_NONE;
}

BRG_DECLARE(brg_codings) brg_codings_append(brg_codings list, enum brg_coding coding)
{
    int shift = 0;

    BRG_ASSERT(coding > BRG_CODING_NONE && coding < BRG_CODINGS);
    for (; list >> shift & BRG_CODING_MASK; shift += BRG_CODING_BITS)
        if ((list >> shift & BRG_CODING_MASK) == (int)coding)
            return list;
    return list | (int)coding << shift;
}

/* "q=0.5": in thousandths; a malformed value counts as a refusal. */
static int quality_of(const char *p, const char *end)
{
    int value, digits = 100;

    while (p < end && (*p == ';' || apr_isspace(*p)))
        p++;
    if (p == end)
        return QUALITY_ONE;
    if (end - p < 3 || (*p != 'q' && *p != 'Q') || p[1] != '=' || (p[2] != '0' && p[2] != '1'))
        return 0;
    value = (p[2] - '0') * QUALITY_ONE;
    p += 3;
    if (p < end && *p == '.')
        for (p++; p < end && apr_isdigit(*p); p++, digits /= 10)
            value += (*p - '0') * digits;
    return value > QUALITY_ONE ? QUALITY_ONE : value;
}

static int coding_is(const char *own, const char *name, apr_size_t len)
{
    if (strlen(own) == len && !strncasecmp(own, name, len))
        return 1;
    return len == 6 && !strcmp(own, "gzip") && !strncasecmp(name, "x-gzip", 6);
}

/* The field's quality of one coding, or that of "*"; QUALITY_ABSENT: neither. */
static int quality_for(const char *coding, const char *value, apr_size_t len)
{
    const char *p = value, *end = value + len;
    int all = QUALITY_ABSENT;

    while (p < end) {
        const char *stop = memchr(p, ',', (apr_size_t)(end - p)), *name_end;

        stop = stop ? stop : end;
        while (p < stop && apr_isspace(*p))
            p++;
        for (name_end = p; name_end < stop && *name_end != ';' && !apr_isspace(*name_end);)
            name_end++;
        if (coding_is(coding, p, (apr_size_t)(name_end - p)))
            return quality_of(name_end, stop);
        if (name_end - p == 1 && *p == '*' && strcmp(coding, "identity") != 0)
            all = quality_of(name_end, stop);
        p = stop + (stop < end);
    }
    return all;
}

/* In order of their weights; equal ones keep the list's order. */
BRG_DECLARE(int) brg_codings_accepted(const void *codings, const char *value, apr_size_t len)
{
    const brg_codings list = (int)(intptr_t)codings;
    const int identity = value ? quality_for("identity", value, len) : 0;
    int best[BRG_CODINGS], quality[BRG_CODINGS], n = 0, accepted = 0;

    for (int shift = 0; value && list >> shift & BRG_CODING_MASK; shift += BRG_CODING_BITS) {
        const int coding = list >> shift & BRG_CODING_MASK;
        const int q = quality_for(coding_names[coding], value, len);
        int at = n;

        if (q <= 0 || q < identity)
            continue;
        for (; at > 0 && quality[at - 1] < q; at--) {
            best[at] = best[at - 1];
            quality[at] = quality[at - 1];
        }
        best[at] = coding;
        quality[at] = q;
        n++;
    }
    while (n--)
        accepted = accepted << BRG_CODING_BITS | best[n];
    return accepted;
}

BRG_DECLARE(int) brg_coding_accepted(const void *codings, const char *value, apr_size_t len)
{
    return brg_codings_accepted(codings, value, len) & BRG_CODING_MASK;
}
