/* SPDX-License-Identifier: Apache-2.0 */
/* HMAC, and HKDF-Expand-Label of RFC 8446, 7.1. A handshake needs some twenty-five; OpenSSL's HMAC() looks its digest up by name each
 * time, and takes five times as long. */
#include "quic_keys.h"
#include "brigade/assert.h"
#include <pthread.h>

static tls_digest hkdf_sha256, hkdf_sha384;

/* A size of 0: there is none. */
static void hkdf_fetch(void)
{
    if (tls_digest_begin(&hkdf_sha256, NULL, "SHA2-256"))
        hkdf_sha256.size = 0;
    if (tls_digest_begin(&hkdf_sha384, NULL, "SHA2-384"))
        hkdf_sha384.size = 0;
}

tls_hash quic_hash(uint16_t suite)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, hkdf_fetch);
    return (tls_hash){suite == QUIC_AES_256_GCM ? &hkdf_sha384 : &hkdf_sha256, NULL};
}

int quic_expand(tls_hash *h, const uint8_t *secret, size_t secret_len, const char *label,
                uint8_t *out, size_t len)
{
    uint8_t info[64], block[EVP_MAX_MD_SIZE], *p = info;
    const size_t label_len = strlen(label);
    tls_piece piece = {info, 0};

    BRG_ASSERT(label_len < 40 && len <= QUIC_SECRET_MOST);
    *p++ = 0;
    *p++ = (uint8_t)len;
    *p++ = (uint8_t)(6 + label_len);
    p = quic_put_bytes(quic_put_bytes(p, "tls13 ", 6), label, label_len);
    *p++ = 0;
    *p++ = 1;
    piece.len = (size_t)(p - info);
    if (len > h->of->size || !tls_hmac(h, (tls_piece){secret, secret_len}, &piece, 1, block))
        return -1;
    memcpy(out, block, len);
    return 0;
}

int quic_hmac_with(tls_hash *h, const uint8_t *key, size_t key_len, const void *data, size_t len,
                   uint8_t *out)
{
    const tls_piece piece = {data, len};

    return h->of->size && tls_hmac(h, (tls_piece){key, key_len}, &piece, 1, out) ? 0 : -1;
}

int quic_hmac(const uint8_t *key, size_t key_len, const void *data, size_t len, uint8_t out[32])
{
    tls_hash h = quic_hash(QUIC_AES_128_GCM);
    const int rc = quic_hmac_with(&h, key, key_len, data, len, out);

    tls_hash_end(&h);
    return rc;
}
