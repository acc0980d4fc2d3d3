/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client says first, to virtual hosts with certificates of their own. The first byte chooses: 'r', bytes as they
 * are; else a ClientHello whose server name and ALPN extensions have the bytes that follow (each with its length before
 * it), in TLS records of any size. The host that answers has the name, or is the first; the protocol was offered.
 * Covers: server/tls/tls_hello.c server/tls/tls_context.c
 */
#include "tls_context_private.h"
#include "tls_setup.h"
#include "test_config.h"
#include "transport.h"
#include "vhosts.h"
#include "apr_strings.h"
#include <ctype.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tls_loop tls;
static brg_loop loop;
static brg_listener listener;
static apr_sockaddr_t *address;

static void check(int right)
{
    if (!right)
        abort();
}

/* ---- a configuration with three hosts ---- */

static const char *certificate(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    BIO *out = BIO_new(BIO_s_mem());
    const char *path;
    char *text;

    check(key && ASN1_INTEGER_set(X509_get_serialNumber(x), 1) &&
          X509_gmtime_adj(X509_getm_notBefore(x), -100) &&
          X509_gmtime_adj(X509_getm_notAfter(x), 1000000) && X509_set_pubkey(x, key) &&
          X509_sign(x, key, EVP_sha256()) && PEM_write_bio_X509(out, x) &&
          PEM_write_bio_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) &&
          BIO_write(out, "", 1) == 1);
    BIO_get_mem_data(out, &text);
    path = test_config_file("certificate.pem", text);
    BIO_free(out);
    X509_free(x);
    EVP_PKEY_free(key);
    return path;
}

static const char *configuration(void)
{
    const char *file = certificate();

    return apr_psprintf(
        test_process->pool,
        "ServerName main\nSSLCertificateFile %s\n"
        "<VirtualHost 127.0.0.1:443>\nServerName first\nSSLEngine On\nProtocols h2 "
        "http/1.1\n</VirtualHost>\n"
        "<VirtualHost 127.0.0.1:443>\nServerName second.test\nServerAlias *.wild.test\nSSLEngine "
        "On\n"
        "SSLProtocol TLSv1.2\nSSLSessionTickets off\n</VirtualHost>\n"
        "<VirtualHost 127.0.0.1:443>\nServerName clear.test\nSSLEngine On\n</VirtualHost>\n",
        file);
}

static void begin_once(void)
{
    static const tls_server_conf *servers[8];
    int n = 0;

    if (tls.lib)
        return;
    check(!test_config_setup(NULL) && test_config_read(configuration()));
    check(!tls_post_config(test_process->pool, test_process->pool, test_process->pool,
                           ap_server_conf));
    while ((servers[n] = tls_server_at(n)) != NULL)
        n++;
    check(n == 3);
    tls.ctx = calloc((size_t)n, sizeof(*tls.ctx));
    tls.versions = calloc((size_t)n, sizeof(*tls.versions));
    tls.lib = OSSL_LIB_CTX_new();
    tls_keys_begin(&tls);
    loop.server = ap_server_conf;
    check(apr_sockaddr_info_get(&address, "127.0.0.1", APR_INET, 443, 0, test_process->pool) ==
          APR_SUCCESS);
    listener.addr = address;
    listener.pretended = address;
}

/* ---- a ClientHello ---- */

typedef struct hello {
    unsigned char data[4096];
    size_t len;
} hello;

static void put(hello *h, const void *data, size_t len)
{
    check(h->len + len <= sizeof h->data);
    memcpy(h->data + h->len, data, len);
    h->len += len;
}

static void put16(hello *h, size_t n)
{
    const unsigned char two[2] = {(unsigned char)(n >> 8), (unsigned char)n};

    put(h, two, 2);
}

static void put_extension(hello *h, unsigned type, const void *data, size_t len)
{
    put16(h, type);
    put16(h, len);
    put(h, data, len);
}

/* The next piece of the input: a byte with its length, and that. */
static const uint8_t *piece(const uint8_t **data, size_t *size, size_t *len)
{
    const uint8_t *at = *data + 1;

    *len = 0;
    if (!*size)
        return at;
    *len = **data < *size - 1 ? **data : *size - 1;
    *data += 1 + *len;
    *size -= 1 + *len;
    return at;
}

static size_t hello_make(hello *h, unsigned flags, const uint8_t *name, size_t name_len,
                         const uint8_t *alpn, size_t alpn_len)
{
    static const unsigned char suites[] = {0, 6, 0x13, 1, 0xc0, 0x2b, 0, 0xff, 1, 0},
                               groups[] = {0, 2, 0, 23}, algorithms[] = {0, 2, 4, 3},
                               versions[] = {4, 3, 4, 3, 3};
    unsigned char fixed[38] = {1, 0, 0, 0, 3, 3};
    size_t at;

    h->len = 0;
    put(h, fixed, sizeof fixed);
    put(h, "", 1);
    put(h, suites, sizeof suites);
    at = h->len;
    put16(h, 0);
    if (flags & 1)
        put_extension(h, TLSEXT_TYPE_server_name, name, name_len);
    if (flags & 2)
        put_extension(h, TLSEXT_TYPE_application_layer_protocol_negotiation, alpn, alpn_len);
    put_extension(h, TLSEXT_TYPE_supported_groups, groups, sizeof groups);
    put_extension(h, TLSEXT_TYPE_signature_algorithms, algorithms, sizeof algorithms);
    if (flags & 4) /* without a key: the server asks again for TLS 1.3 */
        put_extension(h, TLSEXT_TYPE_supported_versions, versions, sizeof versions);
    h->data[at] = (unsigned char)((h->len - at - 2) >> 8);
    h->data[at + 1] = (unsigned char)(h->len - at - 2);
    h->data[2] = (unsigned char)((h->len - 4) >> 8);
    h->data[3] = (unsigned char)(h->len - 4);
    return h->len;
}

/* ---- a connection ---- */

static void step(tls_conn *t)
{
    int rc;

    if (!tls_input_begin(t))
        return;
    ERR_clear_error();
    rc = SSL_do_handshake(t->ssl);
    tls_input_end(t);
    if (rc <= 0 && SSL_get_error(t->ssl, rc) == SSL_ERROR_SSL)
        t->failed = 1;
    ERR_clear_error();
}

/* Records of at most so many bytes, small ones all at once: a socket takes few small writes. */
static void send_records(tls_conn *t, int fd, const hello *h, size_t most)
{
    unsigned char wire[sizeof h->data * 6];
    size_t len = 0;

    for (size_t at = 0; at < h->len && !t->failed;) {
        size_t n = h->len - at < most ? h->len - at : most;
        unsigned char head[5] = {22, 3, 1, (unsigned char)(n >> 8), (unsigned char)n};

        memcpy(wire + len, head, sizeof head);
        memcpy(wire + len + sizeof head, h->data + at, n);
        len += sizeof head + n;
        at += n;
        if (most > 64 || at == h->len) {
            check(send(fd, wire, len, MSG_NOSIGNAL) == (ssize_t)len);
            len = 0;
            step(t);
        }
    }
}

static tls_conn *begin(brg_conn *bc, int *client)
{
    tls_conn *t = calloc(1, sizeof *t);
    int fds[2];

    check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
    memset(bc, 0, sizeof *bc);
    bc->tag = CONN_TAG;
    bc->loop = &loop;
    bc->listener = &listener;
    bc->fd = fds[0];
    *client = fds[1];
    vhost_of_connection(bc);
    check(tls_conf_of(bc->base)->index == 0);
    bc->below = t;
    bc->transport = &tls_transport;
    t->tag = TLS_CONN_TAG;
    t->bc = bc;
    t->loop = &tls;
    t->server = bc->base;
    t->ssl = SSL_new(tls_context_of(&tls, bc->base));
    SSL_set_app_data(t->ssl, t);
    BIO *bio = tls_bio_new(t);
    SSL_set_bio(t->ssl, bio, bio);
    SSL_set_accept_state(t->ssl);
    return t;
}

/* The host by a name as the extension has it, where that is well-formed. */
static void check_host(const tls_conn *t, const uint8_t *ext, size_t len)
{
    char name[256];
    size_t n;

    if (len < 5 || len > 255 || ((size_t)ext[0] << 8 | ext[1]) != len - 2 || ext[2] ||
        (n = (size_t)ext[3] << 8 | ext[4]) != len - 5)
        return;
    for (size_t i = 0; i < n; i++)
        name[i] = (char)tolower(ext[5 + i]);
    name[n] = '\0';
    if (!t->failed && !strcmp(name, "second.test"))
        check(!strcmp(t->server->server_hostname, "second.test"));
    if (t->server != t->bc->base && name[0] && name[n - 1] != '.')
        check(vhost_server_has_name(t->server, name));
}

static void check_protocol(const tls_conn *t, const uint8_t *alpn, size_t len)
{
    const unsigned char *name;
    unsigned n;

    SSL_get0_alpn_selected(t->ssl, &name, &n);
    if (n)
        check(memmem(alpn, len, name, n) != NULL);
}

static void client_says(tls_conn *t, int fd, const uint8_t *data, size_t size)
{
    size_t name_len, alpn_len;
    unsigned flags = data[0];
    const uint8_t *name, *alpn;
    hello h;

    if (flags == 'r') {
        (void)!send(fd, data + 1, size - 1, MSG_NOSIGNAL);
        step(t);
        return;
    }
    data++, size--;
    name = piece(&data, &size, &name_len);
    alpn = piece(&data, &size, &alpn_len);
    hello_make(&h, flags, name, name_len, alpn, alpn_len);
    send_records(t, fd, &h, flags & 8 ? (size_t)(flags >> 4) + 1 : 16384);
    if (flags & 1)
        check_host(t, name, name_len);
    if (flags & 2)
        check_protocol(t, alpn, alpn_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tls_conn *t;
    brg_conn bc;
    int client, fd;

    begin_once();
    if (!size)
        return 0;
    t = begin(&bc, &client);
    fd = bc.fd;
    client_says(t, client, data, size);
    tls_release(&bc);
    close(fd);
    close(client);
    return 0;
}
