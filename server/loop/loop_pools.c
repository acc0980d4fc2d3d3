/* SPDX-License-Identifier: Apache-2.0 */
/* A look at the pools of a process (brigade/memory_tree.h): each event loop looks at those of its own connections, between two turns. */
#include "loop.h"
#include "clock.h"
#include "loops.h"
#include "memory_out.h"
#include "thread_self.h"
#include "brigade/assert.h"
#include "brigade/memory_tree.h"
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define POOLS_PATIENCE_SECONDS 1
#define POOLS_CLOCK 32 /* connections between two looks at the clock */

/* Of one caller; the last of it and its loops frees it. */
typedef struct pools_look {
    pthread_mutex_t lock;
    pthread_cond_t told;
    int asked, answers, holds;
    brg_pool_tree sum;
} pools_look;

/* For one loop. */
typedef struct pools_share {
    struct loop_note note;
    brg_loop *loop;
    pools_look *look;
    brg_pool_tree tree;
} pools_share;

/* A worker, or a thread of a module, may have its pools. */
static int pools_are_elsewhere(const brg_conn *bc)
{
    return bc->state == CONN_WORKER || bc->state == CONN_WAIT || bc->module_driven;
}

static void pools_of_loop(const brg_loop *loop, brg_pool_tree *t)
{
    const apr_time_t end = clock_monotonic() + BRG_POOL_LOOP_US;
    const brg_conn *bc = loop->conns.all;

    for (int n = 1; bc; bc = bc->all.next, n++) {
        if (pools_are_elsewhere(bc))
            t->at_workers++;
        else if (bc->c)
            brg_pool_tree_add(t, bc->c->pool);
        if (n % POOLS_CLOCK == 0 && clock_monotonic() >= end)
            break;
    }
    for (; bc; bc = bc->all.next)
        t->left_out++;
}

static void pools_let_go(pools_look *look)
{
    const int last = --look->holds == 0;

    pthread_mutex_unlock(&look->lock);
    if (!last)
        return;
    pthread_cond_destroy(&look->told);
    pthread_mutex_destroy(&look->lock);
    free(look);
}

static void pools_answer(pools_share *share)
{
    pools_look *look = share->look;

    pthread_mutex_lock(&look->lock);
    brg_pool_tree_merge(&look->sum, &share->tree);
    look->answers++;
    pthread_cond_signal(&look->told);
    pools_let_go(look);
    free(share);
}

static void pools_asked(struct loop_note *note)
{
    pools_share *share = (pools_share *)(void *)((char *)note - offsetof(pools_share, note));

    BRG_ASSERT(loop_self() == share->loop);
    pools_of_loop(share->loop, &share->tree);
    pools_answer(share);
}

static pools_look *pools_begin(void)
{
    pools_look *look = calloc(1, sizeof *look);
    pthread_condattr_t attr;

    if (!look)
        return NULL;
    pthread_mutex_init(&look->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&look->told, &attr);
    pthread_condattr_destroy(&attr);
    look->holds = 1;
    return look;
}

static void pools_ask(brg_loop *loop, void *baton)
{
    pools_look *look = baton;
    pools_share *share = calloc(1, sizeof *share);

    look->asked++;
    if (!share)
        return;
    share->note.run = pools_asked;
    share->loop = loop;
    share->look = look;
    pthread_mutex_lock(&look->lock);
    look->holds++;
    pthread_mutex_unlock(&look->lock);
    if (loop->prefork) { /* it is this thread */
        pools_of_loop(loop, &share->tree);
        pools_answer(share);
    } else
        loop_note_post(loop, &share->note);
}

BRG_DECLARE(int) brg_pool_tree_look(brg_pool_tree *t)
{
    pools_look *look = pools_begin();
    struct timespec end;
    int silent = 0;

    BRG_ASSERT(!loop_self());
    pool_tree_of_process(t);
    if (!look)
        return -1;
    loops_each(pools_ask, look);
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += POOLS_PATIENCE_SECONDS;
    pthread_mutex_lock(&look->lock);
    while (look->answers < look->asked && !silent)
        silent = pthread_cond_timedwait(&look->told, &look->lock, &end);
    silent = look->asked - look->answers;
    brg_pool_tree_merge(t, &look->sum);
    pools_let_go(look);
    return silent;
}
