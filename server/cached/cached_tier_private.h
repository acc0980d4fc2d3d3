/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHED_CACHED_TIER_PRIVATE_H
#define BRIGADE_CACHED_CACHED_TIER_PRIVATE_H

/** @file cached_tier_private.h  Between cached_tier.c, which has the threads, and
 *   cached_tier_work.c, which has their work. */
#include "cached_below_private.h"
#include "cached_jobs_private.h"
#include "cached_tier.h"

typedef struct tier_job {
    cached_job job; /* first */
    enum { TIER_READS_IT, TIER_WRITES_IT } what;
    cached_tier_name name; /* its texts lie behind the job */
    const char *tags;
    uint32_t tags_len;
    int fresh;      /* reads: only fresh ones */
    uint32_t place; /* reads: in tier_reads */
    uint64_t claim; /* reads: the claim found there */
    apr_time_t asked;
    uint64_t bytes;       /* writes: at most */
    uint32_t most, least; /* writes: seconds that it may lie there */
    atomic_int users;
    sem_t over; /* reads: posted at its end */
    char text[];
} tier_job;

typedef struct tier_thread {
    cached_jobs jobs;
    cached_place *place;
    apr_pool_t *pool;
    char *room; /* for the record */
    unsigned room_bytes;
} tier_thread;

/** Have an answer read, or written, by one of the threads. Blocking: yes */
void tier_do_read(tier_thread *thread, tier_job *job);
void tier_do_write(tier_thread *thread, const tier_job *job);

/** The tier does not answer, for this reason: it is left alone. */
void tier_failed(apr_status_t rv);
/** A look-up ends. @return 1: its flight is the caller's; 0: another one ended it, since it took too long */
int tier_unclaim(uint32_t place, uint64_t claim);
/** Its followers go on. */
void tier_end_flight(cached_place *place, uint32_t flight);

#endif
