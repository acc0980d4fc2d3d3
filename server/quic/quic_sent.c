/* SPDX-License-Identifier: Apache-2.0 */
/* Packets under way: a ring by packet number, and a ring of their content. Both grow by doubling,
 * and go when they are empty: large ones at once, small ones when the connection sleeps. */
#include "quic_private.h"
#include <stdlib.h>

#define SENT_FIRST 16
#define SENT_KEPT 64 /* packets: a larger ring is not kept empty */

/* Where n entries of a ring from first on are, those of one twice as large. */
static void *sent_ring(void *old, uint32_t old_cap, uint32_t cap, uint64_t first, uint64_t n,
                       size_t size)
{
    uint8_t *to = malloc(cap * size);
    const uint8_t *from = old;

    BRG_ASSERT((cap & (cap - 1)) == 0 && n <= cap);
    for (uint64_t i = first; to && i < first + n; i++)
        memcpy(to + (i & (cap - 1)) * size, from + (i & (old_cap - 1)) * size, size);
    if (to)
        free(old);
    return to;
}

static int sent_packets_room(quic_space *sp)
{
    const uint64_t n = sp->next_pn - sp->first_pn;
    const uint32_t cap = sp->sent_cap ? sp->sent_cap * 2 : SENT_FIRST;
    quic_sent *ring;

    if (n + 2 <= sp->sent_cap)
        return 0;
    if (cap > QUIC_SENT_MOST ||
        !(ring = sent_ring(sp->sent, sp->sent_cap, cap, sp->first_pn, n, sizeof *ring)))
        return -1;
    sp->sent = ring;
    sp->sent_cap = cap;
    return 0;
}

int quic_sent_room(quic_space *sp, unsigned frames)
{
    const uint32_t n = sp->frames_next - sp->frames_first;
    const uint32_t cap = sp->frames_cap ? sp->frames_cap * 2 : SENT_FIRST * 2;
    quic_sent_frame *ring;

    BRG_ASSERT(frames <= SENT_FIRST);
    if (sent_packets_room(sp))
        return -1;
    if (n + frames <= sp->frames_cap)
        return 0;
    if (cap > QUIC_SENT_MOST * 8 ||
        !(ring = sent_ring(sp->frames, sp->frames_cap, cap, sp->frames_first, n, sizeof *ring)))
        return -1;
    sp->frames = ring;
    sp->frames_cap = cap;
    return 0;
}

quic_sent *quic_sent_at(const quic_space *sp, uint64_t pn)
{
    BRG_ASSERT_DEBUG(pn >= sp->first_pn && pn - sp->first_pn < sp->sent_cap);
    return &sp->sent[pn & (sp->sent_cap - 1)];
}

static quic_sent_frame *sent_frame(const quic_space *sp, uint32_t at)
{
    BRG_ASSERT_DEBUG(sp->frames_cap > 0);
    return &sp->frames[at & (sp->frames_cap - 1)];
}

void quic_sent_frame_add(quic_space *sp, quic_frame_type type, uint64_t id, uint64_t off,
                         uint32_t len, int fin)
{
    BRG_ASSERT(sp->frames_next - sp->frames_first < sp->frames_cap);
    *sent_frame(sp, sp->frames_next++) = (quic_sent_frame){
        .id = id, .off = off, .len = len, .type = (uint8_t)type, .fin = (uint8_t)fin};
}

/* ---- it arrived ---- */

static void acked_stream(quic_conn *qc, const quic_sent_frame *f)
{
    quic_stream *qs = quic_stream_find(qc, f->id);

    if (!qs || qs->out_over)
        return;
    if (quic_sendq_acked(&qs->out, f->off, f->len)) {
        quic_conn_fail(qc, QUIC_INTERNAL_ERROR, "no memory");
        return;
    }
    if (f->fin)
        qs->out.fin_acked = 1;
    quic_stream_check(qs);
}

static void acked_frame(quic_conn *qc, quic_space *sp, const quic_sent_frame *f)
{
    quic_stream *qs;

    switch (f->type) {
    case QUIC_F_STREAM:
        acked_stream(qc, f);
        break;
    case QUIC_F_CRYPTO:
        if (quic_sendq_acked(&sp->crypto, f->off, f->len))
            quic_conn_fail(qc, QUIC_INTERNAL_ERROR, "no memory");
        break;
    case QUIC_F_RESET_STREAM:
        if ((qs = quic_stream_find(qc, f->id)) != NULL) {
            qs->reset_acked = 1;
            quic_stream_check(qs);
        }
        break;
    default:
        break;
    }
}

void quic_sent_acked(quic_conn *qc, quic_space *sp, quic_sent *s)
{
    BRG_ASSERT(s->state == QUIC_P_ACKED);
    if (s->probe)
        quic_mtu_acked(qc, s->size);
    for (uint32_t i = 0; i < s->frames_n && qc->state <= QUIC_UP; i++)
        acked_frame(qc, sp, sent_frame(sp, s->frame + i));
}

/* ---- it was lost ---- */

static void lost_stream(quic_conn *qc, const quic_sent_frame *f)
{
    quic_stream *qs = quic_stream_find(qc, f->id);

    if (!qs || qs->out_over)
        return;
    if (quic_sendq_lost(&qs->out, f->off, f->len)) {
        quic_conn_fail(qc, QUIC_INTERNAL_ERROR, "no memory");
        return;
    }
    if (f->fin && !qs->out.fin_acked)
        qs->out.fin_sent = 0;
    quic_stream_sends(qs);
}

static void lost_of_stream(quic_conn *qc, const quic_sent_frame *f, unsigned due)
{
    quic_stream *qs = quic_stream_find(qc, f->id);

    if (qs && !(due == QUIC_DUE_STOP && qs->in_over) &&
        !(due == QUIC_DUE_MAX && f->off < qs->in_max))
        quic_stream_due(qs, due);
}

static void lost_cid(quic_conn *qc, uint64_t seq)
{
    for (int i = 0; i < QUIC_CIDS; i++)
        if (qc->own[i].qc && qc->own[i].seq == seq) {
            qc->own[i].due = 1;
            qc->due |= QUIC_DUE_CIDS;
        }
}

static void lost_retire(quic_conn *qc, uint64_t seq)
{
    if (qc->retire_n < sizeof qc->retire / sizeof *qc->retire)
        qc->retire[qc->retire_n++] = seq;
}

static void lost_of_conn(quic_conn *qc, const quic_sent_frame *f)
{
    switch (f->type) {
    case QUIC_F_MAX_DATA:
        qc->due |= QUIC_DUE_MAX_DATA;
        break;
    case QUIC_F_MAX_STREAMS_BIDI:
        qc->due |= QUIC_DUE_MAX_BIDI;
        break;
    case QUIC_F_MAX_STREAMS_UNI:
        qc->due |= QUIC_DUE_MAX_UNI;
        break;
    case QUIC_F_HANDSHAKE_DONE:
        qc->due |= QUIC_DUE_HANDSHAKE_DONE;
        break;
    case QUIC_F_NEW_TOKEN:
        qc->due |= QUIC_DUE_TOKEN;
        break;
    case QUIC_F_NEW_CONNECTION_ID:
        lost_cid(qc, f->id);
        break;
    case QUIC_F_RETIRE_CONNECTION_ID:
        lost_retire(qc, f->id);
        break;
    default:
        break;
    }
}

static void lost_frame(quic_conn *qc, quic_space *sp, const quic_sent_frame *f)
{
    switch (f->type) {
    case QUIC_F_STREAM:
        lost_stream(qc, f);
        break;
    case QUIC_F_CRYPTO:
        if (quic_sendq_lost(&sp->crypto, f->off, f->len))
            quic_conn_fail(qc, QUIC_INTERNAL_ERROR, "no memory");
        break;
    case QUIC_F_RESET_STREAM:
        lost_of_stream(qc, f, QUIC_DUE_RESET);
        break;
    case QUIC_F_STOP_SENDING:
        lost_of_stream(qc, f, QUIC_DUE_STOP);
        break;
    case QUIC_F_MAX_STREAM_DATA:
        lost_of_stream(qc, f, QUIC_DUE_MAX);
        break;
    default:
        lost_of_conn(qc, f);
    }
}

void quic_sent_lost(quic_conn *qc, quic_space *sp, quic_sent *s)
{
    for (uint32_t i = 0; i < s->frames_n && qc->state <= QUIC_UP; i++)
        lost_frame(qc, sp, sent_frame(sp, s->frame + i));
}

/* ---- the front ---- */

/* A packet that was thought lost is remembered for a while: it may be late. */
#define SENT_LATE 128

void quic_sent_trim(quic_space *sp)
{
    BRG_ASSERT(sp->first_pn <= sp->next_pn);
    while (sp->first_pn < sp->next_pn) {
        const quic_sent *s = quic_sent_at(sp, sp->first_pn);

        if (s->state == QUIC_P_OUT)
            break;
        if ((s->state == QUIC_P_LOST || s->state == QUIC_P_SKIPPED) &&
            (int64_t)(sp->first_pn + SENT_LATE) > sp->largest_acked &&
            sp->next_pn - sp->first_pn < QUIC_SENT_MOST / 2 && sp->eliciting)
            break;
        sp->frames_first = s->frame + s->frames_n;
        sp->first_pn++;
    }
    if (sp->first_pn == sp->next_pn && sp->sent_cap > SENT_KEPT)
        quic_sent_end(sp);
}

void quic_sent_end(quic_space *sp)
{
    free(sp->sent);
    free(sp->frames);
    sp->sent = NULL;
    sp->frames = NULL;
    sp->sent_cap = sp->frames_cap = 0;
    sp->frames_first = sp->frames_next;
}
