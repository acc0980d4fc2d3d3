/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_TIMER_WHEEL_H
#define BRIGADE_LOOP_TIMER_WHEEL_H

/**
 * @file timer_wheel.h
 * Deadlines of one event loop. Setting a later deadline, as every request on a
 * keep-alive connection does, writes one field: the timer stays in its slot, and is moved on when
 * that slot comes up. Whoever waits on a loop embeds a loop_timer: connections, and all else.
 *
 * Threads: the owning loop only.
 */
#include "apr_time.h"
#include <stdint.h>

#define WHEEL_SLOTS 512
/** Length of a tick. One round is 64 s; longer deadlines go round again. */
#define WHEEL_TICK_US 125000

struct loop_timer;

/** @a t is due. It is out of the wheel, and may be set again or freed. */
typedef void loop_timer_fn(struct loop_timer *t);

/** A deadline. The object that embeds it owns it, and cancels it before it ends. */
struct loop_timer {
    struct loop_timer *next, **prev; /**< wheel slot; prev NULL = not armed */
    apr_time_t due;                  /**< microseconds of clock_monotonic() */
    apr_time_t tick;                 /**< the tick whose slot it hangs in */
    loop_timer_fn *expired;          /**< set by the owner before wheel_set() */
};

typedef struct timer_wheel {
    struct loop_timer *slot[WHEEL_SLOTS];
    uint64_t used[WHEEL_SLOTS / 64]; /**< a bit for each slot that has timers */
    apr_time_t tick;                 /**< the last tick that was expired */
    unsigned armed_n;                /**< timers in the wheel */
} timer_wheel;

void wheel_init(timer_wheel *w, apr_time_t now);

/** Let @a t expire at @a due or up to one tick later. */
void wheel_set(timer_wheel *w, struct loop_timer *t, apr_time_t due);

void wheel_cancel(timer_wheel *w, struct loop_timer *t);

/** Call expired() of each timer that is due. */
void wheel_expire(timer_wheel *w, apr_time_t now);

/** Milliseconds until the next tick that has a timer, at most @a most_ms: for the poll call. */
int wheel_wait_ms(const timer_wheel *w, apr_time_t now, int most_ms);

#endif
