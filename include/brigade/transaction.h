/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TRANSACTION_H
#define BRIGADE_TRANSACTION_H

/**
 * @file brigade/transaction.h
 * A request and its answer as logs read them, whether a request_rec was made for it or not. An answer that is sent from
 * memory, or passed on from a backend without phases, has none: making it is a quarter of the cost of such an answer.
 *
 * A module whose brg_cache_fn says BRG_CACHE_OBSERVED and that hooks log_transaction may offer two functions beside that
 * hook. They are used where every module that hooks log_transaction offers them and none of them declines; else
 * log_transaction runs, with a request_rec that is made for it. A log_transaction hook reads its request in the same way
 * by brg_transaction_of().
 */
#include "httpd.h"
#include "http_config.h"
#include "apr_optional.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Text that is not terminated; at NULL: absent. */
typedef struct brg_text {
    const char *at;
    apr_size_t len;
} brg_text;

/** Ways that the bytes of an answer's body left by: bits of brg_transaction.sent_by, in the order of BRG_WAYS (brigade/figures.h). Bytes
 * that were in memory, as those of short files and of streams, have none. */
#define BRG_SENT_SENDFILE 1
#define BRG_SENT_WINDOW 2
#define BRG_SENT_READ 4

/** A request and its answer. All of it is valid during the call, but for server, connection and r, which live as they
 * always do. */
typedef struct brg_transaction {
    server_rec *server;
    conn_rec *connection;
    request_rec *r;          /**< NULL: none was made */
    apr_time_t request_time; /**< microseconds */
    int status;
    int from_memory; /**< 1: the server had the answer stored, without mod_cache or as a copy of its own */
    /** as it was sent; at NULL: the protocol has none, see the next three */
    brg_text request_line;
    brg_text method, target, protocol;             /**< at NULL: not known */
    const char *uri, *args;                        /**< as in request_rec; args may be NULL */
    const char *client_ip;                         /**< useragent_ip, as in request_rec */
    const char *filename, *handler, *content_type; /**< as in request_rec; may be NULL */
    apr_off_t body_sent;      /**< bytes of the body, without its framing */
    apr_off_t received, sent; /**< without r: bytes on the wire, heads and frames included */
    const void *core;         /**< of the server */
    int sent_by;              /**< BRG_SENT_... */
} brg_transaction;

/** Fill in @a t from @a r, which may be any of a chain of internal redirects. Threads: the request's. */
BRG_DECLARE(void) brg_transaction_of(brg_transaction *t, request_rec *r);

/**
 * A field of the request. With r, lines of one name are one value.
 * @param from  where to begin; 0 for the first of that name, then as it was left here
 * @return at NULL: no (further) field
 */
BRG_DECLARE(brg_text)
brg_transaction_request_field(const brg_transaction *t, const char *name, apr_size_t name_len,
                              unsigned *from);

/** The id of a field name, in any case, for brg_transaction_field(); 0: unknown. While the
 * configuration is read. */
BRG_DECLARE(int) brg_transaction_field_id(const char *name, apr_size_t name_len);

/** As brg_transaction_request_field(), of the one line of a field with an id, without r: an answer
 * to a request that has several lines of such a field is not from memory. @return at NULL: absent
 */
BRG_DECLARE(brg_text) brg_transaction_field(const brg_transaction *t, int id);

/** A field of the answer, of the environment (subprocess_env), of the notes; NULL: absent. */
BRG_DECLARE(const char *)
brg_transaction_response_field(const brg_transaction *t, const char *name);
BRG_DECLARE(const char *) brg_transaction_env(const brg_transaction *t, const char *name);
BRG_DECLARE(const char *) brg_transaction_note(const brg_transaction *t, const char *name);

/** r->user; NULL: the user was not asked for. Valid during the call, until it is called again. */
BRG_DECLARE(const char *) brg_transaction_user(const brg_transaction *t);

/** @return 1 if brg_transaction_log_fn can replace log_transaction for @a t. Nothing may be done
 *   yet.
 * Threads: the loop that answers. Blocking: no. */
typedef int brg_transaction_ready_fn(const brg_transaction *t);

/** In place of log_transaction. Threads: the loop that answers. Blocking: no. */
typedef void brg_transaction_log_fn(const brg_transaction *t);

#define BRG_TRANSACTION_ITEM_ROOM 64

/**
 * The text of a log item that a module registered with ap_register_log_handler(), where there is no request_rec.
 * @param out  room for BRG_TRANSACTION_ITEM_ROOM bytes
 * @return its length
 * Threads: the loop that answers. Blocking: no.
 */
typedef apr_size_t brg_transaction_item_fn(const brg_transaction *t, char *out);

/** Optional function of mod_log_config: @a fn is as good as the handler that was registered for @a tag last. A format with
 * an item that has none needs a request_rec. */
APR_DECLARE_OPTIONAL_FN(void, brg_register_transaction_item,
                        (const char *tag, brg_transaction_item_fn *fn));

#define BRG_TRANSACTION_VARIABLES_MOST 2

/**
 * The variable @a name of the environment has another value for each request, and only readers that
 * name it as such read it (brg_cache_variable_is_told()): a log that shows it for an answer from
 * memory gets the text of @a make, the same for all logs of that answer. In place of
 * brg_transaction_observe(), without a request_rec; with one, the module's post_read_request hook
 * sets it, which has to be observed for that.
 *
 * @param name  lives as long as @a pconf; of BRG_TRANSACTION_VARIABLES_MOST at most
 * Call from post_config.
 */
BRG_DECLARE(void)
brg_transaction_variable(apr_pool_t *pconf, const char *name, brg_transaction_item_fn *make);

/** r->log_id, as the error log has it; NULL: no message was written. Valid during the call. */
BRG_DECLARE(const char *) brg_transaction_log_id(const brg_transaction *t);

/** 1 if @a r is not a request that was processed, but made for the log of an answer from memory. Threads: the request's. */
BRG_DECLARE(int) brg_request_is_stored(const request_rec *r);

/**
 * A log shows the request field @a name, or (NULL) it may show any: so an answer from memory is logged with the value that a
 * module gave the field (brg_cache_field_changed()). While the configuration is read; @a name lives as long as @a pconf.
 */
BRG_DECLARE(void) brg_transaction_log_shows(apr_pool_t *pconf, const char *name);

/** Offer both; both NULL: the module has nothing to do for such answers. After brg_cache_declare(), in the module's
 * register_hooks function. */
BRG_DECLARE(void)
brg_transaction_log_declare(module *m, brg_transaction_ready_fn *ready,
                            brg_transaction_log_fn *log);

/**
 * The post_read_request hook of @a m changes a request's facts in logs (its client, its id): it
 * also runs for answers from memory that a module logs, with a request_rec that is made for that.
 * From post_config; holds until the next restart.
 *
 * @param ready  1 if the hook would change nothing for that answer, which is then logged without a request_rec
 */
BRG_DECLARE(void) brg_transaction_observe(module *m, brg_transaction_ready_fn *ready);

#ifdef __cplusplus
}
#endif
#endif
