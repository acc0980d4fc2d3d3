/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that are sent, in the order of their worth: ACK, CRYPTO, those of the connection, those of streams, bytes that were lost,
 * bytes that are new. */
#include "quic_private.h"

#define WRITE_FRAMES 14 /* of a packet: quic_sent_room() */

static size_t writer_room(const quic_writer *w)
{
    return (size_t)(w->end - w->p);
}

/* 1: a frame of up to @a len bytes fits. */
static int writer_fits(quic_writer *w, size_t len)
{
    if (writer_room(w) >= len && w->frames < WRITE_FRAMES)
        return 1;
    w->full = 1;
    return 0;
}

static void writer_note(quic_writer *w, quic_frame_type type, uint64_t id, uint64_t off,
                        uint32_t len, int fin)
{
    BRG_ASSERT(w->frames < WRITE_FRAMES && w->p <= w->end);
    quic_sent_frame_add(w->sp, type, id, off, len, fin);
    w->frames++;
    w->eliciting = 1;
}

/* A frame of its type and up to three numbers, the first two of which are remembered. */
static int write_numbers(quic_writer *w, quic_frame_type type, int n, uint64_t a, uint64_t b,
                         uint64_t c)
{
    if (!writer_fits(w, 1 + 8 * (size_t)n))
        return 0;
    *w->p++ = (uint8_t)type;
    if (n > 0)
        w->p = quic_put_varint(w->p, a);
    if (n > 1)
        w->p = quic_put_varint(w->p, b);
    if (n > 2)
        w->p = quic_put_varint(w->p, c);
    writer_note(w, type, a, b, 0, 0);
    return 1;
}

/* ---- CRYPTO ---- */

/* The next bytes of a queue: lost ones, or new ones. @return how many; 0: none */
static uint64_t write_next(const quic_sendq *q, uint64_t new_most, uint64_t *off)
{
    if (q->lost.n) {
        *off = q->lost.r[0].from;
        return q->lost.r[0].to - *off;
    }
    *off = q->sent;
    return q->written - q->sent < new_most ? q->written - q->sent : new_most;
}

static void write_taken(quic_sendq *q, uint64_t off, uint64_t len)
{
    BRG_ASSERT(off + len <= q->written);
    if (off >= q->sent)
        q->sent = off + len;
    else
        quic_ranges_remove(&q->lost, off,
                           off + len); /* the front of the first one: needs no memory */
}

static void write_crypto(quic_writer *w)
{
    quic_sendq *q = &w->sp->crypto;
    uint64_t off, n;

    while ((n = write_next(q, UINT64_MAX, &off)) != 0 && writer_fits(w, 32)) {
        const size_t room = writer_room(w) - 1 - 8 - 2;

        if (n > room)
            n = room;
        *w->p++ = QUIC_F_CRYPTO;
        w->p = quic_put_varint2(quic_put_varint(w->p, off), (size_t)n);
        quic_sendq_copy(q, off, (size_t)n, w->p);
        w->p += n;
        write_taken(q, off, n);
        writer_note(w, QUIC_F_CRYPTO, 0, off, (uint32_t)n, 0);
    }
}

/* ---- frames of the connection ---- */

static void write_token(quic_conn *qc, quic_writer *w)
{
    uint8_t token[QUIC_TOKEN_MOST];
    size_t n;

    if (!writer_fits(w, 3 + QUIC_TOKEN_MOST))
        return;
    qc->due &= (uint8_t)~QUIC_DUE_TOKEN;
    if (!(n = quic_token_write(qc->ep, &qc->path.peer, NULL, NULL, token)))
        return;
    *w->p++ = QUIC_F_NEW_TOKEN;
    w->p = quic_put_bytes(quic_put_varint(w->p, n), token, n);
    writer_note(w, QUIC_F_NEW_TOKEN, 0, 0, 0, 0);
}

static void write_due(quic_conn *qc, quic_writer *w)
{
    const struct {
        unsigned due;
        quic_frame_type type;
        int n;
        uint64_t value;
    } frames[] = {{QUIC_DUE_HANDSHAKE_DONE, QUIC_F_HANDSHAKE_DONE, 0, 0},
                  {QUIC_DUE_MAX_DATA, QUIC_F_MAX_DATA, 1, qc->in_max},
                  {QUIC_DUE_MAX_BIDI, QUIC_F_MAX_STREAMS_BIDI, 1, qc->peer_bidi_most},
                  {QUIC_DUE_MAX_UNI, QUIC_F_MAX_STREAMS_UNI, 1, qc->peer_uni_most},
                  {QUIC_DUE_DATA_BLOCKED, QUIC_F_DATA_BLOCKED, 1, qc->out_max},
                  {QUIC_DUE_PING, QUIC_F_PING, 0, 0}};

    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        if (qc->due & frames[i].due &&
            write_numbers(w, frames[i].type, frames[i].n, frames[i].value, 0, 0))
            qc->due &= (uint8_t)~frames[i].due;
    if (qc->due & QUIC_DUE_TOKEN)
        write_token(qc, w);
}

static void write_cids(quic_conn *qc, quic_writer *w)
{
    int left = 0;

    for (int i = 0; i < QUIC_CIDS; i++) {
        quic_id *own = &qc->own[i];

        if (!own->qc || !own->due)
            continue;
        if (!writer_fits(w, 1 + 8 + 8 + 1 + QUIC_CID_LEN + QUIC_RESET_TOKEN)) {
            left = 1;
            continue;
        }
        own->due = 0;
        *w->p++ = QUIC_F_NEW_CONNECTION_ID;
        w->p = quic_put_varint(quic_put_varint(w->p, own->seq), 0);
        *w->p++ = own->cid.len;
        w->p = quic_put_bytes(w->p, own->cid.id, own->cid.len);
        quic_reset_token(qc->ep, &own->cid, w->p);
        w->p += QUIC_RESET_TOKEN;
        writer_note(w, QUIC_F_NEW_CONNECTION_ID, own->seq, 0, 0, 0);
    }
    if (!left)
        qc->due &= (uint8_t)~QUIC_DUE_CIDS;
}

static void write_retire(quic_conn *qc, quic_writer *w)
{
    while (qc->retire_n &&
           write_numbers(w, QUIC_F_RETIRE_CONNECTION_ID, 1, qc->retire[qc->retire_n - 1], 0, 0))
        qc->retire_n--;
}

static void write_paths(quic_conn *qc, quic_writer *w)
{
    while (qc->responses_n && writer_fits(w, 9)) {
        *w->p++ = QUIC_F_PATH_RESPONSE;
        w->p = quic_put_bytes(w->p, qc->responses[--qc->responses_n], 8);
        writer_note(w, QUIC_F_PATH_RESPONSE, 0, 0, 0, 0);
    }
    if (!qc->path.challenge_due || !writer_fits(w, 9))
        return;
    qc->path.challenge_due = 0;
    *w->p++ = QUIC_F_PATH_CHALLENGE;
    w->p = quic_put_bytes(w->p, qc->path.challenge, 8);
    writer_note(w, QUIC_F_PATH_CHALLENGE, 0, 0, 0, 0);
}

/* ---- frames of streams ---- */

static void write_of_stream(quic_stream *qs, quic_writer *w)
{
    if (qs->due & QUIC_DUE_RESET &&
        write_numbers(w, QUIC_F_RESET_STREAM, 3, qs->id, qs->reset_code, qs->out.sent))
        qs->due &= (uint8_t)~QUIC_DUE_RESET;
    if (qs->due & QUIC_DUE_STOP &&
        write_numbers(w, QUIC_F_STOP_SENDING, 2, qs->id, qs->stop_code, 0))
        qs->due &= (uint8_t)~QUIC_DUE_STOP;
    if (qs->due & QUIC_DUE_MAX &&
        write_numbers(w, QUIC_F_MAX_STREAM_DATA, 2, qs->id, qs->in_max, 0))
        qs->due &= (uint8_t)~QUIC_DUE_MAX;
    if (qs->due & QUIC_DUE_BLOCKED &&
        write_numbers(w, QUIC_F_STREAM_DATA_BLOCKED, 2, qs->id, qs->out_max, 0))
        qs->due &= (uint8_t)~QUIC_DUE_BLOCKED;
    if (!qs->due)
        quic_stream_undue(qs);
}

/* New bytes that the windows allow. */
static uint64_t write_new_most(const quic_conn *qc, const quic_stream *qs)
{
    const uint64_t stream = qs->out_max > qs->out.sent ? qs->out_max - qs->out.sent : 0;
    const uint64_t conn = qc->out_max > qc->out_sent ? qc->out_max - qc->out_sent : 0;

    return stream < conn ? stream : conn;
}

/* The head of a STREAM frame takes that much at most, its length included. */
static size_t write_head_len(const quic_stream *qs, uint64_t off)
{
    return 1 + quic_varint_len(qs->id) + (off ? quic_varint_len(off) : 0) + 2;
}

/* @return 1: there was something to write, and it fitted */
static int write_stream(quic_conn *qc, quic_stream *qs, quic_writer *w)
{
    uint64_t off, n = write_next(&qs->out, write_new_most(qc, qs), &off);
    size_t head;
    int fin;

    BRG_ASSERT_TAG(qs, QUIC_STREAM_TAG);
    if (!n && (!qs->out.fin || qs->out.fin_sent || qs->out.sent != qs->out.written))
        return 0;
    head = write_head_len(qs, off);
    if (!writer_fits(w, head + (n < 32 ? (size_t)n : 32)))
        return 0;
    if (n > writer_room(w) - head)
        n = writer_room(w) - head;
    fin = qs->out.fin && off + n == qs->out.written;
    *w->p++ = (uint8_t)(QUIC_F_STREAM | QUIC_STREAM_LEN | (off ? QUIC_STREAM_OFF : 0) |
                        (fin ? QUIC_STREAM_FIN : 0));
    w->p = quic_put_varint(w->p, qs->id);
    if (off)
        w->p = quic_put_varint(w->p, off);
    w->p = quic_put_varint2(w->p, (size_t)n);
    quic_sendq_copy(&qs->out, off, (size_t)n, w->p);
    w->p += n;
    if (off >= qs->out.sent) {
        qc->out_sent += n;
        qc->unsent -= n;
    }
    write_taken(&qs->out, off, n);
    qs->out.fin_sent |= (uint8_t)fin;
    writer_note(w, QUIC_F_STREAM, qs->id, off, (uint32_t)n, fin);
    return 1;
}

void quic_write_blocked(quic_conn *qc)
{
    if (qc->blocked_told == qc->out_max)
        return;
    qc->blocked_told = qc->out_max;
    qc->due |= QUIC_DUE_DATA_BLOCKED;
}

/* It is blocked: the peer hears of it, so that it does not wait for us. */
static void write_blocked(quic_conn *qc, quic_stream *qs)
{
    if (qs->out.sent == qs->out.written)
        return;
    if (qs->out.sent < qs->out_max) {
        quic_write_blocked(qc);
    } else if (qs->blocked_told != qs->out_max) {
        qs->blocked_told = qs->out_max;
        quic_stream_due(qs, QUIC_DUE_BLOCKED);
    }
}

static int stream_has_more(const quic_conn *qc, const quic_stream *qs)
{
    uint64_t off;

    return write_next(&qs->out, write_new_most(qc, qs), &off) ||
           (qs->out.fin && !qs->out.fin_sent && qs->out.sent == qs->out.written);
}

/* Streams in the order in which they were written to. A stream that the connection's window holds
 * stays. */
static void write_streams(quic_conn *qc, quic_writer *w)
{
    quic_stream *qs = qc->sending, *next;

    for (; qs && !w->full; qs = next) {
        next = qs->send_next;
        while (!w->full && write_stream(qc, qs, w))
            ;
        if (w->full || stream_has_more(qc, qs))
            return;
        if (qs->out.sent < qs->out.written && qs->out.sent < qs->out_max) {
            write_blocked(qc, qs);
            continue; /* MAX_DATA is awaited */
        }
        write_blocked(qc, qs);
        quic_stream_unsends(qs);
    }
}

void quic_write_frames(quic_conn *qc, quic_writer *w, int may_send)
{
    quic_space *sp = w->sp;
    quic_stream *next;

    if (sp->ack_owed || sp->ack_now)
        w->p = quic_ack_write(qc, sp, w->p, w->end);
    if (w->id == QUIC_S_APP && qc->confirmed)
        write_paths(qc, w); /* the window is that of another way: they do not wait for it */
    if (!may_send)
        return;
    if (w->id == QUIC_S_APP && qc->begun && qc->due)
        write_due(qc, w);
    write_crypto(w);
    if (w->id == QUIC_S_APP && qc->begun) {
        if (qc->due & QUIC_DUE_CIDS)
            write_cids(qc, w);
        write_retire(qc, w);
        for (quic_stream *qs = qc->due_streams; qs && !w->full; qs = next) {
            next = qs->due_next;
            write_of_stream(qs, w);
        }
        write_streams(qc, w);
    }
    if (sp->probes && !w->eliciting && writer_fits(w, 1)) {
        *w->p++ = QUIC_F_PING;
        writer_note(w, QUIC_F_PING, 0, 0, 0, 0);
    }
}

static int write_wants_streams(const quic_conn *qc)
{
    for (const quic_stream *qs = qc->sending; qs; qs = qs->send_next)
        if (stream_has_more(qc, qs))
            return 1;
    return 0;
}

static int write_is_open(const quic_conn *qc, quic_space_id id)
{
    const quic_space *sp = qc->space[id];

    return sp && sp->write.aead && !(qc->retired & 1 << id);
}

static int write_elicits(const quic_conn *qc, quic_space_id id, int may_send)
{
    const quic_space *sp = qc->space[id];
    uint64_t off;

    if (id == QUIC_S_APP && qc->confirmed && (qc->responses_n || qc->path.challenge_due))
        return 1;
    if (!may_send && !sp->probes)
        return 0;
    if (sp->probes || write_next(&sp->crypto, UINT64_MAX, &off))
        return 1;
    if (id != QUIC_S_APP || !qc->begun)
        return 0;
    return qc->due || qc->retire_n || qc->due_streams || write_wants_streams(qc);
}

int quic_write_wants(const quic_conn *qc, quic_space_id id, int may_send)
{
    return write_is_open(qc, id) &&
           (quic_ack_is_due(qc, qc->space[id]) || write_elicits(qc, id, may_send));
}

int quic_write_elicits(const quic_conn *qc, quic_space_id id, int may_send)
{
    return write_is_open(qc, id) && write_elicits(qc, id, may_send);
}
