/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is: connections one after the other, however many requests one of them has. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "worker_queue.h"

#define MANY 100

static brg_conn many, streams[MANY], others[3];

static int setup(void **state)
{
    memset(&many, 0, sizeof many);
    memset(streams, 0, sizeof streams);
    memset(others, 0, sizeof others);
    for (int i = 0; i < MANY; i++)
        streams[i].master = &many;
    return 0;
}

static void add_streams(worker_queue *q, int from, int to)
{
    for (int i = from; i < to; i++)
        worker_queue_add(q, &streams[i]);
}

static void test_one_after_the_other(void **state)
{
    worker_queue q = {0};

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++)
            worker_queue_add(&q, &others[i]);
        assert_int_equal(q.waiting, 3);
        for (int i = 0; i < 3; i++)
            assert_ptr_equal(worker_queue_take(&q), &others[i]);
        assert_null(worker_queue_take(&q));
        assert_null(q.last);
    }
}

static void test_streams_do_not_stand_before_others(void **state)
{
    worker_queue q = {0};

    add_streams(&q, 0, 50);
    for (int i = 0; i < 10; i++)
        assert_ptr_equal(worker_queue_take(&q), &streams[i]);
    for (int i = 0; i < 3; i++)
        worker_queue_add(&q, &others[i]);
    add_streams(&q, 50, MANY); /* still behind its own */
    assert_ptr_equal(worker_queue_take(&q), &streams[10]);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(worker_queue_take(&q), &others[i]);
    worker_queue_add(&q, &others[0]);
    assert_ptr_equal(worker_queue_take(&q), &streams[11]);
    assert_ptr_equal(worker_queue_take(&q), &others[0]);
    for (int i = 12; i < MANY; i++)
        assert_ptr_equal(worker_queue_take(&q), &streams[i]);
    assert_int_equal(q.waiting, 0);
}

/* Of a connection whose queue ran dry the next stream does not wait for what it had before. */
static void test_the_past_does_not_count(void **state)
{
    worker_queue q = {0};

    add_streams(&q, 0, 20);
    for (int i = 0; i < 20; i++)
        assert_ptr_equal(worker_queue_take(&q), &streams[i]);
    worker_queue_add(&q, &others[0]);
    worker_queue_add(&q, &streams[20]);
    worker_queue_add(&q, &others[1]);
    assert_ptr_equal(worker_queue_take(&q), &others[0]);
    assert_ptr_equal(worker_queue_take(&q), &streams[20]);
    assert_ptr_equal(worker_queue_take(&q), &others[1]);
}

static conn_refusal is_odd(const brg_conn *bc, short events, void *baton)
{
    return bc == &others[0] || (bc->master && (bc - streams) % 2) ? CONN_REFUSED_LATE
                                                                  : CONN_NOT_REFUSED;
}

static void test_refused_ones_are_taken_out(void **state)
{
    struct pollfd p[11] = {0};
    worker_queue q = {0};
    brg_conn *out = NULL, *bc;

    add_streams(&q, 0, 10);
    worker_queue_add(&q, &others[0]);
    *worker_queue_refuse(&q, p, &out, is_odd, NULL) = NULL;
    assert_ptr_equal(out, &others[0]);
    assert_ptr_equal(out->next, &streams[1]);
    assert_int_equal(q.waiting, 5);
    worker_queue_add(&q, &others[1]);
    for (int i = 0; i < 10; i += 2) {
        assert_ptr_equal(bc = worker_queue_take(&q), &streams[i]);
        assert_int_equal(bc->queue.refused, CONN_NOT_REFUSED);
        if (i == 0)
            assert_ptr_equal(worker_queue_take(&q), &others[1]);
    }
    assert_int_equal(q.waiting, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_one_after_the_other, setup),
        cmocka_unit_test_setup(test_streams_do_not_stand_before_others, setup),
        cmocka_unit_test_setup(test_the_past_does_not_count, setup),
        cmocka_unit_test_setup(test_refused_ones_are_taken_out, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
