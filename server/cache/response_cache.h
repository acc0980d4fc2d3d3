/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_RESPONSE_CACHE_H
#define BRIGADE_CACHE_RESPONSE_CACHE_H

/**
 * @file response_cache.h
 * The resolution cache of an event loop: finished answers by virtual host and raw URI, and what
 * they depend on. Public side: brigade/resolution.h. Threads: the owning loop only, but for the
 * questions about the configuration.
 */
#include "gather.h"
#include "http_answer.h"
#include "http_head.h"
#include "httpd.h"
#include "http_config.h"

typedef struct resolution_cache resolution_cache;
typedef struct resolution_entry resolution_entry;

/** Make the cache of a loop: loop->cache. */
void resolution_cache_create(brg_loop *loop);

/** Give back all that the cache holds. No answer may be under way any more; the loop's thread has
 * ended. */
void resolution_cache_destroy(brg_loop *loop);

/** Learn of every change to watched files that was made until now. Once per turn, before it
 * answers. */
void resolution_refresh(brg_loop *loop);

/**
 * Answer a request from memory, if that is right.
 * @param codec  of the protocol that bc speaks
 * @return 1: the answer is in resolution_gather() (or sent) and bc->close_after is set; 0: nothing was done,
 * process it in full
 */
int resolution_answer(resolution_cache *cache, brg_conn *bc, const http_head *head,
                      const http_codec *codec);

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

/** The loop's output scratch. */
gather *resolution_gather(resolution_cache *cache);

/** Register what fills the cache; called from the core module's register_hooks. */
void resolution_register_hooks(apr_pool_t *p);

#endif
