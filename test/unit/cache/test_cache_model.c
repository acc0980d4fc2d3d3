/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of stored answers against a naive map: random operations with few keys, shared bodies,
 * errors and answers that are being sent. After each step what is found, counted and charged must be
 * what the map says. CACHE_MODEL_STEPS and CACHE_MODEL_SEED ask for other runs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cache_private.h"
#include "keyed_hash.h"
#include "universal_hash.h"

#define KEYS 300
#define FILES 12
#define HELD 20

typedef struct model {
    response_cache cache;
    brg_core_conf conf;
    cache_entry *map[KEYS]; /* NULL: the table says that it has gone */
    cache_entry *held[HELD];
    uint64_t seed;
} model;

static unsigned pick(model *m, unsigned n)
{
    m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(m->seed >> 33) % n;
}

static cache_entry *look_up(model *m, unsigned key, uint64_t *hash)
{
    char uri[16];
    int len = snprintf(uri, sizeof uri, "/%u", key);

    return cache_find(&m->cache, &(cache_place){NULL}, "host", 4, uri, (size_t)len, NULL, hash);
}

static file_identity file_of(unsigned number)
{
    return (file_identity){.dev = 1, .ino = number + 1, .size = 1000 * number};
}

static void give_body(model *m, cache_entry *e)
{
    file_identity id = file_of(pick(m, FILES));
    cache_body *b = cache_body_of_file(&m->cache, &id);

    if (!b) {
        b = cache_body_create(malloc(id.size + 1), id.size);
        b->identity = pick(m, 4) ? id : (file_identity){0};
    }
    e->body = b;
    cache_body_use(&m->cache, b);
    e->filled = 1;
}

static void add(model *m, unsigned key)
{
    uint64_t hash;
    char uri[16];
    int len = snprintf(uri, sizeof uri, "/%u", key);
    int queue = pick(m, 4) ? CACHE_ANSWERS : CACHE_ERRORS;
    unsigned count = 1 + pick(m, ADMISSION_COUNT_MOST);
    cache_entry *e = look_up(m, key, &hash);

    if (e || !cache_make_room(&m->cache, &m->conf, queue, count, 500 + pick(m, 3000)))
        return;
    e = cache_add(&m->cache, &(cache_place){NULL}, "host", 4, uri, (size_t)len, hash, queue);
    assert_non_null(e);
    e->uses = (uint8_t)count;
    if (pick(m, 3)) {
        e->path = strdup("/a/path");
        cache_account(&m->cache, e);
    }
    if (queue == CACHE_ANSWERS)
        give_body(m, e);
    m->map[key] = e;
}

/* An answer that is sent holds its entry, whatever the cache does meanwhile. */
static void hold_or_release(model *m, unsigned key)
{
    cache_entry **slot = &m->held[pick(m, HELD)];
    uint64_t hash;

    if (*slot) {
        if ((*slot)->body && (*slot)->body->data)
            memset((*slot)->body->data, 1, (size_t)(*slot)->body->len); /* still there */
        cache_release(*slot);
        *slot = NULL;
    } else if ((*slot = look_up(m, key, &hash)) != NULL) {
        cache_hold(*slot);
    }
}

static void operate(model *m)
{
    unsigned key = pick(m, KEYS);
    uint64_t hash;
    cache_entry *e = look_up(m, key, &hash);

    switch (pick(m, 8)) {
    case 0:
        if (e)
            cache_forget(&m->cache, e);
        break;
    case 1:
    case 2:
        if (e)
            cache_touch(&m->cache, e);
        break;
    case 3:
        hold_or_release(m, key);
        break;
    case 4:
        cache_trim(&m->cache, &m->conf);
        break;
    default:
        add(m, key);
    }
}

/* ---- what the table must be like ---- */

static size_t check_bodies(model *m)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < m->cache.bodies_n; i++)
        for (const cache_body *b = m->cache.bodies[i]; b; b = b->next) {
            assert_true(b->users > 0 && b->refs >= b->users);
            bytes += b->bytes;
        }
    return bytes;
}

static void check_queue(model *m, int number)
{
    const cache_queue *q = &m->cache.queue[number];
    size_t bytes = 0;
    uint32_t n = 0;

    for (const cache_entry *e = q->oldest, *last = NULL; e; last = e, e = e->newer) {
        assert_ptr_equal(e->older, last);
        assert_true(e->in_cache && e->queue == number);
        bytes += e->bytes;
        n++;
    }
    assert_int_equal(n, q->n);
    assert_int_equal(bytes, q->bytes);
}

static void check(model *m)
{
    size_t bytes = check_bodies(m);
    uint32_t n = 0;

    for (unsigned key = 0; key < KEYS; key++) {
        uint64_t hash;
        cache_entry *e = look_up(m, key, &hash);

        if (!e)
            continue;
        assert_ptr_equal(e, m->map[key]);
        n++;
        bytes += e->bytes;
        if (e->body && !e->body->identity.ino)
            bytes += e->body->bytes; /* not shared */
    }
    assert_int_equal(n, m->cache.entries_n);
    assert_int_equal(bytes, m->cache.bytes);
    for (int queue = 0; queue < CACHE_QUEUES; queue++)
        check_queue(m, queue);
}

static void check_limits(model *m)
{
    assert_true(m->cache.entries_n <= (uint32_t)m->conf.file_cache_entries_n);
    assert_true(m->cache.queue[CACHE_ERRORS].n <=
                (uint32_t)m->conf.file_cache_entries_n / CACHE_ERRORS_PART + 1);
    assert_true((apr_off_t)m->cache.bytes <= m->conf.file_cache_bytes);
}

static void test_random_operations(void **state)
{
    const char *steps_text = getenv("CACHE_MODEL_STEPS"), *seed_text = getenv("CACHE_MODEL_SEED");
    long steps = steps_text ? atol(steps_text) : 20000;
    model *m = calloc(1, sizeof *m);

    m->seed = seed_text ? strtoull(seed_text, NULL, 10) : 1;
    m->conf.file_cache_entries_n = 120;
    m->conf.file_cache_bytes = 90000;
    m->cache.buckets_n = 16; /* chains */
    m->cache.bucket = calloc(16, sizeof(*m->cache.bucket));
    m->cache.bodies_n = 1024;
    m->cache.bodies = calloc(m->cache.bodies_n, sizeof(*m->cache.bodies));
    assert_int_equal(admission_create(&m->cache.admission, 120), 0);
    keyed_hash_seed();
    universal_hash_seed();
    for (long i = 0; i < steps; i++) {
        operate(m);
        if (i % 16 == 0)
            check(m);
        if (i % 64 == 0) {
            cache_trim(&m->cache, &m->conf);
            check_limits(m);
        }
    }
    print_message("%ld steps, %lu displaced\n", steps, (unsigned long)m->cache.figures.displaced);
    assert_true(m->cache.figures.displaced > (uint64_t)steps / 200);
    for (int i = 0; i < HELD; i++)
        if (m->held[i])
            cache_release(m->held[i]);
    for (int queue = 0; queue < CACHE_QUEUES; queue++)
        while (m->cache.queue[queue].oldest)
            cache_forget(&m->cache, m->cache.queue[queue].oldest);
    assert_int_equal(m->cache.bytes, 0);
    assert_int_equal(check_bodies(m), 0);
    admission_destroy(&m->cache.admission);
    free(m->cache.bodies);
    free(m->cache.bucket);
    free(m);
}

/* Whatever the hash does: a chain ends. */
static void test_chains_are_bounded(void **state)
{
    response_cache *c = calloc(1, sizeof *c);
    cache_entry *first;
    int n = 0;

    c->buckets_n = 1;
    c->is_workers = 1; /* does not grow */
    c->bucket = &first;
    first = NULL;
    for (int i = 0; i < 1000; i++) {
        char uri[16];

        snprintf(uri, sizeof uri, "/%d", i);
        cache_add(c, &(cache_place){NULL}, "h", 1, uri, strlen(uri), 5, CACHE_ANSWERS);
    }
    for (const cache_entry *e = first; e; e = e->next)
        n++;
    assert_int_equal(n, CACHE_CHAIN_MOST);
    while (first)
        cache_forget(c, first);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_operations),
        cmocka_unit_test(test_chains_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
