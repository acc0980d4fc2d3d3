/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of what is not stored: exact for a working set of the cache's size in any order, bounded,
 * and forgetful. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "cache_admission.h"
#include "keyed_hash.h"

static uint64_t hash_of(long i)
{
    return keyed_hash_of(3, (const char *)&i, sizeof i);
}

static void test_a_cycle_is_counted(void **state)
{
    cache_admission a;
    long twice = 0;

    assert_int_equal(admission_create(&a, 10000), 0);
    for (long i = 0; i < 10000; i++)
        assert_int_equal(admission_count(&a, hash_of(i)), 1);
    for (long i = 0; i < 10000; i++)
        twice += admission_count(&a, hash_of(i)) == 2;
    assert_true(twice > 9900);
    admission_destroy(&a);
}

static void test_a_crawler_is_forgotten(void **state)
{
    cache_admission a;
    long counted = 0;

    assert_int_equal(admission_create(&a, 1000), 0);
    for (long i = 0; i < 100000; i++)
        assert_int_equal(admission_count(&a, hash_of(i)), 1);
    for (long i = 0; i < 50000; i++)
        counted += admission_count(&a, hash_of(i)) > 1;
    assert_int_equal(counted, 0);
    admission_destroy(&a);
}

static void test_counts_end_and_are_halved(void **state)
{
    cache_admission a;
    admission_stamp then;

    assert_int_equal(admission_create(&a, 100), 0);
    for (int i = 1; i <= 100; i++)
        assert_int_equal(admission_count(&a, 7),
                         i < ADMISSION_COUNT_MOST ? i : ADMISSION_COUNT_MOST);
    then = admission_now(&a);
    assert_int_equal(admission_uses(&a, 12, then), 12);
    admission_age(&a, 100);
    assert_int_equal(admission_uses(&a, 12, then), 6);
    assert_int_equal(admission_count(&a, 7), 8);
    for (int i = 0; i < 10; i++)
        admission_age(&a, 100);
    assert_int_equal(admission_uses(&a, 12, then), 0);
    assert_int_equal(admission_count(&a, 7), 2); /* seen once stays seen once */
    admission_destroy(&a);
}

static void test_what_is_not_used_counts_less(void **state)
{
    cache_admission a;
    admission_stamp then;

    assert_int_equal(admission_create(&a, 100), 0);
    then = admission_now(&a);
    for (uint32_t i = 0; i < a.idle; i++)
        a.now++;
    assert_int_equal(admission_uses(&a, 8, then), 4);
    admission_destroy(&a);
}

/* A hot set that is not asked for any more makes place for the next. */
static void test_what_is_not_used_at_all_counts_for_nothing(void **state)
{
    cache_admission a;
    admission_stamp then;

    assert_int_equal(admission_create(&a, 1000), 0);
    admission_age(&a, 1000);
    then = admission_now(&a);
    for (int i = 0; i < 3000; i++)
        admission_sample(&a, 1000);
    assert_int_not_equal(admission_uses(&a, 15, then), 0);
    admission_sample(&a, 1000);
    assert_int_equal(admission_uses(&a, 15, then), 0);
    assert_int_equal(admission_uses(&a, 15, admission_now(&a)), 15);
    admission_destroy(&a);
}

static void test_displaced_entries_keep_their_count(void **state)
{
    cache_admission a;

    assert_int_equal(admission_create(&a, 100), 0);
    admission_keep(&a, 99, 5);
    assert_int_equal(admission_count(&a, 99), 6);
    admission_keep(&a, 98, 0);
    assert_int_equal(admission_count(&a, 98), 1);
    admission_destroy(&a);
    assert_int_equal(admission_count(&a, 98), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cycle_is_counted),
        cmocka_unit_test(test_a_crawler_is_forgotten),
        cmocka_unit_test(test_counts_end_and_are_halved),
        cmocka_unit_test(test_what_is_not_used_counts_less),
        cmocka_unit_test(test_what_is_not_used_at_all_counts_for_nothing),
        cmocka_unit_test(test_displaced_entries_keep_their_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
