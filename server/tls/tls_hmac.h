/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_HMAC_H
#define BRIGADE_TLS_TLS_HMAC_H

/**
 * @file tls_hmac.h
 * HMAC (RFC 2104) by the functions of OpenSSL's provider: HMAC() of OpenSSL looks digest and method up by name with each call.
 */
#include <openssl/core_dispatch.h>
#include <openssl/evp.h>
#include <stddef.h>

/** Bytes that are hashed. */
typedef struct tls_piece {
    const void *data;
    size_t len;
} tls_piece;

/** A digest as the provider offers it (provider-digest(7)). */
typedef struct tls_digest {
    EVP_MD *md;         /**< holds the provider */
    void *provider;     /**< its context */
    size_t size, block; /**< bytes */
    OSSL_FUNC_digest_newctx_fn *make;
    OSSL_FUNC_digest_freectx_fn *release;
    OSSL_FUNC_digest_init_fn *begin;
    OSSL_FUNC_digest_update_fn *update;
    OSSL_FUNC_digest_final_fn *final;
} tls_digest;

/** What one thread at a time hashes with. */
typedef struct tls_hash {
    const tls_digest *of;
    void *state; /**< NULL: it is made when it is needed */
} tls_hash;

/** @return 0; -1: OpenSSL has none such, or not as expected. Threads: main, or once */
int tls_digest_begin(tls_digest *d, OSSL_LIB_CTX *lib, const char *name);
void tls_digest_end(tls_digest *d);
void tls_hash_end(tls_hash *h);

/** most of them: a link of the PRF, its label, and five seeds as OpenSSL has them */
#define TLS_PIECES 7

/** HMAC of up to TLS_PIECES pieces. @param out  room for a digest. @return 1, or 0 */
int tls_hmac(tls_hash *h, tls_piece key, const tls_piece *pieces, int n, unsigned char *out);

#endif
