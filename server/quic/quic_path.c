/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of a client: RFC 9000, 8 and 9; and how long datagrams may be on the way to it: RFC 8899. */
#include "quic_private.h"
#include <stdlib.h>

#define PATH_FACTOR 3     /* of the received bytes, to an address that is not proved */
#define PATH_CHALLENGES 4 /* that are sent at most for one */
#define MTU_TRIES 3
#define MTU_STEPS 3

uint64_t quic_path_room(const quic_conn *qc)
{
    const uint64_t most = qc->path.in * PATH_FACTOR;

    return most > qc->path.out ? most - qc->path.out : 0;
}

/* ---- validation ---- */

static void path_challenge(quic_conn *qc, quic_path *path)
{
    const apr_interval_time_t pto = quic_pto(qc, QUIC_S_APP);

    BRG_ASSERT(path->challenges < PATH_CHALLENGES);
    quic_random(qc->ep, path->challenge, sizeof path->challenge);
    path->challenged = path->challenge_due = 1;
    path->challenges++;
    path->give_up = quic_now(qc) + (pto < 50000 ? 150000 : 3 * pto);
    quic_pending(qc);
}

static void path_forget_old(quic_conn *qc)
{
    free(qc->old);
    qc->old = NULL;
}

static void path_back(quic_conn *qc)
{
    qc->path = *qc->old;
    path_forget_old(qc);
}

void quic_path_response(quic_conn *qc, const uint8_t data[8])
{
    quic_path *path = &qc->path;

    BRG_ASSERT_TAG(qc, QUIC_CONN_TAG);
    if (!path->challenged || memcmp(path->challenge, data, sizeof path->challenge))
        return;
    path->challenged = path->challenge_due = 0;
    path->validated = 1;
    path_forget_old(qc);
    if (qc->space
            [QUIC_S_APP]) /* packets under way to the old address are found lost by this one's ACK
                           */
        qc->space[QUIC_S_APP]->probes = 1;
    quic_mtu_begin(qc);
    quic_pending(qc);
}

apr_time_t quic_path_due(const quic_conn *qc)
{
    return qc->path.challenged ? qc->path.give_up : QUIC_NEVER;
}

void quic_path_expired(quic_conn *qc)
{
    quic_path *path = &qc->path;

    if (!path->challenged || path->give_up > quic_now(qc))
        return;
    if (path->challenges < PATH_CHALLENGES) {
        path_challenge(qc, path);
        return;
    }
    path->challenged = path->challenge_due = 0;
    if (qc->old) { /* back to the address that was proved: RFC 9000, 9.3.2 */
        path_back(qc);
        quic_pending(qc);
    }
}

/* ---- migration ---- */

static void path_begin(quic_conn *qc, const quic_came *came)
{
    const int only_port = quic_addr_same_host(&qc->path.peer, came->peer);

    if (qc->path.validated && !qc->old && (qc->old = malloc(sizeof *qc->old)) != NULL)
        *qc->old = qc->path; /* with no memory there is no way back */
    memset(&qc->path, 0, sizeof qc->path);
    qc->path.peer = *came->peer;
    qc->path.local = *came->local;
    qc->path.in = QUIC_DATAGRAM_MIN;
    if (only_port)
        return; /* a NAT's: the way is the same */
    /* Nothing is known of the new way: RFC 9000, 9.4. */
    quic_cc_begin(qc);
    for (int i = 0; i < QUIC_SPACES; i++)
        for (uint64_t pn = qc->space[i] ? qc->space[i]->first_pn : 1;
             qc->space[i] && pn < qc->space[i]->next_pn; pn++)
            if (quic_sent_at(qc->space[i], pn)->state == QUIC_P_OUT)
                qc->cc.in_flight += quic_sent_at(qc->space[i], pn)->size;
    qc->rtt = 0;
    qc->mtu = QUIC_DATAGRAM_MIN;
    qc->mtu_probe = 0;
    qc->mtu_due = 0;
    qc->ecn_state = 0;
}

/* Clients keep their address until the handshake is confirmed (RFC 9000, 9), but not each NAT does. Nothing is proved of the new
 * one. */
static void path_of_handshake(quic_conn *qc, const quic_came *came)
{
    BRG_ASSERT(!qc->confirmed && !qc->old && !qc->path.challenged);
    qc->path = (quic_path){.peer = *came->peer, .local = *came->local, .in = came->size};
    quic_pending(qc);
}

void quic_path_moved(quic_conn *qc, const quic_came *came)
{
    BRG_ASSERT(!quic_addr_equal(&qc->path.peer, came->peer));
    if (quic_conn_flood(qc, 64))
        return;
    qc->ep->figures.migrations++;
    if (!qc->confirmed) {
        path_of_handshake(qc, came);
        return;
    }
    if (qc->old && quic_addr_equal(&qc->old->peer, came->peer)) { /* it came back */
        path_back(qc);
        return;
    }
    path_begin(qc, came);
    quic_cids_switch(qc);
    quic_qlog_path(qc, "quic:path_assigned");
    path_challenge(qc, &qc->path);
}

/* ---- the size of datagrams ---- */

static const uint16_t mtu_steps[2][MTU_STEPS] = {{1472, 1444, 1372}, {1452, 1424, 1352}};

static const uint16_t *mtu_of(const quic_conn *qc)
{
    return mtu_steps[qc->path.peer.any.sa_family == AF_INET6];
}

static void mtu_try(quic_conn *qc, unsigned step)
{
    const uint16_t *steps = mtu_of(qc);

    BRG_ASSERT(qc->mtu >= QUIC_DATAGRAM_MIN && qc->mtu <= QUIC_DATAGRAM_MOST);
    while (step < MTU_STEPS && steps[step] > qc->peer.max_udp)
        step++;
    qc->mtu_probe = step < MTU_STEPS && steps[step] > qc->mtu ? steps[step] : 0;
    qc->mtu_due = qc->mtu_probe != 0;
}

void quic_mtu_begin(quic_conn *qc)
{
    qc->mtu_tries = 0;
    mtu_try(qc, 0);
}

void quic_mtu_acked(quic_conn *qc, uint16_t size)
{
    const uint16_t before = qc->mtu;

    if (size == qc->mtu_probe)
        qc->mtu_probe = 0;
    if (size <= before)
        return;
    qc->mtu = size;
    quic_qlog_number(qc, "quic:mtu_updated", "new", size);
    quic_cc_mtu(qc, before);
}

void quic_mtu_lost(quic_conn *qc, uint16_t size)
{
    const uint16_t *steps = mtu_of(qc);
    unsigned step = 0;

    if (size != qc->mtu_probe)
        return;
    if (++qc->mtu_tries < MTU_TRIES) {
        qc->mtu_due = 1;
        return;
    }
    qc->mtu_tries = 0;
    while (step < MTU_STEPS && steps[step] >= size)
        step++;
    mtu_try(qc, step);
}

void quic_mtu_fall(quic_conn *qc)
{
    const uint16_t before = qc->mtu;

    qc->mtu = QUIC_DATAGRAM_MIN;
    qc->mtu_probe = 0;
    qc->mtu_due = 0;
    quic_cc_mtu(qc, before);
}
