/* SPDX-License-Identifier: Apache-2.0 */
/* Which answers stay where FileCacheSize is the limit. test/bench/cache_bytes.c has more traces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cache_private.h"
#include "universal_hash.h"

#define HEAD 1024

typedef struct table {
    response_cache cache;
    brg_core_conf conf;
} table;

static int set_up(void **state)
{
    table *t = calloc(1, sizeof *t);

    t->conf.file_cache_entries_n = 20000;
    t->conf.file_cache_bytes = 600 * 11000;
    t->cache.buckets_n = 4096;
    t->cache.bucket = calloc(4096, sizeof(*t->cache.bucket));
    t->cache.bodies_n = 1024;
    t->cache.bodies = calloc(t->cache.bodies_n, sizeof(*t->cache.bodies));
    universal_hash_seed();
    *state = t;
    return admission_create(&t->cache.admission, 20000);
}

static int tear_down(void **state)
{
    table *t = *state;

    while (t->cache.queue[CACHE_ANSWERS].oldest)
        cache_forget(&t->cache, t->cache.queue[CACHE_ANSWERS].oldest);
    admission_destroy(&t->cache.admission);
    free(t->cache.bodies);
    free(t->cache.bucket);
    free(t);
    return 0;
}

static void fill(table *t, cache_entry *e, size_t bytes)
{
    e->filled = 1;
    e->body = cache_body_create(NULL, bytes);
    e->body->bytes += bytes;
    cache_body_use(&t->cache, e->body);
    cache_account(&t->cache, e);
    cache_trim(&t->cache, &t->conf);
}

/* A request for a file of so many bytes, as cache_store.c takes it. 1: answered from memory */
static int ask(table *t, long number, size_t bytes)
{
    char uri[24];
    size_t len = (size_t)snprintf(uri, sizeof uri, "/%ld", number);
    uint64_t hash;
    cache_entry *e = cache_find(&t->cache, &(cache_place){NULL}, "h", 1, uri, len, NULL, &hash);
    unsigned count;
    int hit = e && e->filled;

    if (e) {
        cache_touch(&t->cache, e);
        if (!hit)
            fill(t, e, bytes);
        return hit;
    }
    admission_sample(&t->cache.admission, t->cache.entries_n);
    count = admission_count(&t->cache.admission, hash);
    if (count < 2 || !cache_make_room(&t->cache, &t->conf, CACHE_ANSWERS, count, HEAD + bytes))
        return 0;
    e = cache_add(&t->cache, &(cache_place){NULL}, "h", 1, uri, len, hash, CACHE_ANSWERS);
    e->uses = (uint8_t)count;
    e->reserved = bytes + 256;
    cache_account(&t->cache, e);
    return 0;
}

/* Hits of the last five of forty rounds through @a files, in per cent. */
static long cycle(table *t, long files)
{
    long hits = 0;

    for (long i = 0; i < 40 * files; i++)
        hits += ask(t, i % files, 10000) && i >= 35 * files;
    return hits * 100 / (5 * files);
}

static void test_a_cycle_beyond_the_size(void **state)
{
    assert_in_range(cycle(*state, 900), 55, 72); /* 600 to 640 of them have room */
}

/* What is counted must not drive out what is stored, turn by turn: it was 0. */
static void test_a_cycle_far_beyond_the_size(void **state)
{
    assert_in_range(cycle(*state, 3000), 15, 25);
}

/* Many small files are worth more than a few large ones that are asked for no more often. */
static void test_small_ones_displace_large_ones(void **state)
{
    table *t = *state;
    long hits = 0;

    for (long i = 0; i < 300; i++)
        ask(t, i % 10, 600000);
    for (long round = 0; round < 30; round++)
        for (long i = 0; i < 510; i++) {
            int hit = i < 500 ? ask(t, 100 + i, 10000) : ask(t, i - 500, 600000);

            hits += hit && i < 500 && round >= 25;
        }
    assert_true(hits * 100 / (5 * 500) > 90); /* it was 10 */
}

/* One large file that is asked for as often as each of those that it would displace stays outside. */
static void test_a_large_one_displaces_no_crowd(void **state)
{
    table *t = *state;
    long hits = 0;

    for (long i = 0; i < 20 * 500; i++)
        ask(t, i % 500, 10000);
    for (long round = 0; round < 10; round++) {
        ask(t, 9999, 2000000);
        for (long i = 0; i < 500; i++)
            hits += ask(t, i, 10000);
    }
    assert_true(hits * 100 / (10 * 500) > 95);
}

/* ---- open files ---- */

#define SMALL 15000
#define FILES 300

static cache_entry *add(table *t, const char *kind, int number, int fd)
{
    char uri[32];
    size_t len = (size_t)snprintf(uri, sizeof uri, "/%s/%d", kind, number);
    cache_entry *e = cache_add(&t->cache, &(cache_place){NULL}, "h", 1, uri, len,
                               cache_hash(&(cache_place){NULL}, "h", 1, uri, len), CACHE_ANSWERS);

    assert_non_null(e);
    e->filled = 1;
    e->body = cache_body_create(NULL, 1);
    e->body->fd = fd;
    cache_body_use(&t->cache, e->body);
    cache_note_file(&t->cache, e);
    cache_account(&t->cache, e);
    return e;
}

static int64_t thread_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* What it takes to look at all that is stored. */
static int64_t walk_ns(const table *t)
{
    int64_t began = thread_ns();
    int files = 0;

    for (const cache_entry *e = t->cache.queue[CACHE_ANSWERS].oldest; e; e = e->newer)
        files += e->body->fd >= 0;
    assert_int_equal(files, t->cache.files_n);
    return thread_ns() - began;
}

/* One goes for each that comes, and nobody looks for it among all that is stored. */
static void files_beyond_the_share_of_descriptors_go(void **state)
{
    table *t = *state;
    cache_entry *first, *second;
    int64_t began, walk;

    t->conf.file_cache_bytes = (apr_off_t)1 << 30;
    t->cache.files_most = 2;
    for (int i = 0; i < SMALL; i++)
        add(t, "small", i, -1);
    first = add(t, "file", 0, open("/dev/null", O_RDONLY | O_CLOEXEC));
    second = add(t, "file", 1, open("/dev/null", O_RDONLY | O_CLOEXEC));
    cache_hold(first);
    cache_hold(second);
    t->cache.queue[CACHE_ANSWERS].moves += SMALL; /* as if others had been used since */
    cache_touch(&t->cache, first);
    walk = walk_ns(t);
    began = thread_ns();
    for (int i = 2; i < FILES; i++) {
        add(t, "file", i, open("/dev/null", O_RDONLY | O_CLOEXEC));
        cache_trim(&t->cache, &t->conf);
        assert_int_equal(t->cache.files_n, 2);
        assert_int_equal(first->in_cache, i < 3); /* it was used after the second one */
        assert_false(second->in_cache);
    }
    assert_true(thread_ns() - began < FILES / 4 * walk);
    assert_int_equal(t->cache.entries_n, SMALL + 2);
    cache_release(first);
    cache_release(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_cycle_beyond_the_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_cycle_far_beyond_the_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_small_ones_displace_large_ones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_large_one_displaces_no_crowd, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_beyond_the_share_of_descriptors_go, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
