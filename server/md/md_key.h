/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_KEY_H
#define BRIGADE_MD_KEY_H

/**
 * @file md_key.h
 * Keys, certificate requests and certificates. Returned texts are in the given pool.
 * Threads: any. Blocking: no, but an RSA key takes a while.
 */
#include "apr_pools.h"
#include "apr_tables.h"
#include "apr_time.h"
#include <openssl/evp.h>
#include <openssl/x509.h>

/** Of MDPrivateKeys. */
typedef struct md_key_spec {
    int bits;          /**< RSA; 0: an elliptic curve */
    const char *curve; /**< as it was written, in lower case; NULL: RSA */
} md_key_spec;

/** 1 if OpenSSL knows the curve. */
int md_key_curve_is_known(const char *curve);

/** A name for files: "" for RSA, ".secp256r1" and the like. */
const char *md_key_suffix(apr_pool_t *p, const md_key_spec *spec);

/** @return to be freed; NULL: OpenSSL refused */
EVP_PKEY *md_key_make(const md_key_spec *spec);

/** As PEM (PKCS #8). @param pass  @a len bytes; NULL: in the clear. @return NULL: OpenSSL refused */
const char *md_key_pem(apr_pool_t *p, EVP_PKEY *key, const unsigned char *pass, apr_size_t len);

/** @return to be freed; NULL: no key, or another pass phrase */
EVP_PKEY *md_key_of_pem(const char *pem, const unsigned char *pass, apr_size_t len);

/** 1 if a key is as MDPrivateKeys has it. */
int md_key_is(const EVP_PKEY *key, const md_key_spec *spec);

/** A request for a certificate of these names (const char *), DER as base64url. @param staple  1: with OCSP must-staple.
 * @return NULL: OpenSSL refused */
const char *md_csr(apr_pool_t *p, EVP_PKEY *key, const apr_array_header_t *names, int staple);

/** A certificate that stands in for a coming one, for @a days. @return PEM; NULL: OpenSSL refused
 */
const char *md_cert_fallback(apr_pool_t *p, EVP_PKEY *key, const apr_array_header_t *names,
                             int days);

/** The certificate that proves a name by tls-alpn-01 (RFC 8737, 3). @return PEM; NULL: OpenSSL refused */
const char *md_cert_alpn(apr_pool_t *p, EVP_PKEY *key, const char *name, const char *authorization);

/** Contents of a certificate chain. */
typedef struct md_cert {
    int n; /**< certificates in it */
    apr_time_t from, until;
    apr_array_header_t *names; /**< const char *: DNS names and addresses, in lower case */
    int staple;                /**< OCSP must-staple */
    const char *serial;        /**< hexadecimal digits */
    const char *fingerprint;   /**< SHA-256, hexadecimal digits in lower case */
    const char *issuer;
    const char *ari; /**< its name for renewal information (RFC 9773, 4.1); NULL: it has none */
} md_cert;

/** @return NULL: no certificate, or a damaged one */
md_cert *md_cert_read(apr_pool_t *p, const char *pem);

/** The first name of @a names that a certificate is not for; NULL: it is for all. A wildcard is for one label. */
const char *md_cert_lacks(const md_cert *cert, const apr_array_header_t *names);

/** 1 if the first certificate of @a pem is for this key. */
int md_cert_is_for_key(const char *pem, const EVP_PKEY *key);

/** 1 if the pattern covers a name; both in any case. */
int md_name_matches(const char *pattern, const char *name);

/** A name of a configuration as certificates have it: in lower case; an IPv6 address without brackets, in its shortest form. */
const char *md_name_canonical(apr_pool_t *p, const char *word);

/** 1: an IP address, not a name: RFC 8738. */
int md_name_is_address(const char *name);

#endif
