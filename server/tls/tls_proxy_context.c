/* SPDX-License-Identifier: Apache-2.0 */
/* SSL_CTXs for connections to other servers. Making one is dear (authorities are parsed), and settings
 * are merged for each request, so contexts are found by what the settings say. Those of servers and of
 * <Proxy> sections are made while the configuration is read, as root. */
#include "tls_context_private.h"
#include "tls_proxy_private.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <errno.h>
#include <openssl/err.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

static tls_proxy_ctx *px_contexts;
static const void *px_owner;
static pthread_mutex_t px_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- verification ---- */

static int px_verified(int ok, X509_STORE_CTX *store)
{
    const SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    const tls_proxy_ctx *px = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    const conn_rec *c = SSL_get_app_data(ssl);
    int error = X509_STORE_CTX_get_error(store), depth = X509_STORE_CTX_get_error_depth(store);

    BRG_ASSERT(c && px->verify != TLS_VERIFY_NONE); /* px_policy() */
    if (!ok &&
        tls_clients_forgive(store, px->verify == TLS_VERIFY_OPTIONAL_NO_CA, px->crl_may_miss)) {
        X509_STORE_CTX_set_error(store, X509_V_OK);
        ok = 1;
    }
    if (!ok)
        ap_log_cerror(APLOG_MARK, APLOG_INFO, 0, c,
                      APLOGNO(02276) "Certificate Verification: Error (%d): %s", error,
                      X509_verify_cert_error_string(error));
    if (depth <= px->depth)
        return ok;
    ap_log_cerror(APLOG_MARK, APLOG_INFO, 0, c,
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
    if (tls_clients_revocations(store, file, path, mode & TLS_PX_CRL_CHAIN))
        return px_failed(s, APLOGNO(01901) "Unable to configure X.509 CRL storage",
                         file ? file : path);
    return 0;
}

/* ---- making one ---- */

static int px_ciphers(SSL_CTX *ctx, const tls_proxy_conf *conf, server_rec *s)
{
    const char *list = conf->text[TLS_PX_CIPHERS], *suites = conf->text[TLS_PX_CIPHERS13];

    if (list && !SSL_CTX_set_cipher_list(ctx, list))
        return px_failed(s, APLOGNO(01898) "Unable to configure permitted SSL ciphers", list);
    if (suites && !SSL_CTX_set_ciphersuites(ctx, suites))
        return px_failed(s, APLOGNO(10127) "Unable to configure permitted TLSv1.3 ciphers", suites);
    return 0;
}

#define DEPTH_MOST 1000 /* no chain is longer */

static int px_policy(tls_proxy_ctx *px, const tls_proxy_conf *conf, server_rec *s)
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

static void px_free(tls_proxy_ctx *px)
{
    if (!px)
        return;
    tls_machine_free(px);
    SSL_CTX_free(px->ctx);
    free(px->key);
    free(px);
}

static tls_proxy_ctx *px_make(const tls_proxy_conf *conf, server_rec *s)
{
    tls_proxy_ctx *px = calloc(1, sizeof *px);

    ERR_clear_error();
    if (!px || !(px->ctx = SSL_CTX_new(TLS_client_method())))
        px_failed(s, "Unable to create a new SSL context for proxied servers", NULL);
    else if (!tls_machine_read(px, conf, s) && !px_policy(px, conf, s) &&
             !px_ciphers(px->ctx, conf, s) && !px_authorities(px->ctx, conf, s) &&
             !px_crls(px->ctx, conf, s))
        return px;
    px_free(px);
    return NULL;
}

/* ---- finding one ---- */

static char *px_key(const tls_proxy_conf *conf)
{
    size_t size = TLS_PX_NUMBERS * 12 + 1, at = 0;
    char *key;

    for (int i = 0; i < TLS_PX_TEXTS; i++)
        size += conf->text[i] ? strlen(conf->text[i]) + 2 : 1;
    if (!(key = malloc(size)))
        return NULL;
    for (int i = 0; i < TLS_PX_NUMBERS; i++)
        at += (size_t)apr_snprintf(key + at, size - at, "%d ", conf->number[i]);
    for (int i = 0; i < TLS_PX_TEXTS; i++)
        at += (size_t)apr_snprintf(key + at, size - at, "%s%s\n", conf->text[i] ? "=" : "",
                                   conf->text[i] ? conf->text[i] : "");
    BRG_ASSERT(at < size);
    return key;
}

/* px_lock is held. Takes over @a key. */
static tls_proxy_ctx *px_find(char *key, const tls_proxy_conf *conf, server_rec *s)
{
    tls_proxy_ctx *px = px_contexts;

    BRG_ASSERT_DEBUG(pthread_mutex_trylock(&px_lock) == EBUSY);
    while (px && (px->owner != px_owner || strcmp(px->key, key)))
        px = px->next;
    if (px || !(px = px_make(conf, s))) {
        free(key);
        return px;
    }
    px->key = key;
    px->owner = px_owner;
    px->next = px_contexts;
    px_contexts = px;
    return px;
}

tls_proxy_ctx *tls_proxy_context(const tls_proxy_conf *conf, server_rec *s)
{
    char *key = px_key(conf);
    tls_proxy_ctx *px;

    if (!key)
        return NULL;
    pthread_mutex_lock(&px_lock);
    px = px_find(key, conf, s);
    pthread_mutex_unlock(&px_lock);
    return px;
}

int tls_proxy_context_try(const tls_proxy_conf *conf, server_rec *s)
{
    tls_proxy_ctx *px = px_make(conf, s);

    px_free(px);
    return px ? 0 : -1;
}

void tls_proxy_contexts_begin(const void *owner)
{
    px_owner = owner;
}

void tls_proxy_contexts_forget(const void *owner)
{
    tls_proxy_ctx **at = &px_contexts;

    while (*at) {
        tls_proxy_ctx *px = *at;

        if (px->owner == owner) {
            *at = px->next;
            px_free(px);
        } else {
            at = &px->next;
        }
    }
}
