/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_PLAN_H
#define BRIGADE_CACHE_CACHE_PLAN_H

/**
 * @file cache_plan.h
 * Plans: what the phases of a request decided, where a backend answers it. The response cache keeps them as it keeps answers:
 * by virtual host and target, and by all that modules say the outcome depends on. A request with a plan is sent to its backend
 * without a request_rec (h1/h1_ahead.h); what its answer asks for beyond that is done the full way.
 *
 * A plan ends with its entry: by displacement, and with the process, so with each new configuration. Nothing else changes what
 * it was made of: a request for which files were looked at has none.
 *
 * Threads: the loop that the cache belongs to. Blocking: no.
 */
#include "response_cache.h"

/** Begins the plan's owner's object, from malloc(). */
typedef struct cache_plan {
    const struct cache_plan_kind *kind;
    size_t bytes; /**< of the object, for FileCacheSize */
} cache_plan;

typedef struct cache_plan_kind {
    /**
     * Send a request on. @a head is not consumed, and a copy of nothing is kept.
     * @param entry  the plan's; held by the request that was begun
     * @return 1: bc->ahead is set; 0: nothing was done, it takes the full way
     */
    int (*begin)(const cache_plan *plan, cache_entry *entry, brg_conn *bc, const http_head *head);
} cache_plan_kind;

/** What is offered: in the request's pool. */
typedef struct cache_plan_offer {
    /** Make the plan. @return NULL: no memory. @param baton  as given */
    cache_plan *(*make)(request_rec *r, void *baton);
    void *baton;
} cache_plan_offer;

/** 0: nothing is kept, and so no plans are. */
int cache_plans_are_kept(const response_cache *c);

/**
 * @a r was answered by a backend, and so may other requests for its target be. Taken where the request is plain and all that took
 * part say that they depend on nothing that later requests cannot be told apart by. @param plan  lives as long as @a r
 * Threads: the request's; off the loops it does nothing.
 */
void cache_offer_plan(request_rec *r, const cache_plan_offer *plan);

/** 1 if a plan was offered for @a r: its outcome, not its answer, is what modules are asked about. */
int cache_plan_is_offered(const request_rec *r);

/** The entry with the plan that cache_answer() found for the head that it was given last, and left to the full way; once. NULL: there is none. */
cache_entry *cache_planned(response_cache *c);

const cache_plan *cache_plan_of(const cache_entry *e);
server_rec *cache_plan_server(const cache_entry *e);

/** A variable that is another one for each request of a plan. */
typedef struct cache_planned_env {
    const char *name, *value;
} cache_planned_env;

/** A request of a plan that was answered. */
typedef struct cache_planned_answer {
    const http_head *head;     /**< the request's; NULL: nobody logs it (cache_plan_is_logged()) */
    const http_answer *answer; /**< with head: what was sent of fields */
    apr_time_t began;          /**< microseconds since the epoch */
    int status;
    size_t head_sent;
    apr_off_t body_sent;
    const cache_planned_env *env; /**< for logs, up to a name of NULL; or NULL */
} cache_planned_answer;

/** 1 if log_transaction hooks want to see its answers. */
int cache_plan_is_logged(const cache_entry *e);

/** 1 if they can do so without a request_rec. Nothing was sent yet. */
int cache_plan_log_is_ready(cache_entry *e, brg_conn *bc, const cache_planned_answer *a);

/** It was sent: tell figures and logs. */
void cache_plan_answered(cache_entry *e, brg_conn *bc, const cache_planned_answer *a);

#endif
