/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_STORED_ANSWER_H
#define BRIGADE_STORED_ANSWER_H

/**
 * @file brigade/stored_answer.h
 * How a module logs answers that were sent from memory without a request_rec: a quarter of the cost of
 * an answer is the making of one.
 *
 * A module whose brg_cache_fn says BRG_CACHE_OBSERVED and that hooks log_transaction may offer two
 * functions beside that hook. They are used where every module that hooks log_transaction offers them
 * and none of them declines; else log_transaction runs, with a request_rec that is made for it.
 */
#include "httpd.h"
#include "http_config.h"
#include "apr_optional.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Text that is not terminated; at NULL: there is none. */
typedef struct brg_text {
    const char *at;
    apr_size_t len;
} brg_text;

/** A request that was answered from memory, and its answer. All of it is valid during the call, but
 * for server and connection, which live as they always do. */
typedef struct brg_stored_answer {
    server_rec *server;
    conn_rec *connection;
    apr_time_t request_time; /**< microseconds */
    int status;
    brg_text
        request_line; /**< as it was sent; at NULL: the protocol has none, see the next three */
    brg_text method, target, protocol;
    const char *uri, *args;                        /**< as in request_rec; args may be NULL */
    const char *client_ip;                         /**< useragent_ip, as in request_rec */
    const char *filename, *handler, *content_type; /**< as in request_rec; may be NULL */
    apr_off_t body_sent;      /**< bytes of the body, without what frames them */
    apr_off_t received, sent; /**< bytes on the wire, heads and frames included */
    const void *core;         /**< of the server */
} brg_stored_answer;

/**
 * A field of the request.
 * @param from  where to begin; 0 for the first of that name, then as it was left here
 * @return at NULL: there is none (more)
 */
BRG_DECLARE(brg_text)
brg_stored_request_field(const brg_stored_answer *a, const char *name, apr_size_t name_len,
                         unsigned *from);

/** What brg_stored_field() knows a field name by, in any case; 0: it does not. While the configuration is read. */
BRG_DECLARE(int) brg_stored_field_id(const char *name, apr_size_t name_len);

/** As brg_stored_request_field(), of the one line of a field with an id: an answer to a request that has several
 * lines of such a field is not from memory. @return at NULL: there is none */
BRG_DECLARE(brg_text) brg_stored_field(const brg_stored_answer *a, int id);

/** A field of the answer, of the environment (subprocess_env), of the notes; NULL: there is none. */
BRG_DECLARE(const char *) brg_stored_response_field(const brg_stored_answer *a, const char *name);
BRG_DECLARE(const char *) brg_stored_env(const brg_stored_answer *a, const char *name);
BRG_DECLARE(const char *) brg_stored_note(const brg_stored_answer *a, const char *name);

/** r->user of such a request; NULL: it was not asked who sent it. Valid during the call, until it is called again. */
BRG_DECLARE(const char *) brg_stored_user(const brg_stored_answer *a);

/** @return 1 if brg_stored_log_fn can do for @a a what log_transaction would. Nothing may be done yet.
 * Threads: the loop that answers. Blocking: no. */
typedef int brg_stored_ready_fn(const brg_stored_answer *a);

/** In place of log_transaction. Threads: the loop that answers. Blocking: no. */
typedef void brg_stored_log_fn(const brg_stored_answer *a);

#define BRG_STORED_ITEM_ROOM 64

/**
 * The text of a log item that a module registered with ap_register_log_handler(), of a stored answer.
 * @param out  room for BRG_STORED_ITEM_ROOM bytes
 * @return its length
 * Threads: the loop that answers. Blocking: no.
 */
typedef apr_size_t brg_stored_item_fn(const brg_stored_answer *a, char *out);

/** Optional function of mod_log_config: @a fn is as good as the handler that was registered for @a tag last. A format with
 * an item that has none needs a request_rec. */
APR_DECLARE_OPTIONAL_FN(void, brg_register_stored_item, (const char *tag, brg_stored_item_fn *fn));

/** 1 if @a r is not a request that was processed, but made for the log of an answer from memory. Threads: the request's. */
BRG_DECLARE(int) brg_request_is_stored(const request_rec *r);

/**
 * A log shows the request field @a name, or (NULL) it may show any: so an answer from memory is logged with the value that a module
 * gave the field (brg_cache_field_changed()). While the configuration is read; @a name lives as long as @a pconf.
 */
BRG_DECLARE(void) brg_stored_log_shows(apr_pool_t *pconf, const char *name);

/** Offer both; both NULL: the module has nothing to do for such answers. After brg_cache_declare(), in the module's
 * register_hooks function. */
BRG_DECLARE(void)
brg_stored_log_declare(module *m, brg_stored_ready_fn *ready, brg_stored_log_fn *log);

/**
 * The post_read_request hook of @a m changes what logs show of a request (its client, its id): it also runs for answers
 * from memory that a module logs, with a request_rec that is made for that. From post_config; holds until the next restart.
 *
 * @param ready  1 if the hook would change nothing for that answer, which is then logged without a request_rec
 */
BRG_DECLARE(void) brg_stored_observe(module *m, brg_stored_ready_fn *ready);

#ifdef __cplusplus
}
#endif
#endif
