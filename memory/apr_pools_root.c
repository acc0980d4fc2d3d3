/* SPDX-License-Identifier: Apache-2.0 */
/* APR's pools on memory systems: the pool of all pools, and figures of pools. */
#include "pool_private.h"

apr_pool_t *pool_root;
apr_abortfunc_t pool_root_abort;
static unsigned pool_initialized;

/* ---- the pool of all pools ---- */

APR_DECLARE(apr_status_t) apr_pool_initialize(void)
{
    apr_thread_mutex_t *mutex;
    apr_status_t status;

    if (pool_initialized++ > 0)
        return APR_SUCCESS;
    if (memory_scope_stack(BRG_SCOPE_PROCESS) == NULL)
        memory_scopes_begin(MEMORY_DEFAULT_SPEC); /* should there be no memory for it: malloc */
    pool_root = pool_make_owner(memory_scope_stack(BRG_SCOPE_PROCESS), BRG_SCOPE_PROCESS, 0);
    if (pool_root == NULL) {
        pool_initialized = 0;
        return pool_create_failed(pool_root_abort);
    }
    pool_root->abort_fn = pool_root_abort;
    apr_pool_tag(pool_root, "apr_global_pool");
    status = apr_thread_mutex_create(&mutex, APR_THREAD_MUTEX_DEFAULT, pool_root);
    if (status != APR_SUCCESS) {
        apr_pool_destroy(pool_root);
        pool_root = NULL;
        pool_initialized = 0;
        return status;
    }
    pool_root->allocator->mutex = mutex;
    return APR_SUCCESS;
}

APR_DECLARE(void) apr_pool_terminate(void)
{
    if (pool_initialized == 0 || --pool_initialized > 0)
        return;
    apr_pool_destroy(pool_root);
    pool_root = NULL;
}

/* ---- properties ---- */

APR_DECLARE(apr_allocator_t *) apr_pool_allocator_get(apr_pool_t *pool)
{
    return pool->allocator;
}

APR_DECLARE(apr_pool_t *) apr_pool_parent_get(apr_pool_t *pool)
{
    return pool->parent;
}

APR_DECLARE(void) apr_pool_abort_set(apr_abortfunc_t abortfunc, apr_pool_t *pool)
{
    pool->abort_fn = abortfunc;
}

APR_DECLARE(apr_abortfunc_t) apr_pool_abort_get(apr_pool_t *pool)
{
    return pool->abort_fn;
}

APR_DECLARE(void) apr_pool_tag(apr_pool_t *pool, const char *tag)
{
    pool->tag = tag;
}

APR_DECLARE(int) apr_pool_is_ancestor(apr_pool_t *a, apr_pool_t *b)
{
    if (a == NULL)
        return 1;
    while (b != NULL && b != a)
        b = b->parent;
    return b != NULL;
}

BRG_DECLARE(int) brg_pool_refused(const apr_pool_t *pool)
{
    const apr_allocator_t *a = pool->allocator;

    if (!a->limit_hit)
        return 0;
    return a->reserve_used > ALLOCATOR_RESERVE / 2 ? BRG_POOL_RESERVE_LOW : BRG_POOL_REFUSED;
}

BRG_DECLARE(int) brg_pool_refusal_status(const apr_pool_t *pool)
{
    int status = brg_sms_refusal_status(pool->allocator->system);

    return status != 0 ? status : 503;
}

apr_size_t memory_pool_reserve_used(const apr_pool_t *pool)
{
    return pool->allocator->reserve_used;
}

BRG_DECLARE(void) brg_pool_figures_get(const apr_pool_t *pool, brg_pool_figures *out)
{
    const apr_pool_t *child;
    brg_pool_figures below;

    out->allocations = pool->head.allocations + pool->told_allocations;
    out->bytes = pool_bytes(pool) + pool->told_bytes;
    out->zeroed_bytes = pool->head.zeroed + pool->told_zeroed;
    for (child = pool->child; child != NULL; child = child->sibling)
        if (child->scope == pool->scope) {
            brg_pool_figures_get(child, &below);
            out->allocations += below.allocations;
            out->bytes += below.bytes;
            out->zeroed_bytes += below.zeroed_bytes;
        }
}
