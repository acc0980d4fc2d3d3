/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHED_CACHED_PART_PRIVATE_H
#define BRIGADE_CACHED_CACHED_PART_PRIVATE_H

/** @file cached_part_private.h  Some bytes of a representation that are stored (cached_part.c): RFC 9111, 3.3 and 3.4. */
#include "cached_private.h"

/** The stored answer is a part: may it answer the request? If not it is put aside, and nothing is found. @return 1: it may */
int cached_part_found(cached_request *q, const store_key *key);
void cached_part_drop(cached_request *q);
/** The head of r is that of a part. @param begin  [out] where in the view's body it begins. @return its bytes */
uint64_t cached_part_apply(cached_request *q, uint64_t *begin);

/** Ask for the missing rest of the whole, if that may be. */
void cached_ask_rest(cached_request *q);
/** The client's own fields again. */
void cached_rest_restore(cached_request *q);
/**
 * The answer to cached_ask_rest() begins: if it is the rest, r and @a in become those of the whole.
 * @return 0; -1: it is nothing that the client may have
 */
int cached_rest_came(cached_request *q, const fresh_head *answer, apr_bucket_brigade *in);

/** NULL: this 206 may be stored, alone or with the part put aside; else the reason against. */
const char *cached_part_refused(cached_request *q, const fresh_head *answer, uint64_t length);
/** Fields of the joined part: the stored part's, replaced by the new ones. */
uint32_t cached_part_fields(cached_request *q, const fresh_head *answer, http_field **field);
/** The head under which it is stored. @param n  [in,out] of fields, which have room for two more */
void cached_part_head(cached_request *q, http_field *field, uint32_t *n, fresh_terms *terms,
                      uint64_t *length);
/** Write the bytes in front of it, or behind it. @return -1: give up */
int cached_part_before(cached_request *q);
int cached_part_behind(cached_request *q);
/** The answer was cut: the bytes that came are stored. The writer is given up in any case. */
void cached_part_keep(cached_request *q);

#endif
