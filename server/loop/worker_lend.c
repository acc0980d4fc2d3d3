/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes share the number of worker threads. Each has its part (worker_bounds.own), of which it keeps some (kept) and
 * lends the rest: a process that runs out of its part starts threads as long as there are no more than `all` together.
 *
 *   process                                 does
 *   --------------------------------------  -----------------------------------------------------------------------
 *   wants a thread, others have the rest    tells so, and asks again after WORKER_LEND_MS
 *   has more than its part                  gives back, after the next request, threads that another lacks
 *   has threads without work                ends them within a second if any process wants some
 *   dies                                    its entry is cleared when it is reaped, borrowed threads, too
 *
 * Each process writes its own number, in the scoreboard, and adds up those of the others before it goes on with a thread
 * more: two that do so at once see each other, and neither goes on. Only a process that ran out of threads looks.
 */
#include "worker_pool_private.h"
#include "counted_lock.h"
#include "scores.h"
#include "brigade/assert.h"

enum { LEND_WANTS_NONE, LEND_WANTS_LOAN, LEND_WANTS_OWN };

static loop_score *lend_told(const worker_share *share)
{
    return scoreboard_loop(share->slot, 0);
}

/* Threads of the other processes, with those that they keep for themselves. A process may have been
 * taken over, so each of its numbers is capped. @param wanted  the most that another process wants */
static int lend_others(const worker_share *share, int *wanted)
{
    const worker_bounds *b = &share->bounds;
    const int least = b->all - b->most;
    int others = 0;

    *wanted = LEND_WANTS_NONE;
    for (int slot = 0; slot < scoreboard_processes(); slot++) {
        const process_score *ps = ap_get_scoreboard_process(slot);
        const loop_score *score = scoreboard_loop_if(slot, 0);
        uint64_t has, wants;

        if (slot == share->slot || !ps->pid || ps->quiescing || !score ||
            ps->generation != share->generation)
            continue;
        has = atomic_load(&score->workers);
        wants = loop_score_get(&score->workers_wanted);
        others += has < (uint64_t)b->kept ? b->kept : has > (uint64_t)b->most ? b->most : (int)has;
        if (wants <= LEND_WANTS_OWN && (int)wants > *wanted)
            *wanted = (int)wants;
        if (others > b->all)
            others = b->all;
    }
    return others > least ? others : least;
}

int worker_room(const worker_share *share)
{
    const worker_bounds *b = &share->bounds;
    const int alive = atomic_load(&share->alive);
    int wanted, room = b->most - alive, left;

    if (!b->all || room <= 0)
        return room;
    left = b->all - alive - lend_others(share, &wanted);
    if (left < b->kept - alive)
        left = b->kept - alive;
    if (alive >= b->own && wanted == LEND_WANTS_OWN)
        return 0;
    return left < room ? left : room;
}

int worker_lend_take(worker_share *share)
{
    const worker_bounds *b = &share->bounds;
    const int alive = atomic_load(&share->alive);
    loop_score *told;
    int wanted, others;

    if (!b->all)
        return 1;
    told = lend_told(share);
    atomic_store(&told->workers, (uint64_t)alive); /* before the look at the others */
    others = lend_others(share, &wanted);
    if (alive <= b->kept ||
        (alive + others <= b->all && (alive <= b->own || wanted != LEND_WANTS_OWN))) {
        if (alive >= b->own && loop_score_get(&told->workers_wanted) == LEND_WANTS_OWN)
            loop_score_set(&told->workers_wanted, LEND_WANTS_LOAN);
        return 1; /* more may be wanted: worker_lend_wants() tells that none is */
    }
    atomic_store(&told->workers, (uint64_t)alive - 1);
    loop_score_set(&told->workers_wanted, alive <= b->own ? LEND_WANTS_OWN : LEND_WANTS_LOAN);
    return 0;
}

void worker_lend_give(worker_share *share)
{
    if (!share->bounds.all)
        return;
    share->leaving -= share->leaving > 0;
    atomic_store(&lend_told(share)->workers, (uint64_t)atomic_load(&share->alive));
}

void worker_lend_wants(worker_share *share, int is_hungry)
{
    if (!share->bounds.all || is_hungry)
        return; /* worker_lend_take() says so if there is no thread for it */
    lock_counted(&share->lock, LOCK_THREADS);
    if (!atomic_load(&share->hungry))
        loop_score_set(&lend_told(share)->workers_wanted, LEND_WANTS_NONE);
    pthread_mutex_unlock(&share->lock);
}

int worker_lend_back(worker_share *share)
{
    int wanted, back;

    if (!share->bounds.all || atomic_load(&share->alive) <= share->bounds.own)
        return 0;
    lend_others(share, &wanted);
    if (wanted != LEND_WANTS_OWN)
        return 0;
    lock_counted(&share->lock, LOCK_THREADS);
    back = atomic_load(&share->alive) - share->leaving > share->bounds.own;
    share->leaving += back;
    pthread_mutex_unlock(&share->lock);
    return back;
}

void worker_share_lend(worker_share *share)
{
    int wanted = LEND_WANTS_NONE;

    if (!share->bounds.all)
        return;
    worker_lend_wants(share, 0);
    if (atomic_load(&share->alive) > share->bounds.kept)
        lend_others(share, &wanted);
    atomic_store(&share->lends, wanted != LEND_WANTS_NONE);
    for (worker_pool *wp = share->pools; wanted && wp; wp = wp->next_pool) {
        lock_counted(&wp->lock, LOCK_WORKERS);
        pthread_cond_broadcast(&wp->work);
        pthread_mutex_unlock(&wp->lock);
    }
}
