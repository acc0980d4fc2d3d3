/* SPDX-License-Identifier: Apache-2.0 */
/* Another version than that of the client's first packet is chosen where it speaks it: RFC 9368. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_quic_site.h"

static void versions_meet(uint32_t first, uint32_t other, uint32_t chosen)
{
    begin();
    the_peer->other = other;
    connect_v(first);
    assert_int_equal(site.qc->version, chosen);
    assert_int_equal(the_peer->version, chosen);
    assert_null(site.qc->first_read);
    peer_ask(the_peer, 0, 50000);
    wait_for(0, 50000, apr_time_from_sec(5));
    end();
}

static void test_chosen(void **state)
{
    versions_meet(QUIC_V1, QUIC_V2, QUIC_V2);
    versions_meet(QUIC_V2, QUIC_V1, QUIC_V2);
    versions_meet(QUIC_V1, 0, QUIC_V1);
    versions_meet(QUIC_V1, 0x0a0a0a0a, QUIC_V1);
}

/* Packets of both versions come, in any order, while some are lost. */
static void test_bad_network(void **state)
{
    for (unsigned round = 0; round < 30; round++) {
        begin();
        srandom(round + 1);
        net.loss = 80;
        net.jitter = 30000;
        net.twice = 300;
        the_peer->other = QUIC_V2;
        connect_v(QUIC_V1);
        assert_int_equal(the_peer->version, QUIC_V2);
        peer_ask(the_peer, 0, 5000);
        wait_for(0, 5000, apr_time_from_sec(60));
        end();
    }
}

/* The parameters tell what was chosen. */
static void test_told(void **state)
{
    uint8_t ours[QUIC_PARAMS_MOST], theirs[64], *at = theirs;
    const quic_params from = {.version = QUIC_V1};
    const size_t len = quic_params_write(&from, ours);

    at = quic_put_varint(quic_put_varint(at, 0x11), 12);
    at = quic_put32(quic_put32(quic_put32(at, QUIC_V1), QUIC_V1), QUIC_V2);
    at = quic_put_varint(quic_put_varint(at, 0x0f), 0);
    quic_params_answer(theirs, 3, ours, len); /* cut: nothing is changed */
    assert_int_equal(ours[len - 9], 1);
    quic_params_answer(theirs, (size_t)(at - theirs), ours, len);
    assert_memory_equal(ours + len - 12, "\x6b\x33\x43\xcf\x6b\x33\x43\xcf\0\0\0\1", 12);
}

/* A client that says it began with another version than it did: somebody changed its packets. */
static void test_lied(void **state)
{
    begin();
    the_peer->other = QUIC_V2;
    the_peer->lies = 1;
    peer_begin(the_peer, the_ep, QUIC_V1);
    peer_flush(the_peer, 0, net_from_client);
    run_for(apr_time_from_sec(1));
    assert_int_equal(the_peer->closed, 1);
    assert_int_equal(the_peer->close_code, QUIC_TRANSPORT_PARAMETER_ERROR);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chosen),
                                       cmocka_unit_test(test_bad_network),
                                       cmocka_unit_test(test_told), cmocka_unit_test(test_lied)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
