/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of certificates. */
#include "md_key.h"
#include "md_jose.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

#define CERT_MOST 20 /* in a chain */

static apr_time_t cert_time(const ASN1_TIME *at)
{
    struct tm tm;

    if (!at || !ASN1_TIME_to_tm(at, &tm))
        return 0;
    return apr_time_from_sec(timegm(&tm));
}

static const char *cert_hex(apr_pool_t *p, const unsigned char *data, int len)
{
    char *text = apr_palloc(p, 2 * (apr_size_t)len + 1);

    BRG_ASSERT(len >= 0);
    for (int i = 0; i < len; i++)
        apr_snprintf(text + 2 * i, 3, "%02x", data[i]);
    text[2 * len] = '\0';
    return text;
}

/* An address, or a name without NUL bytes. */
static const char *cert_name(apr_pool_t *p, const GENERAL_NAME *name)
{
    const int is_address = name->type == GEN_IPADD;
    const ASN1_STRING *s = is_address ? name->d.iPAddress : name->d.dNSName;
    const unsigned char *data;
    char text[INET6_ADDRSTRLEN], *copy;
    int len;

    if (!is_address && name->type != GEN_DNS)
        return NULL;
    data = ASN1_STRING_get0_data(s);
    len = ASN1_STRING_length(s);
    if (is_address)
        return (len == 4 || len == 16) &&
                       inet_ntop(len == 4 ? AF_INET : AF_INET6, data, text, sizeof text)
                   ? apr_pstrdup(p, text)
                   : NULL;
    if (memchr(data, 0, (size_t)len))
        return NULL;
    copy = apr_pstrmemdup(p, (const char *)data, (apr_size_t)len);
    for (char *at = copy; *at; at++)
        *at = apr_tolower(*at);
    return copy;
}

static apr_array_header_t *cert_names(apr_pool_t *p, X509 *x)
{
    apr_array_header_t *names = apr_array_make(p, 4, sizeof(const char *));
    GENERAL_NAMES *all = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);

    for (int i = 0; i < sk_GENERAL_NAME_num(all); i++) {
        const char *name = cert_name(p, sk_GENERAL_NAME_value(all, i));

        if (name)
            APR_ARRAY_PUSH(names, const char *) = name;
    }
    GENERAL_NAMES_free(all);
    return names;
}

/* The identifier of the issuer's key, a dot, and the bytes of the serial number. */
static const char *cert_ari(apr_pool_t *p, X509 *x)
{
    const ASN1_OCTET_STRING *key = X509_get0_authority_key_id(x);
    unsigned char *der = NULL;
    const char *ari = NULL;
    int len = i2d_ASN1_INTEGER(X509_get_serialNumber(x), &der);

    if (key && len > 2 && der[1] < 0x80) /* type, length, and the number with its sign */
        ari = apr_pstrcat(
            p, md_base64url(p, ASN1_STRING_get0_data(key), (apr_size_t)ASN1_STRING_length(key)),
            ".", md_base64url(p, der + 2, (apr_size_t)len - 2), NULL);
    OPENSSL_free(der);
    return ari;
}

static int cert_staples(X509 *x)
{
    TLS_FEATURE *features = X509_get_ext_d2i(x, NID_tlsfeature, NULL, NULL);
    int found = 0;

    for (int i = 0; i < sk_ASN1_INTEGER_num(features); i++)
        found |= ASN1_INTEGER_get(sk_ASN1_INTEGER_value(features, i)) == 5;
    TLS_FEATURE_free(features);
    return found;
}

static void cert_fill(apr_pool_t *p, md_cert *cert, X509 *x)
{
    unsigned char digest[EVP_MAX_MD_SIZE], *der = NULL;
    unsigned n = 0;
    char issuer[256];
    const int len = i2d_ASN1_INTEGER(X509_get_serialNumber(x), &der);

    BRG_ASSERT(cert->n == 1);
    cert->from = cert_time(X509_get0_notBefore(x));
    cert->until = cert_time(X509_get0_notAfter(x));
    cert->names = cert_names(p, x);
    cert->staple = cert_staples(x);
    cert->ari = cert_ari(p, x);
    cert->serial = len > 2 && der[1] < 0x80 ? cert_hex(p, der + 2, len - 2) : "";
    OPENSSL_free(der);
    if (X509_digest(x, EVP_sha256(), digest, &n))
        cert->fingerprint = cert_hex(p, digest, (int)n);
    X509_NAME_oneline(X509_get_issuer_name(x), issuer, sizeof issuer);
    cert->issuer = apr_pstrdup(p, issuer);
}

md_cert *md_cert_read(apr_pool_t *p, const char *pem)
{
    md_cert *cert = apr_pcalloc(p, sizeof *cert);
    BIO *bio = BIO_new_mem_buf(pem, -1);
    unsigned long error;
    X509 *x;

    while (bio && cert->n < CERT_MOST && (x = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        if (!cert->n++)
            cert_fill(p, cert, x);
        X509_free(x);
    }
    BIO_free(bio);
    error = ERR_peek_last_error();
    ERR_clear_error();
    if (!cert->n || cert->n == CERT_MOST || !cert->from || !cert->until || !cert->fingerprint ||
        ERR_GET_REASON(error) != PEM_R_NO_START_LINE)
        return NULL;
    return cert;
}

int md_name_matches(const char *pattern, const char *name)
{
    const char *dot;

    BRG_ASSERT(pattern && name);
    if (!strcasecmp(pattern, name))
        return 1;
    if (strncmp(pattern, "*.", 2) != 0 || !(dot = strchr(name, '.')))
        return 0;
    return dot > name && !strcasecmp(pattern + 1, dot);
}

const char *md_cert_lacks(const md_cert *cert, const apr_array_header_t *names)
{
    BRG_ASSERT(cert->names && names);
    for (int i = 0; i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, const char *);
        int found = 0;

        for (int k = 0; k < cert->names->nelts && !found; k++)
            found = md_name_matches(APR_ARRAY_IDX(cert->names, k, const char *), name);
        if (!found)
            return name;
    }
    return NULL;
}

int md_cert_is_for_key(const char *pem, const EVP_PKEY *key)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *x = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    const int fits = x && EVP_PKEY_eq(X509_get0_pubkey(x), key) == 1;

    BRG_ASSERT(pem && key);
    X509_free(x);
    BIO_free(bio);
    ERR_clear_error();
    return fits;
}
