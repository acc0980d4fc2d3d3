/* SPDX-License-Identifier: Apache-2.0 */
/* Places of objects in the table, for copies that loops keep of them. Whatever takes an object away changes its slot, or the
 * number of purges. A slot has the same value again at the earliest when its segment was filled 512 times; before that
 * store_place_look() was called, which compares the keys. */
#include "store_private.h"

/* Names of fields that lead to variants are no response: they do not become stale. */
static int store_is_stale(const store_record *r, int purged)
{
    const uint32_t word = atomic_load(&r->word);

    return !(word & STORE_REC_VARY) && (purged || word & STORE_REC_SOFT);
}

int store_place_look(store_reader *reader, store_place *place)
{
    store *s = reader->s;
    const uint64_t slot = atomic_load(place->slot);
    const uint32_t epoch = store_epoch(s); /* before the purges are looked at */
    store_parts parts;
    store_record *r;
    int purged, holds;

    BRG_ASSERT(store_slot_kind(place->value) == STORE_SLOT_OBJECT);
    if ((slot & ~STORE_SLOT_HITS) != place->value ||
        !(r = store_slot_pin(reader, &place->key, place->slot, slot, &parts)))
        return 0;
    purged = store_is_purged(s, r, &parts);
    holds = purged < 2 && !store_is_stale(r, purged);
    store_unpin(reader, store_link_segment(store_slot_link(slot)));
    if (holds)
        place->epoch = epoch;
    return holds;
}

int store_place_holds(store_reader *reader, store_place *place)
{
    if (store_epoch(reader->s) != place->epoch)
        return store_place_look(reader, place);
    return (atomic_load(place->slot) & ~STORE_SLOT_HITS) == place->value;
}

void store_place_hit(const store_place *place)
{
    uint64_t slot = atomic_load_explicit(place->slot, memory_order_relaxed);

    if ((slot & ~STORE_SLOT_HITS) == place->value &&
        (slot & STORE_SLOT_HITS) != STORE_SLOT_HITS) /* written seven times, not at each hit */
        atomic_compare_exchange_strong(place->slot, &slot, slot + STORE_SLOT_HIT);
}
