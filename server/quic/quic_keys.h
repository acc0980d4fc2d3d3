/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_QUIC_QUIC_KEYS_H
#define BRIGADE_QUIC_QUIC_KEYS_H

/**
 * @file quic_keys.h
 * Protection of packets: RFC 9001, 5; RFC 9369, 3.3.
 *
 * Threads: the owner of a key. Blocking: no. A failure of OpenSSL is one of memory, or a packet that was not made with the key.
 */
#include "quic_wire.h"
#include "tls_hmac.h"
#include <stddef.h>
#include <stdint.h>

#define QUIC_SECRET_MOST 48
#define QUIC_IV 12
/** bytes that the mask of a head is made of, from 4 behind the begin of the packet number on */
#define QUIC_SAMPLE 16
#define QUIC_MASK 5

enum { QUIC_AES_128_GCM = 0x1301, QUIC_AES_256_GCM, QUIC_CHACHA20 }; /**< suites, as in TLS 1.3 */

struct tls_aead;

/** Key, IV and key of the heads of one level and direction. */
typedef struct quic_key {
    void *aead; /**< a context of cipher's; NULL: there is no key */
    const struct tls_aead *cipher;
    void *head; /**< of head_cipher's */
    const struct tls_aead *head_cipher;
    uint8_t iv[QUIC_IV];
    uint8_t secret[QUIC_SECRET_MOST];
    uint8_t head_key[32]; /**< of quic_key_make(), for quic_key_wake() */
    uint8_t secret_len;
    uint8_t is_write;
    uint16_t suite;
    uint32_t version;
    uint64_t used; /**< packets that were sealed, or could not be opened */
} quic_key;

/**
 * Make a key of a secret.
 * @param version  of QUIC: labels differ
 * @param suite    of TLS
 * @return 0; -1: no memory, or a suite that there is not
 */
int quic_key_make(quic_key *key, uint32_t version, uint16_t suite, int is_write,
                  const uint8_t *secret, size_t len);

/** The keys of Initial packets, by the connection id that the client chose. @param is_server  whose: the write key is that one's */
int quic_key_initial(quic_key *read, quic_key *write, uint32_t version, const quic_cid *dcid,
                     int is_server);

/** The key that follows @a key by a key update. It takes the key of heads from it. @return 0; -1 */
int quic_key_next(quic_key *next, const quic_key *key);

/** Give back the contexts, which are most of its memory, until quic_key_wake(). */
void quic_key_sleep(quic_key *key);
/** @return 0; -1: no memory */
int quic_key_wake(quic_key *key);

/** Forget it. */
void quic_key_end(quic_key *key);
/** The same of one in memory of malloc(), which is freed; NULL behind it. */
void quic_key_drop(quic_key **key);
/** The same, but the key of heads is another one's, too. */
void quic_key_end_shared(quic_key *key);

/** Packets after which a key has to be changed: RFC 9001, 6.6. */
uint64_t quic_key_limit(const quic_key *key);

/**
 * Encrypt in place, and add the tag.
 * @param packet  head_len bytes of head, packet number included, len bytes of payload, room for QUIC_TAG
 * @return 0; -1: OpenSSL failed
 */
int quic_key_seal(quic_key *key, uint64_t pn, uint8_t *packet, size_t head_len, size_t len);

/** Decrypt in place. @param len  bytes behind the head, with its tag. @return bytes of the payload;
 * -1: it is not valid */
long quic_key_open(quic_key *key, uint64_t pn, uint8_t *packet, size_t head_len, size_t len);

/** Masks of heads. @param samples  @a n times QUIC_SAMPLE bytes @param masks  as many bytes; of each the first QUIC_MASK count */
int quic_key_masks(quic_key *key, const uint8_t *samples, unsigned n, uint8_t *masks);

/** Take the mask off the head of a packet that came. @return bytes of the packet number; 0: it is too short, or OpenSSL failed */
unsigned quic_key_unmask(quic_key *key, uint8_t *packet, size_t pn_off, size_t len,
                         uint64_t *truncated);

/** The tag of a Retry packet of ours: RFC 9001, 5.8. @param retry  len bytes, without the tag. @return 0; -1 */
int quic_retry_tag(uint32_t version, const quic_cid *original, const uint8_t *retry, size_t len,
                   uint8_t tag[QUIC_TAG]);

/** The digest of a suite, to hash with until tls_hash_end(). */
tls_hash quic_hash(uint16_t suite);
/** HKDF-Expand-Label of RFC 8446, 7.1, with an empty context. @param len  no more than a digest. @return 0; -1 */
int quic_expand(tls_hash *h, const uint8_t *secret, size_t secret_len, const char *label,
                uint8_t *out, size_t len);

/** HMAC. @param out  room for a digest. @return 0; -1 */
int quic_hmac_with(tls_hash *h, const uint8_t *key, size_t key_len, const void *data, size_t len,
                   uint8_t *out);
/** HMAC-SHA-256, with a hash of its own. */
int quic_hmac(const uint8_t *key, size_t key_len, const void *data, size_t len, uint8_t out[32]);

/** Encrypt (AES-128-GCM) or decrypt address tokens, which only servers read. @param key  32 bytes.
 * @return 0; -1: it is not ours */
int quic_token_crypt(const uint8_t *key, const uint8_t nonce[QUIC_IV], const uint8_t *aad,
                     size_t aad_len, uint8_t *data, size_t len, uint8_t tag[QUIC_TAG], int seal);

#endif
