/* SPDX-License-Identifier: Apache-2.0 */
/* SSL_CTXs for connections to other servers. Making one is dear (authorities are parsed), and
 * settings are merged for each request, so contexts are found by the settings' content. Those of
 * servers and of <Proxy> sections are made while the configuration is read, as root. */
#include "tls_context_private.h"
#include "tls_proxy_private.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

static _Atomic(tls_proxy_ctx *) px_contexts; /* grows in front; shrinks with a configuration */
static int px_made;                          /* so many since the configuration was read */
static const void *px_owner;
static pthread_mutex_t px_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- settings ---- */

tls_proxy_conf *tls_proxy_merge(apr_pool_t *p, const tls_proxy_conf *base,
                                const tls_proxy_conf *add)
{
    tls_proxy_conf *conf;

    if (!base || !add)
        return (tls_proxy_conf *)(uintptr_t)(add ? add : base);
    conf = apr_pmemdup(p, add, sizeof *conf);
    for (int i = 0; i < TLS_PX_NUMBERS; i++)
        if (conf->number[i] == TLS_UNSET)
            conf->number[i] = base->number[i];
    for (int i = 0; i < TLS_PX_TEXTS; i++)
        if (!conf->text[i])
            conf->text[i] = base->text[i];
    return conf;
}

int tls_proxy_is_on(const tls_proxy_conf *conf)
{
    return conf && tls_proxy_number(conf, TLS_PX_ENGINE, 0) == 1;
}

tls_dir_conf *tls_proxy_section(apr_pool_t *p, const server_rec *s, ap_conf_vector_t *section)
{
    tls_dir_conf *dc = section ? ap_get_module_config(section, &ssl_module) : NULL;

    if (dc)
        dc->proxy = tls_proxy_merge(p, tls_proxy_conf_of(s->lookup_defaults), dc->proxy);
    return dc;
}

/* ---- messages ---- */

const conn_rec *tls_proxy_blamed(const SSL *ssl, unsigned number, const char *reason)
{
    const tls_proxy_ctx *px = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

    return px->of_conns ? tls_client_blamed(SSL_get_app_data(ssl), number, reason)
                        : SSL_get_app_data(ssl);
}

void tls_proxy_tell_connect(const conn_rec *c, apr_status_t rv, const char *host)
{
    ap_log_cerror(APLOG_MARK, APLOG_INFO, rv, c, APLOGNO(02003) "SSL Proxy connect failed%s%s",
                  host ? ": " : "", host ? host : "");
    tls_log_errors(c->base_server, APLOG_INFO);
}

void tls_proxy_server_name(SSL *ssl, const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    const conn_rec *c;

    if (!host || inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
        return; /* RFC 6066, section 3: names alone */
    if (SSL_set_tlsext_host_name(ssl, host) != 1 && (c = tls_proxy_blamed(ssl, 0, NULL)) != NULL)
        ap_log_cerror(APLOG_MARK, APLOG_WARNING, 0, c,
                      APLOGNO(02002) "Failed to set TLS extension 'server_name' to %s", host);
}

/* ---- verification ---- */

static int px_verified(int ok, X509_STORE_CTX *store)
{
    const SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    const tls_proxy_ctx *px = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    const conn_rec *c;
    int error = X509_STORE_CTX_get_error(store), depth = X509_STORE_CTX_get_error_depth(store);

    BRG_ASSERT(px->verify != TLS_VERIFY_NONE); /* tls_proxy_policy() */
    if (!ok &&
        tls_trust_forgive(store, px->verify == TLS_VERIFY_OPTIONAL_NO_CA, px->crl_may_miss)) {
        X509_STORE_CTX_set_error(store, X509_V_OK);
        ok = 1;
    }
    if (!ok && (c = tls_proxy_blamed(ssl, 2276, X509_verify_cert_error_string(error))) != NULL)
        ap_log_cerror(APLOG_MARK, APLOG_INFO, 0, c,
                      APLOGNO(02276) "Certificate Verification: Error (%d): %s", error,
                      X509_verify_cert_error_string(error));
    if (depth <= px->depth)
        return ok;
    if ((c = tls_proxy_blamed(ssl, 2040, "Certificate Chain too long")) != NULL)
        ap_log_cerror(
            APLOG_MARK, APLOG_INFO, 0, c,
            APLOGNO(02040) "Certificate Verification: Certificate Chain too long (chain has "
                           "%d certificates, but maximum allowed are only %d)",
            depth, px->depth);
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_CHAIN_TOO_LONG);
    return 0;
}

static int px_failed(server_rec *s, const char *what, const char *value)
{
    ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s, "%s%s%s", what, value ? " " : "",
                 value ? value : "");
    tls_log_errors(s, APLOG_EMERG);
    return -1;
}

static int px_authorities(SSL_CTX *ctx, const tls_proxy_conf *conf, server_rec *s)
{
    const char *file = conf->text[TLS_PX_CA_FILE], *path = conf->text[TLS_PX_CA_PATH];

    if ((file || path) && !SSL_CTX_load_verify_locations(ctx, file, path))
        return px_failed(s,
                         APLOGNO(02210) "Unable to configure verify locations for proxied servers",
                         file ? file : path);
    return 0;
}

static int px_crls(SSL_CTX *ctx, const tls_proxy_conf *conf, server_rec *s)
{
    const char *file = conf->text[TLS_PX_CRL_FILE], *path = conf->text[TLS_PX_CRL_PATH];
    int mode = tls_proxy_number(conf, TLS_PX_CRL, 0);
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);

    if (!(mode & (TLS_PX_CRL_LEAF | TLS_PX_CRL_CHAIN)))
        return 0;
    if (!file && !path)
        return px_failed(s,
                         APLOGNO(01899) "SSLProxyCARevocationCheck is on, but neither "
                                        "SSLProxyCARevocationFile nor SSLProxyCARevocationPath is "
                                        "set",
                         NULL);
    if (tls_trust_revocations(store, file, path, mode & TLS_PX_CRL_CHAIN))
        return px_failed(s, APLOGNO(01901) "Unable to configure X.509 CRL storage",
                         file ? file : path);
    return 0;
}

/* ---- making one ---- */

int tls_proxy_ciphers(SSL_CTX *ctx, const tls_proxy_conf *conf, server_rec *s)
{
    const char *list = conf->text[TLS_PX_CIPHERS], *suites = conf->text[TLS_PX_CIPHERS13];

    if (list && !SSL_CTX_set_cipher_list(ctx, list))
        return px_failed(s, APLOGNO(01898) "Unable to configure permitted SSL ciphers", list);
    if (suites && !SSL_CTX_set_ciphersuites(ctx, suites))
        return px_failed(s, APLOGNO(10127) "Unable to configure permitted TLSv1.3 ciphers", suites);
    return 0;
}

#define DEPTH_MOST 1000 /* no chain is longer */

int tls_proxy_policy(tls_proxy_ctx *px, const tls_proxy_conf *conf, server_rec *s)
{
    const int protocols = tls_proxy_number(conf, TLS_PX_PROTOCOLS, TLS_V_ALL);
    SSL_CTX *ctx = px->ctx;

    if (!protocols)
        return px_failed(s, APLOGNO(02231) "No SSL protocols available [hint: SSLProxyProtocol]",
                         NULL);

    px->verify = tls_proxy_number(conf, TLS_PX_VERIFY, TLS_VERIFY_NONE);
    px->depth = tls_proxy_number(conf, TLS_PX_DEPTH, 1);
    if (px->depth > DEPTH_MOST)
        px->depth = DEPTH_MOST;
    px->crl_may_miss = (tls_proxy_number(conf, TLS_PX_CRL, 0) & TLS_PX_CRL_MAY_MISS) != 0;
    tls_context_protocols(ctx, protocols);
    SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_SSLv3);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(ctx, 1);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    if (px->verify != TLS_VERIFY_NONE) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, px_verified);
        SSL_CTX_set_verify_depth(ctx, px->depth + 1); /* px_verified() is exact */
    }
    if (px->machines) {
        SSL_CTX_set_cert_cb(ctx, tls_machine_choose, px);
        SSL_CTX_set_post_handshake_auth(ctx, 1);
    }
    return SSL_CTX_set_app_data(ctx, px) ? 0 : -1;
}

void tls_proxy_free(tls_proxy_ctx *px)
{
    if (!px)
        return;
    tls_machine_free(px);
    SSL_CTX_free(px->ctx);
    tls_client_trust_free(px);
    if (px->of_workers)
        SSL_CTX_free(px->of_workers->ctx); /* the rest of it is px's */
    free(px->of_workers);
    free(px);
}

static tls_proxy_ctx *px_make(const tls_proxy_conf *conf, server_rec *s)
{
    tls_proxy_ctx *px = calloc(1, sizeof *px);

    if (px) {
        px->conf = *conf;
        px->server = s;
    }
    ERR_clear_error();
    if (!px || !(px->ctx = SSL_CTX_new(TLS_client_method())))
        px_failed(s, "Unable to create a new SSL context for proxied servers", NULL);
    else if (!tls_machine_read(px, conf, s) && !tls_proxy_policy(px, conf, s) &&
             !tls_proxy_ciphers(px->ctx, conf, s) && !px_authorities(px->ctx, conf, s) &&
             !px_crls(px->ctx, conf, s) && !tls_client_trust_read(px) && !tls_client_of_workers(px))
        return px;
    tls_proxy_free(px);
    return NULL;
}

/* ---- finding one ---- */

static int conf_same(const tls_proxy_conf *a, const tls_proxy_conf *b)
{
    if (memcmp(a->number, b->number, sizeof a->number) != 0)
        return 0;
    for (int i = 0; i < TLS_PX_TEXTS; i++)
        if (a->text[i] != b->text[i] &&
            (!a->text[i] || !b->text[i] || strcmp(a->text[i], b->text[i]) != 0))
            return 0;
    return 1;
}

tls_proxy_ctx *tls_proxy_context_find(const tls_proxy_conf *conf)
{
    tls_proxy_ctx *px = atomic_load_explicit(&px_contexts, memory_order_acquire);

    while (px && (px->owner != px_owner || !conf_same(&px->conf, conf)))
        px = px->next;
    return px;
}

/* px_lock is held. */
static tls_proxy_ctx *px_add(const tls_proxy_conf *conf, server_rec *s)
{
    tls_proxy_ctx *px = px_make(conf, s);

    BRG_ASSERT_DEBUG(pthread_mutex_trylock(&px_lock) == EBUSY);
    if (!px)
        return NULL;
    px->owner = px_owner;
    px->index = px_made++;
    px->next = px_contexts;
    atomic_store_explicit(&px_contexts, px, memory_order_release);
    return px;
}

tls_proxy_ctx *tls_proxy_context(const tls_proxy_conf *conf, server_rec *s)
{
    tls_proxy_ctx *px = tls_proxy_context_find(conf);

    if (px)
        return px;
    pthread_mutex_lock(&px_lock);
    if (!(px = tls_proxy_context_find(conf)))
        px = px_add(conf, s);
    pthread_mutex_unlock(&px_lock);
    return px;
}

const tls_proxy_ctx *tls_proxy_context_next(const tls_proxy_ctx *px)
{
    px = px ? px->next : atomic_load_explicit(&px_contexts, memory_order_acquire);
    while (px && px->owner != px_owner)
        px = px->next;
    return px;
}

int tls_proxy_context_try(const tls_proxy_conf *conf, server_rec *s)
{
    tls_proxy_ctx *px = px_make(conf, s);

    tls_proxy_free(px);
    return px ? 0 : -1;
}

void tls_proxy_contexts_begin(const void *owner)
{
    px_owner = owner;
    px_made = 0;
}

void tls_proxy_contexts_forget(const void *owner)
{
    tls_proxy_ctx *px = atomic_exchange(&px_contexts, NULL), *next, *kept = NULL;

    for (; px; px = next) {
        next = px->next;
        if (px->owner == owner) {
            tls_proxy_free(px);
        } else {
            px->next = kept;
            kept = px;
        }
    }
    atomic_store(&px_contexts, kept);
}
