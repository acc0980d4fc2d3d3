/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates and keys on their way from the supervisor, which may read them, to the loops of server
 * processes, which may not any more.
 *
 * They lie in a file without a name (memfd_create) that the supervisor opens before it starts server
 * processes: in no process's address space, so in no core file. A table that all processes map says for
 * each server where they are in it, with a version that is odd while the supervisor writes. A reader
 * checks the version before and after, and a digest; if one of them does not fit, it comes again with
 * the next handshake. What was replaced is taken out of the file at once. */
#include "tls_certificate_private.h"
#include "nameless_file.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STORE_PAGE 4096
#define STORE_DIGEST 32
#define STORE_MOST (1 << 20) /* bytes of one server's certificates and keys */

typedef struct store_entry {
    _Atomic uint64_t version; /* even; 0: nothing was put */
    _Atomic uint64_t at, len; /* of the record in the file, its digest in front */
    _Atomic int64_t since;
} store_entry;

typedef struct tls_store {
    int fd, n;
    pid_t owner;  /* the process that may write */
    uint64_t end; /* of what was written */
    store_entry *entries;
} tls_store;

static tls_store *store;

/* ---- life ---- */

static size_t store_bytes(const tls_store *st)
{
    return sizeof(store_entry) * (size_t)st->n;
}

static apr_status_t store_end(void *data)
{
    tls_store *st = data;

    if (st->entries)
        munmap(st->entries, store_bytes(st));
    if (st->fd >= 0)
        close(st->fd);
    if (store == st)
        store = NULL;
    return APR_SUCCESS;
}

int tls_store_begin(apr_pool_t *p, int n)
{
    tls_store *st = apr_pcalloc(p, sizeof *st);
    void *table;

    BRG_ASSERT(n > 0);
    st->n = n;
    st->owner = getpid();
    st->fd = nameless_file("brigade-tls", MFD_CLOEXEC);
    apr_pool_cleanup_register(p, st, store_end, apr_pool_cleanup_null);
    if (st->fd < 0)
        return -1;
    table = mmap(NULL, store_bytes(st), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED)
        return -1;
    st->entries = table;
    store = st;
    return 0;
}

/* ---- a record: numbers of four bytes, each before what it counts ---- */

typedef struct store_buffer {
    unsigned char *data;
    size_t len, at;
} store_buffer;

static void buffer_put(store_buffer *b, const void *data, size_t len)
{
    uint32_t n = (uint32_t)len;

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

static int store_write(const store_buffer *b)
{
    size_t done = 0;

    while (done < b->len) {
        ssize_t n = pwrite(store->fd, b->data + done, b->len - done, (off_t)(store->end + done));

        if (n <= 0 && errno != EINTR)
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static void store_forget(uint64_t at, uint64_t len)
{
    uint64_t pages = (len + STORE_PAGE - 1) / STORE_PAGE * STORE_PAGE;

    if (len)
        (void)fallocate(store->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
                        (off_t)pages);
}

static void store_publish(store_entry *e, uint64_t len)
{
    uint64_t old_at = atomic_load(&e->at), old_len = atomic_load(&e->len);
    uint64_t version = atomic_load(&e->version);

    BRG_ASSERT((version & 1) == 0);
    atomic_store(&e->version, version + 1);
    atomic_store(&e->at, store->end);
    atomic_store(&e->len, len);
    atomic_store(&e->since, apr_time_now());
    atomic_store(&e->version, version + 2);
    store->end += (len + STORE_PAGE - 1) / STORE_PAGE * STORE_PAGE;
    store_forget(old_at, old_len);
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
    return buffer_digest(b, b->data);
}

int tls_store_put(int index, const apr_array_header_t *pairs)
{
    store_buffer b;
    int rc;

    BRG_ASSERT(store && store->owner == getpid() && index >= 0 && index < store->n);
    rc = buffer_encode(&b, pairs);
    if (!rc && !(rc = store_write(&b)))
        store_publish(&store->entries[index], b.len);
    OPENSSL_clear_free(b.data, b.len);
    return rc;
}

int tls_store_has(int index, const apr_array_header_t *pairs)
{
    unsigned char digest[STORE_DIGEST];
    const store_entry *e = &store->entries[index];
    store_buffer b;
    int same;

    same = !buffer_encode(&b, pairs) && b.len == atomic_load(&e->len) &&
           pread(store->fd, digest, sizeof digest, (off_t)atomic_load(&e->at)) == sizeof digest &&
           !memcmp(digest, b.data, sizeof digest);
    OPENSSL_clear_free(b.data, b.len);
    return same;
}

/* ---- getting ---- */

uint64_t tls_store_version(int index)
{
    BRG_ASSERT(store && index >= 0 && index < store->n);
    return atomic_load_explicit(&store->entries[index].version, memory_order_acquire);
}

static apr_status_t buffer_wipe(void *data)
{
    store_buffer *b = data;

    OPENSSL_clear_free(b->data, b->len);
    return APR_SUCCESS;
}

static int store_read_record(store_buffer *b, uint64_t at)
{
    unsigned char digest[STORE_DIGEST];
    size_t done = 0;

    while (done < b->len) {
        ssize_t n = pread(store->fd, b->data + done, b->len - done, (off_t)(at + done));

        if (n == 0 || (n < 0 && errno != EINTR))
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    b->at = STORE_DIGEST;
    return buffer_digest(b, digest) || memcmp(b->data, digest, sizeof digest) ? -1 : 0;
}

int tls_store_get(int index, apr_pool_t *p, tls_stored *stored)
{
    store_entry *e = &store->entries[index];
    store_buffer *b = apr_pcalloc(p, sizeof *b);
    uint64_t at;

    stored->version = tls_store_version(index);
    at = atomic_load(&e->at);
    b->len = atomic_load(&e->len);
    stored->since = atomic_load(&e->since);
    if (!stored->version || stored->version & 1 || b->len <= STORE_DIGEST ||
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
