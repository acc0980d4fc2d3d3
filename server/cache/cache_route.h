/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_ROUTE_H
#define BRIGADE_CACHE_CACHE_ROUTE_H

/**
 * @file cache_route.h
 * Answers out of the store for targets that this loop never sent: no request_rec is made for them.
 *
 * A hit of the store that took the full way shows what hooks do before the cache is asked: nothing, or what needs each request.
 * Where no hook of the server looks at the target (policy_early_is_known()), that holds for all targets of the host. Its *route*
 * is kept: the server, who observes, what logs are shown. A later target is looked up in the store by its head, and gets an
 * entry of the route's and the object's.
 *
 * Threads: the loop's. Blocking: no.
 */
#include "cache_private.h"

typedef struct cache_route cache_route;

/** @a e was filled by @a r, a hit of the store: does the same hold for the host's other targets? */
void cache_route_learn(response_cache *c, const cache_entry *e, request_rec *r);

/** The entry for a head that has none, out of the store. NULL: the full way. It may be gone when the next one is made. */
cache_entry *cache_route_entry(response_cache *c, const brg_conn *bc, const http_head *h,
                               uint64_t hash);

void cache_routes_drop(response_cache *c);

#endif
