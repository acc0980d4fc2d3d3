/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_LOAN_PRIVATE_H
#define BRIGADE_CACHE_CACHE_LOAN_PRIVATE_H

/**
 * @file cache_loan_private.h
 * An answer that is made of another entry's for one request (names alike, or moved): response_cache.lent, which is in no table.
 *
 * Threads: the loop's. Blocking: no.
 */
#include "cache_private.h"

/** Behind it: the head with its fields, and text of its maker's. */
typedef struct cache_loan {
    cache_entry *like; /**< held: texts of the head are its */
    cache_body body;   /**< without bytes at first */
    cache_entry entry; /**< last */
} cache_loan;

/** A loan that is as @a like, but for the body. @param room  bytes behind the head @param text  [out] these @return NULL: no memory */
cache_loan *cache_loan_new(cache_entry *like, size_t room, char **text);

/** Lend it as c->lent (cache_route_end()). @return NULL: no memory, and it is released */
cache_entry *cache_loan_lend(response_cache *c, cache_loan *loan, const http_codec *codec);

#endif
