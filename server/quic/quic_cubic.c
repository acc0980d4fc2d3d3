/* SPDX-License-Identifier: Apache-2.0 */
/* Congestion: CUBIC (RFC 9438) with HyStart++ (RFC 9406), and pacing (RFC 9002, 7.7). Windows are in bytes, times in
 * microseconds. */
#include "quic_private.h"

#define CC_FIRST 10 /* datagrams of the first window: RFC 9002, 7.2 */
#define CC_LEAST 2
#define CC_BETA 0.7
#define CC_C 0.4
#define CC_WINDOW_MOST (64u << 20)
#define CC_BURST 10          /* datagrams that leave at once, at least */
#define CC_PACE_SLOW_START 4 /* windows by round trip */
/* microseconds of the rate that may leave at once: the precision of a loop's deadlines */
#define CC_TICK 2000
/* of a window: what ACKs make room for before it is used, and no more datagrams than these */
#define CC_BATCH_SHARE 3
#define CC_BATCH 44

/* HyStart++: RFC 9406, 4.3 */
#define CC_SAMPLES 8
#define CC_RTT_LEAST 4000
#define CC_RTT_MOST 16000
#define CC_CSS_DIVISOR 4
#define CC_CSS_ROUNDS 5

void quic_cc_begin(quic_conn *qc)
{
    quic_cc *cc = &qc->cc;

    *cc = (quic_cc){.window = (uint64_t)CC_FIRST * qc->mtu, .threshold = UINT64_MAX};
    cc->round_min = cc->last_round_min = QUIC_NEVER;
    cc->budget = (int64_t)cc->window;
    cc->budget_at = quic_now(qc);
}

void quic_cc_up(quic_conn *qc)
{
    quic_cc *cc = &qc->cc;

    if (cc->threshold == UINT64_MAX)
        return;
    cc->threshold = UINT64_MAX;
    if (cc->window < (uint64_t)CC_FIRST * qc->mtu)
        cc->window = (uint64_t)CC_FIRST * qc->mtu;
    cc->before.lost = 0;
}

uint64_t quic_cc_room(const quic_conn *qc)
{
    return qc->cc.window > qc->cc.in_flight ? qc->cc.window - qc->cc.in_flight : 0;
}

/* ---- slow start ---- */

static int cc_is_slow_start(const quic_cc *cc)
{
    return cc->window < cc->threshold;
}

/* A round ends when the data sent at its begin is acknowledged. */
static void cc_round_end(quic_conn *qc, uint64_t pn)
{
    quic_cc *cc = &qc->cc;

    if (pn < cc->round_end)
        return;
    cc->round_end = qc->space[QUIC_S_APP] ? qc->space[QUIC_S_APP]->next_pn : 0;
    cc->last_round_min = cc->round_min;
    cc->round_min = QUIC_NEVER;
    cc->round_samples = 0;
    if (cc->css && ++cc->css_rounds >= CC_CSS_ROUNDS)
        cc->threshold = cc->window;
}

void quic_cc_round(quic_conn *qc, apr_interval_time_t sample)
{
    quic_cc *cc = &qc->cc;
    apr_interval_time_t most;

    if (sample < cc->round_min)
        cc->round_min = sample;
    cc->round_samples++;
    if (!cc_is_slow_start(cc) || cc->round_samples < CC_SAMPLES || cc->last_round_min == QUIC_NEVER)
        return;
    if (cc->css) {
        if (cc->round_min < cc->css_baseline) { /* it was no sign of a queue */
            cc->css = 0;
            cc->css_baseline = QUIC_NEVER;
        }
        return;
    }
    most = cc->last_round_min / 8;
    most = most < CC_RTT_LEAST ? CC_RTT_LEAST : most > CC_RTT_MOST ? CC_RTT_MOST : most;
    if (cc->round_min >= cc->last_round_min + most) {
        cc->css = 1;
        cc->css_rounds = 0;
        cc->css_baseline = cc->round_min;
    }
}

/* ---- congestion avoidance ---- */

/* The cube root of a number that is not negative, by Newton. */
static double cc_cube_root(double x)
{
    double r = x > 1 ? x / 3 : x;

    if (x <= 0)
        return 0;
    for (int i = 0; i < 60; i++) {
        const double next = (2 * r + x / (r * r)) / 3;

        if (next - r < 1e-6 && r - next < 1e-6)
            return next;
        r = next;
    }
    return r;
}

static void cc_epoch(quic_conn *qc)
{
    quic_cc *cc = &qc->cc;
    const double window = (double)cc->window / qc->mtu;

    cc->epoch = quic_now(qc);
    if (cc->w_max < window)
        cc->w_max = window;
    cc->k = cc_cube_root((cc->w_max - window) / CC_C);
    cc->w_est = window;
}

static void cc_avoid(quic_conn *qc, size_t acked)
{
    quic_cc *cc = &qc->cc;
    const double mtu = qc->mtu, window = (double)cc->window / mtu, segments = (double)acked / mtu;
    double t, target, alpha;

    if (!cc->epoch)
        cc_epoch(qc);
    t = (double)(quic_now(qc) - cc->epoch + qc->rtt) / 1e6;
    target = CC_C * (t - cc->k) * (t - cc->k) * (t - cc->k) + cc->w_max;
    alpha = cc->w_est < cc->w_max ? 3 * (1 - CC_BETA) / (1 + CC_BETA) : 1;
    cc->w_est += alpha * segments / window;
    if (target < window)
        target = window;
    else if (target > 1.5 * window)
        target = 1.5 * window;
    if (cc->w_est > target) /* where Reno would be further */
        cc->window = (uint64_t)(cc->w_est * mtu);
    else
        cc->window += (uint64_t)((target - window) / window * (double)acked);
}

/* The window is counted in datagrams: one that left before longer ones were known to come through counts as one of these, and their
 * probe as one. So the order of the ACKs does not matter. */
static size_t cc_size(const quic_conn *qc, const quic_sent *s)
{
    const quic_cc *cc = &qc->cc;

    if (s->probe)
        return qc->mtu;
    return s->time < cc->mtu_at ? (size_t)s->size * qc->mtu / cc->mtu_before : s->size;
}

void quic_cc_acked(quic_conn *qc, const quic_sent *s, uint64_t pn)
{
    quic_cc *cc = &qc->cc;

    cc_round_end(qc, pn);
    /* Nothing is learnt from a window that was not used: RFC 9002, 7.8. */
    if (s->time <= cc->recovery || !cc->limited)
        return;
    if (cc_is_slow_start(cc))
        cc->window += cc_size(qc, s) / (cc->css ? CC_CSS_DIVISOR : 1);
    else
        cc_avoid(qc, cc_size(qc, s));
    if (cc->window > CC_WINDOW_MOST)
        cc->window = CC_WINDOW_MOST;
}

/* A window is counted in datagrams: knowledge of its network, the first one above all, holds for
 * longer ones. RFC 9002, 7.2 */
void quic_cc_mtu(quic_conn *qc, uint16_t before)
{
    quic_cc *cc = &qc->cc;

    BRG_ASSERT(before > 0 && cc->window <= CC_WINDOW_MOST);
    cc->mtu_before = before;
    cc->mtu_at = quic_now(qc);
    cc->window = cc->window * qc->mtu / before;
    if (cc->threshold != UINT64_MAX)
        cc->threshold = cc->threshold * qc->mtu / before;
}

/* A slow start whose window was used by more than half learns as much as from a full one: its next
 * sending is at most twice the acknowledged amount. Pacing alone proves nothing there: a burst that
 * ends leaves the window empty. */
void quic_cc_used(quic_conn *qc, int by_window, int by_pace)
{
    quic_cc *cc = &qc->cc;

    cc->limited = by_window || (cc_is_slow_start(cc) ? cc->in_flight > cc->window / 2 : by_pace);
}

int quic_cc_lost(quic_conn *qc, apr_time_t sent, uint32_t n)
{
    quic_cc *cc = &qc->cc;
    const double window = (double)cc->window / qc->mtu;

    if (sent <= cc->recovery && cc->recovery) {
        if (cc->before.lost)
            cc->before.lost += n;
        return 0;
    }
    qc->ep->figures.congestion++;
    cc->before.window = cc->window;
    cc->before.threshold = cc->threshold;
    cc->before.w_max = cc->w_max;
    cc->before.lost = n;
    cc->recovery = quic_now(qc);
    cc->w_max = window < cc->w_max ? window * (1 + CC_BETA) / 2 : window; /* fast convergence */
    cc->window = (uint64_t)(CC_BETA * (double)cc->window);
    if (cc->window < (uint64_t)CC_LEAST * qc->mtu)
        cc->window = (uint64_t)CC_LEAST * qc->mtu;
    cc->threshold = cc->window;
    cc->css = 0;
    cc_epoch(qc);
    return 1;
}

/* All of a loss were only late: it is as if it had not been. RFC 9438, 4.9 */
void quic_cc_late(quic_conn *qc)
{
    quic_cc *cc = &qc->cc;

    if (!cc->before.lost || --cc->before.lost)
        return;
    if (cc->window < cc->before.window)
        cc->window = cc->before.window;
    cc->threshold = cc->before.threshold;
    cc->w_max = cc->before.w_max;
    cc->epoch = 0;
}

void quic_cc_collapse(quic_conn *qc)
{
    qc->cc.window = (uint64_t)CC_LEAST * qc->mtu;
    qc->cc.epoch = 0;
    qc->cc.recovery = 0;
    qc->rtt_min = qc->rtt_last;
}

/* ---- pacing ---- */

/* Bytes by the microsecond: somewhat more than the window by round trip, so that it can be used. In slow start, where it doubles, what
 * a round sends has left in half of the round trip, or each round would begin later than by the ACKs. */
static double pace_rate(const quic_conn *qc)
{
    const double rtt = qc->rtt ? (double)qc->rtt : 100000;

    return (double)qc->cc.window / rtt * (cc_is_slow_start(&qc->cc) ? CC_PACE_SLOW_START : 1.25);
}

int64_t quic_pace_budget(quic_conn *qc)
{
    quic_cc *cc = &qc->cc;
    const apr_time_t now = quic_now(qc);
    const double rate = pace_rate(qc);
    int64_t most = (int64_t)(rate * CC_TICK);

    if (most < (int64_t)CC_BURST * qc->mtu)
        most = (int64_t)CC_BURST * qc->mtu;
    cc->budget += (int64_t)(rate * (double)(now - cc->budget_at));
    cc->budget_at = now;
    if (cc->budget > most)
        cc->budget = most;
    return cc->budget;
}

/* The kernel takes thirty datagrams for little more than one. As TCP defers segments that could be longer, a window that is nearly
 * used waits for further ACKs, of which so many packets bring some at once; not for longer than a millisecond's sending takes, nor
 * while a loss is answered. */
uint64_t quic_cc_batch(const quic_conn *qc)
{
    const quic_cc *cc = &qc->cc;
    const double tick = pace_rate(qc) * 1000;
    uint64_t most = cc->window / CC_BATCH_SHARE;

    if (most < 4u * qc->mtu || quic_now(qc) - cc->recovery < qc->rtt)
        return qc->mtu;
    if (most > (uint64_t)CC_BATCH * qc->mtu)
        most = (uint64_t)CC_BATCH * qc->mtu;
    if ((double)most > tick)
        most = tick > qc->mtu ? (uint64_t)tick : qc->mtu;
    return most;
}

apr_time_t quic_pace_when(const quic_conn *qc)
{
    const double rate = pace_rate(qc);
    /* Not for each datagram: a few together, or a millisecond's. */
    double wanted = rate * 1000;

    if (wanted < 2.0 * qc->mtu)
        wanted = 2.0 * qc->mtu;
    if ((double)qc->cc.budget >= wanted)
        return quic_now(qc);
    return quic_now(qc) + (apr_time_t)((wanted - (double)qc->cc.budget) / rate) + 1;
}

void quic_cc_sent(quic_conn *qc, size_t bytes)
{
    qc->cc.in_flight += bytes;
    qc->cc.budget -= (int64_t)bytes;
}
