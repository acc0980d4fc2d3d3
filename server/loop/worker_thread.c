/* SPDX-License-Identifier: Apache-2.0 */
/* A thread of a pool, from its start to its end. */
#include "worker_pool_private.h"
#include "clock.h"
#include "counted_lock.h"
#include "crash.h"
#include "loop.h"
#include "loops.h"
#include "memory_settings.h"
#include "thread_self.h"
#include "brigade/assert.h"
#include "scoreboard.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define WORKER_TRIM_SECONDS 2  /* after so long it gives back memory */
#define WORKER_IDLE_SECONDS 10 /* a thread without work for so long ends */

PROGRAM_THREAD_LOCAL worker_pool *worker_mine;

struct worker_start {
    worker_pool *wp;
    int slot;
};

/* With the lock held. */
static int worker_has_work(const worker_pool *wp)
{
    return worker_takeable(wp) || wp->beside || wp->stopping;
}

/* With the lock of *at held, then and now. @param until  by clock_monotonic() */
static void worker_wait(worker_pool **at, apr_time_t until)
{
    const struct timespec end = {(time_t)apr_time_sec(until), (long)apr_time_usec(until) * 1000};
    int rc = 0;

    do {
        worker_pool *wp;

        if (atomic_load(&(*at)->share->hungry))
            worker_mine = worker_move(at);
        wp = *at;
        if (worker_has_work(wp) || rc || worker_lend_idle(wp->share))
            break;
        wp->idle++;
        rc = pthread_cond_timedwait(&wp->work, &wp->lock, &end);
        wp->idle--;
        atomic_store(&wp->waking, 0);
    } while (1);
}

/* The thread had nothing to do for a while: its memory for requests is better used elsewhere.
 * Without the lock: it counts as busy meanwhile. */
static void worker_trim(worker_pool *wp)
{
    int dry = wp->idle + 1 == wp->alive;

    pthread_mutex_unlock(&wp->lock);
    wp->loop->config->services->thread_trim();
    memory_trim_thread(wp->loop->server);
    if (dry)
        memory_trim_process();
    lock_counted(&wp->lock, LOCK_WORKERS);
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

/* With the lock of *at held, then and now. 0: this thread is to end. @param now  clock_monotonic() */
static int worker_next(worker_pool **at, brg_conn **bc, brg_beside **work, apr_time_t now)
{
    worker_wait(at, now + apr_time_from_sec(WORKER_TRIM_SECONDS));
    if (!worker_has_work(*at) && !worker_lend_idle((*at)->share)) {
        worker_trim(*at);
        worker_wait(at, now + apr_time_from_sec(WORKER_IDLE_SECONDS));
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

/* A connection for which a thread was free has not waited, and the clock need not be read. */
static void worker_run(brg_conn *bc)
{
    const apr_time_t now = bc->queue.waits ? clock_monotonic() : bc->work.since;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    BRG_ASSERT(bc->state == CONN_WORKER && !bc->queued && !bc->timer.prev);
    if (now > bc->work.since)
        figures_took_shared(&bc->loop->figures->others.took[BRG_TOOK_QUEUE],
                            (uint64_t)(now - bc->work.since));
    else
        figures_add_shared(&bc->loop->figures->others.took[BRG_TOOK_QUEUE].n[0], 1);
    if (worker_client_left(bc, now))
        bc->queue.refused = CONN_REFUSED_LEFT;
    else
        bc->driver->work(bc);
}

/* With the lock held: the connection that was left to a slow thread goes to another one, which is
 * there or is started. */
static void worker_pass_on(worker_pool *wp)
{
    if (wp->longs.waiting && !worker_is_free(wp))
        (void)worker_spawn(wp); /* else a thread takes it at the end of its work */
}

static apr_time_t worker_used(const struct rusage *u)
{
    return apr_time_from_sec(u->ru_utime.tv_sec + u->ru_stime.tv_sec) + u->ru_utime.tv_usec +
           u->ru_stime.tv_usec;
}

/* A request for which no thread was free: if it gave its processor away by no call of its own, it
 * computed. */
static void worker_run_measured(worker_pool *wp, brg_conn *bc)
{
    struct rusage before, after;
    const apr_time_t began = clock_monotonic();
    apr_time_t now;

    getrusage(RUSAGE_THREAD, &before);
    worker_run(bc);
    getrusage(RUSAGE_THREAD, &after);
    now = clock_monotonic();
    worker_ran(wp->share, now, now - began,
               after.ru_nvcsw == before.ru_nvcsw ? now - began
                                                 : worker_used(&after) - worker_used(&before));
}

/* Without a lock. @return when it was done, by clock_monotonic() */
static apr_time_t worker_do(worker_pool *wp, worker_seat *seat, brg_conn *bc, brg_beside *work)
{
    const uint32_t jobs = atomic_load_explicit(&seat->jobs, memory_order_relaxed);
    apr_time_t now;

    BRG_ASSERT(!bc != !work && !(jobs & 1));
    atomic_store_explicit(&seat->jobs, jobs + 1, memory_order_relaxed);
    if (work)
        work->run(work);
    else if (bc->queue.waits)
        worker_run_measured(wp, bc);
    else
        worker_run(bc);
    if (!(now = thread_self_read_take()))
        now = clock_monotonic();
    brg_run_turn_end(now + loop_wall_ahead(wp->loop));
    atomic_store_explicit(&seat->jobs, jobs + 2, memory_order_relaxed);
    return now;
}

/* Without a lock: give a connection back. The thread sits before that, so that it gets the client's
 * next request.
 * @return the connection given to it meanwhile; later ones wait until it is woken */
static brg_conn *worker_return(worker_pool *wp, worker_seat *seat, brg_conn *bc, apr_time_t now)
{
    const int sits = worker_sit_down(wp, seat);
    brg_conn *next;

    loop_return(bc);
    if (!sits || !(next = worker_sit(wp, seat, now + apr_time_from_sec(WORKER_TRIM_SECONDS))))
        return NULL;
    if (atomic_load(&wp->left)) {
        lock_counted(&wp->lock, LOCK_WORKERS);
        worker_unlock(wp);
    }
    return next;
}

/* With the lock held. @return the pool that the thread is in at its end, its lock held */
static worker_pool *worker_loop(worker_pool *wp, worker_seat *seat)
{
    brg_beside *work;
    brg_conn *bc;
    int takes_long = 0;
    apr_time_t now = clock_monotonic();

    while (!worker_lend_back(wp->share) && worker_next(&wp, &bc, &work, now)) {
        const int took_long = takes_long;

        takes_long = bc && bc->queue.takes_long;
        worker_count(wp, 1);
        wp->longs_n += takes_long;
        if (took_long && !takes_long)
            worker_pass_on(wp);
        worker_unlock(wp);
        now = worker_do(wp, seat, bc, work);
        if (takes_long)
            loop_return(bc);
        while (bc && !takes_long && (bc = worker_return(wp, seat, bc, now)) != NULL)
            now = worker_do(wp, seat, bc, NULL);
        lock_counted(&wp->lock, LOCK_WORKERS);
        worker_count(wp, -1);
        wp->longs_n -= takes_long;
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
    lock_counted(&wp->lock, LOCK_WORKERS);
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
    atomic_store(&wp->share->seats[slot].thread, (uint32_t)gettid());
    worker_mine = wp;
    worker_show(wp, slot, SERVER_STARTING);
    worker_show(wp, slot, SERVER_READY);
    lock_counted(&wp->lock, LOCK_WORKERS);
    wp = worker_loop(wp, &wp->share->seats[slot]);
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
