/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CONN_BUCKET_PART_H
#define BRIGADE_CONN_BUCKET_PART_H

/**
 * @file bucket_part.h
 * Heads and the end of a stream's response, as metadata between its data
 * buckets: a head that its transport encoded (conn_transport.encode), and the end. The core's
 * output filter puts it (conn_transport.put) when all data before it has left.
 */
#include "shared_ref.h"
#include "apr_buckets.h"

extern const apr_bucket_type_t bucket_part_type;

/** @param part  is taken over; NULL: the end of a response without trailers. Threads: the owner of @a alloc. */
apr_bucket *bucket_part_create(shared_ref *part, apr_bucket_alloc_t *alloc);

static inline int bucket_is_part(const apr_bucket *e)
{
    return e->type == &bucket_part_type;
}

/** The part, which is the caller's from here on. */
shared_ref *bucket_part_take(apr_bucket *e);

#endif
