/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_WORKER_POOL_PRIVATE_H
#define BRIGADE_LOOP_WORKER_POOL_PRIVATE_H

/**
 * @file worker_pool_private.h
 * Between worker_pool.c (the queue of a loop), worker_thread.c (its threads) and worker_share.c (the number of threads, which pools
 * share).
 *
 * Threads belong to pools, their number to the process. Below that number a pool starts the threads
 * that it needs, and looks at no other pool. At the number, a pool with a connection that no thread
 * of its own comes for is hungry, and a thread without work, or at the end of a request, goes to
 * the hungry pool whose first connection waits the longest: a loop cannot starve beside another
 * that has all the threads.
 *
 * Processes share a number, too: worker_lend.c.
 *
 * Order of locks: a pool's, then the share's; never two pools'.
 *
 * One thread of a pool that has nothing to do sits (worker_seat.c) and needs no lock to get the next connection; the others
 * are idle, with the lock, and wait for a signal. A thread that sits is neither idle nor running.
 */
#include "program_thread.h"
#include "worker_pool.h"
#include "worker_queue.h"
#include "brigade/loop.h"
#include <pthread.h>
#include <stdatomic.h>

/** Of a thread. */
typedef struct worker_seat {
    _Alignas(64) _Atomic uint32_t word; /* the futex: 1 = it was called */
    brg_conn *given;                    /* with that: its connection; NULL: look with the lock */
    _Atomic uint32_t jobs;   /* begun and ended; odd: one is under way. For worker_watch.c */
    _Atomic uint32_t thread; /* gettid() of the thread with that index */
} worker_seat;

struct worker_share {
    /* guards the next four, and their copies for other processes (worker_lend.c) */
    pthread_mutex_t lock;
    int leaving;               /* threads that end since another process wants them */
    atomic_int alive;          /* threads; read without the lock as a hint */
    unsigned char *index_used; /* [limit] which thread indices are taken */
    apr_time_t started;        /* when worker_may_start() last said yes, by clock_monotonic() */
    _Atomic apr_time_t ended;  /* when a request did that had waited for a thread */
    atomic_int computes;       /* of WORKER_COMPUTE_ALL: how many such compute, of late; a hint */
    worker_seat *seats;        /* [limit] */
    atomic_int running;        /* threads at work */
    atomic_int hungry;         /* pools */
    atomic_int lends;          /* threads without work end: another process wants them */
    worker_bounds bounds;
    int slot, generation; /* in the scoreboard */
    int first_index;
    int processors;
    size_t stack_bytes;
    worker_pool *pools;
};

struct worker_pool {
    worker_pool *next_pool;
    worker_share *share;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t work;
    worker_queue any;   /* waiting connections */
    worker_queue longs; /* those whose requests take long on a processor (brg_conn.queue.takes_long) */
    int longs_n, longs_most; /* of the latter: that run; at most */
    int idle, alive, stopping;
    int is_hungry;
    brg_beside *beside; /* taken, and no thread has begun it: as many threads as these are idle */
    int beside_waiting;
    int beside_n; /* these, and running threads */
    int waiting_most;
    apr_interval_time_t wait_most_us; /* 0 = any */
    brg_loop *loop;
    /* Without the lock. */
    _Atomic(worker_seat *) seated; /* the sitting thread's seat, or NULL */
    atomic_int running;
    atomic_int waking; /* a thread was woken that has not looked for work yet */
    /* worker_note_left(): connections that wait for a thread, and the order to end */
    atomic_int left;
};

/* With the lock held: the number of waiting connections that a thread could take. */
static inline int worker_takeable(const worker_pool *wp)
{
    const int room = wp->longs_most - wp->longs_n;

    return wp->any.waiting + (wp->longs.waiting < room ? wp->longs.waiting : room);
}

/* With the lock held: more threads are idle than have work to come for. */
static inline int worker_is_free(const worker_pool *wp)
{
    return wp->idle > worker_takeable(wp) + wp->beside_waiting;
}

/* With the lock held, after the queue has changed: for readers without the lock. */
static inline void worker_note_left(worker_pool *wp)
{
    atomic_store(&wp->left,
                 wp->any.waiting + wp->longs.waiting + wp->beside_waiting + wp->stopping);
}

/* So many threads more run. */
static inline void worker_count(worker_pool *wp, int n)
{
    atomic_fetch_add(&wp->running, n);
    atomic_fetch_add_explicit(&wp->share->running, n, memory_order_relaxed);
}

/* The thread that sits, if one does and nothing waits, runs @a bc. Threads: the loop. @return 0: bc is the loop's as before */
int worker_hand_over(worker_pool *wp, brg_conn *bc);

/* The thread that sits is to look for work with the lock. @return 0: none sits */
int worker_rouse(worker_pool *wp);

/* Without the lock: the calling thread, which runs and is about to have nothing to do, takes the seat. @return 0: it may not */
int worker_sit_down(worker_pool *wp, worker_seat *seat);

/*
 * After that: it sits until it is called or a time by clock_monotonic(), and counts as running again.
 * @return the connection to run; NULL: look with the lock
 */
brg_conn *worker_sit(worker_pool *wp, worker_seat *seat, apr_time_t until);

#define WORKER_NO_MORE (-1) /* there are as many threads as may be */

/* ---- worker_lend.c: without other processes these cost a look at bounds.all ---- */

#define WORKER_LEND_MS 20 /* where others have the rest: between two attempts */

/* The number of threads that may still start, by the counts of other processes. A hint. */
int worker_room(const worker_share *share);

/* With the share's lock held: alive has gone up by one. @return 0: it has to go down again, other processes have the rest */
int worker_lend_take(worker_share *share);

/* With the share's lock held: alive has gone down. */
void worker_lend_give(worker_share *share);

/* No pool is hungry any more, or one is. */
void worker_lend_wants(worker_share *share, int is_hungry);

/* The calling thread, which ran a request, belongs to a process that wants it back: it ends. */
int worker_lend_back(worker_share *share);

/* The calling thread has no work, and another process has: it ends. */
static inline int worker_lend_idle(const worker_share *share)
{
    return atomic_load_explicit(&share->lends, memory_order_relaxed) &&
           atomic_load_explicit(&share->alive, memory_order_relaxed) > share->bounds.kept;
}

/* @return the index of a thread that may be started; -1: there are as many as may be */
int worker_reserve(worker_share *share);

/*
 * A thread is needed: may the loop start it? A burst of requests that compute gets no thread each: hundreds of threads would
 * meet at locks, and with the loops at the processors. Above WORKER_AT_ONCE for each processor one is started in a while,
 * which is short if requests of late waited for something else than a processor; if they computed, only when none ends.
 */
#define WORKER_AT_ONCE 8
#define WORKER_WAITING_US 1000
#define WORKER_UNKNOWN_US 5000
#define WORKER_STUCK_US 100000 /* with neither a start nor an end */
int worker_may_start(worker_share *share, apr_time_t now);

/* A request that had waited for a thread ran for so long, and had a processor for so long. Any thread. */
#define WORKER_COMPUTE_ALL 256
#define WORKER_UNKNOWN (-1)
#define WORKER_FOREIGN 2 /* other programs may have half of the processors meanwhile */
void worker_ran(worker_share *share, apr_time_t now, apr_time_t took, apr_time_t computed);

/* That thread could not be started, or ended. */
void worker_unreserve(worker_share *share, int slot);

/* With the lock held. @return 0, WORKER_NO_MORE or an error */
int worker_spawn(worker_pool *wp);

/* With the lock held: the pool has a connection that no thread comes for, or has not. */
void worker_set_hungry(worker_pool *wp, int is_hungry);

/* Without a lock: have an idle thread of another pool look for hungry ones. @return 0: none is idle */
int worker_call_others(const worker_pool *wp);

/* With the lock of *at held, then and now: the calling thread, which has nothing to do, goes where a thread is needed more.
 * @return *at */
worker_pool *worker_move(worker_pool **at);

/* Without a lock: a thread ended; start one for a pool that reckoned with it. */
void worker_replace(const worker_share *share);

/** The pool of the calling thread, or NULL. Written by worker_thread.c, and where it moves to another. */
extern PROGRAM_THREAD_LOCAL worker_pool *worker_mine;

/** With the lock held: the next connection for a thread, or NULL. */
brg_conn *worker_first(worker_pool *wp);

/** With the lock held, which is given back; a thread that is idle is woken where there is work. */
void worker_unlock(worker_pool *wp);

#endif
