/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of numbers as ranges; bytes of a stream that come out of order. */
#include "quic_ranges.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

uint32_t quic_ranges_find(const quic_ranges *s, uint64_t v)
{
    uint32_t low = 0, high = s->n;

    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;

        if (s->r[mid].to > v)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

/* Room for another range at @a i. */
static int ranges_open(quic_ranges *s, uint32_t i)
{
    if (s->n == s->cap) {
        const uint32_t cap = s->cap ? s->cap * 2 : 4;
        quic_range *r = realloc(s->r, cap * sizeof *r);

        if (!r)
            return -1;
        s->r = r;
        s->cap = cap;
    }
    memmove(s->r + i + 1, s->r + i, (s->n - i) * sizeof *s->r);
    s->n++;
    return 0;
}

static void ranges_close(quic_ranges *s, uint32_t from, uint32_t to)
{
    memmove(s->r + from, s->r + to, (s->n - to) * sizeof *s->r);
    s->n -= to - from;
}

int quic_ranges_add(quic_ranges *s, uint64_t from, uint64_t to)
{
    uint32_t first, last;

    BRG_ASSERT(from <= to);
    if (from == to)
        return 0;
    first = from ? quic_ranges_find(s, from - 1) : 0; /* a range that ends at from is made longer */
    for (last = first; last < s->n && s->r[last].from <= to; last++)
        ;
    if (first == last) {
        if (ranges_open(s, first))
            return -1;
        s->r[first] = (quic_range){from, to};
        return 0;
    }
    if (s->r[first].from < from)
        from = s->r[first].from;
    if (s->r[last - 1].to > to)
        to = s->r[last - 1].to;
    s->r[first] = (quic_range){from, to};
    ranges_close(s, first + 1, last);
    return 0;
}

int quic_ranges_remove(quic_ranges *s, uint64_t from, uint64_t to)
{
    uint32_t i = quic_ranges_find(s, from), end;

    BRG_ASSERT(from <= to);
    if (from == to)
        return 0;
    if (i < s->n && s->r[i].from < from && s->r[i].to > to) {
        if (ranges_open(s, i))
            return -1;
        s->r[i].from = s->r[i + 1].from;
        s->r[i].to = from;
        s->r[i + 1].from = to;
        return 0;
    }
    if (i < s->n && s->r[i].from < from)
        s->r[i++].to = from;
    for (end = i; end < s->n && s->r[end].to <= to; end++)
        ;
    ranges_close(s, i, end);
    if (i < s->n && s->r[i].from < to)
        s->r[i].from = to;
    return 0;
}

int quic_ranges_has(const quic_ranges *s, uint64_t from, uint64_t to)
{
    const uint32_t i = quic_ranges_find(s, from);

    return from == to || (i < s->n && s->r[i].from <= from && s->r[i].to >= to);
}

void quic_ranges_drop(quic_ranges *s, uint32_t n)
{
    BRG_ASSERT(n <= s->n);
    ranges_close(s, 0, n);
}

void quic_ranges_end(quic_ranges *s)
{
    free(s->r);
    memset(s, 0, sizeof *s);
}

/* ---- bytes that come out of order ---- */

void quic_reorder_end(quic_reorder *o)
{
    free(o->data);
    o->data = NULL;
    o->cap = 0;
    quic_ranges_end(&o->have);
}

/* Room for the bytes up to @a to, from o->next on. */
static int reorder_room(quic_reorder *o, uint64_t to)
{
    size_t cap = 2048, skip;
    uint8_t *data;

    if (o->data && to <= o->base + o->cap)
        return 0;
    while (cap < to - o->next)
        cap *= 2;
    if (!o->data || o->next - o->base + cap > o->cap) {
        if (!(data = malloc(cap)))
            return -1;
        skip = o->data ? (size_t)(o->next - o->base) : 0;
        if (o->data && skip < o->cap)
            memcpy(data, o->data + skip, o->cap - skip < cap ? o->cap - skip : cap);
        free(o->data);
        o->data = data;
        o->cap = cap;
    } else {
        skip = (size_t)(o->next - o->base);
        memmove(o->data, o->data + skip, o->cap - skip);
    }
    o->base = o->next;
    return 0;
}

static int reorder_keep(quic_reorder *o, uint64_t off, const uint8_t *data, size_t len,
                        unsigned most)
{
    if (o->have.n >= most || reorder_room(o, off + len) ||
        quic_ranges_add(&o->have, off, off + len))
        return 1;
    memcpy(o->data + (off - o->base), data, len);
    return 0;
}

/* Deliver kept bytes that are in order now. */
static int reorder_deliver(quic_reorder *o, quic_deliver_fn *deliver, void *of)
{
    while (o->have.n && o->have.r[0].from <= o->next) {
        const quic_range first = o->have.r[0];
        const uint64_t from = o->next;

        quic_ranges_drop(&o->have, 1);
        if (first.to <= from)
            continue;
        o->next = first.to;
        if (deliver(of, o->data + (from - o->base), (size_t)(first.to - from)))
            return -1;
    }
    if (!o->have.n)
        quic_reorder_end(o);
    return 0;
}

int quic_reorder_put(quic_reorder *o, uint64_t off, const uint8_t *data, size_t len, unsigned most,
                     quic_deliver_fn *deliver, void *of)
{
    if (off + len <= o->next)
        return 0;
    if (off > o->next)
        return reorder_keep(o, off, data, len, most);
    data += o->next - off;
    len -= (size_t)(o->next - off);
    o->next += len;
    if (deliver(of, data, len))
        return -1;
    return o->have.n ? reorder_deliver(o, deliver, of) : 0;
}
