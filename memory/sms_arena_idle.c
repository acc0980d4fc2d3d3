/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arenas of threads that are idle.
 *
 * A module may have dozens of threads that each serve a while and then sleep. Their reserves, and
 * blocks that others gave back to them meanwhile, are more than the server needs. So every few
 * seconds somebody tidies the arenas whose threads made no call since the last time. All arenas of
 * a system that are idle share what one may keep.
 *
 * The owner says `busy` and then looks at `taken`; another thread says `taken` and then looks at `busy`. One of the two sees
 * the other, if neither processor has its store after its load. The owner has no barrier for that: membarrier() makes every
 * running thread of the process have one. Without membarrier() arenas of threads are left alone.
 */
#include "sms_arena.h"
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 4.14. A process registers once; a child of fork() may have to do so again. */
static int idle_barrier(void)
{
    if (SMS_TSAN || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return 0;
    if (errno != EPERM ||
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0)
        return -1;
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ? 0 : -1;
}

static inline arena_local *idle_local(sms_slot *slot)
{
    return (arena_local *)slot->state;
}

static inline void idle_take(arena_local *local)
{
    atomic_store_explicit(&local->taken, 1, ARENA_ORDER);
}

static inline void idle_release(arena_local *local)
{
    atomic_store_explicit(&local->taken, 0, memory_order_release);
}

static inline int idle_busy(arena_local *local)
{
    return atomic_load_explicit(&local->busy,
                                SMS_TSAN ? memory_order_seq_cst : memory_order_acquire) != 0;
}

void arena_enter_slowly(arena_local *local)
{
    pthread_mutex_t *lock = &local->system->counts->lock;

    do {
        arena_leave(local);
        pthread_mutex_lock(lock); /* held by the thread that took it */
        pthread_mutex_unlock(lock);
        atomic_store_explicit(&local->busy, 1, memory_order_seq_cst);
    } while (atomic_load_explicit(&local->taken, memory_order_seq_cst));
}

/* 1 if the thread made no call since the last time. */
static int idle_look(sms_slot *slot)
{
    arena_local *local = idle_local(slot);
    uint64_t calls = sms_slot_calls(slot);
    int idle = calls == local->seen;

    local->seen = calls;
    if (!idle)
        local->tidied = 0;
    return idle && atomic_load(&slot->owner) != NULL;
}

/* Take the idle ones that have something to give. @return how many are idle */
static size_t idle_take_all(sms_slot *slot, size_t *taken)
{
    size_t n = 0;

    for (; slot != NULL; slot = slot->next) {
        arena_local *local = idle_local(slot);

        if (!idle_look(slot))
            continue;
        n++;
        if (local->tidied && !arena_remote_waiting(local))
            continue;
        idle_take(local);
        (*taken)++;
    }
    return n;
}

static void idle_tidy_all(sms_slot *slot, size_t keep)
{
    for (; slot != NULL; slot = slot->next) {
        arena_local *local = idle_local(slot);

        if (!atomic_load_explicit(&local->taken, memory_order_relaxed))
            continue;
        if (!idle_busy(local)) {
            arena_tidy(local, keep);
            local->tidied = 1;
        }
        idle_release(local);
    }
}

static void idle_release_all(sms_slot *slot)
{
    for (; slot != NULL; slot = slot->next)
        idle_release(idle_local(slot));
}

void arena_idle(brg_sms *s)
{
    sms_slot *slots;
    size_t idle, taken = 0;

    pthread_mutex_lock(&s->counts->lock);
    slots = atomic_load_explicit(&s->counts->slots, memory_order_acquire);
    idle = idle_take_all(slots, &taken);
    if (taken > 0 && idle_barrier() == 0)
        idle_tidy_all(slots, ((arena_sms *)s)->keep / idle);
    else if (taken > 0)
        idle_release_all(slots);
    pthread_mutex_unlock(&s->counts->lock);
}
