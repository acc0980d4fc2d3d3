/* SPDX-License-Identifier: Apache-2.0 */
/* SSL_CTXs of servers: protocols, ciphers, certificates, callbacks; one for each loop. */
#include "tls_abilities.h"
#include "tls_certificate.h"
#include "tls_context_private.h"
#include "tls_setup.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/decoder.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

/* ---- protocols ---- */

static const struct {
    int bit, version;
    uint64_t off;
} versions[] = {{TLS_V1_0, TLS1_VERSION, SSL_OP_NO_TLSv1},
                {TLS_V1_1, TLS1_1_VERSION, SSL_OP_NO_TLSv1_1},
                {TLS_V1_2, TLS1_2_VERSION, SSL_OP_NO_TLSv1_2},
                {TLS_V1_3, TLS1_3_VERSION, SSL_OP_NO_TLSv1_3}};

#define VERSIONS (sizeof versions / sizeof *versions)

static int context_protocols(const tls_server_conf *sc)
{
    return sc->protocols == TLS_UNSET ? TLS_V_ALL : sc->protocols;
}

void tls_context_protocols(SSL_CTX *ctx, int wanted)
{
    int min = 0, max = 0;

    BRG_ASSERT(wanted > 0 && wanted <= TLS_V_ALL);
    for (size_t i = 0; i < VERSIONS; i++) {
        if (!(wanted & versions[i].bit)) {
            SSL_CTX_set_options(ctx, versions[i].off);
            continue;
        }
        min = min ? min : versions[i].version;
        max = versions[i].version;
    }
    SSL_CTX_set_min_proto_version(ctx, min);
    SSL_CTX_set_max_proto_version(ctx, max);
}

static uint64_t context_options(const tls_server_conf *sc)
{
    /* A client that shuts its side without close_notify still gets its answer: HTTP tells whether
     * its request was whole. */
    uint64_t options = SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_SESSION_RESUMPTION_ON_RENEGOTIATION |
                       SSL_OP_NO_COMPRESSION | SSL_OP_NO_SSLv3 | SSL_OP_IGNORE_UNEXPECTED_EOF;

    if (sc->honor_order == 1)
        options |= SSL_OP_CIPHER_SERVER_PREFERENCE;
    if (sc->tickets == 0)
        options |= SSL_OP_NO_TICKET;
    return options;
}

/* ---- pieces of a context ---- */

int tls_context_failed(const tls_server_conf *sc, const char *what, const char *value)
{
    char place[TLS_PLACE_BYTES];

    ap_log_error(APLOG_MARK, tls_complaints, 0, sc->server, "%s %s (server %s)", what,
                 value ? value : "", tls_place(place, sc->server));
    tls_log_errors(sc->server, tls_complaints);
    return -1;
}

static int context_ciphers(SSL_CTX *ctx, const tls_server_conf *sc)
{
    if (sc->ciphers && !SSL_CTX_set_cipher_list(ctx, sc->ciphers))
        return tls_context_failed(sc, APLOGNO(01898) "Unable to configure permitted SSL ciphers",
                                  sc->ciphers);
    if (sc->ciphers13 && !SSL_CTX_set_ciphersuites(ctx, sc->ciphers13))
        return tls_context_failed(
            sc, APLOGNO(10127) "Unable to configure permitted TLSv1.3 ciphers", sc->ciphers13);
    return 0;
}

static int context_chain(SSL_CTX *ctx, const tls_pair *pair, OSSL_LIB_CTX *lib)
{
    for (int i = 0; i < pair->chain->nelts; i++) {
        X509 *x = tls_certificate_parse(APR_ARRAY_IDX(pair->chain, i, tls_der *), lib);
        int ok;

        if (!x)
            return 0;
        ok = i == 0 ? SSL_CTX_use_certificate(ctx, x) : SSL_CTX_add1_chain_cert(ctx, x) == 1;
        X509_free(x);
        if (!ok)
            return 0;
    }
    return 1;
}

static int context_pair(SSL_CTX *ctx, const tls_server_conf *sc, const tls_pair *pair,
                        OSSL_LIB_CTX *lib)
{
    const unsigned char *at = pair->key->data;
    EVP_PKEY *key;
    int ok;

    BRG_ASSERT(pair->key != NULL && pair->chain->nelts > 0);
    if (!context_chain(ctx, pair, lib))
        return tls_context_failed(sc, APLOGNO(02562) "Failed to configure certificate, check",
                                  pair->cert_file);
    key = d2i_AutoPrivateKey_ex(NULL, &at, pair->key->len, lib, NULL);
    ok = key && SSL_CTX_use_PrivateKey(ctx, key) && SSL_CTX_check_private_key(ctx);
    EVP_PKEY_free(key);
    if (!ok)
        return tls_context_failed(
            sc, APLOGNO(02565) "Certificate and private key do not match:", pair->key_file);
    return 0;
}

static int context_commands(SSL_CTX *ctx, const tls_server_conf *sc)
{
    SSL_CONF_CTX *conf;
    int ok = 1;

    if (!sc->commands || !sc->commands->nelts)
        return 0;
    if (!(conf = SSL_CONF_CTX_new()))
        return -1;
    SSL_CONF_CTX_set_flags(conf, SSL_CONF_FLAG_FILE | SSL_CONF_FLAG_SERVER |
                                     SSL_CONF_FLAG_CERTIFICATE | SSL_CONF_FLAG_SHOW_ERRORS);
    SSL_CONF_CTX_set_ssl_ctx(conf, ctx);
    for (int i = 0; ok && i < sc->commands->nelts; i++) {
        const tls_command *c = &APR_ARRAY_IDX(sc->commands, i, tls_command);

        if (SSL_CONF_cmd(conf, c->name, c->value) <= 0) {
            char text[512]; /* the pool is not the calling loop's */

            ok = 0;
            apr_snprintf(text, sizeof text, "%s %s\" failed", c->name, c->value);
            tls_context_failed(sc, APLOGNO(02407) "\"SSLOpenSSLConfCmd", text);
        }
    }
    ok = ok && SSL_CONF_CTX_finish(conf) == 1;
    SSL_CONF_CTX_free(conf);
    return ok ? 0 : -1;
}

static void context_policy(SSL_CTX *ctx, const tls_server_conf *sc)
{
    tls_context_protocols(ctx, context_protocols(sc));
    SSL_CTX_set_options(ctx, context_options(sc));
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_msg_callback(ctx, tls_handshake_message);
    SSL_CTX_set_timeout(ctx, sc->session_seconds == TLS_UNSET ? 300 : sc->session_seconds);
    SSL_CTX_set_session_id_context(ctx, sc->sid, sizeof sc->sid);
    SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, tls_ticket);
    tls_sessions_use(ctx);
    tls_resume_use(ctx);
    /* One, of TLS 1.3, where it can be taken: with each resumption its client gets the next one. */
    SSL_CTX_set_num_tickets(ctx, sc->tickets != 0 || tls_settings.cache_bytes);
}

/* Parameters of the administrator's, in place of parameters that fit the key. */
static int context_dh(SSL_CTX *ctx, const tls_server_conf *sc, const tls_pair *pair,
                      OSSL_LIB_CTX *lib)
{
    EVP_PKEY *params = NULL;
    OSSL_DECODER_CTX *decoder;
    const unsigned char *at;
    size_t left;

    if (!pair->dh)
        return 0;
    at = pair->dh->data;
    left = (size_t)pair->dh->len;
    decoder = OSSL_DECODER_CTX_new_for_pkey(&params, "DER", NULL, "DH", EVP_PKEY_KEY_PARAMETERS,
                                            lib, NULL);
    if (decoder && OSSL_DECODER_from_data(decoder, &at, &left) &&
        SSL_CTX_set0_tmp_dh_pkey(ctx, params)) {
        SSL_CTX_set_dh_auto(ctx, 0);
        OSSL_DECODER_CTX_free(decoder);
        return 0;
    }
    OSSL_DECODER_CTX_free(decoder);
    EVP_PKEY_free(params);
    return tls_context_failed(sc, "The DH parameters are not taken, check", pair->cert_file);
}

/* Its application data: the certificate whose key takes long to sign with, if there is one. */
static void context_note_long_key(SSL_CTX *ctx)
{
    X509 *current = SSL_CTX_get0_certificate(ctx), *slow = NULL;

    for (int more = SSL_CTX_set_current_cert(ctx, SSL_CERT_SET_FIRST); more;
         more = SSL_CTX_set_current_cert(ctx, SSL_CERT_SET_NEXT)) {
        const EVP_PKEY *key = SSL_CTX_get0_privatekey(ctx);

        if (key && EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA &&
            EVP_PKEY_get_bits(key) >= TLS_SIGN_BITS)
            slow = SSL_CTX_get0_certificate(ctx);
    }
    SSL_CTX_select_current_cert(ctx, current);
    SSL_CTX_set_app_data(ctx, slow);
}

static int context_fill(SSL_CTX *ctx, const tls_server_conf *sc, const apr_array_header_t *pairs,
                        OSSL_LIB_CTX *lib, const SSL_CTX *like)
{
    BRG_ASSERT(pairs != NULL && pairs->nelts > 0);
    SSL_CTX_set_client_hello_cb(ctx, tls_hello, NULL);
    SSL_CTX_set_tlsext_servername_callback(ctx, tls_server_name);
    SSL_CTX_set_alpn_select_cb(ctx, tls_alpn, NULL);
    SSL_CTX_set_info_callback(ctx, tls_asked);
    if (sc->stapled)
        SSL_CTX_set_tlsext_status_cb(ctx, tls_staple_status);
    SSL_CTX_set_dh_auto(ctx, 1);
    for (int i = 0; i < pairs->nelts; i++)
        if (context_pair(ctx, sc, &APR_ARRAY_IDX(pairs, i, tls_pair), lib))
            return -1;
    if (!sc->stapled) /* certificates compressed beforehand have no room for a response */
        tls_abilities_compress(ctx);
    if (context_dh(ctx, sc, &APR_ARRAY_IDX(pairs, 0, tls_pair), lib) ||
        tls_tickets_use(ctx, APR_ARRAY_IDX(pairs, 0, tls_pair).ticket, like))
        return -1;
    if (context_ciphers(ctx, sc) || tls_trust_verify(ctx, sc) || context_commands(ctx, sc))
        return -1;
    context_note_long_key(ctx);
    return tls_quic_context(ctx);
}

SSL_CTX *tls_context_make(const tls_server_conf *sc, const apr_array_header_t *pairs,
                          OSSL_LIB_CTX *lib, const SSL_CTX *like)
{
    SSL_CTX *ctx;

    ERR_clear_error();
    if (!context_protocols(sc)) {
        tls_context_failed(sc, APLOGNO(02231) "No SSL protocols available [hint: SSLProtocol]",
                           NULL);
        return NULL;
    }
    if (!(ctx = SSL_CTX_new_ex(lib, NULL, TLS_server_method()))) {
        tls_context_failed(sc, "Unable to create a new SSL context", NULL);
        return NULL;
    }
    context_policy(ctx, sc);
    if (!context_fill(ctx, sc, pairs, lib, like))
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

static const char *context_first_of_cbc(SSL_CTX *ctx)
{
    STACK_OF(SSL_CIPHER) *suites = SSL_CTX_get_ciphers(ctx);

    for (int i = 0; i < sk_SSL_CIPHER_num(suites); i++)
        if (!SSL_CIPHER_is_aead(sk_SSL_CIPHER_value(suites, i)))
            return SSL_CIPHER_get_name(sk_SSL_CIPHER_value(suites, i));
    return NULL;
}

const char *tls_suite_of_cbc(const server_rec *s)
{
    const tls_server_conf *sc = tls_conf_of(s);
    const char *found = NULL;
    SSL_CTX *ctx;

    if (sc->enabled != 1 || !(context_protocols(sc) & (TLS_V1_0 | TLS_V1_1 | TLS_V1_2)) ||
        !(ctx = SSL_CTX_new(TLS_server_method())))
        return NULL;
    if (!context_ciphers(ctx, sc) && !context_commands(ctx, sc))
        found = context_first_of_cbc(ctx);
    SSL_CTX_free(ctx);
    return found;
}

void tls_context_apply(SSL *ssl, SSL_CTX *ctx, const tls_server_conf *sc)
{
    const tls_conn *t = SSL_get_app_data(ssl);

    BRG_ASSERT(ssl != NULL && ctx != NULL && sc->index >= 0);
    SSL_set_min_proto_version(ssl, (int)SSL_CTX_get_min_proto_version(ctx));
    SSL_set_max_proto_version(ssl, (int)SSL_CTX_get_max_proto_version(ctx));
    SSL_clear_options(ssl, SSL_get_options(ssl) & ~SSL_CTX_get_options(ctx));
    SSL_set_options(ssl, SSL_CTX_get_options(ctx));
    SSL_set_verify(ssl, SSL_CTX_get_verify_mode(ctx), tls_context_verified);
    SSL_set_verify_depth(ssl, SSL_CTX_get_verify_depth(ctx));
    SSL_set_session_id_context(ssl, sc->sid, sizeof sc->sid);
    SSL_set_num_tickets(ssl, SSL_CTX_get_num_tickets(ctx));
    if (t->quic)
        tls_quic_settings(t->quic);
}
