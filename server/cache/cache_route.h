/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_ROUTE_H
#define BRIGADE_CACHE_CACHE_ROUTE_H

/**
 * @file cache_route.h
 * Answers out of the store for targets that this loop never sent: no request_rec is made for them.
 *
 * A hit of the store that took the full way shows the work of hooks before the cache is asked:
 * nothing, or something that each request needs. Where no hook of the server looks at the target
 * (policy_early_is_known()), that holds for all targets of the host. Its *route* is kept: the
 * server, the observers, the data for logs. A later target is looked up in the store by its head,
 * and is sent from there. A target that is requested again gets a copy, an entry of the loop's
 * table, as long as there is room: those are sent with a fifth of the instructions.
 *
 * Threads: the loop's. Blocking: no.
 */
#include "cache_private.h"

typedef struct cache_route cache_route;

/** @a e was filled by @a r, a hit of the store: does the same hold for the host's other targets? */
void cache_route_learn(response_cache *c, const cache_entry *e, request_rec *r);

/**
 * The entry for a head that has none, out of the store, current: a new copy, or c->lent, which is in no table.
 * @return NULL: the full way
 */
cache_entry *cache_route_entry(response_cache *c, const brg_conn *bc, const http_head *h,
                               const http_codec *codec, uint64_t hash);

/** c->lent was sent, or is not. Output on its way still holds it. */
void cache_route_end(response_cache *c);

/** A request that says nothing of how a stored answer may be used, and asks for all of it. */
static inline int cache_head_is_plain(const http_head *h)
{
    const int16_t *k = h->known;

    return (k[HTTP_F_CACHE_CONTROL] & k[HTTP_F_PRAGMA] & k[HTTP_F_AUTHORIZATION] & k[HTTP_F_RANGE] &
            k[HTTP_F_IF_RANGE] & k[HTTP_F_IF_NONE_MATCH] & k[HTTP_F_IF_MODIFIED_SINCE]) == -1 &&
           h->method_id == HTTP_METHOD_GET;
}

void cache_routes_drop(response_cache *c);

#endif
