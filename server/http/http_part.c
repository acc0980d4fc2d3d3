/* SPDX-License-Identifier: Apache-2.0 */
/* The Range field: its parts, and the head of each part. */
#include "http_part.h"
#include "http_text.h"
#include "http_core.h"
#include "mod_core.h"
#include "brigade/assert.h"
#include <limits.h>
#include <string.h>
#include <strings.h>

#define PART_UNIT "bytes="
#define PART_TYPE "\r\nContent-type: "
#define PART_RANGE "\r\nContent-range: "

#define LIMIT_PARTS 200
#define LIMIT_OVERLAPS 20
#define LIMIT_REVERSALS 20

static int limit_of(int configured, int unset)
{
    if (configured == AP_MAXRANGES_UNLIMITED)
        return INT_MAX;
    return configured == AP_MAXRANGES_UNSET || configured == AP_MAXRANGES_DEFAULT ? unset
                                                                                  : configured;
}

void http_part_limits_of(http_part_limits *out, const request_rec *r)
{
    const core_dir_config *conf = ap_get_core_module_config(r->per_dir_config);

    out->parts =
        conf->max_ranges == AP_MAXRANGES_NORANGES ? 0 : limit_of(conf->max_ranges, LIMIT_PARTS);
    out->overlaps = limit_of(conf->max_overlaps, LIMIT_OVERLAPS);
    out->reversals = limit_of(conf->max_reversals, LIMIT_REVERSALS);
}

/* ---- the field ---- */

typedef struct parts_reader {
    http_part *part;
    apr_off_t length;
    int room, n;
    int overlaps, reversals, out_of_reach;
    int no_room;
} parts_reader;

/* @return behind the number; NULL: no number, or a long one */
static const char *part_number(const char *p, const char *end, apr_off_t *out)
{
    const char *start = p;

    BRG_ASSERT_DEBUG(p <= end);
    for (*out = 0; p < end && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *p - '0', out))
            return NULL;
    return p > start ? p : NULL;
}

/* "-n": the last n bytes. */
static int part_read_suffix(const char *p, const char *end, http_part *out)
{
    apr_off_t n;

    if (part_number(p, end, &n) != end || n == 0)
        return 0;
    out->first = n < out->length ? out->length - n : 0;
    out->last = out->length - 1;
    return 1;
}

/* "first-last", "first-" or "-suffix". 0 = malformed; the part may begin beyond the end. */
static int part_read(const char *p, const char *end, http_part *out)
{
    if (*p == '-')
        return part_read_suffix(p + 1, end, out);
    p = part_number(p, end, &out->first);
    if (!p || p == end || *p++ != '-')
        return 0;
    out->last = out->length - 1;
    if (p < end) {
        apr_off_t last;

        if (part_number(p, end, &last) != end || last < out->first)
            return 0;
        if (last < out->last)
            out->last = last;
    }
    return 1;
}

/* Merge with the part before it if they touch, else append. */
static void parts_add(parts_reader *in, const http_part *part)
{
    http_part *last = in->n ? &in->part[in->n - 1] : NULL;

    BRG_ASSERT(part->first <= part->last && part->last < in->length);
    if (last && part->first <= last->last + 1 && part->last + 1 >= last->first) {
        in->overlaps++;
        if (part->first < last->first) {
            last->first = part->first;
            in->reversals++;
        }
        if (part->last > last->last)
            last->last = part->last;
        return;
    }
    if (in->n == in->room) {
        in->no_room = 1;
        return;
    }
    in->part[in->n++] = *part;
}

/* 0 = malformed. */
static int parts_read_list(parts_reader *in, const char *p, const char *end)
{
    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
        const char *next = comma ? comma + 1 : end;
        http_part part = {.length = in->length};

        while (p < stop && (*p == ' ' || *p == '\t'))
            p++;
        while (stop > p && (stop[-1] == ' ' || stop[-1] == '\t'))
            stop--;
        if (stop > p) { /* else an empty element of the list */
            if (!part_read(p, stop, &part))
                return 0;
            if (part.first >= in->length)
                in->out_of_reach++;
            else
                parts_add(in, &part);
        }
        p = next;
    }
    return in->n || in->out_of_reach;
}

static int parts_are_too_much(const parts_reader *in, const http_part_limits *limits)
{
    apr_off_t sum = 0;

    for (int i = 0; i < in->n; i++) {
        sum += in->part[i].last - in->part[i].first + 1;
        if (sum > in->length)
            return 1;
    }
    return in->n > limits->parts || in->overlaps > limits->overlaps ||
           in->reversals > limits->reversals;
}

http_parts_verdict http_parts_read(const char *value, size_t len, apr_off_t length,
                                   const http_part_limits *limits, http_part *part, int room,
                                   int *n)
{
    const size_t unit = sizeof PART_UNIT - 1;
    parts_reader in = {.part = part, .length = length, .room = room};

    BRG_ASSERT(room > 0);
    *n = 0;
    if (!limits->parts || length <= 0 || len <= unit || strncasecmp(value, PART_UNIT, unit) ||
        !parts_read_list(&in, value + unit, value + len))
        return HTTP_PARTS_WHOLE;
    if (in.no_room)
        return HTTP_PARTS_NO_ROOM;
    if (!in.n)
        return HTTP_PARTS_OUTSIDE;
    if (parts_are_too_much(&in, limits))
        return HTTP_PARTS_WHOLE;
    *n = in.n;
    return HTTP_PARTS_SOME;
}

/* ---- telling ---- */

static char *part_put(char *p, const char *text)
{
    const size_t len = strlen(text);

    memcpy(p, text, len);
    return p + len;
}

size_t http_part_text(char *out, const http_part *part)
{
    char *p = part_put(out, "bytes ");

    BRG_ASSERT(part->first >= 0 && part->first <= part->last && part->last < part->length);
    p += http_put_number(p, (apr_uint64_t)part->first);
    *p++ = '-';
    p += http_put_number(p, (apr_uint64_t)part->last);
    *p++ = '/';
    p += http_put_number(p, (apr_uint64_t)part->length);
    *p = '\0';
    return (size_t)(p - out);
}

size_t http_part_head_room(const char *type)
{
    return 4 + strlen(ap_multipart_boundary) + (type ? sizeof PART_TYPE + strlen(type) : 0) +
           sizeof PART_RANGE + HTTP_PART_ROOM + 4;
}

size_t http_part_head(char *out, const char *type, const http_part *part)
{
    char *p = part_put(part_put(out, "\r\n--"), ap_multipart_boundary);

    if (type)
        p = part_put(part_put(p, PART_TYPE), type);
    p = part_put(p, PART_RANGE);
    p += http_part_text(p, part);
    return (size_t)(part_put(p, "\r\n\r\n") - out);
}

size_t http_parts_end_room(void)
{
    return 8 + strlen(ap_multipart_boundary);
}

size_t http_parts_end(char *out)
{
    char *p = part_put(part_put(out, "\r\n--"), ap_multipart_boundary);

    return (size_t)(part_put(p, "--\r\n") - out);
}

apr_off_t http_parts_length(const char *type, const http_part *part, int n)
{
    const size_t fixed = 4 + strlen(ap_multipart_boundary) +
                         (type ? sizeof PART_TYPE - 1 + strlen(type) : 0) + sizeof PART_RANGE - 1 +
                         4;
    apr_off_t sum = (apr_off_t)http_parts_end_room();

    for (int i = 0; i < n; i++) {
        char range[HTTP_PART_ROOM];

        sum +=
            (apr_off_t)(fixed + http_part_text(range, &part[i])) + part[i].last - part[i].first + 1;
    }
    return sum;
}
