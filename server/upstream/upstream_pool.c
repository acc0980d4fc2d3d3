/* SPDX-License-Identifier: Apache-2.0 */
/* Connections between exchanges. On a loop they stay in the poll set, edge-triggered: they cost
 * nothing in a turn, and the event of a backend that closes, or sends without a request, closes
 * ours. Those of workers are looked at when they are taken. */
#include "upstream_private.h"
#include "clock.h"
#include "counted_lock.h"
#include "transport.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

static void idle_lock(upstream_pool *pool)
{
    if (!pool->loop)
        lock_counted(&pool->lock, LOCK_BACKENDS);
}

static void idle_unlock(upstream_pool *pool)
{
    if (!pool->loop)
        pthread_mutex_unlock(&pool->lock);
}

static void idle_remove(upstream_pool *pool, upstream_conn *cc)
{
    BRG_ASSERT(cc->prev && cc->pool == pool);
    *cc->prev = cc->next;
    if (cc->next)
        cc->next->prev = cc->prev;
    cc->prev = NULL;
    atomic_fetch_sub_explicit(&pool->idle_n, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&pool->origin->gauges->idle, 1, memory_order_relaxed);
}

static void idle_insert(upstream_pool *pool, upstream_conn *cc)
{
    BRG_ASSERT(!cc->prev && cc->state == UPSTREAM_IDLE && !cc->block);
    cc->next = pool->idle;
    cc->prev = &pool->idle;
    if (cc->next)
        cc->next->prev = &cc->next;
    pool->idle = cc;
    atomic_fetch_add_explicit(&pool->idle_n, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&pool->origin->gauges->idle, 1, memory_order_relaxed);
}

/* Nothing came, and the backend did not close. */
static int idle_is_good(const upstream_conn *cc)
{
    char c;

    if (cc->on_loop)
        return 1; /* else its event had closed it */
    if (clock_monotonic() - cc->idle_since >= cc->origin->conf.ttl)
        return 0;
    return recv(cc->bc.fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

upstream_conn *upstream_take(upstream_origin *o, brg_loop *loop)
{
    upstream_pool *pool;
    upstream_conn *cc;

    if (!o->conf.reuse)
        return NULL;
    pool = upstream_pool_of(o, loop);
    for (;;) {
        idle_lock(pool);
        if ((cc = pool->idle) != NULL)
            idle_remove(pool, cc);
        idle_unlock(pool);
        if (!cc)
            return NULL;
        if (loop)
            wheel_cancel(&loop->wheel, &cc->bc.timer);
        cc->state = UPSTREAM_READY;
        if (idle_is_good(cc)) {
            cc->uses++;
            if (!loop)
                cc->rd_ready = cc->wr_ready = 1;
            return cc;
        }
        upstream_close(cc);
    }
}

/* Nothing came that no event will tell of again: the backend's end, or bytes that nobody asked for. */
static int keep_is_quiet(upstream_conn *cc)
{
    char c;

    if (cc->eof || cc->hung_up || upstream_in_size(cc))
        return 0;
    if (!cc->rd_ready || !cc->on_loop || cc->session)
        return 1; /* a worker's is looked at when it is taken */
    if (recv(cc->bc.fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN)
        return 0;
    cc->rd_ready = 0;
    return 1;
}

void upstream_keep(upstream_conn *cc)
{
    upstream_pool *pool = cc->pool;
    brg_loop *loop = pool->loop;

    BRG_ASSERT(cc->state == UPSTREAM_READY);
    if (!cc->origin->conf.reuse || !cc->wr_ready || (loop && loop->draining) ||
        !keep_is_quiet(cc)) {
        upstream_close(cc);
        return;
    }
    upstream_block_end(cc);
    upstream_unshare(cc);
    cc->state = UPSTREAM_IDLE;
    cc->notify = NULL;
    cc->idle_since = loop ? loop->monotonic : clock_monotonic();
    idle_lock(pool);
    idle_insert(pool, cc);
    idle_unlock(pool);
    if (!loop)
        return;
    wheel_set(&loop->wheel, &cc->bc.timer, cc->idle_since + cc->origin->conf.ttl);
    if (pool->first)
        upstream_pool_tell(pool);
    else if (cc->origin->conf.max)
        upstream_origin_tell(cc->origin);
}

static void close_object(upstream_conn *cc)
{
    upstream_origin *o = cc->origin;

    upstream_block_end(cc);
    if (cc->session)
        cc->session_end(cc->session);
    upstream_addresses_end(cc);
    cc->bc.tag = 0;
    free(cc);
    upstream_origin_release(o);
}

void upstream_close(upstream_conn *cc)
{
    upstream_pool *pool = cc->pool;

    BRG_ASSERT(cc->state != UPSTREAM_CLOSED);
    if (cc->state == UPSTREAM_IDLE) {
        BRG_ASSERT(pool->loop); /* a worker's is taken first */
        idle_remove(pool, cc);
    }
    upstream_crowd_leave(cc);
    upstream_race_end(cc);
    upstream_unshare(cc);
    cc->state = UPSTREAM_CLOSED;
    cc->notify = NULL;
    if (cc->on_loop)
        wheel_cancel(&cc->bc.loop->wheel, &cc->bc.timer);
    if (cc->bc.fd >= 0) {
        if (cc->bc.polled)
            loop_io_remove(cc->bc.loop, &cc->bc.io, cc->bc.fd);
        transport_end(&cc->bc);
        close(cc->bc.fd);
        cc->bc.fd = -1;
    }
    if (cc->opened)
        upstream_count_closed(cc->origin);
    if (cc->on_loop)
        upstream_crowd_tell(cc->origin);
    upstream_connecting_over(cc);
    close_object(cc);
}

void upstream_ready(struct loop_io *io, uint32_t events)
{
    upstream_conn *cc = loop_io_of(io, upstream_conn, bc.io);

    BRG_ASSERT_TAG(&cc->bc, CONN_TAG);
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        cc->rd_ready = 1;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        cc->hung_up = 1;
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        cc->wr_ready = 1;
    if (cc->state != UPSTREAM_IDLE) {
        if (cc->notify)
            cc->notify(cc->baton);
        return;
    }
    if (!(events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
        return;
    if (cc->session_idle && cc->session_idle(cc->session))
        upstream_block_end(cc);
    else
        upstream_close(cc);
}

void upstream_expired(struct loop_timer *timer)
{
    upstream_conn *cc = loop_io_of(timer, upstream_conn, bc.timer);

    if (cc->crowded) {
        upstream_crowd_leave(cc);
        cc->notify(cc->baton);
        return;
    }
    if (cc->state == UPSTREAM_CONNECTING) {
        upstream_race_next(cc);
        return;
    }
    BRG_ASSERT(cc->state == UPSTREAM_IDLE);
    upstream_close(cc);
}
