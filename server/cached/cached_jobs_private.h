/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHED_CACHED_JOBS_PRIVATE_H
#define BRIGADE_CACHED_CACHED_JOBS_PRIVATE_H

/** @file cached_jobs_private.h  Jobs that loops and workers leave to a thread of a tier. All zero: nothing is there. */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

/** The first member of a job. */
typedef struct cached_job {
    struct cached_job *next;
} cached_job;

typedef struct cached_jobs {
    _Atomic(cached_job *) latest; /**< each leads to the one before it */
    sem_t called;                 /**< posted for each; sem_init() is the owner's */
} cached_jobs;

/** Leave a job, and call the thread. Threads: any. Blocking: no */
static inline void cached_jobs_post(cached_jobs *jobs, cached_job *job)
{
    job->next = atomic_load(&jobs->latest);
    while (!atomic_compare_exchange_weak(&jobs->latest, &job->next, job))
        ;
    sem_post(&jobs->called);
}

/** All that is there, in the order in which it came; NULL: nothing. Threads: the one that runs the
 * jobs */
static inline cached_job *cached_jobs_take(cached_jobs *jobs)
{
    cached_job *job = atomic_exchange(&jobs->latest, NULL), *first = NULL;

    while (job) {
        cached_job *before = job->next;

        job->next = first;
        first = job;
        job = before;
    }
    return first;
}

/** sem_wait(), whatever signals come. Blocking: yes */
static inline void cached_wait(sem_t *sem)
{
    while (sem_wait(sem) && errno == EINTR)
        ;
}

#endif
