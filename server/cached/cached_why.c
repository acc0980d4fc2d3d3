/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why answers were not stored: the last reason of each of some thousand keys, in memory that all
 * processes share. A place is found by its key; a later key takes it. Words are written one by one,
 * and the key last: a reader compares it before and after.
 */
#include "cached_named_private.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include <stdatomic.h>
#include <string.h>

#define WHY_PLACES 4096
#define WHY_WORDS (CACHED_WHY_TEXT / 8)

typedef struct why_place {
    _Atomic uint64_t key, when, what; /* what: times << 16 | code */
    _Atomic uint64_t text[WHY_WORDS];
    char rest[128 - 8 * (3 + WHY_WORDS)];
} why_place;

_Static_assert(sizeof(why_place) == 128, "two lines of a cache");

static why_place *why_places;

size_t cached_why_size(void)
{
    return WHY_PLACES * sizeof *why_places;
}

void cached_why_use(void *memory)
{
    BRG_ASSERT(memory);
    why_places = memory;
}

static why_place *why_of(const store_key *key)
{
    return why_places ? why_places + key->b % WHY_PLACES : NULL;
}

static uint64_t why_key(const store_key *key)
{
    return key->a | 1;
}

void cached_why_note(const store_key *key, int code, const char *reason)
{
    why_place *at = why_of(key);
    uint64_t words[WHY_WORDS] = {0}, times = 1;

    if (!at)
        return;
    if (atomic_load_explicit(&at->key, memory_order_relaxed) == why_key(key)) {
        times = atomic_load_explicit(&at->what, memory_order_relaxed) >> 16;
        times += times < UINT16_MAX;
    }
    memcpy(words, reason, strnlen(reason, sizeof words - 1));
    atomic_store(&at->key, 0);
    atomic_store_explicit(&at->when, (uint64_t)brg_now(), memory_order_relaxed);
    atomic_store_explicit(&at->what, times << 16 | (uint16_t)code, memory_order_relaxed);
    for (int i = 0; i < WHY_WORDS; i++)
        atomic_store_explicit(&at->text[i], words[i], memory_order_relaxed);
    atomic_store(&at->key, why_key(key));
}

/* The reason of a place for this key. @return 0: nothing, or another key's by now */
static int why_read(const why_place *at, uint64_t key, cached_reason *reason)
{
    uint64_t words[WHY_WORDS], what;

    if (atomic_load(&at->key) != key)
        return 0;
    reason->when = (apr_time_t)atomic_load_explicit(&at->when, memory_order_relaxed);
    what = atomic_load_explicit(&at->what, memory_order_relaxed);
    for (int i = 0; i < WHY_WORDS; i++)
        words[i] = atomic_load_explicit(&at->text[i], memory_order_relaxed);
    reason->code = (uint16_t)what;
    reason->times = (uint32_t)(what >> 16);
    memcpy(reason->text, words, sizeof words);
    reason->text[sizeof words - 1] = '\0';
    return atomic_load(&at->key) == key;
}

int cached_why_get(const store_key *key, cached_reason *reason)
{
    const why_place *at = why_of(key);

    return at && why_read(at, why_key(key), reason);
}

void cached_why_each(void (*fn)(void *data, const cached_reason *reason), void *data)
{
    cached_reason reason;

    for (int i = 0; why_places && i < WHY_PLACES; i++) {
        const uint64_t key = atomic_load(&why_places[i].key);

        if (key && why_read(why_places + i, key, &reason))
            fn(data, &reason);
    }
}
