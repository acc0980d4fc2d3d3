/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of BGP: states, timers, and how each of them ends. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "bgp_session.h"

#define SECOND INT64_C(1000000)
#define PEER 64511

typedef struct seen {
    int ups, downs, updates, refuse;
    char why[400];
} seen;

static bgp_session session;
static seen saw;
static int64_t now;

static void saw_up(void *data, const bgp_open *peer)
{
    assert_int_equal(peer->as, PEER);
    saw.ups++;
}

static int saw_update(void *data, const bgp_update *update, bgp_fault *fault)
{
    saw.updates++;
    if (saw.refuse)
        *fault = (bgp_fault){BGP_CEASE, 1, "enough", {NULL, 0}};
    return !saw.refuse;
}

static void saw_down(void *data, const char *why)
{
    saw.downs++;
    strncpy(saw.why, why, sizeof saw.why - 1);
}

static const bgp_owner owner = {.up = saw_up, .update = saw_update, .down = saw_down};
static const bgp_conf conf = {.name = "192.0.2.1",
                              .self = {.as = 64496, .id = 0x0a000001, .hold = 90, .families = 3},
                              .peer_as = PEER,
                              .retry = 30};

static void come(const unsigned char *bytes, size_t n)
{
    memcpy(session.in + session.in_n, bytes, n);
    session.in_n += n;
    bgp_session_input(&session, now);
}

static void come_open(uint32_t as, uint32_t hold)
{
    unsigned char m[BGP_MESSAGE_MAX];
    const bgp_self peer = {.as = as, .id = 0x0a000002, .hold = hold, .families = 3};

    come(m, bgp_write_open(m, &peer));
}

static void come_short(bgp_type type, size_t body)
{
    unsigned char m[BGP_MESSAGE_MAX] = {0};

    bgp_write_head(m, BGP_HEADER + body, type);
    come(m, BGP_HEADER + body);
}

/* Withdrawn routes that are longer than the message; a good message behind it. */
static void come_bad_update(void)
{
    unsigned char m[2 * (BGP_HEADER + 4)] = {0};

    bgp_write_head(m, BGP_HEADER + 4, BGP_UPDATE);
    m[BGP_HEADER + 1] = 9;
    bgp_write_head(m + BGP_HEADER + 4, BGP_HEADER + 4, BGP_UPDATE);
    come(m, sizeof m);
}

/* What was written is taken away. @return type of the last message, and code and subcode of a NOTIFICATION */
static unsigned said(void)
{
    size_t at = 0;
    bgp_fault fault;
    bgp_type type = 0;
    unsigned last = 0;
    int n;

    while ((n = bgp_head_parse(session.out + at, session.out_n - at, &type, &fault)) > 0) {
        last = type;
        if (type == BGP_NOTIFICATION)
            last =
                type << 16 | session.out[at + BGP_HEADER] << 8 | session.out[at + BGP_HEADER + 1];
        at += (size_t)n;
    }
    assert_int_equal(at, session.out_n);
    bgp_session_sent(&session, session.out_n);
    return last;
}

#define NOTICE(code, subcode) (BGP_NOTIFICATION << 16 | (code) << 8 | (subcode))

static void ended_with(unsigned notice)
{
    assert_int_equal(said(), notice);
    assert_true(session.close);
    assert_int_equal(session.state, BGP_IDLE);
    assert_int_equal(saw.downs, 1);
    bgp_session_lost(&session, "closed", now);
    assert_int_equal(saw.downs, 1);
    assert_false(session.close);
}

static void to_open_sent(const bgp_conf *c)
{
    now += 1000 * SECOND;
    memset(&saw, 0, sizeof saw);
    bgp_session_begin(&session, c, &owner, NULL, now);
    assert_true(bgp_session_is_due(&session, now));
    if (c->listens)
        bgp_session_listening(&session);
    else
        bgp_session_connecting(&session, now);
    bgp_session_connected(&session, now);
    assert_int_equal(said(), BGP_OPEN);
}

static void to_confirm(void)
{
    to_open_sent(&conf);
    come_open(PEER, 30);
    assert_int_equal(said(), BGP_KEEPALIVE);
    assert_int_equal(session.state, BGP_OPEN_CONFIRM);
}

static void to_established(void)
{
    to_confirm();
    come_short(BGP_KEEPALIVE, 0);
    assert_int_equal(session.state, BGP_ESTABLISHED);
    assert_int_equal(saw.ups, 1);
}

static void test_up(void **state)
{
    to_established();
    assert_int_equal(session.hold, 30);
    come_short(BGP_UPDATE, 4);
    come_short(BGP_REFRESH, 4);
    come_short(BGP_KEEPALIVE, 0);
    assert_int_equal(saw.updates, 1);
    assert_int_equal(saw.downs, 0);
    assert_int_equal(session.out_n, 0);
}

static void test_messages_in_pieces(void **state)
{
    unsigned char m[BGP_MESSAGE_MAX];
    size_t n;

    to_confirm();
    n = bgp_write_keepalive(m);
    bgp_write_head(m + n, BGP_HEADER + 4, BGP_UPDATE);
    memset(m + n + BGP_HEADER, 0, 4);
    n += BGP_HEADER + 4;
    for (size_t i = 0; i < n; i++)
        come(m + i, 1);
    assert_int_equal(session.state, BGP_ESTABLISHED);
    assert_int_equal(saw.updates, 1);
    assert_int_equal(session.in_n, 0);
}

static void test_keepalives(void **state)
{
    int64_t at;
    int n = 0;

    to_established();
    while (n < 20) {
        at = bgp_session_deadline(&session);
        assert_true(at > now && at - now <= 10 * SECOND && at - now >= 7 * SECOND);
        now = at;
        bgp_session_tick(&session, now);
        assert_int_equal(said(), BGP_KEEPALIVE);
        come_short(BGP_KEEPALIVE, 0);
        n++;
    }
    assert_int_equal(saw.downs, 0);
}

static void test_hold_time(void **state)
{
    to_established();
    now += 29 * SECOND;
    bgp_session_tick(&session, now);
    said();
    now += SECOND;
    bgp_session_tick(&session, now);
    assert_string_equal(saw.why, "nothing came for the hold time");
    ended_with(NOTICE(BGP_HOLD_EXPIRED, 0));
}

static void test_no_hold_time(void **state)
{
    to_open_sent(&conf);
    come_open(PEER, 0);
    said();
    come_short(BGP_KEEPALIVE, 0);
    assert_int_equal(bgp_session_deadline(&session), BGP_NEVER);
}

static void test_silent_peer(void **state)
{
    to_open_sent(&conf);
    now += (BGP_OPEN_SECONDS - 1) * SECOND;
    bgp_session_tick(&session, now);
    assert_int_equal(saw.downs, 0);
    now += SECOND;
    bgp_session_tick(&session, now);
    ended_with(NOTICE(BGP_HOLD_EXPIRED, 0));
}

static void test_faults(void **state)
{
    to_open_sent(&conf);
    come_open(PEER + 1, 30);
    ended_with(NOTICE(BGP_BAD_OPEN, BGP_OPEN_AS));
    to_open_sent(&conf);
    come_short(BGP_KEEPALIVE, 0);
    ended_with(NOTICE(BGP_BAD_STATE, 0));
    to_open_sent(&conf);
    come_short(BGP_UPDATE, 4);
    ended_with(NOTICE(BGP_BAD_STATE, 0));
    to_confirm();
    come_short(BGP_REFRESH, 4);
    ended_with(NOTICE(BGP_BAD_STATE, 0));
    to_confirm();
    come_open(PEER, 30);
    ended_with(NOTICE(BGP_BAD_STATE, 0));
    to_established();
    come_bad_update();
    ended_with(NOTICE(BGP_BAD_UPDATE, BGP_UPDATE_ATTRIBUTES));
    to_established();
    come((const unsigned char *)"GET / HTTP/1.1\r\n", 16);
    ended_with(NOTICE(BGP_BAD_HEADER, BGP_HEADER_MARKER));
    to_established();
    saw.refuse = 1;
    come_short(BGP_UPDATE, 4);
    assert_string_equal(saw.why, "enough");
    ended_with(NOTICE(BGP_CEASE, 1));
    to_established();
    bgp_session_shut(&session, now);
    ended_with(NOTICE(BGP_CEASE, 3));
}

static void test_no_family(void **state)
{
    bgp_conf one = conf;
    unsigned char m[BGP_MESSAGE_MAX];

    one.self.families = BGP_FAMILY(ASN_IPV6);
    to_open_sent(&one);
    come(m, bgp_write_open(m, &(bgp_self){.as = PEER, .id = 7, .hold = 90, .families = 1}));
    ended_with(NOTICE(BGP_BAD_OPEN, 0));
}

static void test_nothing_behind_a_fault_is_read(void **state)
{
    to_established();
    come_bad_update();
    assert_int_equal(saw.updates, 0);
    assert_int_equal(session.in_n, 0);
    ended_with(NOTICE(BGP_BAD_UPDATE, BGP_UPDATE_ATTRIBUTES));
}

static void test_notification(void **state)
{
    unsigned char m[BGP_HEADER + 8] = {0};

    to_established();
    bgp_write_head(m, sizeof m, BGP_NOTIFICATION);
    memcpy(m + BGP_HEADER, (unsigned char[]){BGP_CEASE, 2, 5, 'a', 27, '\n', 'b', 200}, 8);
    come(m, sizeof m);
    assert_string_equal(saw.why, "the peer says: administrative shutdown (6/2): a??b?");
    assert_true(session.close);
    assert_int_equal(session.out_n, 0);
    assert_int_equal(session.state, BGP_IDLE);
}

static void test_a_peer_that_reads_nothing(void **state)
{
    to_established();
    for (int i = 0; i < 200 && !saw.downs; i++) {
        now = session.keepalive;
        bgp_session_tick(&session, now);
        if (!saw.downs)
            come_short(BGP_KEEPALIVE, 0);
    }
    assert_string_equal(saw.why, "the peer reads nothing");
    assert_true(session.close);
    assert_false(session.last);
}

/* The NOTIFICATION waits for a peer that reads, but not for ever. */
static void test_last_message(void **state)
{
    to_established();
    bgp_session_shut(&session, now);
    assert_true(session.last);
    assert_false(session.close);
    bgp_session_sent(&session, 3);
    assert_false(session.close);
    now = bgp_session_deadline(&session);
    assert_false(bgp_session_is_due(&session, now));
    bgp_session_tick(&session, now);
    assert_true(session.close);
    bgp_session_lost(&session, "closed", now);
    assert_true(bgp_session_is_due(&session, now));
}

static void test_attempts(void **state)
{
    memset(&saw, 0, sizeof saw);
    bgp_session_begin(&session, &conf, &owner, NULL, now);
    bgp_session_connecting(&session, now);
    bgp_session_lost(&session, "refused", now);
    assert_int_equal(saw.downs, 1);
    assert_false(bgp_session_is_due(&session, now + 22 * SECOND));
    assert_true(bgp_session_is_due(&session, now + 30 * SECOND));
    now += 30 * SECOND;
    bgp_session_connecting(&session, now);
    now += BGP_CONNECT_SECONDS * SECOND;
    bgp_session_tick(&session, now);
    assert_true(session.close);
    assert_int_equal(saw.downs, 2);
}

static void test_giving_way(void **state)
{
    bgp_conf waits = conf;

    waits.listens = 1;
    to_open_sent(&waits);
    assert_false(bgp_session_gives_way(&session));
    come_open(PEER, 30);
    come_short(BGP_KEEPALIVE, 0);
    assert_true(bgp_session_gives_way(&session)); /* bgp_write_open() offers graceful restart */
    session.peer.restart = 0;
    assert_false(bgp_session_gives_way(&session));
    bgp_session_lost(&session, "gone", now);
    assert_true(bgp_session_is_due(&session, now + SECOND));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up),
        cmocka_unit_test(test_messages_in_pieces),
        cmocka_unit_test(test_keepalives),
        cmocka_unit_test(test_hold_time),
        cmocka_unit_test(test_no_hold_time),
        cmocka_unit_test(test_silent_peer),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_no_family),
        cmocka_unit_test(test_nothing_behind_a_fault_is_read),
        cmocka_unit_test(test_notification),
        cmocka_unit_test(test_a_peer_that_reads_nothing),
        cmocka_unit_test(test_last_message),
        cmocka_unit_test(test_attempts),
        cmocka_unit_test(test_giving_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
