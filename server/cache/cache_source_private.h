/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_SOURCE_PRIVATE_H
#define BRIGADE_CACHE_CACHE_SOURCE_PRIVATE_H

/**
 * @file cache_source_private.h
 * What keeps an entry current. An entry has one source, from the time that it is armed; what the source needs of it
 * (watches, looks, the file's identity) lies in the entry.
 *
 * Threads: as for the cache. Blocking: is_current() may call stat().
 */
typedef enum cache_source_id {
    CACHE_SOURCE_NONE, /**< not armed: it answers nothing */
    CACHE_SOURCE_STAT, /**< one file, compared before each answer, or as FileCacheValidate has it */
    CACHE_SOURCE_WATCHES, /**< all that it depends on is under watch */
    CACHE_SOURCE_LAYERS, /**< the same, and what watches do not tell of is looked at (cache_layers.c) */
    CACHE_SOURCE_LIFETIME, /**< a copy of what the store has: while that is fresh and in its place (cache_lifetime.c) */
    CACHE_SOURCE_COMPOSED, /**< as watches, or layers, and while the parts that lie in the store are there, too (cache_composed.c) */
    CACHE_SOURCE_PLAN,     /**< it depends on the configuration alone (cache_plan.c) */
    CACHE_SOURCE_LOOP, /**< of a worker's entry: the entry that it is made for, on its loop, has one */
    CACHE_SOURCES
} cache_source_id;

typedef struct cache_source {
    /** Before each answer: 1 if nothing that the answer depends on has changed. */
    int (*is_current)(response_cache *c, cache_entry *e);
    /** 1 if a change is known, without a look: what is not filled yet never will be. */
    int (*has_changed)(response_cache *c, cache_entry *e);
    /** It leaves the cache: what was set up for it ends. */
    void (*end)(response_cache *c, cache_entry *e);
    int fills_at_once; /**< the answer that armed an entry may fill it, without e->compared */
} cache_source;

/** By cache_source_id. */
extern const cache_source cache_sources[CACHE_SOURCES];

#endif
