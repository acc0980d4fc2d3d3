/* SPDX-License-Identifier: Apache-2.0 */
/* ACK frames, both ways: RFC 9000, 13.2 and 19.3. */
#include "quic_private.h"

/* ---- received packets ---- */

int quic_ack_is_known(const quic_space *sp, uint64_t pn)
{
    if (!sp->got.n)
        return 0;
    /* Packets below the kept ranges may have come, and are not taken a second time. */
    return (sp->got.n >= QUIC_ACK_RANGES && pn < sp->got.r[0].from) ||
           quic_ranges_has(&sp->got, pn, pn + 1);
}

void quic_ack_note(quic_conn *qc, quic_space_id id, uint64_t pn, int eliciting, int ecn)
{
    quic_space *sp = qc->space[id];
    const int in_order = !sp->got.n || pn == sp->largest_got + 1;

    BRG_ASSERT(sp && !quic_ack_is_known(sp, pn));
    if (quic_ranges_add(&sp->got, pn, pn + 1))
        return; /* no memory: it comes again */
    if (sp->got.n > QUIC_ACK_RANGES)
        quic_ranges_drop(&sp->got, 1);
    if (sp->got.r[sp->got.n - 1].to == pn + 1) {
        sp->largest_got = pn;
        sp->largest_at = quic_now(qc);
    }
    if (ecn) {
        sp->ecn[ecn == 2 ? 0 : ecn == 1 ? 1 : 2]++;
        sp->ack_ecn = 1;
    }
    if (!eliciting)
        return;
    sp->ack_owed++;
    /* RFC 9000, 13.2.1 and 13.2.2; those of a handshake are never delayed. */
    if (id != QUIC_S_APP || sp->ack_owed >= 2 || !in_order || ecn == 3)
        sp->ack_now = 1;
    else if (sp->ack_due == QUIC_NEVER)
        sp->ack_due = quic_now(qc) + QUIC_ACK_DELAY;
}

int quic_ack_is_due(const quic_conn *qc, const quic_space *sp)
{
    return sp->ack_now || (sp->ack_owed && sp->ack_due <= quic_now(qc));
}

static uint8_t *ack_write_ranges(const quic_space *sp, uint8_t *p, const uint8_t *end)
{
    uint8_t *count = p++; /* at most QUIC_ACK_RANGES, which fits one byte */
    uint32_t n = 0, i = sp->got.n - 1;

    BRG_ASSERT(sp->got.n > 0);
    p = quic_put_varint(p, sp->got.r[i].to - 1 - sp->got.r[i].from);
    while (i-- && p + 16 <= end) {
        p = quic_put_varint(p, sp->got.r[i + 1].from - sp->got.r[i].to - 1);
        p = quic_put_varint(p, sp->got.r[i].to - 1 - sp->got.r[i].from);
        n++;
    }
    *count = (uint8_t)n;
    return p;
}

uint8_t *quic_ack_write(quic_conn *qc, quic_space *sp, uint8_t *p, uint8_t *end)
{
    uint64_t delay;

    BRG_ASSERT(sp->got.n <= QUIC_ACK_RANGES && p <= end);
    if (!sp->got.n || p + 64 > end)
        return p;
    end -= 24; /* for the counts of ECN */
    delay = (uint64_t)(quic_now(qc) - sp->largest_at) >> QUIC_ACK_EXPONENT;
    *p++ = sp->ack_ecn ? QUIC_F_ACK_ECN : QUIC_F_ACK;
    p = quic_put_varint(quic_put_varint(p, sp->got.r[sp->got.n - 1].to - 1), delay);
    p = ack_write_ranges(sp, p, end);
    for (int i = 0; i < 3 && sp->ack_ecn; i++)
        p = quic_put_varint(p, sp->ecn[i]);
    sp->ack_owed = 0;
    sp->ack_now = 0;
    sp->ack_due = QUIC_NEVER;
    return p;
}

/* ---- acknowledgements of the peer ---- */

typedef struct ack_gain {
    uint64_t largest; /* that was acknowledged now */
    apr_time_t sent;  /* when that was sent */
    uint64_t ecn;     /* packets with ECT(0) */
    int any, eliciting;
} ack_gain;

/* The packets from..to, both included, arrived. @return 0; -1: one of them was not sent */
static int ack_range(quic_conn *qc, quic_space *sp, uint64_t from, uint64_t to, ack_gain *gain)
{
    BRG_ASSERT(to < sp->next_pn);
    if (from < sp->first_pn)
        from = sp->first_pn;
    for (uint64_t pn = from; pn <= to; pn++) {
        quic_sent *s = quic_sent_at(sp, pn);

        if (s->state == QUIC_P_SKIPPED)
            return -1;
        if (s->state != QUIC_P_OUT && s->state != QUIC_P_LOST)
            continue;
        if (!gain->any || pn > gain->largest) {
            gain->largest = pn;
            gain->sent = s->time;
        }
        gain->any = 1;
        gain->eliciting = 1;
        gain->ecn += s->ecn;
        if (s->state == QUIC_P_OUT) {
            qc->cc.in_flight -= s->size;
            sp->eliciting--;
            quic_cc_acked(qc, s, pn);
        } else if (!s->probe) {
            quic_loss_late(qc, s, pn, (uint64_t)sp->largest_acked);
        }
        s->state = QUIC_P_ACKED;
        quic_sent_acked(qc, sp, s);
    }
    return 0;
}

/* RFC 9002, A.9; RFC 9000, 13.4.2.1: marks that do not add up end the use of ECN. */
static void ack_ecn(quic_conn *qc, quic_space *sp, const ack_gain *gain, const uint64_t *counts)
{
    const uint64_t all = counts ? counts[0] + counts[2] : 0;

    if (qc->ecn_state == 2 || !gain->ecn)
        return;
    if (!counts || all < sp->peer_ecn + gain->ecn || counts[2] < sp->peer_ecn_ce) {
        qc->ecn_state = 2;
        return;
    }
    qc->ecn_state = 1;
    sp->peer_ecn = all;
    if (counts[2] > sp->peer_ecn_ce) {
        sp->peer_ecn_ce = counts[2];
        quic_cc_lost(qc, gain->sent, 0);
    }
}

static void ack_taken(quic_conn *qc, quic_space_id id, const ack_gain *gain, uint64_t largest,
                      uint64_t delay, const uint64_t *ecn)
{
    quic_space *sp = qc->space[id];
    apr_interval_time_t most = apr_time_from_msec((apr_time_t)qc->peer.ack_delay), d;

    BRG_ASSERT(largest < sp->next_pn);
    if ((int64_t)largest > sp->largest_acked)
        sp->largest_acked = (int64_t)largest;
    if (!gain->any)
        return;
    d = (apr_interval_time_t)(delay << (qc->peer.ack_exponent < 20 ? qc->peer.ack_exponent : 20));
    if (id != QUIC_S_APP)
        d = 0;
    else if (d > most || d < 0)
        d = most;
    if (gain->largest == largest && gain->sent)
        quic_rtt_sample(qc, quic_now(qc) - gain->sent, d);
    ack_ecn(qc, sp, gain, ecn);
    qc->pto_n = 0;
    quic_loss_detect(qc, id);
    quic_sent_trim(sp);
    if (qc->qlog)
        quic_qlog_metrics(qc);
}

int quic_ack_read(quic_conn *qc, quic_space_id id, quic_reader *r, int with_ecn)
{
    quic_space *sp = qc->space[id];
    const uint64_t largest = quic_get_varint(r), delay = quic_get_varint(r);
    uint64_t n = quic_get_varint(r), len = quic_get_varint(r), at = largest, ecn[3] = {0};
    ack_gain gain = {0};

    if (r->bad || len > at)
        return -QUIC_FRAME_ENCODING_ERROR;
    if (!sp || largest >= sp->next_pn)
        return -QUIC_PROTOCOL_VIOLATION;
    for (;;) {
        if (ack_range(qc, sp, at - len, at, &gain))
            return -QUIC_PROTOCOL_VIOLATION;
        if (!n--)
            break;
        at -= len;
        len = quic_get_varint(r);
        if (r->bad || len + 2 > at)
            return -QUIC_FRAME_ENCODING_ERROR;
        at -= len + 2;
        len = quic_get_varint(r);
        if (r->bad || len > at)
            return -QUIC_FRAME_ENCODING_ERROR;
    }
    for (int i = 0; i < 3 && with_ecn; i++)
        ecn[i] = quic_get_varint(r);
    if (r->bad)
        return -QUIC_FRAME_ENCODING_ERROR;
    ack_taken(qc, id, &gain, largest, delay, with_ecn ? ecn : NULL);
    return 0; /* also where it says nothing new: some clients put one into each packet */
}
