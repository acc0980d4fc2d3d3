/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of files for filters. A fixed table of slots; the slot that was not used for longest is replaced.
 * A file is read into it at its second request, if it was not changed lately.
 */
#include "file_kept.h"
#include "brigade/assert.h"
#include "brigade/files.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_SLOTS 64
#define KEPT_SEEN 1024
#define KEPT_REST_US apr_time_from_sec(2) /* a later change may have the same modification time */
/* and, with that set back, the same change time within a tick of the clock */
#define KEPT_TICK_US 20000
/* bytes of a bucket: filters allocate as much at once, and larger blocks are not reused */
#define KEPT_PIECE 32000

typedef struct kept_body {
    atomic_int refs; /* the slot's, and one for each bucket */
    apr_size_t len;
    char data[];
} kept_body;

typedef struct kept_slot {
    apr_finfo_t file; /* no pointer of it is used */
    kept_body *body;
    unsigned used; /* kept_clock at the last use */
} kept_slot;

/* A thread that does not get the lock at once reads the file instead. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static kept_slot kept_slots[KEPT_SLOTS];
static apr_size_t kept_bytes, kept_most = FILE_KEPT_DEFAULT;
static unsigned kept_clock;
static uint32_t kept_seen[KEPT_SEEN];

void file_kept_limit(apr_size_t bytes)
{
    kept_most = bytes;
}

static void kept_release(kept_body *body)
{
    if (body && atomic_fetch_sub_explicit(&body->refs, 1, memory_order_acq_rel) == 1)
        free(body);
}

static void kept_bucket_free(void *data)
{
    kept_release((kept_body *)(void *)((char *)data - offsetof(kept_body, data)));
}

static int kept_same(const apr_finfo_t *a, const apr_finfo_t *b)
{
    return a->inode == b->inode && a->device == b->device && a->size == b->size &&
           a->mtime == b->mtime && a->ctime == b->ctime;
}

/* ---- under the lock ---- */

static void kept_drop(kept_slot *slot)
{
    kept_bytes -= slot->body->len;
    kept_release(slot->body);
    slot->body = NULL;
}

/* The slot of the file, old content included. */
static kept_slot *kept_find(const apr_finfo_t *file)
{
    for (int i = 0; i < KEPT_SLOTS; i++)
        if (kept_slots[i].body && kept_slots[i].file.inode == file->inode &&
            kept_slots[i].file.device == file->device)
            return &kept_slots[i];
    return NULL;
}

static kept_slot *kept_oldest(int in_use)
{
    kept_slot *oldest = NULL;

    for (int i = 0; i < KEPT_SLOTS; i++) {
        kept_slot *s = &kept_slots[i];

        if (!s->body && !in_use)
            return s;
        if (s->body && (!oldest || (int)(s->used - oldest->used) < 0))
            oldest = s;
    }
    return oldest;
}

static void kept_store(const apr_finfo_t *file, kept_body *body)
{
    kept_slot *slot = kept_find(file);

    if (slot)
        kept_drop(slot);
    while (kept_bytes && kept_bytes + body->len > kept_most)
        kept_drop(kept_oldest(1));
    slot = kept_oldest(0);
    if (slot->body)
        kept_drop(slot);
    atomic_fetch_add_explicit(&body->refs, 1, memory_order_relaxed);
    slot->file = *file;
    slot->body = body;
    slot->used = ++kept_clock;
    kept_bytes += body->len;
}

static kept_body *kept_take(const apr_finfo_t *file)
{
    kept_slot *slot = kept_find(file);

    if (!slot)
        return NULL;
    if (!kept_same(&slot->file, file)) {
        kept_drop(slot);
        return NULL;
    }
    slot->used = ++kept_clock;
    atomic_fetch_add_explicit(&slot->body->refs, 1, memory_order_relaxed);
    return slot->body;
}

static int kept_seen_before(const apr_finfo_t *file)
{
    uint64_t hash = ((uint64_t)file->inode ^ (uint64_t)file->mtime) * 0x9e3779b97f4a7c15ull;
    uint32_t *seen = &kept_seen[hash >> 54], mark = (uint32_t)hash | 1;
    int before = *seen == mark;

    *seen = mark;
    return before;
}

/* ---- reading ---- */

/* NULL if the file changed meanwhile, or if a loop would wait for it. */
static kept_body *kept_read(request_rec *r, apr_file_t *file)
{
    const apr_finfo_t *finfo = &r->finfo;
    kept_body *body = malloc(sizeof *body + (apr_size_t)finfo->size);
    apr_finfo_t now;
    apr_size_t len;

    BRG_ASSERT(finfo->size > 0 && finfo->size <= FILE_KEPT_BODY_MOST);
    if (!body)
        return NULL;
    atomic_init(&body->refs, 1);
    body->len = len = (apr_size_t)finfo->size;
    if (brg_file_pread(r, file, body->data, &len, 0) != APR_SUCCESS || len != body->len ||
        apr_file_info_get(&now, APR_FINFO_MIN | APR_FINFO_IDENT, file) != APR_SUCCESS ||
        !kept_same(finfo, &now)) {
        free(body);
        return NULL;
    }
    return body;
}

static kept_body *kept_get(request_rec *r, apr_file_t *file)
{
    kept_body *body;
    int worth;

    if (pthread_mutex_trylock(&kept_lock))
        return NULL;
    body = kept_take(&r->finfo);
    worth = !body && kept_seen_before(&r->finfo);
    pthread_mutex_unlock(&kept_lock);
    if (!worth || !file || !(body = kept_read(r, file)))
        return body;
    if (!pthread_mutex_trylock(&kept_lock)) {
        kept_store(&r->finfo, body);
        pthread_mutex_unlock(&kept_lock);
    }
    return body;
}

int file_kept_insert(request_rec *r, apr_bucket_brigade *bb, apr_file_t *file)
{
    const apr_finfo_t *f = &r->finfo;
    const apr_int32_t needed = APR_FINFO_IDENT | APR_FINFO_SIZE | APR_FINFO_MTIME | APR_FINFO_CTIME;
    kept_body *body;
    apr_bucket *e;

    if (f->size <= 0 || f->size > FILE_KEPT_BODY_MOST || (apr_size_t)f->size > kept_most ||
        (f->valid & needed) != needed || f->mtime + KEPT_REST_US > r->request_time ||
        f->ctime + KEPT_TICK_US > r->request_time || !(body = kept_get(r, file)))
        return 0;
    BRG_ASSERT(body->len == (apr_size_t)f->size);
    e = apr_bucket_heap_create(body->data, body->len, kept_bucket_free, bb->bucket_alloc);
    APR_BRIGADE_INSERT_TAIL(bb, e);
    for (; e->length > KEPT_PIECE; e = APR_BUCKET_NEXT(e))
        apr_bucket_split(e, KEPT_PIECE);
    return 1;
}
