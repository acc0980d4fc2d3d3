/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), in plain C. */
#include "sha256.h"
#include "brigade/assert.h"
#include "brigade/util.h"
#include <string.h>

static const uint32_t sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint32_t sha256_turn(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static uint32_t sha256_word(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void sha256_schedule(uint32_t w[64], const unsigned char *block)
{
    for (int i = 0; i < 16; i++)
        w[i] = sha256_word(block + 4 * (size_t)i);
    for (int i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + (sha256_turn(a, 7) ^ sha256_turn(a, 18) ^ a >> 3) + w[i - 7] +
               (sha256_turn(b, 17) ^ sha256_turn(b, 19) ^ b >> 10);
    }
}

static void sha256_block(sha256 *s, const unsigned char *block)
{
    uint32_t w[64], v[8];

    sha256_schedule(w, block);
    memcpy(v, s->h, sizeof v);
    for (int i = 0; i < 64; i++) {
        const uint32_t a = v[0], e = v[4];
        const uint32_t one = v[7] + (sha256_turn(e, 6) ^ sha256_turn(e, 11) ^ sha256_turn(e, 25)) +
                             ((e & v[5]) ^ (~e & v[6])) + sha256_k[i] + w[i];
        const uint32_t two = (sha256_turn(a, 2) ^ sha256_turn(a, 13) ^ sha256_turn(a, 22)) +
                             ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        s->h[i] += v[i];
}

void sha256_begin(sha256 *s)
{
    *s = (sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                        0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(sha256 *s, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    while (n) {
        const size_t used = s->bytes % SHA256_BLOCK,
                     some = n < SHA256_BLOCK - used ? n : SHA256_BLOCK - used;

        memcpy(s->block + used, p, some);
        s->bytes += some;
        p += some;
        n -= some;
        if (used + some == SHA256_BLOCK)
            sha256_block(s, s->block);
    }
}

void sha256_end(sha256 *s, unsigned char digest[SHA256_BYTES])
{
    static const unsigned char end[SHA256_BLOCK] = {0x80};
    const uint64_t bits = s->bytes * 8;
    unsigned char length[8];

    sha256_add(s, end, 1 + (SHA256_BLOCK + 55 - s->bytes % SHA256_BLOCK) % SHA256_BLOCK);
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(s, length, sizeof length);
    BRG_ASSERT(s->bytes % SHA256_BLOCK == 0);
    for (int i = 0; i < SHA256_BYTES; i++)
        digest[i] = (unsigned char)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

BRG_DECLARE(void) brg_sha256(const void *bytes, apr_size_t n, unsigned char digest[32])
{
    sha256 s;

    sha256_begin(&s);
    sha256_add(&s, bytes, n);
    sha256_end(&s, digest);
}
