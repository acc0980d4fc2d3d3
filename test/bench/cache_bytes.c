/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hit rates where FileCacheSize is the limit: the server's table of stored answers (cache_table.c,
 * cache_admission.c) against LRU by bytes, on traces of files of different lengths. As in the server
 * the second request for what is not stored stores it.
 *
 *   cache_bytes [MIB]          FileCacheSize; 16 without it
 */
#include "cache_private.h"
#include "universal_hash.h"
#include "trace.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 4096 /* as cache_store.c takes it */

typedef struct file {
    size_t bytes;
    struct file *newer, *older; /* of the LRU */
    int stored;
} file;

static file *files, *newest, *oldest;
static long files_n, total;
static size_t lru_bytes;
static response_cache cache;
static brg_core_conf conf;

/* ---- LRU ---- */

static void lru_unlink(file *f)
{
    *(f->newer ? &f->newer->older : &newest) = f->older;
    *(f->older ? &f->older->newer : &oldest) = f->newer;
    lru_bytes -= f->bytes + HEAD_BYTES;
    f->stored = 0;
}

static int lru_ask(file *f)
{
    int hit = f->stored;

    if (hit)
        lru_unlink(f);
    f->newer = NULL;
    f->older = newest;
    *(newest ? &newest->newer : &oldest) = f;
    newest = f;
    f->stored = 1;
    lru_bytes += f->bytes + HEAD_BYTES;
    while (lru_bytes > (size_t)conf.file_cache_bytes)
        lru_unlink(oldest);
    return hit;
}

/* ---- the server's table ---- */

static void fill(cache_entry *e, size_t bytes)
{
    cache_body *body = cache_body_create(NULL, bytes);

    body->bytes += bytes;
    e->filled = 1;
    e->body = body;
    cache_body_use(&cache, body);
    cache_account(&cache, e);
    cache_trim(&cache, &conf);
}

static void store(const char *uri, size_t len, uint64_t hash, unsigned count, size_t bytes)
{
    cache_entry *e = cache_add(&cache, &(cache_place){NULL}, "h", 1, uri, len, hash, CACHE_ANSWERS);

    e->uses = (uint8_t)count;
    e->path = calloc(1, HEAD_BYTES - 512);
    memset(e->path, 'x', HEAD_BYTES - 513);
    e->reserved = bytes + 256;
    cache_account(&cache, e);
    cache_trim(&cache, &conf);
    if (e->in_cache)
        fill(e, bytes);
}

static int table_ask(long number)
{
    char uri[24];
    size_t len = (size_t)snprintf(uri, sizeof uri, "/%ld", number), bytes = files[number].bytes;
    uint64_t hash;
    cache_entry *e = cache_find(&cache, &(cache_place){NULL}, "h", 1, uri, len, NULL, &hash);
    unsigned count;

    if (e) {
        cache_touch(&cache, e);
        return 1;
    }
    admission_sample(&cache.admission, cache.entries_n);
    count = admission_count(&cache.admission, hash);
    if (count > 1 && cache_make_room(&cache, &conf, CACHE_ANSWERS, count, HEAD_BYTES + bytes))
        store(uri, len, hash, count, bytes);
    return 0;
}

/* ---- traces ---- */

/* Files of a site: log-normal, median 8 KB, at most 900 KB. */
static size_t site_bytes(long i)
{
    double normal = sqrt(-2 * log(trace_random() + 1e-12)) * cos(6.283185307 * trace_random());
    double bytes = exp(9 + 1.5 * normal);

    return bytes < 200 ? 200 : bytes > 900000 ? 900000 : (size_t)bytes;
}

static size_t same_bytes(long i)
{
    return 40000;
}

static size_t large_bytes(long i)
{
    return 700000;
}

static size_t two_bytes(long i)
{
    return i < files_n / 2 ? 8000 : 800000;
}

static long cyclic(long i)
{
    return i % files_n;
}

static long uniform(long i)
{
    return (long)(trace_random() * (double)files_n);
}

static long by_zipf(long i)
{
    return trace_rank(files_n);
}

/* A hot set of a tenth, and a crawler that goes through the rest again and again. */
static long crawler(long i)
{
    long hot = files_n / 10;

    return i & 1 ? hot + (i / 2) % (files_n - hot) : trace_rank(hot);
}

/* The hot set is another one in each quarter. */
static long shift(long i)
{
    long hot = files_n / 4;

    return (i * 4 / total) * hot + (long)(trace_random() * (double)hot);
}

static const struct trace {
    const char *name;
    size_t (*bytes)(long i);
    long (*next)(long i);
    double size, power; /* of all files, in FileCacheSize */
} traces[] = {
    {"cyclic, files of 40 KB", same_bytes, cyclic, 1.5, 1},
    {"cyclic, files of 700 KB", large_bytes, cyclic, 1.5, 1},
    {"cyclic, files of a site", site_bytes, cyclic, 1.5, 1},
    {"cyclic, files of a site, 1.05", site_bytes, cyclic, 1.05, 1},
    {"cyclic, files of a site, 5", site_bytes, cyclic, 5, 1},
    {"uniform, files of a site", site_bytes, uniform, 1.5, 1},
    {"uniform, half 8 KB, half 800 KB", two_bytes, uniform, 1.5, 1},
    {"Zipf 1.0, files of a site", site_bytes, by_zipf, 1.5, 1},
    {"Zipf 1.0, files of a site, 20", site_bytes, by_zipf, 20, 1},
    {"Zipf 0.8, files of a site, 5", site_bytes, by_zipf, 5, 0.8},
    {"Zipf 0.8, files of a site, 20", site_bytes, by_zipf, 20, 0.8},
    {"a hot set and a crawler, 5", site_bytes, crawler, 5, 0.9},
    {"a hot set and a crawler, 20", site_bytes, crawler, 20, 0.9},
    {"a hot set that moves", site_bytes, shift, 3.2, 1},
};

static void prepare(const struct trace *t)
{
    size_t sum = 0, most = (size_t)(t->size * (double)conf.file_cache_bytes);

    trace_seed = 7;
    files_n = 0;
    if (t->bytes == two_bytes)
        files_n = (long)(most / (404000 + HEAD_BYTES));
    for (long i = 0; files_n ? i < files_n : sum < most; i++)
        sum += t->bytes(i) + HEAD_BYTES, total = i + 1;
    files_n = total;
    files = realloc(files, (size_t)files_n * sizeof *files);
    memset(files, 0, (size_t)files_n * sizeof *files);
    trace_seed = 7;
    for (long i = 0; i < files_n; i++)
        files[i].bytes = t->bytes(i);
    trace_weigh(files_n, t->power);
    total = 40 * files_n > 200000 ? 200000 : 40 * files_n;
    newest = oldest = NULL;
    lru_bytes = 0;
}

/* The rate of the second half. */
static double run(const struct trace *t, int lru)
{
    long hits = 0;

    trace_seed = 99;
    for (long i = 0; i < total; i++) {
        long number = t->next(i);
        int hit = lru ? lru_ask(&files[number]) : table_ask(number);

        hits += i >= total / 2 ? hit : 0;
    }
    return 200.0 * (double)hits / (double)total;
}

static double run_table(const struct trace *t)
{
    double rate;

    memset(&cache, 0, sizeof cache);
    cache.buckets_n = 65536;
    cache.bucket = calloc(cache.buckets_n, sizeof(*cache.bucket));
    cache.bodies_n = 1024;
    cache.bodies = calloc(cache.bodies_n, sizeof(*cache.bodies));
    if (admission_create(&cache.admission, (size_t)conf.file_cache_entries_n))
        abort();
    rate = run(t, 0);
    while (cache.queue[CACHE_ANSWERS].oldest)
        cache_forget(&cache, cache.queue[CACHE_ANSWERS].oldest);
    admission_destroy(&cache.admission);
    free(cache.bodies);
    free(cache.bucket);
    return rate;
}

int main(int argc, char **argv)
{
    conf.file_cache_entries_n = 65536;
    conf.file_cache_bytes = (argc > 1 ? atol(argv[1]) : 16) << 20;
    universal_hash_seed();
    printf("hit rates in per cent, second half of each trace\n%-34s %8s %8s %8s\n", "trace",
           "files", "LRU", "server");
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        double lru;

        prepare(&traces[i]);
        lru = run(&traces[i], 1);
        printf("%-34s %8ld %8.1f %8.1f\n", traces[i].name, files_n, lru, run_table(&traces[i]));
    }
    free(files);
    free(trace_weights);
    return 0;
}
