/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of ASes: their validity, and merging of two where a router on the way knows 2-byte numbers
 * alone (RFC 6793). */
#include "brigade/assert.h"
#include "bgp_message.h"

/* Segments (RFC 4271, RFC 5065). */
enum { SET = 1, SEQUENCE, CONFEDERATION_SEQUENCE, CONFEDERATION_SET };

typedef struct segment {
    uint32_t type, count;
    asn_bytes numbers;
} segment;

/* @return 0 without a whole segment */
static int take_segment(asn_bytes *path, unsigned width, segment *s)
{
    return asn_take_number(path, 1, &s->type) && asn_take_number(path, 1, &s->count) &&
           asn_take_part(path, (size_t)s->count * width, &s->numbers);
}

static int of_confederation(const segment *s)
{
    return s->type == CONFEDERATION_SEQUENCE || s->type == CONFEDERATION_SET;
}

int bgp_path_is(asn_bytes path, unsigned width, int confederation)
{
    segment s;

    while (path.n) {
        if (!take_segment(&path, width, &s) || !s.count)
            return 0;
        if (s.type < SET || s.type > CONFEDERATION_SET)
            return 0;
        if (of_confederation(&s) && !confederation)
            return 0;
    }
    return 1;
}

size_t bgp_path_widen(asn_bytes path, unsigned char *to)
{
    size_t n = 0;
    segment s;

    while (path.n && take_segment(&path, 2, &s)) {
        to[n++] = (unsigned char)s.type;
        to[n++] = (unsigned char)s.count;
        for (size_t i = 0; i < s.count; i++, n += 4) {
            memset(to + n, 0, 2);
            memcpy(to + n + 2, s.numbers.at + 2 * i, 2);
        }
    }
    return n;
}

static unsigned segment_length(const segment *s)
{
    if (of_confederation(s))
        return 0;
    return s->type == SET ? 1 : s->count;
}

unsigned bgp_path_length(asn_bytes path)
{
    unsigned n = 0;
    segment s;

    while (path.n && take_segment(&path, 4, &s))
        n += segment_length(&s);
    return n;
}

static size_t put_segment(unsigned char *to, const segment *s, size_t count)
{
    BRG_ASSERT(count && count <= s->count);
    to[0] = (unsigned char)s->type;
    to[1] = (unsigned char)count;
    memcpy(to + 2, s->numbers.at, 4 * count);
    return 2 + 4 * count;
}

/* The begin of a path: as many ASes as @a length says, with the confederation that is before or behind them. */
static size_t put_begin(asn_bytes path, unsigned length, unsigned char *to)
{
    size_t n = 0, count;
    segment s;

    while (path.n && take_segment(&path, 4, &s)) {
        if (!length && !of_confederation(&s))
            break;
        count = s.type == SEQUENCE && length < s.count ? length : s.count;
        length -= of_confederation(&s) ? 0 : s.type == SET ? 1 : (unsigned)count;
        n += put_segment(to + n, &s, count);
    }
    return n;
}

size_t bgp_path_merge(asn_bytes path, asn_bytes path4, unsigned char *to)
{
    unsigned all = bgp_path_length(path), known = bgp_path_length(path4);
    size_t n;
    segment s;

    n = put_begin(path, all < known ? all : all - known, to);
    if (all < known)
        return n;
    while (path4.n && take_segment(&path4, 4, &s))
        if (!of_confederation(&s))
            n += put_segment(to + n, &s, s.count);
    return n;
}
