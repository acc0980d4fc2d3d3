/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TLS_TLS_AEAD_H
#define BRIGADE_TLS_TLS_AEAD_H

/**
 * @file tls_aead.h
 * Authenticated encryption of records and of packets of QUIC, by the functions of OpenSSL's provider.
 */
#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/evp.h>
#include <stddef.h>

typedef struct tls_aead tls_aead;

/**
 * A cipher as the provider offers it (provider-cipher(7)). EVP's functions ask it for the length of
 * the IV and the like by name, with each record: a third of a small record's cost.
 */
struct tls_aead {
    EVP_CIPHER *cipher; /**< holds the provider */
    void *provider;     /**< its context */
    size_t key_len;
    OSSL_FUNC_cipher_newctx_fn *make;
    OSSL_FUNC_cipher_freectx_fn *release;
    OSSL_FUNC_cipher_encrypt_init_fn *begin_seal;
    OSSL_FUNC_cipher_decrypt_init_fn *begin_open;
    OSSL_FUNC_cipher_update_fn *update;
    OSSL_FUNC_cipher_final_fn *final;
    OSSL_FUNC_cipher_get_ctx_params_fn *get;
    OSSL_FUNC_cipher_set_ctx_params_fn *set;
};

/** A cipher by its name, or NULL: unknown, or not as expected. Threads: main, or once. */
tls_aead *tls_aead_begin(OSSL_LIB_CTX *lib, const char *name);
void tls_aead_end(tls_aead *a);

#endif
