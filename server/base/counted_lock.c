/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of waits for locks (counted_lock.h). */
#include "counted_lock.h"
#include "brigade/assert.h"
#include <stdatomic.h>

static _Atomic uint64_t lock_waited[LOCKS_N];

void lock_waits(lock_name name)
{
    BRG_ASSERT(name < LOCKS_N);
    atomic_fetch_add_explicit(&lock_waited[name], 1, memory_order_relaxed);
}

uint64_t lock_waits_take(lock_name name)
{
    BRG_ASSERT(name < LOCKS_N);
    if (!atomic_load_explicit(&lock_waited[name], memory_order_relaxed))
        return 0;
    return atomic_exchange_explicit(&lock_waited[name], 0, memory_order_relaxed);
}
