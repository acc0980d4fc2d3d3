/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a loop (brigade/figures.h): length of its turns, and once a second the work of its
 * workers. */
#include "loop.h"
#include "driver.h"
#include "clock.h"
#include "counted_lock.h"

_Static_assert(BRG_FIGURE_LOCK_BACKENDS - BRG_FIGURE_LOCK_WORKERS + 1 == LOCKS_N,
               "a row for each lock");

#define LONGEST_US apr_time_from_sec(60)

/* Turns that answered from memory alone are much alike, and reading the clock costs as much as some
 * of them: one stands for several. */
void loop_figures_turn(brg_loop *loop)
{
    brg_histogram *took = loop->figures->own.took;
    const uint64_t turns = loop->unmeasured.turns, requests = loop->unmeasured.requests;
    uint64_t us;
    int bucket;

    BRG_ASSERT(loop->turn.ended_n >= loop->turn.full_n && turns > 0);
    loop->unmeasured.turns = 0;
    loop->unmeasured.requests = 0;
    /* Where none was answered from memory the clock was read when the last request ended. */
    if (!loop->slow.requests || loop->long_turn || loop->turn.ended_n != loop->turn.full_n)
        loop->monotonic = clock_monotonic();
    loop->long_turn = 0;
    us = (uint64_t)(loop->monotonic - loop->turn.began);
    bucket = figures_bucket(us);
    figures_add(&took[BRG_TOOK_TURN].n[bucket], turns);
    figures_add(&took[BRG_TOOK_TURN].sum_us, us * turns);
    figures_add(&took[BRG_TOOK_MEMORY].n[bucket], requests);
    figures_add(&took[BRG_TOOK_MEMORY].sum_us, us * requests);
    if (us > loop->longest.now)
        loop->longest.now = us;
}

/* Of this minute and the one before. */
static uint64_t figures_longest(brg_loop *loop)
{
    const apr_time_t passed = loop->monotonic - loop->longest.since;

    if (passed >= LONGEST_US) {
        loop->longest.last = passed >= 2 * LONGEST_US ? 0 : loop->longest.now;
        loop->longest.now = 0;
        loop->longest.since = loop->monotonic;
    }
    return loop->longest.now > loop->longest.last ? loop->longest.now : loop->longest.last;
}

/* By whichever loop comes first. */
static void figures_of_locks(uint64_t *value)
{
    for (int i = 0; i < LOCKS_N; i++) {
        const uint64_t n = lock_waits_take((lock_name)i);

        if (n)
            figures_add(&value[BRG_FIGURE_LOCK_WORKERS + i], n);
    }
}

void loop_figures_second(brg_loop *loop)
{
    uint64_t *value = loop->figures->own.value;
    int alive, busy, waiting;

    BRG_ASSERT(loop->workers != NULL && loop->figures != NULL);
    if (loop->unmeasured.turns)
        loop_figures_turn(loop);
    figures_add(&value[BRG_FIGURE_READ], loop->turn.read_n);
    loop->turn.read_n = 0;
    figures_of_locks(value);
    figures_set(&value[BRG_FIGURE_LONGEST], figures_longest(loop));
    worker_pool_figures(loop->workers, &alive, &busy, &waiting);
    figures_set(&value[BRG_FIGURE_WORKERS], (uint64_t)alive);
    figures_set(&value[BRG_FIGURE_WORKERS_BUSY], (uint64_t)busy);
    if (loop->index == 0)
        figures_set(&value[BRG_FIGURE_WORKERS_MOST], (uint64_t)loop->config->n_workers);
    figures_set(&value[BRG_FIGURE_WAITING], (uint64_t)waiting);
    figures_set(&value[BRG_FIGURE_HTTP2], loop->http2.n);
    figures_set(&value[BRG_FIGURE_STREAMS], loop->http2.streams);
    figures_set(&value[BRG_FIGURE_HTTP3], loop->http3.n);
    figures_set(&value[BRG_FIGURE_HTTP3_STREAMS], loop->http3.streams);
    if (loop->accept.datagrams)
        loop_datagrams_offered()->figures(loop);
    if (loop->config->services->figures)
        loop->config->services->figures(loop);
}
