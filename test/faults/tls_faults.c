/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults in OpenSSL, for tests: a library to be preloaded under a server. It makes the chosen calls of
 * a function fail, or the chosen allocations of libcrypto.
 *
 * BRIGADE_TLS_FAULTS names a file of sizeof(struct tls_control) bytes which the test and the processes
 * of the server map (test_tls.py has the other side). BRIGADE_TLS_FAULT=NAME:FIRST arms it from the
 * start.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
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
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TLS_FAULT_NAME 40
#define TLS_FAULT_MAGIC 0x544c5346u

/* X(result, what it returns when it fails, name, parameters, arguments) */
#define TLS_FAULT_CALLS(X)                                                                         \
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

#define TLS_FAULT_ID(result, failed, name, params, args) TF_##name,
enum { TF_malloc, TLS_FAULT_CALLS(TLS_FAULT_ID) TF_N };

struct tls_control {
    uint32_t magic, calls_n;
    _Atomic uint32_t armed;
    uint32_t call;
    uint64_t first, last; /* of its calls since it was armed, from 1 */
    _Atomic uint64_t seen, hits;
    _Atomic uint64_t counts[64];
    char names[64][TLS_FAULT_NAME];
};

static struct tls_control *tf;
static int tf_shown; /* $BRIGADE_TLS_FAULTS_SHOW: where it was, in the error log */

static int tf_now(uint32_t call)
{
    uint64_t n;

    if (!tf)
        return 0;
    atomic_fetch_add(&tf->counts[call], 1);
    if (!atomic_load(&tf->armed) || tf->call != call)
        return 0;
    n = atomic_fetch_add(&tf->seen, 1) + 1;
    if (n < tf->first || n > tf->last)
        return 0;
    if (atomic_fetch_add(&tf->hits, 1) == 0 && tf_shown) {
        void *frames[30];

        backtrace_symbols_fd(frames, backtrace(frames, 30), 2);
    }
    errno = ENOMEM;
    return 1;
}

#define TLS_FAULT_WRAP(result, failed, name, params, args)               \
    result name params                                                   \
    {                                                                    \
        static result(*next) params;                                     \
        if (!next)                                                       \
            next = (result(*) params)(uintptr_t)dlsym(RTLD_NEXT, #name); \
        return tf_now(TF_##name) ? failed : next args;                   \
    }
TLS_FAULT_CALLS(TLS_FAULT_WRAP)

static void *tf_malloc(size_t n, const char *file, int line)
{
    return tf_now(TF_malloc) ? NULL : malloc(n);
}

static void *tf_realloc(void *old, size_t n, const char *file, int line)
{
    return tf_now(TF_malloc) ? NULL : realloc(old, n);
}

static void tf_free(void *p, const char *file, int line)
{
    free(p);
}

static void tf_arm(const char *what)
{
    const char *colon = what ? strchr(what, ':') : NULL;

    for (uint32_t i = 0; colon && i < TF_N; i++)
        if (strlen(tf->names[i]) == (size_t)(colon - what) &&
            !strncmp(tf->names[i], what, (size_t)(colon - what))) {
            tf->call = i;
            tf->first = tf->last = strtoull(colon + 1, NULL, 10);
            tf->armed = 1;
        }
}

__attribute__((constructor)) static void tf_begin(void)
{
    static const char *const names[] = {"malloc",
#define TLS_FAULT_TEXT(result, failed, name, params, args) #name,
                                        TLS_FAULT_CALLS(TLS_FAULT_TEXT)};
    const char *path = getenv("BRIGADE_TLS_FAULTS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct tls_control *block;

    tf_shown = getenv("BRIGADE_TLS_FAULTS_SHOW") != NULL;
    unsetenv("LD_PRELOAD");
    if (fd < 0)
        return;
    block = mmap(NULL, sizeof *block, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (block == MAP_FAILED || !CRYPTO_set_mem_functions(tf_malloc, tf_realloc, tf_free))
        return;
    for (int i = 0; i < TF_N; i++)
        snprintf(block->names[i], TLS_FAULT_NAME, "%s", names[i]);
    block->calls_n = TF_N;
    tf = block;
    tf_arm(getenv("BRIGADE_TLS_FAULT"));
    block->magic = TLS_FAULT_MAGIC;
}
