/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a lock are counted, once each, and by lock; one that is free counts nothing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "counted_lock.h"

#include <errno.h>
#include <sched.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int comes;

static void *waits(void *baton)
{
    (void)baton;
    comes = 1;
    lock_counted(&lock, LOCK_STREAMS);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void free_locks_count_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        lock_counted(&lock, LOCK_STREAMS);
        assert_int_equal(pthread_mutex_trylock(&lock), EBUSY); /* it is held */
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < LOCKS_N; i++)
        assert_int_equal(lock_waits_take((lock_name)i), 0);
}

static void a_wait_counts_once(void **state)
{
    pthread_t other;
    uint64_t n = 0;

    (void)state;
    pthread_mutex_lock(&lock);
    assert_int_equal(pthread_create(&other, NULL, waits, NULL), 0);
    while (!n) {
        sched_yield();
        n = lock_waits_take(LOCK_STREAMS);
    }
    assert_int_equal(comes, 1);
    pthread_mutex_unlock(&lock);
    pthread_join(other, NULL);
    assert_int_equal(n, 1);
    for (int i = 0; i < LOCKS_N; i++)
        assert_int_equal(lock_waits_take((lock_name)i), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_locks_count_nothing),
        cmocka_unit_test(a_wait_counts_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
