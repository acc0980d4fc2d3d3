/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of look-ups and the table of the busiest networks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "asn_count.h"

static asn_counts counts;

static int fresh(void **state)
{
    memset(&counts, 0, sizeof counts);
    return 0;
}

static uint64_t count_of(uint32_t asn)
{
    brg_status_network_busy busy[ASN_BUSY];
    int n = asn_count_busy(&counts, busy);

    for (int i = 0; i < n; i++)
        if (busy[i].asn == asn)
            return busy[i].count;
    return 0;
}

/* A network with a good part of all look-ups is told, however many others there are, and never with fewer than it had
 * but for those of one sample. */
static void test_the_busiest_stay_among_thousands(void **state)
{
    brg_status_network_busy busy[ASN_BUSY];
    unsigned seed = 7, mine = 0;

    for (int i = 0; i < 100000; i++) {
        const int is_mine = rand_r(&seed) % 5 == 0;

        asn_count(&counts, is_mine ? 64496 : 100000 + (uint32_t)rand_r(&seed) % 5000);
        mine += (unsigned)is_mine;
    }
    assert_int_equal(asn_count_lookups(&counts), 100000);
    assert_int_equal(asn_count_busy(&counts, busy), ASN_BUSY);
    assert_int_equal(busy[0].asn, 64496);
    assert_in_range(busy[0].count, mine * 9 / 10, mine * 11 / 10 + 100000 / ASN_BUSY);
    for (int i = 1; i < ASN_BUSY; i++)
        assert_true(busy[i].count <= busy[i - 1].count);
}

static void test_clients_without_a_network_are_counted_alone(void **state)
{
    for (int i = 0; i < 80; i++)
        asn_count(&counts, 0);
    assert_int_equal(asn_count_lookups(&counts), 80);
    assert_int_equal(count_of(0), 0);
}

static void test_what_was_busy_is_forgotten(void **state)
{
    uint64_t before;

    for (int i = 0; i < 8000; i++)
        asn_count(&counts, 64496);
    before = count_of(64496);
    assert_int_equal(before, 8000);
    for (int i = 0; i < 60; i++)
        asn_count_age(&counts);
    assert_in_range(count_of(64496), before * 45 / 100, before * 55 / 100);
    for (int i = 0; i < 2000; i++)
        asn_count_age(&counts);
    assert_int_equal(count_of(64496), 0);
}

static void *count_many(void *unused)
{
    for (int i = 0; i < 20000; i++)
        asn_count(&counts, 64500 + (uint32_t)i % 3);
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[8];

    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_many, NULL), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(asn_count_lookups(&counts), 8 * 20000);
    assert_true(count_of(64500) && count_of(64501) && count_of(64502));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_the_busiest_stay_among_thousands, fresh),
        cmocka_unit_test_setup(test_clients_without_a_network_are_counted_alone, fresh),
        cmocka_unit_test_setup(test_what_was_busy_is_forgotten, fresh),
        cmocka_unit_test_setup(test_threads, fresh),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
