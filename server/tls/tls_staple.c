/* SPDX-License-Identifier: Apache-2.0 */
/* OCSP responses sent with the certificate. Modules fetch and keep them (mod_md: MDStapling); this
 * file tells them of the certificates and asks them in handshakes. A loop keeps modules' answers
 * for a while, since they take a lock. */
#include "tls_certificate.h"
#include "tls_context_private.h"
#include "tls_setup.h"
#include "connection.h"
#include "http_config.h"
#include "http_log.h"
#include "http_ssl.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

#define STAPLE_KEEP (60 * APR_USEC_PER_SEC)
#define STAPLE_MOST (64 * 1024)
#define STAPLE_ID 20

typedef struct tls_staple {
    struct tls_staple *next;
    unsigned char id[STAPLE_ID]; /* by which modules know the certificate, as mod_ssl has it */
    apr_time_t until;            /* of the loop's clock */
    unsigned char *der;
    int len;
} tls_staple;

/* ---- while the configuration is read ---- */

static int staple_has_responder(X509 *x)
{
    STACK_OF(OPENSSL_STRING) *urls = X509_get1_ocsp(x);
    int has = urls && sk_OPENSSL_STRING_num(urls) > 0;

    X509_email_free(urls);
    return has;
}

static int staple_file_has_responder(const char *file, apr_pool_t *p)
{
    const char *name = ap_server_root_relative(p, file);
    BIO *in = name ? BIO_new_file(name, "r") : NULL;
    X509 *x = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;
    int has = x && staple_has_responder(x);

    X509_free(x);
    BIO_free(in);
    ERR_clear_error();
    return has;
}

int tls_staple_is_wanted(const ap_directive_t *node, apr_pool_t *p)
{
    for (; node; node = node->next) {
        const char *args = node->args;

        if (!ap_cstr_casecmp(node->directive, "SSLCertificateFile") &&
            staple_file_has_responder(ap_getword_conf(p, &args), p))
            return 1;
        if (tls_staple_is_wanted(node->first_child, p))
            return 1;
    }
    return 0;
}

/* ---- which certificates ---- */

static const char *staple_pem(const tls_pair *pair, apr_pool_t *p)
{
    const char *pem = "";

    for (int i = 0; i < pair->chain->nelts; i++) {
        X509 *x = tls_certificate_parse(APR_ARRAY_IDX(pair->chain, i, const tls_der *), NULL);
        const char *one = x ? tls_vars_pem(p, x) : NULL;

        X509_free(x);
        if (!one)
            return NULL;
        pem = apr_pstrcat(p, pem, one, NULL);
    }
    return pem;
}

static void staple_tell(const tls_server_conf *sc, const tls_pair *pair, int has, apr_pool_t *p)
{
    if (!has)
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, sc->server,
                     APLOGNO(02218) "the certificate of %s names no OCSP responder: nothing to "
                                    "staple (%s)",
                     tls_server_label(sc, p), pair->cert_file);
    else
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, sc->server,
                     "no module staples OCSP responses for %s (%s): \"MDStapling on\" and "
                     "\"MDStapleOthers on\" of mod_md do",
                     tls_server_label(sc, p), pair->cert_file);
}

static void staple_prime(tls_server_conf *sc, const tls_pair *pair, apr_pool_t *p,
                         apr_pool_t *ptemp)
{
    X509 *x = tls_certificate_parse(APR_ARRAY_IDX(pair->chain, 0, const tls_der *), NULL);
    const char *pem = staple_pem(pair, ptemp);
    unsigned char id[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    if (x && pem && X509_digest(x, EVP_sha1(), id, &n) &&
        ap_ssl_ocsp_prime(sc->server, p, (const char *)id, n, pem) == APR_SUCCESS)
        sc->stapled = 1;
    else if (x && sc->stapling == 1)
        staple_tell(sc, pair, staple_has_responder(x), ptemp);
    X509_free(x);
}

void tls_staple_begin(tls_server_conf *sc, const apr_array_header_t *pairs, apr_pool_t *p,
                      apr_pool_t *ptemp)
{
    sc->stapled = 0;
    for (int i = 0; i < pairs->nelts; i++)
        staple_prime(sc, &APR_ARRAY_IDX(pairs, i, tls_pair), p, ptemp);
}

/* ---- in a handshake ---- */

static tls_staple *staple_of(tls_loop *loop, const unsigned char *id)
{
    tls_staple *st = loop->staples;

    while (st && memcmp(st->id, id, STAPLE_ID) != 0)
        st = st->next;
    if (st || !(st = calloc(1, sizeof *st)))
        return st;
    memcpy(st->id, id, STAPLE_ID);
    st->next = loop->staples;
    loop->staples = st;
    return st;
}

static void staple_take(const unsigned char *der, apr_size_t len, void *data)
{
    tls_staple *st = data;

    free(st->der);
    st->der = len && len <= STAPLE_MOST ? malloc(len) : NULL;
    st->len = st->der ? (int)len : 0;
    if (st->der)
        memcpy(st->der, der, len);
    BRG_ASSERT(!st->der == !st->len);
}

static void staple_ask(tls_conn *t, tls_staple *st)
{
    int attached = !t->bc->c;

    BRG_ASSERT(loop_self() == t->bc->loop && st->until <= t->bc->loop->monotonic);
    st->until = t->bc->loop->monotonic + STAPLE_KEEP;
    if (attached && connection_attach(t->bc) != APR_SUCCESS)
        return;
    if (ap_ssl_ocsp_get_resp(t->server, t->bc->c, (const char *)st->id, STAPLE_ID, staple_take,
                             st) != APR_SUCCESS ||
        !st->len)
        st->until = t->bc->loop->monotonic + APR_USEC_PER_SEC; /* it may be on its way */
    if (attached)
        connection_detach(t->bc);
}

void tls_staple_fetch(tls_conn *t, const X509 *x)
{
    unsigned char id[EVP_MAX_MD_SIZE], *copy;
    unsigned n = 0;
    tls_staple *st;

    BRG_ASSERT(loop_self() == t->bc->loop);
    if (!X509_digest(x, EVP_sha1(), id, &n) || n != STAPLE_ID || !(st = staple_of(t->loop, id)))
        return;
    if (st->until <= t->bc->loop->monotonic)
        staple_ask(t, st);
    if (st->len && (copy = OPENSSL_memdup(st->der, (size_t)st->len)) != NULL)
        SSL_set_tlsext_status_ocsp_resp(t->ssl, copy, st->len);
}

int tls_staple_status(SSL *ssl, void *unused)
{
    tls_conn *t = SSL_get_app_data(ssl);
    const X509 *x = SSL_get_certificate(ssl);
    const unsigned char *der;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    /* A later handshake of a connection may run on a worker, and the list is the loop's. It has no bound, so none of names
     * that clients say. */
    if (t->established || !x || t->own_cert)
        return SSL_TLSEXT_ERR_NOACK;
    if (!t->signs)
        tls_staple_fetch(t, x);
    else if (x != SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)))
        return SSL_TLSEXT_ERR_NOACK; /* the fetched response is for another certificate */
    return SSL_get_tlsext_status_ocsp_resp(ssl, &der) > 0 ? SSL_TLSEXT_ERR_OK
                                                          : SSL_TLSEXT_ERR_NOACK;
}

void tls_staple_end(tls_loop *loop)
{
    tls_staple *st;

    while ((st = loop->staples) != NULL) {
        loop->staples = st->next;
        free(st->der);
        free(st);
    }
}
