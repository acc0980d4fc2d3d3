/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SETTINGS_REQUEST_CONTEXT_PRIVATE_H
#define BRIGADE_SETTINGS_REQUEST_CONTEXT_PRIVATE_H

/**
 * @file request_context_private.h
 * The block behind r->request_config, one allocation for everything that the core keeps with a request.
 */
#include "http_core.h"
#include "request_context.h"

/** Filter instances in the block: those of HTTP and a few more. Further ones are allocated. */
#define REQUEST_FILTERS 10

/** Everything that the core keeps with a request. Lives as long as r->pool; used by the thread that has the request. */
typedef struct request_conf_block {
    request_marks marks;         /**< first, since r->request_config points to it */
    apr_bucket_brigade bb;       /**< look-ahead of the request body */
    unsigned filters_used;       /**< of filters */
    const char *volatile_module; /**< request_mark_volatile(): the module, */
    const char *volatile_why;    /**< and why; NULL: not marked */
    int apart;                   /**< request_set_apart() */
    int reruns;                  /**< and is to: request_mark_rerun() */
    int rerun_status;            /**< with reruns: the error that the worker sends instead, or OK */
    int auth_waits;              /**< brg_auth_would_wait() */
    int announces;               /**< request_set_announces() */
    int fields_before;           /**< request_set_connection() */
    const char *connection;      /**< the same */
    const char *length_text;     /**< request_length_text() */
    int stored;                  /**< request_mark_stored() */
    int each_time;               /**< brg_cache_each_time() */
    int guarded;                 /**< request_has_guarded_part() */
    int body_status;             /**< request_body_failed() */
    apr_array_header_t *vary;    /**< fields that the response depends on, or NULL */
    apr_array_header_t *changed; /**< fields of the request that modules changed, or NULL */
    apr_array_header_t *messages; /**< request_messages() */
    apr_array_header_t *parts;    /**< out of the store of backends' answers, or NULL */
    request_dated dated;          /**< a response field that is computed from the time */
    request_dependencies depends; /**< used in the first request of a chain alone */
    const request_sink *sink;     /**< request_sink_offer() */
    int offered;                  /**< offer is set */
    request_offer offer; /**< not cleared, nor the members that follow, when the block is made */
    ap_filter_t filters[REQUEST_FILTERS];
    void *notes[]; /**< as many as modules registered */
} request_conf_block;

/** The block of @a r; NULL if a module put a configuration of its own in its place. */
request_conf_block *request_block_of(const request_rec *r);

#endif
