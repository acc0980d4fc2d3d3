/* SPDX-License-Identifier: Apache-2.0 */
/* A connection before its ClientHello is there. An SSL, with its buffers, takes 40 KiB: so it is
 * made when there is something for it to do. A silent client, or a slow one, has its bytes kept
 * here. */
#include "tls_context_private.h"
#include "http_log.h"
#include "brigade/assert.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

#define RECORD_HEAD 5
#define MESSAGE_HEAD 4
#define HELLO_MOST (TLS_RECORD + 1024) /* more bytes are OpenSSL's from the beginning */

/* ---- is it all there? ---- */

/* The form of SSL 2, with a length of 15 bits; else it is no hello, which OpenSSL tells by its first bytes. */
static int whole_old(const unsigned char *data, size_t len)
{
    return !(data[0] & 0x80) || data[2] != SSL3_MT_CLIENT_HELLO ||
           len >= 2 + ((size_t)(data[0] & 0x7f) << 8 | data[1]);
}

/* 1: the next record is all there, or is invalid. */
static int whole_record(const unsigned char *data, size_t len)
{
    const size_t size = (size_t)data[3] << 8 | data[4];

    return data[0] != SSL3_RT_HANDSHAKE || !size || size > TLS_RECORD || len >= RECORD_HEAD + size;
}

int tls_hello_is_whole(const unsigned char *data, size_t len)
{
    unsigned char head[MESSAGE_HEAD];
    size_t at = 0, got = 0, need = MESSAGE_HEAD;

    if (len < RECORD_HEAD || len >= HELLO_MOST)
        return len >= HELLO_MOST;
    if (data[0] != SSL3_RT_HANDSHAKE)
        return whole_old(data, len);
    if (len > RECORD_HEAD && data[RECORD_HEAD] != SSL3_MT_CLIENT_HELLO)
        return 1;
    while (got < need && len - at >= RECORD_HEAD) {
        const unsigned char *record = data + at;
        size_t size = (size_t)record[3] << 8 | record[4];

        if (!whole_record(record, len - at))
            return 0;
        if (record[0] != SSL3_RT_HANDSHAKE || !size || size > TLS_RECORD)
            return 1;
        for (size_t i = 0; got + i < MESSAGE_HEAD && i < size; i++)
            head[got + i] = record[RECORD_HEAD + i];
        got += size;
        if (got >= MESSAGE_HEAD)
            need = MESSAGE_HEAD + ((size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]);
        at += RECORD_HEAD + size;
    }
    return got >= need;
}

int tls_hello_came(tls_conn *t, tls_scratch *in)
{
    ssize_t n = 1;

    BRG_ASSERT(!t->ssl && in->input_of == t);
    while (n > 0 && !tls_hello_is_whole(in->input + in->input_off, in->input_len - in->input_off))
        n = tls_input_more(t, in);
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n < 0)
        conn_fail(t->bc, errno, "cannot read from the client");
    return n > 0 ? 1 : -1;
}

/* ---- creation ---- */

tls_conn *tls_conn_new(brg_conn *bc)
{
    tls_conn *t = calloc(1, sizeof *t);

    BRG_ASSERT(!bc->below && bc->loop->layer); /* setup_begin() */
    if (!t)
        return NULL;
    t->tag = TLS_CONN_TAG;
    t->bc = bc;
    t->loop = bc->loop->layer;
    t->server = bc->base;
    return t;
}

int tls_conn_ssl(tls_conn *t)
{
    SSL_CTX *ctx = tls_context_of(t->loop, t->server);

    BRG_ASSERT(!t->ssl);
    if (!ctx || !(t->ssl = SSL_new(ctx)) || !SSL_set_app_data(t->ssl, t))
        return -1;
    SSL_set_accept_state(t->ssl);
    return 0;
}

int tls_conn_begin(tls_conn *t)
{
    BIO *bio = tls_bio_new(t);

    if (bio && !tls_conn_ssl(t)) {
        SSL_set_bio(t->ssl, bio, bio);
        if (tls_records_are_ours())
            tls_keys_expect(t);
        return 0;
    }
    BIO_free(bio);
    SSL_free(t->ssl);
    t->ssl = NULL;
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, t->server,
                 "TLS: no memory for a connection, or the loop has no context of its server");
    tls_log_errors(t->server, APLOG_ERR);
    return -1;
}
