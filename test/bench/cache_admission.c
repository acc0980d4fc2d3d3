/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hit rates of what decides what the cache stores, on generated traces: plain LRU, what was here
 * before (a table of marks with one place each, then LRU) and cache_admission.c. As in the server a
 * request that finds nothing is counted, the next one arms an entry, the one after that fills it:
 * the earliest hit is that of the fourth request; plain LRU has the second.
 *
 *   cache_admission [ENTRIES]
 */
#include "cache_admission.h"
#include "keyed_hash.h"
#include "trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LRU, ONE_PLACE, ADMISSION, POLICIES };

typedef struct item {
    struct item *newer, *older;
    int state; /* 0 not stored, 1 armed, 2 filled */
    uint8_t uses;
    admission_stamp stamp;
    uint64_t hash;
} item;

static long capacity = 4000, stored;
static item *items, *newest, *oldest;
static uint32_t marks[8192];
static cache_admission admission;

static void unlink_item(item *e)
{
    *(e->newer ? &e->newer->older : &newest) = e->older;
    *(e->older ? &e->older->newer : &oldest) = e->newer;
    stored--;
}

static void link_item(item *e)
{
    e->newer = NULL;
    e->older = newest;
    *(newest ? &newest->newer : &oldest) = e;
    newest = e;
    stored++;
}

static void evict(int policy)
{
    item *e = oldest;

    if (policy == ADMISSION)
        admission_keep(&admission, e->hash, admission_uses(&admission, e->uses, e->stamp));
    unlink_item(e);
    e->state = 0;
}

static int wanted(int policy, item *e, unsigned *count)
{
    uint32_t *mark = &marks[e->hash & 8191], value = (uint32_t)(e->hash >> 32) | 1;

    *count = 0;
    if (policy == ONE_PLACE) {
        int seen = *mark == value;

        *mark = value;
        return seen;
    }
    if (policy != ADMISSION)
        return 1;
    *count = admission_count(&admission, e->hash);
    return *count > 1 && (stored < capacity ||
                          *count > admission_uses(&admission, oldest->uses, oldest->stamp) + 1);
}

/* 1: a hit */
static int ask(int policy, item *e)
{
    unsigned count;

    if (policy == ADMISSION)
        admission_sample(&admission, (size_t)stored);
    if (e->state) {
        int hit = e->state == 2;

        unlink_item(e);
        link_item(e);
        e->uses = (uint8_t)admission_uses(&admission, e->uses, e->stamp);
        e->stamp = admission_now(&admission);
        e->uses += e->uses < ADMISSION_COUNT_MOST;
        e->state = 2;
        return hit;
    }
    if (!wanted(policy, e, &count))
        return 0;
    while (stored >= capacity)
        evict(policy);
    e->state = policy == LRU ? 2 : 1;
    e->uses = (uint8_t)count;
    e->stamp = admission_now(&admission);
    link_item(e);
    return 0;
}

/* ---- traces: the item of request i ---- */

static long universe, total;

static long trace_cyclic(long i, double size)
{
    return i % (long)(size * (double)capacity);
}

static long trace_zipf(long i, double size)
{
    return trace_rank(universe);
}

static long trace_uniform(long i, double size)
{
    return (long)(trace_random() * size * (double)capacity);
}

/* A hot set of half the cache, by Zipf; every other request is a crawler's, which asks once. */
static long trace_crawler(long i, double size)
{
    long hot = capacity / 2;

    return i & 1 ? hot + (i / 2) % (universe - hot) : trace_rank(hot);
}

/* The hot set is another one in each quarter. */
static long trace_shift(long i, double size)
{
    long hot = (long)(size * (double)capacity);

    return (i * 4 / total) * hot + (long)(trace_random() * (double)hot);
}

/* A cycle through a set that fits, and a scan of everything in its second half. */
static long trace_scan(long i, double size)
{
    return i % 4 == 3 && i > total / 2 ? capacity + (i / 4) % (universe - capacity)
                                       : i % (long)(size * (double)capacity);
}

typedef struct trace {
    const char *name;
    long (*next)(long i, double size);
    double size, power;
} trace;

static const trace traces[] = {
    {"cyclic, half of the entries", trace_cyclic, 0.5, 1},
    {"cyclic, all of the entries", trace_cyclic, 1.0, 1},
    {"cyclic, 1.1 of the entries", trace_cyclic, 1.1, 1},
    {"cyclic, twice the entries", trace_cyclic, 2.0, 1},
    {"cyclic, 5 times the entries", trace_cyclic, 5.0, 1},
    {"uniform, all of the entries", trace_uniform, 1.0, 1},
    {"uniform, twice the entries", trace_uniform, 2.0, 1},
    {"Zipf 0.8, 20 times the entries", trace_zipf, 0, 0.8},
    {"Zipf 1.0, 20 times the entries", trace_zipf, 0, 1.0},
    {"hot set (Zipf) and a crawler", trace_crawler, 0, 0.9},
    {"hot set that moves 3 times", trace_shift, 0.8, 1},
    {"cycle that fits, and a scan", trace_scan, 0.8, 1},
};

static double run(int policy, const trace *t)
{
    long hits = 0;

    memset(items, 0, (size_t)universe * sizeof *items);
    memset(marks, 0, sizeof marks);
    newest = oldest = NULL;
    stored = 0;
    trace_seed = 7;
    admission_destroy(&admission);
    admission_create(&admission, (size_t)capacity);
    for (long i = 0; i < universe; i++)
        items[i].hash = keyed_hash_of(1, (const char *)&i, sizeof i);
    for (long i = 0; i < total; i++)
        hits += ask(policy, &items[t->next(i, t->size) % universe]);
    return 100.0 * (double)hits / (double)total;
}

int main(int argc, char **argv)
{
    capacity = argc > 1 ? atol(argv[1]) : capacity;
    universe = 20 * capacity;
    total = 60 * capacity;
    items = calloc((size_t)universe, sizeof *items);
    printf("hit rates in per cent, %ld entries, %ld requests\n%-32s %8s %9s %9s\n", capacity, total,
           "trace", "LRU", "one place", "admission");
    for (size_t t = 0; t < sizeof traces / sizeof *traces; t++) {
        trace_weigh(universe, traces[t].power);
        printf("%-32s", traces[t].name);
        for (int policy = 0; policy < POLICIES; policy++)
            printf(" %8.1f", run(policy, &traces[t]));
        printf("\n");
    }
    return 0;
}
