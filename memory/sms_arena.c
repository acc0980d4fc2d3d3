/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arenas: sms_arena.h describes them. Allocating and freeing on a cell's own thread takes no
 * lock and no atomic instruction.
 *
 * The last region of a class that has free cells stays where it is, so that a single request at a
 * time does not move it to and fro.
 */
#include "sms_arena.h"
#include "brigade/assert.h"
#include <stdio.h>
#include <string.h>

#define ARENA_CHUNK_DEFAULT ((size_t)256 << 10)
#define ARENA_CHUNK_LEAST ((size_t)16 << 10)
#define ARENA_CHUNK_MOST ((size_t)1 << 30)
#define ARENA_UNIT 4096
#define ARENA_LINEAR 256 /* up to here classes are 16 bytes apart, then four to each doubling */

static inline uint32_t arena_class(size_t bytes)
{
    unsigned power;

    BRG_ASSERT_DEBUG(bytes > 0);
    if (bytes <= ARENA_LINEAR)
        return (uint32_t)((bytes - 1) / 16);
    power = 63 - (unsigned)__builtin_clzll((unsigned long long)bytes - 1);
    return (uint32_t)(16 + (power - 8) * 4 + ((bytes - 1 - ((size_t)1 << power)) >> (power - 2)));
}

static size_t arena_class_size(uint32_t class_n)
{
    size_t power;

    if (class_n < 16)
        return ((size_t)class_n + 1) * 16;
    power = (size_t)1 << (8 + (class_n - 16) / 4);
    return power + ((class_n - 16) % 4 + 1) * (power / 4);
}

/* Cells. */

static inline void *arena_hand_out(arena_region *r, arena_cell *cell, size_t bytes)
{
    BRG_ASSERT_DEBUG(cell->region == r && r->used < r->capacity);
    cell->next = ARENA_LIVE;
    r->used++;
    sms_unpoison(cell + 1, bytes);
    return cell + 1;
}

static inline arena_cell *arena_bump(arena_region *r)
{
    arena_cell *cell = (arena_cell *)r->bump;

    BRG_ASSERT_DEBUG(r->bumped < r->capacity);
    sms_unpoison(cell, sizeof(*cell));
    cell->region = r;
    r->bump += r->cell_bytes;
    r->bumped++;
    return cell;
}

static inline void *arena_cell_get(arena_local *local, arena_region *r, size_t bytes)
{
    arena_cell *cell = r->free;
    void *block;

    if (cell != NULL)
        r->free = cell->next;
    else
        cell = arena_bump(r);
    block = arena_hand_out(r, cell, bytes);
    if (__builtin_expect(r->used == r->capacity, 0)) {
        arena_unlink(r);
        arena_link(&local->full, r);
    }
    return block;
}

static __attribute__((noinline)) arena_region *arena_region_make(arena_local *local,
                                                                 uint32_t class_n)
{
    arena_sms *a = arena_of(local);
    arena_region *r = arena_region_get(local, a->chunk);

    if (r == NULL)
        return NULL;
    arena_region_format(r, class_n, a->class_bytes[class_n] + sizeof(arena_cell));
    arena_link(&local->avail[class_n], r);
    return r;
}

static size_t arena_large_bytes(size_t bytes)
{
    return SMS_ROUND(bytes + ARENA_REGION_HEAD + sizeof(arena_cell), ARENA_UNIT);
}

static __attribute__((noinline)) void *arena_large(arena_local *local, size_t bytes)
{
    arena_region *r = arena_region_get(local, arena_large_bytes(bytes));

    if (r == NULL)
        return NULL;
    BRG_ASSERT(r->bytes > ARENA_REGION_HEAD + bytes);
    arena_region_format(r, ARENA_LARGE, r->bytes - ARENA_REGION_HEAD);
    arena_link(&local->full, r);
    return arena_hand_out(r, arena_bump(r), bytes);
}

static inline arena_local *arena_local_of(sms_slot *slot)
{
    return (arena_local *)slot->state;
}

static void *arena_local_allocate(brg_sms *s, arena_local *local, size_t bytes)
{
    arena_region *r;
    uint32_t class_n;

    if (__builtin_expect(arena_remote_waiting(local), 0))
        arena_remote_drain(local);
    if (__builtin_expect(bytes > ((arena_sms *)s)->cell_most, 0))
        return arena_large(local, bytes);
    class_n = arena_class(bytes);
    r = local->avail[class_n];
    if (__builtin_expect(r == NULL, 0)) {
        r = arena_region_make(local, class_n);
        if (r == NULL)
            return NULL;
    }
    return arena_cell_get(local, r, bytes);
}

static void *arena_allocate(brg_sms *s, size_t bytes)
{
    sms_slot *slot = sms_slot_here(s);
    void *block;

    if (__builtin_expect(slot == NULL, 0))
        return NULL;
    arena_enter(arena_local_of(slot));
    block = arena_local_allocate(s, arena_local_of(slot), bytes);
    arena_leave(arena_local_of(slot));
    if (__builtin_expect(block != NULL, 1))
        sms_count_allocated(s, slot, bytes);
    return block;
}

void arena_free_local(arena_local *local, arena_cell *cell)
{
    arena_region *r = cell->region;
    int was_full = r->used == r->capacity;

    if (__builtin_expect(cell->next != ARENA_LIVE, 0))
        sms_panic(local->system, "a block was freed twice", cell + 1);
    BRG_ASSERT_DEBUG(r->home == local && r->used > 0);
    cell->next = r->free;
    r->free = cell;
    r->dirty = 1;
    sms_poison(cell + 1, r->cell_bytes - sizeof(*cell));
    r->used--;
    if (__builtin_expect(was_full, 0)) {
        arena_unlink(r);
        if (r->class_n == ARENA_LARGE) {
            arena_retire(local, r);
            return;
        }
        arena_link(&local->avail[r->class_n], r);
    }
    if (r->used == 0 && (r->next != NULL || r->link != &local->avail[r->class_n])) {
        arena_unlink(r);
        arena_retire(local, r);
    }
}

static __attribute__((noinline)) void arena_free_remote(brg_sms *s, sms_slot *slot,
                                                        arena_local *home, arena_cell *cell)
{
    if (home->system != s)
        sms_panic(s, "a block of another system was freed", cell + 1);
    if (slot != NULL)
        sms_count(&slot->n.remote_frees, 1);
    arena_remote_push(home, cell);
}

static void arena_free(brg_sms *s, void *block, size_t bytes)
{
    arena_cell *cell = (arena_cell *)block - 1;
    arena_local *home = cell->region->home;
    sms_slot *slot = sms_slot_here(s);

    if (__builtin_expect(slot != NULL, 1))
        sms_count_freed(s, slot, bytes);
    if (__builtin_expect(slot != NULL && home == arena_local_of(slot), 1)) {
        arena_enter(home);
        arena_free_local(home, cell);
        arena_leave(home);
    } else
        arena_free_remote(s, slot, home, cell);
}

/* In place where the cell has room, and would not be mostly empty. */
static void *arena_resize(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
{
    arena_cell *cell = (arena_cell *)block - 1;
    size_t room = cell->region->cell_bytes - sizeof(*cell);
    sms_slot *slot;
    void *moved;

    if (bytes <= room && bytes >= room / 2 && (slot = sms_slot_here(s)) != NULL) {
        sms_count_freed(s, slot, old_bytes);
        sms_count_allocated(s, slot, bytes);
        if (bytes < old_bytes)
            sms_poison((char *)block + SMS_ROUND(bytes, 8), room - SMS_ROUND(bytes, 8));
        sms_unpoison(block, bytes);
        return block;
    }
    moved = arena_allocate(s, bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    arena_free(s, block, old_bytes);
    return moved;
}

static void arena_each(brg_sms *s, size_t keep)
{
    sms_slot *slot;

    pthread_mutex_lock(&s->counts->lock); /* not while idle ones are tidied */
    slot = atomic_load_explicit(&s->counts->slots, memory_order_acquire);
    for (; slot != NULL; slot = slot->next)
        arena_empty_local((arena_local *)slot->state, keep);
    pthread_mutex_unlock(&s->counts->lock);
}

static void arena_reset(brg_sms *s)
{
    arena_each(s, ((arena_sms *)s)->keep);
}

static void arena_destroy(brg_sms *s)
{
    arena_each(s, 0);
}

static void arena_trim(brg_sms *s)
{
    sms_slot *slot = sms_slot_here(s);
    arena_local *local = slot != NULL ? arena_local_of(slot) : NULL;

    if (local != NULL) {
        arena_enter(local);
        arena_tidy(local, 0);
        arena_leave(local);
    }
    arena_remote_drain_orphans(s);
}

static void arena_describe(const brg_sms *s, char *out, size_t n)
{
    const arena_sms *a = (const arena_sms *)s;
    char chunk[24], keep[24];

    snprintf(out, n, "chunk=%s,keep=%s", sms_format_size(a->chunk, chunk),
             sms_format_size(a->keep == SMS_LARGEST ? 0 : a->keep, keep));
}

static size_t arena_good_size(const brg_sms *s, size_t bytes)
{
    const arena_sms *a = (const arena_sms *)s;

    if (bytes > a->cell_most)
        return arena_large_bytes(bytes) - ARENA_REGION_HEAD - sizeof(arena_cell);
    return a->class_bytes[arena_class(bytes)];
}

static void arena_local_begin(brg_sms *s, void *state)
{
    ((arena_local *)state)->system = s;
}

static void arena_local_end(brg_sms *s, void *state)
{
    arena_tidy(state, 0);
}

static const sms_slot_rules arena_rules = {sizeof(arena_local), arena_local_begin, arena_local_end,
                                           arena_idle};

static const brg_sms_ops arena_ops = {
    .kind = "arena",
    .threads = BRG_SMS_ANY_THREAD,
    .per_block = BRG_SMS_CHUNKED,
    .allocate = arena_allocate,
    .resize = arena_resize,
    .free = arena_free,
    .reset = arena_reset,
    .destroy = arena_destroy,
    .owns = arena_owns,
    .describe = arena_describe,
    .good_size = arena_good_size,
    .trim = arena_trim,
    .verify = arena_verify,
};

static const char *arena_params(size_t *chunk, size_t *keep, const brg_sms_param *params,
                                int params_n, apr_pool_t *p)
{
    const char *message = NULL;
    int i;

    for (i = 0; i < params_n && message == NULL; i++)
        if (sms_param_is(&params[i], "chunk"))
            message = sms_param_size(&params[i], ARENA_CHUNK_LEAST, ARENA_CHUNK_MOST, chunk, p);
        else if (sms_param_is(&params[i], "keep"))
            message = sms_param_size(&params[i], 0, SMS_LARGEST, keep, p);
        else
            message = sms_param_unknown(&params[i], p);
    return message;
}

const char *sms_arena_create(brg_sms **out, brg_sms *parent, const brg_sms_param *params,
                             int params_n, apr_pool_t *p)
{
    size_t chunk = ARENA_CHUNK_DEFAULT, keep = sms_default_keep();
    const char *message = arena_params(&chunk, &keep, params, params_n, p);
    arena_sms *a;
    uint32_t i;

    if (message != NULL)
        return message;
    *out = sms_make_threaded(sizeof(arena_sms), &arena_ops, parent, &arena_rules);
    if (*out == NULL)
        return "out of memory";
    (*out)->flags |= SMS_COUNTS;
    a = (arena_sms *)*out;
    a->chunk = SMS_ROUND(chunk, ARENA_UNIT);
    a->keep = keep != 0 ? keep : SMS_LARGEST;
    a->cell_most = 16;
    for (i = 0; i < ARENA_CLASSES; i++) {
        a->class_bytes[i] = arena_class_size(i);
        if (a->class_bytes[i] <= a->chunk / 4)
            a->cell_most = a->class_bytes[i];
    }
    return NULL;
}
