/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of representations, as origins tell of them (RFC 9110, 14.4; RFC 9111, 3.4). The Range
 * field itself: http_part.c. */
#include "fresh_range.h"
#include "http_fields.h"
#include "http_scan.h"

#include <strings.h>

/* Digits at p; -1: none, or more than a file can have. */
static int fresh_digits(const char **p, const char *end, uint64_t *n)
{
    const char *begin = *p;

    while (*p < end && http_is(**p, HTTP_C_DIGIT))
        ++*p;
    return *p == begin ? -1 : http_parse_length(begin, (size_t)(*p - begin), n);
}

int fresh_content_range(const char *value, size_t len, fresh_range *range, uint64_t *total)
{
    const char *p = value, *end = value + len;

    if (len < 6 || strncasecmp(p, "bytes ", 6))
        return -1;
    for (p += 6; p < end && *p == ' ';)
        p++;
    if (fresh_digits(&p, end, &range->first) || p == end || *p++ != '-' ||
        fresh_digits(&p, end, &range->last) || p == end || *p++ != '/' ||
        range->last < range->first)
        return -1;
    *total = FRESH_LENGTH_UNKNOWN;
    if (end - p == 1 && *p == '*')
        return 0;
    return fresh_digits(&p, end, total) || p != end || *total <= range->last ? -1 : 0;
}

static int fresh_strong_tag(const fresh_head *head, fresh_etag *tag)
{
    const http_field *f = FRESH_FIND(head, "etag");
    const char *p = f ? f->value : NULL;

    return f && fresh_etag_next(&p, f->value + f->value_len, tag) && tag->quoted && !tag->weak;
}

int fresh_parts_combine(const fresh_head *a, const fresh_head *b)
{
    fresh_etag x, y;

    return fresh_strong_tag(a, &x) && fresh_strong_tag(b, &y) && fresh_etag_same(&x, &y, 1);
}
