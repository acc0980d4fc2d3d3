/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_PROXY_PRIVATE_H
#define BRIGADE_TLS_TLS_PROXY_PRIVATE_H

/**
 * @file tls_proxy_private.h
 * TLS to the servers behind a proxy (SSLProxy*).
 *
 * tls_proxy_directives.c  setters, and how settings merge
 * tls_proxy_context.c     SSL_CTXs, one for each set of settings; verification
 * tls_proxy_machine.c     certificates that this server shows (SSLProxyMachineCertificate*)
 * tls_proxy_check.c       whether a server's certificate is the right one
 * tls_proxy_filter.c      a connection: handshake, input and output filter
 * tls_proxy_bio.c         between OpenSSL and the filters below
 * tls_proxy.c             hooks and optional functions
 *
 * Modules write to and read from such connections on worker threads, and wait there.
 */
#include "httpd.h"
#include "http_config.h"
#include "util_filter.h"
#include "tls_conf_private.h"
#include <openssl/ssl.h>

/** Settings that are numbers; TLS_UNSET where nothing is said. */
enum {
    TLS_PX_ENGINE,
    TLS_PX_PROTOCOLS, /**< TLS_V* */
    TLS_PX_VERIFY,    /**< TLS_VERIFY_* */
    TLS_PX_DEPTH,
    TLS_PX_CHECK_NAME,
    TLS_PX_CHECK_CN,
    TLS_PX_CHECK_EXPIRE,
    TLS_PX_CRL, /**< TLS_PX_CRL_* */
    TLS_PX_NUMBERS
};

/** Settings that are text; NULL where nothing is said. */
enum {
    TLS_PX_CIPHERS,
    TLS_PX_CIPHERS13,
    TLS_PX_CA_FILE,
    TLS_PX_CA_PATH,
    TLS_PX_CRL_FILE,
    TLS_PX_CRL_PATH,
    TLS_PX_CERT_FILE,
    TLS_PX_CERT_PATH,
    TLS_PX_CHAIN_FILE,
    TLS_PX_TEXTS
};

enum { TLS_PX_CRL_NONE = 0, TLS_PX_CRL_LEAF = 1, TLS_PX_CRL_CHAIN = 2, TLS_PX_CRL_MAY_MISS = 4 };

typedef struct tls_proxy_conf {
    int number[TLS_PX_NUMBERS];
    const char *text[TLS_PX_TEXTS]; /**< in the configuration's pool */
} tls_proxy_conf;

/** A certificate that this server shows, with its key. */
typedef struct tls_machine {
    X509 *x;
    EVP_PKEY *key;
    STACK_OF(X509) * chain; /**< its issuers, as far as they are known; may be NULL */
} tls_machine;

/** An SSL_CTX, and what its callbacks need. */
typedef struct tls_proxy_ctx {
    struct tls_proxy_ctx *next;
    const void *owner; /**< the configuration that it was made for */
    char *key;         /**< the settings as text */
    SSL_CTX *ctx;
    int verify, depth, crl_may_miss;
    tls_machine *machine;
    int machines;
} tls_proxy_ctx;

/** Number @a which of @a conf, or @a fallback. */
static inline int tls_proxy_number(const tls_proxy_conf *conf, int which, int fallback)
{
    return conf->number[which] == TLS_UNSET ? fallback : conf->number[which];
}

/** What SSLProxy* says for a directory or server; NULL: nothing. */
static inline const tls_proxy_conf *tls_proxy_conf_of(const struct ap_conf_vector_t *dir)
{
    const tls_dir_conf *dc = dir ? ap_get_module_config(dir, &ssl_module) : NULL;

    return dc ? dc->proxy : NULL;
}

/**
 * The context for @a conf's settings: made now, or found.
 * @param s  for the log
 * @return NULL: logged
 * Threads: any. Blocking: reads files if the settings are new.
 */
tls_proxy_ctx *tls_proxy_context(const tls_proxy_conf *conf, server_rec *s);

/** 0 if one can be made; else logged. Threads: main. */
int tls_proxy_context_try(const tls_proxy_conf *conf, server_rec *s);

/** Contexts are those of the configuration @a owner from now on. Threads: main. */
void tls_proxy_contexts_begin(const void *owner);

/** Free those of @a owner. Threads: main, while no other uses them. */
void tls_proxy_contexts_forget(const void *owner);

/** Read the certificates that conf names into @a px. @return 0, or -1: logged */
int tls_machine_read(tls_proxy_ctx *px, const tls_proxy_conf *conf, server_rec *s);
void tls_machine_free(tls_proxy_ctx *px);

/** For SSL_CTX_set_cert_cb(): choose one. */
int tls_machine_choose(SSL *ssl, void *data);

/**
 * The handshake is done: is the server the right one?
 * @param host  the name that was asked for; NULL: not known
 * @return 1, or 0: logged
 */
int tls_proxy_check(const tls_proxy_conf *conf, conn_rec *c, SSL *ssl, const char *host);

/** Put TLS on an outgoing connection; its handshake is at the first input or output. 0 on success. */
int tls_proxy_begin(conn_rec *c, const tls_proxy_conf *conf);

/** The TLS of an outgoing connection; NULL: it has none. */
SSL *tls_proxy_ssl(conn_rec *c);

/** Take it away again, before anything was sent. */
void tls_proxy_end(conn_rec *c);

#define TLS_PX_BUFFER 16384        /* decrypted bytes that wait */
#define TLS_PX_SMALL 4096          /* pieces of output up to this are joined */
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

/** Pass on what waits in bb_out. @param flush  with a FLUSH bucket behind it */
apr_status_t tls_px_send(tls_px *pc, int flush);

/** A BIO for @a pc, or NULL. */
BIO *tls_px_bio_new(tls_px *pc);

/** Before the first of them. Threads: main. */
void tls_px_bio_begin(void);

/** Register the filters. */
void tls_proxy_filters(void);

#endif
