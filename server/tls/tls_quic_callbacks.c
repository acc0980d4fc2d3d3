/* SPDX-License-Identifier: Apache-2.0 */
/* Handshakes of QUIC with an OpenSSL that has functions for them (3.5.1 and later; 3.5.0 loses the client's transport parameters
 * when the context changes with the server's name). */
#include "tls_quic_private.h"
#include "tls_context_private.h"
#include "brigade/assert.h"
#include <string.h>

#if TLS_QUIC_CALLBACKS
#include <openssl/core_dispatch.h>

/* ---- output of the handshake ---- */

/* OSSL_RECORD_PROTECTION_LEVEL_*, which have the same order. */
static int callbacks_secret(SSL *ssl, uint32_t level, int is_write, const unsigned char *secret,
                            size_t len, void *of)
{
    tls_quic *q = of;

    if (level >= TLS_QUIC_LEVELS || len > TLS_QUIC_SECRET_MOST)
        return 0;
    tls_quic_say(q, is_write ? TLS_QUIC_WRITE_SECRET : TLS_QUIC_READ_SECRET, (tls_quic_level)level,
                 secret, len);
    if (level == TLS_QUIC_EARLY) /* its packets have no CRYPTO frames */
        q->is_early = 1;
    else if (is_write)
        q->write = (tls_quic_level)level;
    else
        q->read = (tls_quic_level)level;
    return 1;
}

static int callbacks_send(SSL *ssl, const unsigned char *data, size_t len, size_t *taken, void *of)
{
    tls_quic *q = of;

    BRG_ASSERT(q->t->ssl == ssl);
    tls_quic_say(q, TLS_QUIC_SEND, q->write, data, len);
    *taken = len;
    return 1;
}

static int callbacks_params(SSL *ssl, const unsigned char *params, size_t len, void *of)
{
    tls_quic_params_came(of, params, len);
    return 1;
}

static int callbacks_alert(SSL *ssl, unsigned char alert, void *of)
{
    tls_quic_refuse(of, alert);
    return 1;
}

/* SSL_set_msg_callback() */
static void callbacks_message(int sent, int version, int type, const void *data, size_t len,
                              SSL *ssl, void *unused)
{
    tls_conn *t = SSL_get_app_data(ssl);

    if (t && t->quic && sent && len && type == SSL3_RT_HANDSHAKE &&
        *(const unsigned char *)data == SSL3_MT_CERTIFICATE_REQUEST)
        t->waits = tls_ocsp_is_wanted(tls_conf_of(t->server));
}

/* ---- input from the client ---- */

/* OpenSSL looks at a piece until it releases it, over several steps. */
static int callbacks_recv(SSL *ssl, const unsigned char **data, size_t *len, void *of)
{
    const tls_quic *q = of;
    const tls_quic_note *n = q->wires.first;

    /* Input for a worker's step is not read by the loop. */
    if (!n || (q->t->waits && conn_on_loop())) {
        *data = NULL;
        *len = 0;
        return 1;
    }
    BRG_ASSERT(q->wire_off < n->len);
    *data = n->data + q->wire_off;
    *len = n->len - q->wire_off;
    return 1;
}

static int callbacks_release(SSL *ssl, size_t len, void *of)
{
    tls_quic *q = of;

    BRG_ASSERT(q->wires.first && len <= q->wires.first->len - q->wire_off);
    q->wire_off += len;
    if (q->wire_off < q->wires.first->len)
        return 1;
    tls_quic_note_drop(&q->wires);
    q->wire_off = 0;
    return 1;
}

int tls_quic_back_give(tls_quic *q, tls_quic_level level, const uint8_t *data, size_t len)
{
    return len ? tls_quic_note_keep(&q->wires, level, data, len) : 0;
}

int tls_quic_back_step(tls_quic *q)
{
    BRG_ASSERT(q->t->ssl != NULL);
    return SSL_do_handshake(q->t->ssl);
}

/* ---- early data ---- */

static int callbacks_early_allowed(SSL *ssl, void *of)
{
    const tls_quic *q = of;
    void *bound;
    size_t len;

    BRG_ASSERT(q->early_bound);
    return SSL_SESSION_get0_ticket_appdata(SSL_get_session(ssl), &bound, &len) == 1 &&
           len == sizeof q->early_bound && !memcmp(bound, &q->early_bound, len);
}

/* OpenSSL's own guard against replays keeps sessions in a process, so that no other one could
 * resume them. Early data is bounded instead (docs/guides): it is answered from memory, and the
 * ticket's age has to be right within seconds. */
void tls_quic_back_early(tls_quic *q)
{
    SSL *ssl = q->t->ssl;

    SSL_set_max_early_data(ssl, UINT32_MAX); /* RFC 9001, 4.6.1 */
    tls_quic_settings(q);
    SSL_set_allow_early_data_cb(ssl, callbacks_early_allowed, q);
    SSL_set_quic_tls_early_data_enabled(ssl, 1);
}

/* ---- begin and end ---- */

int tls_quic_back_begin(const char **why)
{
    *why = NULL;
    return 0;
}

int tls_quic_back_context(SSL_CTX *ctx)
{
    return 0;
}

int tls_quic_back_ssl(tls_quic *q)
{
    static const OSSL_DISPATCH functions[] = {
        {OSSL_FUNC_SSL_QUIC_TLS_CRYPTO_SEND, (void (*)(void))callbacks_send},
        {OSSL_FUNC_SSL_QUIC_TLS_CRYPTO_RECV_RCD, (void (*)(void))callbacks_recv},
        {OSSL_FUNC_SSL_QUIC_TLS_CRYPTO_RELEASE_RCD, (void (*)(void))callbacks_release},
        {OSSL_FUNC_SSL_QUIC_TLS_YIELD_SECRET, (void (*)(void))callbacks_secret},
        {OSSL_FUNC_SSL_QUIC_TLS_GOT_TRANSPORT_PARAMS, (void (*)(void))callbacks_params},
        {OSSL_FUNC_SSL_QUIC_TLS_ALERT, (void (*)(void))callbacks_alert},
        {0, NULL}};
    SSL *ssl = q->t->ssl;

    tls_quic_settings(q);
    SSL_set_msg_callback(ssl, callbacks_message);
    return SSL_set_quic_tls_cbs(ssl, functions, q) == 1 &&
                   SSL_set_quic_tls_transport_params(ssl, q->params, q->params_len) == 1
               ? 0
               : -1;
}

void tls_quic_back_end(tls_quic *q)
{
    while (q->wires.first)
        tls_quic_note_drop(&q->wires);
    q->wire_off = 0;
}

#endif
