/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_QUIC_PLAY_H
#define BRIGADE_TEST_QUIC_PLAY_H

/**
 * @file test_quic_play.h
 * A play of TLS for tests of QUIC, the server's side: the hello carries the transport parameters, secrets are fixed, the
 * certificate is play_certificate bytes long.
 */
#include "quic_private.h"
#include <limits.h>
#include <stdlib.h>

static const uint8_t play_secret[5][32] = {{1}, {2}, {3}, {4}, {5}};

typedef struct tls_play {
    const tls_quic_user *user;
    void *of;
    uint8_t params[512];
    size_t params_len;
    uint8_t hello[1024];
    size_t hello_len;
    int done, early;
    size_t certificate; /* bytes of the server's flight */
} tls_play;

static size_t play_certificate = 3000;
static uint16_t play_suite = QUIC_AES_128_GCM;
static int play_never_done; /* what comes of the client's handshake leads to nothing */

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

    if (rc) {
        t->user->alert(t->of, 80);
        return -1;
    }
    t->user->send(t->of, TLS_QUIC_INITIAL, filler, 90);
    t->user->secret(t->of, TLS_QUIC_HANDSHAKE, 1, play_suite, play_secret[1], 32);
    t->user->secret(t->of, TLS_QUIC_HANDSHAKE, 0, play_suite, play_secret[0], 32);
    for (size_t n = 0; n < t->certificate; n += sizeof filler)
        t->user->send(t->of, TLS_QUIC_HANDSHAKE, filler, sizeof filler);
    t->user->secret(t->of, TLS_QUIC_APPLICATION, 1, play_suite, play_secret[3], 32);
    t->user->secret(t->of, TLS_QUIC_APPLICATION, 0, play_suite, play_secret[2], 32);
    if (t->early) {
        t->user->secret(t->of, TLS_QUIC_EARLY, 0, play_suite, play_secret[4], 32);
        t->user->early(t->of);
    }
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

        if (play_never_done)
            return 0;
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

static void play_allow_early(tls_quic *q, uint64_t bound)
{
    ((tls_play *)(void *)q)->early = bound != 0;
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

static const quic_below play_below = {play_open, play_close, play_begin,
                                      play_give, play_end,   play_allow_early};

#endif
