/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MOD_SSL_TLS_REQUEST_PRIVATE_H
#define BRIGADE_MOD_SSL_TLS_REQUEST_PRIVATE_H

/**
 * @file tls_request_private.h
 * TLS for requests.
 *
 * tls_request.c  hooks of requests
 * tls_access.c   access control
 * tls_vars.c     SSL_* variables; tls_vars_request.c: other variables of ssl_var_lookup()
 */
#include "tls_conf.h"
#include <openssl/ssl.h>

/* ---- tls_request.c, tls_vars.c ---- */

void tls_request_hooks(void);

/**
 * A directive was met: requests need this module's hooks.
 * @param clear_too  it means something to requests without TLS
 * @return NULL; a message if it does, and the directive is in an .htaccess file of a server without these
 *         hooks
 */
const char *tls_request_wake(cmd_parms *cmd, int clear_too);

/** Register them, once in a generation. Threads: main, while the configuration is read. */
void tls_request_needed(void);

/** A configuration begins. */
void tls_request_sleep(void);

/* ---- tls_access.c ---- */

void tls_access_hooks(void);

void tls_vars_hooks(void);
void tls_vars_log_items(apr_pool_t *p);

/** A variable that is not of TLS: of the request, a field (HTTP:name), a time, the environment (ENV:name). NULL: there is no such, or it is
 * empty. */
const char *tls_vars_of_request(apr_pool_t *p, request_rec *r, const char *name);

/** Put the variables of +StdEnvVars into @a env. */
void tls_vars_export(request_rec *r, apr_table_t *env, unsigned options);

#endif
