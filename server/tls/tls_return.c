/* SPDX-License-Identifier: Apache-2.0 */
/* A connection's records become OpenSSL's again, for a handshake in the middle of a connection,
 * which OpenSSL alone can do. OpenSSL counts the records of each direction, and its functions have
 * no way to set that number. So it processes as many records as there were without it: its output
 * goes nowhere, and its input is made here. */
#include "tls_record_private.h"
#include "brigade/assert.h"
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <stdint.h>
#include <string.h>

#define RETURN_MOST UINT64_C(1000000) /* records: a second */

/* The number of the next record to be sent. */
static int return_sent(SSL *ssl, uint64_t records)
{
    for (; records; records--)
        if (SSL_write(ssl, "", 1) != 1)
            return -1;
    return 0;
}

/* One record as the client would have made it. */
static int return_take(SSL *ssl, tls_records *client, BIO *wire)
{
    struct iovec iov = {(void *)(uintptr_t) "", 1};
    unsigned char record[1 + TLS_ADDED_MOST];
    char byte;
    size_t n = tls_seal(client, TLS_TYPE_DATA, &iov, 0, 1, record);

    return n && BIO_write(wire, record, (int)n) == (int)n && SSL_read(ssl, &byte, 1) == 1 ? 0 : -1;
}

static int return_taken(const tls_conn *t, BIO *wire)
{
    const tls_records *rec = t->records;
    tls_records client = {.aead = rec->aead,
                          .v13 = rec->v13,
                          .explicit_iv = rec->explicit_iv,
                          .secret_len = rec->secret_len};
    int failed;

    BRG_ASSERT(!rec->updated && !t->shared); /* the secret is that of the first record */
    client.out = rec->in;
    client.out.ctx = NULL;
    failed = rec->v13 ? tls_half_begin(t->loop, &client, &client.out, 1)
                      : tls_half_key(&client.out, rec->aead, rec->in.secret, 1);
    for (client.out.seq = rec->in_first; !failed && client.out.seq < rec->in.seq;)
        failed = return_take(t->ssl, &client, wire);
    if (client.out.ctx)
        rec->aead->release(client.out.ctx);
    OPENSSL_cleanse(&client, sizeof client);
    return failed;
}

int tls_keys_return(tls_conn *t)
{
    const tls_records *rec = t->records;
    BIO *in = t->shared ? NULL : BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_null());
    BIO *rbio = SSL_get_rbio(t->ssl), *wbio = SSL_get_wbio(t->ssl);
    int failed;

    BRG_ASSERT(rec != NULL && !t->held_len);
    if (!in || !out || rec->updated ||
        rec->in.seq + rec->out.seq > RETURN_MOST + rec->in_first + rec->out_first) {
        BIO_free(in);
        BIO_free(out);
        return -1;
    }
    BRG_ASSERT(rec->in.seq >= rec->in_first && rec->out.seq >= rec->out_first);
    BIO_up_ref(rbio);
    BIO_up_ref(wbio);
    SSL_set0_rbio(t->ssl, in);
    SSL_set0_wbio(t->ssl, out);
    failed = return_sent(t->ssl, rec->out.seq - rec->out_first) || return_taken(t, in);
    SSL_set0_rbio(t->ssl, rbio);
    SSL_set0_wbio(t->ssl, wbio);
    ERR_clear_error();
    if (failed)
        return -1;
    tls_keys_drop(t);
    return 0;
}
