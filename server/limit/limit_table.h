/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LIMIT_LIMIT_TABLE_H
#define BRIGADE_LIMIT_LIMIT_TABLE_H

/**
 * @file limit_table.h
 * The use of limits by keys, in memory that all server processes share and that
 * outlives reloads.
 *
 * Two tables of slots, each with a fixed number of them: rates (requests and bytes of a time) and
 * counts (requests in flight). A key is a hash of 64 bits that names its limit, too. A key has one
 * set of LIMIT_WAYS slots, one line of memory. Where all of them are taken, a rate takes the slot
 * that is free first; a count takes only a free one, else it is not kept.
 *
 * A rate is kept as the time at which all that was taken is paid for (the generic cell rate algorithm, ITU-T I.371): one word,
 * which is moved on by compare-and-swap. So no loop and no process waits for another.
 *
 * The supervisor takes back counts of a process that died: each process notes its slots in a row of
 * its own.
 *
 * Threads: any of any process, but where a line says main. Blocking: no.
 */
#include "universal_hash.h"
#include <stdatomic.h>
#include <stdint.h>

#define LIMIT_WAYS 4
#define LIMIT_KEYS_LEAST 1024
#define LIMIT_ROWS 64      /**< limits that are told apart in figures */
#define LIMIT_NAME_ROOM 48 /**< bytes of a limit's name there, with its NUL */
#define LIMIT_BUSY 24      /**< busiest keys that are kept */
#define LIMIT_TEXT_ROOM 80 /**< bytes of a key's text there, with its NUL; longer ones are cut */

typedef struct limit_slot {
    _Atomic uint64_t key;   /**< 0: free */
    _Atomic uint64_t value; /**< rates: nanoseconds of the monotonic clock; counts: how many */
} limit_slot;

/** Figures of one limit. */
typedef struct limit_row {
    _Atomic uint64_t id; /**< 0: free */
    char name[LIMIT_NAME_ROOM];
    /** requests; dry: would have been one of these */
    _Atomic uint64_t refused, delayed, closed, dry;
} limit_row;

/** A key that is asked about often. */
typedef struct limit_busy {
    uint64_t key;
    uint32_t row;
    char text[LIMIT_TEXT_ROOM];
    uint64_t asked;   /**< about how often lately */
    uint64_t refused; /**< of these */
} limit_busy;

/** At the beginning of the shared memory. */
typedef struct limit_header {
    _Atomic uint32_t is_seeded;
    universal_hash_secret secret;
    _Atomic uint64_t displaced; /**< keys whose slot was taken while they still counted */
    _Atomic uint64_t unkept;    /**< counts for which there was no slot */
    limit_row row[LIMIT_ROWS];
    _Alignas(128) _Atomic int64_t taken; /**< start of the following, nanoseconds; 0: it is free */
    _Atomic uint64_t aged;               /**< nanoseconds: when a part was forgotten last */
    _Atomic uint32_t busy_n;
    limit_busy busy[LIMIT_BUSY];
} limit_header;

/** A view of that memory. */
typedef struct limit_table {
    limit_header *header;
    limit_slot *rates, *counts;
    _Atomic uint32_t *held;         /**< [processes][counts] */
    uint32_t rate_sets, count_sets; /**< powers of two */
    uint32_t processes;
} limit_table;

/** Bytes that a table for @a keys keys and so many server processes takes. */
size_t limit_table_bytes(uint32_t keys, uint32_t processes);

/** Lay @a t over memory of that size, which is zero or was laid out so before. Main thread. @return 0; -1: no chance for a secret */
int limit_table_open(limit_table *t, void *memory, uint32_t keys, uint32_t processes);

/**
 * Take @a cost of a key, if its burst allows.
 * @param ahead  [out] taken: how far ahead of the time the key was, nanoseconds; refused: how long until @a cost could be taken
 * @return 1: taken; 0: refused, and nothing is changed
 */
int limit_rate_take(limit_table *t, uint64_t key, uint64_t cost, uint64_t burst, uint64_t now,
                    uint64_t *ahead);

/** The slots of a key: @a sets is a power of two. Hashes of numbers in a row lie evenly spaced, and with some secrets in few sets. */
static inline limit_slot *limit_set(limit_slot *slots, uint32_t sets, uint64_t key)
{
    key = (key ^ key >> 32) * 0x9e3779b97f4a7c15u;
    return slots + (key >> 32 & (sets - 1)) * LIMIT_WAYS;
}

/** limit_rate_take() without its value, where most requests end at once. */
static inline int limit_rate_takes(limit_table *t, uint64_t key, uint64_t cost, uint64_t burst,
                                   uint64_t now)
{
    limit_slot *slot = limit_set(t->rates, t->rate_sets, key);
    uint64_t was, from, ahead;

    if (atomic_load_explicit(&slot->key, memory_order_relaxed) == key) {
        was = atomic_load_explicit(&slot->value, memory_order_relaxed);
        from = was > now ? was : now;
        if (from - now <= burst &&
            atomic_compare_exchange_strong_explicit(&slot->value, &was, from + cost,
                                                    memory_order_relaxed, memory_order_relaxed))
            return 1;
    }
    return limit_rate_take(t, key, cost, burst, now, &ahead);
}

/** Take @a cost, however far ahead the key gets. @return how far ahead it was */
uint64_t limit_rate_charge(limit_table *t, uint64_t key, uint64_t cost, uint64_t now);

/** How far ahead of the time a key is; 0: it is not. */
uint64_t limit_rate_ahead(limit_table *t, uint64_t key, uint64_t now);

/** How many of a key there are now. */
uint64_t limit_count_of(limit_table *t, uint64_t key);

/**
 * One more of a key, if there are fewer than @a most.
 * @param process  the caller's row
 * @param slot     [out] for limit_count_leave(); 0: it was let in, but is not counted
 * @return 1: it is in; 0: there are enough
 */
int limit_count_enter(limit_table *t, uint64_t key, uint64_t most, uint32_t process,
                      uint32_t *slot);

/** One less. @param slot  not 0 */
void limit_count_leave(limit_table *t, uint32_t process, uint32_t slot);

/** A server process is gone: give its slots back. Main thread of the supervisor. */
void limit_count_forget(limit_table *t, uint32_t process);

/** The row of a limit, by its id; -1: all are taken by limits of this configuration (@a taken, LIMIT_ROWS flags). Main thread. */
int limit_row_of(limit_table *t, uint64_t id, const char *name, unsigned char *taken);

/** @name busiest keys (limit_busy.c) */
/** @{ */
/** A key was asked about @a asked times, and refused @a refused times. Does nothing where another thread is at it. */
void limit_busy_note(limit_table *t, uint64_t key, uint32_t row, const char *text, size_t len,
                     uint32_t asked, uint32_t refused, uint64_t now);
/** Copies of them, the busiest first. Half of a count is forgotten in ten minutes. @return how many
 */
int limit_busy_get(limit_table *t, limit_busy out[LIMIT_BUSY], uint64_t now);
/** @} */

#endif
