/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_STORED_H
#define BRIGADE_CACHE_CACHE_STORED_H

/**
 * @file cache_stored.h
 * How the cache of a loop gets copies of answers that lie in the store of what others answered (store/store.h).
 */
#include "freshness.h"
#include "store.h"
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

#endif
