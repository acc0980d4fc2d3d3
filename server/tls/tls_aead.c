/* SPDX-License-Identifier: Apache-2.0 */
/* Ciphers of records, straight from OpenSSL's provider. */
#include "tls_record_private.h"
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* "NAME:other name:..." */
static int algorithm_is_named(const OSSL_ALGORITHM *a, const char *name)
{
    size_t len = strlen(name);

    return !strncasecmp(a->algorithm_names, name, len) &&
           (!a->algorithm_names[len] || a->algorithm_names[len] == ':');
}

const OSSL_DISPATCH *tls_provider_functions(const OSSL_PROVIDER *provider, int operation,
                                            const char *name)
{
    const OSSL_ALGORITHM *all;
    const OSSL_DISPATCH *found = NULL;
    int no_store = 0;

    if (!provider || !(all = OSSL_PROVIDER_query_operation(provider, operation, &no_store)))
        return NULL;
    for (const OSSL_ALGORITHM *one = all; one->algorithm_names && !found; one++)
        if (algorithm_is_named(one, name))
            found = one->implementation;
    OSSL_PROVIDER_unquery_operation(provider, operation, all);
    return found;
}

static void aead_functions(tls_aead *a, const OSSL_DISPATCH *f)
{
    for (; f->function_id; f++)
        switch (f->function_id) {
        case OSSL_FUNC_CIPHER_NEWCTX:
            a->make = OSSL_FUNC_cipher_newctx(f);
            break;
        case OSSL_FUNC_CIPHER_FREECTX:
            a->release = OSSL_FUNC_cipher_freectx(f);
            break;
        case OSSL_FUNC_CIPHER_ENCRYPT_INIT:
            a->begin_seal = OSSL_FUNC_cipher_encrypt_init(f);
            break;
        case OSSL_FUNC_CIPHER_DECRYPT_INIT:
            a->begin_open = OSSL_FUNC_cipher_decrypt_init(f);
            break;
        case OSSL_FUNC_CIPHER_UPDATE:
            a->update = OSSL_FUNC_cipher_update(f);
            break;
        case OSSL_FUNC_CIPHER_FINAL:
            a->final = OSSL_FUNC_cipher_final(f);
            break;
        case OSSL_FUNC_CIPHER_GET_CTX_PARAMS:
            a->get = OSSL_FUNC_cipher_get_ctx_params(f);
            break;
        case OSSL_FUNC_CIPHER_SET_CTX_PARAMS:
            a->set = OSSL_FUNC_cipher_set_ctx_params(f);
            break;
        default:
            break;
        }
}

static int aead_find(tls_aead *a, const char *name)
{
    const OSSL_PROVIDER *provider = EVP_CIPHER_get0_provider(a->cipher);
    const OSSL_DISPATCH *functions = tls_provider_functions(provider, OSSL_OP_CIPHER, name);

    if (!functions)
        return -1;
    aead_functions(a, functions);
    a->provider = OSSL_PROVIDER_get0_provider_ctx(provider);
    return a->make && a->release && a->begin_seal && a->begin_open && a->update && a->final &&
                   a->get && a->set
               ? 0
               : -1;
}

tls_aead *tls_aead_begin(OSSL_LIB_CTX *lib, const char *name)
{
    tls_aead *a = calloc(1, sizeof *a);

    if (a && (a->cipher = EVP_CIPHER_fetch(lib, name, NULL)) != NULL && !aead_find(a, name)) {
        a->key_len = (size_t)EVP_CIPHER_get_key_length(a->cipher);
        return a;
    }
    tls_aead_end(a);
    return NULL;
}

void tls_aead_end(tls_aead *a)
{
    if (a)
        EVP_CIPHER_free(a->cipher);
    free(a);
}

int tls_half_key(tls_half *h, const tls_aead *aead, const unsigned char *key, int seal)
{
    if (!h->ctx && !(h->ctx = aead->make(aead->provider)))
        return -1;
    return (seal ? aead->begin_seal : aead->begin_open)(h->ctx, key, aead->key_len, NULL, 0,
                                                        NULL) == 1
               ? 0
               : -1;
}
