/* SPDX-License-Identifier: Apache-2.0 */
/* The bucket types for heads and the end of a stream's response. */
#include "bucket_part.h"
#include "brigade/assert.h"

static void bucket_part_destroy(void *data)
{
    if (data)
        shared_release(data);
}

static apr_status_t bucket_part_read(apr_bucket *e, const char **text, apr_size_t *len,
                                     apr_read_type_e block)
{
    *text = NULL;
    *len = 0;
    return APR_SUCCESS;
}

const apr_bucket_type_t bucket_part_type = {"STREAM PART",
                                            5,
                                            APR_BUCKET_METADATA,
                                            bucket_part_destroy,
                                            bucket_part_read,
                                            apr_bucket_setaside_noop,
                                            apr_bucket_split_notimpl,
                                            apr_bucket_copy_notimpl};

apr_bucket *bucket_part_create(shared_ref *part, apr_bucket_alloc_t *alloc)
{
    apr_bucket *e = apr_bucket_alloc(sizeof *e, alloc);

    APR_BUCKET_INIT(e);
    e->free = apr_bucket_free;
    e->list = alloc;
    e->type = &bucket_part_type;
    e->length = 0;
    e->start = 0;
    e->data = part;
    return e;
}

shared_ref *bucket_part_take(apr_bucket *e)
{
    shared_ref *part = e->data;

    BRG_ASSERT(bucket_is_part(e));
    e->data = NULL;
    return part;
}
