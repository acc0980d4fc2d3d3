/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_QUIC_PEER_SEND_H
#define BRIGADE_TEST_QUIC_PEER_SEND_H

/**
 * @file test_quic_peer_send.h
 * The client of test_quic_peer.h, and the packets that it sends.
 */
#include "test_quic_play.h"

#define PEER_SAID 64 /* frames that are not acknowledged */

typedef struct peer_said {
    uint8_t frame[1100];
    size_t len;
    int space;
    int64_t pn; /* of the last packet that had it; -1: none */
    int used;
} peer_said;

typedef struct peer_stream {
    quic_reorder in;
    uint64_t final;
    uint8_t sum; /* of all bytes, position included */
    int wrong;
} peer_stream;

typedef struct quic_peer {
    quic_endpoint *ep;
    quic_addr addr;
    uint32_t version, other; /* other: it speaks that, too; 0 */
    quic_cid mine, server, original;
    uint8_t token[256];
    size_t token_len;
    quic_key read[3], write[3];
    quic_key early /* of 0-RTT packets, which it sends while it has no others */;
    uint64_t next_pn[3];
    quic_ranges got[3];
    int owes_ack[3];
    uint64_t ecn;
    int64_t largest[3];
    quic_reorder crypto[3];
    size_t crypto_n[3]; /* bytes that came */
    int done, retried, closed, versions, reset;
    uint64_t close_code;
    int phase;
    peer_said said[PEER_SAID];
    peer_stream stream[64];
    uint64_t max_data, credit; /* of ours; credit: 1: told as bytes come */
    uint64_t came;
    uint8_t challenge[8], response[8];
    int challenged;
    uint64_t params_max_data, params_stream;
    int cids_n;
    quic_cid cids[8];
    int never_acks;
    int lies; /* of its first version */
    int is_wild; /* it sends anything: what comes back is not judged by what was asked for; 2: it is not read */
} quic_peer;

/* ---- what the client sends ---- */

/* Have the server take a datagram; a test may lose it. */
static void peer_datagram(quic_peer *p, const uint8_t *data, size_t len)
{
    uint8_t *copy = malloc(len);
    quic_addr local;

    memset(&local, 0, sizeof local);
    memcpy(copy, data, len);
    quic_datagram(p->ep, copy, len, &p->addr, &local, 2);
    free(copy);
}

static uint8_t *peer_ack(quic_peer *p, int space, uint8_t *at)
{
    const quic_ranges *g = &p->got[space];
    uint32_t i = g->n - 1, n = g->n - 1 < 20 ? g->n - 1 : 20;

    *at++ = QUIC_F_ACK;
    at = quic_put_varint(quic_put_varint(at, g->r[i].to - 1), 0);
    at = quic_put_varint(quic_put_varint(at, n), g->r[i].to - 1 - g->r[i].from);
    for (; n; n--, i--) {
        at = quic_put_varint(at, g->r[i].from - g->r[i - 1].to - 1);
        at = quic_put_varint(at, g->r[i - 1].to - 1 - g->r[i - 1].from);
    }
    p->owes_ack[space] = 0;
    return at;
}

/* A packet with these frames. @return its length */
static size_t peer_packet(quic_peer *p, int space, const uint8_t *frames, size_t len, size_t pad_to,
                          uint8_t *out)
{
    static const quic_packet_type types[3] = {QUIC_INITIAL, QUIC_HANDSHAKE, QUIC_1RTT};
    uint8_t *at = out, *pn, *length = NULL, mask[16];
    const uint64_t number = p->next_pn[space]++;
    const int is_early = space == QUIC_S_APP && !p->write[space].aead;
    quic_key *key = is_early ? &p->early : &p->write[space];

    if (space == QUIC_S_APP && !is_early) {
        *at++ = (uint8_t)(0x40 | p->phase << 2 | 3);
        at = quic_put_bytes(at, p->server.id, p->server.len);
    } else {
        *at++ = (uint8_t)(quic_long_first(is_early ? QUIC_0RTT : types[space], p->version) | 3);
        at = quic_put32(at, p->version);
        *at++ = p->server.len;
        at = quic_put_bytes(at, p->server.id, p->server.len);
        *at++ = p->mine.len;
        at = quic_put_bytes(at, p->mine.id, p->mine.len);
        if (space == QUIC_S_INITIAL)
            at = quic_put_bytes(quic_put_varint(at, p->token_len), p->token, p->token_len);
        length = at;
        at += 2;
    }
    pn = at;
    at = quic_put_bytes(quic_put32(at, (uint32_t)number), frames, len);
    while ((size_t)(at - out) + QUIC_TAG < pad_to || at - pn < 20)
        *at++ = 0;
    if (length)
        quic_put_varint2(length, (size_t)(at - pn) + QUIC_TAG);
    assert_int_equal(quic_key_seal(key, number, out, (size_t)(pn + 4 - out), (size_t)(at - pn - 4)),
                     0);
    quic_key_masks(key, pn + 4, 1, mask);
    out[0] ^= mask[0] & (out[0] & 0x80 ? 15 : 31);
    for (int i = 0; i < 4; i++)
        pn[i] ^= mask[1 + i];
    return (size_t)(at - out) + QUIC_TAG;
}

/* Frames once, in a datagram of their own. */
static inline void peer_send_raw(quic_peer *p, int space, const uint8_t *frames, size_t len)
{
    uint8_t out[1500];

    peer_datagram(p, out,
                  peer_packet(p, space, frames, len, space == QUIC_S_INITIAL ? 1200 : 0, out));
}

/* Frames that are sent until they are acknowledged. */
static void peer_say(quic_peer *p, int space, const uint8_t *frame, size_t len)
{
    for (int i = 0; i < PEER_SAID; i++)
        if (!p->said[i].used) {
            peer_said *s = &p->said[i];

            assert_true(len <= sizeof s->frame);
            *s = (peer_said){.len = len, .space = space, .pn = -1, .used = 1};
            memcpy(s->frame, frame, len);
            return;
        }
    assert_true(p->is_wild);
}

/* What is to be sent: ACKs, and what was not acknowledged (@a again: or was sent already). @return datagrams, each to be
 * delivered by the caller, or lost */
static inline unsigned peer_flush(quic_peer *p, int again,
                                  void (*deliver)(quic_peer *, const uint8_t *, size_t))
{
    unsigned n = 0;

    for (int space = 0; space < 3; space++) {
        if (!p->write[space].aead && !(space == QUIC_S_APP && p->early.aead))
            continue;
        for (;;) {
            uint8_t frames[1300], *at = frames, out[1500];
            size_t len;
            int any = 0;

            if (p->owes_ack[space] && p->got[space].n && !p->never_acks)
                at = peer_ack(p, space, at);
            any = at > frames;
            for (int i = 0; i < PEER_SAID; i++) {
                peer_said *s = &p->said[i];

                if (!s->used || s->space != space || (s->pn >= 0 && !again) ||
                    s->pn == (int64_t)p->next_pn[space] || (size_t)(at - frames) + s->len > 1120)
                    continue;
                at = quic_put_bytes(at, s->frame, s->len);
                s->pn = (int64_t)p->next_pn[space];
                any = 1;
            }
            if (!any)
                break;
            len = peer_packet(p, space, frames, (size_t)(at - frames),
                              space == QUIC_S_INITIAL ? 1200 : 0, out);
            n++;
            deliver(p, out, len);
            if (again)
                break;
        }
    }
    return n;
}

#endif
