/* SPDX-License-Identifier: Apache-2.0 */
/* Connection ids: no two of them are the same, whatever the slot, the thread and the count. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "connection.h"

#define SLOTS 100
#define THREADS 1500
#define COUNTS 4

static int id_order(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;

    return (x > y) - (x < y);
}

static void test_ids_differ(void **state)
{
    static long ids[SLOTS * (THREADS + 1) * COUNTS];
    size_t n = 0;

    for (int slot = 0; slot < SLOTS; slot++)
        for (int thread = -1; thread < THREADS; thread++)
            for (unsigned long count = 1; count <= COUNTS; count++)
                ids[n++] = connection_id_of(count, slot, SLOTS, thread, THREADS);
    qsort(ids, n, sizeof *ids, id_order);
    assert_true(ids[0] > 0);
    for (size_t i = 1; i < n; i++)
        assert_true(ids[i - 1] < ids[i]);
}

/* Threads that are neither loops nor workers share their series. */
static void test_other_threads(void **state)
{
    assert_int_equal(connection_id_of(7, 0, 1, -1, 3), connection_id_of(7, 0, 1, 3, 3));
    assert_int_not_equal(connection_id_of(7, 0, 1, -1, 3), connection_id_of(7, 0, 1, 2, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_differ),
        cmocka_unit_test(test_other_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
