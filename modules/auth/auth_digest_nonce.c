/* SPDX-License-Identifier: Apache-2.0 */
/* A nonce is the time, and a keyed sum of the time, the realm and the client's opaque. All processes of a server make and
 * take the same ones, also after a reload: the key is made once, by the supervisor, and its processes have it. */
#include "auth_digest_private.h"
#include "http_core.h"
#include "apr_base64.h"
#include "apr_general.h"
#include "apr_siphash.h"
#include "apr_strings.h"
#include <string.h>

#define NONCE_KEYS 3

static struct {
    unsigned char key[NONCE_KEYS][APR_SIPHASH_KSIZE];
    int set;
} nonce_secret;

apr_status_t digest_nonce_open(void)
{
    apr_status_t rv = APR_SUCCESS;

    if (!nonce_secret.set && (rv = apr_generate_random_bytes(
                                  nonce_secret.key[0], sizeof nonce_secret.key)) == APR_SUCCESS)
        nonce_secret.set = 1;
    return rv;
}

/* Bytes of a realm, and of a client's opaque, that count; their lengths count as a whole. */
#define NONCE_REALM_MOST 512
#define NONCE_OPAQUE_MOST 64

static unsigned char *nonce_add(unsigned char *to, const char *text, size_t most)
{
    const size_t len = strlen(text), n = len < most ? len : most;

    memcpy(to, &len, sizeof len);
    memcpy(to + sizeof len, text, n);
    return to + sizeof len + n;
}

/* 160 bits of SipHash, under three keys. */
static void nonce_hash(char *out, const char *time, const char *realm, const char *opaque)
{
    unsigned char text[DIGEST_TIME_LEN + NONCE_REALM_MOST + NONCE_OPAQUE_MOST + 2 * sizeof(size_t)];
    unsigned char *end = text + DIGEST_TIME_LEN;
    apr_uint64_t sum[NONCE_KEYS];

    memcpy(text, time, DIGEST_TIME_LEN);
    end = nonce_add(end, realm, NONCE_REALM_MOST);
    if (opaque)
        end = nonce_add(end, opaque, NONCE_OPAQUE_MOST);
    for (int i = 0; i < NONCE_KEYS; i++)
        sum[i] = apr_siphash24(text, (apr_size_t)(end - text), nonce_secret.key[i]);
    ap_bin2hex(sum, (DIGEST_NONCE_LEN - DIGEST_TIME_LEN) / 2, out);
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
