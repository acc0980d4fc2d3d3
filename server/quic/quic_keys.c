/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: from secrets by HKDF-Expand-Label, of which each output is one block of HMAC. */
#include "quic_keys.h"
#include "tls_aead.h"
#include "brigade/assert.h"
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdlib.h>

/* Fetched once: each initialisation would otherwise look them up by name. */
static struct keys_ciphers {
    tls_aead *gcm128, *gcm256, *chacha_poly;
    EVP_CIPHER *ecb128, *ecb256, *chacha;
} keys_ciphers;

static void keys_fetch(void)
{
    keys_ciphers.gcm128 = tls_aead_begin(NULL, "AES-128-GCM");
    keys_ciphers.gcm256 = tls_aead_begin(NULL, "AES-256-GCM");
    keys_ciphers.chacha_poly = tls_aead_begin(NULL, "ChaCha20-Poly1305");
    keys_ciphers.ecb128 = EVP_CIPHER_fetch(NULL, "AES-128-ECB", NULL);
    keys_ciphers.ecb256 = EVP_CIPHER_fetch(NULL, "AES-256-ECB", NULL);
    keys_ciphers.chacha = EVP_CIPHER_fetch(NULL, "ChaCha20", NULL);
}

static const struct keys_ciphers *keys_all(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, keys_fetch);
    return &keys_ciphers;
}

static const tls_aead *keys_aead(uint16_t suite)
{
    const struct keys_ciphers *all = keys_all();

    return suite == QUIC_AES_128_GCM   ? all->gcm128
           : suite == QUIC_AES_256_GCM ? all->gcm256
                                       : all->chacha_poly;
}

static const EVP_CIPHER *keys_head(uint16_t suite)
{
    const struct keys_ciphers *all = keys_all();

    return suite == QUIC_AES_128_GCM   ? all->ecb128
           : suite == QUIC_AES_256_GCM ? all->ecb256
                                       : all->chacha;
}

static size_t keys_len(uint16_t suite)
{
    return suite == QUIC_AES_128_GCM ? 16 : 32;
}

static const EVP_MD *keys_digest(uint16_t suite)
{
    return suite == QUIC_AES_256_GCM ? EVP_sha384() : EVP_sha256();
}

/* HKDF-Expand-Label of RFC 8446, 7.1, with an empty context and no more than a block. */
static int keys_expand(const EVP_MD *md, const uint8_t *secret, size_t secret_len,
                       const char *label, uint8_t *out, size_t len)
{
    uint8_t info[64], block[EVP_MAX_MD_SIZE], *p = info;
    const size_t label_len = strlen(label);
    unsigned n = 0;

    BRG_ASSERT(label_len < 40 && len <= (size_t)EVP_MD_get_size(md));
    *p++ = 0;
    *p++ = (uint8_t)len;
    *p++ = (uint8_t)(6 + label_len);
    p = quic_put_bytes(quic_put_bytes(p, "tls13 ", 6), label, label_len);
    *p++ = 0;
    *p++ = 1;
    if (!HMAC(md, secret, (int)secret_len, info, (size_t)(p - info), block, &n))
        return -1;
    memcpy(out, block, len);
    return 0;
}

/* Labels begin with "quic " or "quicv2 ": RFC 9369, 3.3.2. */
static int keys_expand_quic(uint32_t version, const EVP_MD *md, const uint8_t *secret,
                            size_t secret_len, const char *what, uint8_t *out, size_t len)
{
    char label[16];

    strcpy(label, version == QUIC_V2 ? "quicv2 " : "quic ");
    strcat(label, what);
    return keys_expand(md, secret, secret_len, label, out, len);
}

/* A context with its key. */
static EVP_CIPHER_CTX *keys_context(const EVP_CIPHER *cipher, const uint8_t *key, int seal)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();

    if (!c || !cipher || EVP_CipherInit_ex(c, cipher, NULL, key, NULL, seal) != 1) {
        EVP_CIPHER_CTX_free(c);
        return NULL;
    }
    EVP_CIPHER_CTX_set_padding(c, 0);
    return c;
}

/* The context of the AEAD, by the secret. */
static int keys_context_aead(quic_key *k)
{
    uint8_t key[32];
    int good;

    if (keys_expand_quic(k->version, keys_digest(k->suite), k->secret, k->secret_len, "key", key,
                         keys_len(k->suite)) ||
        !(k->cipher = keys_aead(k->suite)) || !(k->aead = k->cipher->make(k->cipher->provider)))
        return -1;
    good = (k->is_write ? k->cipher->begin_seal : k->cipher->begin_open)(
               k->aead, key, keys_len(k->suite), NULL, 0, NULL) == 1;
    OPENSSL_cleanse(key, sizeof key);
    return good ? 0 : -1;
}

/* AEAD and IV, without the key of heads. */
static int keys_make_aead(quic_key *k, uint32_t version, uint16_t suite, int is_write,
                          const uint8_t *secret, size_t len)
{
    memset(k, 0, sizeof *k);
    if (suite < QUIC_AES_128_GCM || suite > QUIC_CHACHA20 || len > sizeof k->secret)
        return -1;
    k->version = version;
    k->suite = suite;
    k->is_write = (uint8_t)is_write;
    memcpy(k->secret, secret, len);
    k->secret_len = (uint8_t)len;
    if (!keys_expand_quic(version, keys_digest(suite), secret, len, "iv", k->iv, sizeof k->iv) &&
        !keys_context_aead(k))
        return 0;
    quic_key_end_shared(k);
    return -1;
}

int quic_key_make(quic_key *k, uint32_t version, uint16_t suite, int is_write,
                  const uint8_t *secret, size_t len)
{
    if (keys_make_aead(k, version, suite, is_write, secret, len))
        return -1;
    if (!keys_expand_quic(version, keys_digest(suite), secret, len, "hp", k->head_key,
                          keys_len(suite)) &&
        (k->head = keys_context(keys_head(suite), k->head_key, 1)) != NULL)
        return 0;
    quic_key_end(k);
    return -1;
}

void quic_key_sleep(quic_key *k)
{
    BRG_ASSERT(k->aead && k->head);
    EVP_CIPHER_CTX_free(k->head);
    k->cipher->release(k->aead);
    k->head = NULL;
    k->aead = NULL;
}

int quic_key_wake(quic_key *k)
{
    BRG_ASSERT(!k->aead && !k->head && k->secret_len);
    k->head = keys_context(keys_head(k->suite), k->head_key, 1);
    return k->head ? keys_context_aead(k) : -1;
}

int quic_key_initial(quic_key *read, quic_key *write, uint32_t version, const quic_cid *dcid,
                     int is_server)
{
    static const uint8_t salt1[] = {0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17,
                                    0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a};
    static const uint8_t salt2[] = {0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93,
                                    0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9};
    const EVP_MD *md = EVP_sha256();
    uint8_t initial[32], client[32], server[32];
    unsigned n = 0;

    memset(write, 0, sizeof *write);
    memset(read, 0, sizeof *read);
    if (!HMAC(md, version == QUIC_V2 ? salt2 : salt1, sizeof salt1, dcid->id, dcid->len, initial,
              &n) ||
        keys_expand(md, initial, n, "client in", client, sizeof client) ||
        keys_expand(md, initial, n, "server in", server, sizeof server) ||
        quic_key_make(read, version, QUIC_AES_128_GCM, 0, is_server ? client : server,
                      sizeof client))
        return -1;
    if (!quic_key_make(write, version, QUIC_AES_128_GCM, 1, is_server ? server : client,
                       sizeof server))
        return 0;
    quic_key_end(read);
    return -1;
}

int quic_key_next(quic_key *next, const quic_key *k)
{
    uint8_t secret[QUIC_SECRET_MOST];

    BRG_ASSERT(k->aead && k->secret_len);
    if (keys_expand_quic(k->version, keys_digest(k->suite), k->secret, k->secret_len, "ku", secret,
                         k->secret_len) ||
        keys_make_aead(next, k->version, k->suite, k->is_write, secret, k->secret_len))
        return -1;
    next->head = k->head;
    memcpy(next->head_key, k->head_key, sizeof next->head_key);
    OPENSSL_cleanse(secret, sizeof secret);
    return 0;
}

void quic_key_end_shared(quic_key *k)
{
    if (k->aead)
        k->cipher->release(k->aead);
    OPENSSL_cleanse(k, sizeof *k);
}

void quic_key_end(quic_key *k)
{
    EVP_CIPHER_CTX_free(k->head);
    quic_key_end_shared(k);
}

void quic_key_drop(quic_key **k)
{
    if (*k)
        quic_key_end(*k);
    free(*k);
    *k = NULL;
}

uint64_t quic_key_limit(const quic_key *k)
{
    if (k->is_write)
        return k->suite == QUIC_CHACHA20 ? UINT64_MAX : 1ull << 23;
    return k->suite == QUIC_CHACHA20 ? 1ull << 36 : 1ull << 52;
}

static void keys_nonce(const quic_key *k, uint64_t pn, uint8_t nonce[QUIC_IV])
{
    memcpy(nonce, k->iv, QUIC_IV);
    for (int i = 0; i < 8; i++)
        nonce[QUIC_IV - 1 - i] ^= (uint8_t)(pn >> (8 * i));
}

/* The tag, as a parameter of the provider's. */
#define KEYS_TAG(params, at)                                                                      \
    OSSL_PARAM params[2] = {{OSSL_CIPHER_PARAM_AEAD_TAG, OSSL_PARAM_OCTET_STRING, (at), QUIC_TAG, \
                             OSSL_PARAM_UNMODIFIED},                                              \
                            OSSL_PARAM_END}

int quic_key_seal(quic_key *k, uint64_t pn, uint8_t *packet, size_t head_len, size_t len)
{
    const tls_aead *a = k->cipher;
    uint8_t nonce[QUIC_IV], *at = packet + head_len;
    KEYS_TAG(tag, at + len);
    size_t n;

    BRG_ASSERT(k->aead && k->is_write);
    keys_nonce(k, pn, nonce);
    k->used++;
    return a->begin_seal(k->aead, NULL, 0, nonce, sizeof nonce, NULL) == 1 &&
                   a->update(k->aead, NULL, &n, head_len, packet, head_len) == 1 &&
                   a->update(k->aead, at, &n, len, at, len) == 1 &&
                   a->final(k->aead, at + len, &n, QUIC_TAG) == 1 && a->get(k->aead, tag) == 1
               ? 0
               : -1;
}

long quic_key_open(quic_key *k, uint64_t pn, uint8_t *packet, size_t head_len, size_t len)
{
    const tls_aead *a = k->cipher;
    uint8_t nonce[QUIC_IV], *at = packet + head_len;
    size_t n;

    BRG_ASSERT(k->aead && !k->is_write);
    if (len < QUIC_TAG)
        return -1;
    len -= QUIC_TAG;
    keys_nonce(k, pn, nonce);
    KEYS_TAG(tag, at + len);
    if (a->begin_open(k->aead, NULL, 0, nonce, sizeof nonce, NULL) == 1 &&
        a->update(k->aead, NULL, &n, head_len, packet, head_len) == 1 &&
        (!len || a->update(k->aead, at, &n, len, at, len) == 1) && a->set(k->aead, tag) == 1 &&
        a->final(k->aead, at + len, &n, QUIC_TAG) == 1)
        return (long)len;
    k->used++;
    return -1;
}

static int keys_masks_chacha(quic_key *k, const uint8_t *samples, unsigned n, uint8_t *masks)
{
    static const uint8_t zeros[QUIC_MASK];
    int len;

    for (unsigned i = 0; i < n; i++)
        if (EVP_EncryptInit_ex(k->head, NULL, NULL, NULL, samples + (size_t)i * QUIC_SAMPLE) != 1 ||
            EVP_EncryptUpdate(k->head, masks + (size_t)i * QUIC_SAMPLE, &len, zeros, QUIC_MASK) !=
                1)
            return -1;
    return 0;
}

int quic_key_masks(quic_key *k, const uint8_t *samples, unsigned n, uint8_t *masks)
{
    int len;

    BRG_ASSERT(k->head != NULL);
    if (k->suite == QUIC_CHACHA20)
        return keys_masks_chacha(k, samples, n, masks);
    return EVP_EncryptUpdate(k->head, masks, &len, samples, (int)(n * QUIC_SAMPLE)) == 1 ? 0 : -1;
}

unsigned quic_key_unmask(quic_key *k, uint8_t *packet, size_t pn_off, size_t len,
                         uint64_t *truncated)
{
    uint8_t mask[QUIC_SAMPLE];
    unsigned n;

    if (len < pn_off + 4 + QUIC_SAMPLE || quic_key_masks(k, packet + pn_off + 4, 1, mask))
        return 0;
    packet[0] ^= mask[0] & (packet[0] & 0x80 ? 0x0f : 0x1f);
    n = (packet[0] & 3u) + 1;
    *truncated = 0;
    for (unsigned i = 0; i < n; i++) {
        packet[pn_off + i] ^= mask[1 + i];
        *truncated = *truncated << 8 | packet[pn_off + i];
    }
    return n;
}
