/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_CONNECTION_H
#define BRIGADE_TLS_TLS_CONNECTION_H

/**
 * @file tls_connection.h
 * Facts of their connection's TLS for requests.
 * Threads: the owner of the connection. Blocking: no.
 */
#include "httpd.h"
#include <openssl/ssl.h>

typedef struct tls_conn tls_conn;

/** The TLS of a connection, or of a stream's connection; NULL: without TLS. */
tls_conn *tls_of(conn_rec *c);

/** 1 if c is a clear connection on which a client was told to speak TLS. */
int tls_is_misdirected(conn_rec *c);

/** To be looked at alone: other connections may have the same one. */
SSL *tls_ssl_of(const tls_conn *t);

/** The server that the handshake was for. */
server_rec *tls_server_of(const tls_conn *t);

/** 1 if the client named one. */
int tls_has_name(const tls_conn *t);

/** 1 if a client's certificate counts that nobody vouches for (optional_no_ca). */
int tls_is_generous(const tls_conn *t);

/** The id of the session. @return NULL: no session */
const unsigned char *tls_session_id(const tls_conn *t, unsigned *len);

/* ---- tls_compat.c: why a request is of another host than its handshake ---- */

/** The SSLVHostSNIPolicy in force. */
const char *tls_compat_policy(void);

/** The directive by which two servers with other numbers differ. */
const char *tls_compat_difference(const server_rec *a, const server_rec *b, apr_pool_t *p);

#endif
