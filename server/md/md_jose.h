/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_JOSE_H
#define BRIGADE_MD_JOSE_H

/**
 * @file md_jose.h
 * Signed requests of ACME: base64url (RFC 4648, 5), JWK (RFC 7517), thumbprints (RFC 7638), JWS (RFC 7515) with RS256,
 * ES256, ES384 and HS256 (RFC 7518). Results are in the pool that is given. Threads: any. Blocking: no, but for signatures.
 */
#include "apr_pools.h"
#include <openssl/evp.h>

/** Without padding. */
const char *md_base64url(apr_pool_t *p, const void *data, apr_size_t len);

/** @return NULL: not such text. @param len  of the bytes, which a NUL follows */
const unsigned char *md_base64url_decode(apr_pool_t *p, const char *text, apr_size_t *len);

/** The public half of a key as JSON, its members in the order of RFC 7638. @return NULL: no such key is taken */
const char *md_jwk(apr_pool_t *p, const EVP_PKEY *key);

/** SHA-256 of that, as base64url. */
const char *md_jwk_thumbprint(apr_pool_t *p, const EVP_PKEY *key);

/** A token's key authorization (RFC 8555, 8.1). */
const char *md_key_authorization(apr_pool_t *p, const char *token, const EVP_PKEY *key);

/**
 * A signed request.
 * @param kid      URL of the account; NULL: the key itself is sent
 * @param nonce    of the authority
 * @param payload  JSON; "" for POST-as-GET
 * @return NULL: OpenSSL refused
 */
const char *md_jws(apr_pool_t *p, EVP_PKEY *key, const char *kid, const char *nonce,
                   const char *url, const char *payload);

/** External account binding (RFC 8555, 7.3.4). @param hmac  base64url. @return NULL: @a hmac is not
 * base64url */
const char *md_jws_binding(apr_pool_t *p, const char *kid, const char *hmac, const EVP_PKEY *key,
                           const char *url);

/** 1 if a token may be one (RFC 8555, 8.3). */
int md_token_is_sane(const char *token);

#endif
