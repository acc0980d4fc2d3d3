/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as their user sees them, and which of them have something to send. */
#include "quic_private.h"

/* ---- lists ---- */

void quic_stream_sends(quic_stream *qs)
{
    quic_conn *qc = qs->qc;

    BRG_ASSERT_TAG(qs, QUIC_STREAM_TAG);
    if (qs->send_prev || qs->out_over || qs->is_dead)
        return;
    qs->send_next = NULL;
    qs->send_prev = qc->sending_tail;
    *qc->sending_tail = qs;
    qc->sending_tail = &qs->send_next;
    quic_pending(qc);
}

void quic_stream_unsends(quic_stream *qs)
{
    if (!qs->send_prev)
        return;
    *qs->send_prev = qs->send_next;
    if (qs->send_next)
        qs->send_next->send_prev = qs->send_prev;
    else
        qs->qc->sending_tail = qs->send_prev;
    qs->send_prev = NULL;
}

void quic_stream_due(quic_stream *qs, unsigned due)
{
    quic_conn *qc = qs->qc;

    BRG_ASSERT_TAG(qs, QUIC_STREAM_TAG);
    qs->due |= (uint8_t)due;
    quic_pending(qc);
    if (qs->due_prev || qs->is_dead)
        return;
    qs->due_next = qc->due_streams;
    qs->due_prev = &qc->due_streams;
    if (qc->due_streams)
        qc->due_streams->due_prev = &qs->due_next;
    qc->due_streams = qs;
}

void quic_stream_undue(quic_stream *qs)
{
    if (!qs->due_prev)
        return;
    *qs->due_prev = qs->due_next;
    if (qs->due_next)
        qs->due_next->due_prev = qs->due_prev;
    qs->due_prev = NULL;
}

/* ---- the user's ---- */

quic_stream *quic_open_uni(quic_conn *qc)
{
    quic_stream *qs;

    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    if (qc->own_uni >= qc->own_uni_most || qc->state > QUIC_UP)
        return NULL;
    qs = quic_stream_new(qc, qc->own_uni << 2 | 3);
    if (qs)
        qc->own_uni++;
    return qs;
}

uint64_t quic_stream_id(const quic_stream *qs)
{
    BRG_ASSERT_TAG(qs, QUIC_STREAM_TAG);
    return qs->id;
}

quic_conn *quic_stream_conn(const quic_stream *qs)
{
    return qs->qc;
}

void *quic_stream_user(const quic_stream *qs)
{
    return qs->user;
}

void quic_stream_set_user(quic_stream *qs, void *user)
{
    BRG_ASSERT_TAG(qs, QUIC_STREAM_TAG);
    qs->user = user;
    if (!user && qs->in.next > qs->in_credit) /* its bytes are of no use any more */
        quic_stream_credit(qs, qs->in.next - qs->in_credit);
}

uint64_t quic_stream_room(const quic_stream *qs)
{
    return qs->out_over || qs->out.written >= qs->out_max ? 0 : qs->out_max - qs->out.written;
}

int quic_stream_write(quic_stream *qs, const void *data, size_t len, shared_ref *owner, int fin)
{
    quic_conn *qc = qs->qc;

    BRG_ASSERT_TAG(qs, QUIC_STREAM_TAG);
    if (qs->out_over || qc->state > QUIC_UP)
        return 0; /* the peer does not want it: told by stopped() or closed() */
    BRG_ASSERT(!qs->out.fin);
    if (quic_sendq_add(&qs->out, data, len, owner))
        return -1;
    qs->out.fin = (uint8_t)fin;
    qc->unsent += len;
    quic_stream_sends(qs);
    return 0;
}

void quic_stream_reset(quic_stream *qs, uint64_t code)
{
    quic_conn *qc = qs->qc;

    BRG_ASSERT_TAG(qs, QUIC_STREAM_TAG);
    if (qs->out_over || quic_sendq_is_done(&qs->out) || qc->state > QUIC_UP)
        return;
    qs->out_over = 1;
    qs->reset_code = code;
    qc->unsent -= qs->out.written - qs->out.sent;
    quic_stream_unsends(qs);
    quic_sendq_end(&qs->out);
    quic_stream_due(qs, QUIC_DUE_RESET);
}

void quic_stream_stop(quic_stream *qs, uint64_t code)
{
    BRG_ASSERT_TAG(qs, QUIC_STREAM_TAG);
    if (qs->in_over || qs->in_stopped || qs->qc->state > QUIC_UP)
        return;
    qs->in_stopped = 1;
    qs->stop_code = code;
    if (qs->in.next > qs->in_credit)
        quic_stream_credit(qs, qs->in.next - qs->in_credit);
    if (qs->in_final == UINT64_MAX)
        quic_stream_due(qs, QUIC_DUE_STOP);
}
