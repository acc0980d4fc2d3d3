/* SPDX-License-Identifier: Apache-2.0 */
/* Handshakes of QUIC with an OpenSSL that has no functions for them (before 3.5). It believes that it speaks over a socket:
 *
 *   secrets    come by our key derivation (tls_kdf.c)
 *   messages   of ours are seen by the message callback before they become records, and its output goes nowhere; those of
 *              the client are put into records, which are encrypted with the client's secret once there is one
 *   parameters are an extension of ours
 *
 * There is no early data: OpenSSL waits for EndOfEarlyData, which QUIC does not have (RFC 9001, 8.3). */
#include "tls_quic_private.h"
#include "tls_context_private.h"
#include "brigade/assert.h"
#include <openssl/bio.h>
#include <stdlib.h>
#include <string.h>

#if !TLS_QUIC_CALLBACKS

#define COMPAT_RECORD TLS_RECORD

/* ---- OpenSSL's input and output ---- */

static BIO_METHOD *compat_method;

static int compat_write(BIO *bio, const char *data, int len)
{
    BIO_clear_retry_flags(bio);
    return len;
}

static int compat_read(BIO *bio, char *buf, int len)
{
    tls_quic *q = BIO_get_data(bio);
    const size_t left = q ? q->wire_len - q->wire_off : 0;

    BIO_clear_retry_flags(bio);
    if (len <= 0)
        return 0;
    /* Input for a worker's step is not read by the loop. */
    if (!left || (q->t->waits && conn_on_loop())) {
        BIO_set_retry_read(bio);
        return -1;
    }
    if ((size_t)len > left)
        len = (int)left;
    memcpy(buf, q->wire + q->wire_off, (size_t)len);
    q->wire_off += (size_t)len;
    return len;
}

static long compat_ctrl(BIO *bio, int command, long n, void *p)
{
    return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP;
}

static int compat_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

int tls_quic_back_begin(const char **why)
{
    if (compat_method)
        return 0;
    if (!tls_records_are_ours()) {
        *why = "the key derivation of this OpenSSL is not as expected";
        return -1;
    }
    compat_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "brigade quic");
    *why = "no memory";
    if (!compat_method)
        return -1;
    BIO_meth_set_write(compat_method, compat_write);
    BIO_meth_set_read(compat_method, compat_read);
    BIO_meth_set_ctrl(compat_method, compat_ctrl);
    BIO_meth_set_create(compat_method, compat_create);
    return 0;
}

/* ---- transport parameters ---- */

static int compat_params_add(SSL *ssl, unsigned type, unsigned context, const unsigned char **out,
                             size_t *len, X509 *x, size_t chain, int *alert, void *unused)
{
    const tls_conn *t = SSL_get_app_data(ssl);

    if (!t || !t->quic)
        return 0;
    *out = t->quic->params;
    *len = t->quic->params_len;
    return 1;
}

/* Over TCP it is an error (RFC 9001, 8.2). */
static int compat_params_came(SSL *ssl, unsigned type, unsigned context, const unsigned char *in,
                              size_t len, X509 *x, size_t chain, int *alert, void *unused)
{
    tls_conn *t = SSL_get_app_data(ssl);

    if (!t || !t->quic) {
        *alert = SSL_AD_UNSUPPORTED_EXTENSION;
        return 0;
    }
    tls_quic_params_came(t->quic, in, len);
    return 1;
}

int tls_quic_back_context(SSL_CTX *ctx)
{
    return SSL_CTX_add_custom_ext(ctx, TLS_QUIC_PARAMS,
                                  SSL_EXT_TLS_ONLY | SSL_EXT_TLS1_3_ONLY | SSL_EXT_CLIENT_HELLO |
                                      SSL_EXT_TLS1_3_ENCRYPTED_EXTENSIONS,
                                  compat_params_add, NULL, NULL, compat_params_came, NULL) == 1
               ? 0
               : -1;
}

/* ---- output of the handshake ---- */

/* SSL_set_msg_callback(): whole messages, in the clear. */
static void compat_message(int sent, int version, int type, const void *data, size_t len, SSL *ssl,
                           void *unused)
{
    tls_conn *t = SSL_get_app_data(ssl);
    const unsigned char *bytes = data;

    if (!t || !t->quic || !sent || !len)
        return;
    BRG_ASSERT(t->quic->t == t);
    if (type == SSL3_RT_ALERT && len == 2 && bytes[0] == SSL3_AL_FATAL)
        tls_quic_refuse(t->quic, bytes[1]);
    if (type != SSL3_RT_HANDSHAKE)
        return;
    tls_quic_say(t->quic, TLS_QUIC_SEND, t->quic->write, data, len);
    if (bytes[0] == SSL3_MT_CERTIFICATE_REQUEST)
        t->waits = tls_ocsp_is_wanted(tls_conf_of(t->server));
}

void tls_quic_learn(tls_quic *q, const char *label, size_t label_len, const uint8_t *secret,
                    size_t len)
{
    const int is_early = label_len > 2 && label[2] == 'h', ours = label_len && label[0] == 's';
    const tls_quic_level level = is_early ? TLS_QUIC_HANDSHAKE : TLS_QUIC_APPLICATION;

    if (label_len != sizeof "c hs traffic" - 1 || memcmp(label + 4, " traffic", 8) != 0 ||
        len > TLS_QUIC_SECRET_MOST || (label[0] != 's' && label[0] != 'c') ||
        (memcmp(label + 1, " hs", 3) != 0 && memcmp(label + 1, " ap", 3) != 0))
        return;
    tls_quic_say(q, ours ? TLS_QUIC_WRITE_SECRET : TLS_QUIC_READ_SECRET, level, secret, len);
    if (ours) {
        q->write = level;
        return;
    }
    q->read = level;
    if (level == TLS_QUIC_HANDSHAKE) {
        memcpy(q->rec->out.secret, secret, len);
        q->rec->secret_len = (uint8_t)len;
    }
}

/* ---- input from the client ---- */

static const tls_aead *compat_aead(const tls_quic *q)
{
    const SSL_CIPHER *c = SSL_get_pending_cipher(q->t->ssl);
    const unsigned id = c ? SSL_CIPHER_get_protocol_id(c) : 0;

    switch (id) {
    case 0x1301:
        return q->t->loop->aead[TLS_AES_128_GCM];
    case 0x1302:
        return q->t->loop->aead[TLS_AES_256_GCM];
    case 0x1303:
        return q->t->loop->aead[TLS_CHACHA20];
    default:
        return NULL;
    }
}

/* The client's keys for records of the handshake. */
static int compat_key(tls_quic *q)
{
    if (q->rec->aead)
        return 0;
    BRG_ASSERT(!q->rec->out.ctx && q->rec->secret_len <= sizeof q->rec->out.secret);
    q->rec->v13 = 1;
    q->rec->aead = compat_aead(q);
    return q->rec->aead && q->rec->secret_len ? tls_half_begin(q->t->loop, q->rec, &q->rec->out, 1)
                                              : -1;
}

static size_t compat_clear(const uint8_t *data, size_t len, uint8_t *out)
{
    BRG_ASSERT(len <= COMPAT_RECORD);
    out[0] = SSL3_RT_HANDSHAKE;
    out[1] = 3;
    out[2] = 3;
    out[3] = (uint8_t)(len >> 8);
    out[4] = (uint8_t)len;
    memcpy(out + TLS_HEADER, data, len);
    return TLS_HEADER + len;
}

static size_t compat_seal(tls_quic *q, const uint8_t *data, size_t len, uint8_t *out)
{
    struct iovec iov = {(void *)(uintptr_t)data, len};

    return compat_key(q) ? 0 : tls_seal(q->rec, TLS_TYPE_HANDSHAKE, &iov, 0, len, out);
}

/* Room behind the unread bytes. */
static uint8_t *compat_room(tls_quic *q, size_t len)
{
    const size_t left = q->wire_len - q->wire_off;
    uint8_t *bigger;

    BRG_ASSERT(q->wire_off <= q->wire_len);
    if (left)
        memmove(q->wire, q->wire + q->wire_off, left);
    q->wire_off = 0;
    q->wire_len = left;
    bigger = realloc(q->wire, left + len);
    q->wire = bigger ? bigger : q->wire;
    return bigger ? bigger + left : NULL;
}

int tls_quic_back_give(tls_quic *q, tls_quic_level level, const uint8_t *data, size_t len)
{
    while (len) {
        const size_t part = len < COMPAT_RECORD ? len : COMPAT_RECORD;
        uint8_t *out = compat_room(q, part + TLS_HEADER + TLS_ADDED_MOST);
        size_t n;

        if (!out)
            return -1;
        n = level == TLS_QUIC_INITIAL ? compat_clear(data, part, out)
                                      : compat_seal(q, data, part, out);
        if (!n)
            return -1;
        q->wire_len += n;
        data += part;
        len -= part;
    }
    return 0;
}

int tls_quic_back_step(tls_quic *q)
{
    int rc;

    BRG_ASSERT(q->t->ssl && q->rec->quic == q);
    tls_kdf_listen(q->rec);
    rc = SSL_do_handshake(q->t->ssl);
    tls_kdf_listen(NULL);
    return rc;
}

/* ---- begin and end ---- */

int tls_quic_back_ssl(tls_quic *q)
{
    BIO *bio = compat_method ? BIO_new(compat_method) : NULL;

    if (!bio || !(q->rec = OPENSSL_zalloc(sizeof *q->rec))) {
        BIO_free(bio);
        return -1;
    }
    BIO_set_data(bio, q);
    SSL_set_bio(q->t->ssl, bio, bio);
    SSL_set_msg_callback(q->t->ssl, compat_message);
    tls_quic_settings(q);
    q->rec->quic = q;
    return 0;
}

void tls_quic_back_early(tls_quic *q)
{
    BRG_ASSERT(!tls_quic_has_early());
}

void tls_quic_back_end(tls_quic *q)
{
    if (q->rec && q->rec->out.ctx)
        q->rec->aead->release(q->rec->out.ctx);
    OPENSSL_clear_free(q->rec, sizeof *q->rec);
    q->rec = NULL;
    free(q->wire);
    q->wire = NULL;
    q->wire_off = q->wire_len = 0;
}

#endif
