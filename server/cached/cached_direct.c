/* SPDX-License-Identifier: Apache-2.0 */
/* The body of an answer is read from the backend into the store's memory, where it stays; the client gets buckets of it. */
#include "cached_private.h"
#include "brigade/assert.h"
#include "brigade/memory.h"

/* It holds the memory, whatever becomes of the object: an answer that is not stored in the end is sent all the same. */
typedef struct direct_bytes {
    apr_bucket_refcount refcount;
    store_view view;
    const cached_request *q; /* compared alone: it may be gone */
    const char *at;
} direct_bytes;

static apr_status_t direct_read(apr_bucket *b, const char **at, apr_size_t *len,
                                apr_read_type_e block)
{
    const direct_bytes *bytes = b->data;

    (void)block;
    *at = bytes->at + b->start;
    *len = b->length;
    return APR_SUCCESS;
}

static void direct_destroy(void *data)
{
    direct_bytes *bytes = data;

    if (apr_bucket_shared_destroy(bytes)) {
        store_release(&bytes->view);
        apr_bucket_free(bytes);
    }
}

static const apr_bucket_type_t direct_type = {"STORE",
                                              5,
                                              APR_BUCKET_DATA,
                                              direct_destroy,
                                              direct_read,
                                              apr_bucket_setaside_noop,
                                              apr_bucket_shared_split,
                                              apr_bucket_shared_copy};

static apr_bucket *direct_bucket(const cached_request *q, const store_view *view, const char *at,
                                 apr_size_t n, apr_bucket_alloc_t *alloc)
{
    apr_bucket *b = apr_bucket_alloc(sizeof *b, alloc);
    direct_bytes *bytes = apr_bucket_alloc(sizeof *bytes, alloc);

    APR_BUCKET_INIT(b);
    b->free = apr_bucket_free;
    b->list = alloc;
    bytes->view = *view;
    bytes->q = q;
    bytes->at = at;
    b = apr_bucket_shared_make(b, bytes, 0, n);
    b->type = &direct_type;
    brg_buffer_created();
    return b;
}

/* Beyond the limit of storing there is no room: save_bytes() gives up. */
static apr_size_t direct_room(void *baton, char **at)
{
    const cached_request *q = baton;
    apr_size_t n = 0;

    if (!q->save.writer || q->save.written >= q->most)
        return 0;
    cached_lock(q->save.place);
    n = store_write_room(q->save.writer, at);
    cached_unlock(q->save.place);
    return n < q->most - q->save.written ? n : (apr_size_t)(q->most - q->save.written);
}

static apr_bucket *direct_take(void *baton, apr_size_t n, apr_bucket_alloc_t *alloc)
{
    cached_request *q = baton;
    store_view view;
    char *at = NULL;
    int held;

    BRG_ASSERT(q->save.writer && n && n <= q->most - q->save.written); /* direct_room() */
    cached_lock(q->save.place);
    (void)store_write_room(q->save.writer, &at);
    held = store_write_view(q->save.writer, &view);
    store_write_commit(q->save.writer, n);
    cached_unlock(q->save.place);
    q->save.written += n;
    if (held)
        return direct_bucket(q, &view, at, n, alloc);
    return apr_bucket_heap_create(at, n, NULL, alloc);
}

void cached_direct_offer(cached_request *q, const ap_filter_t *f)
{
    BRG_ASSERT(q->save.writer && f->ctx == q);
    q->save.sink =
        (request_sink){.filter = f, .room = direct_room, .take = direct_take, .baton = q};
    request_sink_offer(q->r, &q->save.sink);
}

int cached_direct_is_of(const cached_request *q, const apr_bucket *b)
{
    return b->type == &direct_type && ((const direct_bytes *)b->data)->q == q;
}
