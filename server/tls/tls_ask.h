/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_ASK_H
#define BRIGADE_TLS_TLS_ASK_H

/**
 * @file tls_ask.h
 * Requests that ask more of their clients than the handshake did.
 *
 * tls_ask.c     when, and how
 * tls_buffer.c  the body that comes before the client's answer
 */
#include "tls_conf.h"

/** What a request asks of its client beyond the handshake. */
typedef struct tls_wish {
    int mode, depth; /**< for SSL_set_verify() and SSL_set_verify_depth() */
    const char *ciphers;
    unsigned generous : 1, certificate : 1, cipher : 1; /**< the latter two: is asked for */
} tls_wish;

/** A directory, or a virtual host, asks more of clients than a handshake did. Threads: any */
void tls_ask_of_directories(void);

/** A configuration begins. Threads: main */
void tls_ask_forget(void);

/** 1 if the client of @a r has to be asked for something: *wish. */
int tls_wish_of(const request_rec *r, const tls_dir_conf *dc, tls_wish *wish);

/** Ask. @return OK, or the status to refuse with. Blocking, for up to Timeout: not on an event loop */
int tls_ask_client(request_rec *r, const tls_dir_conf *dc, const tls_wish *wish);

/** Read the body of a client that does not wait for 100, to be handed out again. @return OK or a status. Blocking */
int tls_buffer_body(request_rec *r, const tls_dir_conf *dc);

void tls_buffer_filter(void);

#endif
