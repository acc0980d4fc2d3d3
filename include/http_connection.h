/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_HTTP_CONNECTION_H
#define APACHE_HTTP_CONNECTION_H

/** @file http_connection.h  The life of a connection. */
#include "apr_network_io.h"
#include "apr_buckets.h"
#include "httpd.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Run a new connection through its hooks. */
AP_CORE_DECLARE(void) ap_process_connection(conn_rec *c, void *csd);
/** Write all and end it for writing; @a flush: with a flush bucket. May block. */
AP_CORE_DECLARE(apr_status_t) ap_shutdown_conn(conn_rec *c, int flush);
AP_CORE_DECLARE(void) ap_flush_conn(conn_rec *c);

/** Close so that the peer gets all that was sent: wait for its end a while. Blocks. */
AP_DECLARE(void) ap_lingering_close(conn_rec *c);
/* The beginnings of that, for an MPM that waits by itself. Nonzero: close at once. */
AP_DECLARE(int) ap_prep_lingering_close(conn_rec *c);
AP_DECLARE(int) ap_start_lingering_close(conn_rec *c);

/** Make a conn_rec. First that does not return NULL. */
AP_DECLARE_HOOK(conn_rec *, create_connection,
                (apr_pool_t *p, server_rec *server, apr_socket_t *csd, long conn_id, void *sbh,
                 apr_bucket_alloc_t *alloc))
/** Set its filters up. Run all; DONE ends the others. */
AP_DECLARE_HOOK(int, pre_connection, (conn_rec *c, void *csd))
/** Serve it. First that does not decline. */
AP_DECLARE_HOOK(int, process_connection, (conn_rec *c))
/** Before it is closed. Run all. */
AP_DECLARE_HOOK(int, pre_close_connection, (conn_rec *c))
/** Run pre_connection, and close a refused connection. */
AP_DECLARE(int) ap_pre_connection(conn_rec *c, void *csd);

/* End-of-connection bucket: write the data before it, then close. */
AP_DECLARE_DATA extern const apr_bucket_type_t ap_bucket_type_eoc;
/** 1 if @a e ends the connection. */
#define AP_BUCKET_IS_EOC(e) (e->type == &ap_bucket_type_eoc)
AP_DECLARE(apr_bucket *) ap_bucket_eoc_make(apr_bucket *b);
AP_DECLARE(apr_bucket *) ap_bucket_eoc_create(apr_bucket_alloc_t *list);

#ifdef __cplusplus
}
#endif
#endif
