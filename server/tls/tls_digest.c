/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of the key derivation, straight from OpenSSL's provider: EVP_DigestInit_ex2() of OpenSSL 3.0 frees the
 * digest's state and makes it anew each time, which takes ten times as long as what the provider does. */
#include "tls_record_private.h"
#include <openssl/evp.h>
#include <openssl/provider.h>

static void digest_functions(tls_digest *d, const OSSL_DISPATCH *f)
{
    for (; f->function_id; f++)
        switch (f->function_id) {
        case OSSL_FUNC_DIGEST_NEWCTX:
            d->make = OSSL_FUNC_digest_newctx(f);
            break;
        case OSSL_FUNC_DIGEST_FREECTX:
            d->release = OSSL_FUNC_digest_freectx(f);
            break;
        case OSSL_FUNC_DIGEST_INIT:
            d->begin = OSSL_FUNC_digest_init(f);
            break;
        case OSSL_FUNC_DIGEST_UPDATE:
            d->update = OSSL_FUNC_digest_update(f);
            break;
        case OSSL_FUNC_DIGEST_FINAL:
            d->final = OSSL_FUNC_digest_final(f);
            break;
        default:
            break;
        }
}

int tls_digest_begin(tls_digest *d, OSSL_LIB_CTX *lib, const char *name)
{
    const OSSL_DISPATCH *functions;

    if (!(d->md = EVP_MD_fetch(lib, name, NULL)))
        return -1;
    functions = tls_provider_functions(EVP_MD_get0_provider(d->md), OSSL_OP_DIGEST, name);
    if (functions)
        digest_functions(d, functions);
    d->provider = OSSL_PROVIDER_get0_provider_ctx(EVP_MD_get0_provider(d->md));
    d->size = (size_t)EVP_MD_get_size(d->md);
    d->block = (size_t)EVP_MD_get_block_size(d->md);
    return d->make && d->release && d->begin && d->update && d->final && d->size <= TLS_SECRET_MOST
               ? 0
               : -1;
}

void tls_digest_end(tls_digest *d)
{
    EVP_MD_free(d->md);
    d->md = NULL;
}

int tls_hash_all(tls_hash *h, const tls_piece *pieces, int n, unsigned char *out)
{
    const tls_digest *d = h->of;
    size_t len;
    int ok = (h->state || (h->state = d->make(d->provider))) && d->begin(h->state, NULL) == 1;

    for (int i = 0; ok && i < n; i++)
        ok = !pieces[i].len || d->update(h->state, pieces[i].data, pieces[i].len) == 1;
    return ok && d->final(h->state, out, &len, d->size) == 1;
}

int tls_hash_forget(tls_hash *h)
{
    return !h->state || h->of->begin(h->state, NULL) == 1;
}

void tls_hash_end(tls_hash *h)
{
    if (h->state)
        h->of->release(h->state);
    h->state = NULL;
}
