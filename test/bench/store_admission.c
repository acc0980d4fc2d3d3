/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the store keeps of answers that cost a backend: the store itself beside LRU and beside GreedyDual-Size-Frequency (Cherkasova,
 * HP Labs 98-69), which knows costs, sizes and counts; of it the least of 64 that are drawn is evicted. All have the same bytes.
 *
 * An answer has a size, a cost (milliseconds of its backend) and a lifetime; one that is stale is fetched anew. A thousand requests come
 * in a second. For each trace and policy: hits in per cent of requests, and the time of backends that is spared in per cent of what it
 * would be without a cache; of the second half of the trace.
 *
 *   store_admission [MIB]
 */
#include "store.h"
#include "trace.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define TARGETS 40000
#define REQUESTS 600000L
#define PER_SECOND 1000
#define DRAWN 64
#define HEAD 400 /* bytes of an answer beside its body */

typedef struct answer {
    uint32_t bytes, cost, lifetime; /* milliseconds, seconds */
    double until;                   /* second at which what is stored is stale */
    uint32_t newer, older;          /* LRU; 0: none, else a number and 1 */
    uint32_t place;                 /* GDSF: among those that are stored, and 1 */
    uint32_t count;
    double worth;
} answer;

static answer answers[TARGETS];
static uint64_t limit = 64ull << 20, used;

/* ---- LRU ---- */

static uint32_t newest, oldest;

static void lru_unlink(answer *a)
{
    *(a->newer ? &answers[a->newer - 1].older : &newest) = a->older;
    *(a->older ? &answers[a->older - 1].newer : &oldest) = a->newer;
    a->newer = a->older = 0;
    used -= a->bytes + HEAD;
}

static void lru_link(answer *a)
{
    const uint32_t number = (uint32_t)(a - answers) + 1;

    a->older = newest;
    *(newest ? &answers[newest - 1].newer : &oldest) = number;
    newest = number;
    used += a->bytes + HEAD;
}

static int lru_has(const answer *a)
{
    return a->newer || newest == (uint32_t)(a - answers) + 1;
}

static int lru_find(answer *a)
{
    if (!lru_has(a))
        return 0;
    lru_unlink(a);
    lru_link(a);
    return 1;
}

static void lru_put(answer *a)
{
    if (lru_has(a))
        lru_unlink(a);
    while (used + a->bytes + HEAD > limit)
        lru_unlink(answers + oldest - 1);
    lru_link(a);
}

static void lru_begin(void)
{
    newest = oldest = 0;
}

/* ---- GreedyDual-Size-Frequency ---- */

static uint32_t stored[TARGETS], stored_n;
static double inflation;

static void gdsf_touch(answer *a)
{
    a->count++;
    a->worth = inflation + (double)a->count * a->cost / (a->bytes + HEAD);
}

static int gdsf_find(answer *a)
{
    if (a->place)
        gdsf_touch(a);
    return a->place != 0;
}

static void gdsf_remove(answer *a)
{
    const uint32_t last = stored[--stored_n];

    stored[a->place - 1] = last;
    answers[last].place = a->place;
    a->place = 0;
    a->count = 0;
    used -= a->bytes + HEAD;
}

static void gdsf_evict(void)
{
    answer *least = NULL;

    for (int i = 0; i < DRAWN; i++) {
        answer *a = answers + stored[(uint32_t)(trace_random() * stored_n)];

        if (!least || a->worth < least->worth)
            least = a;
    }
    inflation = least->worth > inflation ? least->worth : inflation;
    gdsf_remove(least);
}

static void gdsf_put(answer *a)
{
    const uint32_t count = a->count;

    if (a->place)
        gdsf_remove(a);
    while (used + a->bytes + HEAD > limit)
        gdsf_evict();
    stored[stored_n++] = (uint32_t)(a - answers);
    a->place = stored_n;
    a->count = count;
    used += a->bytes + HEAD;
    gdsf_touch(a);
}

static void gdsf_begin(void)
{
    stored_n = 0;
    inflation = 0;
}

/* ---- the store ---- */

static store *the_store;
static store_reader *reader;
static void *memory;
static size_t memory_bytes;

static store_key key_of(const answer *a)
{
    const uint32_t number = (uint32_t)(a - answers);

    return store_key_of(the_store, (const char *)&number, sizeof number, NULL, 0);
}

static void store_begin(void)
{
    store_limits limits;

    if (the_store) {
        store_reader_close(&reader);
        store_close(&the_store);
        munmap(memory, memory_bytes);
    }
    store_limits_default(&limits, limit);
    memory_bytes = store_size(&limits);
    memory = mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    the_store = memory == MAP_FAILED ? NULL : store_open(memory, &limits);
    reader = the_store ? store_reader_open(the_store) : NULL;
    if (!reader)
        exit(1);
}

static int store_has(answer *a)
{
    const store_key key = key_of(a);
    store_found found;
    int has;

    store_find(reader, &key, 0, &found);
    has = found.view.reader != NULL;
    store_release(&found.view);
    return has;
}

/* As server/cached has it. */
static uint8_t worth_of(const answer *a)
{
    return a->cost >= 320 ? 6 : a->cost >= 80 ? 4 : a->cost >= 20 ? 2 : 0;
}

static void store_put(answer *a)
{
    static const char head[HEAD] = "x", terms[STORE_TERMS];
    static char body[1 << 20];
    const store_head h = {.key = key_of(a),
                          .text = head,
                          .text_len = 64,
                          .terms = terms,
                          .head = head,
                          .head_len = HEAD - 128,
                          .length = a->bytes,
                          .worth = worth_of(a),
                          .epoch = store_epoch(the_store)};
    const char *why;
    store_writer *w = store_write_begin(reader, &h, 0, &why);

    if (w && store_write(w, body, a->bytes))
        store_write_give_up(&w);
    else if (w)
        (void)store_write_end(&w);
}

/* ---- traces ---- */

typedef struct trace {
    const char *name;
    double power;                                                   /* of Zipf's law */
    int alike, short_lived, crawled, dear_are_large, dear_are_rare; /* switches */
    uint32_t crawled_cost;
} trace;

static const trace traces[] = {
    {"all cost alike", 0.9, .alike = 1},
    {"costs of 5, 40 and 400 ms", 0.9, .alike = 0},
    {"the same, Zipf 0.7", 0.7, .alike = 0},
    {"the same, and a crawler", 0.9, .crawled = 1, .crawled_cost = 5},
    {"a crawler of what is dear", 0.9, .crawled = 1, .crawled_cost = 400},
    {"the same, half fresh for 20 s", 0.9, .short_lived = 1},
    {"what is dear is large", 0.9, .dear_are_large = 1},
    {"what is dear is rare", 0.9, .dear_are_rare = 1},
};

/* A crawler's targets are the second half, and asked for in turn. */
static void trace_make(const trace *t)
{
    memset(answers, 0, sizeof answers);
    trace_seed = 7;
    for (long i = 0; i < TARGETS; i++) {
        answer *a = answers + i;
        const double dice = trace_random(),
                     z = trace_random() + trace_random() + trace_random() + trace_random() - 2;
        const double dear = t->dear_are_rare ? (double)i / TARGETS : dice;

        a->bytes = (uint32_t)(8192 * exp(2.2 * z));
        a->cost = t->alike ? 40 : dear < 0.7 ? 5 : dear < 0.95 ? 40 : 400;
        if (t->crawled && i >= TARGETS / 2)
            a->cost = t->crawled_cost;
        if (t->dear_are_large && a->cost == 400)
            a->bytes *= 8;
        if (a->bytes > 1 << 20)
            a->bytes = 1 << 20;
        a->lifetime = t->short_lived && trace_random() < 0.5 ? 20 : 3600;
    }
    trace_weigh(TARGETS, t->power);
}

static answer *trace_next(const trace *t, long i)
{
    if (!t->crawled)
        return answers + trace_rank(TARGETS);
    return answers + (i & 1 ? TARGETS / 2 + (i / 2) % (TARGETS / 2) : trace_rank(TARGETS / 2));
}

typedef struct policy {
    const char *name;
    void (*begin)(void);
    int (*find)(answer *a);
    void (*put)(answer *a);
} policy;

static const policy policies[] = {{"LRU", lru_begin, lru_find, lru_put},
                                  {"GDSF", gdsf_begin, gdsf_find, gdsf_put},
                                  {"store", store_begin, store_has, store_put}};

static void run(const trace *t, const policy *p)
{
    double hits = 0, spared = 0, cost = 0;

    trace_make(t);
    used = 0;
    p->begin();
    for (long i = 0; i < REQUESTS; i++) {
        answer *a = trace_next(t, i);
        const double now = (double)i / PER_SECOND;
        const int has = p->find(a) && a->until > now;

        if (!has) {
            a->until = now + a->lifetime;
            p->put(a);
        }
        if (i < REQUESTS / 2)
            continue;
        cost += a->cost;
        spared += has ? a->cost : 0;
        hits += has;
    }
    printf(" %9.1f %6.1f", 200 * hits / (double)REQUESTS, 100 * spared / cost);
}

int main(int argc, char **argv)
{
    const size_t n = sizeof policies / sizeof *policies;
    double bytes = 0;

    limit = argc > 1 ? strtoull(argv[1], NULL, 10) << 20 : limit;
    trace_make(traces);
    for (long i = 0; i < TARGETS; i++)
        bytes += answers[i].bytes;
    printf(
        "hits and time of backends that is spared, in per cent; %llu MiB for %.0f MiB of answers\n"
        "%-32s",
        (unsigned long long)(limit >> 20), bytes / 1048576, "trace");
    for (size_t p = 0; p < n; p++)
        printf(" %9s %6s", policies[p].name, "time");
    for (size_t t = 0; t < sizeof traces / sizeof *traces; t++) {
        printf("\n%-32s", traces[t].name);
        for (size_t p = 0; p < n; p++)
            run(traces + t, policies + p);
        fflush(stdout);
    }
    printf("\n");
    return 0;
}
