/* SPDX-License-Identifier: Apache-2.0 */
/* HMAC (RFC 2104), and the pseudorandom function of TLS 1.2 that is made of it (RFC 5246, section 5). */
#include "tls_record_private.h"
#include "brigade/assert.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#define BLOCK_MOST 128 /* of SHA-384 */

static int hmac_hash(EVP_MD_CTX *c, const EVP_MD *md, const tls_piece *pieces, int n,
                     unsigned char *out)
{
    int ok = EVP_DigestInit_ex2(c, md, NULL) == 1;

    for (int i = 0; ok && i < n; i++)
        ok = !pieces[i].len || EVP_DigestUpdate(c, pieces[i].data, pieces[i].len) == 1;
    return ok && EVP_DigestFinal_ex(c, out, NULL) == 1;
}

int tls_hmac(EVP_MD_CTX *c, const EVP_MD *md, tls_piece key, const tls_piece *pieces, int n,
             unsigned char *out)
{
    unsigned char pad[BLOCK_MOST], shrunk[EVP_MAX_MD_SIZE];
    size_t block = (size_t)EVP_MD_get_block_size(md), len = (size_t)EVP_MD_get_size(md);
    tls_piece all[TLS_PIECES + 1] = {{pad, block}}, outer[] = {{pad, block}, {out, len}};
    int ok = 1;

    BRG_ASSERT(n >= 0 && n <= TLS_PIECES && block <= sizeof pad);
    if (key.len > block) {
        ok = hmac_hash(c, md, &key, 1, shrunk);
        key = (tls_piece){shrunk, len};
    }
    memset(pad, 0x36, block);
    for (size_t i = 0; i < key.len; i++)
        pad[i] ^= ((const unsigned char *)key.data)[i];
    if (n)
        memcpy(all + 1, pieces, sizeof *pieces * (size_t)n);
    ok = ok && hmac_hash(c, md, all, n + 1, out);
    for (size_t i = 0; i < block; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    ok = ok && hmac_hash(c, md, outer, 2, out);
    OPENSSL_cleanse(pad, sizeof pad);
    OPENSSL_cleanse(shrunk, sizeof shrunk);
    return ok;
}

int tls_prf(EVP_MD_CTX *c, const EVP_MD *md, tls_piece secret, const tls_piece *seeds, int n,
            unsigned char *out, size_t len)
{
    unsigned char link[EVP_MAX_MD_SIZE], block[EVP_MAX_MD_SIZE];
    size_t size = (size_t)EVP_MD_get_size(md), done = 0, take;
    tls_piece pieces[TLS_PIECES] = {{link, size}};
    int ok;

    BRG_ASSERT(n > 0 && n < TLS_PIECES && size <= sizeof link);
    memcpy(pieces + 1, seeds, sizeof *seeds * (size_t)n);
    ok = tls_hmac(c, md, secret, seeds, n, link);
    for (; ok && done < len; done += take) {
        take = len - done < size ? len - done : size;
        ok = tls_hmac(c, md, secret, pieces, n + 1, block);
        memcpy(out + done, block, take);
        if (done + take < len)
            ok = ok && tls_hmac(c, md, secret, pieces, 1, link);
    }
    OPENSSL_cleanse(link, sizeof link);
    OPENSSL_cleanse(block, sizeof block);
    return ok;
}
