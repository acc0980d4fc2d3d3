/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_SHARED_REF_H
#define BRIGADE_LOOP_SHARED_REF_H

/**
 * @file shared_ref.h
 * A count of references, embedded in an object that several answers of one loop
 * may be sending at a time.
 * Threads: the loop that it belongs to; the count is not atomic.
 */
#include "apr.h"
#include <stdint.h>

typedef struct shared_ref {
    uint32_t n;                           /**< references; the creator has the first */
    void (*end)(struct shared_ref *self); /**< called when the last one goes */
} shared_ref;

static inline void shared_hold(shared_ref *ref)
{
    ref->n++;
}

static inline void shared_release(shared_ref *ref)
{
    if (--ref->n == 0)
        ref->end(ref);
}

#endif
