/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of targets that are requested but not stored. */
#include "cache_admission.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

#define COUNT_MASK ((1u << ADMISSION_COUNT_BITS) - 1)
#define PERIOD_OF(entries) ((uint32_t)((entries) > (1u << 28) ? UINT32_MAX : (entries)*10))
#define IDLE_OF(entries) (PERIOD_OF(entries) / 4)
#define STALE_OF(entries) (PERIOD_OF(entries) / 10 * 3)
#define ENTRIES_LEAST 512

int admission_create(cache_admission *a, size_t entries)
{
    size_t sets = 4;

    while (sets * ADMISSION_WAYS < 2 * entries && sets < (1u << 24))
        sets *= 2;
    *a = (cache_admission){.sets_n = (uint32_t)sets,
                           .sets_most = (uint32_t)sets,
                           .period = PERIOD_OF(ENTRIES_LEAST),
                           .idle = IDLE_OF(ENTRIES_LEAST),
                           .stale = STALE_OF(ENTRIES_LEAST)};
    a->sets = aligned_alloc(64, sets * sizeof(*a->sets));
    if (!a->sets)
        return -1;
    memset(a->sets, 0, sets * sizeof(*a->sets));
    return 0;
}

void admission_destroy(cache_admission *a)
{
    free(a->sets);
    *a = (cache_admission){0};
}

/* Its mark, which is the first of its set afterwards; without a count if it is new. */
static uint32_t *mark_of(cache_admission *a, uint64_t hash)
{
    uint32_t *set = a->sets[(hash & UINT32_MAX) * a->sets_n >> 32];
    uint32_t tag = (uint32_t)(hash >> 32) & ~COUNT_MASK, count = 0;
    int i = 0;

    while (i < ADMISSION_WAYS - 1 && (set[i] & ~COUNT_MASK) != tag)
        i++;
    if ((set[i] & ~COUNT_MASK) == tag)
        count = set[i] & COUNT_MASK;
    memmove(set + 1, set, (size_t)i * sizeof *set);
    set[0] = tag | count;
    return set;
}

unsigned admission_count(cache_admission *a, uint64_t hash)
{
    uint32_t *mark;

    if (!a->sets)
        return 0;
    mark = mark_of(a, hash);
    if ((*mark & COUNT_MASK) < ADMISSION_COUNT_MOST)
        ++*mark;
    return *mark & COUNT_MASK;
}

void admission_keep(cache_admission *a, uint64_t hash, unsigned uses)
{
    BRG_ASSERT(uses <= ADMISSION_COUNT_MOST);
    if (a->sets) {
        uint32_t *mark = mark_of(a, hash);

        *mark = (*mark & ~COUNT_MASK) | uses;
    }
}

/* As many marks as twice the entries, where bytes are the limit: with more of them, targets of a
 * long cycle would be counted although the stored part of the cycle is stale. */
static void fit_marks(cache_admission *a, size_t entries)
{
    size_t wanted;

    a->full = a->full && entries > a->fitted / 4 * 3;
    a->fitted = a->full ? entries : 0;
    wanted = a->full ? 2 * entries / ADMISSION_WAYS + 1 : a->sets_most;

    if (wanted > a->sets_most)
        wanted = a->sets_most;
    if (wanted * 4 < (size_t)a->sets_n * 3 || wanted * 4 > (size_t)a->sets_n * 5)
        a->sets_n = (uint32_t)wanted;
    BRG_ASSERT(a->sets_n <= a->sets_most);
}

/* A count of 1 stays 1, so that a request after the halving is counted as the second. */
void admission_age(cache_admission *a, size_t entries)
{
    uint32_t *mark = a->sets ? a->sets[0] : NULL;
    size_t n = a->sets ? (size_t)a->sets_n * ADMISSION_WAYS : 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t count = mark[i] & COUNT_MASK, half = count > 1 ? count / 2 : count;

        mark[i] = (mark[i] & ~COUNT_MASK) | half;
    }
    fit_marks(a, entries > ENTRIES_LEAST ? entries : ENTRIES_LEAST);
    a->epoch++;
    a->samples = 0;
    entries = entries > ENTRIES_LEAST ? entries : ENTRIES_LEAST;
    a->period = PERIOD_OF(entries);
    a->idle = IDLE_OF(entries);
    a->stale = STALE_OF(entries);
}
