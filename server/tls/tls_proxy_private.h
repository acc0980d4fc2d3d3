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
 * tls_client_context.c    the same for event loops
 * tls_client.c            a connection of an event loop (tls_client.h)
 * tls_proxy_filter.c      a connection: handshake, input and output filter
 * tls_proxy_bio.c         between OpenSSL and the filters below
 * tls_proxy.c             hooks and optional functions
 *
 * Modules write to and read from such connections on worker threads, and wait there; event loops have theirs by
 * tls_client.h.
 */
#include "httpd.h"
#include "http_config.h"
#include "util_filter.h"
#include "tls_conf_private.h"
#include <openssl/ssl.h>

struct tls_conn;

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
    const void *owner;   /**< the configuration that it was made for */
    tls_proxy_conf conf; /**< that it was made for */
    server_rec *server;  /**< for the log */
    int index;           /**< among those of the configuration */
    int asked;           /**< for loops: tls_client_context_make() */
    struct tls_loop
        *loop; /**< NULL: for workers. Else SSL_get_app_data() is a tls_conn, not a conn_rec */
    /* Who vouches for servers, to be taken over by loops; tls_client_trust_read() */
    STACK_OF(X509) * authorities;
    STACK_OF(X509_CRL) * revocations;
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

/** The one for @a conf's settings that was made; NULL: there is none. Threads: any. Blocking: no. */
tls_proxy_ctx *tls_proxy_context_find(const tls_proxy_conf *conf);

/** The next one of this configuration; the first behind NULL. Threads: any. */
const tls_proxy_ctx *tls_proxy_context_next(const tls_proxy_ctx *px);

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

/** Let the server know which name is meant. @param host  NULL: none */
void tls_proxy_server_name(SSL *ssl, const char *host);

/** Log that a handshake failed, and OpenSSL's reasons. @param host  NULL: not known */
void tls_proxy_tell_connect(const conn_rec *c, apr_status_t rv, const char *host);

/* ---- tls_client_context.c ---- */

/** 1 if SSLProxyEngine is on. @a conf may be NULL */
int tls_proxy_is_on(const tls_proxy_conf *conf);

/** Read who vouches for servers: px->ctx has files. @return 0, or -1: no memory */
int tls_client_trust_read(tls_proxy_ctx *px);
void tls_client_trust_free(tls_proxy_ctx *px);

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
int tls_proxy_check(const tls_proxy_conf *conf, SSL *ssl, const char *host);

/** A <Proxy> section is used without its server's settings (health checks): it gets them. @return its settings; NULL:
 * there are none */
tls_dir_conf *tls_proxy_section(apr_pool_t *p, const server_rec *s,
                                struct ap_conf_vector_t *section);

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
