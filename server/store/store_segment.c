/* SPDX-License-Identifier: Apache-2.0 */
/* Segments: their writers, their pins, and how they become free. */
#include "store_private.h"

#include <string.h>
#include <sys/mman.h>

static _Atomic uint32_t *store_pin_of(const store_reader *reader, uint32_t segment)
{
    return reader->s->pin + (size_t)reader->row * reader->s->segments + segment;
}

void store_pin(store_reader *reader, uint32_t segment)
{
    BRG_ASSERT(segment < reader->s->segments);
    atomic_fetch_add(store_pin_of(reader, segment),
                     1); /* before the state is read: pairs with store_is_pinned() */
}

void store_unpin(store_reader *reader, uint32_t segment)
{
    BRG_ASSERT(segment < reader->s->segments);
    atomic_fetch_sub(store_pin_of(reader, segment), 1);
}

static int store_is_pinned(const store *s, uint32_t segment)
{
    const store_segment *g = s->segment + segment;
    const uint32_t anchor = atomic_load(&g->anchor);

    if (anchor != segment && anchor < s->segments) {
        if (atomic_load(&g->anchor_generation) != atomic_load(&s->segment[anchor].generation))
            return 0; /* the anchor was freed, so nobody had it pinned */
        segment = anchor;
    }
    for (uint32_t row = 0; row < s->limits.readers; row++)
        if (atomic_load(&s->row[row].state) == STORE_ROW_LIVE &&
            atomic_load(&s->pin[(size_t)row * s->segments + segment]))
            return 1;
    return 0;
}

void store_segment_seal(store *s, uint32_t segment)
{
    uint32_t open = STORE_SEG_OPEN;

    atomic_compare_exchange_strong(&s->segment[segment].state, &open, STORE_SEG_SEALED);
}

void store_segment_drop(store *s, uint32_t segment)
{
    uint32_t state = atomic_load(&s->segment[segment].state);

    while ((state == STORE_SEG_OPEN || state == STORE_SEG_SEALED || state == STORE_SEG_SWEEPING) &&
           !atomic_compare_exchange_weak(&s->segment[segment].state, &state, STORE_SEG_DYING))
        ;
}

/* The pages go back to the system. Pages that a socket still has stay as they are; the next writer
 * here gets new ones. */
static void store_punch(store_reader *reader, uint32_t segment)
{
    store *s = reader->s;
    store_segment *g = s->segment + segment;

    BRG_ASSERT(segment < s->segments);
    STORE_STEP("before the hole");
    if (madvise(s->data + (size_t)segment * STORE_SEGMENT, STORE_SEGMENT, MADV_REMOVE))
        memset(s->data + (size_t)segment * STORE_SEGMENT, 0,
               STORE_SEGMENT); /* no view is open on it */
    STORE_STEP("behind the hole");
    atomic_store(&g->used, 0);
    atomic_store(&g->counted, 0);
    atomic_fetch_add(&g->generation, 1);
    atomic_store(&g->state, STORE_SEG_FREE);
}

/* The right to change a segment from one state to the next, also where an owner died between the two. */
static int store_segment_take(store_reader *reader, uint32_t segment, uint32_t from, uint32_t to)
{
    store_segment *g = reader->s->segment + segment;
    uint32_t owner = atomic_load(&g->owner);

    if (atomic_load(&g->state) == to) {
        if (store_owner_lives(reader->s, owner))
            return 0;
    } else if (!atomic_compare_exchange_strong(&g->state, &from, to)) {
        return 0;
    }
    /* Until the owner is set, another process may see the new state with a dead owner: one of the two gets the segment. */
    STORE_STEP("segment taken");
    return atomic_compare_exchange_strong(&g->owner, &owner,
                                          store_owner(reader->row, reader->incarnation)) &&
           atomic_load(&g->state) == to;
}

static void store_free_if_unpinned(store_reader *reader, uint32_t segment)
{
    if (!store_is_pinned(reader->s, segment) &&
        store_segment_take(reader, segment, STORE_SEG_DYING, STORE_SEG_PUNCHING))
        store_punch(reader, segment);
}

/* Free everything that needs no choice: segments that die, and pieces whose object is gone. Open
 * segments of dead owners are sealed. */
static void store_segment_tidy(store_reader *reader, uint32_t i)
{
    store *s = reader->s;
    store_segment *g = s->segment + i;
    const uint32_t state = atomic_load(&g->state), anchor = atomic_load(&g->anchor);

    if (state == STORE_SEG_OPEN && !store_owner_lives(s, atomic_load(&g->owner)))
        store_segment_seal(s, i);
    if (state == STORE_SEG_SEALED && anchor != i && anchor < s->segments &&
        atomic_load(&g->anchor_generation) != atomic_load(&s->segment[anchor].generation))
        store_segment_drop(s, i);
    if (state == STORE_SEG_DYING || state == STORE_SEG_PUNCHING)
        store_free_if_unpinned(reader, i);
}

uint64_t store_bytes_used(const store *s, uint32_t *free_segments)
{
    uint64_t bytes = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->segments; i++)
        if (atomic_load_explicit(&s->segment[i].state, memory_order_relaxed) == STORE_SEG_FREE)
            n++;
        else
            bytes += atomic_load_explicit(&s->segment[i].counted, memory_order_relaxed);
    if (free_segments)
        *free_segments = n;
    return bytes;
}

int64_t store_segment_own(store_reader *reader, int kind)
{
    store *s = reader->s;

    for (uint32_t i = 0; i < s->segments; i++) {
        store_segment *g = s->segment + i;
        uint32_t state = STORE_SEG_FREE;

        if (atomic_load_explicit(&g->state, memory_order_relaxed) != STORE_SEG_FREE)
            continue;
        if (!atomic_compare_exchange_strong(&g->state, &state, STORE_SEG_OPEN))
            continue;
        atomic_store(&g->owner, store_owner(reader->row, reader->incarnation));
        atomic_store(&g->kind, (uint32_t)kind);
        atomic_store(&g->anchor, i);
        atomic_store(&g->counted, kind == STORE_CLASS_LARGE ? 0 : STORE_SEGMENT);
        atomic_store(&g->order, atomic_fetch_add(&s->shared->order, 1));
        STORE_STEP("segment opened");
        return i;
    }
    return -1;
}

store_record *store_alloc(store_reader *reader, int kind, int evict, uint32_t bytes,
                          uint32_t *segment)
{
    store *s = reader->s;
    const uint32_t granules = (bytes + STORE_GRANULE - 1) / STORE_GRANULE;
    store_segment *g;
    store_record *r;
    uint32_t used;

    BRG_ASSERT(granules <= STORE_GRANULES);
    if (!reader->open[kind] || reader->used[kind] + granules > STORE_GRANULES) {
        int64_t next;

        if (evict && store_make_room(reader, STORE_SEGMENT))
            return NULL;
        next = store_segment_own(reader, kind);
        if (next < 0)
            return NULL;
        if (reader->open[kind])
            store_segment_seal(s, reader->open[kind] - 1);
        reader->open[kind] = (uint32_t)next + 1;
        reader->used[kind] = 0;
    }
    BRG_ASSERT(reader->open[kind] && reader->used[kind] + granules <= STORE_GRANULES);
    *segment = reader->open[kind] - 1;
    g = s->segment + *segment;
    used = reader->used[kind];
    reader->used[kind] += granules;
    r = (void *)(s->data + (size_t)*segment * STORE_SEGMENT + (size_t)used * STORE_GRANULE);
    atomic_store_explicit(&r->word, 0, memory_order_relaxed);
    atomic_store_explicit(&r->size, granules, memory_order_relaxed);
    STORE_STEP("record begun");
    atomic_store_explicit(&g->used, used + granules, memory_order_release);
    return r;
}

/* ---- eviction */

/* Rounds that it stays without a hit: a costly object gets some when it first survives, and has one
 * less each time. */
static uint32_t store_rounds(const store *s, const store_record *r, uint64_t slot)
{
    const uint32_t segment = store_segment_of(s, r);

    return atomic_load(&s->segment[segment].kind) == STORE_CLASS_MAIN ? store_slot_hits(slot) - 1
                                                                      : store_worth(r);
}

/* Copy an object that was asked for, with the body that it borrowed, to a segment of the main class. */
static int store_promote_view(store_reader *reader, const store_view *view, _Atomic uint64_t *at,
                              uint64_t slot)
{
    store *s = reader->s;
    store_record *r = view->record, *body = view->body, *to;
    store_parts parts, body_parts;
    uint64_t length = atomic_load(&body->length);
    uint32_t segment, head, bytes;

    if (store_record_parts(s, r, &parts) || store_record_parts(s, body, &body_parts) ||
        (atomic_load(&body->word) & STORE_REC_LINKED && body != r && body_parts.link) ||
        length > body_parts.body_room)
        return 0;
    BRG_ASSERT(parts.body >= parts.marks && view->reader == reader);
    head = (uint32_t)(parts.body - parts.marks);
    bytes = (uint32_t)sizeof *r + head + (uint32_t)length;
    if (bytes > STORE_SHARED_MOST ||
        !(to = store_alloc(reader, STORE_CLASS_MAIN, 0, bytes, &segment)))
        return 0;
    to->key = r->key;
    atomic_store(&to->stamp, atomic_load(&r->stamp));
    to->head_len = (uint32_t)(parts.body - parts.marks) - 8 * parts.marks_n;
    atomic_store(&to->length, length);
    memcpy(to + 1, parts.marks, head);
    memcpy((char *)(to + 1) + head, body_parts.body, (size_t)length);
    atomic_fetch_or(&to->size, parts.marks_n << 17 | store_worth(r) << 24);
    STORE_STEP("promoted");
    atomic_store(&to->word, atomic_load(&r->word) & ~(STORE_REC_LINKED | STORE_REC_BORROWS));
    if (!atomic_compare_exchange_strong(at, &slot,
                                        store_slot_make(STORE_SLOT_OBJECT, store_rounds(s, r, slot),
                                                        store_link_of(s, to), &r->key))) {
        atomic_store(&to->word, 0);
        return 0;
    }
    STORE_COUNT(s, promoted);
    return 1;
}

static int store_promote(store_reader *reader, store_record *r, _Atomic uint64_t *at, uint64_t slot)
{
    const uint32_t segment = store_segment_of(reader->s, r);
    store_view view;
    int moved;

    store_pin(reader, segment);
    if (!store_view_make(reader, r, &view)) {
        store_unpin(reader, segment);
        return 0;
    }
    moved = store_promote_view(reader, &view, at, slot);
    store_release(&view);
    return moved;
}

/* The record that a slot leads to, if that is the swept record or borrows its body; else NULL. */
static store_record *store_swept(store *s, store_record *r, uint64_t link, uint64_t slot)
{
    store_parts parts;
    store_record *user;

    if (store_slot_kind(slot) != STORE_SLOT_OBJECT)
        return NULL;
    if (store_slot_link(slot) == link)
        return store_record_parts(s, r, &parts) ? NULL : r;
    if ((slot & 0xffff) != (r->key.b & 0xffff) ||
        !(user = store_record_at(s, store_slot_link(slot))) ||
        !(atomic_load(&user->word) & STORE_REC_BORROWS) || user->key.a != r->key.a ||
        user->key.b != r->key.b || store_record_parts(s, user, &parts))
        return NULL;
    return parts.link == (link | STORE_LINK_SET) ? user : NULL;
}

/* An object of a segment that is to be freed: it goes, or moves. 1: the segment has to stay for it */
static int store_sweep_record(store_reader *reader, store_record *r, uint64_t link, int large)
{
    store *s = reader->s;
    store_parts parts;

    for (int i = 0; i < STORE_SLOTS; i++) {
        _Atomic uint64_t *at = store_slot_at(s, &r->key, i);
        uint64_t slot = atomic_load(at);
        store_record *user = store_swept(s, r, link, slot);

        if (!user || store_record_parts(s, user, &parts))
            continue;
        if (store_slot_hits(slot) && store_is_purged(s, user, &parts) < 2) {
            if (large) {
                atomic_compare_exchange_strong(at, &slot, slot & ~(7ull << 59));
                return 1;
            }
            if (store_promote(reader, user, at, slot))
                continue;
        }
        store_object_forget(s, &r->key, slot);
        STORE_COUNT(s, evicted);
        if (!store_slot_hits(slot))
            store_slot_ghost(s, &r->key);
    }
    return 0;
}

static void store_sweep(store_reader *reader, uint32_t segment)
{
    store *s = reader->s;
    store_segment *g = s->segment + segment;
    const uint32_t used = atomic_load(&g->used);
    char *base = s->data + (size_t)segment * STORE_SEGMENT;

    for (uint32_t at = 0; at < used && used <= STORE_GRANULES;) {
        store_record *r = (void *)(base + (size_t)at * STORE_GRANULE);
        const uint32_t granules = atomic_load(&r->size) & 0x1ffff;

        if (granules < 3 || granules > used - at)
            break;
        STORE_STEP("sweeping");
        if (store_sweep_record(reader, r, store_link(atomic_load(&g->generation), segment, at),
                               atomic_load(&g->kind) == STORE_CLASS_LARGE)) {
            uint32_t sweeping = STORE_SEG_SWEEPING;

            atomic_store(&g->order, atomic_fetch_add(&s->shared->order, 1));
            atomic_compare_exchange_strong(&g->state, &sweeping, STORE_SEG_SEALED);
            return;
        }
        at += granules;
    }
    store_segment_drop(s, segment);
    store_free_if_unpinned(reader, segment);
}

/* The oldest segment of the small class if that has more than a tenth of the memory, else of the main class. */
static int64_t store_victim(store_reader *reader)
{
    store *s = reader->s;
    uint64_t small = 0, oldest[2] = {UINT64_MAX, UINT64_MAX};
    int64_t victim[2] = {-1, -1};

    for (uint32_t i = 0; i < s->segments; i++) {
        store_segment *g = s->segment + i;
        const uint32_t state = atomic_load(&g->state), kind = atomic_load(&g->kind);
        const int is_main = kind == STORE_CLASS_MAIN;

        if (state != STORE_SEG_FREE && !is_main)
            small += atomic_load(&g->counted);
        if ((state != STORE_SEG_SEALED &&
             !(state == STORE_SEG_SWEEPING && !store_owner_lives(s, atomic_load(&g->owner)))) ||
            atomic_load(&g->anchor) != i)
            continue;
        if (atomic_load(&g->order) < oldest[is_main]) {
            oldest[is_main] = atomic_load(&g->order);
            victim[is_main] = i;
        }
    }
    return victim[1] < 0 || (small * 10 > s->limits.bytes && victim[0] >= 0) ? victim[0]
                                                                             : victim[1];
}

static int store_evict(store_reader *reader)
{
    for (int tries = 0; tries < 8; tries++) {
        const int64_t i = store_victim(reader);
        store_segment *g;

        if (i < 0)
            return -1;
        g = reader->s->segment + i;
        if (store_is_pinned(reader->s, (uint32_t)i)) { /* it would not become free: others first */
            atomic_store(&g->order, atomic_fetch_add(&reader->s->shared->order, 1));
            continue;
        }
        if (store_segment_take(reader, (uint32_t)i, STORE_SEG_SEALED, STORE_SEG_SWEEPING)) {
            store_sweep(reader, (uint32_t)i);
            return 0;
        }
    }
    return -1;
}

int store_make_room(store_reader *reader, uint64_t bytes)
{
    store *s = reader->s;
    uint32_t free_segments;

    for (int tries = 0; tries < 64; tries++) {
        if (store_bytes_used(s, &free_segments) + bytes <= s->limits.bytes && free_segments > 2)
            return 0;
        for (uint32_t i = 0; i < s->segments; i++)
            store_segment_tidy(reader, i);
        if (store_bytes_used(s, &free_segments) + bytes <= s->limits.bytes && free_segments > 2)
            return 0;
        if (store_evict(reader))
            break;
    }
    return store_bytes_used(s, &free_segments) + bytes <= s->limits.bytes && free_segments > 2 ? 0
                                                                                               : -1;
}
