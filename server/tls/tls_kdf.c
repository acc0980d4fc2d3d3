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
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct tls_kdf {
    OSSL_PROVIDER *ours, *standard;
    tls_digest sha256, sha384;
    EVP_KDF *prf; /* the standard one, for TLS 1.0 and 1.1 */
    tls_hkdf_known known256, known384;
    struct kdf_context *_Atomic spare; /* of no derivation now: for the next one of any thread */
};

/* The arguments. */
typedef struct asked {
    tls_hash *hash;
    int extract;
    tls_piece key, salt, prefix, label, data;
    tls_piece secret, seeds[TLS_PIECES - 1]; /* of the PRF */
    int seeds_n;
} asked;

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

static int key_is(const asked *a, const tls_records *rec, unsigned knows, const tls_half *h)
{
    return (rec->known & knows) && a->key.len == rec->secret_len &&
           !CRYPTO_memcmp(a->key.data, h->secret, a->key.len);
}

/* Key or IV of a secret that was learnt before: OpenSSL derives them for itself. */
static void learn_key(tls_records *rec, const asked *a, const unsigned char *out, size_t len)
{
    const int is_key = label_is(a, "key"), is_iv = label_is(a, "iv") && len == TLS_IV;
    tls_learned *l;

    if (!(is_key || is_iv) || len > TLS_KEY_MOST || !(l = rec->learned))
        return;
    if (key_is(a, rec, TLS_KNOWS_CLIENT, &rec->in))
        l += 0;
    else if (key_is(a, rec, TLS_KNOWS_SERVER, &rec->out))
        l += 1;
    else
        return;
    memcpy(is_key ? l->key : l->iv, out, len);
    if (is_key)
        l->key_len = (uint8_t)len;
    else
        l->has_iv = 1;
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
        learn_key(rec, a, secret, len);
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
    tls_kdf *kdf;
    tls_hash sha256, sha384;
} kdf_context;

static void *kdf_new(void *data)
{
    tls_kdf *kdf = data;
    kdf_context *c = atomic_exchange(&kdf->spare, NULL);

    if (c || !(c = calloc(1, sizeof *c)))
        return c;
    c->kdf = kdf;
    c->sha256.of = &kdf->sha256;
    c->sha384.of = &kdf->sha384;
    return c;
}

static void context_free(kdf_context *c)
{
    if (!c)
        return;
    tls_hash_end(&c->sha256);
    tls_hash_end(&c->sha384);
    free(c);
}

static void kdf_free(void *data)
{
    kdf_context *c = data, *none = NULL;

    if (c && tls_hash_forget(&c->sha256) && tls_hash_forget(&c->sha384) &&
        atomic_compare_exchange_strong(&c->kdf->spare, &none, c))
        return;
    context_free(c);
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
static tls_hash *asked_digest(kdf_context *c, const char *name)
{
    if (!strcmp(name, "SHA2-256") || !strcmp(name, "SHA256"))
        return &c->sha256;
    if (!strcmp(name, "SHA2-384") || !strcmp(name, "SHA384") ||
        EVP_MD_is_a(c->kdf->sha384.md, name))
        return &c->sha384;
    return EVP_MD_is_a(c->kdf->sha256.md, name) ? &c->sha256 : NULL;
}

/* Seven names a derivation, among eight: most differ in the first two letters. */
static int param_is(const OSSL_PARAM *p, const char *name)
{
    return p->key[0] == name[0] && p->key[1] == name[1] && !strcmp(p->key, name);
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

static int asked_param(kdf_context *c, asked *a, const OSSL_PARAM *p)
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
        if (param_is(p, texts[i].name)) {
            *(tls_piece *)(void *)((char *)a + texts[i].at) = (tls_piece){p->data, p->data_size};
            return 1;
        }
    if (param_is(p, OSSL_KDF_PARAM_SEED))
        return asked_seed(a, p);
    if (param_is(p, OSSL_KDF_PARAM_DIGEST))
        return (a->hash = asked_digest(c, p->data)) != NULL;
    if (!param_is(p, OSSL_KDF_PARAM_MODE))
        return 1;
    if (!OSSL_PARAM_get_int(p, &mode) ||
        (mode != EVP_KDF_HKDF_MODE_EXPAND_ONLY && mode != EVP_KDF_HKDF_MODE_EXTRACT_ONLY))
        return 0;
    a->extract = mode == EVP_KDF_HKDF_MODE_EXTRACT_ONLY;
    return 1;
}

static int asked_all(kdf_context *c, asked *a, const OSSL_PARAM params[])
{
    memset(a, 0, sizeof *a);
    for (const OSSL_PARAM *p = params; p && p->key; p++)
        if (!asked_param(c, a, p))
            return 0;
    return a->hash != NULL;
}

static int kdf_derive(void *data, unsigned char *out, size_t len, const OSSL_PARAM params[])
{
    kdf_context *c = data;
    asked a;

    if (!asked_all(c, &a, params))
        return 0;
    if (a.extract)
        return tls_hkdf_extract(a.hash,
                                a.hash == &c->sha384 ? &c->kdf->known384 : &c->kdf->known256, a.key,
                                a.salt, a.prefix, a.label, out, len);
    if (!a.key.data || !tls_hkdf_expand(a.hash, a.key, a.prefix, a.label, a.data, out, len))
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
    kdf_context *c = data;
    asked a;

    if (!asked_all(c, &a, params) || !a.secret.data || !a.seeds_n)
        return prf_standard(c->kdf, out, len, params);
    if (!tls_prf(a.hash, a.secret, a.seeds, a.seeds_n, out, len))
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
    kdf->prf = EVP_KDF_fetch(lib, OSSL_KDF_NAME_TLS1_PRF, "provider=default");
    return kdf->ours && kdf->standard && kdf->prf &&
           !tls_digest_begin(&kdf->sha256, lib, "SHA2-256") &&
           !tls_digest_begin(&kdf->sha384, lib, "SHA2-384");
}

static int kdf_know(tls_kdf *kdf)
{
    kdf_context *c = kdf_new(kdf);
    int ok =
        c && tls_hkdf_know(&c->sha256, &kdf->known256) && tls_hkdf_know(&c->sha384, &kdf->known384);

    kdf_free(c);
    return ok;
}

tls_kdf *tls_kdf_begin(OSSL_LIB_CTX *lib)
{
    tls_kdf *kdf = calloc(1, sizeof *kdf);

    BRG_ASSERT(lib != NULL);
    if (kdf && provider_load(kdf, lib) && kdf_know(kdf))
        return kdf;
    tls_kdf_end(kdf);
    return NULL;
}

void tls_kdf_end(tls_kdf *kdf)
{
    if (!kdf)
        return;
    context_free(atomic_exchange(&kdf->spare, NULL));
    EVP_KDF_free(kdf->prf);
    tls_digest_end(&kdf->sha256);
    tls_digest_end(&kdf->sha384);
    if (kdf->ours)
        OSSL_PROVIDER_unload(kdf->ours);
    if (kdf->standard)
        OSSL_PROVIDER_unload(kdf->standard);
    free(kdf);
}

int tls_expand_label(const tls_loop *l, const unsigned char *secret, size_t secret_len,
                     const char *label, unsigned char *out, size_t len)
{
    kdf_context *c = kdf_new(l->kdf);
    int ok;

    if (!c)
        return -1;
    ok = tls_hkdf_expand(secret_len == 48 ? &c->sha384 : &c->sha256,
                         (tls_piece){secret, secret_len}, (tls_piece){"tls13 ", 6},
                         (tls_piece){label, strlen(label)}, (tls_piece){NULL, 0}, out, len);
    kdf_free(c);
    return ok ? 0 : -1;
}
