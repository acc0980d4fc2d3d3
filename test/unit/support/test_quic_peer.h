/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_QUIC_PEER_H
#define BRIGADE_TEST_QUIC_PEER_H

/**
 * @file test_quic_peer.h
 * A client of QUIC for tests, over memory: it makes (test_quic_peer_send.h) and reads packets with keys of its own, and knows nothing of
 * the server's code but keys, wire and ranges. TLS is a play (test_quic_play.h). What it says
 * and is not acknowledged it says again when the test tells it that time passed.
 */
#include "test_quic_peer_send.h"

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
            memcpy(p->response, quic_get_bytes(&r, 8), 8);
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

/* The server chose: all that follows is in that version. */
static void peer_version_came(quic_peer *p, uint32_t version)
{
    const quic_cid server = p->server;

    if (version == p->version)
        return;
    assert_true(version == p->other);
    p->other = 0;
    p->version = version;
    p->server = p->original;
    peer_initial_keys(p);
    p->server = server;
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
            uint32_t version;

            quic_get8(&r);
            if (!(version = quic_get32(&r))) {
                p->versions++;
                return;
            }
            peer_version_came(p, version);
            if (p->version == QUIC_V2)
                bits = (bits + 3) & 3;
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
            if (!pn_len && p->is_wild) /* it gave out an id of another length */
                return;
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
    if (p->other) {
        at = quic_put_varint(quic_put_varint(at, 0x11), 12);
        at = quic_put32(at, p->lies ? p->other : p->version);
        at = quic_put32(quic_put32(at, p->other), p->version);
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
    quic_key_end(&p->early);
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
