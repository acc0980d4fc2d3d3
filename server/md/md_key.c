/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, and signatures with them. */
#include "md_key.h"
#include "md_jose.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

#define KEY_EARLIER 3600 /* seconds: clocks differ */

/* ---- keys ---- */

/* Names as in SSL, of NIST (P-256), and of OpenSSL. */
static int key_nid(const char *curve)
{
    char nist[16] = "P-";
    int nid;

    if (!strcmp(curve, "secp256r1"))
        return NID_X9_62_prime256v1;
    if (!strcmp(curve, "secp192r1"))
        return NID_X9_62_prime192v1;
    if (!strncmp(curve, "p-", 2) && strlen(curve) < sizeof nist) {
        strcpy(nist, curve);
        *nist = 'P';
        nid = EC_curve_nist2nid(nist);
        if (nid != NID_undef)
            return nid;
    }
    return OBJ_sn2nid(curve);
}

int md_key_curve_is_known(const char *curve)
{
    const int nid = key_nid(curve);
    EC_GROUP *group = nid != NID_undef ? EC_GROUP_new_by_curve_name(nid) : NULL;

    EC_GROUP_free(group);
    ERR_clear_error();
    return group != NULL;
}

const char *md_key_suffix(apr_pool_t *p, const md_key_spec *spec)
{
    BRG_ASSERT(spec->bits > 0 || spec->curve);
    return spec->bits ? "" : apr_pstrcat(p, ".", spec->curve, NULL);
}

EVP_PKEY *md_key_make(const md_key_spec *spec)
{
    EVP_PKEY *key = spec->bits
                        ? EVP_RSA_gen((unsigned)spec->bits)
                        : EVP_PKEY_Q_keygen(NULL, NULL, "EC", OBJ_nid2sn(key_nid(spec->curve)));

    ERR_clear_error();
    return key;
}

/* Frees it. */
static const char *key_of_bio(apr_pool_t *p, BIO *bio, int ok)
{
    char *data;
    const long len = bio && ok ? BIO_get_mem_data(bio, &data) : 0;
    const char *text = len > 0 ? apr_pstrmemdup(p, data, (apr_size_t)len) : NULL;

    BIO_free(bio);
    ERR_clear_error();
    return text;
}

const char *md_key_pem(apr_pool_t *p, EVP_PKEY *key, const unsigned char *pass, apr_size_t len)
{
    BIO *bio = BIO_new(BIO_s_secmem());
    const int ok = bio && PEM_write_bio_PKCS8PrivateKey(bio, key, pass ? EVP_aes_256_cbc() : NULL,
                                                        (const char *)pass, (int)len, NULL, NULL);

    BRG_ASSERT(key && (pass || !len));
    return key_of_bio(p, bio, ok);
}

typedef struct key_pass {
    const unsigned char *pass;
    apr_size_t len;
} key_pass;

/* Nobody is asked at a terminal. */
static int key_tell_pass(char *to, int room, int write, void *data)
{
    const key_pass *pass = data;

    if (!pass->pass || (int)pass->len > room)
        return -1;
    memcpy(to, pass->pass, pass->len);
    return (int)pass->len;
}

EVP_PKEY *md_key_of_pem(const char *pem, const unsigned char *pass, apr_size_t len)
{
    key_pass told = {pass, len};
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, key_tell_pass, &told) : NULL;

    BIO_free(bio);
    ERR_clear_error();
    return key;
}

int md_key_is(const EVP_PKEY *key, const md_key_spec *spec)
{
    char group[64];

    BRG_ASSERT(spec->bits > 0 || spec->curve);
    if (spec->bits)
        return EVP_PKEY_is_a(key, "RSA") && EVP_PKEY_get_bits(key) == spec->bits;
    return EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group, sizeof group, NULL) &&
           OBJ_sn2nid(group) == key_nid(spec->curve);
}

/* ---- extensions ---- */

const char *md_name_canonical(apr_pool_t *p, const char *word)
{
    const size_t len = strlen(word);
    char *name = *word == '[' && word[len - 1] == ']' ? apr_pstrmemdup(p, word + 1, len - 2)
                                                      : apr_pstrdup(p, word);
    unsigned char address[16];
    char text[INET6_ADDRSTRLEN];

    for (char *at = name; *at; at++)
        *at = apr_tolower(*at);
    if (inet_pton(AF_INET6, name, address) == 1 && inet_ntop(AF_INET6, address, text, sizeof text))
        return apr_pstrdup(p, text);
    return name;
}

int md_name_is_address(const char *name)
{
    ASN1_OCTET_STRING *ip = a2i_IPADDRESS(name);

    ASN1_OCTET_STRING_free(ip);
    ERR_clear_error();
    return ip != NULL;
}

/* Names come from the configuration, and are host names or addresses: nothing else may stand in the list. */
static X509_EXTENSION *key_names(apr_pool_t *p, const apr_array_header_t *names)
{
    const char *list = "";

    BRG_ASSERT(names->nelts > 0);
    for (int i = 0; i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, const char *);

        if (strpbrk(name, ",\n\\"))
            return NULL;
        list = apr_pstrcat(p, list, i ? "," : "", md_name_is_address(name) ? "IP:" : "DNS:", name,
                           NULL);
    }
    return X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, list);
}

/* Takes over @a extension. */
static int key_push(STACK_OF(X509_EXTENSION) * to, X509_EXTENSION *extension)
{
    if (extension && sk_X509_EXTENSION_push(to, extension) > 0)
        return 1;
    X509_EXTENSION_free(extension);
    return 0;
}

const char *md_csr(apr_pool_t *p, EVP_PKEY *key, const apr_array_header_t *names, int staple)
{
    STACK_OF(X509_EXTENSION) *all = sk_X509_EXTENSION_new_null();
    X509_REQ *req = X509_REQ_new();
    unsigned char *der = NULL;
    const char *text = NULL;
    int len = 0, ok;

    ok = all && req && X509_REQ_set_version(req, 0) && key_push(all, key_names(p, names)) &&
         (!staple ||
          key_push(all, X509V3_EXT_conf_nid(NULL, NULL, NID_tlsfeature, "status_request"))) &&
         X509_REQ_add_extensions(req, all) && X509_REQ_set_pubkey(req, key) &&
         X509_REQ_sign(req, key, EVP_sha256());
    if (ok)
        len = i2d_X509_REQ(req, &der);
    if (len > 0)
        text = md_base64url(p, der, (apr_size_t)len);
    OPENSSL_free(der);
    X509_REQ_free(req);
    sk_X509_EXTENSION_pop_free(all, X509_EXTENSION_free);
    ERR_clear_error();
    return text;
}

/* ---- certificates of our own ---- */

static int cert_add(X509 *x, X509_EXTENSION *extension)
{
    const int ok = extension && X509_add_ext(x, extension, -1);

    X509_EXTENSION_free(extension);
    return ok;
}

static int cert_serial(X509 *x)
{
    unsigned char bytes[16];
    BIGNUM *n;
    int ok;

    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return 0;
    bytes[0] &= 0x7f;
    n = BN_bin2bn(bytes, sizeof bytes, NULL);
    ok = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));
    BN_free(n);
    return ok;
}

static X509 *cert_begin(EVP_PKEY *key, const char *subject, int days)
{
    X509 *x = X509_new();
    X509_NAME *name = x ? X509_get_subject_name(x) : NULL;

    BRG_ASSERT(days > 0);
    if (name && X509_set_version(x, 2) && cert_serial(x) &&
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)subject, -1,
                                   -1, 0) &&
        X509_set_issuer_name(x, name) && X509_gmtime_adj(X509_getm_notBefore(x), -KEY_EARLIER) &&
        X509_time_adj_ex(X509_getm_notAfter(x), days, 0, NULL) && X509_set_pubkey(x, key) &&
        cert_add(x, X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:FALSE")))
        return x;
    X509_free(x);
    return NULL;
}

/* Takes over @a x. */
static const char *cert_sign(apr_pool_t *p, X509 *x, EVP_PKEY *key, int ok)
{
    BIO *bio = BIO_new(BIO_s_mem());

    ok = ok && bio && X509_sign(x, key, EVP_sha256()) && PEM_write_bio_X509(bio, x);
    X509_free(x);
    return key_of_bio(p, bio, ok);
}

const char *md_cert_fallback(apr_pool_t *p, EVP_PKEY *key, const apr_array_header_t *names,
                             int days)
{
    X509 *x = cert_begin(key, "Apache Managed Domain Fallback", days);

    return cert_sign(p, x, key, x && cert_add(x, key_names(p, names)));
}

/* 1.3.6.1.5.5.7.1.31, critical: an octet string of the digest (RFC 8737, 6.1). */
static X509_EXTENSION *cert_proof(const char *authorization)
{
    unsigned char value[2 + 32] = {0x04, 0x20};
    ASN1_OCTET_STRING *data = ASN1_OCTET_STRING_new();
    ASN1_OBJECT *type = OBJ_txt2obj("1.3.6.1.5.5.7.1.31", 1);
    X509_EXTENSION *extension = NULL;

    if (data && type &&
        EVP_Digest(authorization, strlen(authorization), value + 2, NULL, EVP_sha256(), NULL) &&
        ASN1_OCTET_STRING_set(data, value, sizeof value))
        extension = X509_EXTENSION_create_by_OBJ(NULL, type, 1, data);
    ASN1_OCTET_STRING_free(data);
    ASN1_OBJECT_free(type);
    return extension;
}

const char *md_cert_alpn(apr_pool_t *p, EVP_PKEY *key, const char *name, const char *authorization)
{
    apr_array_header_t *names = apr_array_make(p, 1, sizeof(const char *));
    X509 *x = cert_begin(key, "tls-alpn-01", 7);

    APR_ARRAY_PUSH(names, const char *) = name;
    return cert_sign(
        p, x, key, x && cert_add(x, key_names(p, names)) && cert_add(x, cert_proof(authorization)));
}
