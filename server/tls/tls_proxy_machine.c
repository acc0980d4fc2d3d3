/* SPDX-License-Identifier: Apache-2.0 */
/* SSLProxyMachineCertificate*: certificates that this server shows to others that ask for one. */
#include "tls_proxy_private.h"
#include "http_log.h"
#include "apr_file_info.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

/* ---- files ---- */

static int machine_add(tls_proxy_ctx *px, X509 *x, EVP_PKEY *key)
{
    tls_machine *more = realloc(px->machine, (size_t)(px->machines + 1) * sizeof *more);

    if (!more)
        return -1;
    px->machine = more;
    X509_up_ref(x);
    EVP_PKEY_up_ref(key);
    more[px->machines++] = (tls_machine){.x = x, .key = key};
    return 0;
}

static int machine_failed(server_rec *s, const char *what, const char *file)
{
    ap_log_error(APLOG_MARK, APLOG_EMERG, 0, s, "%s (%s)", what, file);
    tls_log_errors(s, APLOG_EMERG);
    return -1;
}

static int machine_info(tls_proxy_ctx *px, const X509_INFO *info, const char *file, server_rec *s)
{
    EVP_PKEY *key = info->x_pkey ? info->x_pkey->dec_pkey : NULL;

    if (!info->x509 && !info->x_pkey)
        return 0; /* a CRL */
    if (!info->x509 || !key || info->enc_data)
        return machine_failed(s,
                              APLOGNO(02252) "incomplete client cert configured for SSL proxy "
                                             "(missing or encrypted private key?)",
                              file);
    if (X509_check_private_key(info->x509, key) != 1)
        return machine_failed(
            s, APLOGNO(02326) "proxy client certificate and private key do not match", file);
    return machine_add(px, info->x509, key);
}

/* Certificates, each with its key beside it. */
static int machine_file(tls_proxy_ctx *px, const char *file, server_rec *s)
{
    BIO *in = BIO_new_file(file, "r");
    STACK_OF(X509_INFO) *all = in ? PEM_X509_INFO_read_bio(in, NULL, NULL, NULL) : NULL;
    int failed = 0;

    BIO_free(in);
    if (!all)
        return machine_failed(s, "SSLProxyMachineCertificateFile cannot be read", file);
    for (int i = 0; !failed && i < sk_X509_INFO_num(all); i++)
        failed = machine_info(px, sk_X509_INFO_value(all, i), file, s);
    sk_X509_INFO_pop_free(all, X509_INFO_free);
    ERR_clear_error();
    return failed;
}

static int machine_folder(tls_proxy_ctx *px, const char *path, server_rec *s)
{
    apr_pool_t *p;
    apr_dir_t *dir;
    apr_finfo_t info;
    int failed = 0;

    apr_pool_create(&p, NULL);
    if (apr_dir_open(&dir, path, p) != APR_SUCCESS) {
        apr_pool_destroy(p);
        return machine_failed(s, "SSLProxyMachineCertificatePath cannot be read", path);
    }
    while (!failed && apr_dir_read(&info, APR_FINFO_TYPE | APR_FINFO_NAME, dir) == APR_SUCCESS)
        if (info.filetype != APR_DIR && *info.name != '.')
            failed = machine_file(px, apr_pstrcat(p, path, "/", info.name, NULL), s);
    apr_dir_close(dir);
    apr_pool_destroy(p);
    return failed;
}

/* ---- chains ---- */

static STACK_OF(X509) * chain_file(const char *file)
{
    STACK_OF(X509) *all = sk_X509_new_null();
    BIO *in = BIO_new_file(file, "r");
    X509 *x;

    while (in && all && (x = PEM_read_bio_X509(in, NULL, NULL, NULL)) != NULL)
        if (!sk_X509_push(all, x))
            X509_free(x);
    BIO_free(in);
    ERR_clear_error();
    return all;
}

static X509 *chain_issuer(const STACK_OF(X509) * all, X509 *of)
{
    for (int i = 0; i < sk_X509_num(all); i++)
        if (X509_check_issued(sk_X509_value(all, i), of) == X509_V_OK)
            return sk_X509_value(all, i);
    return NULL;
}

/* Issuers up to the root, which is left out. */
static int chain_of(tls_machine *m, const STACK_OF(X509) * all)
{
    X509 *issuer = m->x;

    BRG_ASSERT(m->x && m->key && !m->chain);
    if (!(m->chain = sk_X509_new_null()))
        return -1;
    for (int i = 0; i < 20; i++) {
        if (!(issuer = chain_issuer(all, issuer)) || X509_check_issued(issuer, issuer) == X509_V_OK)
            return 0;
        X509_up_ref(issuer);
        if (!sk_X509_push(m->chain, issuer)) {
            X509_free(issuer);
            return -1;
        }
    }
    return 0;
}

static int machine_chains(tls_proxy_ctx *px, const char *file, server_rec *s)
{
    STACK_OF(X509) *all = chain_file(file);
    int failed = 0;

    BRG_ASSERT(px->machines > 0);
    if (!sk_X509_num(all))
        failed = machine_failed(
            s, "SSLProxyMachineCertificateChainFile has no certificate, or cannot be read", file);
    for (int i = 0; !failed && i < px->machines; i++)
        failed = chain_of(&px->machine[i], all);
    sk_X509_pop_free(all, X509_free);
    return failed;
}

int tls_machine_read(tls_proxy_ctx *px, const tls_proxy_conf *conf, server_rec *s)
{
    const char *file = conf->text[TLS_PX_CERT_FILE], *path = conf->text[TLS_PX_CERT_PATH];
    const char *chain = conf->text[TLS_PX_CHAIN_FILE];

    BRG_ASSERT(!px->machine && !px->machines);
    if (!file && !path)
        return 0;
    if ((file && machine_file(px, file, s)) || (path && machine_folder(px, path, s)))
        return -1;
    if (!px->machines)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     APLOGNO(02206) "no client certs found for SSL proxy");
    return chain && px->machines ? machine_chains(px, chain, s) : 0;
}

void tls_machine_free(tls_proxy_ctx *px)
{
    for (int i = 0; i < px->machines; i++) {
        X509_free(px->machine[i].x);
        EVP_PKEY_free(px->machine[i].key);
        sk_X509_pop_free(px->machine[i].chain, X509_free);
    }
    free(px->machine);
    px->machine = NULL;
    px->machines = 0;
}

/* ---- the choice ---- */

static int names_have(const STACK_OF(X509_NAME) * names, const X509 *x)
{
    const X509_NAME *issuer = X509_get_issuer_name(x);

    for (int i = 0; i < sk_X509_NAME_num(names); i++)
        if (!X509_NAME_cmp(sk_X509_NAME_value(names, i), issuer))
            return 1;
    return 0;
}

static int machine_fits(const tls_machine *m, const STACK_OF(X509_NAME) * names)
{
    if (sk_X509_NAME_num(names) <= 0 || names_have(names, m->x))
        return 1; /* the server names no authorities, or this one */
    for (int i = 0; m->chain && i < sk_X509_num(m->chain); i++)
        if (names_have(names, sk_X509_value(m->chain, i)))
            return 1;
    return 0;
}

static int machine_use(SSL *ssl, const tls_machine *m)
{
    int ok = SSL_use_certificate(ssl, m->x) == 1 && SSL_use_PrivateKey(ssl, m->key) == 1;

    for (int i = 0; ok && m->chain && i < sk_X509_num(m->chain); i++)
        ok = SSL_add1_chain_cert(ssl, sk_X509_value(m->chain, i)) == 1;
    return ok;
}

int tls_machine_choose(SSL *ssl, void *data)
{
    const tls_proxy_ctx *px = data;
    const conn_rec *c;
    const STACK_OF(X509_NAME) *names = SSL_get0_peer_CA_list(ssl);

    BRG_ASSERT(px->machines > 0);
    if (SSL_get_certificate(ssl))
        return 1; /* asked for once more */
    for (int i = 0; i < px->machines; i++)
        if (machine_fits(&px->machine[i], names))
            return machine_use(ssl, &px->machine[i]);
    if (!APLOG_IS_LEVEL(px->server, APLOG_DEBUG) || !(c = tls_proxy_blamed(ssl, 0, NULL)))
        return 1;
    ap_log_cerror(APLOG_MARK, APLOG_DEBUG, 0, c,
                  APLOGNO(02270) "Proxy client certificate callback: (%s:%d) no client certificate "
                                 "found!?",
                  c->base_server->server_hostname ? c->base_server->server_hostname : "",
                  c->base_server->port);
    return 1;
}
