/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_TLS_PEER_H
#define BRIGADE_TEST_TLS_PEER_H

/**
 * @file test_tls_peer.h
 * Connections that this server makes, with OpenSSL at the other end of a socket pair: certificates, a configuration with a virtual
 * host for each setting, and both ends. A test that includes it is linked with --wrap=loop_layer_set.
 */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "test_server.h"
#include "tls_client.h"
#include "tls_proxy.h"
#include "tls_record_private.h"
#include "transport.h"

#define MANY (300 * 1024)
#define ALPN "\2h2\10http/1.1"

static const loop_layer *layer;
static char folder[] = "/tmp/brigade-test-tls-XXXXXX";
static unsigned char sent[MANY], got[MANY];

void __wrap_loop_layer_set(const loop_layer *l);
void __real_loop_layer_set(const loop_layer *l);

void __wrap_loop_layer_set(const loop_layer *l)
{
    layer = l ? l : layer;
    __real_loop_layer_set(l);
}

/* ---- certificates ---- */

typedef struct paper {
    EVP_PKEY *key;
    X509 *x;
} paper;

static paper authority, foreign, good, expired, other, revoked, visitor;

static inline void extend(X509 *x, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *e;

    X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
    e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    assert_non_null(e);
    X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
}

static inline paper paper_make(const char *cn, const char *san, long days, const paper *by)
{
    static long serial = 1;
    paper p = {EVP_EC_gen("P-256"), X509_new()};
    X509_NAME *name = X509_get_subject_name(p.x);

    X509_set_version(p.x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(p.x), serial++);
    X509_gmtime_adj(X509_getm_notBefore(p.x), -20L * 86400);
    X509_gmtime_adj(X509_getm_notAfter(p.x), days * 86400);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)cn, -1, -1, 0);
    X509_set_issuer_name(p.x, by ? X509_get_subject_name(by->x) : name);
    X509_set_pubkey(p.x, p.key);
    if (!by)
        extend(p.x, p.x, NID_basic_constraints, "critical,CA:TRUE");
    if (san)
        extend(p.x, by->x, NID_subject_alt_name, san);
    assert_true(X509_sign(p.x, by ? by->key : p.key, EVP_sha256()) > 0);
    return p;
}

static inline void paper_free(paper *p)
{
    EVP_PKEY_free(p->key);
    X509_free(p->x);
}

static inline FILE *file_open(const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "w");
}

static inline void papers_write(void)
{
    X509_CRL *crl = X509_CRL_new();
    X509_REVOKED *entry = X509_REVOKED_new();
    ASN1_TIME *now = X509_gmtime_adj(NULL, -3600), *later = X509_gmtime_adj(NULL, 86400);
    FILE *f = file_open("ca.pem");
    char name[32];

    assert_true(PEM_write_X509(f, authority.x));
    fclose(f);
    snprintf(name, sizeof name, "%08lx.0", X509_subject_name_hash(authority.x));
    f = file_open(name);
    assert_true(PEM_write_X509(f, authority.x));
    fclose(f);
    f = file_open("visitor.pem");
    assert_true(PEM_write_X509(f, visitor.x) &&
                PEM_write_PrivateKey(f, visitor.key, NULL, NULL, 0, NULL, NULL));
    fclose(f);
    X509_CRL_set_version(crl, X509_CRL_VERSION_2);
    X509_CRL_set_issuer_name(crl, X509_get_subject_name(authority.x));
    X509_CRL_set1_lastUpdate(crl, now);
    X509_CRL_set1_nextUpdate(crl, later);
    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(revoked.x));
    X509_REVOKED_set_revocationDate(entry, now);
    X509_CRL_add0_revoked(crl, entry);
    assert_true(X509_CRL_sign(crl, authority.key, EVP_sha256()) > 0);
    f = file_open("crl.pem");
    assert_true(PEM_write_X509_CRL(f, crl));
    fclose(f);
    X509_CRL_free(crl);
    ASN1_TIME_free(now);
    ASN1_TIME_free(later);
}

/* ---- both ends ---- */

static int on_worker; /* connections are */

typedef struct pair {
    brg_conn bc;
    int fd; /* the other end's */
    SSL_CTX *ctx;
    SSL *ssl;
    BIO *in, *out;
    size_t most; /* bytes that the server's end sends at once */
} pair;

static const tls_client_context *context(const char *host)
{
    for (server_rec *s = ap_server_conf; s; s = s->next)
        if (!strcmp(s->server_hostname, host)) {
            const tls_client_context *c = tls_client_context_of(s, NULL);

            assert_non_null(c);
            return c;
        }
    fail();
    return NULL;
}

static inline int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *len,
                            const unsigned char *in, unsigned in_len, void *unused)
{
    return SSL_select_next_proto((unsigned char **)(uintptr_t)out, len,
                                 (const unsigned char *)"\2h2", 3, in,
                                 in_len) == OPENSSL_NPN_NEGOTIATED
               ? SSL_TLSEXT_ERR_OK
               : SSL_TLSEXT_ERR_NOACK;
}

static inline SSL_CTX *server_ctx(const paper *p, int version)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    SSL_CTX_set_min_proto_version(ctx, version);
    SSL_CTX_set_max_proto_version(ctx, version);
    assert_int_equal(SSL_CTX_use_certificate(ctx, p->x), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(ctx, p->key), 1);
    SSL_CTX_set_alpn_select_cb(ctx, choose_h2, NULL);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), authority.x);
    SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"x", 1);
    return ctx;
}

/* Takes over @a ctx. */
static inline void pair_begin(pair *p, SSL_CTX *ctx, const char *host, const char *name,
                              tls_client_sessions *sessions)
{
    int fd[2];

    memset(p, 0, sizeof *p);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
    p->bc.tag = CONN_TAG;
    test_loop()->wall = apr_time_now();
    p->bc.loop = on_worker ? NULL : test_loop();
    p->bc.fd = fd[0];
    p->fd = fd[1];
    p->ctx = ctx;
    p->most = MANY;
    if (ctx) {
        p->ssl = SSL_new(ctx);
        p->in = BIO_new(BIO_s_mem());
        p->out = BIO_new(BIO_s_mem());
        SSL_set_bio(p->ssl, p->in, p->out);
        SSL_set_accept_state(p->ssl);
    }
    assert_int_equal(tls_client_begin(&p->bc, context(host), name, ALPN, sessions), APR_SUCCESS);
}

static inline void pair_end(pair *p)
{
    transport_end(&p->bc);
    assert_null(p->bc.below);
    close(p->bc.fd);
    if (p->fd >= 0)
        close(p->fd);
    SSL_free(p->ssl);
    SSL_CTX_free(p->ctx);
    ERR_clear_error();
}

/* What the client sent goes to OpenSSL. */
static inline void server_take(pair *p)
{
    static unsigned char data[65536];
    ssize_t n;

    while ((n = read(p->fd, data, sizeof data)) > 0)
        assert_int_equal(BIO_write(p->in, data, (int)n), n);
}

/* And some of what that says goes to the client. @return bytes */
static inline size_t server_give(pair *p)
{
    char *data;
    long len = BIO_get_mem_data(p->out, &data);
    size_t n = (size_t)len < p->most ? (size_t)len : p->most;
    ssize_t done = n ? write(p->fd, data, n) : 0;
    static char drop[MANY + 65536];

    if (done > 0)
        assert_int_equal(BIO_read(p->out, drop, (int)done), done);
    return done > 0 ? (size_t)done : 0;
}

static inline tls_client_result shake(pair *p)
{
    tls_client_result result = TLS_CLIENT_WANT_READ;

    for (int i = 0; i < 20000 && result != TLS_CLIENT_FAILED; i++) {
        if (result != TLS_CLIENT_DONE)
            result = tls_client_step(&p->bc);
        server_take(p);
        if (SSL_in_init(p->ssl))
            (void)SSL_do_handshake(p->ssl);
        ERR_clear_error();
        if (result == TLS_CLIENT_DONE && !SSL_in_init(p->ssl))
            break;
        (void)server_give(p);
    }
    return result;
}

static inline void server_says(pair *p, const void *data, size_t len)
{
    assert_int_equal(SSL_write(p->ssl, data, (int)len), len);
}

/* Read up to @a len bytes, with the server's end going on. @return bytes; -1 with errno */
static inline ssize_t client_hears(pair *p, void *buf, size_t len)
{
    size_t done = 0;

    while (done < len) {
        size_t given = server_give(p);
        ssize_t n = transport_recv(&p->bc, (char *)buf + done, len - done);

        if (n == 0)
            break;
        if (n < 0 && errno != EAGAIN)
            return -1;
        if (n < 0 && !given)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)done;
}

/* As a loop writes: again with what was not taken. */
static inline void client_says(pair *p, const unsigned char *data, size_t len)
{
    size_t done = 0, heard = 0;

    while (heard < len) {
        struct iovec iov[2] = {{(void *)(uintptr_t)(data + done), (len - done) / 3}, {0}};
        ssize_t n = 0;
        int r;

        iov[1] = (struct iovec){(void *)(uintptr_t)(data + done + iov[0].iov_len),
                                len - done - iov[0].iov_len};
        if (done < len)
            n = transport_sendv(&p->bc, iov, 2, 0);
        assert_true(n >= 0 || errno == EAGAIN);
        done += n > 0 ? (size_t)n : 0;
        server_take(p);
        while (heard < len && (r = SSL_read(p->ssl, got + heard, (int)(len - heard))) > 0)
            heard += (size_t)r;
    }
    assert_memory_equal(got, data, len);
}

static inline void exchange(pair *p)
{
    static const size_t lengths[] = {1, 1000, 16384, 16385, MANY};

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        client_says(p, sent, lengths[i]);
        memset(got, 0, lengths[i]);
        server_says(p, sent, lengths[i]);
        assert_int_equal(client_hears(p, got, lengths[i]), lengths[i]);
        assert_memory_equal(got, sent, lengths[i]);
    }
}

static const tls_conn *tls(const pair *p)
{
    return p->bc.below;
}

static inline void with(const char *host, int version, const char *cipher, int ours, size_t most)
{
    SSL_CTX *ctx = server_ctx(&good, version);
    pair p;

    if (cipher && version == TLS1_3_VERSION)
        assert_int_equal(SSL_CTX_set_ciphersuites(ctx, cipher), 1);
    else if (cipher)
        assert_int_equal(SSL_CTX_set_cipher_list(ctx, cipher), 1);
    pair_begin(&p, ctx, host, "localhost", NULL);
    p.most = most;
    assert_int_equal(shake(&p), TLS_CLIENT_DONE);
    assert_int_equal(tls_client_step(&p.bc), TLS_CLIENT_DONE);
    assert_string_equal(tls_client_protocol(&p.bc), "h2");
    assert_string_equal(SSL_get_servername(p.ssl, TLSEXT_NAMETYPE_host_name), "localhost");
    assert_int_equal(tls(&p)->records != NULL, ours);
    assert_null(tls_client_failure_of(&p.bc).reason);
    exchange(&p);
    assert_int_equal(tls(&p)->ssl == NULL, ours); /* 13 KiB that an idle one need not have */
    assert_false(tls_client_was_closed(&p.bc));
    (void)SSL_shutdown(p.ssl);
    assert_int_equal(client_hears(&p, got, 10), 0);
    assert_int_equal(transport_recv(&p.bc, got, 10), 0);
    assert_true(tls_client_was_closed(&p.bc));
    pair_end(&p);
}

/* ---- the configuration ---- */

#define HOST(name, lines) \
    "<VirtualHost *:1>\nServerName " name "\nSSLProxyEngine on\n" lines "</VirtualHost>\n"
#define REQUIRE "SSLProxyVerify require\nSSLProxyCACertificateFile %1$s/ca.pem\n"

static inline int group_setup(void **state)
{
    paper root;

    static char directives[4096];

    for (size_t i = 0; i < MANY; i++)
        sent[i] = (unsigned char)(i * 7 + i / 251);
    assert_non_null(mkdtemp(folder));
    authority = paper_make("authority", NULL, 20, NULL);
    root = paper_make("foreign", NULL, 20, NULL);
    foreign = paper_make("localhost", "DNS:localhost", 20, &root);
    paper_free(&root);
    good = paper_make("localhost", "DNS:localhost", 20, &authority);
    expired = paper_make("localhost", "DNS:localhost", -1, &authority);
    other = paper_make("other.test", "DNS:other.test", 20, &authority);
    revoked = paper_make("localhost", "DNS:localhost", 20, &authority);
    visitor = paper_make("visitor", "DNS:visitor", 20, &authority);
    papers_write();
    snprintf(
        directives, sizeof directives,
        HOST("plain", "") HOST("require", REQUIRE) HOST("again", REQUIRE)
            HOST("none", "SSLProxyVerify require\n") HOST(
                "folder", "SSLProxyVerify require\nSSLProxyCACertificatePath %1$s\n")
                HOST("cn", "SSLProxyCheckPeerName off\nSSLProxyCheckPeerCN on\n") HOST(
                    "crl", REQUIRE "SSLProxyCARevocationCheck chain\n"
                                   "SSLProxyCARevocationFile %1$s/crl.pem\n")
                    HOST("noca",
                         "SSLProxyVerify optional_no_ca\nSSLProxyCACertificateFile %1$s/ca.pem\n")
                        HOST("loose", "SSLProxyCheckPeerExpire off\n")
                            HOST("new", "SSLProxyProtocol TLSv1.3\n") HOST(
                                "machine", REQUIRE "SSLProxyMachineCertificateFile "
                                                   "%1$s/visitor.pem\n") "<VirtualHost "
                                                                         "*:1>\nServerName "
                                                                         "off\n</VirtualHost>\n",
        folder);
    test_server_up(directives);
    assert_int_equal(conf_generation_open(test_process, CONF_DEPTH_TRIAL), APR_SUCCESS);
    for (server_rec *s = ap_server_conf->next; s; s = s->next)
        if (strcmp(s->server_hostname, "off") != 0)
            assert_non_null(tls_client_context_make(test_process->pconf, s, NULL));
    assert_true(tls_selftest_client(NULL));
    assert_non_null(layer);
    layer->begin(test_loop());
    return 0;
}

static inline int group_end(void **state)
{
    char command[64];

    layer->end(test_loop());
    paper_free(&authority);
    paper_free(&foreign);
    paper_free(&good);
    paper_free(&expired);
    paper_free(&other);
    paper_free(&revoked);
    paper_free(&visitor);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) | test_server_down(state);
}

#endif
