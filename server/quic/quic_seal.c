/* SPDX-License-Identifier: Apache-2.0 */
/* Seals of servers beside packets: Retry, address tokens. */
#include "quic_keys.h"
#include <openssl/evp.h>

static int seal_gcm(const uint8_t *key, const uint8_t *nonce, const uint8_t *aad, size_t aad_len,
                    uint8_t *data, size_t len, uint8_t tag[QUIC_TAG], int seal)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n, good = c && EVP_CipherInit_ex(c, EVP_aes_128_gcm(), NULL, key, nonce, seal) == 1 &&
                  (!aad_len || EVP_CipherUpdate(c, NULL, &n, aad, (int)aad_len) == 1) &&
                  (!len || EVP_CipherUpdate(c, data, &n, data, (int)len) == 1) &&
                  (seal || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, QUIC_TAG, tag) == 1) &&
                  EVP_CipherFinal_ex(c, data ? data + len : tag, &n) == 1 &&
                  (!seal || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, QUIC_TAG, tag) == 1);

    EVP_CIPHER_CTX_free(c);
    return good ? 0 : -1;
}

int quic_token_crypt(const uint8_t *key, const uint8_t nonce[QUIC_IV], const uint8_t *aad,
                     size_t aad_len, uint8_t *data, size_t len, uint8_t tag[QUIC_TAG], int seal)
{
    return seal_gcm(key, nonce, aad, aad_len, data, len, tag, seal);
}

int quic_retry_tag(uint32_t version, const quic_cid *original, const uint8_t *retry, size_t len,
                   uint8_t tag[QUIC_TAG])
{
    static const uint8_t key1[16] = {0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a,
                                     0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e};
    static const uint8_t nonce1[QUIC_IV] = {0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63,
                                            0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb};
    static const uint8_t key2[16] = {0x8f, 0xb4, 0xb0, 0x1b, 0x56, 0xac, 0x48, 0xe2,
                                     0x60, 0xfb, 0xcb, 0xce, 0xad, 0x7c, 0xcc, 0x92};
    static const uint8_t nonce2[QUIC_IV] = {0xd8, 0x69, 0x69, 0xbc, 0x2d, 0x7c,
                                            0x6d, 0x99, 0x90, 0xef, 0xb0, 0x4a};
    uint8_t pseudo[512], *p = pseudo;

    if (len + 1 + original->len > sizeof pseudo)
        return -1;
    *p++ = original->len;
    p = quic_put_bytes(quic_put_bytes(p, original->id, original->len), retry, len);
    return seal_gcm(version == QUIC_V2 ? key2 : key1, version == QUIC_V2 ? nonce2 : nonce1, pseudo,
                    (size_t)(p - pseudo), NULL, 0, tag, 1);
}
