/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MOD_SSL_TLS_PROXY_FILTER_PRIVATE_H
#define BRIGADE_MOD_SSL_TLS_PROXY_FILTER_PRIVATE_H

/**
 * @file tls_proxy_filter_private.h
 * Connections of modules to other servers (SSLProxy*). They are on worker threads, and wait there.
 *
 * tls_proxy.c         hooks and optional functions
 * tls_proxy_filter.c  a connection: handshake, input and output filter
 * tls_proxy_bio.c     between OpenSSL and the filters below
 */
#include "tls_proxy.h"
#include "util_filter.h"

/** Register hooks, filters and optional functions for outgoing connections. */
void tls_proxy_hooks(void);

/** Put TLS on an outgoing connection; its handshake is at the first input or output. 0 on success. */
int tls_proxy_begin(conn_rec *c, const tls_proxy_conf *conf);

/** The TLS of an outgoing connection; NULL: it has none. */
SSL *tls_proxy_ssl(conn_rec *c);

/** Take it away again, before anything was sent. */
void tls_proxy_end(conn_rec *c);

#define TLS_PX_BUFFER 16384        /* decrypted bytes that wait */
#define TLS_PX_SMALL 4096          /* pieces of output up to this are joined */
#define TLS_PX_RECORD 16384        /* most plaintext of a record */
#define TLS_PX_RECORDS (64 * 1024) /* ciphertext that is passed on at once */
#define TLS_PX_TAG 0x50584353u

/** A connection to another server. */
typedef struct tls_px {
    uint32_t tag; /* TLS_PX_TAG */
    conn_rec *c;
    SSL *ssl;
    tls_proxy_conf conf;
    ap_filter_t *in, *out;
    apr_bucket_brigade *bb_in, *bb_out;
    apr_off_t queued;      /* bytes in bb_out */
    apr_read_type_e block; /* of this read */
    apr_status_t rv;       /* of the last input or output */
    char *data;            /* decrypted; TLS_PX_BUFFER */
    size_t off, len;
    char *piece; /* output to be joined; TLS_PX_SMALL */
    size_t piece_len;
    unsigned ready : 1, failed : 1, eof : 1;
} tls_px;

/** Pass on the content of bb_out. @param flush  with a FLUSH bucket behind it */
apr_status_t tls_px_send(tls_px *pc, int flush);

/** A BIO for @a pc, or NULL. */
BIO *tls_px_bio_new(tls_px *pc);

/** Before the first of them. Threads: main. */
void tls_px_bio_begin(void);

/** Register the filters. */
void tls_proxy_filters(void);

#endif
