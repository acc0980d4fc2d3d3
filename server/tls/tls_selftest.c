/* SPDX-License-Identifier: Apache-2.0 */
/* Before records are made without OpenSSL's: a handshake in memory, with a client of OpenSSL, shows
 * that its callbacks give the keys and numbers in use. Where they are not, with a library of
 * another version, OpenSSL makes the records: slower, and right. */
#include "tls_record_private.h"
#include "http_log.h"
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

typedef struct selftest {
    SSL_CTX *other_ctx, *our_ctx;
    SSL *other;    /* all of it is OpenSSL's */
    tls_conn ours; /* its SSL, and its keys */
    tls_loop loop;
} selftest;

static const char selftest_text[] = "a record that is not OpenSSL's";

/* ---- a server and a client ---- */

static X509 *selftest_certificate(EVP_PKEY *key)
{
    X509 *x = X509_new();

    if (x && X509_set_version(x, X509_VERSION_3) && ASN1_INTEGER_set(X509_get_serialNumber(x), 1) &&
        X509_gmtime_adj(X509_getm_notBefore(x), 0) &&
        X509_gmtime_adj(X509_getm_notAfter(x), 3600) && X509_set_pubkey(x, key) &&
        X509_sign(x, key, EVP_sha256()))
        return x;
    X509_free(x);
    return NULL;
}

static int selftest_certify(SSL_CTX *ctx)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = key ? selftest_certificate(key) : NULL;
    int ok = x && SSL_CTX_use_certificate(ctx, x) == 1 && SSL_CTX_use_PrivateKey(ctx, key) == 1;

    X509_free(x);
    EVP_PKEY_free(key);
    return ok;
}

static int selftest_connect(selftest *s, int client)
{
    BIO *one = NULL, *two = NULL;

    s->other = SSL_new(s->other_ctx);
    s->ours.ssl = SSL_new(s->our_ctx);
    if (!s->other || !s->ours.ssl || BIO_new_bio_pair(&one, 0, &two, 0) != 1)
        return 0;
    SSL_set_bio(s->other, one, one);
    SSL_set_bio(s->ours.ssl, two, two);
    SSL_set_connect_state(client ? s->ours.ssl : s->other);
    SSL_set_accept_state(client ? s->other : s->ours.ssl);
    SSL_set_app_data(s->ours.ssl, &s->ours);
    return 1;
}

/* @param client  ours is the client */
static int selftest_begin(selftest *s, int version, int client)
{
    SSL_CTX *server;

    memset(s, 0, sizeof *s);
    if (!(s->loop.lib = OSSL_LIB_CTX_new()) || tls_keys_begin(&s->loop))
        return 0;
    s->ours.tag = TLS_CONN_TAG;
    s->ours.loop = &s->loop;
    tls_keys_expect(&s->ours);
    s->other_ctx = SSL_CTX_new(client ? TLS_server_method() : TLS_client_method());
    s->our_ctx =
        SSL_CTX_new_ex(s->loop.lib, NULL, client ? TLS_client_method() : TLS_server_method());
    server = client ? s->other_ctx : s->our_ctx;
    if (!s->other_ctx || !s->our_ctx || !s->ours.records || !selftest_certify(server))
        return 0;
    s->ours.records->client = (uint8_t)client;
    SSL_CTX_set_msg_callback(s->our_ctx, tls_keys_count);
    SSL_CTX_set_num_tickets(s->other_ctx, 0); /* the records behind the handshake are the test's */
    SSL_CTX_set_min_proto_version(server, version);
    SSL_CTX_set_max_proto_version(server, version);
    return selftest_connect(s, client);
}

static void selftest_end(selftest *s)
{
    tls_keys_drop(&s->ours);
    SSL_free(s->other);
    SSL_free(s->ours.ssl);
    SSL_CTX_free(s->other_ctx);
    SSL_CTX_free(s->our_ctx);
    tls_keys_end(&s->loop);
    OSSL_LIB_CTX_free(s->loop.lib);
    ERR_clear_error();
}

/* ---- steps of the test ---- */

static int selftest_handshake(selftest *s)
{
    int other = 0, ours = 0;

    for (int i = 0; i < 10 && (other != 1 || ours != 1); i++) {
        other = other == 1 ? 1 : SSL_do_handshake(s->other);
        tls_kdf_listen(s->ours.records);
        ours = ours == 1 ? 1 : SSL_do_handshake(s->ours.ssl);
        tls_kdf_listen(NULL);
    }
    return other == 1 && ours == 1 && !tls_keys_take(&s->ours);
}

/* Twice, since the number of a record counts, too. */
static int selftest_sends(selftest *s)
{
    unsigned char record[sizeof selftest_text + TLS_ADDED_MOST];
    struct iovec iov = {(void *)(uintptr_t)selftest_text, sizeof selftest_text};
    char got[sizeof selftest_text];

    for (int i = 0; i < 2; i++) {
        size_t n = tls_seal(s->ours.records, TLS_TYPE_DATA, &iov, 0, iov.iov_len, record);

        if (!n || BIO_write(SSL_get_wbio(s->ours.ssl), record, (int)n) != (int)n ||
            SSL_read(s->other, got, sizeof got) != (int)sizeof got ||
            memcmp(got, selftest_text, sizeof got))
            return 0;
    }
    return 1;
}

static int selftest_receives(selftest *s)
{
    unsigned char record[sizeof selftest_text + TLS_ADDED_MOST];

    for (int i = 0; i < 2; i++) {
        unsigned char *out = NULL;
        unsigned type = 0;
        int n;

        if (SSL_write(s->other, selftest_text, sizeof selftest_text) <= 0 ||
            (n = BIO_read(SSL_get_rbio(s->ours.ssl), record, sizeof record)) <= TLS_HEADER ||
            tls_record_length(record, (size_t)n) != n ||
            tls_open(s->ours.records, record, (size_t)n, &out, &type) != sizeof selftest_text ||
            type != TLS_TYPE_DATA || memcmp(out, selftest_text, sizeof selftest_text))
            return 0;
    }
    return 1;
}

/* After that, OpenSSL goes on itself. */
static int selftest_returns(selftest *s)
{
    char got[sizeof selftest_text];

    return !tls_keys_return(&s->ours) &&
           SSL_write(s->ours.ssl, selftest_text, sizeof selftest_text) > 0 &&
           SSL_read(s->other, got, sizeof got) == (int)sizeof got &&
           SSL_write(s->other, selftest_text, sizeof selftest_text) > 0 &&
           SSL_read(s->ours.ssl, got, sizeof got) == (int)sizeof got;
}

static int selftest_version(int version, int client)
{
    selftest s;
    int ok = selftest_begin(&s, version, client) && selftest_handshake(&s) && selftest_sends(&s) &&
             selftest_receives(&s) && (client || selftest_returns(&s));

    selftest_end(&s);
    return ok;
}

static int selftest_role(const server_rec *log, int client)
{
    int ok = selftest_version(TLS1_3_VERSION, client) && selftest_version(TLS1_2_VERSION, client);

    if (!ok)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, log,
                     "TLS: %s does not give its keys as expected; it makes all records itself, "
                     "which takes more time",
                     OpenSSL_version(OPENSSL_VERSION));
    return ok;
}

int tls_selftest(const server_rec *log)
{
    return selftest_role(log, 0);
}

int tls_selftest_client(const server_rec *log)
{
    return selftest_role(log, 1);
}
