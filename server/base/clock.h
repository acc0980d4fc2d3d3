/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_CLOCK_H
#define BRIGADE_BASE_CLOCK_H

/**
 * @file clock.h
 * The clock for deadlines. It counts from the start of the machine and is never set,
 * so that a step of the date neither ends a wait nor prolongs it. Times that are shown, logged,
 * sent or compared with files come from apr_time_now().
 */
#include "apr_time.h"
#include <time.h>

/** Microseconds since the machine started (CLOCK_MONOTONIC). Threads: any. No system call. */
static inline apr_time_t clock_monotonic(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (apr_time_t)t.tv_sec * APR_USEC_PER_SEC + t.tv_nsec / 1000;
}

/** Microseconds that the calling thread has been on a processor. A system call. */
static inline apr_time_t clock_of_thread(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (apr_time_t)t.tv_sec * APR_USEC_PER_SEC + t.tv_nsec / 1000;
}

#endif
