/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at arenas from outside: the owner of a block, and the invariants of sms_arena.h. */
#include "sms_arena.h"

static int arena_list_owns(const arena_region *r, const char *block)
{
    for (; r != NULL; r = r->next) {
        const char *first = (const char *)r + ARENA_REGION_HEAD + sizeof(arena_cell);

        if (block < first || block >= r->bump || (size_t)(block - first) % r->cell_bytes != 0)
            continue;
        return ((const arena_cell *)block - 1)->next == ARENA_LIVE;
    }
    return 0;
}

int arena_owns(const brg_sms *s, const void *block)
{
    const sms_slot *slot = atomic_load_explicit(&s->counts->slots, memory_order_acquire);
    int i;

    for (; slot != NULL; slot = slot->next) {
        const arena_local *local = (const arena_local *)slot->state;

        if (arena_list_owns(local->full, block))
            return 1;
        for (i = 0; i < ARENA_CLASSES; i++)
            if (arena_list_owns(local->avail[i], block))
                return 1;
    }
    return 0;
}

/* Invariants. */

static const char *arena_verify_region(const arena_local *local, const arena_region *r, int full)
{
    const arena_cell *cell;
    uint32_t n = 0;

    if (r->home != local)
        return "arena: a region is in a list of another thread";
    if (r->next != NULL && r->next->link != &r->next)
        return "arena: a list of regions is broken";
    if (full != (r->used == r->capacity))
        return "arena: a region is in the wrong list";
    for (cell = r->free; cell != NULL && n <= r->capacity; cell = cell->next, n++)
        if (cell->region != r)
            return "arena: a free cell belongs to another region";
    return r->used + n == r->bumped && r->bumped <= r->capacity
               ? NULL
               : "arena: cells were lost or counted twice";
}

static const char *arena_verify_list(const arena_local *local, const arena_region *r, int full)
{
    const char *broken = NULL;

    for (; r != NULL && broken == NULL; r = r->next)
        broken = arena_verify_region(local, r, full);
    return broken;
}

static const char *arena_verify_local(const arena_local *local, size_t keep)
{
    const char *broken = arena_verify_list(local, local->full, 1);
    const arena_region *r;
    size_t empty = 0;
    int i;

    for (i = 0; i < ARENA_CLASSES && broken == NULL; i++)
        broken = arena_verify_list(local, local->avail[i], 0);
    for (r = local->empty; r != NULL; r = r->next) {
        empty += r->bytes;
        if (r->used != 0)
            broken = "arena: an empty region is in use";
    }
    if (empty != local->empty_bytes || empty > keep)
        broken = "arena: the sum of empty regions is wrong or too large";
    return broken;
}

const char *arena_verify(const brg_sms *s)
{
    const sms_slot *slot = atomic_load_explicit(&s->counts->slots, memory_order_acquire);
    const char *broken = NULL;

    for (; slot != NULL && broken == NULL; slot = slot->next)
        broken = arena_verify_local((const arena_local *)slot->state, ((const arena_sms *)s)->keep);
    return broken;
}
