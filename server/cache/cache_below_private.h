/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_BELOW_PRIVATE_H
#define BRIGADE_CACHE_CACHE_BELOW_PRIVATE_H

/**
 * @file cache_below_private.h
 * One plan (cache_plan.h) for all paths below a folder that lead to nothing, and that rules lead to the same script, by way of another folder perhaps: the front
 * controller of an application. What its script is told of the path is each request's own. And one for all paths below a prefix that a
 * server leads on without a look at files (cache_plan_offer.below): a ProxyPass.
 *
 * Threads: the loop's. Blocking: no.
 */
#include "cache_private.h"
#include "http_head.h"

/** 1: such bytes of a path stand in a target, in a path and in a URL that is made of it alike. */
int cache_below_is_plain(const char *uri, size_t len);

/** 1: the path of @a r leads to nothing here, and is written as in its target. */
int cache_below_path_is_plain(const request_rec *r);

/** Where the name that is not there begins in r->uri. @param rest  [out] what stands behind it @return NULL: it is written in another way */
const char *cache_below_name(const request_rec *r, const char **rest);

/** The text that stands for the target of @a r in the key of such an entry, in r->pool. NULL: a plan is for r's target alone. */
const char *cache_below_target(const request_rec *r);

/** Where what such paths differ in begins in r->uri. */
size_t cache_below_at(const request_rec *r);

/** The plan that @a r is to have is for its own target, which it was not: cache_below_target() is NULL from here on. */
void cache_below_is_left(const request_rec *r);

/** 1 if all below a prefix may have the plan of @a r, but its own target was asked for before. It counts this time. */
int cache_below_is_frequent(response_cache *c, const request_rec *r);

/** @a e gets its plan of @a r, whose cache_below_target() it is for. -1: logs would be shown r's name, or there is no memory. */
int cache_below_take(response_cache *c, cache_entry *e, const request_rec *r);

/** 1 if @a r, whose cache_below_target() leads to @a e, which has a plan, is decided as the request that it was made of. */
int cache_below_is_for(const cache_entry *e, const request_rec *r);

/** The entry for a target that has none of its own; NULL: none. Its sources are not looked at. */
cache_entry *cache_below_find(response_cache *c, const cache_place *at, const http_head *h,
                              const cache_asked *asked);

#endif
