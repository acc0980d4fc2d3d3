/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells that another thread than their home's frees. Pushing is one compare-and-swap on the home's
 * list; the owner takes the whole list with one exchange, so that no cell can come back to the head
 * while somebody holds its address.
 *
 * When the home has lost its thread nobody would look at the list. The thread that ended says so
 * before it drains for the last time, and a pusher looks after the push: one of the two sees the
 * other.
 */
#include "sms_arena.h"

void arena_remote_drain(arena_local *local)
{
    arena_cell *cell = atomic_exchange(&local->remote, NULL), *next;

    for (; cell != NULL; cell = next) {
        next = cell->next;
        cell->next = ARENA_LIVE;
        arena_free_local(local, cell);
    }
}

static __attribute__((noinline)) void arena_orphan(brg_sms *s, sms_slot *slot)
{
    pthread_mutex_lock(&s->counts->lock);
    if (atomic_load(&slot->owner) == NULL)
        arena_tidy((arena_local *)slot->state, 0);
    pthread_mutex_unlock(&s->counts->lock);
}

void arena_remote_push(arena_local *home, arena_cell *cell)
{
    arena_cell *head = atomic_load_explicit(&home->remote, memory_order_relaxed);
    sms_slot *slot = arena_slot(home);
    brg_sms *s = home->system;

    if (cell->next != ARENA_LIVE)
        sms_panic(s, "a block was freed twice", cell + 1);
    do
        cell->next = head;
    while (!atomic_compare_exchange_weak(&home->remote, &head, cell));
    if (__builtin_expect(atomic_load(&slot->owner) == NULL, 0))
        arena_orphan(s, slot);
}

void arena_remote_drain_orphans(brg_sms *s)
{
    sms_slot *slot;

    pthread_mutex_lock(&s->counts->lock);
    slot = atomic_load_explicit(&s->counts->slots, memory_order_acquire);
    for (; slot != NULL; slot = slot->next)
        if (atomic_load(&slot->owner) == NULL)
            arena_tidy((arena_local *)slot->state, 0);
    pthread_mutex_unlock(&s->counts->lock);
}
