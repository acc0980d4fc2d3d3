/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FRESHNESS_FRESH_VARY_H
#define BRIGADE_FRESHNESS_FRESH_VARY_H

/**
 * @file fresh_vary.h
 * Keys of stored responses: of a target, and of a variant by the request fields that Vary names.
 *
 * Threads: any. Blocking: no. Source: RFC 9111, sections 2 and 4.1; RFC 10008 for QUERY.
 */
#include "freshness.h"

#define FRESH_VARY_MOST 16      /**< names of fields; more count as "*" */
#define FRESH_VARY_TEXT 1024    /**< bytes of all names */
#define FRESH_VARIANT_MOST 4096 /**< bytes of the key of a variant */

/** Text that grows in memory of the caller's; more than fits sets over. */
typedef struct fresh_text {
    char *at;
    size_t len, room;
    int over;
} fresh_text;

void fresh_text_add(fresh_text *text, const char *bytes, size_t len);
/** The same in lower case. */
void fresh_text_lower(fresh_text *text, const char *bytes, size_t len);
#define FRESH_TEXT_ADD(text, literal) fresh_text_add(text, literal, sizeof(literal) - 1)

/** The start of a key. */
typedef struct fresh_target {
    const char *scheme;    /**< "http" or "https" */
    const char *authority; /**< host, with its port or not */
    size_t authority_len;
    const char *path; /**< origin form; without a query if ignore_query says so */
    size_t path_len;
    /** CacheKeyBaseURL in place of scheme and authority, ends with NUL; NULL: none */
    const char *base;
    /** of a QUERY: 32 bytes of a digest of content and its media type; else NULL */
    const unsigned char *body_hash;
} fresh_target;

/** scheme "://" host [":" port] path: the host in lower case, without a port that is the scheme's. Section 2 */
void fresh_key(fresh_text *key, const fresh_target *target, const fresh_policy *policy);

/** Bytes at the beginning of a key's text that are of the target alone: all, but for a QUERY's. */
size_t fresh_key_target(const char *text, size_t len);

/** Names of the fields of Vary in lower case, sorted, each once, joined by ",". @return -1: "*", or too many */
int fresh_vary_names(fresh_text *names, const fresh_head *response);

/**
 * Is a part of a Cookie field ("NAME=VALUE", without blanks in front) PHP's cookie @a name? PHP takes dots, blanks and brackets of a name for
 * underscores, and "NAME[...]" for an array NAME.
 * @return the text behind the name; NULL: another name
 */
const char *fresh_php_cookie(const char *part, size_t len, const char *name, size_t name_len);

/**
 * The key of a variant: for each of these names the values of the request, normalised: lists without blanks, lines
 * joined, Accept-Encoding and Accept-Language sorted by weight, in lower case. Section 4.1
 */
void fresh_variant(fresh_text *key, const char *names, size_t names_len, const fresh_head *request);

/** 1 if a response with this method and status ends stored ones of its target. Section 4.4 */
int fresh_invalidates(fresh_method method, int code);

/**
 * Resolve Location or Content-Location for section 4.4: only the origin of @a target itself.
 * @param path  [out] in @a room, which has @a target->path_len + @a len + 1 bytes or more
 * @return its length, 0: another origin, or no reference that can be resolved
 */
size_t fresh_invalidated_path(char *room, size_t room_len, const fresh_target *target,
                              const char *value, size_t len);

#endif
