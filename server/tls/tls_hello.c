/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions on a ClientHello: the virtual host, by its server name, and the protocol, by ALPN. */
#include "tls_context_private.h"
#include "tls_named.h"
#include "connection.h"
#include "driver.h"
#include "tls_setup.h"
#include "vhosts.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_ssl.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <ctype.h>
#include <openssl/pem.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

#define HELLO_NAME_MAX 255 /* bytes of a server name */

/* ---- server name ---- */

/* The one host name of the extension (RFC 6066, section 3), in lower case. @return its length, 0:
 * no name */
static size_t hello_name(SSL *ssl, char name[HELLO_NAME_MAX + 1])
{
    const unsigned char *in;
    size_t len, n;

    if (!SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &in, &len) || len < 5)
        return 0;
    if (((size_t)in[0] << 8 | in[1]) != len - 2 || in[2] != TLSEXT_NAMETYPE_host_name)
        return 0;
    n = (size_t)in[3] << 8 | in[4];
    if (!n || n > len - 5 || n > HELLO_NAME_MAX || memchr(in + 5, 0, n))
        return 0;
    for (size_t i = 0; i < n; i++)
        name[i] = (char)tolower(in[5 + i]);
    if (n > 1 && name[n - 1] == '.')
        n--;
    name[n] = '\0';
    return n;
}

static server_rec *hello_server(const brg_conn *bc, const char *name, size_t len)
{
    if (bc->chain)
        return vhost_chain_find(bc->chain, name, len);
    return vhost_server_has_name(bc->base, name) ? bc->base : NULL;
}

/* @return tls_named_state; -1: no memory */
static int hello_choose(tls_conn *t)
{
    char name[HELLO_NAME_MAX + 1];
    size_t len = hello_name(t->ssl, name);
    server_rec *s = len ? hello_server(t->bc, name, len) : NULL;
    SSL_CTX *ctx = s ? tls_context_of(t->loop, s) : NULL;

    t->sni = len != 0;
    t->named = s != NULL;
    if (len && !s)
        ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, t->server,
                     APLOGNO(02044) "No matching SSL virtual host for servername %s found (using "
                                    "default/first virtual host)",
                     name);
    if (ctx && s != t->server) {
        if (!SSL_set_SSL_CTX(t->ssl, ctx)) /* never another server's certificate and rules */
            return -1;
        t->server = s;
        tls_context_apply(t->ssl, ctx, tls_conf_of(s));
    }
    return tls_named_choose(t, name, len);
}

int tls_hello(SSL *ssl, int *alert, void *unused)
{
    tls_conn *t = SSL_get_app_data(ssl);

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    /* A client that is asked for more stays where it is (tls_renegotiate.c); so does one whose ClientHello was read
     * before, by the loop. */
    if (t->established || t->signing)
        return SSL_CLIENT_HELLO_SUCCESS;
    if (t->signs) /* a second one, which HelloRetryRequest asked for: the signature follows it */
        return SSL_CLIENT_HELLO_RETRY;
    switch (hello_choose(t)) {
    case TLS_NAMED_WAIT:
        return SSL_CLIENT_HELLO_RETRY;
    case TLS_NAMED_YES: /* keys of those are short */
        return SSL_CLIENT_HELLO_SUCCESS;
    case TLS_NAMED_NO:
        t->signs = tls_handshake_signs_long(ssl) != 0;
        return t->signs ? SSL_CLIENT_HELLO_RETRY : SSL_CLIENT_HELLO_SUCCESS;
    default:
        *alert = SSL_AD_INTERNAL_ERROR;
        return SSL_CLIENT_HELLO_ERROR;
    }
}

/* Acknowledge the name if a server has it. */
int tls_server_name(SSL *ssl, int *alert, void *unused)
{
    const tls_conn *t = SSL_get_app_data(ssl);
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    return name && t->named ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

/* ---- ALPN ---- */

static int alpn_has(const unsigned char *in, unsigned in_len, const char *name,
                    const unsigned char **out, unsigned char *out_len)
{
    size_t len = strlen(name);

    for (unsigned at = 0; at < in_len; at += 1U + in[at])
        if (in[at] == len && at + 1 + len <= in_len && !memcmp(in + at + 1, name, len)) {
            *out = in + at + 1;
            *out_len = (unsigned char)len;
            return 1;
        }
    return 0;
}

/* As conn_protocol.is_modern means it, of the handshake that goes on. */
static int alpn_is_modern(const SSL *ssl)
{
    const SSL_CIPHER *cipher = SSL_get_pending_cipher(ssl);
    const int version = SSL_version(ssl), exchange = cipher ? SSL_CIPHER_get_kx_nid(cipher) : 0;

    if (version >= TLS1_3_VERSION || !cipher)
        return version >= TLS1_2_VERSION;
    return version == TLS1_2_VERSION && SSL_CIPHER_is_aead(cipher) &&
           (exchange == NID_kx_ecdhe || exchange == NID_kx_dhe);
}

static int alpn_fits(const tls_conn *t, const conn_protocol *ours)
{
    return !ours->is_modern || !ours->is_modern(t->server) || alpn_is_modern(t->ssl);
}

/* A protocol of ours that does not fit the handshake is left out. */
static apr_array_header_t *alpn_offers(const tls_conn *t, const unsigned char *in, unsigned in_len)
{
    apr_pool_t *p = t->bc->c->pool;
    apr_array_header_t *offers = apr_array_make(p, 4, sizeof(char *));

    for (unsigned at = 0; at < in_len && at + 1 + in[at] <= in_len; at += 1U + in[at]) {
        const char *name = apr_pstrmemdup(p, (const char *)in + at + 1, in[at]);
        const conn_protocol *ours = conn_protocol_named(name, in[at]);

        if (!ours || alpn_fits(t, ours))
            APR_ARRAY_PUSH(offers, const char *) = name;
    }
    return offers;
}

/* ---- proofs for an authority (tls-alpn-01) ---- */

static BIO *challenge_bio(const char *pem)
{
    return pem ? BIO_new_mem_buf(pem, -1) : NULL;
}

static int challenge_use(SSL *ssl, BIO *cert, BIO *key)
{
    X509 *x = cert ? PEM_read_bio_X509(cert, NULL, NULL, NULL) : NULL;
    EVP_PKEY *k = key ? PEM_read_bio_PrivateKey(key, NULL, NULL, NULL) : NULL;
    int ok;

    SSL_certs_clear(ssl); /* one with a key of another kind would be shown, too */
    ok = x && k && SSL_use_cert_and_key(ssl, x, k, NULL, 1);
    X509_free(x);
    EVP_PKEY_free(k);
    return ok;
}

/* A module chose acme-tls/1: this handshake is with the certificate that proves the server's
 * identity, and no certificate of the client is asked for. */
static void alpn_challenge(tls_conn *t)
{
    const char *name = SSL_get_servername(t->ssl, TLSEXT_NAMETYPE_host_name), *cert, *key;
    BIO *cert_bio, *key_bio;

    BRG_ASSERT(!t->established);
    if (!name || !ap_ssl_answer_challenge(t->bc->c, name, &cert, &key))
        return;
    cert_bio = challenge_bio(cert);
    key_bio = challenge_bio(key);
    SSL_set_verify(t->ssl, SSL_VERIFY_NONE, NULL);
    if (!challenge_use(t->ssl, cert_bio, key_bio)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, t->server,
                     APLOGNO(10173) "Failed to use the challenge certificate of %s", name);
        tls_log_errors(t->server, APLOG_WARNING);
    }
    BIO_free(cert_bio);
    BIO_free(key_bio);
}

/* Modules speak other protocols: let them choose. They drive the connection then. */
static const char *alpn_ask(tls_conn *t, const unsigned char *in, unsigned in_len)
{
    brg_conn *bc = t->bc;
    const char *chosen;

    BRG_ASSERT(bc->below == t && bc->state == CONN_HEAD);
    if (!bc->c && connection_attach(bc) != APR_SUCCESS)
        return NULL;
    chosen = ap_select_protocol(bc->c, NULL, t->server, alpn_offers(t, in, in_len));
    if (!chosen || !strcmp(chosen, ap_get_protocol(bc->c)))
        return chosen;
    if (ap_switch_protocol(bc->c, NULL, t->server, chosen) != APR_SUCCESS)
        return NULL;
    if (conn_protocol_named(chosen, strlen(chosen)))
        return chosen; /* the handshake's end gives the connection to its driver */
    bc->module_driven = 1;
    alpn_challenge(t);
    return chosen;
}

static int hello_challenges;

void tls_challenges_set(int on)
{
    hello_challenges = on;
}

int tls_others_propose(void)
{
    const apr_array_header_t *hooks = ap_hook_get_protocol_propose();

    return hooks && hooks->nelts > conn_protocols_propose() + hello_challenges;
}

/* Where no module proposes anything, and over QUIC, for which modules have no protocols. */
static const char *alpn_choose(const tls_conn *t, const unsigned char *in, unsigned in_len)
{
    const int is_quic = t->quic != NULL;

    for (unsigned i = CONN_HTTP1 + 1; i < CONN_PROTOCOLS; i++) {
        const conn_protocol *ours = conn_protocol_of(i);

        if (ours && ours->chosen && ours->is_quic == is_quic && alpn_fits(t, ours) &&
            ours->chosen(t->server, in, in_len))
            return ours->name;
    }
    return is_quic ? NULL : AP_PROTOCOL_HTTP1;
}

int tls_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
             unsigned in_len, void *unused)
{
    tls_conn *t = SSL_get_app_data(ssl);
    const char *chosen;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    if (t->established) /* stays */
        chosen = t->bc->c ? ap_get_protocol(t->bc->c) : AP_PROTOCOL_HTTP1;
    else if (t->quic)
        chosen = alpn_choose(t, in, in_len);
    else if (tls_others_propose() ||
             (hello_challenges && alpn_has(in, in_len, "acme-tls/1", out, out_len)))
        chosen = alpn_ask(t, in, in_len);
    else
        chosen = alpn_choose(t, in, in_len);
    if (chosen && alpn_has(in, in_len, chosen, out, out_len))
        return SSL_TLSEXT_ERR_OK;
    return t->quic ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_NOACK;
}
