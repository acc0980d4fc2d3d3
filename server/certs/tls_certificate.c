/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of a certificate, for messages and reports. */
#include "tls_certificate.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

#define NAMES_MOST 20 /* names shown of one certificate */

X509 *tls_certificate_parse(const tls_der *der, OSSL_LIB_CTX *lib)
{
    const unsigned char *at = der->data;
    X509 *x = X509_new_ex(lib, NULL);

    if (x && !d2i_X509(&x, &at, der->len))
        x = NULL;
    return x;
}

/* The common name, or else all of it. */
static const char *facts_name(apr_pool_t *p, const X509_NAME *name)
{
    char text[256];
    BIO *bio;

    if (X509_NAME_get_text_by_NID(name, NID_commonName, text, sizeof text) > 0)
        return apr_pstrdup(p, text);
    if (!(bio = BIO_new(BIO_s_mem())))
        return "";
    X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253);
    return tls_vars_of_bio(p, bio);
}

static const char *facts_address(apr_pool_t *p, const ASN1_OCTET_STRING *ip)
{
    char text[64];
    const unsigned char *a = ASN1_STRING_get0_data(ip);

    if (ASN1_STRING_length(ip) == 4)
        return apr_psprintf(p, "%u.%u.%u.%u", a[0], a[1], a[2], a[3]);
    if (ASN1_STRING_length(ip) != 16)
        return NULL;
    for (int i = 0; i < 8; i++)
        apr_snprintf(text + 5 * i, 6, "%02x%02x:", a[2 * i], a[2 * i + 1]);
    return apr_pstrmemdup(p, text, 39);
}

static const char *facts_alternative(apr_pool_t *p, const GENERAL_NAME *name)
{
    if (name->type == GEN_DNS)
        return apr_pstrmemdup(p, (const char *)ASN1_STRING_get0_data(name->d.dNSName),
                              (apr_size_t)ASN1_STRING_length(name->d.dNSName));
    return name->type == GEN_IPADD ? facts_address(p, name->d.iPAddress) : NULL;
}

static void facts_names(apr_pool_t *p, const X509 *x, tls_facts *facts)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);

    facts->names = apr_array_make(p, 4, sizeof(const char *));
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const char *name = facts_alternative(p, sk_GENERAL_NAME_value(names, i));

        if (name && facts->names->nelts < NAMES_MOST)
            APR_ARRAY_PUSH(facts->names, const char *) = name;
        else if (name)
            facts->more++;
    }
    GENERAL_NAMES_free(names);
    if (!facts->names->nelts)
        APR_ARRAY_PUSH(facts->names, const char *) = facts->subject;
    BRG_ASSERT(facts->names->nelts > 0 && facts->names->nelts <= NAMES_MOST);
}

static apr_time_t facts_time(const ASN1_TIME *t)
{
    struct tm tm;

    return ASN1_TIME_to_tm(t, &tm) ? apr_time_from_sec(timegm(&tm)) : 0;
}

int tls_facts_of(apr_pool_t *p, const tls_pair *pair, tls_facts *facts)
{
    X509 *x = tls_certificate_parse(APR_ARRAY_IDX(pair->chain, 0, const tls_der *), NULL);
    EVP_PKEY *key = x ? X509_get0_pubkey(x) : NULL;

    BRG_ASSERT(pair->chain->nelts > 0); /* the server's own comes first */
    memset(facts, 0, sizeof *facts);
    if (!x)
        return -1;
    facts->file = pair->cert_file;
    facts->subject = facts_name(p, X509_get_subject_name(x));
    facts->issuer = facts_name(p, X509_get_issuer_name(x));
    facts->key_type = key ? apr_pstrdup(p, EVP_PKEY_get0_type_name(key)) : "";
    facts->from = facts_time(X509_get0_notBefore(x));
    facts->until = facts_time(X509_get0_notAfter(x));
    facts_names(p, x, facts);
    X509_free(x);
    return 0;
}

const char *tls_facts_names(apr_pool_t *p, const tls_facts *facts)
{
    const char *names = apr_array_pstrcat(p, facts->names, ' ');

    return facts->more ? apr_psprintf(p, "%s (%d more)", names, facts->more) : names;
}

int tls_facts_days(const tls_facts *facts, apr_time_t now)
{
    apr_time_t left = facts->until - now;

    return left < 0 ? -1 : (int)(apr_time_sec(left) / 86400);
}

int tls_certificate_is_for(const tls_pair *pair, const char *host)
{
    X509 *x = tls_certificate_parse(APR_ARRAY_IDX(pair->chain, 0, const tls_der *), NULL);
    int is = x && host &&
             (X509_check_host(x, host, 0, 0, NULL) == 1 || X509_check_ip_asc(x, host, 0) == 1);

    X509_free(x);
    return is;
}
