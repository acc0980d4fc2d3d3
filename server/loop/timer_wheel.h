/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_TIMER_WHEEL_H
#define BRIGADE_LOOP_TIMER_WHEEL_H

/**
 * @file timer_wheel.h
 * Deadlines of one event loop. Setting a later deadline, which is what every request on a
 * keep-alive connection does, writes one field: the timer stays in its slot, and is moved on when
 * that slot comes up.
 *
 * Threads: the owning loop only.
 */
#include "conn.h"

#define WHEEL_SLOTS 512
/** Length of a tick. One round is 64 s; longer deadlines go round again. */
#define WHEEL_TICK_US 125000

typedef struct timer_wheel {
    struct brg_conn_timer *slot[WHEEL_SLOTS];
    uint64_t used[WHEEL_SLOTS / 64]; /**< a bit for each slot that has timers */
    apr_time_t tick;                 /**< the last tick that was expired */
    unsigned armed_n;                /**< timers in the wheel */
} timer_wheel;

typedef void timer_expired_fn(struct brg_conn_timer *t, void *baton);

void wheel_init(timer_wheel *w, apr_time_t now);

/** Let @a t expire at @a due or up to one tick later. */
void wheel_set(timer_wheel *w, struct brg_conn_timer *t, apr_time_t due);

void wheel_cancel(timer_wheel *w, struct brg_conn_timer *t);

/** Call @a fn for each timer that is due; it is out of the wheel by then and may be set again. */
void wheel_expire(timer_wheel *w, apr_time_t now, timer_expired_fn *fn, void *baton);

/** Milliseconds until the next tick that has a timer, at most @a most_ms: for the poll call. */
int wheel_wait_ms(const timer_wheel *w, apr_time_t now, int most_ms);

#endif
