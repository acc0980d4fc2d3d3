/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of stored responses (RFC 9110, 14; RFC 9111, 3.3 and 3.4). */
#include "fresh_range.h"
#include "brigade/assert.h"
#include "http_fields.h"
#include "http_scan.h"

#include <string.h>
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

/* 1: it is there, 0: it is not, -1: a wrong form. */
static int fresh_range_one(const char *p, const char *end, uint64_t total, fresh_range *out)
{
    uint64_t n;

    if (p < end && *p == '-') {
        p++;
        if (fresh_digits(&p, end, &n) || p != end)
            return -1;
        *out = (fresh_range){n < total ? total - n : 0, total - 1};
        return n > 0 && total > 0;
    }
    if (fresh_digits(&p, end, &out->first) || p == end || *p++ != '-')
        return -1;
    out->last = total ? total - 1 : 0;
    if (p < end) {
        if (fresh_digits(&p, end, &n) || p != end || n < out->first)
            return -1;
        if (n < out->last)
            out->last = n;
    }
    return out->first < total;
}

fresh_range_says fresh_ranges(const char *value, size_t len, uint64_t total, fresh_range *out,
                              uint32_t *n)
{
    const char *p, *end = value + len, *item;
    size_t item_len;
    uint32_t asked = 0;

    *n = 0;
    if (len < 6 || strncasecmp(value, "bytes=", 6))
        return FRESH_RANGE_WHOLE;
    for (p = value + 6; http_list_next(&p, end, &item, &item_len); asked++) {
        fresh_range range;
        const int there = fresh_range_one(item, item + item_len, total, &range);

        if (there < 0 || asked == FRESH_RANGES_MOST)
            return FRESH_RANGE_WHOLE;
        if (there)
            out[(*n)++] = range;
    }
    BRG_ASSERT(*n <= asked && asked <= FRESH_RANGES_MOST);
    return *n ? FRESH_RANGE_PARTS : asked ? FRESH_RANGE_NONE : FRESH_RANGE_WHOLE;
}

int fresh_parts_add(fresh_parts *parts, fresh_range range, uint64_t total)
{
    uint32_t from = 0, to;

    BRG_ASSERT(range.first <= range.last);
    if (parts->n && total != FRESH_LENGTH_UNKNOWN && parts->total != FRESH_LENGTH_UNKNOWN &&
        total != parts->total)
        return -1;
    while (from < parts->n && parts->part[from].last + 1 < range.first)
        from++;
    for (to = from; to < parts->n && parts->part[to].first <= range.last + 1; to++) {
        if (parts->part[to].first < range.first)
            range.first = parts->part[to].first;
        if (parts->part[to].last > range.last)
            range.last = parts->part[to].last;
    }
    if (to == from && parts->n == FRESH_RANGES_MOST)
        return -1;
    BRG_ASSERT(from <= to && to <= parts->n && parts->n <= FRESH_RANGES_MOST);
    memmove(parts->part + from + 1, parts->part + to, (parts->n - to) * sizeof range);
    parts->part[from] = range;
    parts->n = parts->n - (to - from) + 1;
    if (parts->n == 1 || total != FRESH_LENGTH_UNKNOWN)
        parts->total = total != FRESH_LENGTH_UNKNOWN || to == from ? total : parts->total;
    return 0;
}

int fresh_parts_whole(const fresh_parts *parts)
{
    return parts->n == 1 && !parts->part[0].first && parts->total != FRESH_LENGTH_UNKNOWN &&
           parts->part[0].last + 1 == parts->total;
}

int fresh_parts_have(const fresh_parts *parts, fresh_range range)
{
    for (uint32_t i = 0; i < parts->n; i++)
        if (parts->part[i].first <= range.first && range.last <= parts->part[i].last)
            return 1;
    return 0;
}

int fresh_parts_gap(const fresh_parts *parts, fresh_range *gap)
{
    const uint64_t end = parts->total == FRESH_LENGTH_UNKNOWN ? UINT64_MAX : parts->total - 1;

    if (fresh_parts_whole(parts))
        return 0;
    if (!parts->n || parts->part[0].first) {
        *gap = (fresh_range){0, parts->n ? parts->part[0].first - 1 : end};
        return 1;
    }
    *gap = (fresh_range){parts->part[0].last + 1, parts->n > 1 ? parts->part[1].first - 1 : end};
    return 1;
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

size_t fresh_content_range_text(char *room, size_t len, const fresh_range *range, uint64_t total)
{
    char digits[3][21];
    fresh_text out = {room, 0, len, 0};
    const uint64_t number[3] = {range ? range->first : 0, range ? range->last : 0, total};
    const char *text[3];

    for (int i = 0; i < 3; i++) {
        char *p = digits[i] + 20;
        uint64_t n = number[i];

        *p = 0;
        do
            *--p = (char)('0' + n % 10);
        while (n /= 10);
        text[i] = p;
    }
    FRESH_TEXT_ADD(&out, "bytes ");
    if (range) {
        fresh_text_add(&out, text[0], strlen(text[0]));
        FRESH_TEXT_ADD(&out, "-");
        fresh_text_add(&out, text[1], strlen(text[1]));
    } else {
        FRESH_TEXT_ADD(&out, "*");
    }
    FRESH_TEXT_ADD(&out, "/");
    fresh_text_add(&out, total == FRESH_LENGTH_UNKNOWN ? "*" : text[2],
                   total == FRESH_LENGTH_UNKNOWN ? 1 : strlen(text[2]));
    BRG_ASSERT(out.len <= len);
    return out.over ? 0 : out.len;
}
