/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of SSLProxy* for event loops. A loop has an SSL_CTX of its own for each, in its own
 * OSSL_LIB_CTX, with copies of certificates, revocation lists and keys: so loops share no lock of
 * OpenSSL. They are made of data read with the configuration, since a server process may read no
 * such files, and a loop none at all: folders of certificates, which OpenSSL looks into in the
 * middle of a handshake, are read in advance, too. */
#include "tls_client.h"
#include "tls_context_private.h"
#include "tls_proxy_private.h"
#include "http_log.h"
#include "apr_file_info.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

#define CLIENT_SESSION_SECONDS 300 /* as of servers, where nothing is said */

/* ---- data read with the configuration ---- */

static int trust_certificate(tls_proxy_ctx *px, X509 *x)
{
    if (x && X509_up_ref(x) && sk_X509_push(px->authorities, x))
        return 0;
    X509_free(x);
    return -1;
}

static int trust_revocation(tls_proxy_ctx *px, X509_CRL *crl)
{
    if (crl && X509_CRL_up_ref(crl) && sk_X509_CRL_push(px->revocations, crl))
        return 0;
    X509_CRL_free(crl);
    return -1;
}

/* Of files: OpenSSL has read those. */
static int trust_files(tls_proxy_ctx *px)
{
    const STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(px->ctx));
    int failed = 0;

    for (int i = 0; !failed && i < sk_X509_OBJECT_num(all); i++) {
        const X509_OBJECT *o = sk_X509_OBJECT_value(all, i);

        if (X509_OBJECT_get_type(o) == X509_LU_X509)
            failed = trust_certificate(px, X509_OBJECT_get0_X509(o));
        else if (X509_OBJECT_get_type(o) == X509_LU_CRL)
            failed = trust_revocation(px, X509_OBJECT_get0_X509_CRL(o));
    }
    return failed;
}

/* HASH.N or HASH.rN, as OpenSSL looks for them */
static int trust_is_named(const char *name)
{
    for (int i = 0; i < 8; i++)
        if (!apr_isxdigit(name[i]) || apr_isupper(name[i]))
            return 0;
    if (name[8] != '.')
        return 0;
    name += name[9] == 'r' ? 10 : 9;
    return *name && !name[strspn(name, "0123456789")];
}

static int trust_file(tls_proxy_ctx *px, const char *file)
{
    BIO *in = BIO_new_file(file, "r");
    STACK_OF(X509_INFO) *all = in ? PEM_X509_INFO_read_bio(in, NULL, NULL, NULL) : NULL;
    int failed = 0;

    BIO_free(in);
    for (int i = 0; !failed && i < sk_X509_INFO_num(all); i++) {
        const X509_INFO *info = sk_X509_INFO_value(all, i);

        failed = (info->x509 && trust_certificate(px, info->x509)) ||
                 (info->crl && trust_revocation(px, info->crl));
    }
    sk_X509_INFO_pop_free(all, X509_INFO_free);
    ERR_clear_error(); /* a file that cannot be read has nothing, as with OpenSSL */
    return failed;
}

static int trust_folder(tls_proxy_ctx *px, const char *path)
{
    apr_pool_t *p;
    apr_dir_t *dir;
    apr_finfo_t info;
    int failed = 0;

    apr_pool_create(&p, NULL);
    if (apr_dir_open(&dir, path, p) == APR_SUCCESS)
        while (!failed && apr_dir_read(&info, APR_FINFO_NAME, dir) == APR_SUCCESS)
            if (trust_is_named(info.name))
                failed = trust_file(px, apr_pstrcat(p, path, "/", info.name, NULL));
    apr_pool_destroy(p);
    return failed;
}

int tls_client_trust_read(tls_proxy_ctx *px)
{
    const char *path = px->conf.text[TLS_PX_CA_PATH], *crls = px->conf.text[TLS_PX_CRL_PATH];
    const int checks = tls_proxy_number(&px->conf, TLS_PX_CRL, 0);

    BRG_ASSERT(!px->authorities && !px->revocations && !px->loop);
    if (!(px->authorities = sk_X509_new_null()) || !(px->revocations = sk_X509_CRL_new_null()) ||
        trust_files(px))
        return -1;
    if (path && trust_folder(px, path))
        return -1;
    return crls && checks && (!path || strcmp(path, crls) != 0) && trust_folder(px, crls) ? -1 : 0;
}

void tls_client_trust_free(tls_proxy_ctx *px)
{
    sk_X509_pop_free(px->authorities, X509_free);
    sk_X509_CRL_pop_free(px->revocations, X509_CRL_free);
}

/* ---- a loop's ---- */

/* Another object with the same bytes, whose algorithms are the loop's. */
static X509 *here_certificate(const tls_loop *l, const X509 *of)
{
    unsigned char *der = NULL;
    int len = i2d_X509(of, &der);
    const unsigned char *at = der;
    X509 *x = len > 0 ? X509_new_ex(l->lib, NULL) : NULL;

    if (x && !d2i_X509(&x, &at, len))
        x = NULL; /* and it is freed */
    OPENSSL_free(der);
    return x;
}

static X509_CRL *here_revocation(const tls_loop *l, const X509_CRL *of)
{
    unsigned char *der = NULL;
    int len = i2d_X509_CRL(of, &der);
    const unsigned char *at = der;
    X509_CRL *crl = len > 0 ? X509_CRL_new_ex(l->lib, NULL) : NULL;

    if (crl && !d2i_X509_CRL(&crl, &at, len))
        crl = NULL;
    OPENSSL_free(der);
    return crl;
}

static EVP_PKEY *here_key(const tls_loop *l, const EVP_PKEY *of)
{
    unsigned char *der = NULL;
    int len = i2d_PrivateKey(of, &der);
    const unsigned char *at = der;
    EVP_PKEY *key = len > 0 ? d2i_AutoPrivateKey_ex(NULL, &at, len, l->lib, NULL) : NULL;

    if (len > 0)
        OPENSSL_clear_free(der, (size_t)len);
    return key;
}

static int here_trust(const tls_loop *l, const tls_proxy_ctx *here, const tls_proxy_ctx *px)
{
    X509_STORE *store = SSL_CTX_get_cert_store(here->ctx);
    int ok = X509_STORE_set1_param(
        /* CRLs: which certificates */
        store, X509_STORE_get0_param(SSL_CTX_get_cert_store(px->ctx)));

    for (int i = 0; ok && i < sk_X509_num(px->authorities); i++) {
        X509 *x = here_certificate(l, sk_X509_value(px->authorities, i));

        ok = x && X509_STORE_add_cert(store, x);
        X509_free(x);
    }
    for (int i = 0; ok && i < sk_X509_CRL_num(px->revocations); i++) {
        X509_CRL *crl = here_revocation(l, sk_X509_CRL_value(px->revocations, i));

        ok = crl && X509_STORE_add_crl(store, crl);
        X509_CRL_free(crl);
    }
    return ok ? 0 : -1;
}

static int here_machine(const tls_loop *l, tls_machine *m, const tls_machine *of)
{
    m->x = here_certificate(l, of->x);
    m->key = here_key(l, of->key);
    m->chain = of->chain ? sk_X509_new_null() : NULL;
    for (int i = 0; m->chain && i < sk_X509_num(of->chain); i++) {
        X509 *x = here_certificate(l, sk_X509_value(of->chain, i));

        if (!x || !sk_X509_push(m->chain, x)) {
            X509_free(x);
            return -1;
        }
    }
    return m->x && m->key && (m->chain || !of->chain) ? 0 : -1;
}

static int here_machines(const tls_loop *l, tls_proxy_ctx *here, const tls_proxy_ctx *px)
{
    if (!px->machines)
        return 0;
    if (!(here->machine = calloc((size_t)px->machines, sizeof *here->machine)))
        return -1;
    for (; here->machines < px->machines; here->machines++)
        if (here_machine(l, &here->machine[here->machines], &px->machine[here->machines])) {
            here->machines++; /* a half-made one is freed, too */
            return -1;
        }
    return 0;
}

static int here_context(tls_proxy_ctx *here, server_rec *s)
{
    SSL_CTX *ctx = here->ctx;

    BRG_ASSERT(here->of_conns);
    if (tls_proxy_policy(here, &here->conf, s) || tls_proxy_ciphers(ctx, &here->conf, s))
        return -1;
    SSL_CTX_set_read_ahead(ctx, 0);                         /* tls_bio.c: no more than it needs */
    SSL_CTX_set_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF); /* tls_client_was_closed() */
    SSL_CTX_set_msg_callback(ctx, tls_keys_count);
    SSL_CTX_set_info_callback(ctx, tls_asked);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_set_timeout(ctx, CLIENT_SESSION_SECONDS);
    SSL_CTX_sess_set_new_cb(ctx, tls_client_session_new);
    return 0;
}

static tls_proxy_ctx *here_make(tls_loop *l, const tls_proxy_ctx *px)
{
    tls_proxy_ctx *here = calloc(1, sizeof *here);

    ERR_clear_error();
    if (here) {
        here->conf = px->conf;
        here->server = px->server;
        here->index = px->index;
        here->loop = l;
        here->of_conns = 1;
        here->ctx = SSL_CTX_new_ex(l->lib, NULL, TLS_client_method());
        if (here->ctx && !here_machines(l, here, px) && !here_context(here, px->server) &&
            !here_trust(l, here, px))
            return here;
        tls_proxy_free(here);
    }
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, px->server,
                 "TLS: no memory for a context of proxied servers");
    tls_log_errors(px->server, APLOG_ERR);
    return NULL;
}

tls_proxy_ctx *tls_client_here(tls_loop *l, const tls_proxy_ctx *px)
{
    BRG_ASSERT(px->index >= 0 && !px->loop);
    if (px->index >= l->clients_n) {
        tls_proxy_ctx **more = realloc(l->clients, (size_t)(px->index + 1) * sizeof(*more));

        if (!more)
            return NULL;
        memset(more + l->clients_n, 0, (size_t)(px->index + 1 - l->clients_n) * sizeof(*more));
        l->clients = more;
        l->clients_n = px->index + 1;
    }
    if (!l->clients[px->index])
        l->clients[px->index] = here_make(l, px);
    return l->clients[px->index];
}

/* All workers share it, with OpenSSL's locks: they may wait. It shares px's data, which lives
 * longer. */
int tls_client_of_workers(tls_proxy_ctx *px)
{
    tls_proxy_ctx *all = calloc(1, sizeof *all);

    BRG_ASSERT(!px->of_workers);
    px->of_workers = all;
    if (!all || !(all->ctx = SSL_CTX_new(TLS_client_method())))
        return -1;
    all->conf = px->conf;
    all->server = px->server;
    all->machine = px->machine;
    all->machines = px->machines;
    all->of_conns = 1;
    SSL_CTX_set1_cert_store(all->ctx, SSL_CTX_get_cert_store(px->ctx));
    return here_context(all, px->server);
}

void tls_client_loop_begin(tls_loop *l)
{
    for (const tls_proxy_ctx *px = NULL; (px = tls_proxy_context_next(px)) != NULL;)
        if (px->asked)
            (void)tls_client_here(l, px); /* tried again if it fails now */
}

void tls_client_loop_end(tls_loop *l)
{
    for (int i = 0; i < l->clients_n; i++)
        tls_proxy_free(l->clients[i]);
    free(l->clients);
    l->clients = NULL;
    l->clients_n = 0;
}

/* ---- look-ups ---- */

/* NULL also where the module is another one than ours. A section that says nothing of TLS has no settings. */
static const tls_proxy_conf *client_conf(const server_rec *s, const struct ap_conf_vector_t *dir)
{
    const tls_proxy_conf *conf;

    if (ssl_module.module_index < 0)
        return NULL;
    conf = tls_proxy_conf_of(dir);
    return conf ? conf : tls_proxy_conf_of(s->lookup_defaults);
}

int tls_client_records_are_ours(void)
{
    static int known = -1; /* of this OpenSSL, for good */

    if (known < 0)
        known = tls_selftest_client(NULL);
    return known;
}

const tls_client_context *tls_client_context_make(apr_pool_t *p, server_rec *s,
                                                  struct ap_conf_vector_t *section)
{
    const tls_proxy_conf *conf;
    tls_proxy_ctx *px;

    if (section && ssl_module.module_index >= 0)
        (void)tls_proxy_section(p, s, section);
    conf = client_conf(s, section);
    px = tls_proxy_is_on(conf) ? tls_proxy_context(conf, s) : NULL;
    if (!px || tls_setup_clients(s))
        return NULL;
    (void)tls_client_records_are_ours(); /* not in the middle of a loop's turn */
    px->asked = 1;
    return px;
}

const tls_client_context *tls_client_context_of(const server_rec *s,
                                                const struct ap_conf_vector_t *dir)
{
    const tls_proxy_conf *conf = client_conf(s, dir);

    return tls_proxy_is_on(conf) ? tls_proxy_context_find(conf) : NULL;
}
