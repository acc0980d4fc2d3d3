/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LIMIT_LIMIT_PRIVATE_H
#define BRIGADE_LIMIT_LIMIT_PRIVATE_H

/**
 * @file limit_private.h
 * Limits of requests by keys. limit_table.c and limit_busy.c (memory that processes share), limit_config.c (directives),
 * limit_key.c (whose request it is), limit_request.c (requests on the full way), limit_stored.c (answers from memory),
 * limit_conn.c (connections), limit_bandwidth.c (bytes a second), limit_status.c (figures).
 *
 * A request is asked for once by each limit: where it is answered from memory, or sent on by a plan, by limit_stored.c,
 * else by limit_request.c. The former does not count requests that it holds back, and the latter
 * decides them; it passes over those that went by a plan before they got their request_rec.
 */
#include "limit_table.h"
#include "cache_gate.h"
#include "conn.h"
#include "brigade/auth.h"
#include "httpd.h"
#include "http_config.h"
#include "ap_expr.h"
#include "brigade/client_network.h"

typedef enum limit_measure {
    LIMIT_NONE,
    LIMIT_RATE,        /**< requests of a time */
    LIMIT_IN_FLIGHT,   /**< requests, or streams, at the same time */
    LIMIT_CONNECTIONS, /**< open connections */
    LIMIT_BANDWIDTH    /**< bytes a second */
} limit_measure;

/** Which part of the client's address is in the key. */
typedef enum limit_who { LIMIT_ANYONE, LIMIT_CLIENT, LIMIT_PREFIX, LIMIT_NETWORK } limit_who;

/** The further part of a request's key. */
typedef enum limit_what { LIMIT_NOTHING, LIMIT_USER, LIMIT_FIELD } limit_what;

typedef enum limit_excess { LIMIT_REFUSES, LIMIT_DELAYS, LIMIT_CLOSES } limit_excess;

/** A limit. Lives as long as the configuration; read only once it is read. */
typedef struct limit {
    const char *name;
    const server_rec *server; /**< where it stands */
    const char *path;         /**< the section, or NULL */
    const char
        *location; /**< the section is a <Location> of this path, without a pattern; or NULL */
    uint64_t id;
    uint32_t row; /**< of figures */
    limit_measure measure;
    limit_who who;
    limit_what what;
    limit_excess excess;
    uint8_t is_off, is_dry, by_host, by_path;
    /** they can be evaluated without a request_rec of the full way */
    uint8_t key_of_head, when_of_head;
    uint8_t bits[2]; /**< of a prefix: IPv4, IPv6 */
    int network;     /**< brg_client_network_variable() */
    const char *field;
    size_t field_len;
    int field_id;               /**< http_field_id */
    ap_expr_info_t *key, *when; /**< NULL: none */
    int status;
    uint64_t each;      /**< nanoseconds that a request takes; of bandwidth: a mebibyte */
    uint64_t burst;     /**< nanoseconds that a key may be ahead */
    uint64_t undelayed; /**< of these: without a delay */
    uint64_t most;      /**< at the same time; of bandwidth: bytes of burst */
    /** as RateLimit-Policy tells them: requests, seconds; window 0: none */
    uint64_t quota, window;
} limit;

/** Where limits stand: of a server, or of a section. */
typedef struct limit_conf {
    apr_array_header_t *list; /**< of const limit * */
} limit_conf;

extern module limit_module;

/** All limits of the configuration, of limit *; NULL: none. */
extern apr_array_header_t *limit_all;
/** RequestLimitKeys. */
extern int limit_keys;
/** The table of this configuration; header NULL: no table, nothing is limited. */
extern limit_table limit_shared;

static inline const limit_conf *limit_conf_of(const server_rec *s)
{
    return ap_get_module_config(s->module_config, &limit_module);
}

/** @name limit_config.c */
/** @{ */
extern const command_rec limit_directives[];
void *limit_conf_create(apr_pool_t *p, server_rec *s);
void *limit_dir_create(apr_pool_t *p, char *dir);
void *limit_conf_merge(apr_pool_t *p, void *base, void *add);
/** @} */

/** @name limit_key.c */
/** @{ */
#define LIMIT_WHO_ROOM 56 /**< bytes of a network's name, with its NUL */

/** The subject of a key that each request tells anew. */
typedef struct limit_subject {
    const char *who, *what; /**< what is not used is "" */
    size_t who_len, what_len;
    char room[LIMIT_WHO_ROOM];      /**< of who, where it is made */
    char user[BRG_CACHE_USER_ROOM]; /**< of what, the same */
} limit_subject;

/** limit_subject_who() for what is made of an address. */
int limit_subject_made(const limit *l, limit_subject *subject, const uint8_t *address, size_t len);

/** The part of an address (of @a len bytes, 4 or 16) that counts. @return 0: nothing is known of it */
static inline int limit_subject_who(const limit *l, limit_subject *subject, const uint8_t *address,
                                    size_t len)
{
    if (l->who > LIMIT_CLIENT)
        return limit_subject_made(l, subject, address, len);
    subject->who = (const char *)address;
    subject->who_len = l->who == LIMIT_CLIENT ? len : 0;
    return l->who == LIMIT_ANYONE || len;
}

/** limit_key_of() in the general case. */
uint64_t limit_key_long(uint64_t number, const limit_subject *subject);

#define LIMIT_KEY_LEAST 4
#define LIMIT_KEY_SHORT 16 /**< bytes of a part that is alone, and hashed without a call */

/** limit_key_of() of one part, an address or a field of LIMIT_KEY_LEAST to LIMIT_KEY_SHORT bytes. */
static inline uint64_t limit_key_of_one(const limit *l, uint64_t fixed, const char *at, size_t len)
{
    const universal_hash_secret *secret = &limit_shared.header->secret;
    universal_sum sum = universal_pair(secret->word, l->id ^ fixed, len);
    uint64_t key;

    if (len < 8)
        sum += universal_pair(secret->word + 2, universal_half(at), universal_half(at + len - 4));
    else
        sum += universal_pair(secret->word + 2, universal_word(at), universal_word(at + len - 8));
    key = (uint64_t)((secret->a * (uint64_t)sum + secret->b * (uint64_t)(sum >> 64) + secret->c) >>
                     64);
    return key ? key : 1;
}

/** The key; never 0. @param fixed  limit_fixed() */
static inline uint64_t limit_key_of(const limit *l, uint64_t fixed, const limit_subject *subject)
{
    const size_t len = subject->what_len + subject->who_len;

    if ((subject->what_len && subject->who_len) || len < LIMIT_KEY_LEAST || len > LIMIT_KEY_SHORT)
        return limit_key_long(l->id ^ fixed, subject);
    return limit_key_of_one(l, fixed, subject->what_len ? subject->what : subject->who, len);
}

/** The part of the key of @a r that its target and the configuration tell. @return 0: there is no key, or @a r is not meant */
int limit_fixed(request_rec *r, const limit *l, uint64_t *fixed);

typedef enum limit_reading {
    LIMIT_READS,      /**< the key is known */
    LIMIT_HAS_NO_KEY, /**< the limit is not for this request */
    LIMIT_READS_NOT   /**< it cannot be told without a request_rec */
} limit_reading;

/** What each request tells anew. @param fixed  limit_fixed() @param key  [out] */
limit_reading limit_reads(const limit *l, const transaction *t, uint64_t fixed,
                          limit_subject *subject, uint64_t *key);

/** A key as text for people, @a room bytes at most with its NUL. @return its length */
size_t limit_text(const limit *l, const limit_subject *subject, char *out, size_t room);
/** @} */

/** Nanoseconds of brg_monotonic_now(). */
uint64_t limit_now(void);

/** Nanoseconds that @a bytes take. */
uint64_t limit_cost(const limit *l, apr_off_t bytes);

/** Of each limit's requests one in LIMIT_SAMPLE is noted as busy. */
#define LIMIT_SAMPLE 128

static inline limit_row *limit_row_at(const limit *l)
{
    return &limit_shared.header->row[l->row];
}

/** A body from so many bytes on counts as in flight while it is sent: such answers are not sent from memory. */
#define LIMIT_LONG_BODY 65536

/** 1 if a module changes the identity of clients by a field. */
extern int limit_clients_change;

/** The gate of stored answers (limit_stored.c), whose data is @a l. */
cache_gate_fn *limit_gate(const limit *l);

/** Connections (limit_conn.c): of this configuration, once it is read. */
void limit_conn_watch(apr_pool_t *pconf);

/** @name limit_bandwidth.c */
/** @{ */
void limit_bandwidth_register(void);
/** The bytes sent of the response to @a r count for @a key. */
void limit_bandwidth_add(request_rec *r, const limit *l, uint64_t key);
/** @} */

/** Register hooks of requests (limit_request.c). */
void limit_request_register(void);

/** Register the figures (limit_status.c). */
void limit_status_register(void);

#endif
