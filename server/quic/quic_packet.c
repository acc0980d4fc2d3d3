/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that come: RFC 9000, 12; RFC 9001, 5 and 6. What cannot be decrypted is dropped, as if the network had lost it. */
#include "quic_private.h"
#include <stdlib.h>

static quic_space_id packet_space(quic_packet_type type)
{
    return type == QUIC_INITIAL     ? QUIC_S_INITIAL
           : type == QUIC_HANDSHAKE ? QUIC_S_HANDSHAKE
                                    : QUIC_S_APP;
}

/* ---- keys of 1-RTT packets ---- */

/* The peer's next key, made before it is needed: how long decrypting takes must not tell of it (RFC 9001, 9.5). */
static int packet_next_key(quic_conn *qc, quic_space *sp)
{
    if (!qc->other && !(qc->other = calloc(1, sizeof *qc->other)))
        return -1;
    return qc->other->next.aead ? 0 : quic_key_next(&qc->other->next, &sp->read);
}

void quic_other_keys_end(quic_conn *qc)
{
    if (!qc->other)
        return;
    quic_key_end_shared(&qc->other->next);
    quic_key_end_shared(&qc->other->prev);
    free(qc->other);
    qc->other = NULL;
    qc->has_prev = 0;
}

/* The key phase changes: the peer's key is next, and ours with it. */
static int packet_change_keys(quic_conn *qc, quic_space *sp)
{
    quic_key next;

    BRG_ASSERT(sp->read.aead && sp->write.aead);
    if (packet_next_key(qc, sp) || quic_key_next(&next, &sp->write))
        return -1;
    if (qc->has_prev)
        quic_key_end_shared(&qc->other->prev);
    qc->other->prev = sp->read;
    qc->has_prev = 1;
    qc->prev_until = quic_now(qc) + 3 * quic_pto(qc, QUIC_S_APP);
    sp->read = qc->other->next;
    memset(&qc->other->next, 0, sizeof qc->other->next);
    quic_key_end_shared(&sp->write);
    sp->write = next;
    qc->phase ^= 1;
    qc->phase_write_from = sp->next_pn;
    qc->ep->figures.key_updates++;
    quic_qlog_number(qc, "quic:key_updated", "key_phase", qc->phase);
    return packet_next_key(qc, sp);
}

int quic_key_update(quic_conn *qc)
{
    quic_space *sp = qc->space[QUIC_S_APP];

    /* Not before something of this phase was acknowledged: RFC 9001, 6.1. */
    if (!qc->confirmed || qc->update_asked || sp->largest_acked < (int64_t)qc->phase_write_from)
        return -1;
    if (packet_change_keys(qc, sp))
        return -1;
    qc->update_asked = 1;
    qc->phase_read_from = UINT64_MAX;
    return 0;
}

/* Which key a packet of the other phase has: 0: that before; 1: the next one. */
static int packet_is_of_next(const quic_conn *qc, uint64_t pn)
{
    if (qc->update_asked)
        return 0; /* ours is next already, and the peer has not followed */
    return !qc->has_prev || pn >= qc->phase_read_from;
}

/* @return bytes of the payload; -1: it is not valid */
static long packet_open_app(quic_conn *qc, quic_space *sp, uint8_t *data, size_t head_len,
                            size_t len, uint64_t pn)
{
    const int phase = data[0] >> 2 & 1;
    long n;

    BRG_ASSERT(qc->phase < 2);
    if (phase == qc->phase) {
        n = quic_key_open(&sp->read, pn, data, head_len, len);
        if (n >= 0) {
            qc->update_asked = 0;
            if (pn < qc->phase_read_from)
                qc->phase_read_from = pn;
        }
        return n;
    }
    if (!packet_is_of_next(qc, pn))
        return qc->has_prev ? quic_key_open(&qc->other->prev, pn, data, head_len, len) : -1;
    if (!qc->confirmed || packet_next_key(qc, sp))
        return -1;
    n = quic_key_open(&qc->other->next, pn, data, head_len, len);
    if (n < 0 || packet_change_keys(qc, sp))
        return -1;
    qc->phase_read_from = pn;
    return quic_conn_flood(qc, 64) ? -1 : n;
}

/* ---- one packet ---- */

static void packet_bad(quic_conn *qc, quic_space *sp)
{
    qc->ep->figures.packets_bad++;
    if (sp->read.used > quic_key_limit(&sp->read))
        quic_conn_fail(qc, QUIC_AEAD_LIMIT_REACHED, "packets that are not valid");
}

/* What was decrypted is of the client: its address is that, if it could read what we sent (RFC 9000, 8.1). */
static void packet_of_handshake(quic_conn *qc)
{
    qc->path.validated = 1;
    quic_space_retire(qc, QUIC_S_INITIAL);
}

static void packet_read(quic_conn *qc, quic_came *came, uint8_t *data, size_t head_len, size_t len,
                        const quic_addr *peer, const quic_addr *local, int ecn)
{
    const uint8_t reserved = data[0] & (data[0] & 0x80 ? 0x0c : 0x18);
    int rc;

    if (reserved || !len) {
        quic_conn_fail(qc, QUIC_PROTOCOL_VIOLATION, reserved ? "reserved bits" : "an empty packet");
        return;
    }
    if (came->type == QUIC_HANDSHAKE && qc->space[QUIC_S_INITIAL] && !qc->retired)
        packet_of_handshake(qc);
    came->peer = peer;
    came->local = local;
    came->probing_only = 1;
    quic_conn_alive(qc);
    if (qc->qlog)
        quic_qlog_packet(qc, 0, came->type, came->pn, data + head_len, len);
    rc = quic_frames(qc, came, data + head_len, len);
    if (rc || qc->state > QUIC_UP || !qc->space[came->space])
        return;
    quic_ack_note(qc, came->space, came->pn, came->eliciting, ecn);
    if ((came->space != QUIC_S_APP || !came->probing_only) &&
        came->pn == qc->space[came->space]->largest_got && !quic_addr_equal(peer, &qc->path.peer))
        quic_path_moved(qc, came);
}

/* What a packet is decrypted with; NULL: it is of no use, now or at all. */
static quic_key *packet_key(const quic_conn *qc, const quic_head *h, quic_space *sp)
{
    const quic_packet_type type = h->type;

    if (type == QUIC_INITIAL && h->version != qc->version)
        return sp ? qc->first_read : NULL;
    if (type == QUIC_0RTT)
        return sp && qc->early_came < QUIC_EARLY_MOST ? qc->early_read : NULL;
    if (!sp || !sp->read.aead || (type == QUIC_1RTT && qc->state != QUIC_UP))
        return NULL;
    return &sp->read;
}

/* @return 0: the rest of the datagram may be of use */
static int packet_one(quic_conn *qc, const quic_head *h, uint8_t *data, const quic_addr *peer,
                      const quic_addr *local, int ecn)
{
    quic_came came = {
        .space = packet_space(h->type), .type = h->type, .dcid = &h->dcid, .size = h->len};
    quic_space *sp = qc->space[came.space];
    quic_key *key = packet_key(qc, h, sp);
    uint64_t truncated;
    unsigned pn_len;
    long n;

    if (!key || !(pn_len = quic_key_unmask(key, data, h->pn_off, h->len, &truncated)))
        return 0;
    came.pn = quic_pn_of(truncated, pn_len, sp->got.n ? sp->largest_got : UINT64_MAX);
    if (h->type == QUIC_1RTT)
        n = packet_open_app(qc, sp, data, h->pn_off + pn_len, h->len - h->pn_off - pn_len, came.pn);
    else
        n = quic_key_open(key, came.pn, data, h->pn_off + pn_len, h->len - h->pn_off - pn_len);
    if (n < 0) {
        packet_bad(qc, sp);
        return -1;
    }
    if (quic_ack_is_known(sp, came.pn))
        return 0;
    if (h->type == QUIC_INITIAL && !sp->got.n)
        qc->theirs[0].cid = h->scid; /* nothing vouched for the one of the packet that began it */
    if (h->type == QUIC_0RTT)
        qc->early_came += (uint32_t)h->len;
    packet_read(qc, &came, data, h->pn_off + pn_len, (size_t)n, peer, local, ecn);
    return 0;
}

static void packets_closing(quic_conn *qc)
{
    /* Answered, but ever less: RFC 9000, 10.2.1. */
    if (qc->state != QUIC_CLOSING || ++qc->close_came < qc->close_said)
        return;
    qc->close_said = qc->close_said ? qc->close_said * 2 : 1;
    qc->close_came = 0;
    quic_close_again(qc);
}

static int packet_is_ours(const quic_conn *qc, const quic_head *h)
{
    if (quic_cid_equal(&h->dcid, &qc->first.cid))
        return h->type == QUIC_INITIAL || h->type == QUIC_0RTT;
    for (int i = 0; i < QUIC_CIDS; i++)
        if (qc->own[i].qc && quic_cid_equal(&qc->own[i].cid, &h->dcid))
            return 1;
    return 0;
}

/* A client speaks the version that it began with until it has heard of another one. */
static int packet_is_spoken(const quic_conn *qc, const quic_head *h)
{
    return h->version == (h->type == QUIC_0RTT ? qc->first_version : qc->version) ||
           (h->type == QUIC_INITIAL && h->version == qc->first_version);
}

void quic_packets(quic_conn *qc, const quic_head *first, uint8_t *data, size_t len,
                  const quic_addr *peer, const quic_addr *local, int ecn)
{
    uint8_t *const whole = data;
    const size_t whole_len = len;
    quic_head h = *first;
    int bad = 0;

    BRG_ASSERT(qc->in_call);
    if (qc->state >= QUIC_CLOSING) {
        packets_closing(qc);
        return;
    }
    if (quic_conn_wake(qc))
        return;
    if (quic_addr_equal(peer, &qc->path.peer))
        qc->path.in += len;
    while (qc->state <= QUIC_UP && h.type != QUIC_VERSIONS && packet_is_ours(qc, &h) &&
           (!(data[0] & 0x80) || packet_is_spoken(qc, &h))) {
        bad |= packet_one(qc, &h, data, peer, local, ecn);
        data += h.len;
        len -= h.len;
        if (!len || quic_head_read(&h, data, len))
            break;
    }
    if (bad && qc->state <= QUIC_UP && quic_cids_is_reset(qc, whole, whole_len)) {
        qc->end = (quic_end){.is_silent = 1, .by_peer = 1, .reason = "stateless reset"};
        quic_conn_over(qc, QUIC_DRAINING);
    }
    if (qc->state <= QUIC_UP) {
        quic_pending(qc);
        quic_conn_rearm(qc);
    }
}
