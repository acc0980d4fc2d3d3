/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_SOURCE_PRIVATE_H
#define BRIGADE_CACHE_CACHE_SOURCE_PRIVATE_H

/**
 * @file cache_source_private.h
 * Sources: they keep an entry current. An entry has one source, from
 * the time that it is armed; the source's data (watches, looks, the file's identity) lies in the
 * entry.
 *
 * Threads: as for the cache. Blocking: is_current() may call stat().
 */
#include "cache_stored.h"
#include "cache_private.h"

typedef enum cache_source_id {
    CACHE_SOURCE_NONE, /**< not armed: it answers nothing */
    CACHE_SOURCE_STAT, /**< one file, compared before each answer, or as FileCacheValidate has it */
    CACHE_SOURCE_WATCHES, /**< all that it depends on is under watch */
    /** the same, and files whose changes no watch tells are compared (cache_layers.c) */
    CACHE_SOURCE_LAYERS,
    /** a copy of an object of the store: while that is fresh and in its place (cache_lifetime.c) */
    CACHE_SOURCE_LIFETIME,
    CACHE_SOURCE_LED,      /**< the same, and the paths that phases looked at did not change */
    CACHE_SOURCE_COMPOSED, /**< as watches, or layers, and while the parts that lie in the store are there, too (cache_composed.c) */
    CACHE_SOURCE_PLAN,     /**< it depends on the configuration alone (cache_plan.c) */
    CACHE_SOURCE_LOOP, /**< of a worker's entry: the entry that it is made for, on its loop, has one */
    CACHE_SOURCES
} cache_source_id;

typedef struct cache_source {
    /** Before each answer: 1 if nothing that the answer depends on has changed. */
    int (*is_current)(response_cache *c, cache_entry *e);
    /** 1 if a change is known, without a look: an entry that is not filled yet never will be. */
    int (*has_changed)(response_cache *c, cache_entry *e);
    /** It leaves the cache: release the source's data. */
    void (*end)(response_cache *c, cache_entry *e);
    int fills_at_once; /**< the answer that armed an entry may fill it, without e->compared */
} cache_source;

/** By cache_source_id. */
extern const cache_source cache_sources[CACHE_SOURCES];

/** @name cache_lifetime.c: copies of objects of the store */
/** @{ */
/** @a e is for that answer. -1: no memory */
int cache_lifetime_arm(cache_entry *e, const cache_stored *stored);
/** 1 if @a e, of any kind, is for the answer that @a r offers. */
int cache_lifetime_is_of(const cache_entry *e, const request_rec *r);
/** A head of @a e was taken: fields that tell the time are written anew from now on. -1: they cannot be */
int cache_lifetime_take_head(cache_entry *e, cache_head *head);
/** The body into @a data, which has room for it. -1: it is not there as a whole */
int cache_lifetime_body(const cache_stored *stored, char *data);
/** As a body of the cache. NULL: it is not there as a whole, or no memory */
cache_body *cache_lifetime_take_body(response_cache *c, const cache_stored *stored);
/** By which it is counted how often it is asked for. @param hash  of its target */
uint64_t cache_lifetime_hash(uint64_t hash, const cache_stored *stored);
const char *cache_lifetime_fingerprint(apr_pool_t *p, const cache_stored *stored);
int cache_lifetime_is_current(response_cache *c, cache_entry *e);
/** It answered a request. */
void cache_lifetime_used(const cache_entry *e);
void cache_lifetime_drop(cache_entry *e);
size_t cache_lifetime_bytes(const cache_entry *e);
/** @} */

/** @name cache_composed.c: pages with parts that lie in the store */
/** @{ */
/** @a e is for a page made by @a r: e->composed, if it includes more than files. -1: there are too
 *   many parts, or no memory */
int cache_composed_arm(cache_entry *e, const request_rec *r);
/** Which parts those are; "": none */
const char *cache_composed_fingerprint(const request_rec *r);
/** 1: each part is fresh, and in its place. Files under watch are not looked at. */
int cache_composed_is_current(const response_cache *c, cache_entry *e);
void cache_composed_drop(cache_entry *e);
size_t cache_composed_bytes(const cache_entry *e);
/** @} */

/** @name cache_layers.c: changes that the watches of an entry do not see */
/** @{ */
/** Note the state of @a paths, and of access files of these names (or NULL), that lie in layers.
 * @return 0; -1: too many */
int cache_layers_arm(watch_set *w, cache_entry *e, request_rec *r, const apr_array_header_t *paths,
                     const char *const *names);
/** 1: the state is still the same. One system call for each path. */
int cache_layers_same(const cache_entry *e);
void cache_layers_drop(cache_entry *e);
size_t cache_layers_bytes(const cache_entry *e);
/** @} */

#endif
