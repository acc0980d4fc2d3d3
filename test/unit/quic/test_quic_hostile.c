/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that try what RFC 9000, 21 warns of, and some that are only unlucky. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_quic_site.h"

/* Bytes of a handshake in order, without end: while a worker has the handshake they are kept. */
static void test_crypto_without_end(void **state)
{
    uint8_t f[1100] = {QUIC_F_CRYPTO};
    uint64_t off = 0;

    begin();
    play_never_done = 1;
    peer_begin(the_peer, the_ep, QUIC_V1);
    peer_flush(the_peer, 0, net_from_client);
    run_for(apr_time_from_msec(100));
    for (; off < 2 * QUIC_CRYPTO_ALL && the_ep->handshakes; off += 1000) {
        uint8_t *at = quic_put_varint(quic_put_varint(f + 1, off), 1000);

        peer_send_raw(the_peer, QUIC_S_HANDSHAKE, f, (size_t)(at - f) + 1000);
    }
    assert_in_range(off, QUIC_CRYPTO_ALL, QUIC_CRYPTO_ALL + 2000);
    run_for(apr_time_from_msec(100));
    assert_int_equal(the_peer->close_code, QUIC_CRYPTO_BUFFER_EXCEEDED);
    play_never_done = 0;
    end();
}

static void peer_gives_id(uint64_t seq)
{
    uint8_t f[32] = {
        QUIC_F_NEW_CONNECTION_ID, (uint8_t)seq, 0, 5, 'i', 'd', 'n', 'r', (uint8_t)seq};

    peer_send_raw(the_peer, QUIC_S_APP, f, 4 + 5 + QUIC_RESET_TOKEN);
}

static int server_has_id(uint64_t seq)
{
    int n = 0;

    for (int i = 0; i < QUIC_CIDS; i++)
        n += site.qc->theirs[i].used && site.qc->theirs[i].seq == seq;
    return n;
}

/* An id that was retired does not come back with a NEW_CONNECTION_ID that came twice: datagrams by it would be nobody's. */
static void test_ids_twice(void **state)
{
    static const uint8_t ping = QUIC_F_PING;

    begin();
    connect_v(QUIC_V1);
    for (uint64_t seq = 1; seq < 4; seq++)
        peer_gives_id(seq);
    assert_int_equal(server_has_id(1), 1);
    for (int i = 0; i < 2; i++) {
        the_peer->addr.v4.sin_port = htons((uint16_t)(4450 + i));
        peer_send_raw(the_peer, QUIC_S_APP, &ping, 1);
        run_for(apr_time_from_msec(200));
    }
    assert_int_equal(server_has_id(0), 0);
    assert_int_equal(server_has_id(1), 0);
    for (uint64_t seq = 0; seq < 4; seq++)
        peer_gives_id(seq);
    assert_int_equal(server_has_id(0) + server_has_id(1), 0);
    assert_int_equal(server_has_id(2) + server_has_id(3), 2);
    for (uint64_t seq = 4; seq < 6; seq++)
        peer_gives_id(seq);
    assert_int_equal(server_has_id(5), 1);
    assert_int_equal(the_peer->closed, 0);
    end();
}

/* A client that tries another address is answered there, and not where it is (RFC 9000, 8.2.2); without an id for that it is not. */
static void challenge_elsewhere(size_t len)
{
    uint8_t f[1100] = {QUIC_F_PATH_CHALLENGE, 1, 2, 3, 4, 5, 6, 7, 8};

    the_peer->addr.v4.sin_port = htons(4460);
    peer_send_raw(the_peer, QUIC_S_APP, f, len);
    the_peer->addr.v4.sin_port = htons(4444);
    run_for(apr_time_from_msec(50));
}

static void test_answers_elsewhere(void **state)
{
    begin();
    connect_v(QUIC_V1);
    run_for(apr_time_from_sec(1));
    net.other_port = htons(4460);
    challenge_elsewhere(1100);
    assert_int_equal(net.to_other, 0);
    peer_gives_id(1);
    challenge_elsewhere(1100);
    assert_int_equal(net.to_other, 1);
    assert_int_equal(net.other_len, QUIC_DATAGRAM_MIN);
    assert_memory_equal(the_peer->response, "\1\2\3\4\5\6\7\10", 8);
    assert_int_equal(site.qc->path.peer.v4.sin_port, htons(4444));
    challenge_elsewhere(9); /* a small one gets no more than three times as much */
    assert_int_equal(net.to_other, 2);
    assert_in_range(net.other_len, 20, 60);
    end();
}

/* Key updates again and again: each costs the server more than its client. */
static void test_key_updates(void **state)
{
    static const uint8_t ping = QUIC_F_PING;
    unsigned n = 0;

    begin();
    connect_v(QUIC_V1);
    run_for(apr_time_from_sec(1));
    for (; n < 200 && site.qc; n++) {
        quic_key next;

        assert_int_equal(quic_key_next(&next, &the_peer->write[2]), 0);
        quic_key_end_shared(&the_peer->write[2]);
        the_peer->write[2] = next;
        the_peer->phase ^= 1;
        peer_send_raw(the_peer, QUIC_S_APP, &ping, 1);
    }
    assert_in_range(n, 20, 100);
    assert_int_equal(the_ep->figures.floods, 1);
    the_peer->is_wild = 2;
    end();
}

/* A full loop makes room for clients of whom it is known that they are there, and for no others. */
static void test_no_room(void **state)
{
    begin();
    the_loop.conns.most = 0;
    the_loop.posted.wakes = 1; /* nobody sleeps */
    peer_begin(the_peer, the_ep, QUIC_V1);
    peer_flush(the_peer, 0, net_from_client);
    assert_null(the_loop.posted.notes);
    run_for(apr_time_from_msec(30));
    assert_int_equal(the_ep->figures.retries, 1);
    assert_ptr_equal(the_loop.posted.notes, &the_loop.shed.note);
    assert_int_equal(the_ep->figures.conns + the_ep->figures.refused, 0);
    the_loop.conns.most = UINT_MAX;
    shake_hands();
    assert_int_equal(the_ep->figures.conns, 1);
    assert_true(the_peer->done);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crypto_without_end), cmocka_unit_test(test_ids_twice),
        cmocka_unit_test(test_answers_elsewhere), cmocka_unit_test(test_key_updates),
        cmocka_unit_test(test_no_room)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
