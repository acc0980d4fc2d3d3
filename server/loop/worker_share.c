/* SPDX-License-Identifier: Apache-2.0 */
/* How the pools of a process share the number of its worker threads: see worker_pool_private.h. */
#include "worker_pool_private.h"
#include "counted_lock.h"
#include "loop_lines.h"
#include "scoreboard.h"
#include "brigade/assert.h"
#include <unistd.h>

static int worker_processors(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : (int)n;
}

worker_share *worker_share_create(apr_pool_t *p, const worker_bounds *bounds, int slot,
                                  int first_index, size_t stack_bytes)
{
    worker_share *share = loop_lines_calloc(p, sizeof *share);
    const process_score *process = ap_get_scoreboard_process(slot);
    const apr_size_t most = (apr_size_t)bounds->most;

    BRG_ASSERT(bounds->most >= bounds->own && first_index >= 0);
    BRG_ASSERT(bounds->kept <= bounds->own && (!bounds->all || bounds->most <= bounds->all));
    pthread_mutex_init(&share->lock, NULL);
    share->bounds = *bounds;
    share->slot = slot;
    share->generation = process ? process->generation : 0;
    share->processors = worker_processors();
    atomic_init(&share->computes, WORKER_UNKNOWN);
    share->first_index = first_index;
    share->index_used = loop_lines_calloc(p, most);
    share->seats = loop_lines_calloc(p, most * sizeof *share->seats);
    share->stack_bytes = stack_bytes;
    return share;
}

int worker_reserve(worker_share *share)
{
    int slot = -1;

    lock_counted(&share->lock, LOCK_THREADS);
    if (atomic_load(&share->alive) < share->bounds.most) {
        atomic_fetch_add(&share->alive, 1);
        if (worker_lend_take(share)) {
            for (slot = 0; share->index_used[slot]; slot++)
                BRG_ASSERT(slot + 1 < share->bounds.most);
            share->index_used[slot] = 1;
        } else
            atomic_fetch_sub(&share->alive, 1);
    }
    pthread_mutex_unlock(&share->lock);
    return slot;
}

/* The pause since the last start, by the duration of recent requests. */
static apr_time_t share_pace(const worker_share *share)
{
    const int computes = atomic_load_explicit(&share->computes, memory_order_relaxed);

    if (computes == WORKER_UNKNOWN)
        return WORKER_UNKNOWN_US;
    return computes < WORKER_COMPUTE_ALL / 2 ? WORKER_WAITING_US : WORKER_STUCK_US;
}

int worker_may_start(worker_share *share, apr_time_t now)
{
    apr_time_t pace, since;
    int may;

    if (atomic_load(&share->alive) < WORKER_AT_ONCE * share->processors)
        return 1;
    pace = share_pace(share);
    lock_counted(&share->lock, LOCK_THREADS);
    since = atomic_load_explicit(&share->ended, memory_order_relaxed);
    if (pace < WORKER_STUCK_US || since < share->started)
        since = share->started;
    may = now - since >= pace;
    if (may)
        share->started = now;
    pthread_mutex_unlock(&share->lock);
    return may;
}

/* A thread that computes has its part of the processors, of which other programs may take most. */
void worker_ran(worker_share *share, apr_time_t now, apr_time_t took, apr_time_t computed)
{
    const int running = atomic_load_explicit(&share->running, memory_order_relaxed);
    const int computes = WORKER_FOREIGN * computed * running >= took * share->processors;
    int was = atomic_load_explicit(&share->computes, memory_order_relaxed);

    if (was == WORKER_UNKNOWN)
        was = computes ? WORKER_COMPUTE_ALL : 0;
    was += ((computes ? WORKER_COMPUTE_ALL : 0) - was) / 8;
    atomic_store_explicit(&share->computes, was, memory_order_relaxed);
    atomic_store_explicit(&share->ended, now, memory_order_relaxed);
}

void worker_unreserve(worker_share *share, int slot)
{
    lock_counted(&share->lock, LOCK_THREADS);
    BRG_ASSERT(slot >= 0 && slot < share->bounds.most && share->index_used[slot]);
    share->index_used[slot] = 0;
    atomic_fetch_sub(&share->alive, 1);
    worker_lend_give(share);
    pthread_mutex_unlock(&share->lock);
}

void worker_set_hungry(worker_pool *wp, int is_hungry)
{
    if (wp->is_hungry == is_hungry)
        return;
    wp->is_hungry = is_hungry;
    atomic_fetch_add(&wp->share->hungry, is_hungry ? 1 : -1);
    worker_lend_wants(wp->share, is_hungry);
}

/* A thread that begins to wait looks for hungry pools with its lock held: it sees this one, or the signal reaches it. */
int worker_call_others(const worker_pool *wp)
{
    int called = 0;

    for (worker_pool *other = wp->share->pools; other && !called; other = other->next_pool) {
        if (other == wp)
            continue;
        lock_counted(&other->lock, LOCK_WORKERS);
        if ((called = worker_is_free(other)) != 0)
            pthread_cond_signal(&other->work);
        else
            called = worker_rouse(other);
        pthread_mutex_unlock(&other->lock);
    }
    return called;
}

/* With the lock held: the time since when the first waiting connection could be taken; 0: none
 * waits. */
static apr_time_t worker_waits_since(const worker_pool *wp)
{
    const brg_conn *any = wp->any.first,
                   *lng = wp->longs_n < wp->longs_most ? wp->longs.first : NULL;

    if (!any || !lng)
        return any ? any->work.since : lng ? lng->work.since : 0;
    return any->work.since < lng->work.since ? any->work.since : lng->work.since;
}

/* Without a lock: of the hungry pools, and @a own, the one whose first connection waits the longest; or NULL. */
static worker_pool *worker_oldest(const worker_share *share, const worker_pool *own)
{
    worker_pool *oldest = NULL;
    apr_time_t since = 0;

    for (worker_pool *wp = share->pools; wp; wp = wp->next_pool) {
        apr_time_t waits;

        lock_counted(&wp->lock, LOCK_WORKERS);
        waits = worker_waits_since(wp);
        if (waits && (wp->is_hungry || wp == own) && (!oldest || waits < since)) {
            since = waits;
            oldest = wp;
        }
        pthread_mutex_unlock(&wp->lock);
    }
    return oldest;
}

/* The calling thread becomes one of @a to; 0: that has no work any more. */
static int worker_join(worker_pool *to)
{
    int joins;

    lock_counted(&to->lock, LOCK_WORKERS);
    joins = to->is_hungry && !to->stopping;
    to->alive += joins;
    pthread_mutex_unlock(&to->lock);
    return joins;
}

/* The calling thread leaves @a from for another pool. */
static void worker_part(worker_pool *from)
{
    int is_hungry, work;

    lock_counted(&from->lock, LOCK_WORKERS);
    BRG_ASSERT(from->alive > 0); /* the calling thread is one of them */
    from->alive--;
    work = worker_takeable(from) + from->beside_waiting;
    is_hungry = work > from->idle && work > from->idle + worker_rouse(from);
    if (is_hungry)
        worker_set_hungry(from, 1);
    if (work && from->idle) /* the work for which this thread was woken, or that was left to it */
        pthread_cond_signal(&from->work);
    pthread_mutex_unlock(&from->lock);
    if (is_hungry)
        worker_call_others(from);
}

worker_pool *worker_move(worker_pool **at)
{
    worker_pool *from = *at, *to;

    if (from->beside || from->stopping || !from->share->pools->next_pool)
        return from;
    pthread_mutex_unlock(&from->lock);
    to = worker_oldest(from->share, from);
    if (to && to != from && worker_join(to)) {
        worker_part(from);
        *at = to;
    }
    lock_counted(&(*at)->lock, LOCK_WORKERS);
    return *at;
}

/* Work came that counted on this thread, which was about to end. */
void worker_replace(const worker_share *share)
{
    for (worker_pool *wp = share->pools; wp; wp = wp->next_pool) {
        lock_counted(&wp->lock, LOCK_WORKERS);
        if (wp->is_hungry && worker_takeable(wp) > wp->idle && !wp->stopping)
            worker_spawn(wp);
        pthread_mutex_unlock(&wp->lock);
    }
}
