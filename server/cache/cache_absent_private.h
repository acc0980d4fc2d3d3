/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_ABSENT_PRIVATE_H
#define BRIGADE_CACHE_CACHE_ABSENT_PRIVATE_H

/**
 * @file cache_absent_private.h
 * One entry for all names that a folder does not hold: the answer to
 * the first of them (a refusal, or 404) is sent for any other that modules decide alike
 * (brg_cache_name_declare()). And one for all below folders that are not there.
 *
 * Threads: the loop's. Blocking: no.
 */
#include "cache_names_private.h"
#include "http_head.h"

/** 1: a folder on the way is not there, and the path goes on behind it. */
static inline int cache_absent_is_deep(const cache_entry *e)
{
    return e->absent && e->absent->below && !e->absent->moved && !e->plans;
}

/** The text that stands for the target of @a r in the key of such an entry, in r->pool. NULL: the answer is for r's target alone. */
const char *cache_absent_target(const request_rec *r);

/** @a e was filled by @a r, whose cache_absent_target() it is for. -1: it shows r's name, or there is no memory. */
int cache_absent_take(response_cache *c, cache_entry *e, const request_rec *r);
void cache_absent_drop(response_cache *c, cache_entry *e);
size_t cache_absent_bytes(const cache_entry *e);

/** The entry for a target that has none of its own; NULL: none. Its sources are not looked at. */
cache_entry *cache_absent_find(response_cache *c, const cache_place *at, const http_head *h,
                               const cache_asked *asked);

/**
 * A path kept of the request that filled @a e, with the last name replaced by that of @a h.
 * @param kept  text that ends with that name, or NULL
 * @return bytes that it takes with its NUL, none written if they are more than @a room
 */
size_t cache_absent_text(char *out, size_t room, const cache_entry *e, const char *kept,
                         const http_head *h);

/** The same for the name of the file, which ends with the name that is not there: what the path has behind it is no part of it. */
size_t cache_absent_file(char *out, size_t room, const cache_entry *e, const char *kept,
                         const http_head *h);

#define CACHE_MESSAGE_ROOM (MAX_STRING_LEN + CACHE_NAME_PATH_MOST)

/** A message that may show a name, for the request @a h. @param out  CACHE_MESSAGE_ROOM bytes, which it may be written to */
const char *cache_absent_message(char *out, const cache_entry *e, const observed_message *kept,
                                 const http_head *h);

#endif
