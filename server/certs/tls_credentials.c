/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates and keys are read as root, for a configuration and when their files change, and handed on
 * as DER: each loop makes objects of its own out of it. */
#include "tls_certificate.h"
#include "http_log.h"
#include "http_ssl.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

int tls_complaints = APLOG_EMERG;

/* ---- DER ---- */

static apr_status_t der_forget(void *data)
{
    tls_der *der = data;

    BRG_ASSERT(der->data != NULL && der->len > 0);
    OPENSSL_clear_free(der->data, (size_t)der->len);
    return APR_SUCCESS;
}

/* Takes over @a data; it is wiped with @a p. */
static tls_der *der_keep(apr_pool_t *p, unsigned char *data, int len)
{
    tls_der *der;

    if (len <= 0)
        return NULL;
    der = apr_palloc(p, sizeof *der);
    der->data = data;
    der->len = len;
    apr_pool_cleanup_register(p, der, der_forget, apr_pool_cleanup_null);
    return der;
}

static tls_der *der_of_certificate(apr_pool_t *p, X509 *x)
{
    unsigned char *data = NULL;
    int len = i2d_X509(x, &data);

    X509_free(x);
    return der_keep(p, data, len);
}

/* ---- files ---- */

static int read_failed(const tls_server_conf *sc, const char *what, const char *file)
{
    char place[TLS_PLACE_BYTES];

    ap_log_error(APLOG_MARK, tls_complaints, 0, sc->server, "%s %s (server %s)", what, file,
                 tls_place(place, sc->server));
    tls_log_errors(sc->server, tls_complaints);
    return -1;
}

/* 1 if OpenSSL found no further object, not a damaged one either. */
static int is_end_of_file(void)
{
    unsigned long error = ERR_peek_last_error();

    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

/* All certificates of a PEM file. A damaged one spoils it: the file may be written just now.
 * @return how many, -1: it cannot be read */
static int read_certificates(apr_array_header_t *to, const char *file, int most, apr_pool_t *p)
{
    BIO *in = BIO_new_file(file, "r");
    int n = 0;
    X509 *x;

    if (!in)
        return -1;
    while (n < most && (x = PEM_read_bio_X509(in, NULL, NULL, NULL)) != NULL) {
        tls_der *der = der_of_certificate(p, x);

        if (!der)
            break;
        APR_ARRAY_PUSH(to, tls_der *) = der;
        n++;
    }
    BIO_free(in);
    if (n < most && !is_end_of_file())
        return -1;
    if (n)
        ERR_clear_error();
    return n;
}

static tls_der *read_key(const tls_server_conf *sc, const char *file, int n, apr_pool_t *p,
                         apr_pool_t *ptemp)
{
    EVP_PKEY *key = tls_pass_read_key(sc, file, n, ptemp);
    unsigned char *data = NULL;
    int len = key ? i2d_PrivateKey(key, &data) : 0;

    EVP_PKEY_free(key);
    return der_keep(p, data, len);
}

static int pair_read(const tls_server_conf *sc, tls_pair *pair, int n, apr_pool_t *p,
                     apr_pool_t *ptemp)
{
    BRG_ASSERT(pair->cert_file != NULL && pair->key_file != NULL);
    pair->chain = apr_array_make(p, 3, sizeof(tls_der *));
    if (read_certificates(pair->chain, pair->cert_file, 100, p) <= 0)
        return read_failed(sc, APLOGNO(02561) "Failed to configure certificate, check",
                           pair->cert_file);
    if (sc->chain_file && read_certificates(pair->chain, sc->chain_file, 100, p) <= 0)
        return read_failed(sc, APLOGNO(01903) "Failed to configure CA certificate chain!",
                           sc->chain_file);
    if (!(pair->key = read_key(sc, pair->key_file, n, p, ptemp)))
        return read_failed(sc, APLOGNO(02577) "Init: Can't read private key, check",
                           pair->key_file);
    return 0;
}

/* 1 if the file can be read, and its key without a pass phrase. */
static int key_is_at_hand(const char *file)
{
    BIO *in = BIO_new_file(file, "r");
    int clear = 0;
    char line[256];

    while (in && !clear && BIO_gets(in, line, sizeof line) > 0) {
        if (strstr(line, "ENCRYPTED"))
            break;
        clear = !strncmp(line, "-----END", 8) && strstr(line, "PRIVATE KEY") != NULL;
    }
    BIO_free(in);
    ERR_clear_error();
    return clear;
}

int tls_credentials_are_at_hand(const tls_server_conf *sc, apr_pool_t *ptemp)
{
    const apr_array_header_t *files = sc->key_files ? sc->key_files : sc->cert_files;

    if (!sc->cert_files || !sc->cert_files->nelts)
        return 0;
    for (int i = 0; i < files->nelts; i++)
        if (!key_is_at_hand(APR_ARRAY_IDX(files, i, const char *)))
            return 0;
    return 1;
}

static apr_array_header_t *files_or_none(apr_pool_t *p, const apr_array_header_t *files)
{
    return files ? apr_array_copy(p, files) : apr_array_make(p, 1, sizeof(const char *));
}

/* sc->pairs, of the configuration's files and of the files that modules add. These may do so when
 * the configuration is complete: mod_md aborts before. */
static int credentials_files(tls_server_conf *sc, int complete, apr_pool_t *p)
{
    apr_array_header_t *certs = files_or_none(p, sc->cert_files);
    apr_array_header_t *keys = files_or_none(p, sc->key_files);

    if (complete)
        ap_ssl_add_cert_files(sc->server, p, certs, keys);
    if (complete && !certs->nelts)
        ap_ssl_add_fallback_cert_files(sc->server, p, certs, keys);
    sc->pairs = apr_array_make(p, certs->nelts + 1, sizeof(tls_pair));
    for (int i = 0; i < certs->nelts; i++) {
        tls_pair *pair = apr_array_push(sc->pairs);

        pair->cert_file = APR_ARRAY_IDX(certs, i, const char *);
        pair->key_file = i < keys->nelts ? APR_ARRAY_IDX(keys, i, const char *) : pair->cert_file;
    }
    return certs->nelts;
}

/* name, HMAC key, AES key */
static tls_der *read_ticket_key(const tls_server_conf *sc, apr_pool_t *p)
{
    unsigned char *data = OPENSSL_zalloc(TLS_TICKET_KEY + 1);
    BIO *in = BIO_new_file(sc->ticket_file, "r");
    int n = data && in ? BIO_read(in, data, TLS_TICKET_KEY + 1) : -1;

    BIO_free(in);
    if (n == TLS_TICKET_KEY)
        return der_keep(p, data, n);
    OPENSSL_clear_free(data, TLS_TICKET_KEY + 1);
    read_failed(sc,
                n < 0 ? APLOGNO(02286) "Failed to open ticket key file"
                      : APLOGNO(02287) "A ticket key file has 48 bytes, not fewer and not more:",
                sc->ticket_file);
    return NULL;
}

/* As mod_ssl, DH parameters are taken from the first certificate's file. */
static tls_der *read_dh(const char *file, apr_pool_t *p)
{
    BIO *in = BIO_new_file(file, "r");
    EVP_PKEY *params = in ? PEM_read_bio_Parameters(in, NULL) : NULL;
    unsigned char *data = NULL;
    int len = params && EVP_PKEY_is_a(params, "DH") ? i2d_KeyParams(params, &data) : 0;

    EVP_PKEY_free(params);
    BIO_free(in);
    ERR_clear_error();
    return der_keep(p, data, len);
}

apr_array_header_t *tls_credentials_read(tls_server_conf *sc, apr_pool_t *p, apr_pool_t *ptemp)
{
    apr_array_header_t *pairs = apr_array_copy(p, sc->pairs);
    tls_pair *first;

    BRG_ASSERT(pairs->nelts > 0);
    for (int i = 0; i < pairs->nelts; i++)
        if (pair_read(sc, &APR_ARRAY_IDX(pairs, i, tls_pair), i, p, ptemp))
            return NULL;
    first = &APR_ARRAY_IDX(pairs, 0, tls_pair);
    first->dh = read_dh(first->cert_file, p);
    if (sc->ticket_file && !(first->ticket = read_ticket_key(sc, p)))
        return NULL;
    return pairs;
}

apr_array_header_t *tls_credentials_first(tls_server_conf *sc, int complete, apr_pool_t *pconf,
                                          apr_pool_t *p, apr_pool_t *ptemp)
{
    if (credentials_files(sc, complete, pconf)) {
        sc->stamp = tls_exchange_stamp(sc);
        return tls_credentials_read(sc, p, ptemp);
    }
    read_failed(sc,
                APLOGNO(02240) "Server should be SSL-aware but has no certificate configured "
                               "[Hint: SSLCertificateFile]",
                "");
    return NULL;
}

static void show_file(const char *file, const char *host, apr_array_header_t *pairs, apr_pool_t *p)
{
    tls_pair pair = {.cert_file = file, .chain = apr_array_make(p, 1, sizeof(tls_der *))};
    X509 *x;

    if (read_certificates(pair.chain, file, 100, p) <= 0)
        return;
    x = host ? tls_certificate_parse(APR_ARRAY_IDX(pair.chain, 0, tls_der *), NULL) : NULL;
    if (!host || (x && X509_check_host(x, host, 0, 0, NULL) == 1))
        APR_ARRAY_PUSH(pairs, tls_pair) = pair;
    X509_free(x);
}

apr_array_header_t *tls_credentials_shown(const tls_server_conf *sc, apr_pool_t *p)
{
    apr_array_header_t *pairs = apr_array_make(p, 2, sizeof(tls_pair)), *managed;

    for (int i = 0; sc->cert_files && i < sc->cert_files->nelts; i++)
        show_file(APR_ARRAY_IDX(sc->cert_files, i, const char *), NULL, pairs, p);
    if (!sc->cert_files && sc->server->server_hostname) { /* mod_md gives it some at the start */
        managed = tls_staged_certificates(p);
        for (int i = 0; i < managed->nelts; i++)
            show_file(APR_ARRAY_IDX(managed, i, const char *), sc->server->server_hostname, pairs,
                      p);
    }
    for (int i = 0; sc->chain_file && i < pairs->nelts; i++)
        (void)read_certificates(APR_ARRAY_IDX(pairs, i, tls_pair).chain, sc->chain_file, 100, p);
    ERR_clear_error();
    return pairs;
}
