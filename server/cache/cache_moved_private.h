/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_MOVED_PRIVATE_H
#define BRIGADE_CACHE_CACHE_MOVED_PRIVATE_H

/**
 * @file cache_moved_private.h
 * Redirects of names that a folder does not hold: Location ends with the name, and the page shows that Location once. Where modules decide
 * alike for another name (cache_absent_private.h) its redirect is the same with that name in these places.
 *
 * Threads: the loop's. Blocking: no.
 */
#include "cache_private.h"
#include "http_head.h"

/** 1 if the answer sends its client elsewhere. */
int cache_moved_is(const request_rec *r);

/**
 * Find the name in a redirect. @param body  of the answer, @a len bytes
 * @return 0, and where it is in e->absent; -1: it is shown in another place, or nowhere
 */
int cache_moved_take(cache_entry *e, const char *body, size_t len, const char *name,
                     size_t name_len);

/** The answer to @a h, of an entry for which cache_moved_take() found the name: c->lent (cache_route_end()). NULL: the full way */
cache_entry *cache_moved_entry(response_cache *c, cache_entry *like, const http_head *h,
                               const http_codec *codec);

#endif
