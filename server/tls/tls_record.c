/* SPDX-License-Identifier: Apache-2.0 */
/* Records with AEAD: RFC 8446, 5.2 and 5.3; TLS 1.2: RFC 5246, 6.2.3.3, RFC 5288 and RFC 7905. */
#include "tls_record_private.h"
#include "brigade/assert.h"
#include <openssl/core_names.h>
#include <openssl/params.h>
#include <string.h>

/* so much is moved into one piece: a call less costs more than the copy */
#define RECORD_STAGED 2048

static void record_put64(unsigned char *out, uint64_t n)
{
    for (int i = 7; i >= 0; i--, n >>= 8)
        out[i] = (unsigned char)n;
}

/* @param explicit_iv  where it is in the record, with AES in TLS 1.2 */
static void record_nonce(const tls_records *rec, const tls_half *h,
                         const unsigned char *explicit_iv, unsigned char nonce[TLS_IV])
{
    unsigned char seq[8];

    if (rec->explicit_iv) {
        memcpy(nonce, h->iv, TLS_FIXED_IV);
        memcpy(nonce + TLS_FIXED_IV, explicit_iv, TLS_EXPLICIT_IV);
        return;
    }
    memcpy(nonce, h->iv, TLS_IV);
    record_put64(seq, h->seq);
    for (int i = 0; i < 8; i++)
        nonce[TLS_IV - 8 + i] ^= seq[i];
}

/* The additional data of the AEAD. @return its length */
static size_t record_aad(const tls_records *rec, const tls_half *h, const unsigned char *header,
                         size_t plain, unsigned char aad[13])
{
    if (rec->v13) {
        memcpy(aad, header, TLS_HEADER);
        return TLS_HEADER;
    }
    record_put64(aad, h->seq);
    memcpy(aad + 8, header, 3);
    aad[11] = (unsigned char)(plain >> 8);
    aad[12] = (unsigned char)plain;
    return 13;
}

/* The tag; OSSL_PARAM_construct_octet_string() and the end behind it, made in place. */
#define RECORD_TAG(params, at)                                                                   \
    OSSL_PARAM params[2] = {{OSSL_CIPHER_PARAM_AEAD_TAG, OSSL_PARAM_OCTET_STRING, (at), TLS_TAG, \
                             OSSL_PARAM_UNMODIFIED},                                             \
                            OSSL_PARAM_END}

/* ---- sealing ---- */

/* Move the bytes to where they are encrypted, in place. */
static int seal_staged(tls_records *rec, unsigned type, const struct iovec *from, size_t off,
                       size_t len, unsigned char *out)
{
    size_t done = 0, n;

    for (; done < len; from++, off = 0) {
        size_t here = from->iov_len - off;

        if (here > len - done)
            here = len - done;
        memcpy(out + done, (const char *)from->iov_base + off, here);
        done += here;
    }
    if (rec->v13)
        out[done++] = (unsigned char)type;
    return rec->aead->update(rec->out.ctx, out, &n, done, out, done) == 1;
}

static int seal_pieces(tls_records *rec, unsigned type, const struct iovec *from, size_t off,
                       size_t len, unsigned char *out)
{
    unsigned char byte = (unsigned char)type;
    size_t done = 0, n;

    if (len <= RECORD_STAGED)
        return seal_staged(rec, type, from, off, len, out);
    for (; done < len; from++, off = 0) {
        size_t here = from->iov_len - off;

        if (here > len - done)
            here = len - done;
        if (here && rec->aead->update(rec->out.ctx, out + done, &n, here,
                                      (const unsigned char *)from->iov_base + off, here) != 1)
            return 0;
        done += here;
    }
    return !rec->v13 || rec->aead->update(rec->out.ctx, out + done, &n, 1, &byte, 1) == 1;
}

size_t tls_seal(tls_records *rec, unsigned type, const struct iovec *from, size_t off, size_t len,
                unsigned char *out)
{
    unsigned char nonce[TLS_IV], aad[13], *body = out + TLS_HEADER;
    size_t inner = len + rec->v13, outer = inner + TLS_TAG;
    const tls_aead *a = rec->aead;
    void *c = rec->out.ctx;
    RECORD_TAG(tag, body + inner + (rec->explicit_iv ? TLS_EXPLICIT_IV : 0));
    size_t n;

    BRG_ASSERT(len > 0 && len <= TLS_RECORD && c != NULL);
    if (rec->explicit_iv) {
        record_put64(body, rec->out.seq);
        body += TLS_EXPLICIT_IV;
        outer += TLS_EXPLICIT_IV;
    }
    out[0] = rec->v13 ? TLS_TYPE_DATA : (unsigned char)type;
    out[1] = out[2] = 3;
    out[3] = (unsigned char)(outer >> 8);
    out[4] = (unsigned char)outer;
    record_nonce(rec, &rec->out, out + TLS_HEADER, nonce);
    n = record_aad(rec, &rec->out, out, len, aad);
    if (a->begin_seal(c, NULL, 0, nonce, TLS_IV, NULL) != 1 ||
        a->update(c, NULL, &n, n, aad, n) != 1 || !seal_pieces(rec, type, from, off, len, body) ||
        a->final(c, body + inner, &n, TLS_TAG) != 1 || a->get(c, tag) != 1)
        return 0;
    rec->out.seq++;
    return TLS_HEADER + outer;
}

/* ---- opening ---- */

ssize_t tls_record_length(const unsigned char *data, size_t have)
{
    size_t len;

    if (have < TLS_HEADER)
        return 0;
    len = (size_t)data[3] << 8 | data[4];
    if (data[1] != 3 || data[2] != 3)
        return -SSL_AD_DECODE_ERROR;
    if (len > TLS_RECORD + TLS_ADDED_MOST)
        return -SSL_AD_RECORD_OVERFLOW;
    return (ssize_t)(TLS_HEADER + len);
}

static size_t record_added(const tls_records *rec)
{
    return TLS_HEADER + TLS_TAG + (rec->explicit_iv ? TLS_EXPLICIT_IV : 0);
}

size_t tls_record_room(const tls_records *rec, size_t len)
{
    size_t added = record_added(rec);

    return len > added ? len - added : 0;
}

/* TLS 1.3: the type stands behind the data, and zeros behind it. */
static ssize_t record_inner(const unsigned char *out, size_t len, unsigned *type)
{
    while (len && !out[len - 1])
        len--;
    if (!len)
        return -SSL_AD_UNEXPECTED_MESSAGE;
    *type = out[len - 1];
    return (ssize_t)len - 1;
}

ssize_t tls_open(tls_records *rec, unsigned char *record, size_t len, unsigned char **out,
                 unsigned *type)
{
    unsigned char nonce[TLS_IV], aad[13], *body = record + (record_added(rec) - TLS_TAG);
    size_t plain = tls_record_room(rec, len);
    const tls_aead *a = rec->aead;
    void *c = rec->in.ctx;
    ssize_t got = (ssize_t)plain;
    RECORD_TAG(tag, body + plain);
    size_t n;

    BRG_ASSERT(c != NULL && len >= TLS_HEADER); /* which may be all that there is */
    if (rec->v13 && record[0] != TLS_TYPE_DATA)
        return -SSL_AD_UNEXPECTED_MESSAGE;
    if (len < record_added(rec))
        return -SSL_AD_BAD_RECORD_MAC;
    record_nonce(rec, &rec->in, record + TLS_HEADER, nonce);
    *type = record[0];
    *out = *out ? *out : body;
    n = record_aad(rec, &rec->in, record, plain, aad);
    if (a->begin_open(c, NULL, 0, nonce, TLS_IV, NULL) != 1 || a->set(c, tag) != 1 ||
        a->update(c, NULL, &n, n, aad, n) != 1 ||
        (plain && a->update(c, *out, &n, plain, body, plain) != 1) ||
        a->final(c, *out + plain, &n, TLS_TAG) != 1)
        return -SSL_AD_BAD_RECORD_MAC;
    rec->in.seq++;
    if (rec->v13)
        got = record_inner(*out, plain, type);
    return got <= TLS_RECORD ? got : -SSL_AD_RECORD_OVERFLOW;
}
