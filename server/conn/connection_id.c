/* SPDX-License-Identifier: Apache-2.0 */
/* Connection ids: unique among all connections of all processes that a scoreboard knows. */
#include "connection.h"
#include "scores.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include <stdatomic.h>

static int connection_slot;
static long connection_slots = 1, connection_threads = 1; /* limits of the scoreboard */

void connection_child_init(int slot)
{
    BRG_ASSERT(slot >= 0);
    connection_slot = slot;
    connection_slots = scoreboard_processes() > slot ? scoreboard_processes() : slot + 1;
    connection_threads = scoreboard_threads() ? scoreboard_threads() : 1;
}

int connection_child_slot(void)
{
    return connection_slot;
}

long connection_id_of(unsigned long count, int slot, long slots, int thread, long threads)
{
    unsigned long other = (unsigned long)threads; /* all threads that have no index of their own */
    unsigned long place = thread >= 0 && thread < threads ? (unsigned long)thread : other;

    BRG_ASSERT(slot >= 0 && slot < slots);
    return (long)((count * (unsigned long)slots + (unsigned long)slot) * (other + 1) + place);
}

/* Each loop and each worker counts its own; only threads that are neither share a counter. */
long connection_next_id(void)
{
    static _Thread_local unsigned long own;
    static atomic_ulong shared;
    int thread = brg_thread_index();
    int known = thread >= 0 && thread < connection_threads;
    unsigned long count = known ? ++own : atomic_fetch_add(&shared, 1) + 1;

    return connection_id_of(count, connection_slot, connection_slots, thread, connection_threads);
}
