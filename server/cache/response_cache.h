/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_RESPONSE_CACHE_H
#define BRIGADE_CACHE_RESPONSE_CACHE_H

/**
 * @file response_cache.h
 * The response cache of an event loop: finished answers by virtual host and
 * raw target, and their dependencies. Public side: brigade/response_cache.h. Threads: the owning
 * loop only, but for the questions about the configuration.
 */
#include "gather.h"
#include "loop.h"
#include "http_answer.h"
#include "http_head.h"
#include "placement.h"
#include "httpd.h"
#include "http_config.h"

typedef struct response_cache response_cache;
typedef struct cache_entry cache_entry;

/** Figures of one cache; written by its loop alone, plainly: a reader on another thread sees values
 * that may be a moment old. */
typedef struct cache_figures {
    uint64_t hits;                            /**< answers sent from the cache, 304 included */
    uint64_t misses;                          /**< requests that could have been answered from it */
    uint64_t armed, filled, displaced;        /**< entries */
    uint64_t planned;                         /**< plans that were made (cache_plan.h) */
    uint64_t changed;                         /**< entries forgotten since a dependency changed */
    uint64_t shared;                          /**< entries that found their body stored */
    uint64_t answers, errors, bytes, watches; /**< now; bytes as counted against FileCacheSize */
    uint64_t bytes_most;                      /**< FileCacheSize */
} cache_figures;

/** Make the cache of a loop: loop->cache. */
void cache_create(brg_loop *loop);

/** Give back all that the cache holds. No answer may be under way any more; the loop's thread has
 * ended. */
void cache_destroy(brg_loop *loop);

/** Learn of every change to watched files that was made until now. Once per turn, before it
 * answers. */
void cache_refresh(brg_loop *loop);

/**
 * Answer a request from memory, if that is right.
 * @param codec    of the protocol that bc speaks
 * @param planned  [out] where 0 is returned: the entry of its plan (cache_plan.h), which is not held; NULL: it has none
 * @return 1: the answer is in loop->out (or sent) and bc->close_after is set; 0: nothing was done,
 * process it in full
 */
int cache_answer(response_cache *cache, brg_conn *bc, const http_head *head,
                 const http_codec *codec, cache_entry **planned);

/** Bytes that follow each other in a body. */
typedef struct cache_piece {
    const char *data; /**< NULL: they are in a file */
    int fd;           /**< that file, kept open by the owner of the reply */
    apr_off_t off;    /**< in it */
    size_t len;
} cache_piece;

/** A response from memory or from files that are kept open, for a protocol that frames bodies. */
typedef struct cache_reply {
    size_t head_len;         /**< bytes of the head */
    size_t len;              /**< of the body, all pieces; 0: no body */
    cache_piece piece;       /**< the first */
    const cache_piece *more; /**< and the following ones */
    unsigned more_n;
    uint8_t urgency;   /**< http_stored_head's */
    shared_ref *owner; /**< of all bytes in the pieces; held for the caller, to be released by it */
} cache_reply;

/**
 * As cache_answer(), but the head is written to @a out (HTTP_HEAD_ROOM bytes), and nothing is sent. Parts of
 * which the codec has no head are left to the full way.
 * @return 1: *reply is set, and logs were told; 0: nothing was done
 */
int cache_reply_to(response_cache *cache, brg_conn *bc, const http_head *head,
                   const http_codec *codec, char *out, cache_reply *reply, cache_entry **planned);

/** Keep an entry while an answer is sent from it, also if the cache forgets it. */
void cache_hold(cache_entry *e);
/** Give the reference back. */
void cache_release(cache_entry *e);

/**
 * A request that took the full way is answered, its pool still lives: is there something to store? Called by
 * request_finish(). Threads: any; does nothing off the loops.
 */
void cache_consider(request_rec *r);

/** The verdict of cache_consider() on a response. */
typedef enum cache_verdict {
    CACHE_KEEPS_NOT, /**< it is of a kind that is never kept */
    CACHE_MAY_KEEP,  /**< the next one may be */
    CACHE_KEEPS      /**< memory answers from now on */
} cache_verdict;

/** Of the last response considered on the loop. */
cache_verdict cache_verdict_of(const response_cache *cache);

/**
 * Told of each request that took the full way why its answer was not stored.
 * @param reason  module NULL: nothing keeps it out
 * Threads: that of the request.
 */
typedef void cache_teller_fn(void *baton, request_rec *r, const policy_reason *reason);

/** Set the teller; NULL: nobody. Before the loops run. */
void cache_tell_to(cache_teller_fn *fn, void *baton);

/** @name answers that a worker makes and the loop stores (cache_worker_fill.c) */
/** @{ */
void cache_to_worker(brg_conn *bc, request_rec *r); /**< on the loop: r is about to leave */
void cache_worker_fill_begin(brg_conn *bc);         /**< on the worker, before it is answered */
void cache_worker_fill_end(void);                   /**< and after */
void cache_from_worker(brg_conn *bc);               /**< on the loop: bc is back */
/** @} */

/** The figures of a cache, for status pages. Threads: any, while the loop lives. Blocking: no. */
void cache_figures_of(const response_cache *cache, cache_figures *out);

/** Once a second: tell of the targets that were answered most since this was called last (brigade/figures.h). */
void cache_tell_busiest(response_cache *cache);

/** Register the hooks that fill the cache; called from the core module's register_hooks. */
void cache_register_hooks(apr_pool_t *p);

#endif
