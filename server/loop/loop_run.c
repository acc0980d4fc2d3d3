/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which a turn drives its connections.
 *
 * A request that goes the full way runs more code than the processor's instruction cache holds, and by its end the code
 * of its beginning is gone. So the steps of a turn's requests are run together: the phases of up to LOOP_COHORT of them,
 * then their handlers (Larus and Parkes, Using Cohort Scheduling to Enhance Server Performance, USENIX 2002).
 */
#include "loop.h"
#include "crash.h"
#include "thread_self.h"

void loop_again(brg_loop *loop, brg_conn *bc)
{
    BRG_ASSERT(bc->loop == loop && bc->state != CONN_WORKER);
    if (bc->queued)
        return;
    bc->queued = 1;
    bc->next = NULL;
    *loop->turn.again_tail = bc;
    loop->turn.again_tail = &bc->next;
}

void loop_unlist(brg_loop *loop, brg_conn *bc)
{
    brg_conn **at = &loop->turn.again;

    if (!bc->queued)
        return;
    while (*at && *at != bc)
        at = &(*at)->next;
    if (*at)
        *at = bc->next;
    if (loop->turn.again_tail == &bc->next)
        loop->turn.again_tail = at;
    bc->queued = 0;
}

int loop_later(brg_loop *loop, brg_conn *bc)
{
    BRG_ASSERT(bc->loop == loop && bc->fd >= 0);
    if (!loop->turn.more_ready && !loop->turn.later_n)
        return 0;
    BRG_ASSERT(loop->turn.later_n < LOOP_COHORT);
    loop->turn.later[loop->turn.later_n++] = bc;
    return 1;
}

static void loop_drive(brg_conn *bc)
{
    if (bc->fd < 0)
        return;
    crash_driving(bc->fd);
    bc->driver->run(bc);
}

static void loop_run_later(brg_loop *loop)
{
    brg_conn *now[LOOP_COHORT];
    unsigned n;

    while ((n = loop->turn.later_n)) {
        memcpy(now, loop->turn.later, n * sizeof *now);
        loop->turn.later_n = 0;
        for (unsigned i = 0; i < n; i++) {
            loop->turn.more_ready = i + 1 < n;
            loop_drive(now[i]);
        }
    }
}

void loop_run_ready(brg_loop *loop)
{
    brg_conn *bc = loop->turn.ready, *next;

    loop->turn.ready = NULL;
    loop->turn.ready_tail = &loop->turn.ready;
    for (; bc; bc = next) {
        next = bc->next;
        bc->queued = 0;
        loop->turn.more_ready = next != NULL;
        loop_drive(bc);
        if (loop->turn.later_n && (!next || loop->turn.later_n == LOOP_COHORT))
            loop_run_later(loop);
    }
}

void loop_read_again(brg_loop *loop)
{
    brg_conn *bc = loop->turn.again, *next;

    loop->turn.again = NULL;
    loop->turn.again_tail = &loop->turn.again;
    for (; bc; bc = next) {
        next = bc->next;
        bc->queued = 0;
        if (bc->fd < 0)
            continue;
        conn_fill(bc);
        loop_ready(loop, bc);
    }
}
