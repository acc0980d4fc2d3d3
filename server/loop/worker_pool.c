/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of a loop: connections that come in, their way out, and whether a thread is there for
 * them. */
#include "worker_pool_private.h"
#include "counted_lock.h"
#include "loop.h"
#include "loop_lines.h"
#include "loops.h"
#include "transport.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_config.h"
#include "http_log.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

/* More computing threads than processors would only take turns, and a computing thread cannot take
 * a connection that waits. */
static int worker_longs_most(const worker_share *share)
{
    const int most = share->bounds.own > 1 ? share->bounds.own - 1 : 1;

    return share->processors < most ? share->processors : most;
}

worker_pool *worker_pool_create(apr_pool_t *p, brg_loop *loop, worker_share *share)
{
    worker_pool *wp = loop_lines_calloc(p, sizeof *wp);
    pthread_condattr_t attr;

    pthread_mutex_init(&wp->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&wp->work, &attr);
    pthread_condattr_destroy(&attr);
    wp->longs_most = worker_longs_most(share);
    wp->loop = loop;
    wp->waiting_most = INT_MAX;
    wp->share = share;
    wp->next_pool = share->pools;
    share->pools = wp;
    return wp;
}

void worker_pool_bound(worker_pool *wp, int waiting_most, apr_interval_time_t wait_most_us)
{
    wp->waiting_most = waiting_most > 0 ? waiting_most : 1;
    wp->wait_most_us = wait_most_us;
}

/* With the lock held: connections left the queue. */
static void worker_was_fed(worker_pool *wp)
{
    if (!worker_takeable(wp))
        worker_set_hungry(wp, 0);
    worker_note_left(wp);
}

/* ---- clients that left ---- */

/* With the lock held: poll the connections that wait for long; clients that left are told in
 * p->revents. */
static int worker_poll_all(worker_pool *wp, struct pollfd *p, apr_time_t now)
{
    const nfds_t n = worker_queue_polls(&wp->any, p, now);

    return poll(p, n + worker_queue_polls(&wp->longs, p + n, now), 0) >= 0;
}

struct worker_asked {
    const worker_pool *wp;
    apr_time_t now;
};

/* A request that takes long could have run on the loop, which has no deadline. */
static conn_refusal worker_refusal(const brg_conn *bc, short events, void *baton)
{
    const struct worker_asked *a = baton;

    if (bc->queue.must_run)
        return CONN_NOT_REFUSED;
    if (events & WORKER_LEFT_EVENTS || transport_is_unwanted(bc))
        return CONN_REFUSED_LEFT;
    return !bc->queue.takes_long && a->wp->wait_most_us &&
                   a->now - bc->work.since >= a->wp->wait_most_us
               ? CONN_REFUSED_LATE
               : CONN_NOT_REFUSED;
}

/* With the lock held. */
static brg_conn *worker_refuse_some(worker_pool *wp, const struct pollfd *p, apr_time_t now)
{
    struct worker_asked a = {wp, now};
    brg_conn *out = NULL, **tail = &out;
    const int n = wp->any.waiting;

    tail = worker_queue_refuse(&wp->any, p, tail, worker_refusal, &a);
    worker_queue_refuse(&wp->longs, p + n, tail, worker_refusal, &a);
    worker_was_fed(wp);
    return out;
}

brg_conn *worker_pool_refuse(worker_pool *wp, apr_time_t now)
{
    brg_conn *out = NULL;
    struct pollfd *p;

    BRG_ASSERT(loop_self() == wp->loop || !loop_self());
    lock_counted(&wp->lock, LOCK_WORKERS);
    const int n = wp->any.waiting + wp->longs.waiting;

    if (n && (p = calloc((size_t)n, sizeof *p)) != NULL) {
        if (worker_poll_all(wp, p, now))
            out = worker_refuse_some(wp, p, now);
        free(p);
    }
    pthread_mutex_unlock(&wp->lock);
    return out;
}

/* ---- the queue ---- */

brg_conn *worker_first(worker_pool *wp)
{
    const brg_conn *any = wp->any.first, *lng = wp->longs.first;
    brg_conn *bc;

    if (lng && wp->longs_n < wp->longs_most && (!any || lng->work.since < any->work.since))
        bc = worker_queue_take(&wp->longs);
    else
        bc = worker_queue_take(&wp->any);
    if (bc)
        worker_was_fed(wp);
    return bc;
}

brg_conn *worker_pool_take(worker_pool *wp)
{
    brg_conn *bc;

    lock_counted(&wp->lock, LOCK_WORKERS);
    bc = worker_first(wp);
    pthread_mutex_unlock(&wp->lock);
    return bc;
}

/*
 * With the lock held. 1: an idle thread is to be woken once the lock is given back. One at a time: it wakes the next one, if there
 * still is work when it has taken its own. So short requests are run by few threads, which do not meet at the lock, and those
 * that wait hold up no other.
 */
static int worker_wake(worker_pool *wp)
{
    if (atomic_load(&wp->waking) || (!worker_takeable(wp) && !wp->beside))
        return 0;
    if (!wp->idle) {
        worker_rouse(wp);
        return 0;
    }
    atomic_store(&wp->waking, 1);
    return 1;
}

void worker_unlock(worker_pool *wp)
{
    int wake;

    worker_note_left(wp);
    wake = worker_wake(wp);
    pthread_mutex_unlock(&wp->lock);
    if (wake)
        pthread_cond_signal(&wp->work);
}

/* With the lock held. Connections for which a thread is free, or may be started, do not count as
 * waiting. */
static int worker_is_full(const worker_pool *wp, const brg_conn *bc)
{
    const int more = worker_room(wp->share);

    if (bc->queue.takes_long)
        return wp->longs.waiting >= wp->waiting_most;
    return wp->any.waiting - (wp->alive - atomic_load(&wp->running)) - more >= wp->waiting_most &&
           !bc->queue.must_run;
}

/* With the lock held. 1: a new connection needs a thread. */
static int worker_is_needed(const worker_pool *wp, const brg_conn *bc)
{
    if (bc->queue.takes_long && wp->longs_n + wp->longs.waiting >= wp->longs_most)
        return 0; /* the next thread that gets free takes it */
    return wp->share->bounds.most && !worker_is_free(wp);
}

/* The loop has a connection that no thread is there for. Other pools may have an idle thread. */
static void worker_went_hungry(worker_pool *wp)
{
    const worker_share *share = wp->share;

    if (worker_call_others(wp) || worker_room(share) > 0)
        return;
    figures_add(&wp->loop->figures->own.value[BRG_FIGURE_WORKERS_FULL], 1);
    if (wp->loop->config->workers_full)
        wp->loop->config->workers_full(atomic_load(&share->alive));
}

/* With the lock held. Where it is too early for one more thread, or other processes have them, the loop asks again:
 * worker_pool_grow(). */
static int worker_spawn_paced(worker_pool *wp)
{
    int rc = WORKER_NO_MORE;

    if (!worker_may_start(wp->share, wp->loop->monotonic))
        wp->loop->wants_worker = 1;
    else if ((rc = worker_spawn(wp)) == WORKER_NO_MORE && wp->share->bounds.all)
        wp->loop->wants_worker = WORKER_LEND_MS;
    return rc;
}

void worker_pool_grow(worker_pool *wp)
{
    BRG_ASSERT(loop_self() == wp->loop);
    lock_counted(&wp->lock, LOCK_WORKERS);
    wp->loop->wants_worker =
        worker_takeable(wp) > wp->idle && atomic_load(&wp->share->alive) < wp->share->bounds.most;
    if (wp->loop->wants_worker)
        (void)worker_spawn_paced(wp);
    worker_unlock(wp);
}

int worker_pool_submit(worker_pool *wp, brg_conn *bc)
{
    int rc = 0, is_hungry;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    BRG_ASSERT(bc->state == CONN_WORKER && bc->loop == wp->loop && bc->fd >= 0);
    BRG_ASSERT(!bc->queued && !bc->timer.prev && !bc->queue.refused);
    bc->queue.waits = 0;
    if (!bc->queue.takes_long && worker_hand_over(wp, bc))
        return 0;
    lock_counted(&wp->lock, LOCK_WORKERS);
    if (worker_is_full(wp, bc)) {
        pthread_mutex_unlock(&wp->lock);
        return WORKER_POOL_FULL;
    }
    if (worker_is_needed(wp, bc) && !worker_rouse(wp))
        rc = worker_spawn_paced(wp);
    if (rc > 0 && !atomic_load(&wp->share->alive)) {
        pthread_mutex_unlock(&wp->lock);
        ap_log_error(APLOG_MARK, APLOG_ERR, rc, wp->loop->server, "cannot start a worker thread");
        return -1;
    }
    bc->queue.waits = !worker_is_free(wp);
    worker_queue_add(bc->queue.takes_long ? &wp->longs : &wp->any, bc);
    if ((is_hungry = rc != 0) != 0)
        worker_set_hungry(wp, 1);
    worker_unlock(wp);
    if (is_hungry)
        worker_went_hungry(wp);
    return 0;
}

/* With the lock held. */
static int worker_may_take_beside(const worker_pool *wp)
{
    return !wp->stopping && 2 * (wp->beside_n + 1) <= wp->share->bounds.own &&
           (worker_is_free(wp) || atomic_load(&wp->seated) || worker_room(wp->share) > 0);
}

/* With the lock held. */
static int worker_takes_beside(worker_pool *wp)
{
    return worker_may_take_beside(wp) &&
           (worker_is_free(wp) || worker_rouse(wp) || worker_spawn(wp) == 0);
}

BRG_DECLARE(int) brg_worker_beside(brg_beside *work)
{
    worker_pool *wp = worker_mine;
    int taken;

    if (!wp)
        return 0;
    lock_counted(&wp->lock, LOCK_WORKERS);
    taken = work ? worker_takes_beside(wp) : worker_may_take_beside(wp);
    if (taken && work) {
        work->next = wp->beside;
        wp->beside = work;
        wp->beside_waiting++;
        wp->beside_n++;
    }
    worker_unlock(wp);
    return taken;
}

static int worker_all_run(const worker_share *share)
{
    const int running = atomic_load_explicit(&share->running, memory_order_relaxed);

    if (!share->bounds.all)
        return running >= share->bounds.most;
    return running >= atomic_load(&share->alive) && worker_room(share) <= 0;
}

static int worker_some_are_hungry(const worker_share *share)
{
    return atomic_load_explicit(&share->hungry, memory_order_relaxed) > 0;
}

int worker_pool_is_busy(worker_pool *wp)
{
    int is_busy = worker_some_are_hungry(wp->share) || worker_all_run(wp->share);

    if (is_busy)
        return 1;
    lock_counted(&wp->lock, LOCK_WORKERS);
    is_busy = wp->any.waiting > 0;
    pthread_mutex_unlock(&wp->lock);
    return is_busy;
}

int worker_pool_is_short(const worker_pool *wp)
{
    return worker_some_are_hungry(wp->share) && worker_all_run(wp->share);
}

void worker_pool_stop(worker_pool *wp)
{
    lock_counted(&wp->lock, LOCK_WORKERS);
    wp->stopping = 1;
    worker_note_left(wp);
    pthread_cond_broadcast(&wp->work);
    worker_rouse(wp);
    pthread_mutex_unlock(&wp->lock);
}

int worker_pool_ended(worker_pool *wp)
{
    int alive;

    lock_counted(&wp->lock, LOCK_WORKERS);
    alive = wp->alive;
    pthread_mutex_unlock(&wp->lock);
    return alive == 0;
}

void worker_pool_figures(worker_pool *wp, int *alive, int *busy, int *waiting)
{
    lock_counted(&wp->lock, LOCK_WORKERS);
    *alive = wp->alive;
    *busy = wp->alive - wp->idle - (atomic_load(&wp->seated) != NULL);
    *waiting = wp->any.waiting + wp->longs.waiting;
    pthread_mutex_unlock(&wp->lock);
}
