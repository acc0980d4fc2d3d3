/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_SUPERVISED_H
#define BRIGADE_BASE_SUPERVISED_H

/**
 * @file supervised.h
 * Work that the supervisor does, as root, beside its processes: the seam between the supervisor's loop
 * and rooms below it. The loop waits for the descriptor and the time, then calls look().
 */
#include "apr_time.h"

typedef struct supervised_work {
    /** Readable when there is something to do; -1: none. */
    int (*fd)(void);
    /** When look() has something to do even so, of clock_monotonic(); 0: never. */
    apr_time_t (*due)(void);
    /** Do the pending work. Does nothing if there is nothing. Must not take long. */
    void (*look)(void);
} supervised_work;

/** Of the configuration that is being read; NULL: none. Threads: main. */
void supervised_set(const supervised_work *work);

/** NULL: none. Threads: main. */
const supervised_work *supervised_get(void);

#endif
