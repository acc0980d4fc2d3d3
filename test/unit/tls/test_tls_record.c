/* SPDX-License-Identifier: Apache-2.0 */
/* Records of our own: with OpenSSL at the other end, with each cipher, and spoiled ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include "tls_record_private.h"

static void works_with_this_openssl(void **state)
{
    assert_int_equal(tls_selftest(NULL), 1);
}

/* RFC 8448, section 3: the server's application traffic secret, and key and IV that it leads to */
static void keys_are_those_of_rfc_8448(void **state)
{
    static const unsigned char secret[32] = {0xa1, 0x1a, 0xf9, 0xf0, 0x55, 0x31, 0xf8, 0x56,
                                             0xad, 0x47, 0x11, 0x6b, 0x45, 0xa9, 0x50, 0x32,
                                             0x82, 0x04, 0xb4, 0xf4, 0x4b, 0xfb, 0x6b, 0x3a,
                                             0x4b, 0x4f, 0x1f, 0x3f, 0xcb, 0x63, 0x16, 0x43};
    static const unsigned char key[16] = {0x9f, 0x02, 0x28, 0x3b, 0x6c, 0x9c, 0x07, 0xef,
                                          0xc2, 0x6b, 0xb9, 0xf2, 0xac, 0x92, 0xe3, 0x56};
    static const unsigned char iv[12] = {0xcf, 0x78, 0x2b, 0x88, 0xdd, 0x83,
                                         0x54, 0x9a, 0xad, 0xf1, 0xe9, 0x84};
    unsigned char out[16];
    tls_loop loop;

    memset(&loop, 0, sizeof loop);
    loop.lib = OSSL_LIB_CTX_new();
    tls_keys_begin(&loop);
    assert_int_equal(tls_expand_label(&loop, secret, 32, "key", out, 16), 0);
    assert_memory_equal(out, key, 16);
    assert_int_equal(tls_expand_label(&loop, secret, 32, "iv", out, 12), 0);
    assert_memory_equal(out, iv, 12);
    tls_keys_end(&loop);
    OSSL_LIB_CTX_free(loop.lib);
}

/* A secret of the schedule, from the one before and from a key. @param before  NULL: none; @param key  NULL: none */
static void secret_of(OSSL_LIB_CTX *lib, const char *whose, const char *digest,
                      const unsigned char *before, const unsigned char *key, unsigned char *out,
                      size_t len)
{
    EVP_KDF *kdf = EVP_KDF_fetch(lib, "TLS13-KDF", whose);
    EVP_KDF_CTX *c = EVP_KDF_CTX_new(kdf);
    int mode = EVP_KDF_HKDF_MODE_EXTRACT_ONLY;
    OSSL_PARAM params[7], *p = params;

    *p++ = OSSL_PARAM_construct_int("mode", &mode);
    *p++ = OSSL_PARAM_construct_utf8_string("digest", (char *)(uintptr_t)digest, 0);
    if (key)
        *p++ = OSSL_PARAM_construct_octet_string("key", (void *)(uintptr_t)key, 32);
    if (before)
        *p++ = OSSL_PARAM_construct_octet_string("salt", (void *)(uintptr_t)before, len);
    *p++ = OSSL_PARAM_construct_octet_string("prefix", (void *)(uintptr_t) "tls13 ", 6);
    *p++ = OSSL_PARAM_construct_octet_string("label", (void *)(uintptr_t) "derived", 7);
    *p = OSSL_PARAM_construct_end();
    assert_int_equal(EVP_KDF_derive(c, out, len, params), 1);
    EVP_KDF_CTX_free(c);
    EVP_KDF_free(kdf);
}

/* The three secrets without a session, and those with one. */
static void schedule_is_openssl_s(void **state)
{
    static const struct {
        const char *name;
        size_t len;
    } digests[] = {{"SHA2-256", 32}, {"SHA2-384", 48}};
    static const unsigned char key[32] = "what both sides agreed on";
    unsigned char ours[48], theirs[48], before[48];
    tls_loop loop;

    memset(&loop, 0, sizeof loop);
    loop.lib = OSSL_LIB_CTX_new();
    tls_keys_begin(&loop);
    for (size_t i = 0; i < 8; i++) {
        const char *digest = digests[i / 4].name;
        size_t len = digests[i / 4].len;
        const int first = i % 4 == 0 || i % 4 == 3;
        const unsigned char *with = i % 4 == 1 || i % 4 == 3 ? key : NULL;

        secret_of(loop.lib, "provider=brigade", digest, first ? NULL : before, with, ours, len);
        secret_of(loop.lib, "provider=default", digest, first ? NULL : before, with, theirs, len);
        assert_memory_equal(ours, theirs, len);
        memcpy(before, ours, len);
    }
    tls_keys_end(&loop);
    OSSL_LIB_CTX_free(loop.lib);
}

/* What OpenSSL's own makes of the same, by the name that both have. */
static void prf_of(OSSL_LIB_CTX *lib, const char *whose, const char *digest, size_t secret,
                   unsigned char *out, size_t len)
{
    unsigned char bytes[300];
    EVP_KDF *kdf = EVP_KDF_fetch(lib, "TLS1-PRF", whose);
    EVP_KDF_CTX *c = EVP_KDF_CTX_new(kdf);
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", (char *)(uintptr_t)digest, 0),
                           OSSL_PARAM_construct_octet_string("secret", bytes, secret),
                           OSSL_PARAM_construct_octet_string("seed", bytes + 1, 13),
                           OSSL_PARAM_construct_octet_string("seed", NULL, 0),
                           OSSL_PARAM_construct_octet_string("seed", bytes + 5, 32),
                           OSSL_PARAM_construct_octet_string("seed", bytes + 9, 32),
                           OSSL_PARAM_construct_end()};

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7);
    assert_int_equal(EVP_KDF_derive(c, out, len, params), 1);
    EVP_KDF_CTX_free(c);
    EVP_KDF_free(kdf);
}

static void prf_is_openssl_s(void **state)
{
    static const char *const digests[] = {"SHA2-256", "SHA2-384", "SHA2-512", "MD5-SHA1"};
    static const size_t secrets[] = {1, 48, 64, 66, 128, 129, 256},
                        lengths[] = {1, 12, 48, 72, 136};
    unsigned char ours[136], theirs[136];
    tls_loop loop;

    memset(&loop, 0, sizeof loop);
    loop.lib = OSSL_LIB_CTX_new();
    tls_keys_begin(&loop);
    for (size_t d = 0; d < 4; d++)
        for (size_t s = 0; s < sizeof secrets / sizeof *secrets; s++)
            for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
                prf_of(loop.lib, "provider=brigade", digests[d], secrets[s], ours, lengths[n]);
                prf_of(loop.lib, "provider=default", digests[d], secrets[s], theirs, lengths[n]);
                assert_memory_equal(ours, theirs, lengths[n]);
            }
    tls_keys_end(&loop);
    OSSL_LIB_CTX_free(loop.lib);
}

/* ---- sealed and opened again ---- */

typedef struct ends {
    tls_loop loop;
    tls_records sender, taker;
} ends;

static void ends_begin(ends *e, int aead, int v13)
{
    unsigned char key[32];

    memset(e, 0, sizeof *e);
    memset(key, 7, sizeof key);
    e->loop.lib = OSSL_LIB_CTX_new();
    tls_keys_begin(&e->loop);
    e->sender.aead = e->taker.aead = e->loop.aead[aead];
    e->sender.v13 = e->taker.v13 = (uint8_t)v13;
    e->sender.explicit_iv = e->taker.explicit_iv = !v13 && aead != TLS_CHACHA20;
    e->sender.secret_len = e->taker.secret_len = 32;
    assert_int_equal(tls_half_key(&e->sender.out, e->loop.aead[aead], key, 1), 0);
    assert_int_equal(tls_half_key(&e->taker.in, e->loop.aead[aead], key, 0), 0);
}

static void ends_end(ends *e)
{
    e->sender.aead->release(e->sender.out.ctx);
    e->taker.aead->release(e->taker.in.ctx);
    tls_keys_end(&e->loop);
    OSSL_LIB_CTX_free(e->loop.lib);
}

static unsigned char plain[TLS_RECORD], record[TLS_RECORD + TLS_ADDED_MOST + 64];

/* In three pieces that end anywhere. */
static size_t sealed(ends *e, unsigned type, size_t len, size_t first, size_t second)
{
    struct iovec iov[3];

    first = first < len ? first : len;
    second = second < len - first ? second : len - first;
    iov[0] = (struct iovec){plain, first};
    iov[1] = (struct iovec){plain + first, second};
    iov[2] = (struct iovec){plain + first + second, len - first - second};
    return tls_seal(&e->sender, type, iov, 0, len, record);
}

static void seal_and_open(ends *e, size_t len, size_t first, size_t second)
{
    static unsigned char apart[TLS_RECORD + 64];
    unsigned char *out = len & 1 ? apart : NULL;
    unsigned type = 0;
    size_t n = sealed(e, TLS_TYPE_DATA, len, first, second);

    assert_true(n > len && n <= len + TLS_ADDED_MOST);
    assert_int_equal(tls_record_length(record, n), n);
    assert_true(tls_record_room(&e->taker, n) >= len);
    assert_int_equal(tls_open(&e->taker, record, n, &out, &type), len);
    assert_int_equal(type, TLS_TYPE_DATA);
    assert_memory_equal(out, plain, len);
}

static void opened_as_sealed(void **state)
{
    static const size_t lens[] = {1,    2,    15,   16,   17,    287,   288,  2047,
                                  2048, 2049, 4096, 8191, 16382, 16383, 16384};
    static const size_t cuts[] = {0, 1, 16, 250, 3000};

    for (size_t i = 0; i < sizeof plain; i++)
        plain[i] = (unsigned char)(i * 31 + (i >> 8));
    for (int aead = 0; aead < TLS_AEADS; aead++)
        for (int v13 = 0; v13 < 2; v13++) {
            ends e;

            ends_begin(&e, aead, v13);
            for (size_t i = 0; i < sizeof lens / sizeof *lens; i++)
                for (size_t a = 0; a < 5; a++)
                    seal_and_open(&e, lens[i], cuts[a], cuts[(a + i) % 5]);
            ends_end(&e);
        }
}

static void spoiled_is_refused(void **state)
{
    for (int v13 = 0; v13 < 2; v13++)
        for (size_t at = 0; at < 40; at++) {
            unsigned char *out = NULL;
            unsigned type = 0;
            ends e;
            size_t n;

            ends_begin(&e, TLS_AES_128_GCM, v13);
            n = sealed(&e, TLS_TYPE_DATA, 100, 10, 10);
            record[at] ^= 1;
            if (at < TLS_HEADER && at > 2) /* the length: what is opened is another record */
                n = (size_t)(tls_record_length(record, n));
            assert_int_equal(tls_open(&e.taker, record, n, &out, &type),
                             v13 && !at ? -SSL_AD_UNEXPECTED_MESSAGE : -SSL_AD_BAD_RECORD_MAC);
            ends_end(&e);
        }
}

static void types_are_told(void **state)
{
    for (unsigned sent = TLS_TYPE_CCS; sent <= TLS_TYPE_DATA; sent++)
        for (int v13 = 0; v13 < 2; v13++) {
            unsigned char *out = NULL;
            unsigned type = 0;
            ends e;
            size_t n;

            ends_begin(&e, TLS_CHACHA20, v13);
            n = sealed(&e, sent, 2, 1, 1);
            assert_int_equal(tls_open(&e.taker, record, n, &out, &type), 2);
            assert_int_equal(type, sent);
            ends_end(&e);
        }
}

static void what_is_no_record(void **state)
{
    static const unsigned char too_long[] = {23, 3, 3, 0x41, 1}, other[] = {23, 2, 0, 0, 20};
    unsigned char small[TLS_HEADER + TLS_TAG] = {23, 3, 3, 0, TLS_TAG}, *out = NULL;
    unsigned type;
    ends e;

    assert_int_equal(tls_record_length(too_long, 5), -SSL_AD_RECORD_OVERFLOW);
    assert_int_equal(tls_record_length(other, 5), -SSL_AD_DECODE_ERROR);
    assert_int_equal(tls_record_length(too_long, 4), 0);
    ends_begin(&e, TLS_AES_256_GCM, 1);
    assert_int_equal(tls_open(&e.taker, small, sizeof small, &out, &type), -SSL_AD_BAD_RECORD_MAC);
    for (size_t len = TLS_HEADER; len < sizeof small; len++)
        assert_int_equal(tls_open(&e.taker, small, len, &out, &type), -SSL_AD_BAD_RECORD_MAC);
    ends_end(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(works_with_this_openssl), cmocka_unit_test(keys_are_those_of_rfc_8448),
        cmocka_unit_test(schedule_is_openssl_s),   cmocka_unit_test(prf_is_openssl_s),
        cmocka_unit_test(opened_as_sealed),        cmocka_unit_test(spoiled_is_refused),
        cmocka_unit_test(types_are_told),          cmocka_unit_test(what_is_no_record)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
