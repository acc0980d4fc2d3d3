/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the server's own record layer, as OpenSSL offers them: TLS 1.3 by the secrets that
 * tls_kdf.c derives (RFC 8446, 7.1 to 7.3), TLS 1.2 by the key block (RFC 5246, 6.3), which it
 * derives, too.
 *
 * A connection is without such keys where its cipher suite has no AEAD of ours, or OpenSSL's data
 * is not as expected here: then OpenSSL goes on with its records. */
#include "tls_record_private.h"
#include "brigade/assert.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_MOST TLS_SECRET_MOST

/* ---- objects of a loop ---- */

/* Without a loop's objects for deriving keys, OpenSSL does all by itself. A library in which a
 * provider was loaded loads no other on its own: another one is needed. */
static int keys_without(tls_loop *l)
{
    OSSL_LIB_CTX_free(l->lib);
    l->lib = OSSL_LIB_CTX_new();
    return l->lib ? 0 : -1;
}

int tls_keys_begin(tls_loop *l)
{
    static const char *const names[TLS_AEADS] = {"AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305"};

    BRG_ASSERT(l->lib && !l->kdf);
    l->kdf = tls_kdf_begin(l->lib); /* first: it has to stand before the others */
    if (!l->kdf)
        return keys_without(l);
    for (int i = 0; i < TLS_AEADS; i++)
        l->aead[i] = tls_aead_begin(l->lib, names[i]);
    return 0;
}

void tls_keys_end(tls_loop *l)
{
    for (int i = 0; i < TLS_AEADS; i++)
        tls_aead_end(l->aead[i]);
    tls_kdf_end(l->kdf);
}

/* ---- one direction ---- */

int tls_half_begin(const tls_loop *l, const tls_records *rec, tls_half *h, int seal)
{
    unsigned char key[TLS_KEY_MOST];
    size_t len = rec->aead->key_len;
    int failed;

    BRG_ASSERT(rec->v13 && len <= sizeof key);
    failed = tls_expand_label(l, h->secret, rec->secret_len, "key", key, len) ||
             tls_expand_label(l, h->secret, rec->secret_len, "iv", h->iv, TLS_IV) ||
             tls_half_key(h, rec->aead, key, seal);
    OPENSSL_cleanse(key, sizeof key);
    h->seq = 0;
    return failed ? -1 : 0;
}

/* With what was learnt of its secret. */
static int half_begin(const tls_loop *l, const tls_records *rec, tls_half *h,
                      const tls_learned *learned, int seal)
{
    if (!learned || learned->key_len != rec->aead->key_len || !learned->has_iv)
        return tls_half_begin(l, rec, h, seal);
    memcpy(h->iv, learned->iv, TLS_IV);
    h->seq = 0;
    return tls_half_key(h, rec->aead, learned->key, seal);
}

static void learned_drop(tls_records *rec)
{
    OPENSSL_clear_free(rec->learned, 2 * sizeof *rec->learned);
    rec->learned = NULL;
}

int tls_key_update(const tls_loop *l, tls_records *rec, tls_half *h, int seal)
{
    unsigned char next[SECRET_MOST];
    int failed =
        tls_expand_label(l, h->secret, rec->secret_len, "traffic upd", next, rec->secret_len);

    BRG_ASSERT(rec->v13);
    rec->updated = 1;
    if (!failed)
        memcpy(h->secret, next, rec->secret_len);
    OPENSSL_cleanse(next, sizeof next);
    return failed ? -1 : tls_half_begin(l, rec, h, seal);
}

/* ---- of a connection ---- */

void tls_keys_count(int sent, int version, int type, const void *data, size_t len, SSL *ssl,
                    void *unused)
{
    const tls_conn *t = type == SSL3_RT_HEADER && sent ? SSL_get_app_data(ssl) : NULL;

    if (t && t->records && !t->established)
        t->records->out.seq++;
}

static int keys_aead(const SSL_CIPHER *cipher)
{
    switch (SSL_CIPHER_get_cipher_nid(cipher)) {
    case NID_aes_128_gcm:
        return TLS_AES_128_GCM;
    case NID_aes_256_gcm:
        return TLS_AES_256_GCM;
    case NID_chacha20_poly1305:
        return TLS_CHACHA20;
    default:
        return -1;
    }
}

/* The client sends with its own secret. */
static void keys_swap(tls_records *rec)
{
    unsigned char own[SECRET_MOST];

    memcpy(own, rec->in.secret, sizeof own);
    memcpy(rec->in.secret, rec->out.secret, sizeof own);
    memcpy(rec->out.secret, own, sizeof own);
    OPENSSL_cleanse(own, sizeof own);
}

static int keys_13(const tls_loop *l, tls_records *rec)
{
    uint64_t sent = rec->out.seq;
    const tls_learned *learned = rec->learned;
    const int own = rec->client; /* of learned, that of input */
    int failed;

    if (rec->known != (TLS_KNOWS_CLIENT | TLS_KNOWS_SERVER) || !rec->secret_len || sent > UINT8_MAX)
        return -1;
    BRG_ASSERT(rec->secret_len <= sizeof rec->in.secret && !rec->in.ctx && !rec->out.ctx);
    rec->v13 = 1;
    rec->tickets = rec->client;
    if (rec->client)
        keys_swap(rec);
    failed = half_begin(l, rec, &rec->in, learned ? learned + own : NULL, 0) ||
             half_begin(l, rec, &rec->out, learned ? learned + !own : NULL, 1);
    rec->out.seq = sent;
    rec->out_first = (uint8_t)sent;
    return failed;
}

/* The key block: the client's key, the server's, the client's IV, the server's. */
static int keys_12(const tls_loop *l, tls_records *rec)
{
    const tls_aead *aead = rec->aead;
    const int explicit_iv = aead != l->aead[TLS_CHACHA20];
    const size_t key = aead->key_len, iv = explicit_iv ? TLS_FIXED_IV : TLS_IV;
    tls_half *const client = rec->client ? &rec->out : &rec->in;
    tls_half *const server = rec->client ? &rec->in : &rec->out;
    unsigned char block[2 * TLS_SECRET_MOST];
    int failed;

    if (!(rec->known & TLS_KNOWS_BLOCK) || rec->secret_len != 2 * key + 2 * iv)
        return -1;
    BRG_ASSERT(rec->secret_len <= sizeof block && !rec->in.ctx && !rec->out.ctx);
    memcpy(block, rec->in.secret, TLS_SECRET_MOST);
    memcpy(block + TLS_SECRET_MOST, rec->out.secret, TLS_SECRET_MOST);
    rec->explicit_iv = explicit_iv;
    failed = tls_half_key(client, aead, block, rec->client) ||
             tls_half_key(server, aead, block + key, !rec->client);
    memcpy(client->iv, block + 2 * key, iv);
    memcpy(server->iv, block + 2 * key + iv, iv);
    memcpy(rec->in.secret, rec->client ? block + key : block, key);
    rec->in.seq = rec->out.seq = 1; /* Finished was 0 */
    rec->in_first = rec->out_first = 1;
    OPENSSL_cleanse(block, sizeof block);
    return failed;
}

void tls_keys_expect(tls_conn *t)
{
    BRG_ASSERT(t->records == NULL && !t->established);
    t->records = calloc(1, sizeof *t->records);
    if (!t->records)
        return;
    t->records->client = t->client != NULL;
    t->records->learned = OPENSSL_zalloc(2 * sizeof *t->records->learned);
}

int tls_keys_take(tls_conn *t)
{
    tls_records *rec = t->records;
    const SSL_CIPHER *cipher = SSL_get_current_cipher(t->ssl);
    int aead = cipher ? keys_aead(cipher) : -1, version = SSL_version(t->ssl), failed = -1;

    BRG_ASSERT(!t->established);
    if (!rec)
        return -1;
    if (aead >= 0 && t->loop->kdf && t->loop->aead[aead] && !SSL_has_pending(t->ssl)) {
        rec->aead = t->loop->aead[aead];
        if (version == TLS1_3_VERSION)
            failed = keys_13(t->loop, rec);
        else if (version == TLS1_2_VERSION)
            failed = keys_12(t->loop, rec);
    }
    learned_drop(rec);
    if (failed)
        tls_keys_drop(t);
    else
        SSL_free_buffers(t->ssl); /* 16 KiB that it will not need */
    return failed ? -1 : 0;
}

void tls_keys_drop(tls_conn *t)
{
    tls_records *rec = t->records;

    if (!rec)
        return;
    BRG_ASSERT(rec->aead || (!rec->in.ctx && !rec->out.ctx)); /* their maker ends them */
    if (rec->in.ctx)
        rec->aead->release(rec->in.ctx);
    if (rec->out.ctx)
        rec->aead->release(rec->out.ctx);
    learned_drop(rec);
    OPENSSL_cleanse(rec, sizeof *rec);
    free(rec);
    t->records = NULL;
}
