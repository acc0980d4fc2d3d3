/* SPDX-License-Identifier: Apache-2.0 */
/* What a certificate says: in reports, and as variables of a request. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>
#include "tls_certificate.h"
#include "test_pool.h"

static X509 *x;

static void name_part(const char *part, const char *value)
{
    assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(x), part, MBSTRING_UTF8,
                                                (const unsigned char *)value, -1, -1, 0),
                     1);
}

/* Of @a names, as the configuration of OpenSSL has them. */
static tls_pair *certificate(const char *names)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    tls_pair *pair = apr_pcalloc(test_pool, sizeof *pair);
    tls_der *der = apr_pcalloc(test_pool, sizeof *der);

    x = X509_new();
    name_part("CN", "a.example");
    name_part("OU", "first");
    name_part("OU", "second");
    X509_gmtime_adj(X509_getm_notBefore(x), -100);
    X509_gmtime_adj(X509_getm_notAfter(x), 10000);
    X509_set_pubkey(x, key);
    assert_true(e && X509_add_ext(x, e, -1) && X509_sign(x, key, EVP_sha256()) > 0);
    X509_EXTENSION_free(e);
    EVP_PKEY_free(key);
    assert_true((der->len = i2d_X509(x, &der->data)) > 0);
    pair->chain = apr_array_make(test_pool, 1, sizeof(tls_der *));
    APR_ARRAY_PUSH(pair->chain, tls_der *) = der;
    return pair;
}

static void certificate_end(const tls_pair *pair)
{
    OPENSSL_free(APR_ARRAY_IDX(pair->chain, 0, tls_der *)->data);
    X509_free(x);
}

static void names_and_addresses_are_told(void **state)
{
    const tls_pair *pair =
        certificate("DNS:b.example,email:x@b.example,IP:192.0.2.1,IP:2001:db8::1");
    tls_facts facts;

    assert_int_equal(tls_facts_of(test_pool, pair, &facts), 0);
    assert_string_equal(facts.subject, "a.example");
    assert_string_equal(tls_facts_names(test_pool, &facts),
                        "b.example 192.0.2.1 2001:0db8:0000:0000:0000:0000:0000:0001");
    certificate_end(pair);
}

static void parts_of_a_name_are_variables(void **state)
{
    static const char *const cases[][2] = {
        {"S_DN_CN", "a.example"},   {"S_DN_CN_RAW", "a.example"},
        {"S_DN_OU", "first"},       {"S_DN_OU_0", "first"},
        {"S_DN_OU_1", "second"},    {"S_DN_OU_1_RAW", "second"},
        {"S_DN_OU_2", NULL},        {"S_DN_OU_RAWER", NULL},
        {"S_DN_OU_x", NULL},        {"S_DN_OU_x_RAW", NULL},
        {"S_DN_L", NULL},           {"S_DN_Nothing", NULL},
        {"SAN_DNS_0", "b.example"}, {"SAN_DNS_1", "c.example"},
        {"SAN_DNS_2", NULL},        {"SAN_Email_0", "x@b.example"},
    };
    const tls_pair *pair = certificate("DNS:b.example,email:x@b.example,DNS:c.example");

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *value = tls_vars_certificate(test_pool, x, cases[i][0], 0);

        if (!cases[i][1])
            assert_null(value);
        else
            assert_string_equal(value ? value : "(none)", cases[i][1]);
    }
    certificate_end(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_WITH_POOL(names_and_addresses_are_told),
                                       TEST_WITH_POOL(parts_of_a_name_are_variables)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
