/* SPDX-License-Identifier: Apache-2.0 */
/* JOSE for ACME: base64url, JWK, JWS. */
#include "md_jose.h"
#include "md_json.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/hmac.h>
#include <string.h>

#define JOSE_SHA256 32
#define JOSE_TOKEN_MOST 256
#define JOSE_COORDINATE_MOST 66

/* ---- base64url ---- */

static const char jose_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const char *md_base64url(apr_pool_t *p, const void *data, apr_size_t len)
{
    const unsigned char *in = data;
    char *text = apr_palloc(p, len / 3 * 4 + 5), *to = text;

    BRG_ASSERT(data != NULL);
    for (apr_size_t i = 0; i < len; i += 3) {
        const apr_size_t n = len - i < 3 ? len - i : 3;
        const unsigned long bits = (unsigned long)in[i] << 16 |
                                   (n > 1 ? (unsigned long)in[i + 1] << 8 : 0) |
                                   (n > 2 ? in[i + 2] : 0);

        for (apr_size_t k = 0; k <= n; k++)
            *to++ = jose_digits[bits >> (18 - 6 * k) & 63];
    }
    *to = '\0';
    return text;
}

const unsigned char *md_base64url_decode(apr_pool_t *p, const char *text, apr_size_t *len)
{
    const apr_size_t n = strlen(text);
    unsigned char *data = apr_palloc(p, n / 4 * 3 + 4), *to = data;
    unsigned long bits = 0;
    unsigned have = 0;

    if (n % 4 == 1)
        return NULL;
    for (const char *at = text; *at; at++) {
        const char *digit = strchr(jose_digits, *at);

        if (!digit)
            return NULL;
        bits = bits << 6 | (unsigned long)(digit - jose_digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            *to++ = (unsigned char)(bits >> have & 0xff);
        }
    }
    if (bits & ((1ul << have) - 1)) /* bits behind the last byte */
        return NULL;
    *to = '\0';
    *len = (apr_size_t)(to - data);
    return data;
}

static const char *jose_text64(apr_pool_t *p, const char *text)
{
    return md_base64url(p, text, strlen(text));
}

/* ---- keys ---- */

/* A number of a key, with as many bytes as it has, or @a width. */
static const char *jose_number(apr_pool_t *p, const EVP_PKEY *key, const char *name, int width)
{
    unsigned char *data;
    BIGNUM *n = NULL;
    int len;

    BRG_ASSERT(width >= 0 && width <= JOSE_COORDINATE_MOST);
    if (!EVP_PKEY_get_bn_param(key, name, &n))
        return NULL;
    len = width ? width : BN_num_bytes(n);
    data = apr_palloc(p, (apr_size_t)len + 1);
    len = BN_bn2binpad(n, data, len);
    BN_free(n);
    return len > 0 ? md_base64url(p, data, (apr_size_t)len) : NULL;
}

/* Of its curve; NULL: none that is taken here. */
static const char *jose_curve(const EVP_PKEY *key, int *width)
{
    char group[32];

    if (!EVP_PKEY_is_a(key, "EC") || !EVP_PKEY_get_group_name(key, group, sizeof group, NULL))
        return NULL;
    if (!strcmp(group, "prime256v1") || !strcmp(group, "P-256")) {
        *width = 32;
        return "P-256";
    }
    if (!strcmp(group, "secp384r1") || !strcmp(group, "P-384")) {
        *width = 48;
        return "P-384";
    }
    return NULL;
}

const char *md_jwk(apr_pool_t *p, const EVP_PKEY *key)
{
    const char *curve, *a, *b;
    int width;

    if (EVP_PKEY_is_a(key, "RSA")) {
        a = jose_number(p, key, OSSL_PKEY_PARAM_RSA_E, 0);
        b = jose_number(p, key, OSSL_PKEY_PARAM_RSA_N, 0);
        return a && b
                   ? apr_pstrcat(p, "{\"e\":\"", a, "\",\"kty\":\"RSA\",\"n\":\"", b, "\"}", NULL)
                   : NULL;
    }
    if (!(curve = jose_curve(key, &width)))
        return NULL;
    a = jose_number(p, key, OSSL_PKEY_PARAM_EC_PUB_X, width);
    b = jose_number(p, key, OSSL_PKEY_PARAM_EC_PUB_Y, width);
    return a && b ? apr_pstrcat(p, "{\"crv\":\"", curve, "\",\"kty\":\"EC\",\"x\":\"", a,
                                "\",\"y\":\"", b, "\"}", NULL)
                  : NULL;
}

const char *md_jwk_thumbprint(apr_pool_t *p, const EVP_PKEY *key)
{
    const char *jwk = md_jwk(p, key);
    unsigned char digest[JOSE_SHA256];

    if (!jwk || !EVP_Digest(jwk, strlen(jwk), digest, NULL, EVP_sha256(), NULL))
        return NULL;
    return md_base64url(p, digest, sizeof digest);
}

const char *md_key_authorization(apr_pool_t *p, const char *token, const EVP_PKEY *key)
{
    const char *print = md_jwk_thumbprint(p, key);

    return print ? apr_pstrcat(p, token, ".", print, NULL) : NULL;
}

int md_token_is_sane(const char *token)
{
    const size_t len = strlen(token);

    return len > 0 && len <= JOSE_TOKEN_MOST && strspn(token, jose_digits) == len;
}

/* ---- signatures ---- */

/* ECDSA as JWS has it: both numbers at their full width (RFC 7518, 3.4). */
static const char *jose_ecdsa(apr_pool_t *p, const unsigned char *der, size_t len, int width)
{
    unsigned char both[2 * JOSE_COORDINATE_MOST];
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)len);
    int ok;

    BRG_ASSERT(width > 0 && width <= JOSE_COORDINATE_MOST);
    if (!sig)
        return NULL;
    ok = BN_bn2binpad(ECDSA_SIG_get0_r(sig), both, width) == width &&
         BN_bn2binpad(ECDSA_SIG_get0_s(sig), both + width, width) == width;
    ECDSA_SIG_free(sig);
    return ok ? md_base64url(p, both, 2 * (apr_size_t)width) : NULL;
}

static const char *jose_sign(apr_pool_t *p, EVP_PKEY *key, int width, const char *text)
{
    const EVP_MD *md = width == 48 ? EVP_sha384() : EVP_sha256();
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    size_t len = (size_t)EVP_PKEY_get_size(key);
    unsigned char *signature = apr_palloc(p, len + 1);
    int ok = c && EVP_DigestSignInit(c, NULL, md, NULL, key) &&
             EVP_DigestSign(c, signature, &len, (const unsigned char *)text, strlen(text));

    EVP_MD_CTX_free(c);
    if (!ok)
        return NULL;
    return width ? jose_ecdsa(p, signature, len, width) : md_base64url(p, signature, len);
}

static const char *jose_assemble(apr_pool_t *p, const char *head, const char *payload,
                                 const char *signature)
{
    return signature ? apr_pstrcat(p, "{\"protected\":\"", head, "\",\"payload\":\"", payload,
                                   "\",\"signature\":\"", signature, "\"}", NULL)
                     : NULL;
}

const char *md_jws(apr_pool_t *p, EVP_PKEY *key, const char *kid, const char *nonce,
                   const char *url, const char *payload)
{
    const char *jwk = md_jwk(p, key), *head, *body = jose_text64(p, payload);
    int width = 0;

    BRG_ASSERT(key && nonce && url && payload);
    if (!jwk)
        return NULL;
    jose_curve(key, &width);
    head = apr_pstrcat(p, "{\"alg\":\"",
                       !width        ? "RS256"
                       : width == 32 ? "ES256"
                                     : "ES384",
                       kid ? "\",\"kid\":" : "\",\"jwk\":", kid ? md_json_quote(p, kid) : jwk,
                       ",\"nonce\":", md_json_quote(p, nonce), ",\"url\":", md_json_quote(p, url),
                       "}", NULL);
    head = jose_text64(p, head);
    return jose_assemble(p, head, body,
                         jose_sign(p, key, width, apr_pstrcat(p, head, ".", body, NULL)));
}

const char *md_jws_binding(apr_pool_t *p, const char *kid, const char *hmac, const EVP_PKEY *key,
                           const char *url)
{
    const char *jwk = md_jwk(p, key), *head, *body, *text;
    unsigned char mac[JOSE_SHA256];
    const unsigned char *secret;
    apr_size_t len;
    unsigned n = sizeof mac;

    BRG_ASSERT(kid && hmac && url);
    secret = md_base64url_decode(p, hmac, &len);
    if (!jwk || !secret || !len)
        return NULL;
    head = jose_text64(p, apr_pstrcat(p, "{\"alg\":\"HS256\",\"kid\":", md_json_quote(p, kid),
                                      ",\"url\":", md_json_quote(p, url), "}", NULL));
    body = jose_text64(p, jwk);
    text = apr_pstrcat(p, head, ".", body, NULL);
    if (!HMAC(EVP_sha256(), secret, (int)len, (const unsigned char *)text, strlen(text), mac, &n))
        return NULL;
    return jose_assemble(p, head, body, md_base64url(p, mac, n));
}
