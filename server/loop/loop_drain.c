/* SPDX-License-Identifier: Apache-2.0 */
/* The loop's part of output that a worker still produces: see loop_drain.h. */
#include "loop_drain.h"
#include "loop.h"

#define DRAIN_AGAIN_MS 5 /* until the disk is asked again */

void loop_drain_post(struct conn_drain *d)
{
    brg_loop *loop = d->bc->loop;
    struct conn_drain *head;

    BRG_ASSERT(d->bc->state == CONN_WORKER && !loop_self());
    if (atomic_exchange(&d->posted, 1))
        return;
    head = atomic_load_explicit(&loop->posted.drains, memory_order_relaxed);
    do
        d->posted_next = head;
    while (!atomic_compare_exchange_weak_explicit(&loop->posted.drains, &head, d,
                                                  memory_order_release, memory_order_relaxed));
    if (!atomic_exchange(&loop->posted.wakes, 1))
        loop_wake(loop);
}

void loop_drain_end(struct conn_drain *d)
{
    if (!d->prev)
        return;
    BRG_ASSERT(d->bc->work.drain == d);
    *d->prev = d->next;
    if (d->next)
        d->next->prev = d->prev;
    d->prev = NULL;
    d->bc->work.drain = NULL;
}

static void drain_begin(brg_loop *loop, struct conn_drain *d)
{
    BRG_ASSERT(!d->prev && !d->bc->work.drain);
    d->blocked = d->again = 0;
    d->progress = loop->monotonic;
    d->bc->work.drain = d;
    d->next = loop->drains;
    d->prev = &loop->drains;
    if (d->next)
        d->next->prev = &d->next;
    loop->drains = d;
}

static void drain_run(brg_loop *loop, struct conn_drain *d)
{
    apr_status_t rv;

    if (!d->blocked)
        d->progress = loop->monotonic; /* the client had nothing to take until now */
    rv = d->run(d);
    d->blocked = APR_STATUS_IS_EAGAIN(rv);
    d->again = rv == APR_INCOMPLETE;
    if (rv != APR_SUCCESS && !d->blocked && !d->again)
        loop_drain_end(d);
}

void loop_take_drains(brg_loop *loop)
{
    struct conn_drain *d, *next;

    if (!atomic_load_explicit(&loop->posted.drains, memory_order_relaxed))
        return;
    for (d = atomic_exchange_explicit(&loop->posted.drains, NULL, memory_order_acquire); d;
         d = next) {
        next = d->posted_next;
        atomic_store(&d->posted, 0); /* before run() looks for output */
        BRG_ASSERT(d->bc->loop == loop && d->bc->fd >= 0);
        if (!d->prev)
            drain_begin(loop, d);
        if (loop_poll(loop, d->bc))
            loop_drain_end(d); /* the worker sees that the connection failed */
        else if (!d->blocked)
            drain_run(loop, d);
    }
}

void loop_drain_event(brg_loop *loop, struct conn_drain *d)
{
    BRG_ASSERT(d->prev && d->bc->state == CONN_WORKER);
    drain_run(loop, d);
}

int loop_drains_wait_ms(const brg_loop *loop)
{
    for (const struct conn_drain *d = loop->drains; d; d = d->next)
        if (d->again)
            return DRAIN_AGAIN_MS;
    return -1;
}

void loop_drains_again(brg_loop *loop)
{
    for (struct conn_drain *d = loop->drains, *next; d; d = next) {
        next = d->next;
        if (d->again)
            drain_run(loop, d);
    }
}

void loop_drains_expire(brg_loop *loop)
{
    for (struct conn_drain *d = loop->drains, *next; d; d = next) {
        next = d->next;
        if (!d->blocked || d->timeout_us < 0 || loop->monotonic - d->progress < d->timeout_us)
            continue;
        d->expired(d);
        loop_drain_end(d);
    }
}
