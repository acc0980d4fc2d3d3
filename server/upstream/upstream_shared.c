/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that several exchanges of a loop use at a time. While one is being connected, others wait for it rather than connect
 * as well. */
#include "upstream_private.h"
#include "brigade/assert.h"

void upstream_share(upstream_conn *cc)
{
    upstream_conn **at = &cc->pool->shared;

    BRG_ASSERT(cc->on_loop && cc->state == UPSTREAM_READY && !cc->prev && !cc->shared);
    while (*at)
        at = &(*at)->next;
    cc->next = NULL;
    cc->prev = at;
    *at = cc;
    cc->shared = 1;
    if (cc->connecting)
        upstream_connecting_over(cc);
    else
        upstream_shared_tell(cc);
}

void upstream_unshare(upstream_conn *cc)
{
    if (!cc->shared)
        return;
    *cc->prev = cc->next;
    if (cc->next)
        cc->next->prev = cc->prev;
    cc->prev = NULL;
    cc->next = NULL;
    cc->shared = 0;
}

upstream_conn *upstream_shared(upstream_origin *o, brg_loop *loop)
{
    return upstream_pool_of(o, loop)->shared;
}

int upstream_awaits_shared(upstream_origin *o, brg_loop *loop, upstream_ticket *ticket)
{
    upstream_pool *pool = upstream_pool_of(o, loop);

    if (!pool->connecting_n)
        return 0;
    upstream_ticket_wait(pool, ticket);
    return 1;
}

unsigned *upstream_shared_most(upstream_conn *cc)
{
    return &cc->pool->shared_most;
}

void upstream_shared_tell(upstream_conn *cc)
{
    if (cc->pool->first)
        upstream_pool_tell(cc->pool);
}

void upstream_connecting_over(upstream_conn *cc)
{
    if (!cc->connecting)
        return;
    BRG_ASSERT(cc->pool->connecting_n > 0);
    cc->connecting = 0;
    cc->pool->connecting_n--;
    upstream_shared_tell(cc);
}
