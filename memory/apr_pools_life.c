/* SPDX-License-Identifier: Apache-2.0 */
/*
 * APR's pools on memory systems: creation, clearing, destruction, and the tree of pools.
 *
 * A pool that begins a scope starts with a chunk of the size that such pools used to need, so that
 * a request as usual asks its allocator once. Others start with the smallest.
 */
#include "pool_private.h"
#include "pool_trace.h"
#include <string.h>

/* Where in its chunk a pool may lie. */
#define POOL_PLACES 4

/* The most that is taken at once because earlier pools needed it. */
#define POOL_FIRST_MOST ((apr_size_t)64 * 1024)
#define POOL_USUAL_DECAY 6 /* the usual need falls by 1/64 of the difference */

#define POOL_STRUCT ((sizeof(apr_pool_t) + POOL_CLEARED - 1) / POOL_CLEARED * POOL_CLEARED)

/* Compilers clear that much with a few stores; the loop of string instructions that they take for
 * more costs as much as the rest of creating a pool. */
#define POOL_CLEARED 64

/* ---- the tree ---- */

static inline void pool_tree_lock(apr_pool_t *parent)
{
    if (__builtin_expect(parent->allocator->mutex != NULL, 0))
        apr_thread_mutex_lock(parent->allocator->mutex);
}

static inline void pool_tree_unlock(apr_pool_t *parent)
{
    if (__builtin_expect(parent->allocator->mutex != NULL, 0))
        apr_thread_mutex_unlock(parent->allocator->mutex);
}

static inline void pool_link(apr_pool_t *p, apr_pool_t *parent)
{
    p->parent = parent;
    pool_tree_lock(parent);
    p->sibling = parent->child;
    if (p->sibling != NULL)
        p->sibling->link = &p->sibling;
    parent->child = p;
    p->link = &parent->child;
    pool_tree_unlock(parent);
}

static inline void pool_unlink(apr_pool_t *p)
{
    apr_pool_t *parent = p->parent;

    if (parent == NULL)
        return;
    pool_tree_lock(parent);
    *p->link = p->sibling;
    if (p->sibling != NULL)
        p->sibling->link = p->link;
    pool_tree_unlock(parent);
}

/* ---- creation ---- */

static apr_pool_t *pool_make_per_block(apr_allocator_t *allocator, const apr_pool_t *parent,
                                       const void *site)
{
    int granted;
    apr_pool_t *p = allocator_block(allocator, sizeof(*p), site, &granted);

    if (p == NULL)
        return NULL;
    memset(p, 0, sizeof(*p));
    p->per_block = granted ? 2 : 1;
    p->head.bump = p->head.end = p->counted = (char *)p;
    p->allocator = allocator;
    if (allocator->traced)
        pool_trace_created(p, parent);
    return p;
}

/* Chunks begin on pages. Were pools all at the same place of their page, stores to one would seem
 * to the processor to concern loads from the next, and they would share few cache sets. */
static inline apr_pool_t *pool_place(apr_memnode_t *chunk)
{
    apr_size_t which = ((uintptr_t)chunk / NODE_SMALLEST) % POOL_PLACES;

    return (apr_pool_t *)(pool_chunk_start(chunk) + which * (POOL_STRUCT + POOL_CLEARED));
}

static inline __attribute__((always_inline)) void pool_zero(char *at)
{
    apr_size_t i;

#pragma GCC unroll 8
    for (i = 0; i < POOL_STRUCT; i += POOL_CLEARED)
        memset(at + i, 0, POOL_CLEARED);
}

static inline __attribute__((always_inline)) apr_pool_t *
pool_make(apr_allocator_t *allocator, const apr_pool_t *parent, int scope, apr_size_t first_bytes)
{
    apr_memnode_t *chunk;
    apr_pool_t *p;

    if (allocator->per_block) {
        p = pool_make_per_block(allocator, parent, __builtin_return_address(0));
        if (p == NULL)
            return NULL;
    } else {
        chunk = first_bytes == 0 ? allocator_smallest(allocator) : NULL;
        if (chunk == NULL)
            chunk = allocator_node(allocator, first_bytes);
        if (chunk == NULL)
            return NULL;
        p = pool_place(chunk);
        pool_zero((char *)p);
        p->first = p->current = chunk;
        p->head.bump = p->counted = (char *)p + POOL_STRUCT;
        p->head.end = chunk->endp;
        p->chunks_n = 1;
    }
    p->allocator = allocator;
    p->scope = (unsigned char)scope;
    p->pools_n = 1;
    return p;
}

apr_status_t pool_create_failed(apr_abortfunc_t abort_fn)
{
    if (abort_fn != NULL)
        abort_fn(APR_ENOMEM);
    return APR_ENOMEM;
}

APR_DECLARE(apr_status_t)
apr_pool_create_ex(apr_pool_t **newpool, apr_pool_t *parent, apr_abortfunc_t abort_fn,
                   apr_allocator_t *allocator)
{
    apr_pool_t *p;

    *newpool = NULL;
    if (parent == NULL)
        parent = pool_root;
    if (parent == NULL)
        return APR_ENOPOOL;
    if (abort_fn == NULL)
        abort_fn = parent->abort_fn;
    p = pool_make(allocator != NULL ? allocator : parent->allocator, parent, parent->scope, 0);
    if (p == NULL)
        return pool_create_failed(abort_fn);
    p->abort_fn = abort_fn;
    pool_link(p, parent);
    *newpool = p;
    return APR_SUCCESS;
}

apr_pool_t *pool_make_owner(memory_stack *stack, int scope, apr_size_t first_bytes)
{
    apr_allocator_t *allocator = allocator_make(stack);
    apr_pool_t *p;

    if (allocator == NULL)
        return NULL;
    p = pool_make(allocator, NULL, scope, first_bytes);
    if (p == NULL) {
        apr_allocator_destroy(allocator);
        return NULL;
    }
    allocator->owner = p;
    return p;
}

APR_DECLARE(apr_status_t)
apr_pool_create_unmanaged_ex(apr_pool_t **newpool, apr_abortfunc_t abort_fn,
                             apr_allocator_t *allocator)
{
    apr_pool_t *p;

    *newpool = NULL;
    if (pool_root == NULL)
        return APR_ENOPOOL;
    p = allocator != NULL
            ? pool_make(allocator, NULL, BRG_SCOPE_PROCESS, 0)
            : pool_make_owner(memory_scope_stack(BRG_SCOPE_PROCESS), BRG_SCOPE_PROCESS, 0);
    if (p == NULL)
        return pool_create_failed(abort_fn);
    p->abort_fn = abort_fn;
    *newpool = p;
    return APR_SUCCESS;
}

APR_DECLARE(apr_status_t)
apr_pool_create_core_ex(apr_pool_t **newpool, apr_abortfunc_t abort_fn, apr_allocator_t *allocator)
{
    return apr_pool_create_unmanaged_ex(newpool, abort_fn, allocator);
}

static apr_size_t pool_first_bytes(int scope)
{
    apr_size_t usual = memory_counts_mine(scope)->usual;

    return usual > POOL_FIRST_MOST ? POOL_FIRST_MOST : usual;
}

/* Pools below these may be created by any thread, as below APR's own. The mutex lies in the parent,
 * since the pool may be cleared. */
static apr_status_t pool_share(apr_pool_t *p, apr_pool_t *parent)
{
    if (p->scope != BRG_SCOPE_PROCESS && p->scope != BRG_SCOPE_CONFIGURATION &&
        p->scope != BRG_SCOPE_LOG)
        return APR_SUCCESS;
    return apr_thread_mutex_create(&p->allocator->mutex, APR_THREAD_MUTEX_DEFAULT, parent);
}

BRG_DECLARE(apr_status_t)
brg_pool_create_scoped(apr_pool_t **pool, apr_pool_t *parent, brg_scope scope)
{
    memory_stack *stack = memory_scope_stack(scope);
    apr_size_t first = pool_first_bytes(scope);
    apr_abortfunc_t abort_fn;
    apr_pool_t *p;

    *pool = NULL;
    if (parent == NULL)
        parent = pool_root;
    if (parent == NULL)
        return APR_ENOPOOL;
    abort_fn = parent->abort_fn;
    if ((scope == BRG_SCOPE_REQUEST || scope == BRG_SCOPE_BUCKET) &&
        memory_stack_shareable(stack, parent->allocator))
        p = pool_make(parent->allocator, parent, scope, first);
    else
        p = pool_make_owner(stack, scope, first);
    if (p == NULL)
        return pool_create_failed(abort_fn);
    if (pool_share(p, parent) != APR_SUCCESS) {
        apr_pool_destroy(p);
        return pool_create_failed(abort_fn);
    }
    p->abort_fn = abort_fn;
    p->begins_scope = 1;
    pool_link(p, parent);
    *pool = p;
    return APR_SUCCESS;
}

/* ---- the end ---- */

/* Everything that others hung on the pool. */
static inline void pool_end_contents(apr_pool_t *p)
{
    if (p->pre_cleanups != NULL)
        pool_cleanups_run(&p->pre_cleanups);
    while (p->child != NULL)
        apr_pool_destroy(p->child);
    if (p->cleanups != NULL)
        pool_cleanups_run(&p->cleanups);
    if (p->processes != NULL)
        pool_processes_end(p);
}

/* Bytes that one chunk would have needed to hold all that the pool had. */
static apr_uint64_t pool_need(const apr_pool_t *p)
{
    const apr_memnode_t *chunk;
    apr_uint64_t need = (apr_uint64_t)(p->head.bump - (char *)p->current) +
                        POOL_PLACES * (POOL_STRUCT + POOL_CLEARED);

    if (p->chunks_n > 1)
        for (chunk = p->first; chunk != NULL; chunk = chunk->next)
            if (chunk != p->current)
                need += (apr_uint64_t)(chunk->first_avail - (char *)chunk);
    return need + BRG_POOL_ALIGNMENT;
}

static void pool_account_thread(apr_pool_t *p)
{
    memory_counts *mine = memory_counts_mine(p->scope);
    apr_uint64_t need, usual;

    pool_tell(p);
    if (p->told_bytes > __atomic_load_n(&mine->high_water, __ATOMIC_RELAXED))
        __atomic_store_n(&mine->high_water, p->told_bytes, __ATOMIC_RELAXED);
    if (!p->begins_scope || p->per_block || p->home.allocator != NULL || p->allocator->exhausted)
        return;
    need = pool_need(p);
    usual = mine->usual; /* which only this thread writes */
    usual = need > usual ? need : usual - ((usual - need) >> POOL_USUAL_DECAY);
    __atomic_store_n(&mine->usual, usual, __ATOMIC_RELAXED);
}

/* Where the counts of a pool go when it is cleared or ends: to its parent, when both are of one
 * thread and scope, which is cheap; else to the thread's counters. */
static inline void pool_account(apr_pool_t *p)
{
    apr_pool_t *parent = p->parent;

    p->clears_n++;
    if (parent == NULL || p->begins_scope || parent->allocator != p->allocator ||
        p->allocator->mutex != NULL) {
        pool_account_thread(p);
        return;
    }
    parent->head.allocations += p->head.allocations;
    parent->head.zeroed += p->head.zeroed;
    parent->bytes_before += pool_bytes(p);
    parent->pools_n += p->pools_n;
    parent->clears_n += p->clears_n;
    parent->cleanups_n += p->cleanups_n;
    parent->refills_n += p->refills_n;
    parent->told_allocations += p->told_allocations;
    parent->told_bytes += p->told_bytes;
}

APR_DECLARE(void) apr_pool_destroy(apr_pool_t *p)
{
    apr_allocator_t *allocator;
    apr_memnode_t *chunks;
    int owner;

    pool_end_contents(p);
    pool_account(p);
    pool_unlink(p);
    if (__builtin_expect(p->home.allocator != NULL, 0))
        pool_move_back(p);
    allocator = p->allocator;
    chunks = p->first;
    owner = allocator->owner == p;
    if (owner) /* the mutex lay in this pool, or in one below */
        allocator->mutex = NULL;
    if (p->per_block) {
        if (allocator->traced)
            pool_trace_destroyed(p);
        pool_blocks_free(p);
        allocator_block_free(allocator, p, sizeof(*p), p->per_block == 2);
    } else if (owner && !allocator->warm) {
        allocator_release(allocator, chunks);
    } else {
        allocator_free_few(allocator, chunks);
    }
    if (owner)
        apr_allocator_destroy(allocator);
}

/* Back to the first chunk. */
static inline void pool_rewind(apr_pool_t *p)
{
    apr_memnode_t *more;

    if (p->per_block) {
        pool_blocks_free(p);
        p->bytes_before = 0;
        return;
    }
    more = p->first->next;
    if (more != NULL) {
        p->first->next = NULL;
        apr_allocator_free(p->allocator, more);
        p->current = p->first;
        p->spare = NULL;
        p->chunks_n = 1;
        p->head.end = p->first->endp;
    }
    p->head.bump = p->counted = (char *)p + POOL_STRUCT;
    p->bytes_before = 0;
}

APR_DECLARE(void) apr_pool_clear(apr_pool_t *p)
{
    pool_end_contents(p);
    pool_account(p);
    if (__builtin_expect(p->traced, 0))
        pool_trace_cleared(p);
    p->pre_cleanups = p->cleanups = p->free_cleanups = NULL;
    p->processes = NULL;
    p->userdata = NULL;
    p->head.allocations = p->head.zeroed = 0;
    p->pools_n = p->clears_n = p->cleanups_n = p->refills_n = 0;
    p->told_allocations = p->told_bytes = 0;
    if (__builtin_expect(p->home.allocator != NULL, 0))
        pool_move_back(p);
    pool_rewind(p);
    if (p->allocator->owner == p)
        p->allocator->exhausted = 0;
}
