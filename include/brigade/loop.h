/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_H
#define BRIGADE_LOOP_H

/**
 * @file brigade/loop.h Facts for a module about the thread that it runs on.
 *
 * An event loop works in turns: wait for sockets, read from all that are ready, answer, write. Work
 * that is cheaper once per turn than once per request (writing a log buffer, publishing counters)
 * belongs in the turn_end hook. Workers run the same hook after each request that they finish.
 */
#include "httpd.h"
#include "apr_hooks.h"
#include "brigade/declare.h"
#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Called at the end of a turn of an event loop in which a request ended, at least once a second
 * while the loop lives, on a worker after each request, and on each of these threads before it
 * ends.
 *
 * @param now  the time of this turn, microseconds since the epoch
 * Threads:    the calling loop or worker; use thread-local state.
 * Blocking:   must not wait; a write to a local file is all right.
 */
APR_DECLARE_EXTERNAL_HOOK(brg, BRG, void, turn_end, (apr_time_t now))

/**
 * The time of the current turn: read from the clock once per turn on a loop, afresh on any other
 * thread.
 * @return microseconds since the epoch
 */
BRG_DECLARE(apr_time_t) brg_now(void);

/**
 * The clock for deadlines: it runs evenly and is never set. The time of the current turn on a loop,
 * read afresh on any other thread.
 * @return microseconds since the machine started; no date
 */
BRG_DECLARE(apr_time_t) brg_monotonic_now(void);

/**
 * Index of the calling thread among the server's loops and workers: loops first, from 0.
 * @return the index, or -1 on a thread that is neither
 */
BRG_DECLARE(int) brg_thread_index(void);

/**
 * 1 on an event loop, which runs the turn_end hook at least once a second; 0 on a worker or any
 * other thread.
 */
BRG_DECLARE(int) brg_thread_is_loop(void);

/** Work for brg_worker_beside(). The caller's, until @a run returns. */
typedef struct brg_beside {
    void (*run)(struct brg_beside *work);
    struct brg_beside *next; /**< the server's */
} brg_beside;

/**
 * Let another worker of the same event loop do a part of the calling worker's work: now, or not at
 * all. At most every second thread of a loop works for another one, and none that a waiting
 * connection needs.
 *
 * @param work  NULL: nothing is run; asks whether something would be
 * @return 1: work->run() is called, or is being called; 0: no thread is free, or the caller is no worker
 * Threads: any. Blocking: no.
 */
BRG_DECLARE(int) brg_worker_beside(brg_beside *work);

/**
 * Start a thread beside the server's own. It gets only signals that it causes itself; programs that
 * it starts have the usual ones again. It is neither a loop nor a worker: it may wait, and must not
 * touch connections or requests.
 * @param stack_bytes  of its stack; 0: as many as the system gives
 * @param id           set for pthread_join(); NULL: nothing waits for the thread (detached)
 * @return 0, or an errno
 */
BRG_DECLARE(int)
brg_thread_start(void *(*fn)(void *), void *baton, size_t stack_bytes, pthread_t *id);

#ifdef __cplusplus
}
#endif
#endif
