/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_CERTIFICATE_H
#define BRIGADE_TEST_CERTIFICATE_H

/**
 * @file test_certificate.h
 * A certificate that nobody vouches for, in a file with its key.
 */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>

/** The path of a new file, once in a process. */
static const char *certificate(void)
{
    static char path[] = "/tmp/brigade-test-cert-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();

    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -100);
    X509_gmtime_adj(X509_getm_notAfter(x), 10000);
    X509_set_pubkey(x, key);
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    assert_true(PEM_write_X509(f, x) && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL));
    fclose(f);
    X509_free(x);
    EVP_PKEY_free(key);
    return path;
}

#endif
