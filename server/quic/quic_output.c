/* SPDX-License-Identifier: Apache-2.0 */
/* Output of a connection in a turn: datagrams behind each other in the endpoint's buffer, as many
 * as window, pacing and a turn's share allow. The masks of their heads are made together at the
 * end. */
#include "quic_private.h"
#include <stdlib.h>

#define OUTPUT_LEAST 64 /* room that is worth another packet in a datagram */
/* of so many packet numbers about one is left out: an ACK of it tells that the peer lies */
#define OUTPUT_SKIP 500
#define OUTPUT_BYTES 65536 /* of a turn's share */
#define OUTPUT_WORTH \
    4 /* datagrams that are all there is to send, from which on larger ones are tried */

/* A packet whose head is not masked. */
typedef struct output_packet {
    uint8_t *head;
    uint8_t pn_off, pn_len;
} output_packet;

typedef struct output {
    quic_conn *qc;
    output_packet packet[QUIC_BATCH]; /* of 1-RTT */
    unsigned packets_n;
    uint16_t size[QUIC_BATCH]; /* of datagrams */
    unsigned n;
    size_t bytes, most;
    uint8_t *at;
} output;

/* ---- masks ---- */

static void output_mask_one(uint8_t *head, unsigned pn_off, unsigned pn_len, const uint8_t *mask)
{
    head[0] ^= mask[0] & (head[0] & 0x80 ? 0x0f : 0x1f);
    for (unsigned i = 0; i < pn_len; i++)
        head[pn_off + i] ^= mask[1 + i];
}

static int output_masks(quic_key *key, const output_packet *packet, unsigned n)
{
    uint8_t samples[QUIC_BATCH * QUIC_SAMPLE], masks[QUIC_BATCH * QUIC_SAMPLE];

    BRG_ASSERT(n > 0 && n <= QUIC_BATCH);
    for (unsigned i = 0; i < n; i++)
        memcpy(samples + (size_t)i * QUIC_SAMPLE, packet[i].head + packet[i].pn_off + 4,
               QUIC_SAMPLE);
    if (quic_key_masks(key, samples, n, masks))
        return -1;
    for (unsigned i = 0; i < n; i++)
        output_mask_one(packet[i].head, packet[i].pn_off, packet[i].pn_len,
                        masks + (size_t)i * QUIC_SAMPLE);
    return 0;
}

/* ---- a packet ---- */

/* Bytes of the packet number that are needed: RFC 9000, A.2. */
static unsigned output_pn_len(const quic_space *sp)
{
    const uint64_t range = (uint64_t)((int64_t)sp->next_pn - sp->largest_acked) * 2;

    return range < 1 << 8 ? 1 : range < 1 << 16 ? 2 : range < 1 << 24 ? 3 : 4;
}

static uint8_t *output_long(const quic_conn *qc, quic_space_id id, unsigned pn_len, uint8_t *p)
{
    const quic_cid *to = &qc->theirs[qc->their_at].cid, *from = &qc->own[0].cid;

    *p++ = (uint8_t)(quic_long_first(quic_sent_type(id), qc->version) | (pn_len - 1));
    p = quic_put32(p, qc->version);
    *p++ = to->len;
    p = quic_put_bytes(p, to->id, to->len);
    *p++ = from->len;
    p = quic_put_bytes(p, from->id, from->len);
    if (id == QUIC_S_INITIAL)
        *p++ = 0;
    return p + 2; /* the length */
}

static uint8_t *output_short(const quic_conn *qc, unsigned pn_len, uint8_t *p)
{
    const quic_cid *to = &qc->theirs[qc->their_at].cid;

    *p++ = (uint8_t)(0x40 | qc->phase << 2 | (pn_len - 1));
    return quic_put_bytes(p, to->id, to->len);
}

/* A number that is not used. */
static void output_skip(quic_conn *qc, quic_space *sp)
{
    uint16_t random;

    quic_random(qc->ep, &random, sizeof random);
    sp->skip_pn = sp->next_pn + 1 + random % OUTPUT_SKIP;
    if (!sp->next_pn || quic_sent_room(sp, 0))
        return;
    *quic_sent_at(sp, sp->next_pn) = (quic_sent){.frame = sp->frames_next, .state = QUIC_P_SKIPPED};
    sp->next_pn++;
}

static void output_sent(quic_conn *qc, const quic_writer *w, size_t size, uint32_t frame,
                        int is_probe)
{
    quic_space *sp = w->sp;
    const apr_time_t now = quic_now(qc);

    BRG_ASSERT(size <= UINT16_MAX && sp->next_pn - sp->first_pn < sp->sent_cap);
    *quic_sent_at(sp, sp->next_pn) = (quic_sent){.time = now,
                                                 .frame = frame,
                                                 .frames_n = (uint16_t)w->frames,
                                                 .size = w->eliciting ? (uint16_t)size : 0,
                                                 .state = w->eliciting ? QUIC_P_OUT : QUIC_P_NONE,
                                                 .probe = (uint8_t)is_probe,
                                                 .ecn = qc->ecn_state < 2};
    sp->next_pn++;
    qc->ep->figures.packets_sent++;
    if (!w->eliciting) {
        quic_sent_trim(sp);
        return;
    }
    sp->eliciting++;
    sp->last_eliciting = now;
    if (sp->probes)
        sp->probes--;
    quic_cc_sent(qc, size);
    if (!qc->idle_sent) { /* RFC 9000, 10.1 */
        quic_conn_alive(qc);
        qc->idle_sent = 1;
    }
}

/* The shape of a packet of a space. */
typedef struct output_shape {
    uint8_t *at;
    size_t room;
    size_t pad_to; /* bytes of the packet, at least; 0: as it is */
    int may_send, is_probe;
    const uint8_t *response; /* of a PATH_RESPONSE, which is all of it; NULL */
} output_shape;

static void output_pad(quic_writer *w, const uint8_t *payload, const output_shape *shape,
                       size_t pn_len)
{
    uint8_t *least = (uint8_t *)payload + 4 - pn_len; /* length for the sample of the mask */

    BRG_ASSERT(pn_len >= 1 && pn_len <= 4);
    if (shape->pad_to && least < shape->at + shape->pad_to - QUIC_TAG)
        least = shape->at + shape->pad_to - QUIC_TAG;
    if (w->p < least) {
        memset(w->p, 0, (size_t)(least - w->p));
        w->p = least;
    }
}

/* Number, encryption and mask of the packet that w has written. @return its length; 0: OpenSSL failed */
static size_t output_seal(output *o, quic_writer *w, const output_shape *shape, uint8_t *pn,
                          unsigned pn_len)
{
    quic_space *sp = w->sp;
    const size_t head_len = (size_t)(pn + pn_len - shape->at), len = (size_t)(w->p - pn) - pn_len;
    output_packet packet = {shape->at, (uint8_t)(pn - shape->at), (uint8_t)pn_len};

    BRG_ASSERT(w->p <= shape->at + QUIC_DATAGRAM_MOST && pn > shape->at);
    for (unsigned i = 0; i < pn_len; i++)
        pn[i] = (uint8_t)(sp->next_pn >> (8 * (pn_len - 1 - i)));
    if (w->id != QUIC_S_APP)
        quic_put_varint2(pn - 2, pn_len + len + QUIC_TAG);
    if (quic_key_seal(&sp->write, sp->next_pn, shape->at, head_len, len))
        return 0;
    if (w->id == QUIC_S_APP && o && o->packets_n < QUIC_BATCH)
        o->packet[o->packets_n++] = packet;
    else if (output_masks(&sp->write, &packet, 1))
        return 0;
    return head_len + len + QUIC_TAG;
}

/* @return its length; 0: there is nothing to send, or it failed */
static size_t output_packet_make(output *o, quic_space_id id, const output_shape *shape,
                                 int *eliciting)
{
    quic_conn *qc = o->qc;
    quic_space *sp = qc->space[id];
    quic_writer w = {.sp = sp, .id = id, .end = shape->at + shape->room - QUIC_TAG};
    unsigned pn_len;
    uint32_t frame;
    uint8_t *pn, *payload;
    size_t size;

    if (id == QUIC_S_APP && (sp->next_pn >= sp->skip_pn || sp->skip_pn == UINT64_MAX))
        output_skip(qc, sp);
    if (quic_sent_room(sp, 16)) {
        quic_conn_fail(qc, QUIC_INTERNAL_ERROR, "too many packets under way");
        return 0;
    }
    pn_len = output_pn_len(sp);
    frame = sp->frames_next;
    pn = id == QUIC_S_APP ? output_short(qc, pn_len, shape->at)
                          : output_long(qc, id, pn_len, shape->at);
    payload = w.p = pn + pn_len;
    if (shape->is_probe) {
        *w.p++ = shape->response ? QUIC_F_PATH_RESPONSE : QUIC_F_PING;
        w.p = quic_put_bytes(w.p, shape->response, shape->response ? 8 : 0);
        w.eliciting = 1;
    } else {
        quic_write_frames(qc, &w, shape->may_send);
    }
    if (w.p == payload && !shape->pad_to)
        return 0;
    output_pad(&w, payload, shape, pn_len);
    if (qc->qlog)
        quic_qlog_packet(qc, 1, quic_sent_type(id), sp->next_pn, payload, (size_t)(w.p - payload));
    if (!(size = output_seal(o, &w, shape, pn, pn_len))) {
        quic_conn_fail(qc, QUIC_INTERNAL_ERROR, "encryption failed");
        return 0;
    }
    *eliciting |= w.eliciting;
    output_sent(qc, &w, size, frame, shape->is_probe);
    return size;
}

/* ---- a datagram ---- */

static int output_last_space(const quic_conn *qc, int may_send)
{
    for (int i = QUIC_SPACES - 1; i >= 0; i--)
        if (quic_write_wants(qc, (quic_space_id)i, may_send))
            return i;
    return -1;
}

/* 1: a datagram of this connection has to be as long as the smallest that all paths take. @param has_initial  an Initial packet that
 * the client acknowledges (RFC 9000, 14.1) */
static int output_is_long(const quic_conn *qc, int has_initial)
{
    return has_initial || qc->path.challenge_due || qc->responses_n;
}

/* Behind the handshake: a packet of the one level that is left. @return its length; 0: nothing */
static size_t output_app_datagram(output *o, size_t most, int may_send)
{
    quic_conn *qc = o->qc;
    output_shape shape = {.at = o->at, .room = most, .may_send = may_send};
    int eliciting = 0;
    size_t len;

    if (!quic_write_wants(qc, QUIC_S_APP, may_send))
        return 0;
    if (qc->space[QUIC_S_APP]->probes)
        shape.may_send = 1;
    if (most >= QUIC_DATAGRAM_MIN && output_is_long(qc, 0))
        shape.pad_to = QUIC_DATAGRAM_MIN;
    len = output_packet_make(o, QUIC_S_APP, &shape, &eliciting);
    return qc->state <= QUIC_UP ? len : 0;
}

/* Packets of all levels that have something to send. @return its length; 0: nothing */
static size_t output_datagram(output *o, size_t most, int may_send)
{
    quic_conn *qc = o->qc;
    const int last = output_last_space(qc, may_send);
    const int is_long = output_is_long(qc, quic_write_elicits(qc, QUIC_S_INITIAL, may_send));
    size_t len = 0;
    int eliciting = 0;

    for (int i = 0; i <= last && qc->state <= QUIC_UP; i++) {
        output_shape shape = {.at = o->at + len, .room = most - len, .may_send = may_send};

        if (!quic_write_wants(qc, (quic_space_id)i, may_send) ||
            shape.room < OUTPUT_LEAST + QUIC_TAG)
            continue;
        if (qc->space[i]->probes)
            shape.may_send = 1;
        if (i == last && is_long && most >= QUIC_DATAGRAM_MIN && len < QUIC_DATAGRAM_MIN)
            shape.pad_to = QUIC_DATAGRAM_MIN - len;
        len += output_packet_make(o, (quic_space_id)i, &shape, &eliciting);
    }
    return qc->state <= QUIC_UP ? len : 0;
}

/* Masks, and all datagrams on their way. */
static void output_commit(output *o)
{
    quic_conn *qc = o->qc;
    quic_space *sp = qc->space[QUIC_S_APP];

    if (o->packets_n && output_masks(&sp->write, o->packet, o->packets_n))
        o->n = 0;
    for (unsigned i = 0; i < o->n; i++) {
        if (!qc->path.validated)
            qc->path.out += o->size[i];
        quic_out_add(qc->ep, o->size[i], &qc->path.peer, &qc->path.local,
                     qc->ecn_state < 2 ? 2 : 0);
    }
    o->n = o->packets_n = 0;
    o->bytes = 0;
}

static void output_begin(output *o)
{
    o->at = quic_out_room(o->qc->ep, OUTPUT_BYTES);
}

static void output_add(output *o, size_t len)
{
    BRG_ASSERT(o->n < QUIC_BATCH && len <= QUIC_DATAGRAM_MOST);
    o->size[o->n++] = (uint16_t)len;
    o->bytes += len;
    if (o->qc->ep->take) { /* a test's: each alone */
        output_commit(o);
        output_begin(o);
        return;
    }
    o->at += len;
}

static int output_is_full(const output *o)
{
    return o->n == QUIC_BATCH || o->packets_n >= QUIC_BATCH ||
           o->bytes + QUIC_DATAGRAM_MOST > OUTPUT_BYTES;
}

/* ---- a turn ---- */

/* Let the user write as much as can leave now. */
static void output_fill(quic_conn *qc, int64_t budget)
{
    uint64_t room = quic_cc_room(qc),
             flow = qc->out_max > qc->out_sent ? qc->out_max - qc->out_sent : 0;

    if (budget > 0 && (uint64_t)budget < room)
        room = (uint64_t)budget;
    if (budget <= 0)
        return;
    if (room > OUTPUT_BYTES)
        room = OUTPUT_BYTES;
    if (flow < room) {
        room = flow;
        if (!room)
            quic_write_blocked(qc);
    }
    if (room <= qc->unsent)
        return;
    if (!qc->ep->setup->user->fill(qc, (size_t)(room - qc->unsent)))
        qc->wants = 0;
}

/* 1: a larger datagram is to be tried. It is one more than the client needs, and one more to acknowledge: where little is sent
 * it pays for nothing. */
static int output_tries_more(const quic_conn *qc)
{
    return qc->mtu_due && qc->path.validated && qc->state <= QUIC_UP &&
           qc->unsent >= (uint64_t)(qc->wants ? 1 : OUTPUT_WORTH) * qc->mtu;
}

/* A larger datagram is tried. */
static void output_mtu_probe(output *o)
{
    quic_conn *qc = o->qc;
    output_shape shape = {
        .at = o->at, .room = qc->mtu_probe, .pad_to = qc->mtu_probe, .is_probe = 1};
    int eliciting = 0;
    size_t len = output_packet_make(o, QUIC_S_APP, &shape, &eliciting);

    qc->mtu_due = 0;
    if (len)
        output_add(o, len);
}

/* The answer to a client that tries another address goes there, by another id: nobody on both ways is to see that they are of one
 * connection (RFC 9000, 9.5). Without an id that is free it is as if it had been lost. */
static void output_elsewhere(quic_conn *qc)
{
    quic_elsewhere *to = qc->elsewhere;
    const int id = quic_cids_other(qc), in_use = qc->their_at;
    output o = {.qc = qc};
    output_shape shape = {.room = QUIC_DATAGRAM_MIN,
                          .pad_to = to->is_long ? QUIC_DATAGRAM_MIN : 0,
                          .is_probe = 1,
                          .response = to->data};
    int eliciting = 0;
    size_t len = 0;

    qc->elsewhere = NULL;
    if (id >= 0 && qc->confirmed) {
        output_begin(&o);
        shape.at = o.at;
        qc->their_at = (uint8_t)id;
        len = output_packet_make(&o, QUIC_S_APP, &shape, &eliciting);
        qc->their_at = (uint8_t)in_use;
    }
    if (len && !output_masks(&qc->space[QUIC_S_APP]->write, o.packet, o.packets_n))
        quic_out_add(qc->ep, len, &to->peer, &to->local, 0);
    free(to);
}

/* Why no more is sent. */
static void output_limits(quic_conn *qc, int by_window, int by_pace)
{
    if (by_pace) {
        qc->pace_due = quic_pace_when(qc);
        if (qc->pace_due <= quic_now(qc))
            quic_pending(qc);
    }
    quic_cc_used(qc, by_window, by_pace);
}

/* Bytes of the next datagram. To an address that is not proved none is sent that has to be shorter. */
static size_t output_most(const quic_conn *qc)
{
    return qc->path.validated || quic_path_room(qc) >= qc->mtu ? qc->mtu : 0;
}

static int output_has_more(const quic_conn *qc)
{
    return qc->wants || output_last_space(qc, 1) >= 0;
}

/* Keys wear out: RFC 9001, 6.6. @return 0; -1: the key may not be used any more */
static int output_key_wear(quic_conn *qc)
{
    const quic_space *sp = qc->space[QUIC_S_APP];

    if (!sp || sp->write.used < quic_key_limit(&sp->write) / 2)
        return 0;
    if (!quic_key_update(qc) || sp->write.used < quic_key_limit(&sp->write))
        return 0;
    quic_conn_fail(qc, QUIC_AEAD_LIMIT_REACHED, "the key may not be used any more");
    return -1;
}

void quic_conn_send(quic_conn *qc)
{
    output o = {.qc = qc};
    int64_t budget;
    uint64_t least = quic_cc_batch(qc); /* room that sending begins with */
    int by_window = 0, by_pace = 0, share = 1;
    size_t len = 1;

    BRG_ASSERT(qc->in_call && qc->state <= QUIC_UP);
    if (quic_conn_wake(qc) || output_key_wear(qc))
        return;
    if (qc->elsewhere)
        output_elsewhere(qc);
    if (qc->state > QUIC_UP)
        return;
    output_begin(&o);
    while (len && qc->state <= QUIC_UP && share) {
        const size_t most = output_most(qc);
        int may_send;

        budget = quic_pace_budget(qc);
        by_window = quic_cc_room(qc) < least;
        least = qc->mtu;
        by_pace = !by_window && budget < (int64_t)qc->mtu;
        may_send = !by_window && !by_pace;
        if (qc->wants && qc->begun && may_send)
            output_fill(qc, budget);
        if (output_tries_more(qc) && may_send) {
            output_mtu_probe(&o); /* before data, which would leave no room for it */
            share = !output_is_full(&o);
            continue;
        }
        if (qc->state > QUIC_UP || most < OUTPUT_LEAST + QUIC_TAG)
            break;
        len = qc->confirmed ? output_app_datagram(&o, most, may_send)
                            : output_datagram(&o, most, may_send);
        if (len)
            output_add(&o, len);
        share = !output_is_full(&o);
    }
    if (qc->state > QUIC_UP)
        return;
    output_commit(&o);
    if (!share) {
        quic_pending(qc);
        return;
    }
    by_window = by_window && output_has_more(qc);
    by_pace = by_pace && output_has_more(qc);
    output_limits(qc, by_window, by_pace);
}

/* ---- the end ---- */

static uint8_t *close_frame(const quic_conn *qc, quic_space_id id, uint8_t *p)
{
    const int is_app = qc->end.is_application && id == QUIC_S_APP;
    const char *reason = qc->end.reason ? qc->end.reason : "";
    size_t n = strlen(reason);

    if (n > 100)
        n = 100;
    *p++ = is_app ? QUIC_F_CLOSE_APPLICATION : QUIC_F_CLOSE;
    /* An application's reason is not for peers that are not known yet: RFC 9000, 10.2.3. */
    p = quic_put_varint(p,
                        qc->end.is_application && !is_app ? QUIC_APPLICATION_ERROR : qc->end.code);
    if (!is_app)
        *p++ = 0;
    p = quic_put_varint(p, n);
    return quic_put_bytes(p, reason, n);
}

/* The packet of a level, which is the last one: its number is not counted. @return its length */
static size_t close_packet(quic_conn *qc, quic_space_id id, uint8_t *at)
{
    quic_space *sp = qc->space[id];
    quic_writer w = {.sp = sp, .id = id};
    const output_shape shape = {.at = at};
    const unsigned pn_len = 4;
    uint8_t *pn = id == QUIC_S_APP ? output_short(qc, pn_len, at) : output_long(qc, id, pn_len, at);

    w.p = close_frame(qc, id, pn + pn_len);
    output_pad(&w, pn + pn_len, &shape, pn_len);
    return output_seal(NULL, &w, &shape, pn, pn_len);
}

/* In packets of all levels that the client may be able to read. */
void quic_close_make(quic_conn *qc)
{
    uint8_t packet[QUIC_DATAGRAM_MIN];
    size_t len = 0;

    quic_conn_keys(qc);
    for (int i = 0; i < QUIC_SPACES; i++)
        if (qc->space[i] && qc->space[i]->write.aead && (i != QUIC_S_APP || qc->confirmed))
            len += close_packet(qc, (quic_space_id)i, packet + len);
    if (!len || (!qc->path.validated && quic_path_room(qc) < len))
        return;
    qc->path.out += len;
    if ((qc->close = malloc(len)) != NULL) {
        memcpy(qc->close, packet, len);
        qc->close_len = (uint16_t)len;
    }
    qc->close_said = 1;
    quic_close_again(qc);
}

void quic_close_again(quic_conn *qc)
{
    uint8_t *out;

    BRG_ASSERT(qc->close_len <= QUIC_DATAGRAM_MOST);
    if (!qc->close)
        return;
    out = quic_out_room(qc->ep, QUIC_DATAGRAM_MOST);
    memcpy(out, qc->close, qc->close_len);
    quic_out_add(qc->ep, qc->close_len, &qc->path.peer, &qc->path.local, 0);
}
