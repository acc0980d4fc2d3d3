/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a stream that are held for the peer. They lie where their owners have them. */
#include "quic_private.h"
#include <stdlib.h>

static void sendq_append(quic_sendq *q, quic_piece *p)
{
    BRG_ASSERT(p->len > 0 && !q->fin);
    p->next = NULL;
    p->off = q->written;
    if (q->last)
        q->last->next = p;
    else
        q->first = p;
    q->last = p;
    if (!q->at)
        q->at = p;
    q->written += p->len;
}

int quic_sendq_add(quic_sendq *q, const void *data, size_t len, shared_ref *owner)
{
    quic_piece *p;

    if (!len)
        return 0;
    if (!(p = malloc(sizeof *p + (owner ? 0 : len))))
        return -1;
    p->len = len;
    p->owner = owner;
    if (owner) {
        shared_hold(owner);
        p->data = data;
    } else {
        memcpy(p->own, data, len);
        p->data = p->own;
    }
    sendq_append(q, p);
    return 0;
}

/* The piece that has the byte at off; new bytes are looked for from where the last ones were. */
static quic_piece *sendq_piece(quic_sendq *q, uint64_t off)
{
    quic_piece *p = q->at && q->at->off <= off ? q->at : q->first;

    while (p && p->off + p->len <= off)
        p = p->next;
    BRG_ASSERT(p && p->off <= off);
    return p;
}

void quic_sendq_copy(quic_sendq *q, uint64_t off, size_t len, uint8_t *out)
{
    quic_piece *p;

    if (!len)
        return;
    BRG_ASSERT(off >= q->acked && off + len <= q->written);
    p = sendq_piece(q, off);
    if (off >= q->sent)
        q->at = p;
    for (;; p = p->next) {
        const size_t skip = (size_t)(off - p->off), n = p->len - skip < len ? p->len - skip : len;

        memcpy(out, p->data + skip, n);
        out += n;
        off += n;
        if (!(len -= n))
            return;
    }
}

static void sendq_release(quic_piece *p)
{
    if (p->owner)
        shared_release(p->owner);
    free(p);
}

/* Let pieces go that the peer has. */
static void sendq_advance(quic_sendq *q)
{
    quic_piece *p;

    BRG_ASSERT(q->acked <= q->sent && q->sent <= q->written);
    while ((p = q->first) != NULL && p->off + p->len <= q->acked) {
        q->first = p->next;
        if (q->at == p)
            q->at = p->next;
        if (!q->first)
            q->last = NULL;
        sendq_release(p);
    }
}

int quic_sendq_acked(quic_sendq *q, uint64_t off, uint64_t len)
{
    const uint64_t end = off + len;

    BRG_ASSERT(end <= q->sent);
    if (end <= q->acked)
        return 0;
    if (q->lost.n && quic_ranges_remove(&q->lost, off, end))
        return -1;
    if (off > q->acked)
        return quic_ranges_add(&q->also, off, end);
    q->acked = end;
    while (q->also.n && q->also.r[0].from <= q->acked) {
        if (q->also.r[0].to > q->acked)
            q->acked = q->also.r[0].to;
        quic_ranges_drop(&q->also, 1);
    }
    sendq_advance(q);
    return 0;
}

int quic_sendq_lost(quic_sendq *q, uint64_t off, uint64_t len)
{
    const uint64_t end = off + len;

    BRG_ASSERT(end <= q->sent);
    if (off < q->acked)
        off = q->acked;
    if (off >= end)
        return 0;
    if (quic_ranges_add(&q->lost, off, end))
        return -1;
    for (uint32_t i = quic_ranges_find(&q->also, off); i < q->also.n && q->also.r[i].from < end;
         i++)
        if (quic_ranges_remove(&q->lost, q->also.r[i].from, q->also.r[i].to))
            return -1;
    return 0;
}

void quic_sendq_end(quic_sendq *q)
{
    quic_piece *p;

    while ((p = q->first) != NULL) {
        q->first = p->next;
        sendq_release(p);
    }
    quic_ranges_end(&q->also);
    quic_ranges_end(&q->lost);
    q->last = q->at = NULL;
}
