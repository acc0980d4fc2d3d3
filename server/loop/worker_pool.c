/* SPDX-License-Identifier: Apache-2.0 */
#include "worker_pool_private.h"
#include "clock.h"
#include "crash.h"
#include "loop.h"
#include "loop_lines.h"
#include "loops.h"
#include "memory_settings.h"
#include "program_thread.h"
#include "thread_self.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_config.h"
#include "http_log.h"
#include "scoreboard.h"
#include <poll.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

APLOG_USE_MODULE(core);

#define WORKER_TRIM_SECONDS 2           /* after so long it gives back memory */
#define WORKER_IDLE_SECONDS 10          /* a thread without work for so long ends */
#define WORKER_LEFT_US APR_USEC_PER_SEC /* a client that waited for so long may be gone */

static PROGRAM_THREAD_LOCAL worker_pool *worker_mine;

struct worker_start {
    worker_pool *wp;
    int slot;
};

worker_pool *worker_pool_create(apr_pool_t *p, brg_loop *loop, worker_share *share)
{
    worker_pool *wp = loop_lines_calloc(p, sizeof *wp);
    pthread_condattr_t attr;

    pthread_mutex_init(&wp->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&wp->work, &attr);
    pthread_condattr_destroy(&attr);
    wp->tail = &wp->head;
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
    BRG_ASSERT_DEBUG(wp->waiting >= 0);
    if (!wp->waiting)
        worker_set_hungry(wp, 0);
}

/* ---- clients that left ---- */

/* A client that shut its side may still wait for the answer (RFC 9112 section 9.6 lets it), so only
 * one that had to wait for a worker is taken for gone. */
static int worker_may_have_left(const brg_conn *bc, apr_time_t now)
{
    return !bc->must_run && now - bc->queued_at >= WORKER_LEFT_US;
}

static int worker_left(short events)
{
    return (events & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* The client of a connection that a worker took. 1: nobody waits for the answer. */
static int worker_client_left(const brg_conn *bc, apr_time_t now)
{
    struct pollfd p = {.fd = bc->fd, .events = POLLRDHUP};

    return worker_may_have_left(bc, now) && poll(&p, 1, 0) > 0 && worker_left(p.revents);
}

/* With the lock held: which of those that wait for long have left, as p->revents. */
static int worker_poll_all(worker_pool *wp, struct pollfd *p, apr_time_t now)
{
    nfds_t n = 0;

    for (const brg_conn *bc = wp->head; bc; bc = bc->next)
        p[n++] =
            (struct pollfd){.fd = worker_may_have_left(bc, now) ? bc->fd : -1, .events = POLLRDHUP};
    return poll(p, n, 0) >= 0;
}

static conn_refusal worker_refusal(const worker_pool *wp, const brg_conn *bc, short events,
                                   apr_time_t now)
{
    if (bc->must_run)
        return CONN_NOT_REFUSED;
    if (worker_left(events))
        return CONN_REFUSED_LEFT;
    return wp->wait_most_us && now - bc->queued_at >= wp->wait_most_us ? CONN_REFUSED_LATE
                                                                       : CONN_NOT_REFUSED;
}

/* With the lock held. */
static brg_conn *worker_refuse_some(worker_pool *wp, const struct pollfd *p, apr_time_t now)
{
    brg_conn *bc, **at = &wp->head, *out = NULL, **out_tail = &out;

    for (; (bc = *at) != NULL; p++) {
        bc->refused = (uint8_t)worker_refusal(wp, bc, p->revents, now);
        if (!bc->refused) {
            at = &bc->next;
            continue;
        }
        *at = bc->next;
        bc->next = NULL;
        *out_tail = bc;
        out_tail = &bc->next;
        wp->waiting--;
    }
    wp->tail = at;
    worker_was_fed(wp);
    return out;
}

brg_conn *worker_pool_refuse(worker_pool *wp, apr_time_t now)
{
    brg_conn *out = NULL;
    struct pollfd *p;

    BRG_ASSERT(loop_self() == wp->loop || !loop_self());
    pthread_mutex_lock(&wp->lock);
    if (wp->waiting && (p = calloc((size_t)wp->waiting, sizeof *p)) != NULL) {
        if (worker_poll_all(wp, p, now))
            out = worker_refuse_some(wp, p, now);
        free(p);
    }
    pthread_mutex_unlock(&wp->lock);
    return out;
}

/* ---- the queue ---- */

/* With the lock held. */
static brg_conn *worker_first(worker_pool *wp)
{
    brg_conn *bc = wp->head;

    if (!bc)
        return NULL;
    wp->head = bc->next;
    if (!wp->head)
        wp->tail = &wp->head;
    wp->waiting--;
    bc->next = NULL;
    worker_was_fed(wp);
    return bc;
}

brg_conn *worker_pool_take(worker_pool *wp)
{
    brg_conn *bc;

    pthread_mutex_lock(&wp->lock);
    bc = worker_first(wp);
    pthread_mutex_unlock(&wp->lock);
    return bc;
}

/* With the lock held. */
static int worker_has_work(const worker_pool *wp)
{
    return wp->head || wp->beside || wp->stopping;
}

/* With the lock of *at held, then and now. */
static void worker_wait(worker_pool **at, int seconds)
{
    struct timespec until;
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    do {
        worker_pool *wp;

        if (atomic_load(&(*at)->share->hungry))
            worker_mine = worker_move(at);
        wp = *at;
        if (worker_has_work(wp) || rc)
            break;
        wp->idle++;
        rc = pthread_cond_timedwait(&wp->work, &wp->lock, &until);
        wp->idle--;
    } while (1);
}

/* The thread had nothing to do for a while: what it keeps for requests is better used elsewhere.
 * Without the lock: it counts as busy meanwhile. */
static void worker_trim(worker_pool *wp)
{
    int dry = wp->idle + 1 == wp->alive;

    pthread_mutex_unlock(&wp->lock);
    wp->loop->config->services->thread_trim();
    memory_trim_thread(wp->loop->server);
    if (dry)
        memory_trim_process();
    pthread_mutex_lock(&wp->lock);
}

static brg_beside *worker_first_beside(worker_pool *wp)
{
    brg_beside *work = wp->beside;

    if (!work)
        return NULL;
    BRG_ASSERT(wp->beside_waiting > 0);
    wp->beside = work->next;
    wp->beside_waiting--;
    return work;
}

/* With the lock of *at held, then and now. 0: this thread is to end. */
static int worker_next(worker_pool **at, brg_conn **bc, brg_beside **work)
{
    worker_wait(at, WORKER_TRIM_SECONDS);
    if (!worker_has_work(*at)) {
        worker_trim(*at);
        worker_wait(at, WORKER_IDLE_SECONDS - WORKER_TRIM_SECONDS);
    }
    *bc = NULL;
    *work = worker_first_beside(*at);
    return *work || (*bc = worker_first(*at)) != NULL;
}

static void worker_show(const worker_pool *wp, int slot, int status)
{
    ap_update_child_status_from_indexes(wp->loop->config->slot, wp->share->first_index + slot,
                                        status, NULL);
}

static void worker_run(brg_conn *bc)
{
    const apr_time_t now = clock_monotonic();

    BRG_ASSERT_TAG(bc, CONN_TAG);
    BRG_ASSERT(bc->state == CONN_WORKER && !bc->queued && !bc->timer.prev);
    figures_took_shared(&bc->loop->figures->others.took[BRG_TOOK_QUEUE],
                        now > bc->queued_at ? (uint64_t)(now - bc->queued_at) : 0);
    if (worker_client_left(bc, now))
        bc->refused = CONN_REFUSED_LEFT;
    else
        bc->driver->work(bc);
}

/* With the lock held. @return the pool that the thread is in at its end, its lock held */
static worker_pool *worker_loop(worker_pool *wp)
{
    atomic_int *running = &wp->share->running;
    brg_beside *work;
    brg_conn *bc;

    while (worker_next(&wp, &bc, &work)) {
        wp->running++;
        atomic_fetch_add_explicit(running, 1, memory_order_relaxed);
        pthread_mutex_unlock(&wp->lock);
        if (work)
            work->run(work);
        else
            worker_run(bc);
        brg_run_turn_end(apr_time_now());
        if (bc)
            loop_return(bc);
        pthread_mutex_lock(&wp->lock);
        wp->running--;
        atomic_fetch_sub_explicit(running, 1, memory_order_relaxed);
        wp->beside_n -= work != NULL;
    }
    return wp;
}

static void worker_leave(worker_pool *wp, int slot)
{
    worker_share *share = wp->share;

    worker_unreserve(share, slot);
    if (atomic_load(&share->hungry))
        worker_replace(share);
    pthread_mutex_lock(&wp->lock);
    wp->alive--; /* nothing of the pool is used after that */
    pthread_mutex_unlock(&wp->lock);
}

static void *worker_main(void *baton)
{
    struct worker_start *start = baton;
    worker_pool *wp = start->wp;
    int slot = start->slot;
    char crash_stack[CRASH_STACK_BYTES];
    stack_t old;

    free(start);
    crash_stack_begin(crash_stack, &old);
    thread_self_set(NULL, wp->share->first_index + slot);
    worker_mine = wp;
    worker_show(wp, slot, SERVER_STARTING);
    worker_show(wp, slot, SERVER_READY);
    pthread_mutex_lock(&wp->lock);
    wp = worker_loop(wp);
    pthread_mutex_unlock(&wp->lock);
    brg_run_turn_end(apr_time_now());
    worker_show(wp, slot, SERVER_DEAD);
    thread_self_end();
    worker_mine = NULL;
    loops_thread_end();
    crash_stack_end(&old);
    worker_leave(wp, slot);
    return NULL;
}

int worker_spawn(worker_pool *wp)
{
    worker_share *share = wp->share;
    struct worker_start *start;
    int rc = ENOMEM, slot = worker_reserve(share);

    if (slot < 0)
        return WORKER_NO_MORE;
    if ((start = malloc(sizeof *start)) != NULL) {
        start->wp = wp;
        start->slot = slot;
        rc = thread_start(worker_main, start,
                          share->stack_bytes ? share->stack_bytes + CRASH_STACK_BYTES : 0, NULL);
    }
    if (rc) {
        free(start);
        worker_unreserve(share, slot);
    } else
        wp->alive++;
    return rc;
}

/* With the lock held: more threads are idle than have work to come for. */
static int worker_is_free(const worker_pool *wp)
{
    return wp->idle > wp->waiting + wp->beside_waiting;
}

/* With the lock held: what the threads that are free, or may be started, take at once does not count as waiting. */
static int worker_queue_is_full(const worker_pool *wp)
{
    int more = wp->share->limit - atomic_load(&wp->share->alive);

    return wp->waiting - (wp->alive - wp->running) - more >= wp->waiting_most;
}

/* The loop has a connection that no thread is there for. Other pools may have one that is idle. */
static void worker_went_hungry(worker_pool *wp)
{
    const worker_share *share = wp->share;

    if (worker_call_others(wp) || atomic_load(&share->alive) < share->limit)
        return;
    figures_add(&wp->loop->figures->own.value[BRG_FIGURE_WORKERS_FULL], 1);
    if (wp->loop->config->workers_full)
        wp->loop->config->workers_full(share->limit);
}

int worker_pool_submit(worker_pool *wp, brg_conn *bc)
{
    int rc = 0, is_hungry;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    BRG_ASSERT(bc->state == CONN_WORKER && bc->loop == wp->loop && bc->fd >= 0);
    BRG_ASSERT(!bc->queued && !bc->timer.prev && !bc->refused);
    pthread_mutex_lock(&wp->lock);
    if (!bc->must_run && worker_queue_is_full(wp)) {
        pthread_mutex_unlock(&wp->lock);
        return WORKER_POOL_FULL;
    }
    if (wp->share->limit && !worker_is_free(wp))
        rc = worker_spawn(wp);
    if (rc > 0 && !atomic_load(&wp->share->alive)) {
        pthread_mutex_unlock(&wp->lock);
        ap_log_error(APLOG_MARK, APLOG_ERR, rc, wp->loop->server, "cannot start a worker thread");
        return -1;
    }
    bc->next = NULL;
    *wp->tail = bc;
    wp->tail = &bc->next;
    wp->waiting++;
    if ((is_hungry = rc != 0) != 0)
        worker_set_hungry(wp, 1);
    pthread_cond_signal(&wp->work);
    pthread_mutex_unlock(&wp->lock);
    if (is_hungry)
        worker_went_hungry(wp);
    return 0;
}

/* With the lock held. */
static int worker_may_take_beside(const worker_pool *wp)
{
    return !wp->stopping && 2 * (wp->beside_n + 1) <= wp->share->limit &&
           (worker_is_free(wp) || atomic_load(&wp->share->alive) < wp->share->limit);
}

/* With the lock held. */
static int worker_takes_beside(worker_pool *wp)
{
    return worker_may_take_beside(wp) && (worker_is_free(wp) || worker_spawn(wp) == 0);
}

BRG_DECLARE(int) brg_worker_beside(brg_beside *work)
{
    worker_pool *wp = worker_mine;
    int taken;

    if (!wp)
        return 0;
    pthread_mutex_lock(&wp->lock);
    taken = work ? worker_takes_beside(wp) : worker_may_take_beside(wp);
    if (taken && work) {
        work->next = wp->beside;
        wp->beside = work;
        wp->beside_waiting++;
        wp->beside_n++;
        pthread_cond_signal(&wp->work);
    }
    pthread_mutex_unlock(&wp->lock);
    return taken;
}

static int worker_all_run(const worker_share *share)
{
    return atomic_load_explicit(&share->running, memory_order_relaxed) >= share->limit;
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
    pthread_mutex_lock(&wp->lock);
    is_busy = wp->waiting > 0;
    pthread_mutex_unlock(&wp->lock);
    return is_busy;
}

int worker_pool_is_short(const worker_pool *wp)
{
    return worker_some_are_hungry(wp->share) && worker_all_run(wp->share);
}

void worker_pool_stop(worker_pool *wp)
{
    pthread_mutex_lock(&wp->lock);
    wp->stopping = 1;
    pthread_cond_broadcast(&wp->work);
    pthread_mutex_unlock(&wp->lock);
}

int worker_pool_ended(worker_pool *wp)
{
    int alive;

    pthread_mutex_lock(&wp->lock);
    alive = wp->alive;
    pthread_mutex_unlock(&wp->lock);
    return alive == 0;
}

void worker_pool_figures(worker_pool *wp, int *alive, int *busy, int *waiting)
{
    pthread_mutex_lock(&wp->lock);
    *alive = wp->alive;
    *busy = wp->alive - wp->idle;
    *waiting = wp->waiting;
    pthread_mutex_unlock(&wp->lock);
}
