/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_WORKER_QUEUE_H
#define BRIGADE_LOOP_WORKER_QUEUE_H

/**
 * @file worker_queue.h
 * Requests that wait for a worker, in the order in which they get one: that in which they came, but each connection has
 * one of its own before any connection has a second one (start-time fair queueing, with requests of the same size). An HTTP/1
 * connection has one request at a time; one of HTTP/2 with a hundred streams does not stand before others with all of them.
 *
 * Threads: one at a time; the pool's lock is held.
 */
#include "conn.h"
#include <poll.h>

#define WORKER_LEFT_EVENTS (POLLRDHUP | POLLHUP | POLLERR) /**< the client is gone */

typedef struct worker_queue {
    brg_conn *first, *last; /**< linked by next, sorted by brg_conn.work.round */
    int waiting;
    uint64_t round; /**< of the connection that was taken last */
} worker_queue;

void worker_queue_add(worker_queue *q, brg_conn *bc);

/** Take the first one; NULL: it is empty. */
brg_conn *worker_queue_take(worker_queue *q);

/** Fill @a p for poll() with the waiting connections, in order: only after a long wait a client may
 * have left. @return how many */
nfds_t worker_queue_polls(const worker_queue *q, struct pollfd *p, apr_time_t now);

/** 1: nobody waits for the answer on bc, which a worker took. */
int worker_client_left(const brg_conn *bc, apr_time_t now);

/**
 * Take out all that @a why gives a reason to refuse, which becomes bc->queue.refused, and append them to a list.
 * @param p          the events of each waiting connection, in order
 * @param list_tail  where the list ends
 * @return the list's end
 */
brg_conn **worker_queue_refuse(worker_queue *q, const struct pollfd *p, brg_conn **list_tail,
                               conn_refusal (*why)(const brg_conn *bc, short events, void *baton),
                               void *baton);

#endif
