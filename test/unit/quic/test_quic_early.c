/* SPDX-License-Identifier: Apache-2.0 */
/* Early data (RFC 9001, 4.6): answered before the handshake is over, bounded, and of no harm where it is not taken. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_quic_site.h"

/* A client that has a ticket: its requests go with its first packets. */
static void early_begin(int taken)
{
    begin();
    play_certificate = 0;
    the_setup.early = taken ? 7 : 0;
    peer_begin(the_peer, the_ep, QUIC_V1);
    assert_int_equal(quic_key_make(&the_peer->early, QUIC_V1, play_suite, 1, play_secret[4], 32),
                     0);
}

/* The server has its first packets, and its answer is on its way. */
static void early_taken(void)
{
    peer_flush(the_peer, 0, net_from_client);
    while (!site.begun)
        step();
    assert_null(the_peer->write[QUIC_S_APP].aead);
}

static void early_end(void)
{
    play_certificate = 3000;
    end();
}

static void early_shake(void)
{
    peer_finish(the_peer);
    run_for(apr_time_from_sec(1));
    assert_int_equal(the_peer->done, 1);
}

/* The answer is there one round trip after the first packet, and the client has not said a word of its handshake. */
static void test_answered(void **state)
{
    early_begin(1);
    peer_ask(the_peer, 0, 2000);
    peer_flush(the_peer, 0, net_from_client);
    run_for(apr_time_from_msec(25));
    assert_int_equal(site.begun, 1);
    assert_int_equal(site.up, 0);
    assert_int_equal(quic_conn_is_up(site.qc), 0);
    assert_int_equal(the_peer->stream[0].in.next, 2000);
    assert_int_equal(the_ep->figures.early, 1);
    assert_in_range(net.to_client, 2000, 3 * net.to_server);
    early_shake();
    assert_int_equal(site.begun, 1);
    assert_int_equal(site.up, 1);
    assert_int_equal(quic_conn_is_up(site.qc), 1);
    assert_null(site.qc->early_read);
    peer_ask(the_peer, 4, 100000);
    wait_for(4, 100000, apr_time_from_sec(5));
    run_for(apr_time_from_sec(1));
    assert_int_equal(site.ended, 2);
    early_end();
}

/* It is not wanted: the packets are as if they were lost, and the client says it again. */
static void test_not_taken(void **state)
{
    early_begin(0);
    peer_ask(the_peer, 0, 2000);
    peer_flush(the_peer, 0, net_from_client);
    run_for(apr_time_from_msec(25));
    assert_int_equal(site.begun, 0);
    assert_int_equal(the_ep->figures.packets_bad, 0);
    early_shake();
    assert_int_equal(site.up, 0);
    wait_for(0, 2000, apr_time_from_sec(5));
    early_end();
}

/* Its first flight is all that ever comes: a recording that somebody plays again. */
static void test_never_finished(void **state)
{
    early_begin(1);
    peer_ask(the_peer, 0, 2000);
    peer_flush(the_peer, 0, net_from_client);
    run_for(apr_time_from_sec(15));
    assert_int_equal(site.closed, 1);
    assert_int_equal(site.end.is_silent, 1);
    assert_int_equal(the_ep->handshakes, 0);
    assert_int_equal(the_ep->figures.handshakes_failed, 1);
    assert_in_range(net.to_client, 0, 3 * net.to_server);
    early_end();
}

/* More than is kept before anybody proved anything. */
static void test_bounded(void **state)
{
    uint8_t f[1100] = {QUIC_F_STREAM | QUIC_STREAM_LEN | QUIC_STREAM_OFF};

    early_begin(1);
    early_taken();
    for (unsigned i = 0; i < 60; i++) {
        uint8_t *at = quic_put_varint(quic_put_varint(f + 1, 0), i * 1000);

        at = quic_put_varint(at, 1000);
        peer_send_raw(the_peer, QUIC_S_APP, f, (size_t)(at - f) + 1000);
    }
    assert_in_range(site.taken, 20000, QUIC_EARLY_MOST + 1000);
    early_end();
}

/* Frames that early data must not have. */
static void test_frames(void **state)
{
    static const uint8_t bad[][12] = {{QUIC_F_ACK, 0, 0, 0, 0},
                                      {QUIC_F_CRYPTO, 0, 1, 1},
                                      {QUIC_F_PATH_RESPONSE, 1, 2, 3, 4, 5, 6, 7, 8},
                                      {QUIC_F_RETIRE_CONNECTION_ID, 0},
                                      {QUIC_F_HANDSHAKE_DONE}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        early_begin(1);
        early_taken();
        peer_send_raw(the_peer, QUIC_S_APP, bad[i], sizeof bad[i]);
        assert_int_equal(site.closed, 1);
        assert_int_equal(site.end.code, QUIC_PROTOCOL_VIOLATION);
        early_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answered), cmocka_unit_test(test_not_taken),
        cmocka_unit_test(test_never_finished), cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_frames)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
