/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a stored body as a bucket: they lie in the store's memory, which the bucket holds. */
#include "cached_private.h"
#include "brigade/assert.h"

typedef struct bucket_body {
    apr_bucket_refcount refcount;
    store_view view;
} bucket_body;

/* A body that is longer than a piece of the store becomes several buckets. */
static apr_status_t bucket_read(apr_bucket *b, const char **at, apr_size_t *len,
                                apr_read_type_e block)
{
    const bucket_body *body = b->data;
    int lost;
    size_t n = store_body(&body->view, (uint64_t)b->start, at, &lost);

    (void)block;
    if (!n) {
        *len = 0;
        return b->length ? APR_EGENERAL : APR_SUCCESS;
    }
    if (n < b->length)
        apr_bucket_split(b, n);
    *len = b->length;
    return APR_SUCCESS;
}

static void bucket_destroy(void *data)
{
    bucket_body *body = data;

    if (apr_bucket_shared_destroy(body)) {
        store_release(&body->view);
        apr_bucket_free(body);
    }
}

static const apr_bucket_type_t cached_bucket_type = {"STORE",
                                                     5,
                                                     APR_BUCKET_DATA,
                                                     bucket_destroy,
                                                     bucket_read,
                                                     apr_bucket_setaside_noop,
                                                     apr_bucket_shared_split,
                                                     apr_bucket_shared_copy};

apr_bucket *cached_bucket(const store_view *view, uint64_t begin, uint64_t length,
                          apr_bucket_alloc_t *alloc)
{
    apr_bucket *b = apr_bucket_alloc(sizeof *b, alloc);
    bucket_body *body = apr_bucket_alloc(sizeof *body, alloc);

    BRG_ASSERT(length > 0 && length <= APR_SIZE_MAX && view->reader);
    APR_BUCKET_INIT(b);
    b->free = apr_bucket_free;
    b->list = alloc;
    store_hold(&body->view, view);
    b = apr_bucket_shared_make(b, body, (apr_off_t)begin, (apr_size_t)length);
    b->type = &cached_bucket_type;
    return b;
}
