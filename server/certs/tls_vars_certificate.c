/* SPDX-License-Identifier: Apache-2.0 */
/* SSL_SERVER_* and SSL_CLIENT_*: contents of a certificate. */
#include "tls_certificate.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#define VARS_CERT_MOST 65536 /* bytes of a certificate as text */

/* ---- text out of OpenSSL ---- */

char *tls_vars_of_bio(apr_pool_t *p, BIO *bio)
{
    char *data;
    long len = BIO_get_mem_data(bio, &data);
    char *text = len > 0 && len <= VARS_CERT_MOST ? apr_pstrmemdup(p, data, (apr_size_t)len) : NULL;

    BIO_free(bio);
    return text;
}

char *tls_vars_pem(apr_pool_t *p, X509 *x)
{
    BIO *bio = BIO_new(BIO_s_mem());

    if (bio)
        PEM_write_bio_X509(bio, x);
    return bio ? tls_vars_of_bio(p, bio) : NULL;
}

static char *vars_name(apr_pool_t *p, const X509_NAME *name, int legacy)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *line, *text;

    if (legacy) {
        BIO_free(bio);
        line = X509_NAME_oneline(name, NULL, 0);
        text = line ? apr_pstrdup(p, line) : NULL;
        OPENSSL_free(line);
        return text;
    }
    if (bio)
        X509_NAME_print_ex(bio, name, 0,
                           (XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) | ASN1_STRFLGS_UTF8_CONVERT);
    return bio ? tls_vars_of_bio(p, bio) : NULL;
}

static char *vars_print(apr_pool_t *p, const ASN1_STRING *s, unsigned long flags)
{
    BIO *bio = BIO_new(BIO_s_mem());

    if (bio)
        ASN1_STRING_print_ex(bio, s, flags);
    return bio ? tls_vars_of_bio(p, bio) : NULL;
}

static char *vars_string(apr_pool_t *p, const ASN1_STRING *s)
{
    return vars_print(p, s, ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT);
}

static char *vars_time(apr_pool_t *p, const ASN1_TIME *t)
{
    BIO *bio = BIO_new(BIO_s_mem());

    if (bio)
        ASN1_TIME_print(bio, t);
    return bio ? tls_vars_of_bio(p, bio) : NULL;
}

/* ---- parts of names ---- */

static const struct {
    const char *name;
    int nid;
} dn_parts[] = {{"C", NID_countryName},
                {"ST", NID_stateOrProvinceName},
                {"SP", NID_stateOrProvinceName},
                {"L", NID_localityName},
                {"O", NID_organizationName},
                {"OU", NID_organizationalUnitName},
                {"CN", NID_commonName},
                {"T", NID_title},
                {"I", NID_initials},
                {"G", NID_givenName},
                {"S", NID_surname},
                {"D", NID_description},
                {"UID", NID_userId},
                {"Email", NID_pkcs9_emailAddress}};

#define DN_PARTS (sizeof dn_parts / sizeof *dn_parts)

const char *tls_vars_dn_name(size_t i)
{
    return i < DN_PARTS ? dn_parts[i].name : NULL;
}

/* "CN", "OU_1": the nth of that kind, from 0; with _RAW behind it, not converted to UTF-8. */
static char *vars_dn_part(apr_pool_t *p, const X509_NAME *name, const char *what)
{
    const char *mark = strchr(what, '_');
    size_t len = mark ? (size_t)(mark - what) : strlen(what);
    size_t all = strlen(what);
    int raw = all > 4 && !strcmp(what + all - 4, "_RAW"), at = -1, nth = 0;

    if (mark && apr_isdigit(mark[1]))
        nth = atoi(mark + 1);
    else if (mark && !(raw && mark == what + all - 4))
        return NULL;
    for (size_t i = 0; i < DN_PARTS; i++) {
        if (strlen(dn_parts[i].name) != len || strncasecmp(dn_parts[i].name, what, len))
            continue;
        do
            at = X509_NAME_get_index_by_NID((X509_NAME *)(uintptr_t)name, dn_parts[i].nid, at);
        while (at >= 0 && nth--);
        return at < 0 ? NULL
                      : vars_print(p, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)),
                                   raw ? ASN1_STRFLGS_ESC_CTRL
                                       : ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT);
    }
    return NULL;
}

static char *vars_dn(apr_pool_t *p, const X509_NAME *name, const char *rest, int legacy)
{
    if (!*rest)
        return vars_name(p, name, legacy);
    return *rest == '_' ? vars_dn_part(p, name, rest + 1) : NULL;
}

/* ---- certificates ---- */

static char *vars_serial(apr_pool_t *p, X509 *x)
{
    BIO *bio = BIO_new(BIO_s_mem());

    if (bio)
        i2a_ASN1_INTEGER(bio, X509_get0_serialNumber(x));
    return bio ? tls_vars_of_bio(p, bio) : NULL;
}

/* The certificate exact assertion of RFC 4523, by which directories find certificates. */
static char *vars_assertion(apr_pool_t *p, X509 *x)
{
    BIGNUM *n = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x), NULL);
    char *serial = n ? BN_bn2dec(n) : NULL;
    char *issuer = vars_name(p, X509_get_issuer_name(x), 0), *text = NULL;

    if (serial && issuer)
        text = apr_pstrcat(p, "{ serialNumber ", serial, ", issuer rdnSequence:\"", issuer, "\" }",
                           NULL);
    OPENSSL_free(serial);
    BN_free(n);
    return text;
}

static char *vars_days_left(apr_pool_t *p, X509 *x)
{
    int days = 0, seconds = 0;

    if (!ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(x)))
        return NULL;
    return apr_itoa(p, days > 0 ? days : 0);
}

static char *vars_algorithm(apr_pool_t *p, const ASN1_OBJECT *o)
{
    int nid = OBJ_obj2nid(o);

    return apr_pstrdup(p, nid == NID_undef ? "UNKNOWN" : OBJ_nid2ln(nid));
}

/* The text of a certificate's name, if it is of that kind: @a other is the NID of an "other name". */
static const ASN1_STRING *san_value(const GENERAL_NAME *name, int type, int other)
{
    const ASN1_TYPE *value;

    if (name->type != type)
        return NULL;
    if (type != GEN_OTHERNAME)
        return name->d.ia5;
    value = name->d.otherName->value;
    return OBJ_obj2nid(name->d.otherName->type_id) == other &&
                   (value->type == V_ASN1_UTF8STRING || value->type == V_ASN1_IA5STRING)
               ? value->value.asn1_string
               : NULL;
}

/* SAN_Email_n, SAN_DNS_n, SAN_OTHER_msUPN_n, SAN_OTHER_dnsSRV_n */
static char *vars_san(apr_pool_t *p, X509 *x, const char *what)
{
    static const struct {
        const char *prefix;
        int type, other;
    } kinds[] = {{"Email_", GEN_EMAIL, 0},
                 {"DNS_", GEN_DNS, 0},
                 {"OTHER_msUPN_", GEN_OTHERNAME, NID_ms_upn},
                 {"OTHER_dnsSRV_", GEN_OTHERNAME, NID_SRVName}};
    GENERAL_NAMES *names;
    char *text = NULL;
    size_t k = 0;
    int nth;

    while (k < 4 && strncmp(what, kinds[k].prefix, strlen(kinds[k].prefix)) != 0)
        k++;
    if (k == 4)
        return NULL;
    nth = atoi(what + strlen(kinds[k].prefix));
    names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names) && !text; i++) {
        const ASN1_STRING *value =
            san_value(sk_GENERAL_NAME_value(names, i), kinds[k].type, kinds[k].other);

        if (value && nth-- == 0)
            text = vars_string(p, value);
    }
    GENERAL_NAMES_free(names);
    return text;
}

const char *tls_vars_certificate(apr_pool_t *p, X509 *x, const char *what, int legacy)
{
    const X509_ALGOR *alg;
    X509_ALGOR *key_alg;
    ASN1_OBJECT *key_obj;

    if (!strncmp(what, "S_DN", 4))
        return vars_dn(p, X509_get_subject_name(x), what + 4, legacy);
    if (!strncmp(what, "I_DN", 4))
        return vars_dn(p, X509_get_issuer_name(x), what + 4, legacy);
    if (!strncmp(what, "SAN_", 4))
        return vars_san(p, x, what + 4);
    if (!strcmp(what, "M_VERSION"))
        return apr_psprintf(p, "%lu", (unsigned long)X509_get_version(x) + 1);
    if (!strcmp(what, "M_SERIAL"))
        return vars_serial(p, x);
    if (!strcmp(what, "V_START"))
        return vars_time(p, X509_get0_notBefore(x));
    if (!strcmp(what, "V_END"))
        return vars_time(p, X509_get0_notAfter(x));
    if (!strcmp(what, "V_REMAIN"))
        return vars_days_left(p, x);
    if (!strcmp(what, "CERT"))
        return tls_vars_pem(p, x);
    if (!strcmp(what, "CERT_RFC4523_CEA"))
        return vars_assertion(p, x);
    if (!strcmp(what, "A_SIG")) {
        X509_get0_signature(NULL, &alg, x);
        return vars_algorithm(p, alg->algorithm);
    }
    if (!strcmp(what, "A_KEY") &&
        X509_PUBKEY_get0_param(&key_obj, NULL, NULL, &key_alg, X509_get_X509_PUBKEY(x)))
        return vars_algorithm(p, key_obj);
    return NULL;
}
