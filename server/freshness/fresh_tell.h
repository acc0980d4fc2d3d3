/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FRESHNESS_FRESH_TELL_H
#define BRIGADE_FRESHNESS_FRESH_TELL_H

/**
 * @file fresh_tell.h
 * Cache-Status, and the names by which stored responses are purged: Cache-Groups and tags.
 *
 * Threads: any. Blocking: no. Source: RFC 9211, RFC 9875.
 */
#include "fresh_vary.h"

/** Why a request went on to the origin. RFC 9211, 2.2 */
typedef enum fresh_fwd {
    FRESH_FWD_NONE, /**< it did not: a hit */
    FRESH_FWD_BYPASS,
    FRESH_FWD_METHOD,
    FRESH_FWD_URI_MISS,
    FRESH_FWD_VARY_MISS,
    FRESH_FWD_MISS,
    FRESH_FWD_REQUEST,
    FRESH_FWD_STALE,
    FRESH_FWD_PARTIAL
} fresh_fwd;

/** A member of Cache-Status. */
typedef struct fresh_status {
    const char *name; /**< of the cache: a token, or it is quoted */
    uint8_t fwd;      /**< fresh_fwd */
    uint8_t stored, collapsed;
    uint16_t fwd_status; /**< 0: not told */
    uint8_t has_ttl;
    int64_t ttl;     /**< seconds, negative: stale */
    const char *key; /**< NULL: not told */
    size_t key_len;
    const char *detail; /**< NULL: none */
} fresh_status;

/** Its text: the caller puts it behind ", " and the text of other caches. RFC 9211, 2 */
void fresh_status_text(fresh_text *out, const fresh_status *status);

#define FRESH_GROUPS_MOST 32  /**< of a field. RFC 9875, 2 asks for that many */
#define FRESH_GROUP_BYTES 128 /**< of one; it asks for 32. Longer ones are passed over */

/**
 * The next group of Cache-Groups or Cache-Group-Invalidation: a list of strings; escapes are kept as they are sent.
 * @param p  [in,out] in a value that fresh_groups_valid() took
 * @return 0 at the end
 */
int fresh_group_next(const char **p, const char *end, const char **group, size_t *len);

/** 1 if the whole value is a structured list; else it is ignored. */
int fresh_groups_valid(const char *value, size_t len);

/** Fields with tags. */
typedef enum fresh_tags {
    FRESH_TAGS_NONE,
    FRESH_TAGS_SPACE, /**< Surrogate-Key, xkey: split at blanks, xkey at commas, too */
    FRESH_TAGS_COMMA  /**< Cache-Tag */
} fresh_tags;

fresh_tags fresh_tags_of(const http_field *field);

/** The next tag. @return 0 at the end */
int fresh_tags_next(fresh_tags kind, const char **p, const char *end, const char **tag,
                    size_t *len);

#endif
