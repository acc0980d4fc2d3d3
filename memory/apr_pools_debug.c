/* SPDX-License-Identifier: Apache-2.0 */
/*
 * APR's pools on memory systems: entries for code that was compiled with APR_POOL_DEBUG. The place
 * of the call, which these functions are told, is of no use here: memory systems that record places
 * find them by themselves.
 */
#include "pool_private.h"

APR_DECLARE(void *) apr_palloc_debug(apr_pool_t *p, apr_size_t size, const char *file_line)
{
    return apr_palloc(p, size);
}

APR_DECLARE(void *) apr_pcalloc_debug(apr_pool_t *p, apr_size_t size, const char *file_line)
{
    return apr_pcalloc(p, size);
}

APR_DECLARE(void) apr_pool_clear_debug(apr_pool_t *p, const char *file_line)
{
    apr_pool_clear(p);
}

APR_DECLARE(void) apr_pool_destroy_debug(apr_pool_t *p, const char *file_line)
{
    apr_pool_destroy(p);
}

APR_DECLARE(apr_status_t)
apr_pool_create_ex_debug(apr_pool_t **newpool, apr_pool_t *parent, apr_abortfunc_t abort_fn,
                         apr_allocator_t *allocator, const char *file_line)
{
    return apr_pool_create_ex(newpool, parent, abort_fn, allocator);
}

APR_DECLARE(apr_status_t)
apr_pool_create_core_ex_debug(apr_pool_t **newpool, apr_abortfunc_t abort_fn,
                              apr_allocator_t *allocator, const char *file_line)
{
    return apr_pool_create_unmanaged_ex(newpool, abort_fn, allocator);
}

APR_DECLARE(apr_status_t)
apr_pool_create_unmanaged_ex_debug(apr_pool_t **newpool, apr_abortfunc_t abort_fn,
                                   apr_allocator_t *allocator, const char *file_line)
{
    return apr_pool_create_unmanaged_ex(newpool, abort_fn, allocator);
}

/* Promises about lifetimes are believed. */
APR_DECLARE(void) apr_pool_join(apr_pool_t *p, apr_pool_t *sub)
{
}

APR_DECLARE(void) apr_pool_lock(apr_pool_t *pool, int flag)
{
}

APR_DECLARE(void) apr_pool_owner_set(apr_pool_t *pool, apr_uint32_t flags)
{
}

static int pool_holds(const apr_pool_t *p, const char *mem)
{
    const apr_memnode_t *chunk;
    const pool_records *page;
    apr_size_t i;

    for (chunk = p->first; chunk != NULL; chunk = chunk->next)
        if (mem >= (const char *)chunk && mem < chunk->endp)
            return 1;
    for (page = p->records; page != NULL; page = page->next)
        for (i = 0; i < page->n; i++)
            if (mem >= (const char *)page->record[i].block &&
                mem < (const char *)page->record[i].block + (page->record[i].bytes >> 1))
                return 1;
    return 0;
}

static apr_pool_t *pool_find_below(apr_pool_t *p, const char *mem)
{
    apr_pool_t *found, *child;

    if (pool_holds(p, mem))
        return p;
    for (child = p->child; child != NULL; child = child->sibling)
        if ((found = pool_find_below(child, mem)) != NULL)
            return found;
    return NULL;
}

APR_DECLARE(apr_pool_t *) apr_pool_find(const void *mem)
{
    return pool_root != NULL ? pool_find_below(pool_root, mem) : NULL;
}

APR_DECLARE(apr_size_t) apr_pool_num_bytes(apr_pool_t *p, int recurse)
{
    apr_size_t bytes = pool_bytes(p);

    if (recurse)
        for (p = p->child; p != NULL; p = p->sibling)
            bytes += apr_pool_num_bytes(p, 1);
    return bytes;
}
