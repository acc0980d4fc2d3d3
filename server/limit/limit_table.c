/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of keys. A slot that another key took between two steps is noticed by its key: rates try
 * again, counts take back their addition. */
#include "limit_table.h"
#include "apr_general.h"
#include "brigade/assert.h"
#include <string.h>

/* A thread that loses a race so often goes on without: the others moved the word on. */
#define TRIES 8

static uint32_t table_sets(uint32_t keys)
{
    uint32_t sets = LIMIT_KEYS_LEAST / LIMIT_WAYS;

    while (sets * LIMIT_WAYS < keys && sets < 1u << 26)
        sets *= 2;
    return sets;
}

/* Fewer keys have something in flight than ask. */
static uint32_t table_count_sets(uint32_t keys)
{
    return table_sets(keys / 4);
}

#define TABLE_LINE 4096

_Static_assert(sizeof(limit_header) > 2 * TABLE_LINE && sizeof(limit_header) <= 3 * TABLE_LINE,
               "test/e2e/held.py reads the slots behind it");

static size_t table_header_bytes(void)
{
    return (sizeof(limit_header) + TABLE_LINE - 1) / TABLE_LINE * TABLE_LINE;
}

size_t limit_table_bytes(uint32_t keys, uint32_t processes)
{
    const size_t counts = (size_t)table_count_sets(keys) * LIMIT_WAYS;

    return table_header_bytes() +
           ((size_t)table_sets(keys) * LIMIT_WAYS + counts) * sizeof(limit_slot) +
           counts * processes * sizeof(uint32_t);
}

int limit_table_open(limit_table *t, void *memory, uint32_t keys, uint32_t processes)
{
    char *at = memory;

    BRG_ASSERT(memory && processes > 0);
    t->header = memory;
    t->rate_sets = table_sets(keys);
    t->count_sets = table_count_sets(keys);
    BRG_ASSERT(!(t->rate_sets & (t->rate_sets - 1)) &&
               !(t->count_sets & (t->count_sets - 1))); /* limit_set() */
    t->processes = processes;
    t->rates = (limit_slot *)(void *)(at += table_header_bytes());
    t->counts = t->rates + (size_t)t->rate_sets * LIMIT_WAYS;
    t->held = (_Atomic uint32_t *)(void *)(t->counts + (size_t)t->count_sets * LIMIT_WAYS);
    if (atomic_load(&t->header->is_seeded))
        return 0;
    if (apr_generate_random_bytes((unsigned char *)&t->header->secret, sizeof t->header->secret))
        return -1;
    atomic_store(&t->header->is_seeded, 1);
    return 0;
}

/* ---- rates ---- */

static inline limit_slot *place_find(limit_slot *set, uint64_t key)
{
    for (int i = 0; i < LIMIT_WAYS; i++)
        if (atomic_load_explicit(&set[i].key, memory_order_relaxed) == key)
            return &set[i];
    return NULL;
}

/* The slot whose value is least: its use is paid for, or will be first. */
static limit_slot *place_least(limit_slot *set)
{
    limit_slot *least = set;

    for (int i = 1; i < LIMIT_WAYS; i++)
        if (atomic_load_explicit(&set[i].value, memory_order_relaxed) <
            atomic_load_explicit(&least->value, memory_order_relaxed))
            least = &set[i];
    return least;
}

/* A slot for a key that has none. NULL: another took it in between. */
static __attribute__((noinline)) limit_slot *rate_claim(limit_table *t, limit_slot *set,
                                                        uint64_t key, uint64_t now)
{
    limit_slot *p = place_least(set);
    uint64_t of = atomic_load_explicit(&p->key, memory_order_relaxed);

    if (!atomic_compare_exchange_strong_explicit(&p->key, &of, key, memory_order_relaxed,
                                                 memory_order_relaxed))
        return NULL;
    if (atomic_exchange_explicit(&p->value, now, memory_order_relaxed) > now)
        atomic_fetch_add_explicit(&t->header->displaced, 1, memory_order_relaxed);
    return p;
}

static inline limit_slot *rate_slot(limit_table *t, uint64_t key, uint64_t now)
{
    limit_slot *set = limit_set(t->rates, t->rate_sets, key), *p = place_find(set, key);

    return p ? p : rate_claim(t, set, key, now);
}

int limit_rate_take(limit_table *t, uint64_t key, uint64_t cost, uint64_t burst, uint64_t now,
                    uint64_t *ahead)
{
    BRG_ASSERT_DEBUG(key != 0);
    *ahead = 0;
    for (int i = 0; i < TRIES; i++) {
        limit_slot *p = rate_slot(t, key, now);
        uint64_t was, from;

        if (!p)
            continue;
        was = atomic_load_explicit(&p->value, memory_order_relaxed);
        from = was > now ? was : now;
        *ahead = from - now;
        if (*ahead > burst) {
            *ahead -= burst;
            return 0;
        }
        if (atomic_compare_exchange_strong_explicit(&p->value, &was, from + cost,
                                                    memory_order_relaxed, memory_order_relaxed))
            return 1;
    }
    return 1;
}

uint64_t limit_rate_charge(limit_table *t, uint64_t key, uint64_t cost, uint64_t now)
{
    uint64_t ahead;

    (void)limit_rate_take(t, key, cost, UINT64_MAX, now, &ahead);
    return ahead;
}

uint64_t limit_rate_ahead(limit_table *t, uint64_t key, uint64_t now)
{
    const limit_slot *p = place_find(limit_set(t->rates, t->rate_sets, key), key);
    const uint64_t until = p ? atomic_load_explicit(&p->value, memory_order_relaxed) : 0;

    return until > now ? until - now : 0;
}

/* ---- counts ---- */

uint64_t limit_count_of(limit_table *t, uint64_t key)
{
    const limit_slot *p = place_find(limit_set(t->counts, t->count_sets, key), key);

    return p ? atomic_load_explicit(&p->value, memory_order_relaxed) : 0;
}

/* A free slot; NULL: all are held, or another took it (*lost). */
static limit_slot *count_claim(limit_slot *set, uint64_t key, int *lost)
{
    limit_slot *p = place_least(set);
    uint64_t of = atomic_load(&p->key);

    *lost = 0;
    if (atomic_load(&p->value))
        return NULL;
    *lost = !atomic_compare_exchange_strong(&p->key, &of, key);
    return *lost ? NULL : p;
}

/* One more at a slot, if it is still the key's. @return 1; 0: there are enough; -1: it is another's */
static int count_add(limit_slot *p, uint64_t key, uint64_t most)
{
    const uint64_t before = atomic_fetch_add(&p->value, 1);
    const int is_ours = atomic_load(&p->key) == key;

    if (is_ours && before < most)
        return 1;
    atomic_fetch_sub(&p->value, 1);
    return is_ours ? 0 : -1;
}

int limit_count_enter(limit_table *t, uint64_t key, uint64_t most, uint32_t process, uint32_t *slot)
{
    limit_slot *set = limit_set(t->counts, t->count_sets, key);
    int lost = 1;

    BRG_ASSERT(key != 0 && process < t->processes);
    *slot = 0;
    for (int i = 0; lost && i < TRIES; i++) {
        limit_slot *p = place_find(set, key);
        int in;

        lost = 0;
        if (!p && !(p = count_claim(set, key, &lost)))
            continue;
        in = count_add(p, key, most);
        if (in == 0)
            return 0;
        lost = in < 0;
        if (lost)
            continue;
        *slot = (uint32_t)(p - t->counts) + 1;
        BRG_ASSERT(*slot > 0 && *slot <= t->count_sets * LIMIT_WAYS); /* limit_count_leave() */
        atomic_fetch_add_explicit(
            &t->held[(size_t)process * t->count_sets * LIMIT_WAYS + *slot - 1], 1,
            memory_order_relaxed);
        return 1;
    }
    atomic_fetch_add_explicit(&t->header->unkept, 1, memory_order_relaxed);
    return 1;
}

void limit_count_leave(limit_table *t, uint32_t process, uint32_t slot)
{
    BRG_ASSERT(slot > 0 && slot <= t->count_sets * LIMIT_WAYS && process < t->processes);
    atomic_fetch_sub_explicit(&t->held[(size_t)process * t->count_sets * LIMIT_WAYS + slot - 1], 1,
                              memory_order_relaxed);
    atomic_fetch_sub(&t->counts[slot - 1].value, 1);
}

void limit_count_forget(limit_table *t, uint32_t process)
{
    const uint32_t slots = t->count_sets * LIMIT_WAYS;
    _Atomic uint32_t *held;

    if (process >= t->processes)
        return;
    held = t->held + (size_t)process * slots;
    for (uint32_t i = 0; i < slots; i++) {
        const uint32_t n = atomic_load_explicit(&held[i], memory_order_relaxed);

        if (!n)
            continue;
        atomic_store_explicit(&held[i], 0, memory_order_relaxed);
        atomic_fetch_sub(&t->counts[i].value, n);
    }
}

/* ---- figures ---- */

static limit_row *row_find(limit_table *t, uint64_t id, const unsigned char *taken)
{
    limit_row *left = NULL;

    for (int i = 0; i < LIMIT_ROWS; i++) {
        limit_row *row = &t->header->row[i];

        if (atomic_load(&row->id) == id)
            return row;
        if (!taken[i] && (!left || (atomic_load(&left->id) && !atomic_load(&row->id))))
            left = row;
    }
    if (!left)
        return NULL;
    memset(left, 0, sizeof *left);
    atomic_store(&left->id, id);
    return left;
}

int limit_row_of(limit_table *t, uint64_t id, const char *name, unsigned char *taken)
{
    limit_row *row = row_find(t, id, taken);
    const size_t len = strlen(name);

    BRG_ASSERT(id != 0);
    if (!row)
        return -1;
    BRG_ASSERT(row >= t->header->row && row < t->header->row + LIMIT_ROWS);
    memcpy(row->name, name, len < LIMIT_NAME_ROOM ? len : LIMIT_NAME_ROOM - 1);
    taken[row - t->header->row] = 1;
    return (int)(row - t->header->row);
}
