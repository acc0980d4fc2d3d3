/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_KEYED_HASH_H
#define BRIGADE_BASE_KEYED_HASH_H

/**
 * @file keyed_hash.h
 * SipHash-1-3 with a random key of the process, for tables whose keys clients
 * choose: without the key nobody can make many keys of one hash.
 *
 * The hash of a key that consists of several parts is made part by part; the length of each part
 * counts, so that "ab" + "c" and "a" + "bc" differ. Values differ from process to process: never
 * store them or show them.
 *
 * Threads: keyed_hash_seed() from any; the others only read the key. Nothing here blocks, but for
 * the first call of keyed_hash_seed() early in the life of a machine.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** The state between the parts of a key. */
typedef struct keyed_hash {
    uint64_t v0, v1, v2, v3;
} keyed_hash;

/** The key of the process; written by keyed_hash_seed() alone. */
extern uint64_t keyed_hash_key[2];

/** Choose the key, if that has not been done. Call it before a table is made. */
void keyed_hash_seed(void);

static inline uint64_t keyed_rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline void keyed_round(keyed_hash *h)
{
    h->v0 += h->v1;
    h->v2 += h->v3;
    h->v1 = keyed_rotate(h->v1, 13) ^ h->v0;
    h->v3 = keyed_rotate(h->v3, 16) ^ h->v2;
    h->v0 = keyed_rotate(h->v0, 32);
    h->v2 += h->v1;
    h->v0 += h->v3;
    h->v1 = keyed_rotate(h->v1, 17) ^ h->v2;
    h->v3 = keyed_rotate(h->v3, 21) ^ h->v0;
    h->v2 = keyed_rotate(h->v2, 32);
}

/** Begin with nothing. */
static inline void keyed_hash_begin(keyed_hash *h)
{
    h->v0 = keyed_hash_key[0] ^ 0x736f6d6570736575ull;
    h->v1 = keyed_hash_key[1] ^ 0x646f72616e646f6dull;
    h->v2 = keyed_hash_key[0] ^ 0x6c7967656e657261ull;
    h->v3 = keyed_hash_key[1] ^ 0x7465646279746573ull;
}

/** Add a number: a part of its own. */
static inline void keyed_hash_number(keyed_hash *h, uint64_t w)
{
    h->v3 ^= w;
    keyed_round(h);
    h->v0 ^= w;
}

/** Add @a len bytes as a part of their own. */
static inline void keyed_hash_bytes(keyed_hash *h, const char *s, size_t len)
{
    uint64_t w, tail = (uint64_t)len << 56;

    for (; len >= 8; s += 8, len -= 8) {
        memcpy(&w, s, 8);
        keyed_hash_number(h, w);
    }
    for (size_t i = 0; i < len; i++)
        tail |= (uint64_t)(unsigned char)s[i] << (8 * i);
    keyed_hash_number(h, tail);
}

/** @return the hash of all that was added */
static inline uint64_t keyed_hash_end(keyed_hash *h)
{
    h->v2 ^= 0xff;
    keyed_round(h);
    keyed_round(h);
    keyed_round(h);
    return h->v0 ^ h->v1 ^ h->v2 ^ h->v3;
}

/** @return the hash of @a seed and @a len bytes */
static inline uint64_t keyed_hash_of(uint64_t seed, const char *s, size_t len)
{
    keyed_hash h;

    keyed_hash_begin(&h);
    keyed_hash_number(&h, seed);
    keyed_hash_bytes(&h, s, len);
    return keyed_hash_end(&h);
}

#endif
