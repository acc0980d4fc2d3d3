/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_STORED_H
#define BRIGADE_CACHE_CACHE_STORED_H

/**
 * @file cache_stored.h
 * How the cache of a loop gets copies of answers that lie in the store of what others answered (store/store.h).
 */
#include "freshness.h"
#include "store.h"
#include "http_answer.h"
#include "http_head.h"
#include "httpd.h"

#define CACHE_STORED_PLACES 2

/** An answer out of the store of what others answered, which is sent before a phase of the request began. */
typedef struct cache_stored {
    const store_view *view; /**< complete; held until the request is over */
    uint64_t length;        /**< of its body */
    store_reader *reader;   /**< the loop's */
    store_place
        place[CACHE_STORED_PLACES]; /**< of the object; of that which led to it by Vary, first */
    int places_n;
    fresh_terms terms;
    apr_time_t until;        /**< it is not used any longer than this, fresh as it may be */
    const char *const *vary; /**< names of the fields that Vary names, ends with NULL; NULL: none */
    _Atomic uint64_t *hits;  /**< counts requests that are answered with it */
    uint8_t
        tells_ttl; /**< the last member of Cache-Status is the store's, and tells for how long it is fresh */
} cache_stored;

/**
 * The response to @a r is that answer, fresh, whole or 304 to it, and all of its head is in r->headers_out: the loop's
 * cache may answer such requests from now on, as long as the store would. Call it before the response is passed on.
 * @param stored  lives as long as r
 * Threads: the request's; does nothing off the loops.
 */
void cache_offer_stored(request_rec *r, const cache_stored *stored);

/**
 * The response to the sub-request @a sub, a part of a page, is that answer, fresh and whole. The page may be remembered as long as the
 * store would give the same, and so would all its other parts (brg_cache_is_part()). Call it before the response is passed on.
 * @param stored  lives as long as sub
 * Threads: the request's; does nothing off the loops.
 */
void cache_note_part(request_rec *sub, const cache_stored *stored);

/** A head for which the loop's cache has nothing. */
typedef struct cache_sought {
    const http_head
        *head;        /**< of a plain request: GET or HEAD, without a range and wishes of its own */
    const char *host; /**< its Host, with a NUL */
    server_rec *server;
    const char *scheme;
    apr_time_t now;
} cache_sought;

#define CACHE_FOUND_FIELDS 64 /**< an answer with more takes the full way */

/** What the store has for it. */
typedef struct cache_found {
    cache_stored stored;
    store_view view; /**< held: the caller's */
    const char *reason;
    const char *type;     /**< Content-Type, or NULL: it stands last */
    const char *modified; /**< Last-Modified, or NULL */
    const char *tag;      /**< ETag, if it is a strong one; or NULL */
    const char *date, *own_server;
    const char *uri, *args;                      /**< as in request_rec */
    http_answer_field field[CACHE_FOUND_FIELDS]; /**< as they are sent */
    int n, before;                               /**< http_answer_says */
} cache_found;

/**
 * Look a head up in the store. Texts of *found last until the next call of the thread.
 * @return 1; 0: it is not there, or needs a closer look. Threads: a loop's. Blocking: no.
 */
typedef int cache_seek_fn(const cache_sought *sought, cache_found *found);

/** Who has what others answered. While modules register their hooks. */
void cache_seek_by(cache_seek_fn *fn);

#endif
