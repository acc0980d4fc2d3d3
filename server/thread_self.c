/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_self.h"
#include "loop_private.h"
#include "brigade/loop.h"

static _Thread_local brg_loop *self_loop;
static _Thread_local int self_index = -1;

APR_HOOK_STRUCT(
    APR_HOOK_LINK(turn_end)
)

APR_IMPLEMENT_EXTERNAL_HOOK_VOID(brg, BRG, turn_end, (apr_time_t now), (now))

void thread_self_set(brg_loop *loop, int index)
{
    self_loop = loop;
    self_index = index;
}

void thread_self_end(void)
{
    self_loop = NULL;
    self_index = -1;
}

brg_loop *loop_self(void)
{
    return self_loop;
}

int conn_on_loop(void)
{
    return self_loop != NULL;
}

BRG_DECLARE(apr_time_t) brg_now(void)
{
    return self_loop ? self_loop->now : apr_time_now();
}

BRG_DECLARE(int) brg_thread_index(void)
{
    return self_index;
}

BRG_DECLARE(int) brg_thread_is_loop(void)
{
    return self_loop != NULL;
}
