/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates and keys on their way from the supervisor, which may read them, to the loops of
 * server processes, which may not any more.
 *
 * They lie in memory that the supervisor alone writes (brigade/one_writer.h) and that is in no core
 * file: otherwise one server process could change certificates of later ones. For each server there
 * is an entry, with a version that is odd while the supervisor writes, and room for two records in
 * turn, the older of which is wiped. A reader checks the version before and after, and a digest; if
 * one of them does not fit, it comes again with the next handshake.
 *
 * The supervisor can read and write records only while it does so: a mistake elsewhere in it finds no key.
 */
#include "tls_certificate.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/one_writer.h"
#include <errno.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define STORE_PAGE 4096
#define STORE_DIGEST 32
#define STORE_MOST ((size_t)1 << 18) /* bytes of one server's certificates and keys */

typedef struct store_entry {
    _Atomic uint64_t version; /* even; 0: nothing was put */
    _Atomic uint64_t at, len; /* of the record, its digest in front */
    _Atomic int64_t since;
} store_entry;

typedef struct tls_store {
    brg_one_writer *memory;
    int n;
    int open;    /* this process serves: records stay readable */
    pid_t owner; /* the process that may write */
} tls_store;

static tls_store *store;

/* ---- life ---- */

static size_t store_entries_bytes(int n)
{
    return (sizeof(store_entry) * (size_t)n + STORE_PAGE - 1) / STORE_PAGE * STORE_PAGE;
}

static apr_status_t store_end(void *data)
{
    if (store == data)
        store = NULL;
    return APR_SUCCESS;
}

int tls_store_begin(apr_pool_t *p, int n)
{
    tls_store *st = apr_pcalloc(p, sizeof *st);
    apr_status_t rv;

    BRG_ASSERT(n > 0);
    st->n = n;
    st->owner = getpid();
    rv = brg_one_writer_create(&st->memory, "brigade-tls",
                               store_entries_bytes(n) + 2 * STORE_MOST * (size_t)n, p);
    if (rv != APR_SUCCESS) {
        errno = rv;
        return -1;
    }
    apr_pool_cleanup_register(p, st, store_end, apr_pool_cleanup_null);
    store = st;
    return 0;
}

static store_entry *store_entry_of(const void *memory, int index)
{
    BRG_ASSERT(store && index >= 0 && index < store->n);
    return (store_entry *)(uintptr_t)memory + index;
}

static store_entry *store_read(int index)
{
    return store_entry_of(brg_one_writer_read(store->memory), index);
}

/* Records can be used until store_hide(). */
static void store_show(void)
{
    if (!store->open)
        brg_one_writer_show(store->memory, store_entries_bytes(store->n), 1);
}

static void store_hide(void)
{
    if (!store->open)
        brg_one_writer_show(store->memory, store_entries_bytes(store->n), 0);
}

void tls_store_open(void)
{
    BRG_ASSERT(store);
    store_show();
    store->open = 1;
}

/* ---- a record: numbers of four bytes, each before the bytes it counts ---- */

typedef struct store_buffer {
    unsigned char *data;
    size_t len, at;
} store_buffer;

static void buffer_put(store_buffer *b, const void *data, size_t len)
{
    uint32_t n = (uint32_t)len;

    BRG_ASSERT(!b->data || b->at + sizeof n + len <= b->len);
    if (b->data) {
        memcpy(b->data + b->at, &n, sizeof n);
        memcpy(b->data + b->at + sizeof n, data, len);
    }
    b->at += sizeof n + len;
}

static const unsigned char *buffer_get(store_buffer *b, int *len)
{
    const unsigned char *data;
    uint32_t n;

    if (b->len - b->at < sizeof n)
        return NULL;
    memcpy(&n, b->data + b->at, sizeof n);
    if (n > b->len - b->at - sizeof n)
        return NULL;
    data = b->data + b->at + sizeof n;
    b->at += sizeof n + n;
    *len = (int)n;
    return data;
}

/* NULL is an empty one. */
static void buffer_put_der(store_buffer *b, const tls_der *der)
{
    buffer_put(b, der ? (const void *)der->data : "", der ? (size_t)der->len : 0);
}

static void buffer_put_pairs(store_buffer *b, const apr_array_header_t *pairs)
{
    b->at = STORE_DIGEST;
    for (int i = 0; i < pairs->nelts; i++) {
        const tls_pair *pair = &APR_ARRAY_IDX(pairs, i, tls_pair);

        buffer_put(b, pair->cert_file, strlen(pair->cert_file));
        buffer_put(b, pair->key_file, strlen(pair->key_file));
        buffer_put_der(b, pair->key);
        buffer_put_der(b, pair->dh);
        buffer_put_der(b, pair->ticket);
        for (int k = 0; k < pair->chain->nelts; k++)
            buffer_put_der(b, APR_ARRAY_IDX(pair->chain, k, const tls_der *));
        buffer_put_der(b, NULL);
    }
}

static tls_der *buffer_der(store_buffer *b, apr_pool_t *p)
{
    tls_der *der = apr_palloc(p, sizeof *der);
    const unsigned char *data = buffer_get(b, &der->len);

    der->data = (unsigned char *)(uintptr_t)data;
    return data ? der : NULL;
}

static const char *buffer_text(store_buffer *b, apr_pool_t *p)
{
    int len;
    const unsigned char *data = buffer_get(b, &len);

    return data ? apr_pstrmemdup(p, (const char *)data, (apr_size_t)len) : NULL;
}

/* Its parts point into the buffer. */
static int buffer_get_pair(store_buffer *b, tls_pair *pair, apr_pool_t *p)
{
    tls_der *der;

    pair->cert_file = buffer_text(b, p);
    pair->key_file = buffer_text(b, p);
    pair->key = buffer_der(b, p);
    pair->dh = buffer_der(b, p);
    pair->ticket = buffer_der(b, p);
    pair->chain = apr_array_make(p, 3, sizeof(tls_der *));
    while ((der = buffer_der(b, p)) != NULL && der->len)
        APR_ARRAY_PUSH(pair->chain, tls_der *) = der;
    if (pair->dh && !pair->dh->len)
        pair->dh = NULL;
    if (pair->ticket && !pair->ticket->len)
        pair->ticket = NULL;
    return der && pair->key && pair->chain->nelts ? 0 : -1;
}

static int buffer_digest(const store_buffer *b, unsigned char digest[STORE_DIGEST])
{
    unsigned len = STORE_DIGEST;

    return EVP_Digest(b->data + STORE_DIGEST, b->len - STORE_DIGEST, digest, &len, EVP_sha256(),
                      NULL)
               ? 0
               : -1;
}

/* ---- putting ---- */

/* The two records change places: readers take the new one. */
static void store_publish(int index, const store_buffer *b)
{
    unsigned char *memory = brg_one_writer_write(store->memory);
    store_entry *e = store_entry_of(memory, index);
    const uint64_t version = atomic_load(&e->version), old_at = atomic_load(&e->at),
                   old_len = atomic_load(&e->len);
    const uint64_t at =
        store_entries_bytes(store->n) + (2 * (uint64_t)index + (version / 2) % 2) * STORE_MOST;

    BRG_ASSERT((version & 1) == 0 && b->len <= STORE_MOST);
    atomic_store(&e->version, version + 1);
    memcpy(memory + at, b->data, b->len);
    atomic_store(&e->at, at);
    atomic_store(&e->len, b->len);
    atomic_store(&e->since, apr_time_now());
    atomic_store(&e->version, version + 2);
    if (old_len)
        OPENSSL_cleanse(memory + old_at, old_len);
}

/* The record of @a pairs; the caller wipes b->data. */
static int buffer_encode(store_buffer *b, const apr_array_header_t *pairs)
{
    *b = (store_buffer){0};
    buffer_put_pairs(b, pairs);
    if (b->at > STORE_MOST) {
        errno = E2BIG;
        return -1;
    }
    b->len = b->at;
    if (!(b->data = OPENSSL_malloc(b->len))) {
        errno = ENOMEM;
        return -1;
    }
    buffer_put_pairs(b, pairs);
    BRG_ASSERT(b->at == b->len); /* as long as it was counted */
    return buffer_digest(b, b->data);
}

int tls_store_put(int index, const apr_array_header_t *pairs)
{
    store_buffer b;
    int rc;

    BRG_ASSERT(store && store->owner == getpid() && index >= 0 && index < store->n);
    rc = buffer_encode(&b, pairs);
    if (!rc) {
        store_show();
        store_publish(index, &b);
        store_hide();
    }
    OPENSSL_clear_free(b.data, b.len);
    return rc;
}

int tls_store_has(int index, const apr_array_header_t *pairs)
{
    const unsigned char *memory = brg_one_writer_read(store->memory);
    const store_entry *e = store_read(index);
    store_buffer b;
    int same;

    store_show();
    same = !buffer_encode(&b, pairs) && b.len == atomic_load(&e->len) &&
           !memcmp(memory + atomic_load(&e->at), b.data, STORE_DIGEST);
    store_hide();
    OPENSSL_clear_free(b.data, b.len);
    return same;
}

/* ---- getting ---- */

uint64_t tls_store_version(int index)
{
    return atomic_load_explicit(&store_read(index)->version, memory_order_acquire);
}

static apr_status_t buffer_wipe(void *data)
{
    store_buffer *b = data;

    OPENSSL_clear_free(b->data, b->len);
    return APR_SUCCESS;
}

static int store_read_record(store_buffer *b, uint64_t at)
{
    const unsigned char *memory = brg_one_writer_read(store->memory);
    unsigned char digest[STORE_DIGEST];

    if (at > brg_one_writer_bytes(store->memory) ||
        b->len > brg_one_writer_bytes(store->memory) - at)
        return -1;
    store_show();
    memcpy(b->data, memory + at, b->len);
    store_hide();
    b->at = STORE_DIGEST;
    return buffer_digest(b, digest) || memcmp(b->data, digest, sizeof digest) ? -1 : 0;
}

int tls_store_get(int index, apr_pool_t *p, tls_stored *stored)
{
    const store_entry *e = store_read(index);
    store_buffer *b = apr_pcalloc(p, sizeof *b);
    uint64_t at;

    stored->version = tls_store_version(index);
    at = atomic_load(&e->at);
    b->len = atomic_load(&e->len);
    stored->since = atomic_load(&e->since);
    if (!stored->version || stored->version & 1 || b->len <= STORE_DIGEST || b->len > STORE_MOST ||
        tls_store_version(index) != stored->version)
        return -1;
    if (!(b->data = OPENSSL_malloc(b->len)))
        return -1;
    apr_pool_cleanup_register(p, b, buffer_wipe, apr_pool_cleanup_null);
    if (store_read_record(b, at))
        return -1;
    stored->pairs = apr_array_make(p, 2, sizeof(tls_pair));
    while (b->at < b->len)
        if (buffer_get_pair(b, apr_array_push(stored->pairs), p))
            return -1;
    return 0;
}
