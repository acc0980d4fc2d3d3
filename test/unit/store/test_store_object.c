/* SPDX-License-Identifier: Apache-2.0 */
/* What is written is found, by another process, too. */
#include "store_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "test_store.h"

static void test_what_is_written_is_found(void **state)
{
    static const uint64_t lengths[] = {0, 1, 1000, 65536, 700000, 786432, 1048576, 3500000};

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char text[32];
        store_head head;

        snprintf(text, sizeof text, "http://a/%zu", i);
        assert_int_equal(put(text, lengths[i]), APR_SUCCESS);
        assert_int_equal(has(f.other, text, lengths[i]), 0);
        snprintf(text, sizeof text, "http://b/%zu", i); /* the same without a length */
        head = head_of(text, STORE_LENGTH_UNKNOWN);
        assert_int_equal(put_with(&head, lengths[i], 0), APR_SUCCESS);
        assert_int_equal(has(f.other, text, lengths[i]), 0);
    }
    assert_int_equal(has(f.r, "http://c/", 0), -1);
}

static void test_the_newer_one_is_found(void **state)
{
    store_figures figures;

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(put("http://a/", 1000 + (uint64_t)i), APR_SUCCESS);
    assert_int_equal(has(f.r, "http://a/", 1099), 0);
    store_figures_get(f.s, &figures);
    assert_int_equal(figures.objects, 1);
}

static void test_each_is_seen(void **state)
{
    const uint64_t red = store_mark_of(f.s, "red", 3);
    const store_key key = key_of("http://a/1");
    store_head head = head_of("http://a/1", 10);
    seen t = {.mark = red};

    (void)state;
    head.marks = &red;
    head.marks_n = 1;
    put_with(&head, 10, 0);
    put("http://a/2", 20);
    put("http://b/1", 3500000);
    store_each(f.other, see, &t);
    assert_int_equal(t.n, 3);
    assert_int_equal(t.marked, 1);
    store_purge_prefix(f.s, "http://b/", 9, 1);
    store_purge_mark(f.s, store_mark_of_key(&key), 0);
    t = (seen){0};
    store_each(f.other, see, &t);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.soft, 1);
    t = (seen){.stop = 1};
    store_each(f.other, see, &t);
    assert_int_equal(t.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)
        T(test_what_is_written_is_found),
        T(test_the_newer_one_is_found),
        T(test_each_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
