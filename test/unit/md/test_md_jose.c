/* SPDX-License-Identifier: Apache-2.0 */
/* JOSE by the examples of its RFCs, and what certificates say. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "apr_general.h"
#include "apr_strings.h"
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include "md_jose.h"
#include "md_json.h"
#include "md_key.h"

static apr_pool_t *p;

static void test_base64url(void **state)
{
    static const char *const bad[] = {"A", "QQ==", "Q+", "Q/", "Q Q", "QR"};
    apr_size_t len;

    assert_string_equal(md_base64url(p, "", 0), "");
    assert_string_equal(md_base64url(p, "\xff", 1), "_w");
    assert_string_equal(md_base64url(p, "\xfb\xef", 2), "--8");
    assert_string_equal(md_base64url(p, "abc", 3), "YWJj");
    assert_memory_equal(md_base64url_decode(p, "--8", &len), "\xfb\xef", 2);
    assert_int_equal(len, 2);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_null(md_base64url_decode(p, bad[i], &len));
}

/* RFC 7638, 3.1. */
static EVP_PKEY *rfc7638_key(void)
{
    static const char n_text[] =
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_"
        "BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_"
        "RN5w6Cf0h4QyQ5v-65YGjQR0_"
        "FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpb"
        "ISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awa"
        "pJzKnqDKgw";
    apr_size_t len;
    const unsigned char *data = md_base64url_decode(p, n_text, &len);
    BIGNUM *n = BN_bin2bn(data, (int)len, NULL), *e = BN_new();
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    OSSL_PARAM *params;
    EVP_PKEY *key = NULL;

    BN_set_word(e, 65537);
    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n);
    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e);
    params = OSSL_PARAM_BLD_to_param(builder);
    assert_int_equal(EVP_PKEY_fromdata_init(c), 1);
    assert_int_equal(EVP_PKEY_fromdata(c, &key, EVP_PKEY_PUBLIC_KEY, params), 1);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(builder);
    EVP_PKEY_CTX_free(c);
    BN_free(n);
    BN_free(e);
    return key;
}

static void test_thumbprint(void **state)
{
    EVP_PKEY *key = rfc7638_key();

    assert_string_equal(md_jwk_thumbprint(p, key), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    assert_string_equal(md_key_authorization(p, "token", key),
                        "token.NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    EVP_PKEY_free(key);
}

static void test_tokens(void **state)
{
    assert_true(md_token_is_sane("aZ09-_"));
    assert_false(md_token_is_sane(""));
    assert_false(md_token_is_sane("../x"));
    assert_false(md_token_is_sane("a=="));
}

static const char *part(const md_json *jws, const char *name)
{
    apr_size_t len;

    return (const char *)md_base64url_decode(p, md_json_text(jws, name), &len);
}

/* With the public half of its key. */
static void check_signature(EVP_PKEY *key, const md_json *jws, const EVP_MD *md)
{
    const char *text =
        apr_pstrcat(p, md_json_text(jws, "protected"), ".", md_json_text(jws, "payload"), NULL);
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    apr_size_t len;
    const unsigned char *signature = md_base64url_decode(p, md_json_text(jws, "signature"), &len);

    assert_int_equal(EVP_DigestVerifyInit(c, NULL, md, NULL, key), 1);
    assert_int_equal(EVP_DigestVerify(c, signature, len, (const unsigned char *)text, strlen(text)),
                     1);
    EVP_MD_CTX_free(c);
}

static void test_jws(void **state)
{
    EVP_PKEY *key = md_key_make(&(md_key_spec){.bits = 2048});
    const char *text =
        md_jws(p, key, "https://ca/acct/1", "nonce", "https://ca/order", "{\"a\":1}");
    const md_json *jws = md_json_read(p, text, strlen(text));

    assert_string_equal(part(jws, "payload"), "{\"a\":1}");
    assert_string_equal(part(jws, "protected"),
                        "{\"alg\":\"RS256\",\"kid\":\"https://ca/acct/1\",\"nonce\":\"nonce\","
                        "\"url\":\"https://ca/order\"}");
    check_signature(key, jws, EVP_sha256());
    EVP_PKEY_free(key);
}

static void test_jws_of_curves(void **state)
{
    static const struct {
        const char *curve, *algorithm;
        size_t bytes;
    } all[] = {{"secp256r1", "ES256", 64}, {"secp384r1", "ES384", 96}};

    for (size_t i = 0; i < 2; i++) {
        EVP_PKEY *key = md_key_make(&(md_key_spec){.curve = all[i].curve});
        const char *text = md_jws(p, key, NULL, "n", "u", "");
        const md_json *jws = md_json_read(p, text, strlen(text)), *head;
        const char *protected = part(jws, "protected");
        apr_size_t len;

        head = md_json_read(p, protected, strlen(protected));
        assert_string_equal(md_json_text(head, "alg"), all[i].algorithm);
        assert_string_equal(md_json_text(md_json_get(head, "jwk"), "kty"), "EC");
        assert_string_equal(md_json_text(jws, "payload"), "");
        assert_non_null(md_base64url_decode(p, md_json_text(jws, "signature"), &len));
        assert_int_equal(len, all[i].bytes);
        EVP_PKEY_free(key);
    }
}

static void test_binding(void **state)
{
    EVP_PKEY *key = rfc7638_key();
    const char *text = md_jws_binding(p, "kid", "c2VjcmV0", key, "https://ca/new");
    const md_json *jws = md_json_read(p, text, strlen(text));

    assert_string_equal(part(jws, "protected"),
                        "{\"alg\":\"HS256\",\"kid\":\"kid\",\"url\":\"https://ca/new\"}");
    assert_string_equal(part(jws, "payload"), md_jwk(p, key));
    assert_null(md_jws_binding(p, "kid", "no+base64", key, "u"));
    assert_null(md_jws_binding(p, "kid", "", key, "u"));
    EVP_PKEY_free(key);
}

static apr_array_header_t *names_of(const char *first, const char *second)
{
    apr_array_header_t *names = apr_array_make(p, 2, sizeof(const char *));

    APR_ARRAY_PUSH(names, const char *) = first;
    if (second)
        APR_ARRAY_PUSH(names, const char *) = second;
    return names;
}

static void test_certificates(void **state)
{
    EVP_PKEY *key = md_key_make(&(md_key_spec){.curve = "secp256r1"}),
             *other = md_key_make(&(md_key_spec){.curve = "secp256r1"});
    const char *pem = md_cert_fallback(p, key, names_of("a.test", "*.b.test"), 14);
    const md_cert *cert = md_cert_read(p, pem);

    assert_non_null(cert);
    assert_int_equal(cert->n, 1);
    assert_null(md_cert_lacks(cert, names_of("A.test", "x.b.test")));
    assert_string_equal(md_cert_lacks(cert, names_of("a.test", "b.test")), "b.test");
    assert_string_equal(md_cert_lacks(cert, names_of("x.y.b.test", NULL)), "x.y.b.test");
    assert_true(md_cert_is_for_key(pem, key));
    assert_false(md_cert_is_for_key(pem, other));
    assert_null(cert->ari);
    assert_null(md_cert_read(p, ""));
    assert_null(md_cert_read(p, apr_pstrcat(p, pem, "-----BEGIN CERTIFICATE-----\nAAAA\n", NULL)));
    assert_null(md_cert_fallback(p, key, names_of("a.test,DNS:evil.test", NULL), 14));
    assert_non_null(md_csr(p, key, names_of("a.test", "127.0.0.1"), 1));
    EVP_PKEY_free(key);
    EVP_PKEY_free(other);
}

static void test_keys_of_accounts(void **state)
{
    EVP_PKEY *key = md_key_make(&(md_key_spec){.curve = "secp384r1"}), *read;
    const unsigned char pass[] = {1, 0, 255, 4};
    const char *pem = md_key_pem(p, key, pass, sizeof pass);

    assert_non_null(strstr(pem, "ENCRYPTED"));
    read = md_key_of_pem(pem, pass, sizeof pass);
    assert_int_equal(EVP_PKEY_eq(key, read), 1);
    assert_null(md_key_of_pem(pem, pass, 3));
    assert_null(md_key_of_pem(pem, NULL, 0));
    assert_true(md_key_is(key, &(md_key_spec){.curve = "secp384r1"}));
    assert_false(md_key_is(key, &(md_key_spec){.curve = "secp256r1"}));
    assert_false(md_key_is(key, &(md_key_spec){.bits = 2048}));
    assert_false(md_key_curve_is_known("bogus"));
    EVP_PKEY_free(key);
    EVP_PKEY_free(read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64url),     cmocka_unit_test(test_thumbprint),
        cmocka_unit_test(test_tokens),        cmocka_unit_test(test_jws),
        cmocka_unit_test(test_jws_of_curves), cmocka_unit_test(test_binding),
        cmocka_unit_test(test_certificates),  cmocka_unit_test(test_keys_of_accounts)};
    int rc;

    apr_initialize();
    apr_pool_create(&p, NULL);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    apr_pool_destroy(p);
    apr_terminate();
    return rc;
}
