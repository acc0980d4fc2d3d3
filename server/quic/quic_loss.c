/* SPDX-License-Identifier: Apache-2.0 */
/* Round-trip time, lost packets and probes: RFC 9002, 5 and 6. */
#include "quic_private.h"

#define LOSS_GRANULARITY 1000 /* microseconds */
#define LOSS_RTT_FIRST 333000 /* before there is a sample */
#define LOSS_PACKETS 3        /* behind an acknowledged one, at first */
#define LOSS_PACKETS_MOST 64  /* where the network changes their order */
#define LOSS_PERSISTENT 3     /* PTO without an ACK: persistent congestion */
/* probes without an answer: large datagrams may not come through any more */
#define LOSS_BLACK_HOLE 3
#define LOSS_PTO_MOST 16 /* doublings */

void quic_rtt_sample(quic_conn *qc, apr_interval_time_t sample, apr_interval_time_t delay)
{
    BRG_ASSERT(delay >= 0);
    apr_interval_time_t off;

    if (sample < 1)
        sample = 1;
    qc->rtt_last = sample;
    if (sample < qc->rtt_min)
        qc->rtt_min = sample;
    qc->ep->figures.rtt_us += (uint64_t)sample;
    qc->ep->figures.rtts++;
    quic_cc_round(qc, sample);
    if (!qc->rtt) {
        qc->rtt = sample;
        qc->rtt_var = sample / 2;
        qc->rtt_first = quic_now(qc);
        return;
    }
    if (sample >= qc->rtt_min + delay)
        sample -= delay;
    off = qc->rtt > sample ? qc->rtt - sample : sample - qc->rtt;
    qc->rtt_var = (3 * qc->rtt_var + off) / 4;
    qc->rtt = (7 * qc->rtt + sample) / 8;
}

apr_interval_time_t quic_pto(const quic_conn *qc, quic_space_id id)
{
    const apr_interval_time_t rtt = qc->rtt ? qc->rtt : LOSS_RTT_FIRST;
    const apr_interval_time_t var = 4 * (qc->rtt ? qc->rtt_var : LOSS_RTT_FIRST / 2);
    apr_interval_time_t pto = rtt + (var > LOSS_GRANULARITY ? var : LOSS_GRANULARITY);

    if (id == QUIC_S_APP)
        pto += apr_time_from_msec((apr_time_t)(qc->params_came ? qc->peer.ack_delay : 25));
    return pto;
}

/* ---- losses ---- */

static int64_t loss_packets(const quic_conn *qc)
{
    return qc->reorder > LOSS_PACKETS ? qc->reorder : LOSS_PACKETS;
}

static apr_interval_time_t loss_wait(const quic_conn *qc)
{
    const apr_interval_time_t rtt = qc->rtt_last > qc->rtt ? qc->rtt_last : qc->rtt;
    const apr_interval_time_t wait = rtt * 9 / 8;

    return (wait < LOSS_GRANULARITY ? LOSS_GRANULARITY : wait) + qc->reorder_wait;
}

void quic_loss_late(quic_conn *qc, const quic_sent *s, uint64_t pn, uint64_t largest)
{
    const uint64_t behind = largest - pn + 1;
    const apr_interval_time_t late = quic_now(qc) - s->time - qc->rtt * 9 / 8;

    BRG_ASSERT(s->state == QUIC_P_LOST && largest >= pn);
    if (late > qc->reorder_wait)
        qc->reorder_wait = late < qc->rtt ? late : qc->rtt;
    if (behind > qc->reorder)
        qc->reorder = behind < LOSS_PACKETS_MOST ? (uint32_t)behind : LOSS_PACKETS_MOST;
    quic_cc_late(qc);
}

typedef struct loss_found {
    apr_time_t first, last; /* when the first and last of them that want an ACK were sent */
    unsigned n;
} loss_found;

static void loss_packet(quic_conn *qc, quic_space_id id, uint64_t pn, loss_found *found)
{
    quic_space *sp = qc->space[id];
    quic_sent *s = quic_sent_at(sp, pn);

    BRG_ASSERT(s->state == QUIC_P_OUT && sp->eliciting > 0 && qc->cc.in_flight >= s->size);
    qc->cc.in_flight -= s->size;
    sp->eliciting--;
    s->state = QUIC_P_LOST;
    if (s->probe) {
        quic_mtu_lost(qc, s->size);
    } else {
        quic_qlog_lost(qc, quic_sent_type(id), pn);
        qc->ep->figures.packets_lost++;
        if (!found->n++)
            found->first = s->time;
        found->last = s->time;
    }
    quic_sent_lost(qc, sp, s);
}

/* All of a time that is longer than several probes take were lost: RFC 9002, 7.6. */
static int loss_is_persistent(const quic_conn *qc, const loss_found *found)
{
    return qc->rtt && found->n > 1 && found->first > qc->rtt_first &&
           found->last - found->first > LOSS_PERSISTENT * quic_pto(qc, QUIC_S_APP);
}

void quic_loss_detect(quic_conn *qc, quic_space_id id)
{
    quic_space *sp = qc->space[id];
    const int64_t packets = loss_packets(qc);
    const apr_interval_time_t wait = loss_wait(qc);
    loss_found found = {0};

    sp->loss_due = QUIC_NEVER;
    for (uint64_t pn = sp->first_pn; (int64_t)pn < sp->largest_acked && qc->state <= QUIC_UP;
         pn++) {
        quic_sent *s = quic_sent_at(sp, pn);

        if (s->state != QUIC_P_OUT)
            continue;
        if (s->time + wait <= quic_now(qc) || (int64_t)pn + packets <= sp->largest_acked)
            loss_packet(qc, id, pn, &found);
        else if (s->time + wait < sp->loss_due)
            sp->loss_due = s->time + wait;
    }
    if (!found.n || qc->state > QUIC_UP)
        return;
    /* Lost data goes again at once, beyond the smaller window, too: RFC 9002, 7.3.2. */
    if (quic_cc_lost(qc, found.last, found.n) && !sp->probes)
        sp->probes = 1;
    if (loss_is_persistent(qc, &found))
        quic_cc_collapse(qc);
    quic_pending(qc);
}

/* ---- probes ---- */

#define LOSS_AGAIN 20000 /* microseconds between two answers to repeated packets */

/* The space whose probe is due first, and when; QUIC_SPACES: none. */
static quic_space_id loss_probe(const quic_conn *qc, apr_time_t *due)
{
    quic_space_id found = QUIC_SPACES;

    *due = QUIC_NEVER;
    for (int i = 0; i < QUIC_SPACES; i++) {
        const quic_space *sp = qc->space[i];
        apr_time_t t;

        if (!sp || !sp->eliciting || (i == QUIC_S_APP && !qc->confirmed))
            continue;
        t = sp->last_eliciting + (quic_pto(qc, (quic_space_id)i)
                                  << (qc->pto_n < LOSS_PTO_MOST ? qc->pto_n : LOSS_PTO_MOST));
        if (t < *due) {
            *due = t;
            found = (quic_space_id)i;
        }
    }
    return found;
}

apr_time_t quic_loss_due(const quic_conn *qc)
{
    apr_time_t due = QUIC_NEVER;

    for (int i = 0; i < QUIC_SPACES; i++)
        if (qc->space[i] && qc->space[i]->loss_due < due)
            due = qc->space[i]->loss_due;
    if (due != QUIC_NEVER)
        return due;
    /* Without permission to send there is no timer: the client's next datagram gives room (RFC
     * 9002, 6.2.2.1). */
    if (!qc->path.validated && quic_path_room(qc) < QUIC_DATAGRAM_MIN)
        return QUIC_NEVER;
    loss_probe(qc, &due);
    return due;
}

/* The first packet that is out is sent again by its content, so that a probe is of use. */
static void loss_probe_content(quic_conn *qc, quic_space *sp)
{
    unsigned n = 0;

    for (uint64_t pn = sp->first_pn; pn < sp->next_pn && n < 2 && qc->state <= QUIC_UP; pn++) {
        quic_sent *s = quic_sent_at(sp, pn);

        if (s->state == QUIC_P_OUT && !s->probe) {
            quic_sent_lost(qc, sp, s);
            n++;
        }
    }
}

void quic_loss_expired(quic_conn *qc)
{
    apr_time_t due;
    quic_space_id id;

    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    for (int i = 0; i < QUIC_SPACES; i++)
        if (qc->space[i] && qc->space[i]->loss_due <= quic_now(qc)) {
            quic_loss_detect(qc, (quic_space_id)i);
            return;
        }
    id = loss_probe(qc, &due);
    if (id == QUIC_SPACES || due > quic_now(qc))
        return;
    if (++qc->pto_n >= LOSS_BLACK_HOLE)
        quic_mtu_fall(qc);
    qc->ep->figures.probes++;
    qc->space[id]->probes = id == QUIC_S_APP ? 2 : 1;
    loss_probe_content(qc, qc->space[id]);
    if (id == QUIC_S_INITIAL && qc->space[QUIC_S_HANDSHAKE] &&
        qc->space[QUIC_S_HANDSHAKE]->eliciting) {
        qc->space[QUIC_S_HANDSHAKE]->probes = 1;
        loss_probe_content(qc, qc->space[QUIC_S_HANDSHAKE]);
    }
    quic_pending(qc);
}

void quic_loss_again(quic_conn *qc)
{
    if (qc->confirmed || quic_now(qc) < qc->again_at)
        return;
    qc->again_at = quic_now(qc) + LOSS_AGAIN;
    for (int i = QUIC_S_INITIAL; i <= QUIC_S_HANDSHAKE; i++)
        if (qc->space[i] && qc->space[i]->eliciting && !(qc->retired & 1 << i)) {
            qc->space[i]->probes = 1;
            loss_probe_content(qc, qc->space[i]);
        }
}
