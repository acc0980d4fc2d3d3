/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of TLS 1.3's key derivation (RFC 8446, section 7.1; RFC 5869). What is the same in all handshakes without a
 * session is derived once. */
#include "tls_record_private.h"
#include "brigade/assert.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#define INFO_MOST 514 /* HkdfLabel: a length, two strings of up to 255 bytes with theirs */

static const unsigned char zeros[TLS_SECRET_MOST];

static size_t info_of(tls_piece prefix, tls_piece label, tls_piece data, size_t len,
                      unsigned char *info)
{
    size_t at = 3;

    if (prefix.len + label.len > 255 || data.len > 255 || len > UINT16_MAX)
        return 0;
    info[0] = (unsigned char)(len >> 8);
    info[1] = (unsigned char)len;
    info[2] = (unsigned char)(prefix.len + label.len);
    if (prefix.len)
        memcpy(info + at, prefix.data, prefix.len);
    at += prefix.len;
    if (label.len)
        memcpy(info + at, label.data, label.len);
    at += label.len;
    BRG_ASSERT(at + 1 + data.len <= INFO_MOST);
    info[at++] = (unsigned char)data.len;
    if (data.len)
        memcpy(info + at, data.data, data.len);
    return at + data.len;
}

int tls_hkdf_expand(tls_hash *h, tls_piece key, tls_piece prefix, tls_piece label, tls_piece data,
                    unsigned char *out, size_t len)
{
    unsigned char info[INFO_MOST], block[TLS_SECRET_MOST], number = 1;
    size_t size = h->of->size, info_len = info_of(prefix, label, data, len, info);
    int ok = info_len && len <= 255 * size;

    BRG_ASSERT(size <= sizeof block);
    for (size_t done = 0; ok && done < len; number++) {
        const tls_piece pieces[] = {{block, done ? size : 0}, {info, info_len}, {&number, 1}};
        size_t n = len - done < size ? len - done : size;

        ok = tls_hmac(h, key, pieces, 3, block);
        memcpy(out + done, block, n);
        done += n;
    }
    OPENSSL_cleanse(block, sizeof block);
    return ok;
}

static int is_derived(tls_piece prefix, tls_piece label)
{
    return prefix.len == 6 && !memcmp(prefix.data, "tls13 ", 6) && label.len == 7 &&
           !memcmp(label.data, "derived", 7);
}

int tls_hkdf_extract(tls_hash *h, const tls_hkdf_known *known, tls_piece key, tls_piece salt,
                     tls_piece prefix, tls_piece label, unsigned char *out, size_t len)
{
    unsigned char derived[TLS_SECRET_MOST];
    const size_t size = h->of->size;
    const tls_piece nothing = {known->empty, size}, zero = {zeros, size};
    int ok = len == size && size <= sizeof derived && (!salt.data || salt.len == size);

    if (ok && !salt.data && !key.data) {
        memcpy(out, known->early, size);
        return 1;
    }
    if (ok && salt.data && is_derived(prefix, label) &&
        !CRYPTO_memcmp(salt.data, known->early, size))
        memcpy(derived, known->derived, size);
    else if (ok && salt.data)
        ok = tls_hkdf_expand(h, salt, prefix, label, nothing, derived, size);
    ok = ok &&
         tls_hmac(h, (tls_piece){derived, salt.data ? size : 0}, key.data ? &key : &zero, 1, out);
    OPENSSL_cleanse(derived, sizeof derived);
    return ok;
}

int tls_hkdf_know(tls_hash *h, tls_hkdf_known *known)
{
    const size_t size = h->of->size;
    const tls_piece zero = {zeros, size}, early = {known->early, size},
                    empty = {known->empty, size};

    BRG_ASSERT(size <= TLS_SECRET_MOST);
    return tls_hash_all(h, NULL, 0, known->empty) &&
           tls_hmac(h, (tls_piece){zeros, 0}, &zero, 1, known->early) &&
           tls_hkdf_expand(h, early, (tls_piece){"tls13 ", 6}, (tls_piece){"derived", 7}, empty,
                           known->derived, size);
}
