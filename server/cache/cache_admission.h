/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_ADMISSION_H
#define BRIGADE_CACHE_CACHE_ADMISSION_H

/**
 * @file cache_admission.h
 * Admission to the cache, in the manner of TinyLFU: requests are counted,
 * also for targets that are not stored, and a new answer displaces a stored one only if it is
 * requested more often. So a crawler leaves a hot set alone, and a working set that is larger than
 * the cache, and asked for in turn, keeps a part of it stored instead of chasing itself out.
 *
 * Stored entries have a count of their own (cache_entry.uses). Other targets have a mark: 28 bits
 * of the hash and a count, in sets of 16 marks (a cache line each) of which the oldest goes when a
 * new one comes. There are twice as many marks as entries: a target that is requested twice in the
 * time that the cache could hold it is counted twice, in any order. Where bytes are the limit, only
 * as many marks are used as twice the entries that are stored. Counts are halved from time to time,
 * so that popularity does not last for ever; and an entry that was not used for three times as many
 * requests as there are entries counts for nothing, so that a hot set of the past makes place for
 * the next at once.
 *
 * Threads: the owner of the cache. Blocking: no.
 */
#include <stddef.h>
#include <stdint.h>

#define ADMISSION_WAYS 16
#define ADMISSION_COUNT_BITS 4
#define ADMISSION_COUNT_MOST 15

typedef struct cache_admission {
    uint32_t (*sets)[ADMISSION_WAYS]; /**< NULL: nothing is counted */
    uint32_t sets_n, sets_most;       /**< sets in use, and there */
    size_t fitted;                    /**< entries for which sets_n was chosen */
    int full;                         /**< bytes are the limit, not entries */
    uint32_t epoch;                   /**< how often counts were halved */
    uint32_t samples, period;         /**< requests since then, and until the next time */
    uint32_t now;                     /**< requests in all */
    uint32_t idle;                    /**< requests after which an unused entry counts for half */
    uint32_t stale;                   /**< requests after which one counts for nothing */
} cache_admission;

/** Marks for a cache of @a entries entries. 0; -1: no memory */
int admission_create(cache_admission *a, size_t entries);
void admission_destroy(cache_admission *a);

/** Count a request for a target that is not stored. @return how often in the recent past, at least
 * 1 */
unsigned admission_count(cache_admission *a, uint64_t hash);

/** An entry that was used @a uses times (admission_uses()) leaves the cache. In a long cycle it is
 * the next one requested: were it counted as seen, each would drive out the next one. */
void admission_keep(cache_admission *a, uint64_t hash, unsigned uses);

/** Halve all counts. @param entries  stored now */
void admission_age(cache_admission *a, size_t entries);

/** A request was seen. */
static inline void admission_sample(cache_admission *a, size_t entries)
{
    a->now++;
    if (++a->samples >= a->period)
        admission_age(a, entries);
}

/** The state that the count of a stored entry refers to. */
typedef struct admission_stamp {
    uint32_t epoch, last;
} admission_stamp;

static inline admission_stamp admission_now(const cache_admission *a)
{
    return (admission_stamp){a->epoch, a->now};
}

/** A stored entry's count, @a uses at the time of @a then, as it is now: for a comparison. */
static inline unsigned admission_uses(const cache_admission *a, unsigned uses, admission_stamp then)
{
    uint32_t unused = a->now - then.last;
    uint32_t halved = a->epoch - then.epoch + unused / a->idle;

    return unused <= a->stale && halved < ADMISSION_COUNT_BITS ? uses >> halved : 0;
}

/**
 * 1 if a new answer that was requested @a count times is requested more often, for each byte, than
 * the entries that would go for it. So a large one has to be worth as much as all entries that go
 * for it, and a small one is stored in place of a large one that is requested no more often. By a
 * quarter: else answers of nearly one size would go for each other.
 * @param bytes  of the new answer
 * @param uses   of the entries that would go, together
 * @param freed  bytes of that
 */
static inline int admission_is_denser(unsigned count, size_t bytes, unsigned uses, size_t freed)
{
    return (uint64_t)count * (freed > bytes ? freed : bytes) * 4 > (uint64_t)uses * bytes * 5;
}

#endif
