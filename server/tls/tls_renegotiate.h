/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_RENEGOTIATE_H
#define BRIGADE_TLS_TLS_RENEGOTIATE_H

/**
 * @file tls_renegotiate.h
 * Requests that ask more of their clients than the handshake did.
 *
 * tls_renegotiate.c  when, and how
 * tls_buffer.c       the body that comes before the client's answer
 */
#include "tls_conf.h"

/** A request's demands on its client beyond the handshake. */
typedef struct tls_wish {
    int mode, depth; /**< for SSL_set_verify() and SSL_set_verify_depth() */
    const char *ciphers;
    unsigned generous : 1, certificate : 1, cipher : 1; /**< the latter two: is asked for */
} tls_wish;

/** A directory, or a virtual host, asks more of clients than a handshake did. Threads: any */
void tls_renegotiate_expect(void);

/** A configuration begins. Threads: main */
void tls_renegotiate_forget(void);

/** 1 if the client of @a r has to be asked for something: *wish. */
int tls_wish_of(const request_rec *r, const tls_dir_conf *dc, tls_wish *wish);

/** Ask. @return OK, or the status to refuse with. Blocking, for up to Timeout: not on an event loop */
int tls_renegotiate(request_rec *r, const tls_dir_conf *dc, const tls_wish *wish);

/** Read the body of a client that does not wait for 100, to be handed out again. @return OK or a status. Blocking */
int tls_buffer_body(request_rec *r, const tls_dir_conf *dc);

void tls_buffer_filter(void);

#endif
