/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hit rates of what decides what the cache stores, on generated traces or a recorded one: plain LRU, S3-FIFO, what was here
 * before (a table of marks with one place each, then LRU) and cache_admission.c. As in the server, a
 * request that finds nothing is counted, the next one stores what is in a folder that is known: the earliest hit is
 * that of the third request. Before, it armed an entry, and the one after that filled it; plain LRU and S3-FIFO have the second.
 *
 * S3-FIFO (Yang and others, SOSP 2023): new items enter a queue with a tenth of the places; those asked for again while they are
 * there move to the main queue, the others leave and are remembered by name for as many evictions as there are places. What is
 * asked for again then enters the main queue, whose oldest gets another round for each time that it was asked for, up to three.
 *
 *   cache_admission [ENTRIES [FILE]]
 *
 * FILE has the targets of recorded requests in their order, one a line: awk '{print $7}' access_log
 */
#include "cache_admission.h"
#include "keyed_hash.h"
#include "trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LRU, S3_FIFO, ONE_PLACE, ADMISSION, POLICIES };

typedef struct item {
    struct item *newer, *older;
    int state; /* 0 not stored, 1 armed, 2 filled */
    long left; /* S3-FIFO: which eviction from the small queue it was, from 1 */
    uint8_t uses;
    admission_stamp stamp;
    uint64_t hash;
} item;

typedef struct queue {
    item *newest, *oldest;
    long n;
} queue;

static long capacity = 4000, stored;
static item *items, *newest, *oldest;
static uint32_t marks[8192];
static cache_admission admission;
static queue small_queue, main_queue;
static long evictions;

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

/* ---- S3-FIFO ---- */

static void enter(queue *q, item *e)
{
    e->newer = NULL;
    e->older = q->newest;
    *(q->newest ? &q->newest->newer : &q->oldest) = e;
    q->newest = e;
    q->n++;
}

static item *leave_oldest(queue *q)
{
    item *e = q->oldest;

    q->oldest = e->newer;
    *(e->newer ? &e->newer->older : &q->newest) = NULL;
    q->n--;
    return e;
}

static void evict_small(void)
{
    item *e = leave_oldest(&small_queue);

    if (e->uses > 1) {
        e->uses = 0;
        enter(&main_queue, e);
        return;
    }
    e->state = 0;
    e->left = ++evictions;
}

static void evict_main(void)
{
    item *e = leave_oldest(&main_queue);

    if (e->uses) {
        e->uses--;
        enter(&main_queue, e);
    } else {
        e->state = 0;
    }
}

static int ask_s3_fifo(item *e)
{
    if (e->state) {
        e->uses += e->uses < 3;
        return 1;
    }
    while (small_queue.n + main_queue.n >= capacity)
        if (small_queue.n > capacity / 10 || !main_queue.n)
            evict_small();
        else
            evict_main();
    e->state = 2;
    e->uses = 0;
    enter(e->left && evictions - e->left < capacity ? &main_queue : &small_queue, e);
    return 0;
}

/* 1: a hit */
static int ask(int policy, item *e)
{
    unsigned count;

    if (policy == S3_FIFO)
        return ask_s3_fifo(e);
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
    e->state = policy == ONE_PLACE ? 1 : 2;
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
    small_queue = main_queue = (queue){NULL, NULL, 0};
    evictions = 0;
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

/* ---- a recorded trace ---- */

static long *recorded;

static long trace_recorded(long i, double size)
{
    return recorded[i];
}

/* The number of a target: one that is new gets the next. @param table  universe places, 0: free */
static long target_number(const char *line, size_t len, uint64_t *table, long places, long *known)
{
    uint64_t hash = keyed_hash_of(2, line, len) | 1;
    long at = (long)(hash % (uint64_t)places);

    while (table[2 * at] && table[2 * at] != hash)
        at = (at + 1) % places;
    if (!table[2 * at]) {
        table[2 * at] = hash;
        table[2 * at + 1] = (uint64_t)(*known)++;
    }
    return (long)table[2 * at + 1];
}

static int read_recorded(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[8192];
    long lines = 0, known = 0;
    uint64_t *table;

    if (!f) {
        perror(path);
        return 0;
    }
    while (fgets(line, sizeof line, f))
        lines++;
    rewind(f);
    recorded = calloc((size_t)lines + 1, sizeof *recorded);
    table = calloc((size_t)lines * 4 + 4, sizeof *table);
    for (total = 0; total < lines && fgets(line, sizeof line, f);)
        recorded[total++] =
            target_number(line, strcspn(line, "\r\n"), table, 2 * lines + 2, &known);
    free(table);
    fclose(f);
    universe = known > 0 ? known : 1;
    return 1;
}

static void show(const trace *t)
{
    printf("%-32s", t->name);
    for (int policy = 0; policy < POLICIES; policy++)
        printf(" %8.1f", run(policy, t));
    printf("\n");
}

static void show_generated(void)
{
    for (size_t t = 0; t < sizeof traces / sizeof *traces; t++) {
        trace_weigh(universe, traces[t].power);
        show(&traces[t]);
    }
}

int main(int argc, char **argv)
{
    capacity = argc > 1 ? atol(argv[1]) : capacity;
    universe = 20 * capacity;
    total = 60 * capacity;
    if (capacity < 10 || (argc > 2 && !read_recorded(argv[2]))) {
        fprintf(stderr, "cache_admission [ENTRIES (10 or more) [FILE]]\n");
        return 1;
    }
    items = calloc((size_t)universe, sizeof *items);
    printf(
        "hit rates in per cent, %ld entries, %ld requests for %ld targets\n%-32s %8s %8s %8s %8s\n",
        capacity, total, universe, "trace", "LRU", "S3-FIFO", "before", "now");
    if (argc > 2)
        show(&(trace){argv[2], trace_recorded, 0, 1});
    else
        show_generated();
    return 0;
}
