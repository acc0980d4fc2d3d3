/* SPDX-License-Identifier: Apache-2.0 */
/* Purges by key, mark and prefix, also of what is fetched meanwhile. */
#include "store_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "test_store.h"

static void test_purges(void **state)
{
    const uint64_t marks[2] = {store_mark_of(f.s, "red", 3), store_mark_of(f.s, "blue", 4)};
    store_head head;
    store_key key = key_of("http://a/1");

    (void)state;
    for (int i = 0; i < 4; i++) {
        static const char *const text[] = {"http://a/1", "http://a/2", "http://b/1", "http://b/2"};

        head = head_of(text[i], 10);
        head.marks = marks + (i & 1);
        head.marks_n = 1;
        assert_int_equal(put_with(&head, 10, 0), APR_SUCCESS);
    }
    store_purge_mark(f.s, store_mark_of_key(&key), 0);
    assert_int_equal(has(f.r, "http://a/1", 10), -1);
    assert_int_equal(has(f.r, "http://b/1", 10), 0);
    store_purge_mark(f.s, marks[1], 1);
    assert_int_equal(has(f.r, "http://a/2", 10), 1);
    assert_int_equal(has(f.r, "http://a/2", 10), 1); /* it stays so */
    assert_int_equal(has(f.r, "http://b/1", 10), 0);
    store_purge_mark(f.s, marks[1], 0);
    assert_int_equal(has(f.r, "http://b/2", 10), -1);
    assert_int_equal(store_purge_prefix(f.s, "http://b/", 9, 1), APR_SUCCESS);
    assert_int_equal(has(f.r, "http://b/1", 10), 1);
    assert_int_equal(store_purge_prefix(f.s, "http://b/", 9, 0), APR_SUCCESS);
    assert_int_equal(has(f.r, "http://b/1", 10), -1);
    put("http://b/1", 10); /* what comes later is not purged */
    assert_int_equal(has(f.r, "http://b/1", 10), 0);
    head = head_of("http://b/3", 10);
    store_purge_all(f.s, 0); /* while it is fetched */
    put_with(&head, 10, 0);
    assert_int_equal(has(f.r, "http://b/3", 10), -1);
    assert_int_equal(has(f.r, "http://b/1", 10), -1);
}

/* Who asks after a purge does not get what was asked for before it. */
static void test_a_purge_while_it_grows(void **state)
{
    const uint64_t red = store_mark_of(f.s, "red", 3);
    const store_key key = key_of("http://a/1");
    store_head head = head_of("http://a/1", 20);
    const uint32_t before = store_epoch(f.s);
    store_view view = {0};
    uint32_t flight, seen_flight;
    const char *why;
    store_writer *w;

    (void)state;
    head.marks = &red;
    head.marks_n = 1;
    assert_int_equal(store_flight_begin(f.r, &key, 0, NOW, &flight), STORE_LEAD);
    w = store_write_begin(f.r, &head, flight, &why);
    assert_non_null(w);
    assert_int_equal(store_flight_begin(f.other, &key, 0, NOW, &seen_flight), STORE_FOLLOW);
    assert_int_equal(store_flight_look(f.other, seen_flight, &key, &view), STORE_FLIGHT_GROWS);
    store_purge_mark(f.s, store_mark_of(f.s, "blue", 4), 0);
    assert_false(store_view_is_purged(&view, store_epoch(f.s)));
    store_purge_mark(f.s, red, 1);
    assert_true(store_view_is_purged(&view, store_epoch(f.s)));
    assert_false(store_view_is_purged(&view, before));
    store_purge_mark(f.s, store_mark_of_key(&key), 0);
    assert_true(store_view_is_purged(&view, store_epoch(f.s)));
    store_release(&view);
    store_write_give_up(&w);
}

static void test_purges_that_do_not_fit(void **state)
{
    char text[32];

    (void)state;
    assert_int_equal(put("http://a/", 10), APR_SUCCESS);
    assert_int_equal(put("http://b/", 10), APR_SUCCESS);
    store_purge_mark(
        f.s, store_mark_of_key(&(store_key){key_of("http://a/").a, key_of("http://a/").b}), 0);
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "tag %d", i);
        store_purge_mark(f.s, store_mark_of(f.s, text, strlen(text)), 0);
        snprintf(text, sizeof text, "http://c/%d", i);
        store_purge_prefix(f.s, text, strlen(text), 0);
    }
    assert_int_equal(has(f.r, "http://a/", 10), -1);
}

#ifdef BRG_DEBUG_ASSERTIONS
static jmp_buf purger_died;

static void die_once_it_is_seen(const char *where)
{
    if (strcmp(where, "purge written") == 0)
        longjmp(purger_died, 1);
}

/* Between the number of a purge and its place in the table: another purge of that mark, an answer, and one more purge, which
 * everybody sees and whose purger dies. */
static void purge_meanwhile(const char *where)
{
    const store_key key = key_of("http://a/");

    if (strcmp(where, "purge numbered") != 0)
        return;
    store_test_step = NULL;
    store_purge_mark(f.s, store_mark_of_key(&key), 0);
    assert_int_equal(put("http://a/", 10), APR_SUCCESS);
    store_test_step = die_once_it_is_seen;
    if (!setjmp(purger_died))
        store_purge_mark(f.s, store_mark_of_key(&key), 0);
    store_test_step = NULL;
}

static void test_a_purge_that_is_numbered_late(void **state)
{
    const store_key key = key_of("http://a/"), another = key_of("http://b/");

    (void)state;
    store_test_step = purge_meanwhile;
    store_purge_mark(f.s, store_mark_of_key(&key), 0);
    assert_null(store_test_step);
    store_purge_mark(f.s, store_mark_of_key(&another),
                     0); /* what began before is looked at by now */
    assert_int_equal(has(f.r, "http://a/", 10), -1);
    assert_int_equal(put("http://a/", 10), APR_SUCCESS);
    assert_int_equal(has(f.r, "http://a/", 10), 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)
        T(test_purges),
        T(test_a_purge_while_it_grows),
        T(test_purges_that_do_not_fit),
#ifdef BRG_DEBUG_ASSERTIONS
        T(test_a_purge_that_is_numbered_late),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
