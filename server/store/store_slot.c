/* SPDX-License-Identifier: Apache-2.0 */
/* The table: slots that are written by compare-and-swap. */
#include "store_private.h"

#define STORE_PASS_GHOST (1ull << 61)

_Atomic uint64_t *store_slot_find(const store *s, const store_key *key, uint64_t slot)
{
    for (int i = 0; i < STORE_SLOTS; i++) {
        _Atomic uint64_t *at = store_slot_at(s, key, i);

        if (atomic_load(at) == slot)
            return at;
    }
    return NULL;
}

/* How much is lost if this slot is overwritten. Flights never are. */
static uint32_t store_slot_worth(uint64_t slot)
{
    switch (store_slot_kind(slot)) {
    case STORE_SLOT_NONE:
        return 0;
    case STORE_SLOT_PASS:
        return slot & STORE_PASS_GHOST ? 1 : 2;
    case STORE_SLOT_OBJECT:
        return 3 + store_slot_hits(slot);
    default:
        return 100;
    }
}

/* Of two buckets the emptier one, so that hardly any is ever full (Azar et al., "Balanced Allocations", 1994). */
static int store_slot_emptier(const store *s, const store_key *key)
{
    int used[2] = {0, 0};

    for (int i = 0; i < STORE_SLOTS; i++)
        used[i / STORE_BUCKET] +=
            atomic_load_explicit(store_slot_at(s, key, i), memory_order_relaxed) != 0;
    return used[1] < used[0] ? STORE_BUCKET : 0;
}

_Atomic uint64_t *store_slot_put(store *s, const store_key *key, uint64_t slot)
{
    BRG_ASSERT(slot && (slot & 0xffff) == (key->b & 0xffff));
    for (int tries = 0; tries < 8; tries++) {
        _Atomic uint64_t *best = NULL;
        uint64_t old = 0;
        uint32_t least = 100;

        const int first = store_slot_emptier(s, key);

        for (int k = 0; k < STORE_SLOTS; k++) {
            _Atomic uint64_t *at = store_slot_at(s, key, (k + first) % STORE_SLOTS);
            const uint64_t there = atomic_load(at);
            const uint32_t worth = store_slot_worth(there);

            if (worth < least) {
                least = worth;
                best = at;
                old = there;
            }
        }
        if (!best)
            return NULL;
        STORE_STEP("slot chosen");
        if (atomic_compare_exchange_strong(best, &old, slot)) {
            if (least >= 3) {
                STORE_COUNT(s, evicted);
                store_object_gone(s, old);
            }
            return best;
        }
    }
    return NULL;
}

/*
 * A hand goes round the table and takes objects that were not asked for since it passed last (the clock algorithm: Corbato, "A
 * Paging Experiment", 1968). A call looks at a bounded number of slots, so that no loop is held up; the next one goes on there.
 */
#define STORE_TRIM_SLOTS 65536

static uint64_t store_trim_most(const store *s)
{
    const uint64_t some = 4ull * s->buckets * STORE_BUCKET / s->limits.objects_most;

    return some > STORE_TRIM_SLOTS ? some : STORE_TRIM_SLOTS;
}

static int store_has_too_many(const store *s)
{
    return s->limits.objects_most && atomic_load(&s->shared->objects) > s->limits.objects_most;
}

void store_slot_trim(store_reader *reader, const _Atomic uint64_t *keep)
{
    store *s = reader->s;
    const uint32_t slots = s->buckets * STORE_BUCKET;

    BRG_ASSERT(reader->clock < slots);
    for (uint64_t n = 0; store_has_too_many(s) && n < store_trim_most(s); n++) {
        _Atomic uint64_t *at = s->slot + reader->clock;
        uint64_t slot = atomic_load(at);
        const uint32_t hits = store_slot_hits(slot);

        reader->clock = (reader->clock + 1) % slots;
        if (at == keep || store_slot_kind(slot) != STORE_SLOT_OBJECT)
            continue;
        if (hits) {
            atomic_compare_exchange_strong(at, &slot,
                                           (slot & ~(7ull << 59)) | (uint64_t)(hits / 2) << 59);
        } else if (atomic_compare_exchange_strong(at, &slot, 0)) {
            STORE_COUNT(s, evicted);
            store_object_gone(s, slot);
        }
    }
}

static uint64_t store_pass_tag(const store_key *key)
{
    return (key->b & 0xffff) | (key->a >> 51) << 48;
}

#define STORE_PASS_TAG 0x1fff00000000ffffull

int store_slot_is_pass(const store_key *key, uint64_t slot)
{
    return store_slot_kind(slot) == STORE_SLOT_PASS &&
           (slot & STORE_PASS_TAG) == store_pass_tag(key);
}

int store_slot_passes(const store_key *key, uint64_t slot, apr_time_t now)
{
    return store_slot_is_pass(key, slot) && !(slot & STORE_PASS_GHOST) &&
           (uint32_t)(slot >> 16) > (uint64_t)apr_time_sec(now);
}

/* As many ghosts count as there are objects: older ones say nothing about the present value of a
 * place. */
int store_slot_has_ghost(const store *s, const store_key *key)
{
    const uint64_t evicted = atomic_load_explicit(&s->shared->evicted, memory_order_relaxed);

    for (int i = 0; i < STORE_SLOTS; i++) {
        const uint64_t slot = atomic_load(store_slot_at(s, key, i));

        if (store_slot_is_pass(key, slot) && (slot & STORE_PASS_GHOST))
            return (uint32_t)evicted - (uint32_t)(slot >> 16) < atomic_load(&s->shared->objects);
    }
    return 0;
}

static void store_pass_put(store *s, const store_key *key, uint64_t what)
{
    const uint64_t slot = (uint64_t)STORE_SLOT_PASS << 62 | what | store_pass_tag(key);

    for (int i = 0; i < STORE_SLOTS; i++) {
        _Atomic uint64_t *at = store_slot_at(s, key, i);
        uint64_t old = atomic_load(at);

        if (store_slot_is_pass(key, old)) {
            atomic_compare_exchange_strong(at, &old, slot);
            return;
        }
    }
    store_slot_put(s, key, slot);
}

void store_slot_pass(store *s, const store_key *key, uint32_t until)
{
    store_pass_put(s, key, (uint64_t)until << 16);
}

void store_slot_ghost(store *s, const store_key *key)
{
    const uint32_t evicted =
        (uint32_t)atomic_load_explicit(&s->shared->evicted, memory_order_relaxed);

    store_pass_put(s, key, STORE_PASS_GHOST | (uint64_t)evicted << 16);
}

/* ---- how many variants: in a cell the key that comes most often stays, as in the frequent items of Misra and Gries. */

static uint32_t store_variant_bits(uint64_t mark)
{
    return (uint32_t)(mark >> 20 & 0xffff) << 16;
}

uint32_t store_variants(const store *s, uint64_t mark)
{
    const uint32_t cell = atomic_load(&s->shared->variants[(mark >> 1) % STORE_VARIANT_COUNTS]);

    return (cell & 0xffff0000u) == store_variant_bits(mark) ? cell & 0xffff : 0;
}

void store_variants_add(store *s, uint64_t mark, int by)
{
    _Atomic uint32_t *at = &s->shared->variants[(mark >> 1) % STORE_VARIANT_COUNTS];
    uint32_t cell = atomic_load(at), next;

    do {
        const uint32_t n = cell & 0xffff;

        if ((cell & 0xffff0000u) == store_variant_bits(mark))
            next = by > 0 ? cell + (n < 0xffff) : cell - (n > 0);
        else if (by < 0)
            return;
        else
            next = n ? cell - 1 : store_variant_bits(mark) | 1;
    } while (!atomic_compare_exchange_weak(at, &cell, next));
}
