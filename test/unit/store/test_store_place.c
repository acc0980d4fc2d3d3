/* SPDX-License-Identifier: Apache-2.0 */
/* Who keeps a copy of an object learns from its place that it is the object no more. */
#include "store_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_store.h"

static void put_tagged(const char *text, const char *tag, uint64_t length)
{
    const uint64_t mark = store_mark_of(f.s, tag, strlen(tag));
    store_head head = head_of(text, length);

    head.marks = &mark;
    head.marks_n = 1;
    assert_int_equal(put_with(&head, length, 0), APR_SUCCESS);
}

/* 0: it is not there */
static int place(const char *text, store_place *out)
{
    const store_key key = key_of(text);
    store_found found;

    if (!store_find(f.other, &key, NOW, &found) || !found.view.reader)
        return 0;
    *out = found.place;
    store_release(&found.view);
    return 1;
}

static void test_holds_while_nothing_changes(void **state)
{
    store_place at;

    (void)state;
    put("http://a/", 100);
    assert_true(place("http://a/", &at));
    assert_true(store_place_holds(f.other, &at) && store_place_look(f.other, &at));
    put("http://b/", 100);
    assert_true(store_place_holds(f.other, &at));
    put("http://a/", 100); /* a newer one */
    assert_false(store_place_holds(f.other, &at) || store_place_look(f.other, &at));
    assert_true(place("http://a/", &at) && store_place_holds(f.other, &at));
}

static void test_purges(void **state)
{
    static const char *const what[] = {"key", "tag", "prefix", "all"};
    store_place at, beside;

    (void)state;
    for (int soft = 0; soft < 2; soft++)
        for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
            const store_key key = key_of("http://a/");

            put_tagged("http://a/", "t", 100);
            put("http://b/", 100);
            assert_true(place("http://a/", &at) && place("http://b/", &beside));
            switch (i) {
            case 0:
                store_purge_mark(f.s, store_mark_of_key(&key), soft);
                break;
            case 1:
                store_purge_mark(f.s, store_mark_of(f.s, "t", 1), soft);
                break;
            case 2:
                store_purge_prefix(f.s, "http://a", 8, soft);
                break;
            default:
                store_purge_all(f.s, soft);
            }
            assert_false(store_place_holds(f.other, &at));
            assert_true(store_place_holds(f.other, &beside) == (i < 3));
            assert_true(place("http://a/", &at) == soft);
            assert_false(soft &&
                         (store_place_holds(f.other, &at) && store_place_look(f.other, &at)));
        }
}

static void test_hits_keep_the_object(void **state)
{
    store_place at, other_at;

    (void)state;
    put("http://kept/", 1000);
    put("http://not/", 1000);
    assert_true(place("http://kept/", &at) && place("http://not/", &other_at));
    assert_int_equal(store_slot_hits(atomic_load(at.slot)), 1);
    atomic_fetch_and(other_at.slot, ~STORE_SLOT_HITS); /* the look-up was one */
    for (int i = 0; i < 20; i++)
        store_place_hit(&at);
    assert_int_equal(store_slot_hits(atomic_load(at.slot)), 7);
    assert_true(store_place_holds(f.other, &at));
    put_many(40, 400000);
    assert_false(store_place_holds(f.other, &at) ||
                 store_place_holds(f.other, &other_at)); /* moved; evicted */
    store_place_hit(&at);                                /* no harm to who is there now */
    assert_true(place("http://kept/", &at));
    assert_false(place("http://not/", &other_at));
    assert_true(store_place_holds(f.other, &at));
}

/* The slot has its value, but another object lies there. */
static void test_another_object_in_its_place(void **state)
{
    store_place at;

    (void)state;
    put("http://a/", 100);
    assert_true(place("http://a/", &at));
    at.key.a++;
    assert_true(store_place_holds(f.other, &at));
    assert_false(store_place_look(f.other, &at));
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
