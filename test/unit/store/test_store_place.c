/* SPDX-License-Identifier: Apache-2.0 */
/* Who keeps a copy of an object learns from its place that it is the object no more. */
#include "store_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#define NOW apr_time_from_sec(1000)

static store *s;
static store_reader *r, *other;
static void *memory;
static size_t bytes;

static int open_store(void **state)
{
    store_limits limits;

    (void)state;
    store_limits_default(&limits, 12 * STORE_SEGMENT);
    limits.readers = 4;
    limits.flights = 16;
    limits.purges = 16;
    bytes = store_size(&limits);
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    assert_true(memory != MAP_FAILED);
    s = store_open(memory, &limits);
    r = store_reader_open(s);
    other = store_reader_open(s);
    assert_true(r && other);
    return 0;
}

static int close_store(void **state)
{
    (void)state;
    store_reader_close(&r);
    store_reader_close(&other);
    store_close(&s);
    munmap(memory, bytes);
    return 0;
}

static void put(const char *text, const char *tag, uint64_t length)
{
    static const char terms[STORE_TERMS];
    static char block[4096];
    const uint64_t mark = tag ? store_mark_of(s, tag, strlen(tag)) : 0;
    const store_head head = {.key = store_key_of(s, text, strlen(text), NULL, 0),
                             .text = text,
                             .text_len = (uint32_t)strlen(text),
                             .terms = terms,
                             .head = "head",
                             .head_len = 4,
                             .marks = &mark,
                             .marks_n = tag != NULL,
                             .length = length,
                             .epoch = store_epoch(s)};
    const char *why;
    store_writer *w = store_write_begin(other, &head, 0, &why);

    assert_non_null(w);
    for (uint64_t n; length; length -= n) {
        n = length < sizeof block ? length : sizeof block;
        assert_int_equal(store_write(w, block, (size_t)n), 0);
    }
    assert_int_equal(store_write_end(&w), APR_SUCCESS);
}

/* 0: it is not there */
static int place(const char *text, store_place *out)
{
    const store_key key = store_key_of(s, text, strlen(text), NULL, 0);
    store_found found;

    if (!store_find(r, &key, NOW, &found) || !found.view.reader)
        return 0;
    *out = found.place;
    store_release(&found.view);
    return 1;
}

static void test_holds_while_nothing_changes(void **state)
{
    store_place at;

    (void)state;
    put("http://a/", NULL, 100);
    assert_true(place("http://a/", &at));
    assert_true(store_place_holds(r, &at) && store_place_look(r, &at));
    put("http://b/", NULL, 100);
    assert_true(store_place_holds(r, &at));
    put("http://a/", NULL, 100); /* a newer one */
    assert_false(store_place_holds(r, &at) || store_place_look(r, &at));
    assert_true(place("http://a/", &at) && store_place_holds(r, &at));
}

static void test_purges(void **state)
{
    static const char *const what[] = {"key", "tag", "prefix", "all"};
    store_place at, beside;

    (void)state;
    for (int soft = 0; soft < 2; soft++)
        for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
            const store_key key = store_key_of(s, "http://a/", 9, NULL, 0);

            put("http://a/", "t", 100);
            put("http://b/", NULL, 100);
            assert_true(place("http://a/", &at) && place("http://b/", &beside));
            switch (i) {
            case 0:
                store_purge_key(s, &key, soft);
                break;
            case 1:
                store_purge_mark(s, store_mark_of(s, "t", 1), soft);
                break;
            case 2:
                store_purge_prefix(s, "http://a", 8, soft);
                break;
            default:
                store_purge_all(s, soft);
            }
            assert_false(store_place_holds(r, &at));
            assert_true(store_place_holds(r, &beside) == (i < 3));
            assert_true(place("http://a/", &at) == soft);
            assert_false(soft && (store_place_holds(r, &at) && store_place_look(r, &at)));
        }
}

static void test_hits_keep_the_object(void **state)
{
    store_place at, other_at;
    char text[32];

    (void)state;
    put("http://kept/", NULL, 1000);
    put("http://not/", NULL, 1000);
    assert_true(place("http://kept/", &at) && place("http://not/", &other_at));
    assert_int_equal(store_slot_hits(atomic_load(at.slot)), 1);
    atomic_fetch_and(other_at.slot, ~STORE_SLOT_HITS); /* the look-up was one */
    for (int i = 0; i < 20; i++)
        store_place_hit(&at);
    assert_int_equal(store_slot_hits(atomic_load(at.slot)), 7);
    assert_true(store_place_holds(r, &at));
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "http://more/%d", i);
        put(text, NULL, 400000);
    }
    assert_false(store_place_holds(r, &at) || store_place_holds(r, &other_at)); /* moved; evicted */
    store_place_hit(&at); /* no harm to who is there now */
    assert_true(place("http://kept/", &at));
    assert_false(place("http://not/", &other_at));
    assert_true(store_place_holds(r, &at));
}

/* The slot has its value, but another object lies there. */
static void test_another_object_in_its_place(void **state)
{
    store_place at;

    (void)state;
    put("http://a/", NULL, 100);
    assert_true(place("http://a/", &at));
    at.key.a++;
    assert_true(store_place_holds(r, &at));
    assert_false(store_place_look(r, &at));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)
    const struct CMUnitTest tests[] = {
        T(test_holds_while_nothing_changes),
        T(test_purges),
        T(test_hits_keep_the_object),
        T(test_another_object_in_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
