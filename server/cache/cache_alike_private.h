/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_ALIKE_PRIVATE_H
#define BRIGADE_CACHE_CACHE_ALIKE_PRIVATE_H

/**
 * @file cache_alike_private.h
 * Files that are requested for the first time, sent without a
 * request_rec: two files of a folder with the same extension had the same head, but for fields that
 * follow from their length, their last change and their inode, and modules decide by no name. So
 * the next one has it, too. The file itself is opened and read for each request. A file that is
 * requested again takes the full way, which stores it.
 *
 * Threads: the loop's. Blocking: no; where the kernel would have to wait for a disk the full way is taken.
 */
#include "cache_private.h"
#include "http_head.h"

/** @a r, which is over, was answered with a file that was new to the cache: learn the head that
 *   holds for others of its folder. */
void cache_alike_learn(response_cache *c, request_rec *r);

/** The entry for a target that has none: c->lent (cache_route_end()), which is in no table. NULL: the full way.
 * @param hash  of the target's own key */
cache_entry *cache_alike_entry(response_cache *c, const brg_conn *bc, const http_head *h,
                               const http_codec *codec, uint64_t hash);

void cache_alike_drop(response_cache *c, cache_entry *e);
size_t cache_alike_bytes(const cache_entry *e);

#endif
