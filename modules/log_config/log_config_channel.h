/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOG_CONFIG_CHANNEL_H
#define LOG_CONFIG_CHANNEL_H

/**
 * @file log_config_channel.h
 * A channel between a thread that logs and a writer
 * (log_config_channel.c), and the writers' functions for it. Counters have one writer each.
 */
#include "log_config_writer.h"
#include <semaphore.h>

#define LOG_CACHE_LINE 64

struct log_channel {
    uint32_t tag;
    log_writer *writer;
    apr_size_t limit; /**< bytes that may be pending */
    sem_t room;       /**< posted when something was written while the thread waits for it */
    apr_int64_t stamp_ns;
    log_block *block; /**< that it fills, NULL: none yet */
    /* Of the thread that logs. */
    _Alignas(LOG_CACHE_LINE) _Atomic(log_parcel *) handed; /**< newest first; taken by the writer */
    atomic_size_t put;
    atomic_ulong put_lines;
    atomic_int waiting, ended;
    /* Of the writer. */
    _Alignas(LOG_CACHE_LINE) atomic_size_t done;
    atomic_ulong done_lines;
    _Atomic(log_block *) spare; /**< to be filled again; taken by the thread */
    log_parcel *kept;           /**< for the next round, oldest first */
    log_channel *next;
};

/** Bytes handed over and not written. Threads: any. */
static inline apr_size_t log_channel_pending(const log_channel *c)
{
    apr_size_t done = atomic_load_explicit(&c->done, memory_order_acquire);

    return atomic_load_explicit(&c->put, memory_order_acquire) - done;
}

/** Lines handed over and not written. Threads: any. */
unsigned long log_channel_lines(const log_channel *c);

/* For the writer's thread. */

/** Parcels handed over before @a before_ns, oldest first. */
log_parcel *log_channel_take(log_channel *c, apr_int64_t before_ns);

/** Its thread has ended and all is written. */
int log_channel_is_over(const log_channel *c);

/** @a parcel has been written or given up. */
void log_channel_done(log_parcel *parcel);

void log_channel_free(log_channel *c);

/* The writer's side (log_config_writer.c). */

int log_writer_number(const log_writer *writer);
void log_writer_add_channel(log_writer *writer, log_channel *channel);
/** @param pending  bytes of a channel: many end its pause, any its sleep */
void log_writer_wake(log_writer *writer, apr_size_t pending);
log_overflow log_writers_overflow_get(void);

/** CLOCK_MONOTONIC, nanoseconds. */
apr_int64_t log_stamp_ns(void);

#endif
