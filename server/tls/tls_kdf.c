/* SPDX-License-Identifier: Apache-2.0 */
/* The key derivation of TLS 1.3 (RFC 8446, 7.1; RFC 5869), as a provider of OpenSSL's for a loop's
 * OSSL_LIB_CTX. A handshake derives some fifteen keys, and OpenSSL's own derivation looks up and makes
 * its digests and contexts anew for each: a tenth of a handshake. And the secrets that records of our own
 * need come by here; the key log callback prints all secrets as text, which is another tenth. */
#include "tls_record_private.h"
#include "brigade/assert.h"
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MOST 128 /* of SHA-384 */
#define INFO_MOST 514  /* HkdfLabel: a length, two strings of up to 255 bytes with theirs */

struct tls_kdf {
    OSSL_PROVIDER *ours, *standard;
    EVP_MD *sha256, *sha384;
};

/* ---- HMAC and HKDF ---- */

typedef struct piece {
    const void *data;
    size_t len;
} piece;

static int hmac_half(EVP_MD_CTX *c, const EVP_MD *md, const unsigned char *pad, size_t block,
                     const piece *pieces, int n, unsigned char *out)
{
    int ok = EVP_DigestInit_ex2(c, md, NULL) == 1 && EVP_DigestUpdate(c, pad, block) == 1;

    for (int i = 0; ok && i < n; i++)
        ok = !pieces[i].len || EVP_DigestUpdate(c, pieces[i].data, pieces[i].len) == 1;
    return ok && EVP_DigestFinal_ex(c, out, NULL) == 1;
}

static int hmac(EVP_MD_CTX *c, const EVP_MD *md, const void *key, size_t key_len,
                const piece *pieces, int n, unsigned char *out)
{
    unsigned char pad[BLOCK_MOST];
    size_t block = (size_t)EVP_MD_get_block_size(md), len = (size_t)EVP_MD_get_size(md);
    piece inner = {out, len};
    int ok;

    if (block > sizeof pad || key_len > block)
        return 0;
    memset(pad, 0x36, block);
    for (size_t i = 0; i < key_len; i++)
        pad[i] ^= ((const unsigned char *)key)[i];
    ok = hmac_half(c, md, pad, block, pieces, n, out);
    for (size_t i = 0; i < block; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    ok = ok && hmac_half(c, md, pad, block, &inner, 1, out);
    OPENSSL_cleanse(pad, sizeof pad);
    return ok;
}

/* What is asked for. */
typedef struct asked {
    const EVP_MD *md;
    int extract;
    piece key, salt, prefix, label, data;
} asked;

static size_t info_of(const asked *a, piece data, size_t len, unsigned char *info)
{
    size_t at = 3;

    if (a->prefix.len + a->label.len > 255 || data.len > 255 || len > UINT16_MAX)
        return 0;
    info[0] = (unsigned char)(len >> 8);
    info[1] = (unsigned char)len;
    info[2] = (unsigned char)(a->prefix.len + a->label.len);
    if (a->prefix.len)
        memcpy(info + at, a->prefix.data, a->prefix.len);
    at += a->prefix.len;
    if (a->label.len)
        memcpy(info + at, a->label.data, a->label.len);
    at += a->label.len;
    info[at++] = (unsigned char)data.len;
    if (data.len)
        memcpy(info + at, data.data, data.len);
    return at + data.len;
}

static int expand(EVP_MD_CTX *c, const asked *a, piece key, piece data, unsigned char *out,
                  size_t len)
{
    unsigned char info[INFO_MOST], block[EVP_MAX_MD_SIZE], number = 1;
    size_t size = (size_t)EVP_MD_get_size(a->md), info_len = info_of(a, data, len, info);
    int ok = info_len && len <= 255 * size;

    for (size_t done = 0; ok && done < len; number++) {
        const piece pieces[] = {{block, done ? size : 0}, {info, info_len}, {&number, 1}};
        size_t n = len - done < size ? len - done : size;

        ok = hmac(c, a->md, key.data, key.len, pieces, 3, block);
        memcpy(out + done, block, n);
        done += n;
    }
    OPENSSL_cleanse(block, sizeof block);
    return ok;
}

/* The next secret of the schedule: from the one before, by "derived", and from the key. */
static int extract(EVP_MD_CTX *c, const asked *a, unsigned char *out, size_t len)
{
    static const unsigned char zeros[EVP_MAX_MD_SIZE];
    unsigned char salt[EVP_MAX_MD_SIZE], empty[EVP_MAX_MD_SIZE];
    size_t size = (size_t)EVP_MD_get_size(a->md);
    piece key = a->key.data ? a->key : (piece){zeros, size}, nothing = {empty, size};
    size_t salt_len = a->salt.data ? size : 0;
    int ok = len == size;

    if (ok && salt_len)
        ok = EVP_DigestInit_ex2(c, a->md, NULL) == 1 && EVP_DigestFinal_ex(c, empty, NULL) == 1 &&
             expand(c, a, a->salt, nothing, salt, size);
    ok = ok && hmac(c, a->md, salt, salt_len, &key, 1, out);
    OPENSSL_cleanse(salt, sizeof salt);
    return ok;
}

/* ---- the secrets that are ours, too ---- */

static _Thread_local tls_records *kdf_listens;

void tls_kdf_listen(tls_records *records)
{
    kdf_listens = records;
}

static int label_is(const asked *a, const char *name)
{
    return a->label.len == strlen(name) && !memcmp(a->label.data, name, a->label.len);
}

static void kdf_learn(const asked *a, const unsigned char *secret, size_t len)
{
    tls_records *rec = kdf_listens;

    if (!rec || len > TLS_SECRET_MOST)
        return;
    if (label_is(a, "c ap traffic")) {
        memcpy(rec->in.secret, secret, len);
        rec->known |= 1;
    } else if (label_is(a, "s ap traffic")) {
        memcpy(rec->out.secret, secret, len);
        rec->known |= 2;
        rec->out.seq = 0; /* tls_keys_count() */
    } else {
        return;
    }
    rec->secret_len = (uint8_t)len;
}

/* ---- functions of the provider (provider-kdf(7)) ---- */

static OSSL_FUNC_kdf_newctx_fn kdf_new;
static OSSL_FUNC_kdf_freectx_fn kdf_free;
static OSSL_FUNC_kdf_reset_fn kdf_reset;
static OSSL_FUNC_kdf_derive_fn kdf_derive;
static OSSL_FUNC_kdf_set_ctx_params_fn kdf_set;
static OSSL_FUNC_kdf_settable_ctx_params_fn kdf_settable;

typedef struct kdf_context {
    const tls_kdf *kdf;
    EVP_MD_CTX *digest;
} kdf_context;

static void *kdf_new(void *kdf)
{
    kdf_context *c = calloc(1, sizeof *c);

    if (c && (c->digest = EVP_MD_CTX_new()) != NULL) {
        c->kdf = kdf;
        return c;
    }
    free(c);
    return NULL;
}

static void kdf_free(void *data)
{
    kdf_context *c = data;

    if (c)
        EVP_MD_CTX_free(c->digest);
    free(c);
}

static void kdf_reset(void *data)
{
}

/* Nothing is kept between calls: parameters come with kdf_derive(). */
static int kdf_set(void *data, const OSSL_PARAM params[])
{
    return !params || !params->key;
}

static const OSSL_PARAM *kdf_settable(void *data, void *provider)
{
    static const OSSL_PARAM names[] = {OSSL_PARAM_int(OSSL_KDF_PARAM_MODE, NULL),
                                       OSSL_PARAM_utf8_string(OSSL_KDF_PARAM_DIGEST, NULL, 0),
                                       OSSL_PARAM_octet_string(OSSL_KDF_PARAM_KEY, NULL, 0),
                                       OSSL_PARAM_octet_string(OSSL_KDF_PARAM_SALT, NULL, 0),
                                       OSSL_PARAM_octet_string(OSSL_KDF_PARAM_PREFIX, NULL, 0),
                                       OSSL_PARAM_octet_string(OSSL_KDF_PARAM_LABEL, NULL, 0),
                                       OSSL_PARAM_octet_string(OSSL_KDF_PARAM_DATA, NULL, 0),
                                       OSSL_PARAM_END};

    return names;
}

/* EVP_MD_is_a() takes thousands of instructions. */
static const EVP_MD *asked_digest(const tls_kdf *kdf, const OSSL_PARAM *p)
{
    const char *name = p->data;

    if (!strcmp(name, "SHA2-384") || !strcmp(name, "SHA384"))
        return kdf->sha384;
    if (!strcmp(name, "SHA2-256") || !strcmp(name, "SHA256") || EVP_MD_is_a(kdf->sha256, name))
        return kdf->sha256;
    return EVP_MD_is_a(kdf->sha384, name) ? kdf->sha384 : NULL;
}

static int asked_param(const tls_kdf *kdf, asked *a, const OSSL_PARAM *p)
{
    static const struct {
        const char *name;
        size_t at;
    } texts[] = {{OSSL_KDF_PARAM_KEY, offsetof(asked, key)},
                 {OSSL_KDF_PARAM_SALT, offsetof(asked, salt)},
                 {OSSL_KDF_PARAM_PREFIX, offsetof(asked, prefix)},
                 {OSSL_KDF_PARAM_LABEL, offsetof(asked, label)},
                 {OSSL_KDF_PARAM_DATA, offsetof(asked, data)}};
    int mode = 0;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(p->key, texts[i].name)) {
            *(piece *)(void *)((char *)a + texts[i].at) = (piece){p->data, p->data_size};
            return 1;
        }
    if (!strcmp(p->key, OSSL_KDF_PARAM_DIGEST))
        return (a->md = asked_digest(kdf, p)) != NULL;
    if (strcmp(p->key, OSSL_KDF_PARAM_MODE))
        return 1;
    if (!OSSL_PARAM_get_int(p, &mode) ||
        (mode != EVP_KDF_HKDF_MODE_EXPAND_ONLY && mode != EVP_KDF_HKDF_MODE_EXTRACT_ONLY))
        return 0;
    a->extract = mode == EVP_KDF_HKDF_MODE_EXTRACT_ONLY;
    return 1;
}

static int kdf_derive(void *data, unsigned char *out, size_t len, const OSSL_PARAM params[])
{
    const kdf_context *c = data;
    asked a;

    memset(&a, 0, sizeof a);
    for (const OSSL_PARAM *p = params; p && p->key; p++)
        if (!asked_param(c->kdf, &a, p))
            return 0;
    if (!a.md)
        return 0;
    if (a.extract)
        return extract(c->digest, &a, out, len);
    if (!a.key.data || !expand(c->digest, &a, a.key, a.data, out, len))
        return 0;
    kdf_learn(&a, out, len);
    return 1;
}

/* ---- the provider ---- */

static const OSSL_ALGORITHM *provider_query(void *kdf, int operation, int *no_store)
{
    static const OSSL_DISPATCH functions[] = {
        {OSSL_FUNC_KDF_NEWCTX, (void (*)(void))kdf_new},
        {OSSL_FUNC_KDF_FREECTX, (void (*)(void))kdf_free},
        {OSSL_FUNC_KDF_RESET, (void (*)(void))kdf_reset},
        {OSSL_FUNC_KDF_DERIVE, (void (*)(void))kdf_derive},
        {OSSL_FUNC_KDF_SET_CTX_PARAMS, (void (*)(void))kdf_set},
        {OSSL_FUNC_KDF_SETTABLE_CTX_PARAMS, (void (*)(void))kdf_settable},
        {0, NULL}};
    static const OSSL_ALGORITHM algorithms[] = {
        {OSSL_KDF_NAME_TLS1_3_KDF, "provider=brigade", functions, NULL}, {NULL, NULL, NULL, NULL}};

    *no_store = 0;
    return operation == OSSL_OP_KDF ? algorithms : NULL;
}

static _Thread_local tls_kdf *provider_made; /* whose provider is being loaded */

static int provider_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in,
                         const OSSL_DISPATCH **out, void **context)
{
    static const OSSL_DISPATCH functions[] = {
        {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))provider_query}, {0, NULL}};

    *out = functions;
    *context = provider_made;
    return 1;
}

/* Ours is used if it is the first that is asked for. */
static int provider_load(tls_kdf *kdf, OSSL_LIB_CTX *lib)
{
    provider_made = kdf;
    if (OSSL_PROVIDER_add_builtin(lib, "brigade", provider_init) == 1)
        kdf->ours = OSSL_PROVIDER_load(lib, "brigade");
    provider_made = NULL;
    kdf->standard = OSSL_PROVIDER_load(lib, "default");
    kdf->sha256 = EVP_MD_fetch(lib, "SHA256", NULL);
    kdf->sha384 = EVP_MD_fetch(lib, "SHA384", NULL);
    return kdf->ours && kdf->standard && kdf->sha256 && kdf->sha384;
}

tls_kdf *tls_kdf_begin(OSSL_LIB_CTX *lib)
{
    tls_kdf *kdf = calloc(1, sizeof *kdf);

    BRG_ASSERT(lib != NULL);
    if (kdf && provider_load(kdf, lib))
        return kdf;
    tls_kdf_end(kdf);
    return NULL;
}

void tls_kdf_end(tls_kdf *kdf)
{
    if (!kdf)
        return;
    EVP_MD_free(kdf->sha256);
    EVP_MD_free(kdf->sha384);
    if (kdf->ours)
        OSSL_PROVIDER_unload(kdf->ours);
    if (kdf->standard)
        OSSL_PROVIDER_unload(kdf->standard);
    free(kdf);
}

int tls_expand_label(const tls_loop *l, const unsigned char *secret, size_t secret_len,
                     const char *label, unsigned char *out, size_t len)
{
    asked a = {.md = secret_len == 48 ? l->kdf->sha384 : l->kdf->sha256,
               .prefix = {"tls13 ", 6},
               .label = {label, strlen(label)}};
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    int ok = c && expand(c, &a, (piece){secret, secret_len}, (piece){NULL, 0}, out, len);

    EVP_MD_CTX_free(c);
    return ok ? 0 : -1;
}
