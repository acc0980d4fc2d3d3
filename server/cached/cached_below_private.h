/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHED_CACHED_BELOW_PRIVATE_H
#define BRIGADE_CACHED_CACHED_BELOW_PRIVATE_H

/** @file cached_below_private.h  Tiers below memory: files, and the store that machines share. None of this blocks, if nothing else is said. */
#include "cached_private.h"

/* ---- the tier below (cached_disk.c) ---- */

/** Open the files; the supervisor, before there are server processes. */
void cached_disk_open(server_rec *main);
struct disk_figures;
/** @return 0: there is no such tier */
int cached_disk_figures(struct disk_figures *figures);
/** 1: CacheRoot is configured, and its files are open. */
int cached_disk_is_open(void);
/** An object lies there. */
int cached_disk_has(const store_key *key);
/** Have it read into memory: the flight, which the caller led, is this one's from now on. @return 0: it stays the caller's */
int cached_disk_fetch(const store_key *key, uint32_t flight);
/** The same, and wait until it is over. Blocks: for workers. */
int cached_disk_fetch_wait(const store_key *key, uint32_t flight);
/** Have an object that is complete in memory written. @param asked  when its origin was asked */
void cached_disk_write(const store_key *key, apr_time_t asked);
/** Objects with this mark are gone from the disk, too; 0: all. */
void cached_disk_purge(uint64_t mark);
/** Files below CacheRoot, if they are there. */
void cached_disk_attach(const server_rec *main);

struct cached_named;

/* ---- the tier that machines share (cached_tier.c) ---- */

/** CacheSocache is configured, and this process may use it. */
int cached_tier_is_open(void);
/** The same, and it answers: look-ups are worth while. */
int cached_tier_answers(void);

/** CacheSocache names memory that all processes share, which the store is. */
int cached_so_is_memory(void);

/** The name of an object in it, and the key that it is found by. */
typedef struct cached_tier_name {
    store_key key; /**< here */
    const char *text, *variant;
    uint32_t text_len, variant_len; /**< variant_len 0: of the key itself */
} cached_tier_name;

/**
 * Have it read into memory: the flight, which the caller led, is the tier's from now on. It ends within TIER_WAIT whatever the tier does.
 * @param fresh  only if it is fresh: another one is there
 * @return 0: it stays the caller's
 */
int cached_tier_fetch(const cached_tier_name *name, int fresh, uint32_t flight);
/** The same, and wait until it is over. Blocks: for workers. */
int cached_tier_fetch_wait(const cached_tier_name *name, int fresh, uint32_t flight);
/** Have the answer of a request, which is complete in memory, written. */
void cached_tier_write(struct cached_request *q);
/** End look-ups that take too long. For threads whose requests wait for them. */
void cached_tier_watch(void);
/** A purge that all machines are to know of. */
void cached_tier_purge(const struct cached_named *named, int soft);
/** The command line: use it. */
void cached_tier_attach(apr_pool_t *p, server_rec *main);
/** The command line: purges are written when it ends. @return 0; -1: the tier did not answer.
 * Blocks */
int cached_tier_finish(apr_pool_t *p);

#endif
