/* SPDX-License-Identifier: Apache-2.0 */
/* A nonce is the time, and a keyed sum of the time, the realm and the client's opaque. All processes of a server make and
 * take the same ones, also after a reload: the key is made once, by the supervisor, and its processes have it. */
#include "auth_digest_private.h"
#include "http_core.h"
#include "apr_base64.h"
#include "apr_general.h"
#include "apr_sha1.h"
#include "apr_strings.h"
#include <string.h>

#define NONCE_KEY_BYTES 32

static struct {
    unsigned char key[NONCE_KEY_BYTES];
    int set;
} nonce_secret;

apr_status_t digest_nonce_open(void)
{
    apr_status_t rv = APR_SUCCESS;

    if (!nonce_secret.set &&
        (rv = apr_generate_random_bytes(nonce_secret.key, NONCE_KEY_BYTES)) == APR_SUCCESS)
        nonce_secret.set = 1;
    return rv;
}

/* The sum is under the key on both sides: as HMAC has it (RFC 2104). */
static void nonce_pad(apr_sha1_ctx_t *sha, unsigned char with)
{
    unsigned char block[64];

    memset(block, with, sizeof block);
    for (int i = 0; i < NONCE_KEY_BYTES; i++)
        block[i] ^= nonce_secret.key[i];
    apr_sha1_init(sha);
    apr_sha1_update_binary(sha, block, sizeof block);
    explicit_bzero(block, sizeof block);
}

static void nonce_hash(char *out, const char *time, const char *realm, const char *opaque)
{
    unsigned char digest[APR_SHA1_DIGESTSIZE];
    apr_sha1_ctx_t sha;

    nonce_pad(&sha, 0x36);
    apr_sha1_update_binary(&sha, (const unsigned char *)time, DIGEST_TIME_LEN);
    apr_sha1_update_binary(&sha, (const unsigned char *)realm, (unsigned)strlen(realm) + 1);
    if (opaque)
        apr_sha1_update_binary(&sha, (const unsigned char *)opaque, (unsigned)strlen(opaque));
    apr_sha1_final(digest, &sha);
    nonce_pad(&sha, 0x5c);
    apr_sha1_update_binary(&sha, digest, sizeof digest);
    apr_sha1_final(digest, &sha);
    ap_bin2hex(digest, sizeof digest, out);
}

static const char *nonce_realm(const request_rec *r)
{
    const char *realm = ap_auth_name((request_rec *)(uintptr_t)r);

    return realm ? realm : "";
}

const char *digest_nonce_make(apr_pool_t *p, const request_rec *r, apr_time_t time,
                              apr_uint64_t number, const char *opaque)
{
    char *nonce = apr_palloc(p, DIGEST_NONCE_LEN + 1);
    unsigned char bytes[8];

    if (number)
        memcpy(bytes, &number, sizeof bytes);
    else
        memcpy(bytes, &time, sizeof bytes);
    apr_base64_encode_binary(nonce, bytes, sizeof bytes);
    nonce_hash(nonce + DIGEST_TIME_LEN, nonce, nonce_realm(r), opaque);
    return nonce;
}

int digest_nonce_matches(const char *realm, const digest_field *field, apr_time_t *time, char *sum)
{
    char text[DIGEST_TIME_LEN + 1];
    unsigned char bytes[DIGEST_TIME_LEN];
    int differs = 0;

    memcpy(text, field->nonce, DIGEST_TIME_LEN);
    text[DIGEST_TIME_LEN] = '\0';
    nonce_hash(sum, field->nonce, realm, field->opaque);
    for (int i = 0; i < DIGEST_NONCE_LEN - DIGEST_TIME_LEN; i++)
        differs |= sum[i] ^ field->nonce[DIGEST_TIME_LEN + i];
    if (differs || apr_base64_decode_len(text) > (int)sizeof bytes ||
        apr_base64_decode_binary(bytes, text) != (int)sizeof *time)
        return 0;
    memcpy(time, bytes, sizeof *time);
    return 1;
}

int digest_nonce_is_ours(request_rec *r, const digest_field *field, apr_time_t *time,
                         const char **hash)
{
    char *sum = apr_palloc(r->pool, DIGEST_NONCE_LEN - DIGEST_TIME_LEN + 1);

    *hash = sum;
    return digest_nonce_matches(nonce_realm(r), field, time, sum);
}
