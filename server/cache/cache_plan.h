/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_PLAN_H
#define BRIGADE_CACHE_CACHE_PLAN_H

/**
 * @file cache_plan.h
 * A plan: the decisions of a request's phases, where a backend answers it. The response cache keeps
 * them as it keeps answers: by virtual host and target, and by all that modules say the outcome
 * depends on. A request with a plan is sent to its backend without a request_rec (h1/h1_ahead.h);
 * an answer that needs more is finished the full way.
 *
 * A plan ends with its entry: by displacement, and with the process, so with each new
 * configuration. Nothing else invalidates it: a request for which files were looked at has no plan.
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

/** The offer of a plan: in the request's pool. */
typedef struct cache_plan_offer {
    /** Make the plan. @return NULL: no memory. @param baton  as given */
    cache_plan *(*make)(request_rec *r, void *baton);
    void *baton;
    /** A text that tells how the plan that make() would make for all is composed, if it is taken for made of the path or the query since it shows them: two
     * requests that differ in both show it; "": it is known, or there is no such plan. In the pool of @a r. */
    const char *(*shape)(const request_rec *r, void *baton);
    /** a redirect of this server was given the query of @a r's target, or one that is made of this and the path: of those that a plan for all leads
     * (cache_plan_is_for_all()) each may have its own; any other plan is for this one */
    int query_led;
    /** of @a r's path: as many bytes, up to a slash, are a prefix; all paths below it go the same way, each with the query that it has, if the
     * functions of brg_cache_name_declare() say the same of both. 0: only @a r's does, or what is below a folder */
    size_t below;
    /** with below: the environment of @a r is what its backend gets, and the plan sees to what tells of the path in it */
    int sends_env;
} cache_plan_offer;

/** 0: nothing is kept, and so no plans are. */
int cache_plans_are_kept(const response_cache *c);

/**
 * @a last was answered by a backend, and so may other requests for its target be. Taken where the request is plain and all that took
 * part say that they depend on nothing that later requests cannot be told apart by. @param plan  lives as long as @a last
 * Threads: the request's; off the loops it does nothing.
 */
void cache_offer_plan(request_rec *last, const cache_plan_offer *plan);

/** Fields of @a r that modules changed: a plan has to do the same, for clients that sent the same where the value is made of theirs. @return the name of number
 * @a i, from 0; NULL: there are no more. Threads: the request's. */
const char *cache_plan_changes(const request_rec *r, int i);

/** While a plan is made: where what paths differ in begins in r->uri, if it is for all paths below cache_plan_offer.below, or below a folder that lead to
 * nothing; else 0. REDIRECT_URL, REQUEST_URI and, with
 * cache_plan_offer.query_led, what tells the query are each request's own then; nothing else may tell of the path of @a r, which is
 * cache_plan_path() of its target. Below a folder all have a query, or none has. */
size_t cache_plan_is_for_all(const request_rec *r);

/** 1: field number @a i, which the client sent, stands behind all others now. Threads: the request's. */
int cache_plan_moves(const request_rec *r, int i);

/** 1 if a plan was offered for @a r, or what led to it: its outcome, not its answer, is what modules are asked about. */
int cache_plan_is_offered(const request_rec *r);

/** Send a request by the plan of @a e, if limits let it pass. @return as cache_plan_kind.begin */
int cache_plan_begin(cache_entry *e, brg_conn *bc, const http_head *head);

/** Bytes that a path with escapes has at most where plans for all are known. */
#define CACHE_PLANNED_PATH 1024

/** The path of the target of @a h, which has a plan for all (cache_plan_is_for_all()). @param room  CACHE_PLANNED_PATH bytes: for a path with escapes, of
 * bytes beyond ASCII @return else in h->uri; of no length: it is written in another way, and has no such plan. Threads: any. */
brg_text cache_plan_path(const http_head *h, char *room);

/** A variable, or a note, that is another one for each request of a plan. */
typedef struct cache_planned_env {
    const char *name, *value; /**< value NULL: this request has none */
} cache_planned_env;

/** The environment of a request, where the plan's owner knows all of it. */
typedef struct cache_planned_variables {
    const char *(*get)(void *baton, const char *name); /**< NULL: there are none */
    void *baton;
    int query_made; /**< QUERY_STRING is not the client's query */
} cache_planned_variables;

/** A request of a plan that was answered. */
typedef struct cache_planned_answer {
    const http_head *head;     /**< the request's; NULL: nobody logs it (cache_plan_is_logged()) */
    const http_answer *answer; /**< with head: the sent fields */
    apr_time_t began;          /**< microseconds since the epoch */
    int status;
    size_t head_sent;
    apr_off_t body_sent;
    const cache_planned_env *env; /**< for logs, up to a name of NULL; or NULL */
    cache_planned_variables variables;
} cache_planned_answer;

/** Bytes of a value of such a variable, with its NUL. */
#define CACHE_PLANNED_VARIABLE 48

/**
 * A variable that is another one for each request, whoever made it.
 * @param out   [out] CACHE_PLANNED_VARIABLE bytes: its value for a stream
 * @param head  of the request; NULL: it is not asked for the value
 * @return 1; 0: the value that is known holds; -1: it cannot be told without a request_rec
 * Threads: any that has @a c.
 */
int cache_plan_variable(char *out, const conn_rec *c, const http_head *head, const char *name);

/** 1 if log_transaction hooks want to see its answers. */
int cache_plan_is_logged(const cache_entry *e);

/** 1 if they can do so without a request_rec. Nothing was sent yet. */
int cache_plan_log_is_ready(cache_entry *e, brg_conn *bc, const cache_planned_answer *a);

/** It was sent: tell figures and logs. */
void cache_plan_answered(cache_entry *e, brg_conn *bc, const cache_planned_answer *a);

#endif
