/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, from secrets. */
#include "quic_keys.h"
#include "tls_aead.h"
#include "brigade/assert.h"
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>

/* Fetched once: each initialisation would otherwise look them up by name. */
static struct keys_ciphers {
    tls_aead *gcm128, *gcm256, *chacha_poly, *ecb128, *ecb256, *chacha;
} keys_ciphers;

static void keys_fetch(void)
{
    keys_ciphers.gcm128 = tls_aead_begin(NULL, "AES-128-GCM");
    keys_ciphers.gcm256 = tls_aead_begin(NULL, "AES-256-GCM");
    keys_ciphers.chacha_poly = tls_aead_begin(NULL, "ChaCha20-Poly1305");
    keys_ciphers.ecb128 = tls_aead_begin(NULL, "AES-128-ECB");
    keys_ciphers.ecb256 = tls_aead_begin(NULL, "AES-256-ECB");
    keys_ciphers.chacha = tls_aead_begin(NULL, "ChaCha20");
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

static const tls_aead *keys_head(uint16_t suite)
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

/* Labels begin with "quic " or "quicv2 ": RFC 9369, 3.3.2. */
static int keys_expand(tls_hash *c, const quic_key *k, const char *what, uint8_t *out, size_t len)
{
    char label[16];

    strcpy(label, k->version == QUIC_V2 ? "quicv2 " : "quic ");
    strcat(label, what);
    return quic_expand(c, k->secret, k->secret_len, label, out, len);
}

/* The context of the mask of heads. @return 0; -1 */
static int keys_context_head(quic_key *k)
{
    const tls_aead *cipher = k->head_cipher = keys_head(k->suite);

    if (!cipher || !(k->head = cipher->make(cipher->provider)))
        return -1;
    return cipher->begin_seal(k->head, k->head_key, keys_len(k->suite), NULL, 0, NULL) == 1 ? 0
                                                                                            : -1;
}

static void keys_drop_head(quic_key *k)
{
    if (k->head)
        k->head_cipher->release(k->head);
    k->head = NULL;
}

/* The context of the AEAD, by the secret. */
static int keys_context_aead(tls_hash *c, quic_key *k)
{
    uint8_t key[32];
    int good;

    if (keys_expand(c, k, "key", key, keys_len(k->suite)) || !(k->cipher = keys_aead(k->suite)) ||
        !(k->aead = k->cipher->make(k->cipher->provider)))
        return -1;
    good = (k->is_write ? k->cipher->begin_seal : k->cipher->begin_open)(
               k->aead, key, keys_len(k->suite), NULL, 0, NULL) == 1;
    OPENSSL_cleanse(key, sizeof key);
    return good ? 0 : -1;
}

/* AEAD and IV, without the key of heads. */
static int keys_make_aead(tls_hash *c, quic_key *k, uint32_t version, uint16_t suite, int is_write,
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
    if (!keys_expand(c, k, "iv", k->iv, sizeof k->iv) && !keys_context_aead(c, k))
        return 0;
    quic_key_end_shared(k);
    return -1;
}

static int keys_make(tls_hash *c, quic_key *k, uint32_t version, uint16_t suite, int is_write,
                     const uint8_t *secret, size_t len)
{
    if (keys_make_aead(c, k, version, suite, is_write, secret, len))
        return -1;
    if (!keys_expand(c, k, "hp", k->head_key, keys_len(suite)) && !keys_context_head(k))
        return 0;
    quic_key_end(k);
    return -1;
}

int quic_key_make(quic_key *k, uint32_t version, uint16_t suite, int is_write,
                  const uint8_t *secret, size_t len)
{
    tls_hash c = quic_hash(suite);
    const int rc = keys_make(&c, k, version, suite, is_write, secret, len);

    tls_hash_end(&c);
    return rc;
}

void quic_key_sleep(quic_key *k)
{
    BRG_ASSERT(k->aead && k->head);
    keys_drop_head(k);
    k->cipher->release(k->aead);
    k->aead = NULL;
}

int quic_key_wake(quic_key *k)
{
    tls_hash c = quic_hash(k->suite);
    int rc;

    BRG_ASSERT(!k->aead && !k->head && k->secret_len);
    rc = keys_context_head(k) || keys_context_aead(&c, k) ? -1 : 0;
    tls_hash_end(&c);
    return rc;
}

static int keys_initial(tls_hash *c, quic_key *read, quic_key *write, uint32_t version,
                        const quic_cid *dcid, int is_server)
{
    static const uint8_t salt1[] = {0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17,
                                    0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a};
    static const uint8_t salt2[] = {0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93,
                                    0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9};
    uint8_t initial[32], client[32], server[32];

    memset(write, 0, sizeof *write);
    memset(read, 0, sizeof *read);
    if (quic_hmac_with(c, version == QUIC_V2 ? salt2 : salt1, sizeof salt1, dcid->id, dcid->len,
                       initial) ||
        quic_expand(c, initial, sizeof initial, "client in", client, sizeof client) ||
        quic_expand(c, initial, sizeof initial, "server in", server, sizeof server) ||
        keys_make(c, read, version, QUIC_AES_128_GCM, 0, is_server ? client : server,
                  sizeof client))
        return -1;
    if (!keys_make(c, write, version, QUIC_AES_128_GCM, 1, is_server ? server : client,
                   sizeof server))
        return 0;
    quic_key_end(read);
    return -1;
}

int quic_key_initial(quic_key *read, quic_key *write, uint32_t version, const quic_cid *dcid,
                     int is_server)
{
    tls_hash c = quic_hash(QUIC_AES_128_GCM);
    const int rc = keys_initial(&c, read, write, version, dcid, is_server);

    tls_hash_end(&c);
    return rc;
}

static int keys_next(tls_hash *c, quic_key *next, const quic_key *k)
{
    uint8_t secret[QUIC_SECRET_MOST];
    int rc = keys_expand(c, k, "ku", secret, k->secret_len);

    if (!rc)
        rc = keys_make_aead(c, next, k->version, k->suite, k->is_write, secret, k->secret_len);
    OPENSSL_cleanse(secret, sizeof secret);
    return rc;
}

int quic_key_next(quic_key *next, const quic_key *k)
{
    tls_hash c = quic_hash(k->suite);
    const int rc = keys_next(&c, next, k);

    BRG_ASSERT(k->aead && k->secret_len);
    tls_hash_end(&c);
    if (rc)
        return -1;
    next->head = k->head;
    next->head_cipher = k->head_cipher;
    memcpy(next->head_key, k->head_key, sizeof next->head_key);
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
    keys_drop_head(k);
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
    const tls_aead *a = k->head_cipher;
    size_t len;

    for (unsigned i = 0; i < n; i++) {
        const size_t at = (size_t)i * QUIC_SAMPLE;

        if (a->begin_seal(k->head, NULL, 0, samples + at, QUIC_SAMPLE, NULL) != 1 ||
            a->update(k->head, masks + at, &len, QUIC_SAMPLE, zeros, QUIC_MASK) != 1)
            return -1;
    }
    return 0;
}

int quic_key_masks(quic_key *k, const uint8_t *samples, unsigned n, uint8_t *masks)
{
    const size_t len = (size_t)n * QUIC_SAMPLE;
    size_t done;

    BRG_ASSERT(k->head != NULL);
    if (k->suite == QUIC_CHACHA20)
        return keys_masks_chacha(k, samples, n, masks);
    /* Whole blocks, which encryption does not hold back for their padding. */
    return k->head_cipher->update(k->head, masks, &done, len, samples, len) == 1 && done == len
               ? 0
               : -1;
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
