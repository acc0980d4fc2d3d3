/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session of BGP, by a list of steps: bytes of a peer in any pieces, good messages, time, and a connection that comes
 * and goes. What is written is always whole messages, and every attempt ends.
 * Covers: modules/asn/bgp_session.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "bgp_session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct steps {
    const uint8_t *at, *end;
    int64_t now;
    int up;
} steps;

static bgp_session session;

static void check(int ok)
{
    if (!ok)
        abort();
}

static unsigned byte(steps *s)
{
    return s->at < s->end ? *s->at++ : 0;
}

static void up(void *data, const bgp_open *peer)
{
    steps *s = data;

    check(!s->up && peer->as == 64511);
    s->up = 1;
}

static int update(void *data, const bgp_update *u, bgp_fault *fault)
{
    const steps *s = data;

    check(s->up);
    if (!u->as_withdrawn)
        return 1;
    *fault = (bgp_fault){BGP_CEASE, 8, "refused", {NULL, 0}};
    return 0;
}

static void down(void *data, const char *why)
{
    steps *s = data;

    check(why && *why);
    s->up = 0;
}

static void connect_if_due(steps *s)
{
    if (!bgp_session_is_due(&session, s->now))
        return;
    bgp_session_connecting(&session, s->now);
    bgp_session_connected(&session, s->now);
}

static void read_all(steps *s)
{
    size_t at = 0;
    bgp_fault fault;
    bgp_type type;
    int n;

    while ((n = bgp_head_parse(session.out + at, session.out_n - at, &type, &fault)) > 0)
        at += (size_t)n;
    check(at == session.out_n);
    bgp_session_sent(&session, session.out_n);
}

static void come(steps *s, const unsigned char *bytes, size_t n)
{
    if (session.state < BGP_OPEN_SENT || n > sizeof session.in - session.in_n)
        return;
    memcpy(session.in + session.in_n, bytes, n);
    session.in_n += n;
    bgp_session_input(&session, s->now);
    check(session.in_n < BGP_MESSAGE_MAX);
}

static void step_message(steps *s, bgp_type type)
{
    unsigned char m[BGP_MESSAGE_MAX];
    size_t n = byte(s);

    n = n < (size_t)(s->end - s->at) ? n : (size_t)(s->end - s->at);
    memcpy(m + BGP_HEADER, s->at, n);
    s->at += n;
    come(s, m, bgp_write_head(m, BGP_HEADER + n, type));
}

static void step(steps *s)
{
    const bgp_self peer = {.as = 64511, .id = 2, .hold = 9, .families = 3};
    unsigned char m[BGP_MESSAGE_MAX];
    unsigned kind = byte(s);

    switch (kind % 10) {
    case 0:
        come(s, m, bgp_write_open(m, &peer));
        break;
    case 1:
        come(s, m, bgp_write_keepalive(m));
        break;
    case 2:
        step_message(s, (bgp_type)(byte(s) % 5 + 1));
        break;
    case 3:
        step_message(s, BGP_UPDATE);
        break;
    case 4:
        s->now += byte(s) * INT64_C(500000);
        bgp_session_tick(&session, s->now);
        break;
    case 5:
        read_all(s);
        break;
    case 6:
        bgp_session_lost(&session, "lost", s->now);
        break;
    case 7:
        bgp_session_shut(&session, s->now);
        break;
    default:
        m[0] = (unsigned char)byte(s);
        come(s, m, 1);
    }
    if (session.close)
        bgp_session_lost(&session, "closed", s->now);
    connect_if_due(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const bgp_owner owner = {.up = up, .update = update, .down = down};
    static const bgp_conf conf = {.name = "192.0.2.1",
                                  .self = {.as = 64496, .id = 1, .hold = 90, .families = 3},
                                  .peer_as = 64511,
                                  .retry = 5};
    steps s = {.at = data, .end = data + size, .now = 1000};

    bgp_session_begin(&session, &conf, &owner, &s, s.now);
    connect_if_due(&s);
    while (s.at < s.end)
        step(&s);
    bgp_session_lost(&session, "the end", s.now);
    check(session.state == BGP_IDLE && !s.up);
    return 0;
}
