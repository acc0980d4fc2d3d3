/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_SHA256_H
#define BRIGADE_BASE_SHA256_H

/**
 * @file sha256.h
 * SHA-256, for builds without a library of cryptography, too: digests of bytes that
 * clients choose, where no two may be taken for the same. Some 200 MB a second: for short texts.
 *
 * Threads: any, each with a state of its own. Blocking: no. Source: FIPS 180-4, 5.3.3 and 6.2.
 */
#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_BLOCK 64

/** The state between the parts of a message. */
typedef struct sha256 {
    uint32_t h[8];
    uint64_t bytes;
    unsigned char block[SHA256_BLOCK]; /**< bytes % SHA256_BLOCK of them wait for the rest */
} sha256;

void sha256_begin(sha256 *s);
/** @param bytes  n of them, of any alignment */
void sha256_add(sha256 *s, const void *bytes, size_t n);
/** The digest; the state is used up. */
void sha256_end(sha256 *s, unsigned char digest[SHA256_BYTES]);

#endif
