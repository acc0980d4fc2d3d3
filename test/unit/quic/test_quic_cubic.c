/* SPDX-License-Identifier: Apache-2.0 */
/* The congestion window alone: what makes it grow, and what does not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "quic_private.h"

static brg_loop the_loop;
static quic_endpoint the_ep = {.loop = &the_loop};
static quic_conn qc;

static void begin(void)
{
    memset(&qc, 0, sizeof qc);
    the_loop.monotonic = apr_time_from_sec(100);
    qc.ep = &the_ep;
    qc.mtu = QUIC_DATAGRAM_MIN;
    qc.rtt = 50000;
    quic_cc_begin(&qc);
}

/* A datagram of so many bytes arrived, which was sent a round trip before. */
static void acked(uint16_t size)
{
    const quic_sent s = {.time = the_loop.monotonic - qc.rtt, .size = size};

    qc.cc.in_flight -= size;
    quic_cc_acked(&qc, &s, 0);
}

/* Longer datagrams have a longer window. */
static void test_mtu(void **state)
{
    begin();
    assert_int_equal(qc.cc.window, 10 * 1200);
    qc.mtu = 1472;
    quic_cc_mtu(&qc, 1200);
    assert_int_equal(qc.cc.window, 10 * 1472);
    assert_true(qc.cc.threshold == UINT64_MAX);
    quic_cc_lost(&qc, the_loop.monotonic, 1);
    qc.mtu = 1200;
    quic_cc_mtu(&qc, 1472);
    assert_in_range(qc.cc.threshold, 8399, 8400);
    assert_int_equal(qc.cc.threshold, qc.cc.window);
}

/* The first flight grows as by datagrams of the length that its probe proves, whichever of their ACKs comes first. */
static void test_mtu_of_first_flight(void **state)
{
    for (int probe = 0; probe < 3; probe++) {
        begin();
        quic_cc_sent(&qc, 1472 + 2 * 1200);
        quic_cc_used(&qc, 1, 0);
        the_loop.monotonic += qc.rtt;
        for (int i = 0; i < 3; i++) {
            const quic_sent s = {.time = the_loop.monotonic - qc.rtt,
                                 .size = i == probe ? 1472 : 1200,
                                 .probe = i == probe};

            quic_cc_acked(&qc, &s, 0);
            if (!s.probe)
                continue;
            qc.mtu = 1472;
            quic_cc_mtu(&qc, 1200);
        }
        assert_int_equal(qc.cc.window, 13 * 1472);
    }
}

/* In slow start what a round sends beyond a burst leaves in half of the round trip at most, so that the next one begins by the ACKs. */
static void test_pace(void **state)
{
    int64_t sent;

    begin();
    qc.cc.window = 100 * 1200;
    sent = quic_pace_budget(&qc);
    assert_int_equal(sent, 10 * 1200);
    quic_cc_sent(&qc, (size_t)sent);
    for (int i = 0; i < 25; i++) {
        the_loop.monotonic += qc.rtt / 50;
        sent += quic_pace_budget(&qc);
        quic_cc_sent(&qc, (size_t)qc.cc.budget);
    }
    assert_true(sent >= 2 * 100 * 1200);
    quic_cc_lost(&qc, the_loop.monotonic, 1); /* behind it: a window and a quarter of it */
    the_loop.monotonic += qc.rtt / 100;
    assert_in_range(quic_pace_budget(&qc), 1049, 1050);
}

/* What was used by half grows in slow start; less, and behind it, does not. */
static void test_used(void **state)
{
    begin();
    quic_cc_sent(&qc, 7200);
    quic_cc_used(&qc, 0, 0);
    acked(1200);
    assert_int_equal(qc.cc.window, 13200);
    quic_cc_used(&qc, 0, 1); /* 6,000 of 13,200 */
    acked(1200);
    assert_int_equal(qc.cc.window, 13200);
    quic_cc_used(&qc, 1, 0);
    acked(1200);
    assert_int_equal(qc.cc.window, 14400);
    quic_cc_lost(&qc, the_loop.monotonic - qc.rtt, 1);
    the_loop.monotonic += 2 * qc.rtt;
    quic_cc_sent(&qc, 6000);
    quic_cc_used(&qc, 0, 0);
    acked(1200);
    assert_int_equal(qc.cc.window, 10080);
}

/* One loss of a round trip, however many packets. */
static void test_lost(void **state)
{
    begin();
    assert_int_equal(quic_cc_lost(&qc, the_loop.monotonic - 100, 1), 1);
    assert_int_equal(qc.cc.window, 8400);
    assert_int_equal(quic_cc_lost(&qc, the_loop.monotonic - 50, 1), 0);
    assert_int_equal(qc.cc.window, 8400);
    the_loop.monotonic += qc.rtt;
    assert_int_equal(quic_cc_lost(&qc, the_loop.monotonic, 1), 1);
    assert_int_equal(qc.cc.window, 5880);
}

/* A window that was never larger grows by a datagram a round trip, as Reno's does: RFC 9438, 4.3. */
static void test_beyond_the_largest(void **state)
{
    begin();
    qc.cc.threshold = qc.cc.window;
    quic_cc_sent(&qc, 12000);
    quic_cc_used(&qc, 1, 0);
    acked(1200);
    assert_in_range(qc.cc.window, 12119, 12120);
}

/* The first sample begins the average and its variation; further ones move them by an eighth and a fourth: RFC 9002, 5.3. */
static void test_round_trip(void **state)
{
    begin();
    qc.rtt = 0;
    quic_rtt_sample(&qc, 40000, 0);
    assert_int_equal(qc.rtt, 40000);
    assert_int_equal(qc.rtt_var, 20000);
    quic_rtt_sample(&qc, 48000, 0);
    assert_int_equal(qc.rtt, 41000);
    assert_int_equal(qc.rtt_var, 17000);
}

/* A window that is nearly used waits for as many ACKs as are worth a call: a third of it at most, and what a millisecond sends. */
static void test_batch(void **state)
{
    begin();
    the_loop.monotonic += 2 * qc.rtt;
    assert_int_equal(quic_cc_batch(&qc), qc.mtu); /* a third of the window is few datagrams */
    qc.cc.window = 30 * 1200;
    qc.rtt = 1000;
    assert_int_equal(quic_cc_batch(&qc), 10 * 1200);
    qc.cc.window = 1000 * 1200;
    assert_int_equal(quic_cc_batch(&qc), 44 * 1200); /* of one message to the kernel */
    qc.rtt = 500000; /* four windows by round trip: 9.6 a millisecond */
    assert_in_range(quic_cc_batch(&qc), 9599, 9600);
    qc.rtt = 10000000;
    assert_int_equal(quic_cc_batch(&qc), qc.mtu);
    qc.rtt = 1000;
    quic_cc_lost(&qc, the_loop.monotonic, 1); /* what was lost goes at once */
    assert_int_equal(quic_cc_batch(&qc), qc.mtu);
    the_loop.monotonic += qc.rtt;
    assert_int_equal(quic_cc_batch(&qc), 44 * 1200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mtu),        cmocka_unit_test(test_mtu_of_first_flight),
        cmocka_unit_test(test_pace),       cmocka_unit_test(test_used),
        cmocka_unit_test(test_lost),       cmocka_unit_test(test_beyond_the_largest),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_batch)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
