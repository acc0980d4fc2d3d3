/* SPDX-License-Identifier: Apache-2.0 */
/* Bucket allocators in their scope: on an allocator of their own, without a pool, which would take
 * a chunk for itself. */
#include "pool_private.h"
#include "brigade/memory_bucket.h"

typedef struct bucket_home {
    apr_bucket_alloc_t *list;
    apr_allocator_t *allocator;
} bucket_home;

static apr_status_t bucket_home_end(void *data)
{
    bucket_home *home = data;

    apr_bucket_alloc_destroy(home->list);
    apr_allocator_destroy(home->allocator);
    return APR_SUCCESS;
}

BRG_DECLARE(apr_bucket_alloc_t *) brg_bucket_alloc_create(apr_pool_t *pool)
{
    bucket_home *home = apr_palloc(pool, sizeof(*home));

    if (home == NULL)
        return NULL;
    home->allocator = allocator_make(memory_scope_stack(BRG_SCOPE_BUCKET));
    if (home->allocator == NULL)
        return NULL;
    if (pool->allocator->forgiving) /* its owner, the connection, ends where either is refused */
        home->allocator->backer = pool->allocator;
    home->list = apr_bucket_alloc_create_ex(home->allocator);
    if (home->list == NULL) {
        apr_allocator_destroy(home->allocator);
        return NULL;
    }
    apr_pool_cleanup_register(pool, home, bucket_home_end, apr_pool_cleanup_null);
    return home->list;
}
