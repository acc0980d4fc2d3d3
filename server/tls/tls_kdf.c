/* SPDX-License-Identifier: Apache-2.0 */
/* The key derivation of TLS 1.3 (RFC 8446, 7.1; RFC 5869) and of TLS 1.2 (tls_prf.c), as a provider of
 * OpenSSL's for a loop's OSSL_LIB_CTX. A handshake derives some fifteen keys, and OpenSSL's own derivation
 * looks up and makes its digests and contexts anew for each: a tenth of a full handshake of TLS 1.3, half
 * of one of TLS 1.2 that takes a session up. And the secrets that records of our own
 * need come by here; the key log callback prints all secrets as text, which is another tenth. */
#include "tls_quic_private.h"
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

#define INFO_MOST 514 /* HkdfLabel: a length, two strings of up to 255 bytes with theirs */

struct tls_kdf {
    OSSL_PROVIDER *ours, *standard;
    EVP_MD *sha256, *sha384;
    EVP_KDF *prf; /* the standard one, for TLS 1.0 and 1.1 */
};

/* ---- HKDF ---- */

/* The arguments. */
typedef struct asked {
    const EVP_MD *md;
    int extract;
    tls_piece key, salt, prefix, label, data;
    tls_piece secret, seeds[TLS_PIECES - 1]; /* of the PRF */
    int seeds_n;
} asked;

static size_t info_of(const asked *a, tls_piece data, size_t len, unsigned char *info)
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
    BRG_ASSERT(at + 1 + data.len <= INFO_MOST);
    info[at++] = (unsigned char)data.len;
    if (data.len)
        memcpy(info + at, data.data, data.len);
    return at + data.len;
}

static int expand(EVP_MD_CTX *c, const asked *a, tls_piece key, tls_piece data, unsigned char *out,
                  size_t len)
{
    unsigned char info[INFO_MOST], block[EVP_MAX_MD_SIZE], number = 1;
    size_t size = (size_t)EVP_MD_get_size(a->md), info_len = info_of(a, data, len, info);
    int ok = info_len && len <= 255 * size;

    for (size_t done = 0; ok && done < len; number++) {
        const tls_piece pieces[] = {{block, done ? size : 0}, {info, info_len}, {&number, 1}};
        size_t n = len - done < size ? len - done : size;

        ok = tls_hmac(c, a->md, key, pieces, 3, block);
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
    tls_piece key = a->key.data ? a->key : (tls_piece){zeros, size}, nothing = {empty, size};
    size_t salt_len = a->salt.data ? size : 0;
    int ok = len == size;

    if (ok && salt_len)
        ok = EVP_DigestInit_ex2(c, a->md, NULL) == 1 && EVP_DigestFinal_ex(c, empty, NULL) == 1 &&
             expand(c, a, a->salt, nothing, salt, size);
    ok = ok && tls_hmac(c, a->md, (tls_piece){salt, salt_len}, &key, 1, out);
    OPENSSL_cleanse(salt, sizeof salt);
    return ok;
}

/* ---- the secrets that are ours, too ---- */

static _Thread_local tls_records *kdf_listens;

void tls_kdf_listen(tls_records *records)
{
    BRG_ASSERT(!records || !kdf_listens); /* a thread makes one step of one handshake at a time */
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
#if !TLS_QUIC_CALLBACKS
    if (rec->quic) {
        tls_quic_learn(rec->quic, a->label.data, a->label.len, secret, len);
        return;
    }
#endif
    if (label_is(a, "c ap traffic")) {
        memcpy(rec->in.secret, secret, len);
        rec->known |= TLS_KNOWS_CLIENT;
        if (rec->client)
            rec->out.seq = 0; /* tls_keys_count() */
    } else if (label_is(a, "s ap traffic")) {
        memcpy(rec->out.secret, secret, len);
        rec->known |= TLS_KNOWS_SERVER;
        if (!rec->client)
            rec->out.seq = 0;
    } else {
        return;
    }
    rec->secret_len = (uint8_t)len;
}

/* The key block of TLS 1.2. */
static void prf_learn(const asked *a, const unsigned char *block, size_t len)
{
    static const char label[] = "key expansion";
    tls_records *rec = kdf_listens;
    size_t first = len < TLS_SECRET_MOST ? len : TLS_SECRET_MOST;

    if (!rec || len > (size_t)2 * TLS_SECRET_MOST || a->seeds[0].len != sizeof label - 1 ||
        memcmp(a->seeds[0].data, label, sizeof label - 1) != 0)
        return;
    memcpy(rec->in.secret, block, first);
    memcpy(rec->out.secret, block + first, len - first);
    rec->known |= TLS_KNOWS_BLOCK;
    rec->secret_len = (uint8_t)len;
}

/* ---- functions of the provider (provider-kdf(7)) ---- */

static OSSL_FUNC_kdf_newctx_fn kdf_new;
static OSSL_FUNC_kdf_freectx_fn kdf_free;
static OSSL_FUNC_kdf_reset_fn kdf_reset;
static OSSL_FUNC_kdf_derive_fn kdf_derive, prf_derive;
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
                                       OSSL_PARAM_octet_string(OSSL_KDF_PARAM_SECRET, NULL, 0),
                                       OSSL_PARAM_octet_string(OSSL_KDF_PARAM_SEED, NULL, 0),
                                       OSSL_PARAM_END};

    return names;
}

/* EVP_MD_is_a() takes thousands of instructions. */
static const EVP_MD *asked_digest(const tls_kdf *kdf, const char *name)
{
    if (!strcmp(name, "SHA2-384") || !strcmp(name, "SHA384"))
        return kdf->sha384;
    if (!strcmp(name, "SHA2-256") || !strcmp(name, "SHA256") || EVP_MD_is_a(kdf->sha256, name))
        return kdf->sha256;
    return EVP_MD_is_a(kdf->sha384, name) ? kdf->sha384 : NULL;
}

/* Each comes behind those before it. */
static int asked_seed(asked *a, const OSSL_PARAM *p)
{
    if (!p->data_size)
        return 1;
    if (a->seeds_n == (int)(sizeof a->seeds / sizeof *a->seeds))
        return 0;
    a->seeds[a->seeds_n++] = (tls_piece){p->data, p->data_size};
    return 1;
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
                 {OSSL_KDF_PARAM_SECRET, offsetof(asked, secret)},
                 {OSSL_KDF_PARAM_DATA, offsetof(asked, data)}};
    int mode = 0;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(p->key, texts[i].name)) {
            *(tls_piece *)(void *)((char *)a + texts[i].at) = (tls_piece){p->data, p->data_size};
            return 1;
        }
    if (!strcmp(p->key, OSSL_KDF_PARAM_SEED))
        return asked_seed(a, p);
    if (!strcmp(p->key, OSSL_KDF_PARAM_DIGEST))
        return (a->md = asked_digest(kdf, p->data)) != NULL;
    if (strcmp(p->key, OSSL_KDF_PARAM_MODE))
        return 1;
    if (!OSSL_PARAM_get_int(p, &mode) ||
        (mode != EVP_KDF_HKDF_MODE_EXPAND_ONLY && mode != EVP_KDF_HKDF_MODE_EXTRACT_ONLY))
        return 0;
    a->extract = mode == EVP_KDF_HKDF_MODE_EXTRACT_ONLY;
    return 1;
}

static int asked_all(const tls_kdf *kdf, asked *a, const OSSL_PARAM params[])
{
    memset(a, 0, sizeof *a);
    for (const OSSL_PARAM *p = params; p && p->key; p++)
        if (!asked_param(kdf, a, p))
            return 0;
    return a->md != NULL;
}

static int kdf_derive(void *data, unsigned char *out, size_t len, const OSSL_PARAM params[])
{
    const kdf_context *c = data;
    asked a;

    if (!asked_all(c->kdf, &a, params))
        return 0;
    if (a.extract)
        return extract(c->digest, &a, out, len);
    if (!a.key.data || !expand(c->digest, &a, a.key, a.data, out, len))
        return 0;
    kdf_learn(&a, out, len);
    return 1;
}

/* A digest that is not ours: MD5 and SHA-1 together, of TLS 1.0 and 1.1. */
static int prf_standard(const tls_kdf *kdf, unsigned char *out, size_t len,
                        const OSSL_PARAM params[])
{
    EVP_KDF_CTX *c = EVP_KDF_CTX_new(kdf->prf);
    int ok = c && EVP_KDF_derive(c, out, len, params) == 1;

    EVP_KDF_CTX_free(c);
    return ok;
}

static int prf_derive(void *data, unsigned char *out, size_t len, const OSSL_PARAM params[])
{
    const kdf_context *c = data;
    asked a;

    if (!asked_all(c->kdf, &a, params) || !a.secret.data || !a.seeds_n)
        return prf_standard(c->kdf, out, len, params);
    if (!tls_prf(c->digest, a.md, a.secret, a.seeds, a.seeds_n, out, len))
        return 0;
    prf_learn(&a, out, len);
    return 1;
}

/* ---- the provider ---- */

#define PROVIDER_FUNCTIONS(derive)                                             \
    {                                                                          \
        {OSSL_FUNC_KDF_NEWCTX, (void (*)(void))kdf_new},                       \
            {OSSL_FUNC_KDF_FREECTX, (void (*)(void))kdf_free},                 \
            {OSSL_FUNC_KDF_RESET, (void (*)(void))kdf_reset},                  \
            {OSSL_FUNC_KDF_DERIVE, (void (*)(void))(derive)},                  \
            {OSSL_FUNC_KDF_SET_CTX_PARAMS, (void (*)(void))kdf_set},           \
            {OSSL_FUNC_KDF_SETTABLE_CTX_PARAMS, (void (*)(void))kdf_settable}, \
        {                                                                      \
            0, NULL                                                            \
        }                                                                      \
    }

static const OSSL_ALGORITHM *provider_query(void *kdf, int operation, int *no_store)
{
    static const OSSL_DISPATCH hkdf[] = PROVIDER_FUNCTIONS(kdf_derive),
                               prf[] = PROVIDER_FUNCTIONS(prf_derive);
    static const OSSL_ALGORITHM algorithms[] = {
        {OSSL_KDF_NAME_TLS1_3_KDF, "provider=brigade", hkdf, NULL},
        {OSSL_KDF_NAME_TLS1_PRF, "provider=brigade", prf, NULL},
        {NULL, NULL, NULL, NULL}};

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
    BRG_ASSERT(!provider_made && !kdf->ours);
    provider_made = kdf;
    if (OSSL_PROVIDER_add_builtin(lib, "brigade", provider_init) == 1)
        kdf->ours = OSSL_PROVIDER_load(lib, "brigade");
    provider_made = NULL;
    kdf->standard = OSSL_PROVIDER_load(lib, "default");
    kdf->sha256 = EVP_MD_fetch(lib, "SHA256", NULL);
    kdf->sha384 = EVP_MD_fetch(lib, "SHA384", NULL);
    kdf->prf = EVP_KDF_fetch(lib, OSSL_KDF_NAME_TLS1_PRF, "provider=default");
    return kdf->ours && kdf->standard && kdf->sha256 && kdf->sha384 && kdf->prf;
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
    EVP_KDF_free(kdf->prf);
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
    int ok = c && expand(c, &a, (tls_piece){secret, secret_len}, (tls_piece){NULL, 0}, out, len);

    EVP_MD_CTX_free(c);
    return ok ? 0 : -1;
}
