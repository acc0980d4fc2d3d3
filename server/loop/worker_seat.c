/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seat of a pool: a worker that has nothing to do waits there without the pool's lock, and gets the next connection
 * without it, from the loop or from whoever has other work. It may wait with a futex alone, since one thread sits and one
 * calls it.
 *
 * A thread that queues work looks at the seat afterwards, and a thread that sits down looks at the
 * queue afterwards: one of both sees the other. The thread that empties the seat, which may be the
 * sitting one itself, counts the latter as running.
 */
#include "worker_pool_private.h"
#include "brigade/assert.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(SYS_futex_time64) && LONG_MAX == INT_MAX
#define SEAT_FUTEX SYS_futex_time64 /* for the struct timespec of a 32-bit system */
#else
#define SEAT_FUTEX SYS_futex
#endif

/* @param until  by CLOCK_MONOTONIC. @return 0, or why it did not wait, or does no longer */
static int seat_wait(_Atomic uint32_t *word, const struct timespec *until)
{
    const long rc = syscall(SEAT_FUTEX, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, until,
                            NULL, FUTEX_BITSET_MATCH_ANY);

    return rc < 0 ? errno : 0;
}

static worker_seat *seat_take(worker_pool *wp)
{
    return atomic_load(&wp->seated) ? atomic_exchange(&wp->seated, NULL) : NULL;
}

/* The thread may be gone as soon as the word is set; its seat is the share's, and stays. */
static void seat_give(worker_pool *wp, worker_seat *seat, brg_conn *bc)
{
    BRG_ASSERT(!atomic_load(&seat->word) && !seat->given);
    worker_count(wp, 1);
    atomic_store(&wp->waking, 1);
    seat->given = bc;
    atomic_store(&seat->word, 1);
    syscall(SEAT_FUTEX, &seat->word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

int worker_hand_over(worker_pool *wp, brg_conn *bc)
{
    worker_seat *seat = atomic_load(&wp->left) ? NULL : seat_take(wp);

    if (!seat)
        return 0;
    seat_give(wp, seat, bc);
    return 1;
}

int worker_rouse(worker_pool *wp)
{
    worker_seat *seat = seat_take(wp);

    if (!seat)
        return 0;
    seat_give(wp, seat, NULL);
    return 1;
}

/* Something that a thread with nothing to do is to look after, with the lock. */
static int seat_has_to_look(const worker_pool *wp)
{
    return atomic_load(&wp->left) || atomic_load(&wp->share->hungry);
}

/* @return 0: somebody else did, and has called the thread, or is about to */
static int seat_leave(worker_pool *wp, worker_seat *seat)
{
    if (!atomic_compare_exchange_strong(&wp->seated, &seat, NULL))
        return 0;
    worker_count(wp, 1);
    return 1;
}

/* @return 1: called; 0: the time is up */
static int seat_was_called(worker_pool *wp, worker_seat *seat, apr_time_t until)
{
    const struct timespec end = {(time_t)apr_time_sec(until), (long)apr_time_usec(until) * 1000};

    while (!atomic_load(&seat->word))
        if (seat_wait(&seat->word, &end) == ETIMEDOUT && seat_leave(wp, seat))
            return 0;
    return 1;
}

int worker_sit_down(worker_pool *wp, worker_seat *seat)
{
    worker_seat *none = NULL;

    if (seat_has_to_look(wp) || atomic_load(&wp->seated))
        return 0;
    BRG_ASSERT(atomic_load(&wp->running) > 0);
    atomic_store(&seat->word, 0);
    seat->given = NULL;
    worker_count(wp, -1);
    if (atomic_compare_exchange_strong(&wp->seated, &none, seat))
        return 1;
    worker_count(wp, 1);
    return 0;
}

brg_conn *worker_sit(worker_pool *wp, worker_seat *seat, apr_time_t until)
{
    if ((seat_has_to_look(wp) && seat_leave(wp, seat)) || !seat_was_called(wp, seat, until))
        return NULL;
    atomic_store(&wp->waking, 0);
    return seat->given;
}
