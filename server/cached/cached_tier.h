/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHED_CACHED_TIER_H
#define BRIGADE_CACHED_CACHED_TIER_H

/**
 * @file cached_tier.h
 * The tier behind a provider of shared object caches (CacheSocache), which
 * several machines share: the form of its records, and the calls of the provider. Nothing that
 * comes out of it is trusted before its length, form, sum and key were compared; whoever may write
 * there may nevertheless answer for the site.
 *
 * Two kinds of objects lie there: records, each a stored answer or the names of fields that lead to one, and the list of purges,
 * by which the machines tell each other. Times in them are of the clock of the machine that wrote them; clocks may differ by
 * TIER_SKEW.
 */
#include "store.h"
#include "httpd.h"
#include "apr_pools.h"
#include "apr_time.h"
#include <stddef.h>
#include <stdint.h>

#define TIER_SKEW apr_time_from_sec(1)
#define TIER_ID 21 /**< bytes of the name of an object */
#define TIER_OBJECT_MOST (64u << 20)
#define TIER_LOG_MOST (64u * 1024)

/* ---- records (cached_tier_record.c): functions of bytes */

typedef struct tier_record {
    uint64_t life;    /**< of the list of purges that it was stored under */
    uint64_t node;    /**< which machine stored it */
    apr_time_t asked; /**< when its origin was asked */
    /** terms: STORE_TERMS bytes, not aligned */
    const char *terms, *text, *variant, *tags, *head, *body;
    uint32_t text_len, variant_len, head_len;
    uint32_t tags_len; /**< each tag ends with NUL */
    uint64_t body_len;
    uint32_t vary; /**< its head names fields */
} tier_record;

/** Bytes that it takes. */
size_t tier_record_size(const tier_record *r);
/** Write all but the body, which follows at @a to + the result; then tier_record_seal(). */
size_t tier_record_begin(char *to, const tier_record *r);
void tier_record_seal(char *bytes, size_t n);
/** @return 0, or -1: no such record. Pointers lead into @a bytes, which need no alignment */
int tier_record_read(const char *bytes, size_t n, tier_record *r);

/** Names of objects. @param variant_len  0: of the key itself */
void tier_record_id(unsigned char id[TIER_ID], const char *text, uint32_t text_len,
                    const char *variant, uint32_t variant_len);

/* ---- the list of purges (cached_tier_log.c): functions of bytes */

typedef enum tier_kind { TIER_TARGET, TIER_PREFIX, TIER_TAG, TIER_ALL, TIER_KINDS } tier_kind;

typedef struct tier_purge {
    apr_time_t when;
    uint64_t node;
    const char *text; /**< of a key, of keys' beginning, a tag. Ends nowhere */
    uint32_t len;
    uint8_t kind, soft;
} tier_purge;

/** As it lies in the tier, with room for TIER_LOG_ROOM bytes. */
typedef struct tier_log {
    char *bytes;
    size_t n;
} tier_log;
#define TIER_LOG_ROOM (TIER_LOG_MOST + 64u * 1024 + 1024)

/** An empty one, of a life of its own. */
void tier_log_begin(tier_log *log, uint64_t life);
uint64_t tier_log_life(const tier_log *log);
/** Objects stored up to then may have been purged by an entry that was dropped from the list. */
apr_time_t tier_log_floor(const tier_log *log);
/** Bytes that came. @return 0; -1: no such list */
int tier_log_read(const char *bytes, size_t n);
/** @param at  [in,out] 0 at first. @return 0: that was all */
int tier_log_next(const tier_log *log, size_t *at, tier_purge *purge);
/** Add one, in place of an older one of the same kind and text. The oldest ones are dropped beyond TIER_LOG_MOST. */
void tier_log_add(tier_log *log, const tier_purge *purge);
/** Drop the older half. */
void tier_log_halve(tier_log *log);
/** Before it is sent. */
void tier_log_seal(tier_log *log);
/** It has this purge, or another one of the same kind and text. */
int tier_log_has(const tier_log *log, const tier_purge *purge, int exactly);
/** The fate of a record by the list. @return 0: nothing; 1: it is stale; 2: it is gone */
int tier_log_ends(const tier_log *log, const tier_record *r);

/* ---- the provider (mod_cache_socache.c). Blocking: yes; no loop may call these */

/** @param n  [in,out] room, and bytes that came. APR_NOTFOUND; APR_ENOSPC: it is longer */
apr_status_t tier_get(const unsigned char id[TIER_ID], void *to, unsigned *n, apr_pool_t *p);
apr_status_t tier_put(const unsigned char id[TIER_ID], apr_time_t expiry, void *bytes, unsigned n,
                      apr_pool_t *p);
/** 1 if the last word of a call says that the tier does not answer. */
int tier_is_failure(apr_status_t rv);
/** Bytes of the longest object that this server would store, by any CacheSocacheMaxSize. */
unsigned tier_object_most(void);
/** The argument of CacheSocache, for messages. */
const char *tier_name(void);
/** 1: CacheSocache is configured. */
int tier_is_configured(void);
/** For the command line: ready the provider. @return 0; -1: not configured */
int tier_open_here(apr_pool_t *p, server_rec *main);

/** Start the threads of this process (cached_tier.c). */
void tier_process_begins(void);

/* ---- known purges (cached_tier_purges.c). Blocking: yes; for threads of the tier */

/** The supervisor: memory that processes share. */
void tier_purges_map(void);
/** Which machine this is. */
uint64_t tier_node(void);
/** Carry out others' purges here; write this machine's. APR_SUCCESS, or that of the provider */
apr_status_t tier_purges_look(apr_pool_t *p);
/** The list is known well enough to judge records. */
int tier_purges_known(void);
/** tier_log_ends(), and 2 for a record of another life. */
int tier_purges_end(const tier_record *r);
/** The life of the list; 0: it is not known. */
uint64_t tier_purges_life(void);
/** Add one for the next tier_purges_look(). Takes @a text, of malloc(). */
void tier_purges_add(tier_kind kind, int soft, char *text, uint32_t len);
/** Something was added that is not written. */
int tier_purges_wait(void);

#endif
