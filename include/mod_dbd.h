/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DBD_H
#define DBD_H

/** @file mod_dbd.h  Database connections from a pool that servers share. */
#include "httpd.h"
#include "apr_optional.h"
#include "apr_hash.h"
#include "apr_hooks.h"
#include "apr_dbd.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How functions and data of mod_dbd are declared. */
#define DBD_DECLARE(type) AP_DECLARE(type)
#define DBD_DECLARE_NONSTD(type) AP_DECLARE(type)
#define DBD_DECLARE_DATA AP_DECLARE_DATA

typedef struct {
    server_rec *server;
    const char *name;
    const char *params;
    int persist;
#if APR_HAS_THREADS
    int nmin;
    int nkeep;
    int nmax;
    int exptime;
    int set;
#endif
    apr_hash_t *queries;
    apr_array_header_t *init_queries;
} dbd_cfg_t;

/** A connection. */
typedef struct {
    apr_dbd_t *handle;
    const apr_dbd_driver_t *driver;
    apr_hash_t *prepared; /**< statements by label */
    apr_pool_t *pool;
} ap_dbd_t;

/* NULL on error, after logging. Open must be closed; acquire gives it back with the request or connection. */
DBD_DECLARE_NONSTD(ap_dbd_t *) ap_dbd_open(apr_pool_t *pool, server_rec *s);
DBD_DECLARE_NONSTD(void) ap_dbd_close(server_rec *s, ap_dbd_t *dbd);
DBD_DECLARE_NONSTD(ap_dbd_t *) ap_dbd_acquire(request_rec *r);
DBD_DECLARE_NONSTD(ap_dbd_t *) ap_dbd_cacquire(conn_rec *c);
/** Have a statement prepared on each connection, from the configuration phase: query, then label. */
DBD_DECLARE_NONSTD(void) ap_dbd_prepare(server_rec *s, const char *query, const char *label);

/* The same as optional functions. */
APR_DECLARE_OPTIONAL_FN(ap_dbd_t *, ap_dbd_open, (apr_pool_t *, server_rec *));
APR_DECLARE_OPTIONAL_FN(void, ap_dbd_close, (server_rec *, ap_dbd_t *));
APR_DECLARE_OPTIONAL_FN(ap_dbd_t *, ap_dbd_acquire, (request_rec *));
APR_DECLARE_OPTIONAL_FN(ap_dbd_t *, ap_dbd_cacquire, (conn_rec *));
APR_DECLARE_OPTIONAL_FN(void, ap_dbd_prepare, (server_rec *, const char *, const char *));

/** A connection was made. Run all. */
APR_DECLARE_EXTERNAL_HOOK(dbd, DBD, apr_status_t, post_connect,
                          (apr_pool_t *, dbd_cfg_t *, ap_dbd_t *))

#ifdef __cplusplus
}
#endif
#endif
