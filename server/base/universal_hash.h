/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_UNIVERSAL_HASH_H
#define BRIGADE_BASE_UNIVERSAL_HASH_H

/**
 * @file universal_hash.h
 * A hash with a secret random key for the table that is asked with every
 * request, whose keys clients choose. It takes a third of the instructions of keyed_hash.h, and its
 * promise is proved:
 *
 * 1. The key's parts are summed up as NH (Black et al., "UMAC: Fast and Secure Message Authentication",
 *    1999) with words of 64 bits: two different keys have the same sum of 128 bits with a chance of
 *    2^-64. The lengths are a part of the key, and a part of n bytes is read as words that overlap,
 *    from which its n bytes follow.
 * 2. The sum becomes a hash of 64 bits by multiply-shift (Dietzfelbinger, "Universal hashing and
 *    k-wise independent random variables via integer arithmetic without primes", 1996), which is
 *    strongly universal: any n bits of the hashes of two different sums agree with a chance of 2^-n.
 *
 * So keys that were chosen without knowledge of the secret share a bucket as often as random ones.
 * Unlike SipHash it is no pseudo-random function: a reader of the *hashes* can compute the secret.
 * Nobody does: they stay in the table of one process. An attacker can measure the time of an
 * answer, to which a longer chain adds nanoseconds; and each chain ends at a bound
 * (CACHE_CHAIN_MOST).
 *
 * Values differ from process to process: never store them or show them. Threads:
 * universal_hash_seed() from any; the others only read the secret. Blocking: no, but see
 * keyed_hash_seed().
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 universal_sum;

/** bytes of both parts together; longer ones are for keyed_hash.h */
#define UNIVERSAL_HASH_MOST 512

/** Words of the secret: two for the number and the lengths, and for each 16 bytes of each part. */
#define UNIVERSAL_HASH_WORDS (2 + UNIVERSAL_HASH_MOST / 8 + 4)

/** The secret of the process; written by universal_hash_seed() alone. */
typedef struct universal_hash_secret {
    universal_sum a, b, c; /**< of step 2 */
    uint64_t word[UNIVERSAL_HASH_WORDS];
} universal_hash_secret;

extern universal_hash_secret universal_hash_key;

/** Choose the secret, if that has not been done. Call it before a table is made. */
void universal_hash_seed(void);

/** As universal_hash() for longer parts. */
uint64_t universal_hash_long(uint64_t number, const char *a, size_t a_len, const char *b,
                             size_t b_len);

static inline uint64_t universal_word(const char *s)
{
    uint64_t w;

    memcpy(&w, s, sizeof w);
    return w;
}

static inline uint32_t universal_half(const char *s)
{
    uint32_t w;

    memcpy(&w, s, sizeof w);
    return w;
}

static inline universal_sum universal_pair(const uint64_t *key, uint64_t a, uint64_t b)
{
    return (universal_sum)(key[0] + a) * (key[1] + b);
}

/** The sum of a part; @a *key is moved on by as many words as it takes. */
static inline universal_sum universal_part(const uint64_t **key, const char *s, size_t len)
{
    const uint64_t *k = *key;
    universal_sum sum = 0;

    for (; len > 16; s += 16, len -= 16, k += 2)
        sum += universal_pair(k, universal_word(s), universal_word(s + 8));
    *key = k + 2;
    if (len >= 8)
        return sum + universal_pair(k, universal_word(s), universal_word(s + len - 8));
    if (len >= 4)
        return sum + universal_pair(k, universal_half(s), universal_half(s + len - 4));
    if (len)
        return sum + universal_pair(k,
                                    (uint64_t)(unsigned char)s[0] |
                                        (uint64_t)(unsigned char)s[len / 2] << 8 |
                                        (uint64_t)(unsigned char)s[len - 1] << 16,
                                    0);
    return sum;
}

/** universal_hash() by another secret, for strings of together at most UNIVERSAL_HASH_MOST bytes. */
static inline uint64_t universal_hash_by(const universal_hash_secret *secret, uint64_t number,
                                         const char *a, size_t a_len, const char *b, size_t b_len)
{
    const uint64_t *key = secret->word + 2;
    universal_sum sum;

    sum = universal_pair(secret->word, number, (uint64_t)a_len << 32 | b_len);
    sum += universal_part(&key, a, a_len);
    sum += universal_part(&key, b, b_len);
    sum = secret->a * (uint64_t)sum + secret->b * (uint64_t)(sum >> 64) + secret->c;
    return (uint64_t)(sum >> 64);
}

/**
 * @return the hash of a number and two strings; the border between the strings counts
 * @param a_len, b_len  below 2^32
 */
static inline uint64_t universal_hash(uint64_t number, const char *a, size_t a_len, const char *b,
                                      size_t b_len)
{
    return a_len + b_len > UNIVERSAL_HASH_MOST
               ? universal_hash_long(number, a, a_len, b, b_len)
               : universal_hash_by(&universal_hash_key, number, a, a_len, b, b_len);
}

#endif
