/* SPDX-License-Identifier: Apache-2.0 */
/* Entries with a plan (cache_plan.h): found as answers are, sent by somebody else. Such an entry is never filled; it has a plan from the
 * request on that made it. */
#include "cache_plan.h"
#include "connection.h"
#include "cache_absent_private.h"
#include "cache_below_private.h"
#include "cache_names_private.h"
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

/* @return the first request of the chain; NULL: a module has its say in each */
static request_rec *plan_first(request_rec *r)
{
    while (!request_runs_each_time(r) && r->prev)
        r = r->prev;
    return request_runs_each_time(r) ? NULL : r;
}

/* @param r  NULL: as plan_first() says */
static const char *plan_refusal(const response_cache *c, const request_rec *r)
{
    if (!r)
        return "a module is asked anew for each request";
    if (!c || c->is_workers)
        return "a worker thread had to answer";
    if (!cache_request_is_plain(r))
        return "it has no Host, or a variable changes the form of its answer";
    return cache_changes_are_known(r) ? NULL
                                      : "a module changes fields of the request, each in its way";
}

/* What redirects of this server led to is offered for what was asked for. */
void cache_offer_plan(request_rec *last, const cache_plan_offer *plan)
{
    const response_cache *c = loop_self() ? cache_store_cache() : NULL;
    request_rec *r = plan_first(last);
    const char *refusal = plan_refusal(c, r);
    request_offer *offer;

    BRG_ASSERT(plan->make != NULL && !last->main);
    if (refusal)
        request_set_unplanned(last, refusal);
    if (refusal || request_offer_of(r) || !(offer = request_offer_begin(r)))
        return;
    cache_changes_vary(r);
    offer->plan = plan;
}

int cache_plan_is_offered(const request_rec *r)
{
    const request_offer *offer;

    while (r->prev)
        r = r->prev;
    offer = request_offer_of(r);
    return offer && offer->plan;
}

/* Gates that have to know the answer are for those from memory. */
int cache_plan_is_open(request_rec *r)
{
    apr_array_header_t **list = request_vary_fields(r);

    if (!list || !cache_changes_are_known(r))
        return 0;
    for (int i = 0; *list && i < (*list)->nelts; i++)
        if (APR_ARRAY_IDX(*list, i, vary_wish).gate &&
            APR_ARRAY_IDX(*list, i, vary_wish).needs != CACHE_GATE_REQUEST)
            return 0;
    return 1;
}

size_t cache_plan_is_for_all(const request_rec *r)
{
    return cache_absent_target(r) ? cache_below_at(r) : 0;
}

int cache_plan_fill(response_cache *c, cache_entry *e, request_rec *r)
{
    const cache_plan_offer *offer = request_offer_of(r)->plan;

    BRG_ASSERT(e->in_cache && e->plans && !e->plan && !e->filled && e->source);
    if (cache_observe_keep(e, r)) {
        request_set_unplanned(r, "a log shows more of a request than is known without it");
        return -1;
    }
    if (!(e->plan = offer->make(r, offer->baton)) ||
        (cache_plan_is_for_all(r) && cache_below_take(c, e, r)))
        return -1;
    c->figures.planned++;
    e->server = r->server;
    e->uncacheable = 1;
    e->reserved = 0;
    free(e->fingerprint);
    e->fingerprint = NULL;
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

int cache_plan_begin(cache_entry *e, brg_conn *bc, const http_head *head)
{
    BRG_ASSERT(e->plan && !bc->ahead && !bc->gated);
    return (!e->gated || cache_gates_admit_plan(e, bc, head)) &&
           e->plan->kind->begin(e->plan, e, bc, head);
}

int cache_plan_is_logged(const cache_entry *e)
{
    return e->observed != 0;
}

static cache_observed_answer plan_sent(const cache_planned_answer *a)
{
    return (cache_observed_answer){.answer = a->answer,
                                   .head_sent = a->head_sent,
                                   .body_sent = a->body_sent,
                                   .env = a->env,
                                   .variables = a->variables};
}

/* The connection as hooks see it. @param requests  before this one; a stream has none */
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

/* The client's, where the plan is for others, too. */
static const char *plan_target(const cache_entry *e, char *room, size_t size, const http_head *h)
{
    if (!e->absent)
        return e->log->uri;
    return h && cache_absent_text(room, size, e, e->log->uri, h) <= size ? room : e->absent->path;
}

/* As of a request that took the full way (bucket_eor.c). */
static void plan_figures(cache_entry *e, brg_conn *bc, const cache_planned_answer *a)
{
    char target[CACHE_NAME_PATH_MOST];
    const apr_time_t now = loop_request_ends(bc->loop, NULL);
    const figures_ended ended = {.host = figures_host(e->server),
                                 .protocol = connection_protocol(bc->c),
                                 .status = a->status,
                                 .us = now > a->began ? (uint64_t)(now - a->began) : 0,
                                 .bytes = (uint64_t)a->body_sent};

    figures_request(bc->loop->figures, 1, &ended);
    figures_target_ended(e->log->hostname, plan_target(e, target, sizeof target, a->head), &ended);
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
