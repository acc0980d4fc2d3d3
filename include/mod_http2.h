/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __MOD_HTTP2_H__
#define __MOD_HTTP2_H__

/** @file mod_http2.h  Questions about HTTP/2. */
#include "httpd.h"
#include "apr_optional.h"

/** Value of a variable such as H2_STREAM_ID, "" if unknown. */
APR_DECLARE_OPTIONAL_FN(char *, http2_var_lookup,
                        (apr_pool_t *, server_rec *, conn_rec *, request_rec *, char *));
/** Is it HTTP/2? */
APR_DECLARE_OPTIONAL_FN(int, http2_is_h2, (conn_rec *));
APR_DECLARE_OPTIONAL_FN(void, http2_get_num_workers, (server_rec * s, int *minw, int *max));

#define AP_HTTP2_HAS_GET_POLLFD
APR_DECLARE_OPTIONAL_FN(apr_status_t, http2_get_pollfd_from_conn,
                        (conn_rec * c, struct apr_pollfd_t *pfd, apr_interval_time_t *ptimeout));

/* Request engines: no longer offered, but their types are part of the interface. */
struct apr_thread_cond_t;
typedef struct h2_req_engine h2_req_engine;
typedef void http2_output_consumed(void *ctx, conn_rec *c, apr_off_t consumed);
typedef apr_status_t http2_req_engine_init(h2_req_engine *engine, const char *id, const char *type,
                                           apr_pool_t *pool, apr_size_t req_buffer_size,
                                           request_rec *r, http2_output_consumed **pconsumed,
                                           void **pbaton);
APR_DECLARE_OPTIONAL_FN(apr_status_t, http2_req_engine_push,
                        (const char *engine_type, request_rec *r, http2_req_engine_init *einit));
APR_DECLARE_OPTIONAL_FN(apr_status_t, http2_req_engine_pull,
                        (h2_req_engine * engine, apr_read_type_e block, int capacity,
                         request_rec **pr));
APR_DECLARE_OPTIONAL_FN(void, http2_req_engine_done,
                        (h2_req_engine * engine, conn_rec *rconn, apr_status_t status));

#endif
