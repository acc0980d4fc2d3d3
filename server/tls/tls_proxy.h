/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_PROXY_H
#define BRIGADE_TLS_TLS_PROXY_H

/**
 * @file tls_proxy.h
 * TLS to the servers behind a proxy (SSLProxy*).
 *
 * tls_proxy_context.c     SSL_CTXs, one for each set of settings; verification
 * tls_proxy_machine.c     certificates that this server shows (SSLProxyMachineCertificate*)
 * tls_proxy_check.c       whether a server's certificate is the right one
 * tls_client_context.c    the same for event loops
 * tls_client.c            a connection of an event loop (tls_client.h)
 *
 * Modules write to and read from their connections on worker threads, and wait there (mod_ssl/tls_proxy_filter.c); event
 * loops have theirs by tls_client.h.
 */
#include "httpd.h"
#include "http_config.h"
#include "tls_conf.h"
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

/** An SSL_CTX, and the data of its callbacks. */
typedef struct tls_proxy_ctx {
    struct tls_proxy_ctx *next;
    const void *owner;                /**< the configuration that it was made for */
    tls_proxy_conf conf;              /**< that it was made for */
    server_rec *server;               /**< for the log */
    int index;                        /**< among those of the configuration */
    int asked;                        /**< for loops: tls_client_context_make() */
    struct tls_loop *loop;            /**< NULL: for workers */
    int of_conns;                     /**< SSL_get_app_data() is a tls_conn, not a conn_rec */
    struct tls_proxy_ctx *of_workers; /**< the same for connections of tls_client.h on workers */
    /* Authorities for servers, to be taken over by loops; tls_client_trust_read() */
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

/** The SSLProxy* settings of both: those of @a add win. NULL: nothing */
tls_proxy_conf *tls_proxy_merge(apr_pool_t *p, const tls_proxy_conf *base,
                                const tls_proxy_conf *add);

/** 1 if SSLProxyEngine is on. @a conf may be NULL */
int tls_proxy_is_on(const tls_proxy_conf *conf);

/** The SSLProxy* settings of a directory or server; NULL: nothing. */
static inline const tls_proxy_conf *tls_proxy_conf_of(const struct ap_conf_vector_t *dir)
{
    const tls_dir_conf *dc = dir ? ap_get_module_config(dir, &ssl_module) : NULL;

    return dc ? dc->proxy : NULL;
}

/** The context made for @a conf's settings; NULL: not made. Threads: any. Blocking: no. */
tls_proxy_ctx *tls_proxy_context_find(const tls_proxy_conf *conf);

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

/** Let the server know which name is meant. @param host  NULL: none */
void tls_proxy_server_name(SSL *ssl, const char *host);

/** Log that a handshake failed, and OpenSSL's reasons. @param host  NULL: not known */
void tls_proxy_tell_connect(const conn_rec *c, apr_status_t rv, const char *host);

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

#endif
