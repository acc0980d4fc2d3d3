/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that wait for a worker, in order of their rounds. */
#include "worker_queue.h"
#include "transport.h"
#include "brigade/assert.h"

#define WORKER_LEFT_US APR_USEC_PER_SEC /* a client that waited for so long may be gone */

/* The round in which it is bc's connection's turn. */
static uint64_t queue_round(const worker_queue *q, brg_conn *bc)
{
    brg_conn *of = bc->master ? bc->master : bc;

    of->work.round = (of->work.round > q->round ? of->work.round : q->round) + 1;
    return of->work.round;
}

void worker_queue_add(worker_queue *q, brg_conn *bc)
{
    brg_conn **at = &q->first;

    bc->work.round = queue_round(q, bc);
    if (q->last && q->last->work.round <= bc->work.round)
        at = &q->last->next;
    while (*at && (*at)->work.round <= bc->work.round)
        at = &(*at)->next;
    bc->next = *at;
    *at = bc;
    if (!bc->next)
        q->last = bc;
    q->waiting++;
}

brg_conn *worker_queue_take(worker_queue *q)
{
    brg_conn *bc = q->first;

    BRG_ASSERT(!bc == !q->waiting);
    if (!bc)
        return NULL;
    q->first = bc->next;
    if (!q->first)
        q->last = NULL;
    q->waiting--;
    if (bc->work.round > q->round)
        q->round = bc->work.round;
    bc->next = NULL;
    return bc;
}

brg_conn **worker_queue_refuse(worker_queue *q, const struct pollfd *p, brg_conn **list_tail,
                               conn_refusal (*why)(const brg_conn *bc, short events, void *baton),
                               void *baton)
{
    brg_conn *bc, **at = &q->first;

    q->last = NULL;
    for (; (bc = *at) != NULL; p++) {
        bc->queue.refused = (uint8_t)why(bc, p->revents, baton);
        if (!bc->queue.refused) {
            q->last = bc;
            at = &bc->next;
            continue;
        }
        *at = bc->next;
        bc->next = NULL;
        *list_tail = bc;
        list_tail = &bc->next;
        q->waiting--;
    }
    return list_tail;
}

/* ---- clients that left ---- */

/* A client that shut its side may still wait for the answer (RFC 9112 section 9.6 lets it), so a
 * client counts as gone only after a wait for a worker. */
static int worker_may_have_left(const brg_conn *bc, apr_time_t now)
{
    return !bc->queue.must_run && now - bc->work.since >= WORKER_LEFT_US;
}

/* The client of a connection that a worker took. 1: nobody waits for the answer. */
int worker_client_left(const brg_conn *bc, apr_time_t now)
{
    struct pollfd p = {.fd = bc->fd, .events = POLLRDHUP};

    if (!bc->queue.must_run && transport_is_unwanted(bc))
        return 1;
    return worker_may_have_left(bc, now) && poll(&p, 1, 0) > 0 && (p.revents & WORKER_LEFT_EVENTS);
}

nfds_t worker_queue_polls(const worker_queue *q, struct pollfd *p, apr_time_t now)
{
    nfds_t n = 0;

    for (const brg_conn *bc = q->first; bc; bc = bc->next)
        p[n++] =
            (struct pollfd){.fd = worker_may_have_left(bc, now) ? bc->fd : -1, .events = POLLRDHUP};
    return n;
}
