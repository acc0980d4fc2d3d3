/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions of arenas: where they come from and where they go.
 *
 * A region that becomes empty is kept for any class while the empty ones are few (`keep`), else it
 * goes to the parent at once: after a peak little remains.
 */
#include "sms_arena.h"
#include "brigade/assert.h"

#define ARENA_DISCARD 8192 /* free cells from this size on have whole pages to give back */
#define ARENA_LOOKS 64     /* empty regions looked at before a new one is taken */

static void arena_give(arena_local *local, arena_region *r)
{
    size_t bytes = r->bytes;

    sms_unpoison(r, bytes);
    /* Not brg_sms_give(): it looks for the caller's slot, under the lock that is held when this is another's. */
    sms_count_slot_held(arena_slot(local), -(int64_t)bytes);
    brg_sms_free(local->system->parent, r, bytes);
}

static void arena_shrink(arena_local *local, size_t keep)
{
    arena_region *r, *last;

    while (local->empty_bytes > keep && local->empty != NULL) {
        for (last = local->empty; (r = last->next) != NULL; last = r)
            continue; /* the longest unused one is the last */
        BRG_ASSERT(local->empty_bytes >= last->bytes && last->used == 0);
        arena_unlink(last);
        local->empty_bytes -= last->bytes;
        arena_give(local, last);
    }
}

void arena_retire(arena_local *local, arena_region *r)
{
    size_t keep = arena_of(local)->keep;

    BRG_ASSERT(r->home == local && r->used == 0);
    if (r->bytes > keep) {
        arena_give(local, r);
        return;
    }
    arena_shrink(local, keep - r->bytes);
    arena_link(&local->empty, r);
    local->empty_bytes += r->bytes;
}

static void arena_retire_idle(arena_local *local)
{
    arena_region *r, *next;
    int i;

    for (i = 0; i < ARENA_CLASSES; i++)
        for (r = local->avail[i]; r != NULL; r = next) {
            next = r->next;
            if (r->used == 0) {
                arena_unlink(r);
                arena_retire(local, r);
            }
        }
}

/* A few blocks that live on would keep the memory of a whole peak otherwise. */
static void arena_discard(arena_local *local)
{
    arena_region *r;
    arena_cell *cell;
    int i;

    for (i = ARENA_CLASSES - 1; i >= 0; i--)
        for (r = local->avail[i]; r != NULL && r->cell_bytes >= ARENA_DISCARD; r = r->next) {
            if (!r->dirty)
                continue;
            for (cell = r->free; cell != NULL; cell = cell->next)
                brg_sms_discard(local->system->parent, cell + 1, r->cell_bytes - sizeof(*cell));
            r->dirty = 0;
        }
}

void arena_tidy(arena_local *local, size_t keep)
{
    arena_remote_drain(local);
    arena_retire_idle(local);
    arena_shrink(local, keep);
    arena_discard(local);
}

/* An empty region of at least so many bytes, but not of many more. */
static arena_region *arena_reuse(arena_local *local, size_t bytes)
{
    arena_region *r;
    int looks = ARENA_LOOKS;

    for (r = local->empty; r != NULL && looks-- > 0; r = r->next)
        if (r->bytes >= bytes && r->bytes - bytes <= bytes / 4) {
            arena_unlink(r);
            local->empty_bytes -= r->bytes;
            return r;
        }
    return NULL;
}

arena_region *arena_region_get(arena_local *local, size_t bytes)
{
    arena_region *r = arena_reuse(local, bytes);

    if (r == NULL) {
        r = brg_sms_take(local->system, bytes);
        if (r == NULL)
            return NULL;
        r->bytes = bytes;
        r->home = local;
    }
    return r;
}

void arena_region_format(arena_region *r, uint32_t class_n, size_t cell_bytes)
{
    sms_unpoison(r, ARENA_REGION_HEAD);
    r->free = NULL;
    r->bump = (char *)r + ARENA_REGION_HEAD;
    r->class_n = class_n;
    r->cell_bytes = cell_bytes;
    r->capacity = (uint32_t)((r->bytes - ARENA_REGION_HEAD) / cell_bytes);
    r->used = r->bumped = r->dirty = 0;
    BRG_ASSERT(r->capacity > 0);
    sms_poison(r->bump, r->bytes - ARENA_REGION_HEAD);
}

/* All of one list becomes empty. */
static void arena_empty_list(arena_local *local, arena_region **list)
{
    arena_region *r;

    while ((r = *list) != NULL) {
        arena_unlink(r);
        sms_poison((char *)r + ARENA_REGION_HEAD, r->bytes - ARENA_REGION_HEAD);
        r->used = 0;
        arena_retire(local, r);
    }
}

void arena_empty_local(arena_local *local, size_t keep)
{
    int i;

    atomic_store_explicit(&local->remote, NULL, memory_order_relaxed);
    for (i = 0; i < ARENA_CLASSES; i++)
        arena_empty_list(local, &local->avail[i]);
    arena_empty_list(local, &local->full);
    arena_shrink(local, keep);
}
