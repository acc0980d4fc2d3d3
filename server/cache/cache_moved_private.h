/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_MOVED_PRIVATE_H
#define BRIGADE_CACHE_CACHE_MOVED_PRIVATE_H

/**
 * @file cache_moved_private.h
 * Redirects of names that a folder does not hold: Location ends with the name, and the page shows that Location once. Where modules decide
 * alike for another name (cache_absent_private.h) its redirect is the same with that name in these places.
 *
 * Rules of a server lead all below a prefix away (RewriteRule, RedirectMatch, Redirect): Location ends with all that the target has behind
 * it, the query too. Targets with a query have another entry than those without.
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

/** As cache_absent_target(), of a redirect that a rule of the server led to. */
const char *cache_moved_target(const request_rec *r);

/** Of a text of cache_absent_target(): 1 if it is of cache_moved_target(). */
int cache_moved_is_below(const char *absent);

/** As cache_absent_take(), of such a redirect. */
int cache_moved_take_below(response_cache *c, cache_entry *e, const request_rec *r);

/** The entry for a target that has none of its own; NULL: none. Its sources are not looked at. */
cache_entry *cache_moved_find(response_cache *c, const cache_place *at, const http_head *h,
                              const cache_asked *asked);

/** The answer to @a h, of an entry for which cache_moved_take() found the name: c->lent (cache_route_end()). NULL: the full way */
cache_entry *cache_moved_entry(response_cache *c, cache_entry *like, const http_head *h,
                               const http_codec *codec);

#endif
