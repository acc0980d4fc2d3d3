/* SPDX-License-Identifier: Apache-2.0 */
/* Faults in OpenSSL's functions, and in the allocations of libcrypto: see call_faults.h. */
#define _GNU_SOURCE
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/http.h>
#include <openssl/kdf.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#define CALL_FAULTS(X)                                                                             \
    X(SSL *, NULL, SSL_new, (SSL_CTX * a), (a))                                                    \
    X(SSL_CTX *, NULL, SSL_CTX_new, (const SSL_METHOD *a), (a))                                    \
    X(SSL_CTX *, NULL, SSL_CTX_new_ex, (OSSL_LIB_CTX * a, const char *b, const SSL_METHOD *c),     \
      (a, b, c))                                                                                   \
    X(int, 0, SSL_CTX_use_certificate, (SSL_CTX * a, X509 * b), (a, b))                            \
    X(int, 0, SSL_CTX_use_PrivateKey, (SSL_CTX * a, EVP_PKEY * b), (a, b))                         \
    X(int, 0, SSL_CTX_check_private_key, (const SSL_CTX *a), (a))                                  \
    X(int, 0, SSL_CTX_set_session_id_context, (SSL_CTX * a, const unsigned char *b, unsigned c),   \
      (a, b, c))                                                                                   \
    X(int, 0, SSL_CTX_set_cipher_list, (SSL_CTX * a, const char *b), (a, b))                       \
    X(int, 0, SSL_CTX_load_verify_locations, (SSL_CTX * a, const char *b, const char *c),          \
      (a, b, c))                                                                                   \
    X(SSL_CTX *, NULL, SSL_set_SSL_CTX, (SSL * a, SSL_CTX * b), (a, b))                            \
    X(int, -1, SSL_do_handshake, (SSL * a), (a))                                                   \
    X(int, -1, SSL_connect, (SSL * a), (a))                                                        \
    X(int, -1, SSL_read, (SSL * a, void *b, int c), (a, b, c))                                     \
    X(int, -1, SSL_write, (SSL * a, const void *b, int c), (a, b, c))                              \
    X(int, -1, SSL_shutdown, (SSL * a), (a))                                                       \
    X(int, 0, SSL_client_hello_get0_ext,                                                           \
      (SSL * a, unsigned b, const unsigned char **c, size_t *d), (a, b, c, d))                     \
    X(size_t, 0, SSL_SESSION_get_master_key, (const SSL_SESSION *a, unsigned char *b, size_t c),   \
      (a, b, c))                                                                                   \
    X(SSL_SESSION *, NULL, d2i_SSL_SESSION, (SSL_SESSION * *a, const unsigned char **b, long c),   \
      (a, b, c))                                                                                   \
    X(int, 0, i2d_SSL_SESSION, (const SSL_SESSION *a, unsigned char **b), (a, b))                  \
    X(BIO *, NULL, BIO_new, (const BIO_METHOD *a), (a))                                            \
    X(BIO *, NULL, BIO_new_file, (const char *a, const char *b), (a, b))                           \
    X(BIO_METHOD *, NULL, BIO_meth_new, (int a, const char *b), (a, b))                            \
    X(X509 *, NULL, X509_new_ex, (OSSL_LIB_CTX * a, const char *b), (a, b))                        \
    X(int, -1, i2d_X509, (const X509 *a, unsigned char **b), (a, b))                               \
    X(int, -1, i2d_PrivateKey, (const EVP_PKEY *a, unsigned char **b), (a, b))                     \
    X(X509 *, NULL, PEM_read_bio_X509, (BIO * a, X509 * *b, pem_password_cb * c, void *d),         \
      (a, b, c, d))                                                                                \
    X(EVP_PKEY *, NULL, PEM_read_bio_PrivateKey,                                                   \
      (BIO * a, EVP_PKEY * *b, pem_password_cb * c, void *d), (a, b, c, d))                        \
    X(EVP_PKEY *, NULL, d2i_AutoPrivateKey_ex,                                                     \
      (EVP_PKEY * *a, const unsigned char **b, long c, OSSL_LIB_CTX *d, const char *e),            \
      (a, b, c, d, e))                                                                             \
    X(OSSL_LIB_CTX *, NULL, OSSL_LIB_CTX_new, (void), ())                                          \
    X(int, 0, RAND_bytes, (unsigned char *a, int b), (a, b))                                       \
    X(int, 0, RAND_priv_bytes, (unsigned char *a, int b), (a, b))                                  \
    X(EVP_CIPHER *, NULL, EVP_CIPHER_fetch, (OSSL_LIB_CTX * a, const char *b, const char *c),      \
      (a, b, c))                                                                                   \
    X(EVP_CIPHER_CTX *, NULL, EVP_CIPHER_CTX_new, (void), ())                                      \
    X(int, 0, EVP_EncryptInit_ex,                                                                  \
      (EVP_CIPHER_CTX * a, const EVP_CIPHER *b, ENGINE *c, const unsigned char *d,                 \
       const unsigned char *e),                                                                    \
      (a, b, c, d, e))                                                                             \
    X(int, 0, EVP_DecryptInit_ex,                                                                  \
      (EVP_CIPHER_CTX * a, const EVP_CIPHER *b, ENGINE *c, const unsigned char *d,                 \
       const unsigned char *e),                                                                    \
      (a, b, c, d, e))                                                                             \
    X(EVP_KDF *, NULL, EVP_KDF_fetch, (OSSL_LIB_CTX * a, const char *b, const char *c), (a, b, c)) \
    X(EVP_KDF_CTX *, NULL, EVP_KDF_CTX_new, (EVP_KDF * a), (a))                                    \
    X(int, 0, EVP_KDF_derive, (EVP_KDF_CTX * a, unsigned char *b, size_t c, const OSSL_PARAM d[]), \
      (a, b, c, d))                                                                                \
    X(int, 0, EVP_MAC_CTX_set_params, (EVP_MAC_CTX * a, const OSSL_PARAM b[]), (a, b))             \
    X(STACK_OF(OPENSSL_STRING) *, NULL, X509_get1_ocsp, (X509 * a), (a))                           \
    X(OCSP_CERTID *, NULL, OCSP_cert_to_id, (const EVP_MD *a, const X509 *b, const X509 *c),       \
      (a, b, c))                                                                                   \
    X(OCSP_ONEREQ *, NULL, OCSP_request_add0_id, (OCSP_REQUEST * a, OCSP_CERTID * b), (a, b))      \
    X(int, 0, OCSP_request_add1_nonce, (OCSP_REQUEST * a, unsigned char *b, int c), (a, b, c))     \
    X(BIO *, NULL, BIO_new_socket, (int a, int b), (a, b))                                         \
    X(OSSL_HTTP_REQ_CTX *, NULL, OSSL_HTTP_REQ_CTX_new, (BIO * a, BIO * b, int c), (a, b, c))      \
    X(int, 0, OSSL_HTTP_REQ_CTX_set1_req,                                                          \
      (OSSL_HTTP_REQ_CTX * a, const char *b, const ASN1_ITEM *c, const ASN1_VALUE *d),             \
      (a, b, c, d))                                                                                \
    X(BIO *, NULL, OSSL_HTTP_REQ_CTX_exchange, (OSSL_HTTP_REQ_CTX * a), (a))                       \
    X(OCSP_BASICRESP *, NULL, OCSP_response_get1_basic, (OCSP_RESPONSE * a), (a))                  \
    X(int, -1, OCSP_basic_verify,                                                                  \
      (OCSP_BASICRESP * a, STACK_OF(X509) * b, X509_STORE * c, unsigned long d), (a, b, c, d))     \
    X(int, 0, EVP_Digest,                                                                          \
      (const void *a, size_t b, unsigned char *c, unsigned *d, const EVP_MD *e, ENGINE *f),        \
      (a, b, c, d, e, f))

#include "call_faults.h"

static void *tf_malloc(size_t n, const char *file, int line)
{
    return call_fault_now(CF_malloc) ? NULL : malloc(n);
}

static void *tf_realloc(void *old, size_t n, const char *file, int line)
{
    return call_fault_now(CF_malloc) ? NULL : realloc(old, n);
}

static void tf_free(void *p, const char *file, int line)
{
    free(p);
}

__attribute__((constructor)) static void tf_begin(void)
{
    if (CRYPTO_set_mem_functions(tf_malloc, tf_realloc, tf_free))
        call_faults_begin();
}
