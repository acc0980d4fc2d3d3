/* SPDX-License-Identifier: Apache-2.0 */
/* HMAC (RFC 2104), and the pseudorandom function of TLS 1.2 that is made of it (RFC 5246, section 5). */
#include "tls_record_private.h"
#include "brigade/assert.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#define BLOCK_MOST 128 /* of SHA-384 */

static void hmac_pad(uint64_t *pad, size_t block, unsigned byte)
{
    for (size_t i = 0; i < block / 8; i++)
        pad[i] ^= byte * UINT64_C(0x0101010101010101);
}

int tls_hmac(tls_hash *h, tls_piece key, const tls_piece *pieces, int n, unsigned char *out)
{
    uint64_t pad[BLOCK_MOST / 8];
    unsigned char shrunk[EVP_MAX_MD_SIZE];
    const size_t block = h->of->block, len = h->of->size;
    tls_piece all[TLS_PIECES + 1] = {{pad, block}}, outer[] = {{pad, block}, {out, len}};
    int ok = 1;

    BRG_ASSERT(n >= 0 && n <= TLS_PIECES && block <= sizeof pad);
    if (key.len > block) {
        ok = tls_hash_all(h, &key, 1, shrunk);
        key = (tls_piece){shrunk, len};
    }
    memset(pad, 0, sizeof pad);
    if (key.len)
        memcpy(pad, key.data, key.len);
    hmac_pad(pad, block, 0x36);
    if (n)
        memcpy(all + 1, pieces, sizeof *pieces * (size_t)n);
    ok = ok && tls_hash_all(h, all, n + 1, out);
    hmac_pad(pad, block, 0x36 ^ 0x5c);
    ok = ok && tls_hash_all(h, outer, 2, out);
    OPENSSL_cleanse(pad, sizeof pad);
    OPENSSL_cleanse(shrunk, sizeof shrunk);
    return ok;
}

int tls_prf(tls_hash *h, tls_piece secret, const tls_piece *seeds, int n, unsigned char *out,
            size_t len)
{
    unsigned char link[EVP_MAX_MD_SIZE], block[EVP_MAX_MD_SIZE];
    size_t size = h->of->size, done = 0, take;
    tls_piece pieces[TLS_PIECES] = {{link, size}};
    int ok;

    BRG_ASSERT(n > 0 && n < TLS_PIECES && size <= sizeof link);
    memcpy(pieces + 1, seeds, sizeof *seeds * (size_t)n);
    ok = tls_hmac(h, secret, seeds, n, link);
    for (; ok && done < len; done += take) {
        take = len - done < size ? len - done : size;
        ok = tls_hmac(h, secret, pieces, n + 1, block);
        memcpy(out + done, block, take);
        if (done + take < len)
            ok = ok && tls_hmac(h, secret, pieces, 1, link);
    }
    OPENSSL_cleanse(link, sizeof link);
    OPENSSL_cleanse(block, sizeof block);
    return ok;
}
