/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_REQUEST_PRIVATE_H
#define BRIGADE_TLS_TLS_REQUEST_PRIVATE_H

/**
 * @file tls_request_private.h
 * What requests have of TLS.
 *
 * tls_request.c  hooks of requests
 * tls_access.c   those that allow or refuse
 * tls_ask.c      a request asks more of its client than the handshake did
 * tls_buffer.c   the body that comes before the client's answer to that
 * tls_vars.c     SSL_* variables
 * tls_vars_certificate.c  those of a certificate
 */
#include "tls_conf_private.h"
#include <openssl/ssl.h>

/** What a request asks of its client beyond the handshake. */
typedef struct tls_wish {
    int mode, depth; /**< for SSL_set_verify() and SSL_set_verify_depth() */
    const char *ciphers;
    unsigned generous : 1, certificate : 1, cipher : 1; /**< the latter two: is asked for */
} tls_wish;

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

/* ---- tls_access.c, tls_ask.c, tls_buffer.c; threads: the request's ---- */

void tls_access_hooks(void);

/** A directory, or a virtual host, asks more of clients than a handshake did. Threads: any */
void tls_access_of_directories(void);

/** A configuration begins. Threads: main */
void tls_access_forget(void);

/** 1 if the client of @a r has to be asked for something: *wish. */
int tls_wish_of(const request_rec *r, const tls_dir_conf *dc, tls_wish *wish);

/** Ask. @return OK, or the status to refuse with. Blocking, for up to Timeout: not on an event loop */
int tls_ask_client(request_rec *r, const tls_dir_conf *dc, const tls_wish *wish);

/** Read the body, to be handed out again. @return OK or a status. Blocking */
int tls_buffer_body(request_rec *r, const tls_dir_conf *dc);

void tls_buffer_filter(void);

void tls_vars_hooks(void);
void tls_vars_log_items(apr_pool_t *p);

/** Put the variables of +StdEnvVars into @a env. */
void tls_vars_export(request_rec *r, apr_table_t *env, unsigned options);

/** What @a bio holds as text in @a p, and its end; NULL: nothing, or too much. */
char *tls_vars_of_bio(apr_pool_t *p, BIO *bio);

/** Names of the parts of a distinguished name, by number: "C", "ST", ...; NULL past the last. */
const char *tls_vars_dn_name(size_t i);

/** A certificate as PEM text in @a p; NULL: no memory. */
char *tls_vars_pem(apr_pool_t *p, X509 *x);

/** A variable of a certificate by what follows SSL_SERVER_ or SSL_CLIENT_; NULL: there is none. */
const char *tls_vars_certificate(apr_pool_t *p, X509 *x, const char *what, int legacy);

#endif
