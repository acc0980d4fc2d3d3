/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_COUNTED_LOCK_H
#define BRIGADE_BASE_COUNTED_LOCK_H

/**
 * @file counted_lock.h
 * Locks on the way of requests, which tell how often a thread had to wait for
 * them. A free lock costs as much as pthread_mutex_lock(). Event loops bring the counts to the
 * figures (loop/loop_figures.c).
 */
#include <pthread.h>
#include <stdint.h>

/** Rows of BRG_LOCKS in brigade/figures.h, in their order. */
typedef enum lock_name {
    LOCK_WORKERS,  /**< the queue of a loop and its worker threads */
    LOCK_THREADS,  /**< the number of worker threads, which the loops share */
    LOCK_SECTIONS, /**< merged configurations of sections */
    LOCK_STREAMS,  /**< the streams of a connection, some of which workers run */
    LOCK_BACKENDS, /**< idle connections to backends that loops share */
    LOCKS_N
} lock_name;

/** A thread waits for a lock of this name. Threads: any. */
void lock_waits(lock_name name);

/** How often threads waited since the last call. Threads: any. */
uint64_t lock_waits_take(lock_name name);

/** pthread_mutex_lock(). Threads: any. Blocking: until the lock is free. */
static inline void lock_counted(pthread_mutex_t *lock, lock_name name)
{
    if (!pthread_mutex_trylock(lock))
        return;
    lock_waits(name);
    pthread_mutex_lock(lock);
}

#endif
