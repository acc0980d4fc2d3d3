/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a virtual host with TLS names. The first byte chooses which of them has these bytes: the ticket key
 * file, the certificate's file (with chain, DH parameters and key), or a certificate alone as DER. What is taken can be
 * put into the store and comes out of it the same; what a certificate says ends.
 * Covers: server/tls/tls_credentials.c server/tls/tls_certificate.c server/tls/tls_store.c
 */
#include "tls_certificate.h"
#include "tls_context_private.h"
#include "http_log.h"
#include "test_config.h"
#include "apr_strings.h"
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *good_file; /* a certificate with its key */

static void check(int right)
{
    if (!right)
        abort();
}

static void good_make(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    BIO *out = BIO_new(BIO_s_mem());
    char *text;

    check(key && ASN1_INTEGER_set(X509_get_serialNumber(x), 1) &&
          X509_gmtime_adj(X509_getm_notBefore(x), -100) &&
          X509_gmtime_adj(X509_getm_notAfter(x), 10000) && X509_set_pubkey(x, key) &&
          X509_sign(x, key, EVP_sha256()) && PEM_write_bio_X509(out, x) &&
          PEM_write_bio_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) &&
          BIO_write(out, "", 1) == 1);
    BIO_get_mem_data(out, &text);
    good_file = test_config_file("good.pem", text);
    BIO_free(out);
    X509_free(x);
    EVP_PKEY_free(key);
}

static void begin_once(void)
{
    if (good_file)
        return;
    check(!test_config_setup(NULL) && test_config_read(""));
    tls_complaints = APLOG_DEBUG;
    tls_pass_serve(); /* nobody is asked for a pass phrase */
    good_make();
}

static void same_pair(const tls_pair *a, const tls_pair *b)
{
    check(!strcmp(a->cert_file, b->cert_file) && !strcmp(a->key_file, b->key_file));
    check(a->key->len == b->key->len && !memcmp(a->key->data, b->key->data, (size_t)a->key->len));
    check(a->chain->nelts == b->chain->nelts && !a->dh == !b->dh && !a->ticket == !b->ticket);
}

static void through_the_store(const apr_array_header_t *pairs, apr_pool_t *p)
{
    tls_stored stored;

    check(!tls_store_begin(p, 1));
    if (tls_store_put(0, pairs))
        return; /* too large */
    check(tls_store_has(0, pairs) && !tls_store_get(0, p, &stored) &&
          stored.pairs->nelts == pairs->nelts);
    for (int i = 0; i < pairs->nelts; i++)
        same_pair(&APR_ARRAY_IDX(pairs, i, tls_pair), &APR_ARRAY_IDX(stored.pairs, i, tls_pair));
}

static void say(const tls_pair *pair, apr_pool_t *p)
{
    static const char *const what[] = {
        "S_DN",      "I_DN",        "V_START", "V_END", "V_REMAIN",          "A_KEY", "M_SERIAL",
        "SAN_DNS_0", "SAN_Email_0", "S_DN_CN", "CERT",  "SAN_OTHER_msUPN_0", "I_DN_O"};
    X509 *x = tls_certificate_parse(APR_ARRAY_IDX(pair->chain, 0, tls_der *), NULL);
    tls_facts facts;

    if (!tls_facts_of(p, pair, &facts))
        check(strlen(tls_facts_names(p, &facts)) < 100000 &&
              tls_facts_days(&facts, apr_time_now()) >= -1);
    (void)tls_certificate_is_for(pair, "www.example.org");
    for (size_t i = 0; x && i < sizeof what / sizeof *what; i++)
        (void)tls_vars_certificate(p, x, what[i], (int)i & 1);
    X509_free(x);
}

static void read_files(tls_server_conf *sc, const char *cert, apr_pool_t *p)
{
    apr_array_header_t *pairs;
    SSL_CTX *ctx;

    sc->cert_files = apr_array_make(p, 1, sizeof(const char *));
    APR_ARRAY_PUSH(sc->cert_files, const char *) = cert;
    (void)tls_credentials_are_at_hand(sc, p);
    pairs = tls_credentials_first(sc, 0, p, p, p);
    if (!pairs)
        return;
    through_the_store(pairs, p);
    say(&APR_ARRAY_IDX(pairs, 0, tls_pair), p);
    ctx = tls_context_make(sc, pairs, NULL, NULL);
    SSL_CTX_free(ctx);
}

static void read_der(const uint8_t *data, size_t size, apr_pool_t *p)
{
    tls_der der = {(unsigned char *)(uintptr_t)data, (int)size};
    tls_pair pair = {
        .cert_file = "", .key_file = "", .chain = apr_array_make(p, 1, sizeof(tls_der *))};

    APR_ARRAY_PUSH(pair.chain, tls_der *) = &der;
    say(&pair, p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    tls_server_conf sc;
    const char *path;
    apr_pool_t *p;

    begin_once();
    apr_pool_create(&p, test_process->pool);
    path = apr_psprintf(p, "/proc/self/fd/%d", fd);
    sc = *tls_conf_of(ap_server_conf);
    sc.server = ap_server_conf;
    if (size && fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)size - 1) {
        if (data[0] == 't') {
            sc.ticket_file = path;
            read_files(&sc, good_file, p);
        } else if (data[0] == 'd') {
            read_der(data + 1, size - 1, p);
        } else {
            read_files(&sc, path, p);
        }
    }
    ERR_clear_error();
    apr_pool_destroy(p);
    close(fd);
    return 0;
}
