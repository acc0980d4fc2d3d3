/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_RESOLUTION_PRIVATE_H
#define BRIGADE_RESOLUTION_PRIVATE_H

/**
 * @file server/resolution.h
 * The resolution cache of an event loop: finished answers by virtual host and raw URI, and what
 * they depend on. Public side: brigade/resolution.h. Threads: the owning loop only, but for the
 * questions about the configuration.
 */
#include "h1_gather.h"
#include "h1_parse.h"
#include "httpd.h"
#include "http_config.h"

typedef struct resolution_cache resolution_cache;
typedef struct resolution_entry resolution_entry;

resolution_cache *resolution_cache_create(brg_loop *loop);

/** Give back all that the cache holds. No answer may be under way any more; the loop's thread has
 * ended. */
void resolution_cache_destroy(resolution_cache *cache);

/** Learn of every change to watched files that was made until now. Once per turn, before it
 * answers. */
void resolution_refresh(brg_loop *loop);

/**
 * Answer a request from memory, if that is right.
 * @return 1: the answer is in @a g (or sent) and bc->close_after is set; 0: nothing was done,
 * process it in full
 */
int resolution_answer(resolution_cache *cache, brg_conn *bc, const h1_head *head, h1_gather *g);

void resolution_hold(resolution_entry *e);
void resolution_release(resolution_entry *e);

/**
 * A full-way request is answered, its pool still lives: is there something to remember? Called by
 * request_finish(). Threads: any; does nothing off the loops.
 */
void resolution_consider(request_rec *r);

/** @name answers that a worker makes and the loop remembers (resolution_lend.c) */
/** @{ */
void resolution_lend(brg_conn *bc, request_rec *r); /**< on the loop: r is about to leave */
void resolution_lent_begin(brg_conn *bc);           /**< on the worker, before it is answered */
void resolution_lent_end(void);                     /**< and after */
void resolution_take_back(brg_conn *bc);            /**< on the loop: bc is back */
/** @} */

/** The body of r, an error response, is all of @a page (in r->pool). */
void resolution_offer_page(request_rec *r, const char *page);

/** The loop's output scratch. */
h1_gather *resolution_gather(resolution_cache *cache);

/** 1 if no module but the core's own takes part in connections (pre_connection and its kin). */
int connections_are_plain(void);

/** 1 if those that do can be told from the filters that they put on a connection before it is read
 * from: another connection is as if they were not there. */
int connections_tell_by_filters(void);

/** All declarations are void: modules are about to register their hooks anew, some of them no more.
 */
void resolution_forget_declarations(void);

/** 1 if the module declared itself (or is about to be believed to have). */
int resolution_is_declared(const module *m);

/** The core's own modules declare themselves. */
void resolution_declare_core(void);

/** Look at the hooks again: after the configuration was read (post_config). */
void resolution_survey_hooks(void);

#endif
