/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: found, opened, ended; their input, and its limits. RFC 9000, 2 to 4. */
#include "quic_private.h"
#include <stdlib.h>

/* ---- the table ---- */

static quic_stream **stream_bucket(quic_conn *qc, uint64_t id)
{
    return &qc->bucket[(id >> 2 ^ id << 2) & (QUIC_STREAM_BUCKETS - 1)];
}

quic_stream *quic_stream_find(const quic_conn *qc, uint64_t id)
{
    for (quic_stream *qs = *stream_bucket((quic_conn *)qc, id); qs; qs = qs->hash_next)
        if (qs->id == id)
            return qs;
    return NULL;
}

static uint64_t stream_out_max(const quic_conn *qc, uint64_t id)
{
    if (id & 2)
        return id & 1 ? qc->peer.max_data_uni : 0;
    return id & 1 ? qc->peer.max_data_bidi_remote : qc->peer.max_data_bidi_local;
}

/* 1: nothing is sent in it. */
static int stream_is_of_peer(uint64_t id)
{
    return (id & 3) == 2;
}

quic_stream *quic_stream_new(quic_conn *qc, uint64_t id)
{
    quic_stream *qs = calloc(1, stream_is_of_peer(id) ? offsetof(quic_stream, out) : sizeof *qs);
    quic_stream **at = stream_bucket(qc, id);

    BRG_ASSERT(!quic_stream_find(qc, id));
    if (!qs)
        return NULL;
    qs->tag = QUIC_STREAM_TAG;
    qs->qc = qc;
    qs->id = id;
    qs->in_final = UINT64_MAX;
    qs->in_max = qc->ep->setup->stream_window;
    qs->out_max = stream_out_max(qc, id);
    qs->out_over = (uint8_t)stream_is_of_peer(id);
    qs->in_over = (id & 3) == 3;
    qs->hash_next = *at;
    *at = qs;
    qc->streams_n++;
    return qs;
}

static void stream_unlink(quic_stream *qs)
{
    quic_stream **at = stream_bucket(qs->qc, qs->id);

    while (*at != qs)
        at = &(*at)->hash_next;
    *at = qs->hash_next;
    qs->qc->streams_n--;
}

/* It is gone for all others; its memory goes when the call in hand returns. */
static void stream_die(quic_stream *qs)
{
    quic_conn *qc = qs->qc;

    BRG_ASSERT(!qs->is_dead);
    qs->is_dead = 1;
    quic_stream_unsends(qs);
    quic_stream_undue(qs);
    stream_unlink(qs);
    qs->hash_next = qc->dead;
    qc->dead = qs;
}

void quic_streams_reap(quic_conn *qc)
{
    quic_stream *qs;

    while ((qs = qc->dead) != NULL) {
        qc->dead = qs->hash_next;
        if (!stream_is_of_peer(qs->id))
            quic_sendq_end(&qs->out);
        quic_reorder_end(&qs->in);
        qs->tag = 0;
        free(qs);
    }
}

void quic_streams_end(quic_conn *qc)
{
    for (int i = 0; i < QUIC_STREAM_BUCKETS; i++)
        while (qc->bucket[i])
            stream_die(qc->bucket[i]);
}

/* Credit for a stream of the peer that ended: told when it is worth a frame. */
static void stream_credit_streams(quic_conn *qc, uint64_t id)
{
    const int is_uni = (id & 2) != 0;
    const uint64_t most = is_uni ? qc->ep->setup->max_uni_streams : qc->ep->setup->max_streams;
    uint64_t *ended = is_uni ? &qc->peer_uni_ended : &qc->peer_bidi_ended;
    uint64_t *told = is_uni ? &qc->peer_uni_most : &qc->peer_bidi_most;

    BRG_ASSERT(!(id & 1));
    (*ended)++;
    if (*ended + most - *told < (most + 3) / 4)
        return;
    *told = *ended + most;
    qc->due |= is_uni ? QUIC_DUE_MAX_UNI : QUIC_DUE_MAX_BIDI;
    quic_pending(qc);
}

static int stream_out_done(const quic_stream *qs)
{
    return qs->out_over ? stream_is_of_peer(qs->id) || qs->reset_acked
                        : quic_sendq_is_done(&qs->out);
}

/* Bytes that count for the connection's window, and that nobody consumed. */
static void stream_credit_rest(quic_stream *qs)
{
    const uint64_t came = qs->in_highest;

    if (came > qs->in_credit)
        quic_stream_credit(qs, came - qs->in_credit);
}

void quic_stream_check(quic_stream *qs)
{
    quic_conn *qc = qs->qc;

    BRG_ASSERT_TAG(qs, QUIC_STREAM_TAG);
    if (qs->is_dead || !qs->in_over || !stream_out_done(qs) || qc->state > QUIC_UP)
        return;
    stream_credit_rest(qs);
    stream_die(qs);
    if (!(qs->id & 1))
        stream_credit_streams(qc, qs->id);
    if (qs->user)
        qc->ep->setup->user->ended(qs);
}

/* ---- the peer's streams ---- */

/* The stream of a frame that came, which may open it and those before it. *found NULL: it ended. @return as in quic_frames.c */
static int stream_of_peer(quic_conn *qc, uint64_t id, quic_stream **found)
{
    const int is_uni = (id & 2) != 0;
    uint64_t *count = is_uni ? &qc->peer_uni : &qc->peer_bidi;
    const uint64_t most = is_uni ? qc->peer_uni_most : qc->peer_bidi_most;

    if ((*found = quic_stream_find(qc, id)) != NULL)
        return 0;
    if (id & 1)
        return is_uni && id >> 2 < qc->own_uni ? 0 : -QUIC_STREAM_STATE_ERROR;
    if (id >> 2 < *count)
        return 0;
    if (id >> 2 >= most)
        return -QUIC_STREAM_LIMIT_ERROR;
    while (*count <= id >> 2) {
        quic_stream *qs = quic_stream_new(qc, *count << 2 | (is_uni ? 2 : 0));

        if (!qs)
            return 1;
        (*count)++;
        qc->ep->setup->user->stream_came(qs);
        if (qc->state > QUIC_UP)
            return -QUIC_INTERNAL_ERROR;
    }
    *found = quic_stream_find(qc, id);
    return 0;
}

/* ---- input ---- */

static int stream_deliver(void *of, const uint8_t *data, size_t len)
{
    quic_stream *qs = of;
    const int fin = qs->in.next == qs->in_final;

    if (qs->user && !qs->in_stopped)
        qs->qc->ep->setup->user->data(qs, data, len, fin);
    return qs->qc->state > QUIC_UP || qs->is_dead ? -1 : 0;
}

/* Flow control, and the end of the stream: RFC 9000, 4.1 and 4.5. */
static int stream_judge(quic_stream *qs, uint64_t end, int fin)
{
    quic_conn *qc = qs->qc;

    if (qs->in_final != UINT64_MAX ? end > qs->in_final || (fin && end != qs->in_final)
                                   : fin && end < qs->in_highest)
        return -QUIC_FINAL_SIZE_ERROR;
    if (end > qs->in_max)
        return -QUIC_FLOW_CONTROL_ERROR;
    if (end > qs->in_highest) {
        qc->in_came += end - qs->in_highest;
        qs->in_highest = end;
        if (qc->in_came > qc->in_max)
            return -QUIC_FLOW_CONTROL_ERROR;
    }
    if (fin)
        qs->in_final = end;
    return 0;
}

/* All of it came, or will not be heard. */
static void stream_in_over(quic_stream *qs)
{
    BRG_ASSERT(!qs->in_over && !qs->is_dead);
    qs->in_over = 1;
    quic_reorder_end(&qs->in);
    if (qs->in_stopped || !qs->user)
        stream_credit_rest(qs);
    quic_stream_check(qs);
}

static int stream_bytes(quic_stream *qs, uint64_t off, const uint8_t *data, size_t len)
{
    const uint64_t before = qs->in.next;

    if (len &&
        quic_reorder_put(&qs->in, off, data, len, QUIC_REORDER_RANGES, stream_deliver, qs) > 0)
        return 1;
    if (before == qs->in.next && before == qs->in_final) /* the end alone is new */
        stream_deliver(qs, data, 0);
    if (qs->qc->state > QUIC_UP)
        return -QUIC_INTERNAL_ERROR;
    if (!qs->is_dead && (qs->in_stopped || !qs->user) && qs->in.next > qs->in_credit)
        quic_stream_credit(qs, qs->in.next - qs->in_credit);
    return 0;
}

int quic_stream_came(quic_conn *qc, unsigned type, quic_reader *r)
{
    const uint64_t id = quic_get_varint(r), off = type & QUIC_STREAM_OFF ? quic_get_varint(r) : 0;
    const uint64_t len = type & QUIC_STREAM_LEN ? quic_get_varint(r) : quic_left(r);
    const uint8_t *data = quic_get_bytes(r, len);
    const int fin = type & QUIC_STREAM_FIN;
    quic_stream *qs;
    int rc;

    if (r->bad || off + len > QUIC_VARINT_MOST)
        return -QUIC_FRAME_ENCODING_ERROR;
    if ((id & 3) == 3)
        return -QUIC_STREAM_STATE_ERROR;
    if ((rc = stream_of_peer(qc, id, &qs)) != 0 || !qs)
        return rc;
    if (!len && !fin && quic_conn_flood(qc, 4))
        return -QUIC_INTERNAL_ERROR;
    if (len && len < 8 && !fin && quic_conn_flood(qc, 1))
        return -QUIC_INTERNAL_ERROR;
    if ((rc = stream_judge(qs, off + len, fin)) != 0 || qs->in_over)
        return rc;
    if ((rc = stream_bytes(qs, off, data, (size_t)len)) != 0)
        return rc;
    if (!qs->is_dead && qs->in.next == qs->in_final)
        stream_in_over(qs);
    return 0;
}

/* Low bits of the ids of streams in one direction (RFC 9000, 2.1), which some frames must not name. */
enum { QUIC_THEIRS_ALONE = 2, QUIC_OURS_ALONE = 3 };

/* The stream of a frame that was read. @return 0: *qs, NULL where it is over; or an error */
static int stream_of_frame(quic_conn *qc, const quic_reader *r, uint64_t id, unsigned refused,
                           quic_stream **qs)
{
    if (r->bad)
        return -QUIC_FRAME_ENCODING_ERROR;
    return (id & 3) == refused ? -QUIC_STREAM_STATE_ERROR : stream_of_peer(qc, id, qs);
}

int quic_reset_came(quic_conn *qc, quic_reader *r)
{
    const uint64_t id = quic_get_varint(r), code = quic_get_varint(r), final = quic_get_varint(r);
    quic_stream *qs;
    int rc;

    if ((rc = stream_of_frame(qc, r, id, QUIC_OURS_ALONE, &qs)) != 0 || !qs)
        return rc;
    if ((rc = stream_judge(qs, final, 1)) != 0 || qs->in_over)
        return rc;
    if (quic_conn_flood(qc, 8))
        return -QUIC_INTERNAL_ERROR;
    if (qs->user && !qs->in_stopped)
        qc->ep->setup->user->reset(qs, code);
    if (qc->state > QUIC_UP)
        return -QUIC_INTERNAL_ERROR;
    if (qs->is_dead)
        return 0;
    stream_credit_rest(qs);
    stream_in_over(qs);
    return 0;
}

int quic_stop_came(quic_conn *qc, quic_reader *r)
{
    const uint64_t id = quic_get_varint(r), code = quic_get_varint(r);
    quic_stream *qs;
    int rc;

    if ((rc = stream_of_frame(qc, r, id, QUIC_THEIRS_ALONE, &qs)) != 0 || !qs)
        return rc;
    if (qs->out_over)
        return 0;
    if (quic_conn_flood(qc, 8))
        return -QUIC_INTERNAL_ERROR;
    quic_stream_reset(qs, code);
    qc->ep->setup->user->stopped(qs, code);
    return qc->state > QUIC_UP ? -QUIC_INTERNAL_ERROR : 0;
}

int quic_max_stream_data_came(quic_conn *qc, quic_reader *r)
{
    const uint64_t id = quic_get_varint(r), most = quic_get_varint(r);
    quic_stream *qs;
    int rc, was_full;
    uint64_t before;

    if ((rc = stream_of_frame(qc, r, id, QUIC_THEIRS_ALONE, &qs)) != 0 || !qs)
        return rc;
    if (most <= qs->out_max)
        return quic_conn_flood(qc, 4);
    before = qs->out_max;
    was_full = !quic_stream_room(qs);
    qs->out_max = most;
    quic_stream_sends(qs);
    if (qs->out.sent == before && most - before < QUIC_CREDIT_LEAST && quic_conn_flood(qc, 4))
        return -QUIC_INTERNAL_ERROR;
    if (was_full && qs->user && qc->ep->setup->user->room && quic_stream_room(qs))
        qc->ep->setup->user->room(qs);
    return qc->state > QUIC_UP ? -QUIC_INTERNAL_ERROR : 0;
}

/* ---- credit ---- */

void quic_stream_credit(quic_stream *qs, uint64_t bytes)
{
    quic_conn *qc = qs->qc;
    const uint32_t window = qc->ep->setup->stream_window, all = qc->ep->setup->conn_window;

    BRG_ASSERT_TAG(qs, QUIC_STREAM_TAG);
    if (bytes > qs->in_highest - qs->in_credit)
        bytes = qs->in_highest - qs->in_credit;
    if (!bytes || qc->state > QUIC_UP)
        return;
    qs->in_credit += bytes;
    qc->in_credit += bytes;
    if (!qs->in_over && qs->in_final == UINT64_MAX &&
        qs->in_credit + window - qs->in_max >= window / 2) {
        qs->in_max = qs->in_credit + window;
        quic_stream_due(qs, QUIC_DUE_MAX);
    }
    if (qc->in_credit + all - qc->in_max >= all / 2) {
        qc->in_max = qc->in_credit + all;
        qc->due |= QUIC_DUE_MAX_DATA;
        quic_pending(qc);
    }
}
