/* SPDX-License-Identifier: Apache-2.0 */
/* A single-level hashed wheel. Hierarchies pay off for many far deadlines; ours are nearly all
 * within a minute. */
#include "timer_wheel.h"
#include "brigade/assert.h"
#include <string.h>

static apr_time_t wheel_tick_of(apr_time_t t)
{
    return t / WHEEL_TICK_US;
}

void wheel_init(timer_wheel *w, apr_time_t now)
{
    memset(w, 0, sizeof *w);
    w->tick = wheel_tick_of(now);
}

static void wheel_mark(timer_wheel *w, apr_time_t tick)
{
    w->used[tick % WHEEL_SLOTS / 64] |= (uint64_t)1 << (tick % 64);
}

static void wheel_unmark(timer_wheel *w, apr_time_t tick)
{
    w->used[tick % WHEEL_SLOTS / 64] &= ~((uint64_t)1 << (tick % 64));
}

static void wheel_link(timer_wheel *w, struct loop_timer *t)
{
    /* One tick more than the quotient: a deadline inside a tick must not fire at the start of that
     * tick. */
    apr_time_t tick = wheel_tick_of(t->due) + 1;
    struct loop_timer **head;

    BRG_ASSERT(!t->prev && t->expired);
    if (tick <= w->tick)
        tick = w->tick + 1;
    else if (tick > w->tick + WHEEL_SLOTS - 1)
        tick = w->tick + WHEEL_SLOTS - 1;
    t->tick = tick;
    head = &w->slot[tick % WHEEL_SLOTS];
    t->next = *head;
    t->prev = head;
    if (*head)
        (*head)->prev = &t->next;
    *head = t;
    wheel_mark(w, tick);
    w->armed_n++;
}

void wheel_cancel(timer_wheel *w, struct loop_timer *t)
{
    if (!t->prev)
        return;
    *t->prev = t->next;
    if (t->next)
        t->next->prev = t->prev;
    else if (!w->slot[t->tick % WHEEL_SLOTS])
        wheel_unmark(w, t->tick);
    t->prev = NULL;
    BRG_ASSERT(w->armed_n > 0);
    w->armed_n--;
}

void wheel_set(timer_wheel *w, struct loop_timer *t, apr_time_t due)
{
    t->due = due;
    if (t->prev && wheel_tick_of(due) + 1 >= t->tick)
        return;
    wheel_cancel(w, t);
    wheel_link(w, t);
}

static void wheel_expire_slot(timer_wheel *w, struct loop_timer *list, apr_time_t now)
{
    /* The list hangs below a local head, so that expired() may cancel any timer on it. */
    struct loop_timer *head = list, *t;

    if (head)
        head->prev = &head;
    while ((t = head) != NULL) {
        wheel_cancel(w, t);
        if (t->due > now)
            wheel_link(w, t);
        else
            t->expired(t);
    }
}

void wheel_expire(timer_wheel *w, apr_time_t now)
{
    apr_time_t until = wheel_tick_of(now);

    /* After a pause of more than a round every slot is due once. */
    if (until > w->tick + WHEEL_SLOTS)
        w->tick = until - WHEEL_SLOTS;
    while (w->tick < until) {
        struct loop_timer **slot = &w->slot[++w->tick % WHEEL_SLOTS], *list = *slot;

        *slot = NULL;
        wheel_unmark(w, w->tick);
        wheel_expire_slot(w, list, now);
    }
}

/* The first tick from @a tick on whose slot has timers; a tick after @a last if no slot up to it
 * has any. */
static apr_time_t wheel_next_used(const timer_wheel *w, apr_time_t tick, apr_time_t last)
{
    while (tick <= last) {
        uint64_t word = w->used[tick % WHEEL_SLOTS / 64] >> (tick % 64);

        if (word)
            return tick + __builtin_ctzll(word);
        tick += 64 - tick % 64;
    }
    return last + 1;
}

int wheel_wait_ms(const timer_wheel *w, apr_time_t now, int most_ms)
{
    apr_time_t next = w->tick + 1, last = wheel_tick_of(now + (apr_time_t)most_ms * 1000);

    if (!w->armed_n)
        return most_ms;
    next = wheel_next_used(w, next, last);
    if (next > last)
        return most_ms;
    next *= WHEEL_TICK_US;
    return next <= now ? 0 : (int)((next - now + 999) / 1000);
}
