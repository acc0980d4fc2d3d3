/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_LOOP_DRAIN_H
#define BRIGADE_LOOP_LOOP_DRAIN_H

/**
 * @file loop_drain.h
 * Output that a loop sends while a worker still produces it.
 *
 * A connection in CONN_WORKER is the worker's. The loop only sends the output that the worker left
 * in a conn_drain: bytes that need neither buckets nor the request (core_spool.c). The worker
 * appends, the loop removes; their shared fields are atomic.
 *
 *   state    moved on by                                        loop's list  sender   
 *   -------  -------------------------------------------------  -----------  ---------------------------
 *   idle     the worker: loop_drain_post()                      no           nobody: there is nothing
 *   posted   the loop's next turn                               no           the loop, soon
 *   taken    loop_take_drains(); events of the socket           yes          the loop
 *   ended    the loop takes the connection back from its worker no           the connection's driver
 *
 * The object outlives all of it: it is freed with the connection's pool, which the loop alone does.
 */
#include "conn.h"

struct conn_drain {
    brg_conn *bc;
    /**
     * Send the waiting bytes, without blocking. Threads: the loop.
     * @return APR_SUCCESS: nothing is left; APR_EAGAIN: the socket is full; APR_INCOMPLETE: to be
     * called again soon, whatever the socket says; else the connection is lost
     */
    apr_status_t (*run)(struct conn_drain *d);
    /** The client took nothing for timeout_us. Threads: the loop. */
    void (*expired)(struct conn_drain *d);
    /** negative: none. Set before it is posted for the first time */
    apr_interval_time_t timeout_us;
    apr_time_t progress; /**< loop->monotonic when bytes left; run() keeps it */

    _Atomic int posted; /**< on loop->posted.drains */
    struct conn_drain *posted_next;
    struct conn_drain *next, **prev; /**< the loop's list; prev NULL = not there */
    uint8_t blocked;                 /**< the loop's: the socket is full */
    uint8_t again;                   /**< the loop's: run() asked for another call */
};

/** There is something to send. Threads: the worker that owns d->bc. Blocks for no more than a wake-up. */
void loop_drain_post(struct conn_drain *d);

/** The loop sends no more of d by itself. Threads: the loop. Nothing happens if it was not taken. */
void loop_drain_end(struct conn_drain *d);

#endif
