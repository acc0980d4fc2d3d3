/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_QUIC_PEER_H
#define BRIGADE_TEST_QUIC_PEER_H

/**
 * @file test_quic_peer.h
 * A client of QUIC for tests, over memory: it makes and reads packets with keys of its own, and knows nothing of the server's
 * code but keys, wire and ranges. TLS is a play: the hello carries the transport parameters, secrets are fixed. What it says
 * and is not acknowledged it says again when the test tells it that time passed.
 */
#include "quic_private.h"
#include <stdlib.h>

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
    uint32_t version;
    quic_cid mine, server, original;
    uint8_t token[256];
    size_t token_len;
    quic_key read[3], write[3];
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
    uint8_t challenge[8];
    int challenged;
    uint64_t params_max_data, params_stream;
    int cids_n;
    quic_cid cids[8];
    int never_acks;
    int is_wild; /* it sends anything: what comes back is not judged by what was asked for; 2: it is not read */
} quic_peer;

/* ---- the play of TLS: server ---- */

static const uint8_t play_secret[4][32] = {{1}, {2}, {3}, {4}};

typedef struct tls_play {
    const tls_quic_user *user;
    void *of;
    uint8_t params[512];
    size_t params_len;
    uint8_t hello[1024];
    size_t hello_len;
    int done;
    size_t certificate; /* bytes of the server's flight */
} tls_play;

static size_t play_certificate = 3000;
static uint16_t play_suite = QUIC_AES_128_GCM;

static tls_quic *play_begin(brg_conn *bc, const tls_quic_user *user, void *of,
                            const uint8_t *params, size_t len)
{
    tls_play *t = calloc(1, sizeof *t);

    (void)bc;
    t->user = user;
    t->of = of;
    memcpy(t->params, params, len);
    t->params_len = len;
    t->certificate = play_certificate;
    return (tls_quic *)(void *)t;
}

static int play_hello(tls_play *t)
{
    static const uint8_t filler[512] = {7};
    int rc = t->user->peer_params(t->of, t->hello + 2, t->hello_len - 2);

    if (rc)
        return -1;
    t->user->send(t->of, TLS_QUIC_INITIAL, filler, 90);
    t->user->secret(t->of, TLS_QUIC_HANDSHAKE, 1, play_suite, play_secret[1], 32);
    t->user->secret(t->of, TLS_QUIC_HANDSHAKE, 0, play_suite, play_secret[0], 32);
    for (size_t n = 0; n < t->certificate; n += sizeof filler)
        t->user->send(t->of, TLS_QUIC_HANDSHAKE, filler, sizeof filler);
    t->user->secret(t->of, TLS_QUIC_APPLICATION, 1, play_suite, play_secret[3], 32);
    t->user->secret(t->of, TLS_QUIC_APPLICATION, 0, play_suite, play_secret[2], 32);
    return 0;
}

static int play_give(tls_quic *q, tls_quic_level level, const uint8_t *data, size_t len)
{
    tls_play *t = (tls_play *)(void *)q;

    if (level == TLS_QUIC_INITIAL) {
        if (t->hello_len + len > sizeof t->hello)
            return -1;
        memcpy(t->hello + t->hello_len, data, len);
        t->hello_len += len;
        if (t->hello_len >= 2 && t->hello_len == ((size_t)t->hello[0] << 8 | t->hello[1]))
            return play_hello(t);
    } else if (level == TLS_QUIC_HANDSHAKE && !t->done) {
        static const uint8_t ticket[200] = {9};

        if (data[0] == 0xff) {
            t->user->alert(t->of, 51);
            return -1;
        }
        t->done = 1;
        t->user->send(t->of, TLS_QUIC_APPLICATION, ticket, sizeof ticket);
        t->user->done(t->of);
    }
    return 0;
}

static int play_end(tls_quic *q)
{
    free(q);
    return 0;
}

static int play_open_n;

static brg_conn *play_open(brg_loop *loop, brg_listener *l, int fd, const struct sockaddr *peer,
                           const struct sockaddr *local)
{
    play_open_n++;
    return malloc(1);
}

static void play_close(brg_loop *loop, brg_conn *bc)
{
    play_open_n--;
    free(bc);
}

static const quic_below play_below = {play_open, play_close, play_begin, play_give, play_end};

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

    if (space == QUIC_S_APP) {
        *at++ = (uint8_t)(0x40 | p->phase << 2 | 3);
        at = quic_put_bytes(at, p->server.id, p->server.len);
    } else {
        *at++ = (uint8_t)(quic_long_first(types[space], p->version) | 3);
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
    assert_int_equal(
        quic_key_seal(&p->write[space], number, out, (size_t)(pn + 4 - out), (size_t)(at - pn - 4)),
        0);
    quic_key_masks(&p->write[space], pn + 4, 1, mask);
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
        if (!p->write[space].aead)
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

/* ---- what comes ---- */

static uint8_t peer_byte(uint64_t id, uint64_t off)
{
    return (uint8_t)(off * 31 + id * 7 + (off >> 8));
}

static int peer_stream_bytes(void *of, const uint8_t *data, size_t len)
{
    peer_stream *s = ((void **)of)[0];
    const uint64_t id = *(uint64_t *)((void **)of)[1];
    uint64_t off = s->in.next - len;

    for (size_t i = 0; i < len; i++)
        s->wrong |= data[i] != peer_byte(id, off + i);
    return 0;
}

static int peer_crypto_bytes(void *of, const uint8_t *data, size_t len)
{
    *(size_t *)of += len;
    return 0;
}

static void peer_acked(quic_peer *p, int space, uint64_t from, uint64_t to)
{
    for (int i = 0; i < PEER_SAID; i++) {
        peer_said *s = &p->said[i];

        if (s->used && s->space == space && s->pn >= (int64_t)from && s->pn <= (int64_t)to)
            s->used = 0;
    }
}

static void peer_ack_came(quic_peer *p, int space, quic_reader *r, int ecn)
{
    uint64_t largest = quic_get_varint(r), n, len, at = largest;

    quic_get_varint(r);
    n = quic_get_varint(r);
    len = quic_get_varint(r);
    assert_true(largest < p->next_pn[space]);
    for (;;) {
        assert_true(len <= at);
        peer_acked(p, space, at - len, at);
        if (!n--)
            break;
        at -= len + quic_get_varint(r) + 2;
        len = quic_get_varint(r);
    }
    for (int i = 0; ecn && i < 3; i++)
        p->ecn += quic_get_varint(r);
}

static void peer_stream_came(quic_peer *p, unsigned type, quic_reader *r)
{
    uint64_t id = quic_get_varint(r), off = type & 4 ? quic_get_varint(r) : 0;
    uint64_t len = type & 2 ? quic_get_varint(r) : quic_left(r);
    const uint8_t *data = quic_get_bytes(r, len);
    peer_stream *s = &p->stream[(id >> 2) % 32 + (id & 1 ? 32 : 0)];
    void *of[2] = {s, &id};
    const uint64_t before = s->in.next;

    assert_non_null(data);
    if (type & 1)
        s->final = off + len;
    if (p->is_wild)
        return;
    assert_in_range(quic_reorder_put(&s->in, off, data, (size_t)len, 10000, peer_stream_bytes, of),
                    0, 0);
    p->came += s->in.next - before;
    if (p->credit && p->came + p->params_max_data / 2 > p->max_data) {
        uint8_t f[16], *at = f;

        p->max_data = p->came + p->params_max_data;
        *at++ = QUIC_F_MAX_DATA;
        at = quic_put_varint(at, p->max_data);
        peer_say(p, QUIC_S_APP, f, (size_t)(at - f));
    }
}

static void peer_frames(quic_peer *p, int space, const uint8_t *data, size_t len)
{
    quic_reader r = quic_reader_of(data, len);

    while (quic_left(&r)) {
        const uint64_t type = quic_get_varint(&r);

        if (type != QUIC_F_PADDING && type != QUIC_F_ACK && type != QUIC_F_ACK_ECN &&
            type != QUIC_F_CLOSE && type != QUIC_F_CLOSE_APPLICATION)
            p->owes_ack[space] = 1;
        switch (type) {
        case QUIC_F_PADDING:
        case QUIC_F_PING:
        case QUIC_F_HANDSHAKE_DONE:
            if (type == QUIC_F_HANDSHAKE_DONE)
                p->done = 1;
            for (int i = 0; p->done && i < PEER_SAID; i++) /* other levels are over */
                if (p->said[i].space != QUIC_S_APP)
                    p->said[i].used = 0;
            break;
        case QUIC_F_ACK:
        case QUIC_F_ACK_ECN:
            peer_ack_came(p, space, &r, type == QUIC_F_ACK_ECN);
            break;
        case QUIC_F_CRYPTO: {
            const uint64_t off = quic_get_varint(&r), n = quic_get_varint(&r);
            const uint8_t *d = quic_get_bytes(&r, n);

            assert_non_null(d);
            quic_reorder_put(&p->crypto[space], off, d, (size_t)n, 1000, peer_crypto_bytes,
                             &p->crypto_n[space]);
            break;
        }
        case QUIC_F_NEW_TOKEN: {
            const uint64_t n = quic_get_varint(&r);
            const uint8_t *d = quic_get_bytes(&r, n);

            assert_true(n <= sizeof p->token);
            memcpy(p->token, d, (size_t)n);
            p->token_len = (size_t)n;
            break;
        }
        case QUIC_F_NEW_CONNECTION_ID: {
            const uint64_t seq = quic_get_varint(&r);

            quic_get_varint(&r);
            assert_true(seq < 8 || p->is_wild);
            quic_get_cid(&r, quic_get8(&r), &p->cids[seq % 8]);
            quic_get_bytes(&r, 16);
            p->cids_n++;
            break;
        }
        case QUIC_F_PATH_CHALLENGE:
            memcpy(p->challenge, quic_get_bytes(&r, 8), 8);
            p->challenged++;
            {
                uint8_t f[9] = {QUIC_F_PATH_RESPONSE};

                memcpy(f + 1, p->challenge, 8);
                peer_say(p, QUIC_S_APP, f, sizeof f);
            }
            break;
        case QUIC_F_CLOSE:
        case QUIC_F_CLOSE_APPLICATION:
            p->close_code = quic_get_varint(&r);
            p->closed = 1;
            return;
        case QUIC_F_RESET_STREAM:
            quic_get_varint(&r);
            /* fall through */
        case QUIC_F_STOP_SENDING:
        case QUIC_F_MAX_STREAM_DATA:
        case QUIC_F_STREAM_DATA_BLOCKED:
            quic_get_varint(&r);
            /* fall through */
        case QUIC_F_MAX_DATA:
        case QUIC_F_MAX_STREAMS_BIDI:
        case QUIC_F_MAX_STREAMS_UNI:
        case QUIC_F_DATA_BLOCKED:
        case QUIC_F_RETIRE_CONNECTION_ID:
            quic_get_varint(&r);
            break;
        case QUIC_F_PATH_RESPONSE:
            quic_get_bytes(&r, 8);
            break;
        default:
            assert_in_range(type, QUIC_F_STREAM, QUIC_F_STREAM + 7);
            peer_stream_came(p, (unsigned)type, &r);
        }
        assert_false(r.bad);
    }
}

static void peer_keys(quic_peer *p)
{
    for (int space = 1; space < 3 && !p->write[space].aead; space++) {
        quic_key_make(&p->write[space], p->version, play_suite, 1, play_secret[space == 1 ? 0 : 2],
                      32);
        quic_key_make(&p->read[space], p->version, play_suite, 0, play_secret[space == 1 ? 1 : 3],
                      32);
    }
}

static void peer_initial_keys(quic_peer *p)
{
    quic_key_end(&p->read[0]);
    quic_key_end(&p->write[0]);
    assert_int_equal(quic_key_initial(&p->read[0], &p->write[0], p->version, &p->server, 0), 0);
}

static void peer_retry_came(quic_peer *p, const uint8_t *data, size_t len)
{
    quic_reader r = quic_reader_of(data, len);
    uint8_t tag[QUIC_TAG];

    assert_int_equal(quic_retry_tag(p->version, &p->server, data, len - QUIC_TAG, tag), 0);
    assert_memory_equal(tag, data + len - QUIC_TAG, QUIC_TAG);
    quic_get_bytes(&r, 5);
    quic_get_bytes(&r, quic_get8(&r));
    quic_get_cid(&r, quic_get8(&r), &p->server);
    p->token_len = quic_left(&r) - QUIC_TAG;
    memcpy(p->token, r.at, p->token_len);
    p->retried++;
    peer_initial_keys(p);
    for (int i = 0; i < PEER_SAID; i++)
        p->said[i].pn = -1;
}

/* Packets of a datagram of the server's. */
static void peer_came(quic_peer *p, const uint8_t *datagram, size_t len)
{
    uint8_t copy[1500], *data = copy;

    assert_true(len <= sizeof copy);
    memcpy(copy, datagram, len);
    while (len && p->is_wild < 2) {
        quic_reader r = quic_reader_of(data, len);
        quic_cid from = {.len = 0};
        size_t whole = len, pn_off = 1 + p->mine.len;
        int space = QUIC_S_APP;
        uint64_t pn;
        unsigned pn_len;
        long n;

        if (data[0] & 0x80) {
            static const int spaces[4] = {QUIC_S_INITIAL, -1, QUIC_S_HANDSHAKE, -2};
            unsigned bits = data[0] >> 4 & 3;

            if (p->version == QUIC_V2)
                bits = (bits + 3) & 3;
            quic_get8(&r);
            if (!quic_get32(&r)) {
                p->versions++;
                return;
            }
            if (spaces[bits] == -2) {
                peer_retry_came(p, data, len);
                return;
            }
            space = spaces[bits];
            assert_true(space >= 0);
            quic_get_bytes(&r, quic_get8(&r));
            quic_get_cid(&r, quic_get8(&r), &from);
            if (space == QUIC_S_INITIAL)
                assert_int_equal(quic_get_varint(&r), 0);
            whole = (size_t)quic_get_varint(&r);
            pn_off = (size_t)(r.at - data);
            whole += pn_off;
            assert_true(whole <= len);
            if (space == QUIC_S_INITIAL)
                p->server = from;
        }
        if (p->read[space].aead) {
            pn_len = quic_key_unmask(&p->read[space], data, pn_off, whole, &pn);
            assert_true(pn_len > 0);
            pn = quic_pn_of(pn, pn_len,
                            p->got[space].n ? p->got[space].r[p->got[space].n - 1].to - 1
                                            : UINT64_MAX);
            if (space == QUIC_S_APP && (data[0] >> 2 & 1) != p->phase) {
                quic_key next;

                quic_key_next(&next, &p->read[2]);
                quic_key_end_shared(&p->read[2]);
                p->read[2] = next;
                quic_key_next(&next, &p->write[2]);
                quic_key_end_shared(&p->write[2]);
                p->write[2] = next;
                p->phase ^= 1;
            }
            n = quic_key_open(&p->read[space], pn, data, pn_off + pn_len, whole - pn_off - pn_len);
            if (n < 0 && space == QUIC_S_APP) {
                p->reset++; /* or a wild client's keys are not the server's */
                return;
            }
            assert_true(n > 0);
            if (!quic_ranges_has(&p->got[space], pn, pn + 1)) {
                quic_ranges_add(&p->got[space], pn, pn + 1);
                peer_frames(p, space, data + pn_off + pn_len, (size_t)n);
            }
            if (space == QUIC_S_INITIAL && p->crypto_n[0] >= 90)
                peer_keys(p);
        }
        data += whole;
        len -= whole;
    }
}

/* ---- its begin and end ---- */

static size_t peer_params(const quic_peer *p, uint8_t *out)
{
    uint8_t *at = out;
    const struct {
        uint64_t id, value;
    } numbers[] = {{0x04, p->params_max_data},
                   {0x05, p->params_stream},
                   {0x07, p->params_stream},
                   {0x08, 100},
                   {0x09, 100},
                   {0x0e, 4},
                   {0x01, 30000}};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        at = quic_put_varint(at, numbers[i].id);
        at = quic_put_varint(at, quic_varint_len(numbers[i].value));
        at = quic_put_varint(at, numbers[i].value);
    }
    at = quic_put_varint(quic_put_varint(at, 0x0f), p->mine.len);
    return (size_t)(quic_put_bytes(at, p->mine.id, p->mine.len) - out);
}

static void peer_begin(quic_peer *p, quic_endpoint *ep, uint32_t version)
{
    uint8_t hello[600], f[1100];
    size_t n;

    p->ep = ep;
    p->version = version;
    p->addr.v4 = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(4444), .sin_addr.s_addr = htonl(0x7f000002)};
    p->mine.len = 5;
    memcpy(p->mine.id, "mine!", 5);
    p->server.len = 8;
    for (int i = 0; i < 8; i++)
        p->server.id[i] = (uint8_t)random();
    p->original = p->server;
    if (!p->params_max_data)
        p->params_max_data = p->params_stream = 1 << 20;
    p->max_data = p->params_max_data;
    peer_initial_keys(p);
    n = 2 + peer_params(p, hello + 2);
    memset(hello + n, 0, sizeof hello - n);
    hello[0] = (uint8_t)(n >> 8);
    hello[1] = (uint8_t)n;
    /* In two pieces, the second one first. */
    for (int piece = 1; piece >= 0; piece--) {
        const size_t off = piece ? n / 2 : 0, len = piece ? n - n / 2 : n / 2;
        uint8_t *at = f;

        *at++ = QUIC_F_CRYPTO;
        at = quic_put_varint(quic_put_varint(at, off), len);
        at = quic_put_bytes(at, hello + off, len);
        peer_say(p, QUIC_S_INITIAL, f, (size_t)(at - f));
    }
}

/* The client's last message of the handshake. */
static inline void peer_finish(quic_peer *p)
{
    uint8_t f[64] = {QUIC_F_CRYPTO, 0, 36};

    peer_say(p, QUIC_S_HANDSHAKE, f, 39);
}

static void peer_end(quic_peer *p)
{
    for (int i = 0; i < 3; i++) {
        quic_key_end(&p->read[i]);
        quic_key_end(&p->write[i]);
        quic_ranges_end(&p->got[i]);
        quic_reorder_end(&p->crypto[i]);
    }
    for (int i = 0; i < 64; i++)
        quic_reorder_end(&p->stream[i].in);
    free(p);
}

/* Ask for a stream of so many bytes: the test's server makes them. */
static inline void peer_ask(quic_peer *p, uint64_t id, uint32_t bytes)
{
    uint8_t f[32], *at = f;

    *at++ = QUIC_F_STREAM | QUIC_STREAM_LEN | QUIC_STREAM_FIN;
    at = quic_put_varint(quic_put_varint(at, id), 4);
    at = quic_put32(at, bytes);
    peer_say(p, QUIC_S_APP, f, (size_t)(at - f));
}

#endif
