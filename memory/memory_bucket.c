/* SPDX-License-Identifier: Apache-2.0 */
/* Bucket allocators in their scope: on an allocator of their own, without a pool, which would take
 * a chunk for itself. */
#include "pool_private.h"
#include "brigade/memory_bucket.h"

typedef struct bucket_owner {
    apr_bucket_alloc_t *list;
    apr_allocator_t *allocator;
} bucket_owner;

static apr_status_t bucket_owner_end(void *data)
{
    bucket_owner *owner = data;

    apr_bucket_alloc_destroy(owner->list);
    apr_allocator_destroy(owner->allocator);
    return APR_SUCCESS;
}

BRG_DECLARE(apr_bucket_alloc_t *) brg_bucket_alloc_create(apr_pool_t *pool)
{
    bucket_owner *owner = apr_palloc(pool, sizeof(*owner));

    if (owner == NULL)
        return NULL;
    owner->allocator = allocator_make(memory_scope_stack(BRG_SCOPE_BUCKET));
    if (owner->allocator == NULL)
        return NULL;
    if (pool->allocator->has_reserve) /* its owner, the connection, ends where either is refused */
        owner->allocator->backer = pool->allocator;
    owner->list = apr_bucket_alloc_create_ex(owner->allocator);
    if (owner->list == NULL) {
        apr_allocator_destroy(owner->allocator);
        return NULL;
    }
    apr_pool_cleanup_register(pool, owner, bucket_owner_end, apr_pool_cleanup_null);
    return owner->list;
}
