/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_PROXY_PRIVATE_H
#define BRIGADE_TLS_TLS_PROXY_PRIVATE_H

/**
 * @file tls_proxy_private.h
 * TLS to the servers behind a proxy: shared by the files of tls_proxy.h.
 */
#include "tls_proxy.h"

/* ---- tls_proxy_context.c ---- */

/** The next one of this configuration; the first behind NULL. Threads: any. */
const tls_proxy_ctx *tls_proxy_context_next(const tls_proxy_ctx *px);

/** Protocols, verification and the like for px->ctx. @return 0, or -1: logged */
int tls_proxy_policy(tls_proxy_ctx *px, const tls_proxy_conf *conf, server_rec *s);
int tls_proxy_ciphers(SSL_CTX *ctx, const tls_proxy_conf *conf, server_rec *s);

void tls_proxy_free(tls_proxy_ctx *px);

/**
 * A connection is given up.
 * @param number  of Apache's message; 0: it is not given up
 * @param reason  static
 * @return for the message; NULL: no memory
 */
const conn_rec *tls_proxy_blamed(const SSL *ssl, unsigned number, const char *reason);

/* ---- tls_proxy_machine.c ---- */

/** Read the certificates that conf names into @a px. @return 0, or -1: logged */
int tls_machine_read(tls_proxy_ctx *px, const tls_proxy_conf *conf, server_rec *s);
void tls_machine_free(tls_proxy_ctx *px);

/** For SSL_CTX_set_cert_cb(): choose one. */
int tls_machine_choose(SSL *ssl, void *data);

/* ---- tls_client_context.c ---- */

/** Read the authorities: px->ctx has files. @return 0, or -1: no memory */
int tls_client_trust_read(tls_proxy_ctx *px);
void tls_client_trust_free(tls_proxy_ctx *px);

/** Make px->of_workers. @return 0, or -1: logged */
int tls_client_of_workers(tls_proxy_ctx *px);

/** The loop's own of @a px: made with the first call. NULL: logged. Threads: the loop's */
tls_proxy_ctx *tls_client_here(struct tls_loop *l, const tls_proxy_ctx *px);

/** A loop begins: make all that there are. It ends: free them. */
void tls_client_loop_begin(struct tls_loop *l);
void tls_client_loop_end(struct tls_loop *l);

/** 1 if records are made without OpenSSL. */
int tls_client_records_are_ours(void);

/* ---- tls_client.c ---- */

/** See tls_proxy_blamed(). */
const conn_rec *tls_client_blamed(struct tls_conn *t, unsigned number, const char *reason);

/** For SSL_CTX_sess_set_new_cb(). */
int tls_client_session_new(SSL *ssl, SSL_SESSION *session);

#endif
