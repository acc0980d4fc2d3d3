/* SPDX-License-Identifier: Apache-2.0 */
/* Connections with a client over memory, in a time of the test's own: handshakes, streams, and all of it over a network that
 * loses, delays, reorders and duplicates datagrams. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_quic_site.h"

/* ---- tests ---- */

static void handshake_of(uint32_t version, uint16_t suite)
{
    begin();
    play_suite = suite;
    connect_v(version);
    peer_ask(the_peer, 0, 100000);
    wait_for(0, 100000, apr_time_from_sec(5));
    run_for(apr_time_from_sec(2));
    assert_int_equal(site.ended, 1);
    assert_int_equal(the_peer->cids_n, 3);
    assert_true(the_peer->token_len > 0);
    assert_int_equal(site.qc->mtu, 1472);
    assert_true(the_peer->ecn > 0); /* it hears that its datagrams came with their mark */
    play_suite = QUIC_AES_128_GCM;
    end();
}

static void test_handshake(void **state)
{
    handshake_of(QUIC_V1, QUIC_AES_128_GCM);
    handshake_of(QUIC_V1, QUIC_CHACHA20);
    handshake_of(QUIC_V2, QUIC_AES_128_GCM);
}

/* 30 handshakes and transfers in 300 streams over bad networks. */
static void test_bad_network(void **state)
{
    for (unsigned round = 0; round < 30; round++) {
        begin();
        srandom(round + 100);
        net.loss = 20 + round * 5;
        net.jitter = round % 3 ? 20000 : 0;
        net.twice = 30;
        the_peer->params_max_data = 40000;
        the_peer->params_stream = 1 << 20;
        the_peer->credit = 1;
        connect_v(QUIC_V1);
        for (unsigned i = 0; i < 10; i++)
            peer_ask(the_peer, i * 4, 1000 + i * 7000);
        for (unsigned i = 0; i < 10; i++)
            wait_for(i * 4, 1000 + i * 7000, apr_time_from_sec(120));
        run_for(apr_time_from_sec(10));
        assert_int_equal(site.ended, 10);
        assert_int_equal(site.qc->cc.in_flight, 0);
        assert_true(the_peer->cids_n >= 3); /* lost ids are told again */
        end();
    }
}

/* A way of 10 Mbit/s with 50 ms: it is used, and the queue is not overrun all the time. */
static void test_rate(void **state)
{
    apr_time_t began;
    double seconds;

    begin();
    net.delay = 25000;
    net.rate = 1250000;
    net.queue = 60;
    the_peer->params_max_data = the_peer->params_stream = 20 << 20;
    connect_v(QUIC_V1);
    began = the_loop.monotonic;
    peer_ask(the_peer, 0, 10000000);
    wait_for(0, 10000000, apr_time_from_sec(60));
    seconds = (double)(the_loop.monotonic - began) / 1e6;
    assert_true(seconds < 10);
    assert_true(net.lost < 400);
    end();
}

/* Datagrams that overtake each other are not taken for lost ones for ever. */
static void test_order(void **state)
{
    begin();
    net.jitter = 5000;
    the_peer->params_max_data = the_peer->params_stream = 20 << 20;
    connect_v(QUIC_V1);
    peer_ask(the_peer, 0, 5000000);
    wait_for(0, 5000000, apr_time_from_sec(2));
    end();
}

/* The client proves its address. */
static void test_retry(void **state)
{
    begin();
    the_setup.retry_above = 0;
    connect_v(QUIC_V1);
    assert_int_equal(the_peer->retried, 1);
    assert_int_equal(the_ep->figures.retries, 1);
    peer_ask(the_peer, 0, 5000);
    wait_for(0, 5000, apr_time_from_sec(5));
    end();
}

/* To an address that is not proved go three times as many bytes as came. */
static void test_amplification(void **state)
{
    begin();
    play_certificate = 20000;
    net.delay = 1000;
    peer_begin(the_peer, the_ep, QUIC_V1);
    peer_flush(the_peer, 0, net_from_client);
    the_peer->never_acks = 1;
    for (int i = 0; i < PEER_SAID; i++)
        the_peer->said[i].used = 0;
    run_for(apr_time_from_sec(3));
    assert_true(net.to_client <= 3 * net.to_server);
    assert_true(net.to_client > 2 * net.to_server);
    play_certificate = 3000;
    end();
}

/* Half a hello is acknowledged by a packet of its own size: of what may go to the client the certificate needs all. */
static void test_half_a_hello(void **state)
{
    begin();
    peer_begin(the_peer, the_ep, QUIC_V1);
    the_peer->said[1].used = 0;
    peer_flush(the_peer, 0, net_from_client);
    run_for(apr_time_from_msec(100));
    assert_int_equal(net.to_server, 1200);
    assert_in_range(net.to_client, 30, 100);
    end();
}

/* The answer to a hello is lost: it goes again when half of the hello is repeated, well before the server's own timer. */
static void test_hello_again(void **state)
{
    begin();
    net.gone_port = htons(4444);
    peer_begin(the_peer, the_ep, QUIC_V1);
    peer_flush(the_peer, 0, net_from_client);
    step();
    net.gone_port = 0;
    the_loop.monotonic += apr_time_from_msec(100);
    the_peer->said[0].used = 0;
    peer_flush(the_peer, 1, net_from_client);
    run_for(3 * net.delay);
    assert_true(the_peer->crypto_n[QUIC_S_INITIAL] > 0);
    assert_int_equal(the_ep->figures.probes, 0);
    end();
}

/* A larger datagram is tried where there is something to send in it. */
static void test_larger_datagrams(void **state)
{
    begin();
    connect_v(QUIC_V1);
    peer_ask(the_peer, 0, 2000);
    wait_for(0, 2000, apr_time_from_sec(5));
    assert_int_equal(site.qc->mtu, QUIC_DATAGRAM_MIN);
    assert_int_equal(site.qc->mtu_due, 1);
    peer_ask(the_peer, 4, 200000);
    wait_for(4, 200000, apr_time_from_sec(5));
    assert_int_equal(site.qc->mtu, QUIC_DATAGRAM_MOST);
    end();
}

/* Silence ends a connection; the handshake may not take for ever. */
static void test_idle(void **state)
{
    begin();
    connect_v(QUIC_V1);
    run_for(apr_time_from_sec(40));
    assert_int_equal(site.closed, 1);
    assert_int_equal(site.end.is_silent, 1);
    assert_int_equal(the_ep->conns_n, 0);
    end();
    begin();
    peer_begin(the_peer, the_ep, QUIC_V1);
    peer_flush(the_peer, 0, net_from_client);
    run_for(apr_time_from_sec(15));
    assert_int_equal(the_ep->conns_n, 0);
    assert_int_equal(the_ep->handshakes, 0);
    end();
}

/* A connection that is silent gives memory back, and has it again when it is needed: by either side, and at its end. */
static void test_sleep(void **state)
{
    begin();
    connect_v(QUIC_V1);
    for (unsigned i = 0; i < 3; i++) {
        peer_ask(the_peer, i * 4, 20000);
        wait_for(i * 4, 20000, apr_time_from_sec(5));
        if (i)
            assert_int_equal(quic_key_update(site.qc), 0);
        run_for(apr_time_from_sec(1));
        assert_non_null(site.qc->space[QUIC_S_APP]->sent); /* kept for the next packets */
        run_for(apr_time_from_sec(7));
        assert_int_equal(site.qc->asleep, 1);
        assert_null(site.qc->space[QUIC_S_APP]->read.aead);
        assert_null(site.qc->space[QUIC_S_APP]->sent);
    }
    quic_conn_wants(site.qc);
    run_for(apr_time_from_sec(1));
    assert_int_equal(site.qc->asleep, 0);
    run_for(apr_time_from_sec(8));
    end();
}

/* Keys change by either side. */
static void test_key_update(void **state)
{
    begin();
    connect_v(QUIC_V1);
    for (unsigned i = 0; i < 4; i++) {
        peer_ask(the_peer, i * 4, 20000);
        wait_for(i * 4, 20000, apr_time_from_sec(5));
        run_for(apr_time_from_sec(1));
        assert_int_equal(quic_key_update(site.qc), 0);
        assert_int_equal(quic_key_update(site.qc), -1); /* not before the peer has followed */
        peer_ask(the_peer, 16 + i * 4, 20000);
        wait_for(16 + i * 4, 20000, apr_time_from_sec(5));
        run_for(apr_time_from_sec(1));
        /* And the client's. */
        {
            quic_key next;

            quic_key_next(&next, &the_peer->write[2]);
            quic_key_end_shared(&the_peer->write[2]);
            the_peer->write[2] = next;
            quic_key_next(&next, &the_peer->read[2]);
            quic_key_end_shared(&the_peer->read[2]);
            the_peer->read[2] = next;
            the_peer->phase ^= 1;
        }
        peer_ask(the_peer, 32 + i * 4, 20000);
        wait_for(32 + i * 4, 20000, apr_time_from_sec(5));
        run_for(apr_time_from_sec(1));
    }
    assert_int_equal(the_ep->figures.key_updates, 8);
    end();
}

/* A NAT gives the client another port; then it moves to another address. */
static void test_migration(void **state)
{
    begin();
    the_peer->params_max_data = the_peer->params_stream = 20 << 20;
    connect_v(QUIC_V1);
    net.rate = 1250000;
    net.queue = 100;
    peer_ask(the_peer, 0, 2000000);
    run_for(apr_time_from_msec(200));
    the_peer->addr.v4.sin_port = htons(4445);
    wait_for(0, 2000000, apr_time_from_sec(20));
    assert_int_equal(the_peer->challenged > 0, 1);
    peer_ask(the_peer, 4, 2000000);
    run_for(apr_time_from_msec(200));
    the_peer->addr.v4.sin_addr.s_addr = htonl(0x7f000009);
    wait_for(4, 2000000, apr_time_from_sec(20));
    assert_true(the_ep->figures.migrations >= 2);
    end();
}

/* A NAT gives the client another port while the server's flight is under way to the old one, where nobody is any more. */
static void test_rebinding_early(void **state)
{
    begin();
    net.gone_port = htons(4444);
    peer_begin(the_peer, the_ep, QUIC_V1);
    peer_flush(the_peer, 0, net_from_client);
    run_for(apr_time_from_msec(15));
    the_peer->addr.v4.sin_port = htons(4445);
    shake_hands();
    assert_true(the_peer->done);
    peer_ask(the_peer, 0, 5000);
    wait_for(0, 5000, apr_time_from_sec(5));
    assert_int_equal(the_ep->figures.migrations, 1);
    end();
}

/* A client whose version nobody knows, and one whose connection is gone. */
static void test_strangers(void **state)
{
    uint8_t packet[1200] = {0xc0, 1, 2, 3, 4, 8,   1,   2,   3,   4,
                            5,    6, 7, 8, 5, 'm', 'i', 'n', 'e', '!'};

    begin();
    peer_begin(the_peer, the_ep, QUIC_V1);
    net_put(packet, sizeof packet, 1);
    net_put(packet, 1199, 1);
    run_for(apr_time_from_msec(100));
    assert_int_equal(the_peer->versions, 1);
    memset(the_peer->said, 0, sizeof the_peer->said);
    packet[0] = 0x40;
    quic_cid_lead(packet + 1, 3, the_setup.route_key);
    net_put(packet, 100, 1);
    run_for(apr_time_from_msec(100));
    assert_int_equal(the_ep->figures.resets_sent, 1);
    end();
}

/* What a peer must not do ends the connection with the code that belongs to it. */
static void violation_is(const uint8_t *frames, size_t len, uint64_t code)
{
    begin();
    connect_v(QUIC_V1);
    peer_send_raw(the_peer, QUIC_S_APP, frames, len);
    run_for(apr_time_from_msec(200));
    if (!the_peer->closed || the_peer->close_code != code)
        print_error("frame type %#x: closed %d, code %d\n", frames[0], the_peer->closed,
                    (int)the_peer->close_code);
    assert_int_equal(the_peer->closed, 1);
    assert_int_equal(the_peer->close_code, code);
    assert_int_equal(site.closed, 1);
    run_for(apr_time_from_sec(5));
    assert_int_equal(the_ep->conns_n, 0);
    end();
}

#define VIOLATION(code, ...)                          \
    do {                                              \
        static const uint8_t bytes[] = {__VA_ARGS__}; \
        violation_is(bytes, sizeof bytes, code);      \
    } while (0)

static void test_violations(void **state)
{
    VIOLATION(QUIC_PROTOCOL_VIOLATION, QUIC_F_ACK, 0x80, 0, 0xff, 0, 0, 0, 0); /* never sent */
    VIOLATION(QUIC_FRAME_ENCODING_ERROR, QUIC_F_ACK, 1, 0, 0, 5);              /* range below 0 */
    VIOLATION(QUIC_FRAME_ENCODING_ERROR, 0x30);                                /* no such type */
    VIOLATION(QUIC_PROTOCOL_VIOLATION, QUIC_F_HANDSHAKE_DONE);                 /* a server's */
    VIOLATION(QUIC_PROTOCOL_VIOLATION, QUIC_F_NEW_TOKEN, 1, 1);
    VIOLATION(QUIC_STREAM_LIMIT_ERROR, 0x0a, 0x41, 0x90, 1, 1);          /* stream 400 */
    VIOLATION(QUIC_STREAM_STATE_ERROR, 0x0a, 1, 1, 1);                   /* ours, never opened */
    VIOLATION(QUIC_STREAM_STATE_ERROR, QUIC_F_MAX_STREAM_DATA, 2, 1);    /* the client's own */
    VIOLATION(QUIC_FLOW_CONTROL_ERROR, 0x0e, 0, 0x80, 0x10, 0, 0, 1, 1); /* beyond its window */
    VIOLATION(QUIC_FINAL_SIZE_ERROR, 0x0b, 0, 1, 1, 0x0e, 0, 5, 1, 1);   /* behind its end */
    VIOLATION(QUIC_FINAL_SIZE_ERROR, 0x0a, 0, 4, 1, 1, 1, 1, QUIC_F_RESET_STREAM, 0, 0,
              2);                                                       /* shorter than it was */
    VIOLATION(QUIC_PROTOCOL_VIOLATION, QUIC_F_RETIRE_CONNECTION_ID, 9); /* never issued */
    VIOLATION(QUIC_PROTOCOL_VIOLATION, QUIC_F_RETIRE_CONNECTION_ID, 0); /* the packet's own */
    VIOLATION(QUIC_FRAME_ENCODING_ERROR, QUIC_F_MAX_STREAMS_BIDI, 0xff, 0xff, 0xff, 0xff, 0xff,
              0xff, 0xff, 0xff);
    VIOLATION(QUIC_FRAME_ENCODING_ERROR, QUIC_F_NEW_CONNECTION_ID, 1, 2, 4, 1, 2, 3, 4, 0, 0, 0, 0,
              0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    VIOLATION(QUIC_CRYPTO_BUFFER_EXCEEDED, QUIC_F_CRYPTO, 0x80, 0x10, 0, 0, 1, 1);
    VIOLATION(QUIC_FRAME_ENCODING_ERROR, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
              QUIC_F_PATH_CHALLENGE, 1, 2);
}

/* Both ends of a stream, early: RESET_STREAM, STOP_SENDING, and streams that the server resets. */
static void test_resets(void **state)
{
    static const uint8_t ask[] = {0x0a, 0, 2, 0, 1, QUIC_F_STOP_SENDING, 0, 7, QUIC_F_RESET_STREAM,
                                  0,    7, 2};

    begin();
    connect_v(QUIC_V1);
    peer_say(the_peer, QUIC_S_APP, ask, sizeof ask);
    run_for(apr_time_from_sec(1));
    assert_int_equal(site.reset, 1);
    assert_int_equal(site.stopped, 1);
    assert_int_equal(site.ended, 1);
    assert_int_equal(site.qc->streams_n, 0);
    peer_ask(the_peer, 4, 300000);
    peer_flush(the_peer, 0, net_from_client);
    run_for(apr_time_from_msec(25));
    quic_stream_reset(site.all ? site.all->qs : quic_stream_find(site.qc, 4), 9);
    if (site.all)
        site_forget(site.all);
    run_for(apr_time_from_sec(1));
    assert_int_equal(site.ended, 2);
    assert_int_equal(site.qc->unsent, 0);
    end();
}

/* Frames of no use, again and again. */
static void test_floods(void **state)
{
    uint8_t pings[1000], challenge[9] = {QUIC_F_PATH_CHALLENGE};

    memset(pings, QUIC_F_PING, sizeof pings);
    begin();
    connect_v(QUIC_V1);
    for (int i = 0; i < 6; i++)
        peer_send_raw(the_peer, QUIC_S_APP, pings, sizeof pings);
    run_for(apr_time_from_msec(200));
    assert_int_equal(the_peer->closed, 1);
    assert_int_equal(the_ep->figures.floods, 1);
    end();
    begin();
    connect_v(QUIC_V1);
    for (int i = 0; i < 400; i++)
        peer_send_raw(the_peer, QUIC_S_APP, challenge, sizeof challenge);
    run_for(apr_time_from_msec(200));
    assert_int_equal(the_peer->closed, 1);
    end();
}

/* Credit follows what the user consumes. */
static void test_upload(void **state)
{
    uint8_t f[1100];
    uint64_t off = 0;

    begin();
    connect_v(QUIC_V1);
    for (int i = 0; i < 200; i++) {
        uint8_t *at = f;

        *at++ = 0x0e;
        at = quic_put_varint(quic_put_varint(quic_put_varint(at, 0), off), 1000);
        memset(at, 1, 1000);
        off += 1000;
        peer_say(the_peer, QUIC_S_APP, f, (size_t)(at + 1000 - f));
        run_for(apr_time_from_msec(30));
    }
    assert_int_equal(site.taken, 200000);
    assert_int_equal(the_peer->closed, 0);
    end();
    begin(); /* and stands where nothing is consumed */
    site.keeps_credit = 1;
    connect_v(QUIC_V1);
    for (off = 0; off < 66000; off += 1000) {
        uint8_t *at = f;

        *at++ = 0x0e;
        at = quic_put_varint(quic_put_varint(quic_put_varint(at, 0), off), 1000);
        memset(at, 1, 1000);
        peer_say(the_peer, QUIC_S_APP, f, (size_t)(at + 1000 - f));
        run_for(apr_time_from_msec(30));
    }
    assert_int_equal(the_peer->closed, 1);
    assert_int_equal(the_peer->close_code, QUIC_FLOW_CONTROL_ERROR);
    end();
}

/* A client that gives no credit hears once that it is awaited, for the stream and for the connection. */
static void test_blocked(void **state)
{
    uint64_t sent;

    for (int of_stream = 0; of_stream < 2; of_stream++) {
        begin();
        the_peer->params_max_data = of_stream ? 1 << 20 : 50000;
        the_peer->params_stream = of_stream ? 50000 : 1 << 20;
        connect_v(QUIC_V1);
        peer_ask(the_peer, 0, 1 << 20);
        run_for(apr_time_from_sec(2));
        assert_int_equal(the_peer->stream[0].in.next, 50000);
        sent = the_ep->figures.packets_sent;
        run_for(apr_time_from_sec(5));
        assert_true(the_ep->figures.packets_sent - sent < 5);
        assert_true(sent < 150);
        end();
    }
}

/* Datagrams are as long as the way takes them, also where it takes less than it did. */
static void test_mtu(void **state)
{
    begin();
    net.mtu = 1400;
    net.rate = 1250000;
    net.queue = 100;
    the_peer->params_max_data = the_peer->params_stream = 20 << 20;
    connect_v(QUIC_V1);
    peer_ask(the_peer, 0, 6000000);
    run_for(apr_time_from_sec(3));
    assert_int_equal(site.qc->mtu, 1372);
    net.mtu = 1250;
    wait_for(0, 6000000, apr_time_from_sec(20));
    assert_int_equal(site.qc->mtu, 1200);
    end();
}

/* The user closes. */
static void test_close(void **state)
{
    brg_conn *bc;

    begin();
    connect_v(QUIC_V1);
    bc = quic_conn_bc(site.qc);
    quic_conn_close(site.qc, 0x100, 1, "bye");
    site.qc = NULL;
    play_close(NULL, bc);
    run_for(apr_time_from_msec(100));
    assert_int_equal(the_peer->closed, 1);
    assert_int_equal(the_peer->close_code, 0x100);
    assert_int_equal(site.closed, 0);
    run_for(apr_time_from_sec(5));
    assert_int_equal(the_ep->conns_n, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_handshake),
                                       cmocka_unit_test(test_bad_network),
                                       cmocka_unit_test(test_rate),
                                       cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_retry),
                                       cmocka_unit_test(test_amplification),
                                       cmocka_unit_test(test_half_a_hello),
                                       cmocka_unit_test(test_hello_again),
                                       cmocka_unit_test(test_larger_datagrams),
                                       cmocka_unit_test(test_idle),
                                       cmocka_unit_test(test_sleep),
                                       cmocka_unit_test(test_key_update),
                                       cmocka_unit_test(test_migration),
                                       cmocka_unit_test(test_rebinding_early),
                                       cmocka_unit_test(test_strangers),
                                       cmocka_unit_test(test_violations),
                                       cmocka_unit_test(test_resets),
                                       cmocka_unit_test(test_floods),
                                       cmocka_unit_test(test_upload),
                                       cmocka_unit_test(test_blocked),
                                       cmocka_unit_test(test_mtu),
                                       cmocka_unit_test(test_close)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
