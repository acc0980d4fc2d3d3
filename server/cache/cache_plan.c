/* SPDX-License-Identifier: Apache-2.0 */
/* Entries with a plan (cache_plan.h): found as answers are, sent by somebody else. Such an entry is never filled; it has a plan from the
 * request on that made it. */
#include "cache_plan.h"
#include "connection.h"
#include "cache_fill_private.h"
#include "cache_observed_private.h"
#include "cache_source_private.h"
#include "cache_vary_private.h"
#include "brigade/loop.h"
#include "http_core.h"
#include <stdlib.h>
#include <string.h>

/* ---- offers ---- */

int cache_plans_are_kept(const response_cache *c)
{
    return c->buckets_n != 0;
}

void cache_offer_plan(request_rec *r, const cache_plan_offer *plan)
{
    const response_cache *c = loop_self() ? cache_store_cache() : NULL;
    request_offer *offer;

    BRG_ASSERT(plan->make != NULL);
    if (!c || c->is_workers || !cache_request_is_plain(r) || request_runs_each_time(r) ||
        request_offer_of(r) || !(offer = request_offer_begin(r)))
        return;
    offer->plan = plan;
}

int cache_plan_is_offered(const request_rec *r)
{
    const request_offer *offer = request_offer_of(r);

    return offer && offer->plan;
}

/* Gates count requests, and users are let in one by one: these take the full way. So does what depends on files. */
int cache_plan_is_open(request_rec *r)
{
    apr_array_header_t **list = request_vary_fields(r);
    const request_dependencies *found = request_dependencies_of(r);

    if (!list || !found || cache_any_changed(r) || found->first || found->folders ||
        found->too_many)
        return 0;
    for (int i = 0; *list && i < (*list)->nelts; i++) {
        const vary_wish *wish = &APR_ARRAY_IDX(*list, i, vary_wish);

        if (wish->gate || wish->users)
            return 0;
    }
    return 1;
}

int cache_plan_fill(response_cache *c, cache_entry *e, request_rec *r)
{
    const cache_plan_offer *offer = request_offer_of(r)->plan;

    BRG_ASSERT(e->in_cache && !e->plan && !e->filled && e->source == CACHE_SOURCE_PLAN);
    if (cache_observe_keep(e, r) || !(e->plan = offer->make(r, offer->baton)))
        return -1;
    e->server = r->server;
    e->uncacheable = 1;
    e->reserved = 0;
    cache_account(c, e);
    return 0;
}

size_t cache_plan_bytes(const cache_entry *e)
{
    return e->plan ? cache_block(e->plan->bytes) : 0;
}

void cache_plan_drop(cache_entry *e)
{
    free(e->plan);
    e->plan = NULL;
}

/* ---- use ---- */

cache_entry *cache_planned(response_cache *c)
{
    cache_entry *e = c->planned;

    c->planned = NULL;
    if (e)
        cache_touch(c, e);
    return e;
}

const cache_plan *cache_plan_of(const cache_entry *e)
{
    return e->plan;
}

server_rec *cache_plan_server(const cache_entry *e)
{
    return e->server;
}

int cache_plan_is_logged(const cache_entry *e)
{
    return e->observed != 0;
}

static cache_observed_answer plan_sent(const cache_planned_answer *a)
{
    return (cache_observed_answer){
        .answer = a->answer, .head_sent = a->head_sent, .body_sent = a->body_sent, .env = a->env};
}

/* What hooks see of the connection. @param requests  before this one; a stream has none */
static void plan_connection(brg_conn *bc, int requests)
{
    bc->c->keepalives = requests + (bc->close_after == CONN_KEEP);
    bc->c->keepalive = bc->close_after == CONN_KEEP ? AP_CONN_KEEPALIVE : AP_CONN_CLOSE;
}

int cache_plan_log_is_ready(cache_entry *e, brg_conn *bc, const cache_planned_answer *a)
{
    const cache_observed_answer sent = plan_sent(a);

    BRG_ASSERT(e->observed && a->head && a->answer);
    return cache_log_directly(e, bc, a->head, &sent, a->began, CACHE_LOG_ASK);
}

/* As of a request that took the full way (bucket_eor.c). */
static void plan_figures(cache_entry *e, brg_conn *bc, const cache_planned_answer *a)
{
    const apr_time_t now = loop_request_ends(bc->loop, NULL);
    const figures_ended ended = {.host = figures_host(e->server),
                                 .protocol = connection_protocol(bc->c),
                                 .status = a->status,
                                 .us = now > a->began ? (uint64_t)(now - a->began) : 0,
                                 .bytes = (uint64_t)a->body_sent};

    figures_request(bc->loop->figures, 1, &ended);
    figures_target_ended(e->log->hostname, e->log->uri, &ended);
}

void cache_plan_answered(cache_entry *e, brg_conn *bc, const cache_planned_answer *a)
{
    const cache_observed_answer sent = plan_sent(a);

    BRG_ASSERT(e->plan && e->log && bc->c);
    e->answered += e->in_cache;
    if (e->observed) {
        plan_connection(bc, bc->protocol == CONN_HTTP1 ? (int)bc->requests : 0);
        (void)cache_log_directly(e, bc, a->head, &sent, a->began, CACHE_LOG_WRITE);
    }
    plan_figures(e, bc, a);
}
