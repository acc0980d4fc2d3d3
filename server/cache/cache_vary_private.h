/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_VARY_PRIVATE_H
#define BRIGADE_CACHE_CACHE_VARY_PRIVATE_H

/**
 * @file cache_vary_private.h
 * Dependencies of answers beside the target: request fields
 * (cache_vary.c) and the client's address (cache_client.c).
 */
#include "cache_private.h"
#include "cache_gate.h"
#include "brigade/auth.h"
#include "brigade/field_names.h"

/** An expression on names of request fields, or on the query (cache_named.c). */
typedef struct cache_named cache_named;

/** A dependency that a request declares while it is answered. */
typedef struct vary_wish {
    const char *name; /**< of the field; NULL: the client's address */
    brg_cache_variant_fn *kind;
    brg_cache_client_fn *client;
    const void *data;
    apr_int64_t variant;          /**< of the client, by which this request was decided */
    const brg_cache_users *users; /**< NULL, or the field names the user */
    apr_uint64_t realm[2];        /**< where they are let in */
    cache_gate_fn *gate;          /**< NULL, or each request is asked for (cache_gate.c) */
    cache_gate_needs needs;       /**< of gate */
    uint64_t fixed;               /**< for gate */
} vary_wish;

#define CACHE_VARY_SEEN_MOST 46 /**< bytes of a value that is compared before it is classified */

/** The same of an entry, and the value or variant that it is for. */
struct cache_vary_key {
    char *name; /**< followed by the value, in one block; NULL: the client's address */
    uint32_t name_len;
    uint8_t id;      /**< http_field_id */
    uint8_t is_line; /**< REQUEST_VARY_LINE */
    /** With @a kind: the last value that was of value_variant. Most clients of a variant send the same
     * bytes. */
    uint8_t seen_len; /**< 0: none yet */
    char seen[CACHE_VARY_SEEN_MOST];
    brg_cache_variant_fn *kind;
    brg_cache_client_fn *client;
    const void *data;
    int value_variant;
    const char *value; /**< without a variant function; NULL: absent */
    uint32_t value_len;
    apr_int64_t client_variant;
    const brg_cache_users *users;
    apr_uint64_t realm[2];
    cache_gate_fn *gate; /**< then nothing else but data and fixed counts */
    uint64_t fixed;
    cache_named *named; /**< nothing of the request matches it; NULL: not this */
};

/** 1: @a text is BRG_CACHE_VARY_NAMES or BRG_CACHE_VARY_QUERY, with an expression. */
int cache_named_is(const char *text);

/** The expression in such @a text, compiled once for all entries of @a c. NULL: it cannot be. The
 * caller calls cache_named_release(), while @a c is there. */
cache_named *cache_named_take(response_cache *c, const char *text);
void cache_named_release(cache_named *n);
/** 1 if no field of the request has a name that @a n matches, or its query does not. */
int cache_named_absent(cache_named *n, const cache_asked *asked);
size_t cache_named_bytes(const cache_named *n);

/** The request that came from the network, of which @a r is a part. */
const request_rec *cache_vary_first(const request_rec *r);

/** The value of a request field as the client sent it; NULL: none (cache_changed.c). */
const char *cache_field_sent(const request_rec *r, const char *name);

/** The fields that modules changed and logs may show, at most @a most names. @return how many (cache_changed.c) */
int cache_fields_changed(const request_rec *r, const char **names, int most);
#define CACHE_CHANGED_MOST 16

/** 1 if a module changed a request field. */
int cache_any_changed(const request_rec *r);
/** 1 if all that were changed have values that follow from the client's. */
int cache_changes_are_known(const request_rec *r);
/** Where the new value is made of the client's, each of those is for itself. */
void cache_changes_vary(request_rec *r);

/** The wishes of the request that led to @a r, of vary_wish. NULL: it was made by a module, and is not stored. */
apr_array_header_t *cache_vary_wishes(request_rec *r);

/** In place of a client's kind: requests that say nothing of how stored answers may be used (cache_lifetime.c). */
apr_int64_t cache_vary_plain(const void *data, apr_sockaddr_t *client);
int cache_vary_plain_matches(const cache_asked *asked);

/** 1 if the client of the request is of the kind that @a s is for (cache_client.c). */
int cache_vary_client_matches(const cache_vary_key *s, const cache_asked *asked);

/** @return bytes that @a e's key fields take (cache_vary.c) */
size_t cache_vary_bytes(const cache_entry *e);

/** 1 if the request has the variants of values that @a e is for. */
int cache_vary_matches(response_cache *c, const cache_entry *e, const cache_asked *asked);

/** Let @a e be for the fields of @a r that its modules named. -1: it cannot be. */
int cache_vary_take(response_cache *c, cache_entry *e, request_rec *r);

/** Let @a e be for plain requests, and for the fields of @a h with these names (ends with NULL; NULL: none). -1: it cannot be. */
int cache_vary_take_stored(response_cache *c, cache_entry *e, const char *const *names,
                           const http_head *h);

/** 1 if @a e was made for all that r was found to depend on, and nothing else. */
int cache_vary_same(const cache_entry *e, request_rec *r);

/** 1 if @a r, the first one, was found to depend on the client's address (cache_client.c); -1: in a way that cannot be told
 * of the next request. */
int cache_varies_by_client(const request_rec *r);
/** The field of the answer to @a r that has another value for each request, or NULL. */
const char *cache_vary_added(request_rec *r);

/** The user of a request that @a e answers, in @a out (BRG_CACHE_USER_ROOM bytes), and how it was
 * told; NULL: it is for all. */
const char *cache_vary_user(const cache_entry *e, const http_head *h, char *out, const char **type);
void cache_vary_drop(cache_entry *e);

/** @a e was added: are there too many for its target? */
void cache_limit_variants(response_cache *c, cache_entry *e);

#endif
