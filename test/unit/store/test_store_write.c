/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of an object and of its variants; a new head for an old body. */
#include "store_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "test_store.h"

static void test_a_body_that_came_short_is_not_stored(void **state)
{
    const store_head head = head_of("http://a/", 100);

    (void)state;
    assert_int_equal(put_with(&head, 99, 0), APR_EGENERAL);
    assert_int_equal(has(f.r, "http://a/", 99), -1);
}

static void test_bounds(void **state)
{
    store_head head = head_of("http://a/", 9 * STORE_SEGMENT);
    const char *why;
    char *p;
    store_writer *w;
    uint64_t total = 0;

    (void)state;
    assert_null(store_write_begin(f.r, &head, 0, &why));
    assert_string_equal(why, "its body is too long");
    head.length = STORE_LENGTH_UNKNOWN;
    w = store_write_begin(f.r, &head, 0, &why);
    for (size_t n; (n = store_write_room(w, &p)); total += n)
        store_write_commit(w, n);
    assert_true(total == 8 * STORE_SEGMENT);
    store_write_give_up(&w);
    head.marks_n = 33;
    assert_null(store_write_begin(f.r, &head, 0, &why));
    assert_string_equal(why, "it has too many tags");
}

static void test_variants_are_bounded(void **state)
{
    const store_key primary = key_of("http://a/");
    const char *why;

    (void)state;
    for (int i = 0; i < 6; i++) {
        store_head head = head_of("http://a/", 0);
        store_writer *w;

        head.key = store_key_of(f.s, "http://a/", 9, (const char *)&i, sizeof i);
        head.mark = store_mark_of_key(&primary);
        w = store_write_begin(f.r, &head, 0, &why);
        assert_true((w != NULL) == (i < 5));
        if (w)
            assert_int_equal(store_write_end(&w), APR_SUCCESS);
    }
    store_purge_mark(f.s, store_mark_of_key(&primary), 0);
    for (int i = 0; i < 5; i++) {
        const store_key key = store_key_of(f.s, "http://a/", 9, (const char *)&i, sizeof i);
        store_found found;

        assert_false(store_find(f.r, &key, NOW, &found));
    }
    assert_int_equal(store_variants(f.s, store_mark_of_key(&primary)), 0);
}

static void write_empty(const char *text)
{
    const store_head head = head_of(text, 0);
    const char *why;
    store_writer *w = store_write_begin(f.r, &head, 0, &why);

    assert_non_null(w);
    assert_int_equal(store_write_end(&w), APR_SUCCESS);
}

static int is_found(const char *text)
{
    const store_key key = key_of(text);
    store_found found;

    if (!store_find(f.r, &key, NOW, &found) || !found.view.reader)
        return 0;
    store_release(&found.view);
    return 1;
}

/* The newest one is there, and so is the one that is asked for all the time. */
static void test_objects_are_bounded(void **state)
{
    char text[32];
    store_figures figures;

    (void)state;
    for (uint32_t most = 1; most <= 40; most += 13) {
        store_purge_all(f.s, 0);
        store_limits_change(f.s, &(store_limits){.objects_most = most});
        write_empty("http://hot/");
        for (int i = 0; i < 200; i++) {
            assert_true(most == 1 || is_found("http://hot/"));
            snprintf(text, sizeof text, "http://%u/%d", most, i);
            write_empty(text);
            assert_true(is_found(text));
            store_figures_get(f.s, &figures);
            assert_true(figures.objects <= most && figures.objects_most == most);
        }
        assert_int_equal(figures.objects, most);
    }
}

static void test_bounds_are_changed(void **state)
{
    const char *why;
    store_head head = head_of("http://tags/", 0);
    uint64_t marks[4] = {1, 2, 3, 4};
    store_writer *w;

    (void)state;
    store_limits_change(f.s, &(store_limits){.variants = 1, .marks = 3, .flight_bytes = 1});
    head.marks = marks;
    head.marks_n = 4;
    assert_null(store_write_begin(f.r, &head, 0, &why));
    assert_string_equal(why, "it has too many tags");
    head.marks_n = 3;
    w = store_write_begin(f.r, &head, 0, &why);
    assert_non_null(w);
    assert_int_equal(store_write_end(&w), APR_SUCCESS);
    store_limits_change(f.s, &(store_limits){.flight_bytes = UINT64_MAX});
    head.marks_n = 4;
    w = store_write_begin(f.r, &head, 0, &why);
    assert_non_null(w);
    store_write_give_up(&w);
}

static void test_a_new_head_keeps_the_body(void **state)
{
    static const uint64_t lengths[] = {10, 3000000};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const store_key key = key_of("http://a/");
        store_head head = head_of("http://a/", 0);
        store_found found;

        assert_int_equal(put("http://a/", lengths[i]), APR_SUCCESS);
        for (int times = 0; times < 3; times++) {
            assert_true(store_find(f.r, &key, NOW, &found));
            head.head = "new";
            head.head_len = 3;
            assert_int_equal(store_write_refreshed(f.r, &head, &found.view, 0), APR_SUCCESS);
            store_release(&found.view);
        }
        assert_true(store_find(f.other, &key, NOW, &found));
        assert_memory_equal(found.view.head, "new", 3);
        assert_true(body_is(&found.view, "http://a/", lengths[i]));
        store_release(&found.view);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)
        T(test_a_body_that_came_short_is_not_stored),
        T(test_bounds),
        T(test_variants_are_bounded),
        T(test_objects_are_bounded),
        T(test_bounds_are_changed),
        T(test_a_new_head_keeps_the_body),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
