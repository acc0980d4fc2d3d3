/* SPDX-License-Identifier: Apache-2.0 */
/* The wheel against a plain list: random deadlines, changes and cancellations. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "timer_wheel.h"

#define TIMERS 200

typedef struct model {
    struct loop_timer timer[TIMERS];
    apr_time_t due[TIMERS]; /* 0 = not set */
    apr_time_t now;
    int fired;
} model;

static model *current;

static void on_expired(struct loop_timer *t)
{
    model *m = current;
    ptrdiff_t i = t - m->timer;

    assert_true(m->due[i] != 0);
    assert_true(m->due[i] <= m->now);
    assert_null(t->prev);
    m->due[i] = 0;
    m->fired++;
}

static void model_begin(model *m)
{
    current = m;
    for (int i = 0; i < TIMERS; i++)
        m->timer[i].expired = on_expired;
}

static void model_step(timer_wheel *w, model *m)
{
    int i = rand() % TIMERS;

    if (rand() % 4 == 0) {
        wheel_cancel(w, &m->timer[i]);
        m->due[i] = 0;
    } else {
        m->due[i] = m->now + 1 + rand() % (rand() % 10 == 0 ? 400000000 : 5000000);
        wheel_set(w, &m->timer[i], m->due[i]);
    }
}

/* Nothing fires early (on_expired looks), and nothing is later than one tick. */
static void model_check(const model *m)
{
    for (int i = 0; i < TIMERS; i++)
        assert_true(m->due[i] == 0 || m->due[i] + WHEEL_TICK_US > m->now - WHEEL_TICK_US);
}

static void test_random(void **state)
{
    static timer_wheel w;
    static model m;

    model_begin(&m);
    srand(42);
    m.now = 1700000000000000;
    wheel_init(&w, m.now);
    for (int round = 0; round < 20000; round++) {
        for (int i = rand() % 4; i > 0; i--)
            model_step(&w, &m);
        m.now += rand() % 200000;
        wheel_expire(&w, m.now);
        model_check(&m);
    }
    m.now += 1000000000;
    wheel_expire(&w, m.now);
    m.now += WHEEL_TICK_US * WHEEL_SLOTS;
    wheel_expire(&w, m.now);
    assert_int_equal(w.armed_n, 0);
    assert_true(m.fired > 1000);
}

static void test_later_deadline_stays_in_its_slot(void **state)
{
    static timer_wheel w;
    static model m;

    model_begin(&m);
    m.now = 1700000000000000;
    wheel_init(&w, m.now);
    m.due[0] = m.now + 1000000;
    wheel_set(&w, &m.timer[0], m.due[0]);
    apr_time_t tick = m.timer[0].tick;
    m.due[0] = m.now + 3000000;
    wheel_set(&w, &m.timer[0], m.due[0]);
    assert_int_equal(m.timer[0].tick, tick);
    m.now += 2000000;
    wheel_expire(&w, m.now);
    assert_int_equal(m.fired, 0);
    m.now += 1200000;
    wheel_expire(&w, m.now);
    assert_int_equal(m.fired, 1);
}

static void test_wait(void **state)
{
    static timer_wheel w;
    struct loop_timer t = {.expired = on_expired};
    apr_time_t now = 1700000000000000;
    int wait;

    wheel_init(&w, now);
    assert_int_equal(wheel_wait_ms(&w, now, 1000), 1000);
    wheel_set(&w, &t, now + 300000);
    assert_in_range(wheel_wait_ms(&w, now, 1000), 250, 500);
    wheel_set(&w, &t, now + 100);
    wait = wheel_wait_ms(&w, now, 1000);
    assert_in_range(wait, 1, 250);
    wheel_cancel(&w, &t);
    wheel_expire(&w, now);
    wheel_set(&w, &t, now + 100); /* as soon, after a look at the wheel */
    assert_int_equal(wheel_wait_ms(&w, now, 1000), wait);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_later_deadline_stays_in_its_slot),
        cmocka_unit_test(test_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
