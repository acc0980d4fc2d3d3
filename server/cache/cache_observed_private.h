/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_OBSERVED_PRIVATE_H
#define BRIGADE_CACHE_CACHE_OBSERVED_PRIVATE_H

/**
 * @file cache_observed_private.h
 * Data that an entry keeps of the request that filled it, for logs
 * of its answers (cache_observe.c, cache_stored_log.c).
 */
#include "cache_plan.h"
#include "cache_private.h"
#include "cache_stored.h"
#include "log_said.h"
#include "request_context.h"
#include "brigade/transaction.h"

typedef struct observed_pair {
    const char *name, *value;
} observed_pair;

/** What the error log says of each answer. */
typedef struct observed_message {
    request_message said;
    uint32_t own_at,
        own_len; /**< with cache_entry.absent: where it shows the name, if own_len is not 0 */
} observed_message;

/** One block from malloc(); everything in it points into it, but in one that cache_observed_copy() is given. The response
 * fields are those of the stored head. */
struct cache_observed {
    size_t bytes;
    const char *filename, *handler, *content_type, *uri, *args, *hostname;
    /** with an error document, whose filename it is: that of the request; or NULL */
    const char *asked;
    apr_finfo_t finfo;
    uint32_t env_n, notes_n, changed_n, messages_n;
    uint8_t
        own_urls; /**< as with cache_entry.absent: variables of cache_name_is_url() are each answer's own */
    /** the environment, the notes, and request fields that were changed (value NULL: taken away) */
    observed_pair *pair;
    observed_message *message;
};

static inline uint32_t cache_observed_pairs(const struct cache_observed *o)
{
    return o->env_n + o->notes_n + o->changed_n;
}

/** What was sent of an entry. */
typedef struct cache_observed_answer {
    const http_answer *answer;
    const http_part *part; /**< of 206 with one part, or NULL */
    int partial;           /**< 206: Content-Length has the number of sent bytes */
    size_t head_sent;      /**< bytes, with the framing of the body */
    apr_off_t body_sent;
    const struct cache_planned_env *env; /**< before those that are kept; NULL: there are none */
    cache_planned_variables variables;   /**< in place of those that are kept */
    log_said *said;                      /**< NULL: nothing, in the error log */
} cache_observed_answer;

/** Show a stored answer to the log_transaction hooks. */
void cache_observe(cache_entry *e, brg_conn *bc, const http_head *head,
                   const cache_observed_answer *sent);

/** Keep the data of r that cache_observe() needs. */
int cache_observe_keep(cache_entry *e, request_rec *r);
void cache_observe_drop(cache_entry *e);
/** A copy of the kept data. NULL: no memory */
struct cache_observed *cache_observed_copy(const struct cache_observed *o);
/** The same for an answer of the store to another target. */
struct cache_observed *cache_observed_of(const struct cache_observed *like,
                                         const cache_found *found);
/**
 * The variable @a name of an answer's own.
 * @param kept  value of that of the request that filled the entry @param uri  of the answer's request
 * @param out   CACHE_URL_ROOM bytes
 */
const char *cache_observed_url(char *out, const cache_entry *e, const char *name, const char *kept,
                               const char *uri);
#define CACHE_URL_ROOM 1536

/** @return bytes of the data kept for logs (cache_observe.c) */
size_t cache_observed_bytes(const cache_entry *e);

/** Messages that an answer of @a e to @a h is to cause are written by log_say(). 0: a request_rec is needed (cache_messages.c) */
int cache_messages_begin(log_said *said, const cache_entry *e, const brg_conn *bc,
                         const http_head *h);

/** Write them. */
void cache_messages_say(log_said *said, const cache_entry *e, const http_head *h);

#define CACHE_STREAM_ROOM 48

/**
 * Kept variables of the environment that differ for each stream of HTTP/2: H2_STREAM_ID,
 * H2_STREAM_TAG.
 * @param out  room for CACHE_STREAM_ROOM bytes
 * @return 1: @a out is the value of @a name for this request; 0: the kept value holds
 */
int cache_stream_value(char *out, const conn_rec *c, const http_head *h, const char *name);

typedef enum cache_log_step {
    CACHE_LOG_BOTH,
    CACHE_LOG_ASK,  /**< whether it can be, and nothing else */
    CACHE_LOG_WRITE /**< it was asked */
} cache_log_step;

/** The Connection field that the core put beside an answer from memory; NULL: none. @param c  its keepalive says whether it stays */
const char *cache_told_connection(const conn_rec *c, const http_head *h);

/**
 * Log an answer without a request_rec. @param began  when its request came
 * @return 1; 0: nothing was done, some module needs one
 */
int cache_log_directly(cache_entry *e, brg_conn *bc, const http_head *h,
                       const cache_observed_answer *sent, apr_time_t began, cache_log_step step);

#endif
