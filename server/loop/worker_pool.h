/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_WORKER_POOL_H
#define BRIGADE_LOOP_WORKER_POOL_H

/**
 * @file worker_pool.h
 * Threads for requests that may block. Each loop has a pool of its own, so that its lock is shared
 * by nobody but this loop and its workers. Threads start when work waits and none is idle, and end
 * after a while without work. All pools of a process share the number of threads that there may be: when
 * it is reached, a thread without work goes to the pool that needs it.
 *
 * Hand-over of a connection (in bc->state CONN_WORKER throughout):
 *
 *   step        moved on by                         owner    holds
 *   ----------  ----------------------------------  -------  --------------------------------------------
 *   submitted   the loop: worker_pool_submit()      pool     not in the wheel, on no list of the loop
 *   queued      a thread is free                    pool     linked by bc->next, oldest first
 *   refused     too late, or its client left        loop     bc->queue.refused; the driver's refused() runs
 *   running     the driver's work() returns         worker   bc and all that hangs on it; may block
 *   returned    the worker: loop_return()           loop     on loop->posted.returned until the loop's next turn
 *   taken back  the loop: the driver's run()        loop     bc->state becomes another one
 *
 * The pool's lock, or the seat of a thread that waits without it, and the release / acquire pair of
 * loop->posted.returned order the writes of both sides.
 */
#include "conn.h"

typedef struct worker_pool worker_pool;

/** The shared state of a process's pools. */
typedef struct worker_share worker_share;

/** How many threads there may be. Processes of a generation lend each other spare threads. */
typedef struct worker_bounds {
    int most; /**< of this process; 0 = none, the loop itself does the work */
    int own;  /**< its part: the threads that it gets back on demand; with all = 0 it is most */
    int kept; /**< of its part: threads that it does not lend */
    int all;  /**< of all processes together; 0 = no lending */
} worker_bounds;

/**
 * @param slot         of this process in the scoreboard
 * @param first_index  brg_thread_index() of the first of them
 * @param stack_bytes  0 = the system's
 */
worker_share *worker_share_create(apr_pool_t *p, const worker_bounds *bounds, int slot,
                                  int first_index, size_t stack_bytes);

/** To be called once a second: where another process is short of threads, those here that have no work end at once. Threads: as
 * worker_share_watch(). */
void worker_share_lend(worker_share *share);

/** The pool of @a loop, from @a p, which outlives the threads. All are made before the first thread starts. */
worker_pool *worker_pool_create(apr_pool_t *p, brg_loop *loop, worker_share *share);

/** Bounds of the queue: most connections that wait, and how long each may (microseconds; 0 = any). */
void worker_pool_bound(worker_pool *wp, int waiting_most, apr_interval_time_t wait_most_us);

/**
 * Queue bc, with bc->work.since set; its driver's work() runs for it on a worker, which then owns it.
 * Threads: the loop.
 * @return 0; WORKER_POOL_FULL: the queue is full, and bc need not run; -1: there is no thread and
 * none can be started. bc is the loop's as before unless 0 is returned.
 */
int worker_pool_submit(worker_pool *wp, brg_conn *bc);

#define WORKER_POOL_FULL 1

/**
 * Take out of the queue the connections that waited too long, or whose clients left after a while:
 * bc->queue.refused says why. Costs one poll() call if anything waits. Threads: the loop.
 * @return them, linked by next; the loop owns them again. NULL: none
 */
brg_conn *worker_pool_refuse(worker_pool *wp, apr_time_t now);

/** 1 if a connection that is submitted now would have to wait for a thread. A hint. Any thread. */
int worker_pool_is_busy(worker_pool *wp);

/** 1 if connections wait for a thread, here or on another loop, and all that there may be are at work. A hint. Any
 * thread. */
int worker_pool_is_short(const worker_pool *wp);

/** With limit 0: the oldest waiting connection, for the calling loop to run; or NULL. */
brg_conn *worker_pool_take(worker_pool *wp);

/** loop->wants_worker: in so many milliseconds, start a thread if it is time for it and something waits still. Threads: the loop's own. */
void worker_pool_grow(worker_pool *wp);

/** No further work is taken; idle threads end. Does not wait. */
void worker_pool_stop(worker_pool *wp);

/** 1 when no thread is left. */
int worker_pool_ended(worker_pool *wp);

/**
 * To be called once a second: report workers that have used the processor for one request for long,
 * with their place in the code (worker_watch.c).
 * @param limit  seconds of it; 0: none
 * @return 1: a worker has just passed @a limit
 * Threads: one, not a worker; the pools live.
 */
int worker_share_watch(const worker_share *share, const server_rec *s, int limit);

/** Threads alive, threads busy, connections that wait. Any thread. */
void worker_pool_figures(worker_pool *wp, int *alive, int *busy, int *waiting);

#endif
