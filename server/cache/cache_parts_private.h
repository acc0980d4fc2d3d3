/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_PARTS_PRIVATE_H
#define BRIGADE_CACHE_CACHE_PARTS_PRIVATE_H

/**
 * @file cache_parts_private.h
 * Requests with a range that are answered from memory (cache_parts.c).
 */
#include "cache_private.h"
#include "http_condition.h"

#define CACHE_PARTS_MOST 16 /**< parts at most that are sent from memory */

/** The answer that an entry has for a request with a range. */
typedef struct cache_choice {
    cache_head *head;
    const char *page; /**< the body is this one instead of the entry's; NULL: the entry's */
    apr_off_t len; /**< bytes of the body that are sent, with the heads of parts and with frames */
    uint8_t before, after; /**< bytes of it that frame page as a chunk */
    int n;                 /**< parts of the entry's body; 0: all of page */
    http_part part[CACHE_PARTS_MOST];
} cache_choice;

typedef enum cache_range_verdict {
    CACHE_RANGE_ASK,   /**< for the full way */
    CACHE_RANGE_WHOLE, /**< Range counts for nothing */
    CACHE_RANGE_CHOSEN /**< the choice is set */
} cache_range_verdict;

/** A request that names Range or If-Range, and whose other conditions do not settle it. */
cache_range_verdict cache_choose(const cache_entry *e, const http_head *h, const http_codec *codec,
                                 apr_time_t now, cache_choice *out);

/** Send @a len bytes of a body in memory from @a off, behind the gathered output. */
void cache_put_bytes(response_cache *c, cache_entry *e, brg_conn *bc, apr_off_t off, size_t len);

/** Send the parts of @a choice, whose head is gathered. */
void cache_put_parts(response_cache *c, cache_entry *e, brg_conn *bc, const cache_choice *choice);

/** So many bytes of a body from @a off. */
static inline cache_piece cache_piece_of(const cache_body *b, apr_off_t off, size_t len)
{
    return b->data ? (cache_piece){.data = b->data + off, .len = len}
                   : (cache_piece){.fd = b->fd, .off = off, .len = len};
}

/** The body of @a reply, and its owner: the parts of @a choice, each behind its head. -1: no memory. */
int cache_reply_parts(cache_entry *e, const cache_choice *choice, cache_reply *reply);

/** e->ranges, made if it is not there; NULL: no memory. */
cache_ranges *cache_ranges_make(cache_entry *e);
void cache_ranges_drop(cache_entry *e);

/** 1 if @a r was answered with several parts. */
int cache_is_multipart(const request_rec *r);

/** @name validators for http_condition.h */
/** @{ */
http_validators cache_validators_of(const cache_entry *e, const http_head *h, apr_time_t now);

#define CACHE_CONDITION_ROOM 256
/** The value with a NUL. -1: it is too long */
int cache_condition_text(char *out, const http_field *f);
/** @} */

#endif
