/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests that are known, in a table without locks: a slot is written by the thread that makes its number odd, and read again where the
 * number was odd or changed meanwhile. A lost digest is computed once more.
 */
#include "http_digest.h"
#include "brigade/assert.h"
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#define DIGEST_SLOTS 16384 /* a power of two; slots that were never used take no memory */
#define DIGEST_WORDS ((sizeof(file_identity) + APR_SHA1_DIGESTSIZE + 7) / 8)
#define DIGEST_READ 16384 /* bytes at a time */
#define DIGEST_TRIES 3    /* for files that change while they are read */
#define DIGEST_REST_NS 1000000000

typedef struct digest_slot {
    atomic_uint turn; /* odd: being written; 0: empty */
    _Atomic uint64_t words[DIGEST_WORDS];
} digest_slot;

typedef union digest_entry {
    struct {
        file_identity id;
        unsigned char digest[APR_SHA1_DIGESTSIZE];
    } is;
    uint64_t words[DIGEST_WORDS];
} digest_entry;

static digest_slot digest_slots[DIGEST_SLOTS];

static digest_slot *digest_slot_of(const file_identity *id)
{
    uint64_t x = id->ino * 0x9e3779b97f4a7c15u + id->dev;

    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return &digest_slots[(x ^ x >> 32) & (DIGEST_SLOTS - 1)];
}

int http_digest_find(const file_identity *id, unsigned char digest[APR_SHA1_DIGESTSIZE])
{
    digest_slot *slot = digest_slot_of(id);
    const unsigned turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
    digest_entry entry;

    if (!turn || turn & 1)
        return 0;
    for (size_t i = 0; i < DIGEST_WORDS; i++)
        entry.words[i] = atomic_load_explicit(&slot->words[i], memory_order_acquire);
    if (atomic_load_explicit(&slot->turn, memory_order_relaxed) != turn ||
        !file_identity_same(&entry.is.id, id))
        return 0;
    memcpy(digest, entry.is.digest, APR_SHA1_DIGESTSIZE);
    return 1;
}

void http_digest_keep(const file_identity *id, const unsigned char digest[APR_SHA1_DIGESTSIZE])
{
    digest_slot *slot = digest_slot_of(id);
    unsigned turn = atomic_load_explicit(&slot->turn, memory_order_relaxed);
    digest_entry entry = {.words = {0}};

    entry.is.id = *id;
    memcpy(entry.is.digest, digest, APR_SHA1_DIGESTSIZE);
    if (turn & 1 || !atomic_compare_exchange_strong(&slot->turn, &turn, turn + 1))
        return;
    for (size_t i = 0; i < DIGEST_WORDS; i++)
        atomic_store_explicit(&slot->words[i], entry.words[i], memory_order_release);
    BRG_ASSERT(atomic_load_explicit(&slot->turn, memory_order_relaxed) == turn + 1);
    turn += turn + 2 ? 2 : 4; /* 0 stands for empty */
    atomic_store_explicit(&slot->turn, turn, memory_order_release);
}

/* @return 1; 0: it cannot be read */
static int digest_read(int fd, unsigned char digest[APR_SHA1_DIGESTSIZE])
{
    char bytes[DIGEST_READ];
    apr_sha1_ctx_t sha;
    off_t at = 0;
    ssize_t n;

    apr_sha1_init(&sha);
    while ((n = pread(fd, bytes, sizeof bytes, at)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return 0;
        apr_sha1_update_binary(&sha, (const unsigned char *)bytes, (unsigned)n);
        at += n;
    }
    apr_sha1_final(digest, &sha);
    return 1;
}

int http_digest_of(int fd, int64_t now, unsigned char digest[APR_SHA1_DIGESTSIZE])
{
    file_identity before, after;

    BRG_ASSERT(fd >= 0);
    if (file_identity_take(&before, fd, NULL))
        return 0;
    for (int i = 0; i < DIGEST_TRIES; i++, before = after) {
        if (http_digest_find(&before, digest))
            return 1;
        if (!digest_read(fd, digest) || file_identity_take(&after, fd, NULL))
            return 0;
        if (!file_identity_same(&before, &after))
            continue;
        /* Another change within the same tick of the file system's clock would not show. */
        if (now * 1000 - after.ctime_ns > DIGEST_REST_NS)
            http_digest_keep(&after, digest);
        return 1;
    }
    errno = 0;
    return 0;
}
