/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_STORED_H
#define BRIGADE_CACHE_CACHE_STORED_H

/**
 * @file cache_stored.h
 * Copies of objects of the store (store/store.h) in the cache of a loop. */
#include "freshness.h"
#include "store.h"
#include "http_answer.h"
#include "http_head.h"
#include "httpd.h"

#define CACHE_STORED_PLACES 2

/** An object of the store that is sent before any phase of the request began. */
typedef struct cache_stored {
    const store_view *view; /**< complete; held until the request is over */
    uint64_t length;        /**< of its body */
    store_reader *reader;   /**< the loop's */
    /** of the object; first that of its Vary object */
    store_place place[CACHE_STORED_PLACES];
    int places_n;
    fresh_terms terms;
    apr_time_t until;        /**< it is not used any longer than this, fresh as it may be */
    const char *const *vary; /**< names of the fields that Vary names, ends with NULL; NULL: none */
    _Atomic uint64_t *hits;  /**< counts requests that are answered with it */
    uint8_t led_to;          /**< phases led to it: their dependencies count, too */
    /** the last member of Cache-Status is the store's, and tells for how long it is fresh */
    uint8_t tells_ttl;
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

/** What the store has for a head for which the loop's cache has nothing. */
typedef struct cache_found {
    cache_stored stored;
    store_view view;        /**< held: the caller's */
    const char *type;       /**< Content-Type, or NULL: it stands last */
    const char *modified;   /**< Last-Modified, or NULL */
    const char *tag;        /**< ETag, if it is a strong one; or NULL */
    const char *uri, *args; /**< as in request_rec */
    http_answer *answer;    /**< its head, as it is sent; no block of its own */
} cache_found;

/** How answers in the store are found with a head alone. Threads: a loop's. Blocking: no. */
typedef struct cache_seeker {
    /**
     * For all targets of one host, on the calling loop.
     * @param scheme, host  live as long as what is returned
     * @return to be freed with free(); NULL: its targets need a closer look, or there is no memory
     */
    void *(*open)(server_rec *s, const char *scheme, const char *host);
    /**
     * Texts of *found, and its answer, last until the next call of the thread.
     * @param of  what open() returned
     * @param head  of a plain request: GET, without a range and wishes of its own
     * @return 1; 0: it is not there, or needs a closer look
     */
    int (*look)(const void *of, const http_head *head, apr_time_t now, cache_found *found);
} cache_seeker;

/** Who has what others answered. While modules register their hooks. */
void cache_seek_by(const cache_seeker *seeker);

#endif
