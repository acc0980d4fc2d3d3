/* SPDX-License-Identifier: Apache-2.0 */
/*
 * APR's pools on memory systems: creation, clearing, destruction, and the tree of pools.
 *
 * A pool that begins a scope starts with a chunk of the size that such pools used to need, so that
 * a request as usual asks its allocator once. Others start with the smallest.
 */
#include "pool_private.h"
#include "brigade/assert.h"
#include "pool_trace.h"
#include <string.h>

/* The most that is taken at once because earlier pools needed it. */
#define POOL_FIRST_MOST ((apr_size_t)64 * 1024)
/* ---- the tree ---- */

static inline apr_thread_mutex_t *pool_tree_lock(apr_pool_t *parent)
{
    apr_thread_mutex_t *mutex = parent->allocator->mutex;

    if (__builtin_expect(mutex != NULL, 0))
        apr_thread_mutex_lock(mutex);
    return mutex;
}

static inline void pool_tree_unlock(apr_thread_mutex_t *mutex)
{
    if (__builtin_expect(mutex != NULL, 0))
        apr_thread_mutex_unlock(mutex);
}

static inline void pool_link(apr_pool_t *p, apr_pool_t *parent)
{
    apr_thread_mutex_t *mutex = pool_tree_lock(parent);
    apr_pool_t *sibling = parent->child;

    p->parent = parent;
    p->sibling = sibling;
    p->link = &parent->child;
    if (sibling != NULL)
        sibling->link = &p->sibling;
    parent->child = p;
    pool_tree_unlock(mutex);
}

static inline void pool_unlink(apr_pool_t *p)
{
    apr_pool_t *sibling;
    apr_thread_mutex_t *mutex;

    if (p->parent == NULL)
        return;
    mutex = pool_tree_lock(p->parent);
    sibling = p->sibling;
    BRG_ASSERT_DEBUG(*p->link == p); /* it is in the tree, and was not destroyed before */
    *p->link = sibling;
    if (sibling != NULL)
        sibling->link = p->link;
    pool_tree_unlock(mutex);
}

/* ---- creation ---- */

static apr_pool_t *pool_make_per_block(apr_allocator_t *allocator, const apr_pool_t *parent,
                                       const void *site)
{
    int from_reserve;
    apr_pool_t *p = allocator_block(allocator, sizeof(*p), site, &from_reserve);

    if (p == NULL)
        return NULL;
    memset(p, 0, sizeof(*p));
    p->per_block = from_reserve ? 2 : 1;
    p->head.bump = p->head.end = p->counted = (char *)p;
    p->pools_n = 1;
    p->allocator = allocator;
    if (allocator->traced)
        pool_trace_created(p, parent);
    return p;
}

/* On cache lines of its own. Chunks begin on pages, or nearly so: were pools all at the same place
 * of their page, stores to one would seem to the processor to concern loads from the next, and they
 * would share few cache sets. */
static inline apr_pool_t *pool_place(apr_memnode_t *chunk)
{
    uintptr_t at =
        ((uintptr_t)chunk + APR_MEMNODE_T_SIZE + POOL_CLEARED - 1) / POOL_CLEARED * POOL_CLEARED;

    return (apr_pool_t *)(at + (uintptr_t)chunk / NODE_SMALLEST % POOL_PLACES *
                                   (POOL_STRUCT + POOL_CLEARED));
}

static __attribute__((noinline)) apr_pool_t *
pool_make_new(apr_allocator_t *allocator, const apr_pool_t *parent, apr_size_t first_bytes)
{
    apr_memnode_t *chunk;
    apr_pool_t *p;

    if (allocator->per_block)
        return pool_make_per_block(allocator, parent, __builtin_return_address(0));
    chunk = allocator_node(allocator, first_bytes);
    if (chunk == NULL)
        return NULL;
    p = pool_place(chunk);
    memset(p, 0, sizeof(*p));
    p->first = p->current = chunk;
    p->head.bump = p->counted = (char *)p + POOL_STRUCT;
    p->head.end = chunk->endp;
    p->chunks_n = 1;
    p->pools_n = 1;
    p->allocator = allocator;
    return p;
}

/* An ended pool, if its first chunk has so many bytes; else a new one. */
static inline __attribute__((always_inline)) apr_pool_t *
pool_make(apr_allocator_t *allocator, const apr_pool_t *parent, int scope, apr_size_t first_bytes)
{
    apr_pool_t *p = allocator->ended;

    if (__builtin_expect(p == NULL || allocator->mutex != NULL, 0) ||
        node_bytes(p->first) < first_bytes) {
        p = pool_make_new(allocator, parent, first_bytes);
        if (p == NULL)
            return NULL;
    } else {
        BRG_ASSERT_DEBUG(p->allocator == allocator && allocator->kept_units >= p->first->index + 1);
        allocator->ended = p->sibling;
        allocator->kept_units -= p->first->index + 1;
    }
    p->scope = (unsigned char)scope;
    return p;
}

apr_memnode_t *pool_ended_chunk(apr_allocator_t *a, apr_size_t size)
{
    apr_pool_t *p = a->ended;

    if (p == NULL || node_bytes(p->first) < size)
        return NULL;
    /* A module may use an allocator from two threads at once (mod_http2's, as a process ends): the list
     * cannot be relied on then. Its chunks are given up. */
    if (__builtin_expect(p->allocator != a || a->kept_units < p->first->index + 1, 0)) {
        a->ended = NULL;
        a->kept_units = 0;
        return NULL;
    }
    a->ended = p->sibling;
    a->kept_units -= p->first->index + 1;
    return p->first;
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
    p->abort_fn = abort_fn != NULL ? abort_fn : pool_root_abort;
    *newpool = p;
    return APR_SUCCESS;
}

APR_DECLARE(apr_status_t)
apr_pool_create_core_ex(apr_pool_t **newpool, apr_abortfunc_t abort_fn, apr_allocator_t *allocator)
{
    return apr_pool_create_unmanaged_ex(newpool, abort_fn, allocator);
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

/* The first pool of a scope: on its parent's allocator (@a parent not NULL), if that may be; else
 * on one that the thread kept, if any. */
static inline apr_pool_t *pool_make_scoped(const apr_pool_t *parent, int scope)
{
    memory_stack *stack = memory_scope_stack_now(scope);
    memory_thread *t = memory_thread_here();
    apr_size_t first = t->scope[scope].usual;
    apr_allocator_t *allocator;
    apr_pool_t *p;

    if (first > POOL_FIRST_MOST)
        first = POOL_FIRST_MOST;
    if (parent && (scope == BRG_SCOPE_REQUEST || scope == BRG_SCOPE_BUCKET) &&
        parent->allocator->stack == stack && memory_stack_shareable(parent->allocator))
        return pool_make(parent->allocator, parent, scope, first);
    allocator = memory_spare_take(t, scope, stack);
    if (__builtin_expect(allocator == NULL, 0))
        return pool_make_owner(stack, scope, first);
    p = pool_make(allocator, NULL, scope, first);
    if (__builtin_expect(p == NULL, 0))
        apr_allocator_destroy(allocator);
    else
        allocator->owner = p;
    return p;
}

static inline apr_status_t pool_begin_scope(apr_pool_t **pool, apr_pool_t *parent, brg_scope scope,
                                            int apart)
{
    apr_pool_t *p;

    *pool = NULL;
    if (parent == NULL)
        parent = pool_root;
    if (parent == NULL)
        return APR_ENOPOOL;
    p = pool_make_scoped(apart ? NULL : parent, (int)scope);
    if (p == NULL)
        return pool_create_failed(parent->abort_fn);
    if (pool_share(p, parent) != APR_SUCCESS) {
        apr_pool_destroy(p);
        return pool_create_failed(parent->abort_fn);
    }
    p->abort_fn = parent->abort_fn;
    p->begins_scope = apart ? POOL_SCOPE_APART : 1;
    pool_link(p, parent);
    *pool = p;
    return APR_SUCCESS;
}

BRG_DECLARE(apr_status_t)
brg_pool_create_scoped(apr_pool_t **pool, apr_pool_t *parent, brg_scope scope)
{
    return pool_begin_scope(pool, parent, scope, 0);
}

BRG_DECLARE(apr_status_t)
brg_pool_create_apart(apr_pool_t **pool, apr_pool_t *parent, brg_scope scope)
{
    return pool_begin_scope(pool, parent, scope, 1);
}

/* ---- the end ---- */

/* Everything that others hung on the pool, in cleanups too: pools that these made go with it. */
static inline void pool_end_contents(apr_pool_t *p)
{
    if (p->pre_cleanups != NULL)
        pool_cleanups_run(&p->pre_cleanups);
    for (;;) {
        while (p->child != NULL)
            apr_pool_destroy(p->child);
        if (p->cleanups == NULL)
            break;
        pool_cleanups_run(&p->cleanups);
    }
    if (p->processes != NULL)
        pool_processes_end(p);
}

/* Where the counts of a pool go when it is cleared or ends: to its parent, when both are of one
 * thread and scope, which is cheap; else to the thread's counters. */
static inline void pool_account(apr_pool_t *p)
{
    apr_pool_t *parent = p->parent;

    p->clears_n++;
    if (parent == NULL || p->begins_scope || parent->allocator != p->allocator ||
        p->allocator->mutex != NULL) {
        pool_tell_life(p);
        return;
    }
    parent->head.allocations += p->head.allocations;
    parent->head.zeroed += p->head.zeroed;
    parent->bytes_before += pool_bytes(p);
    parent->told_allocations += p->told_allocations;
    parent->told_bytes += p->told_bytes;
    parent->told_zeroed += p->told_zeroed;
    parent->cleanups_n += p->cleanups_n;
    parent->refills_n += p->refills_n;
    parent->clears_n += p->clears_n;
    parent->pools_n += p->pools_n;
}

/* As it was created, but for things that only the end of a pool takes away. */
static inline __attribute__((always_inline)) void pool_rewind(apr_pool_t *p)
{
    apr_memnode_t *more;

    BRG_ASSERT_DEBUG(!p->child && !p->cleanups && !p->processes);
    memset((char *)p + POOL_YOUNG_BEGIN, 0, POOL_CLEARED);
    memset((char *)p + POOL_YOUNG_BEGIN + POOL_CLEARED, 0,
           POOL_YOUNG_END - POOL_YOUNG_BEGIN - POOL_CLEARED);
    if (p->per_block) {
        pool_blocks_free(p);
        return;
    }
    more = p->first->next;
    if (__builtin_expect(more != NULL, 0)) {
        p->first->next = NULL;
        apr_allocator_free(p->allocator, more);
        p->current = p->first;
        p->chunks_n = 1;
        p->head.end = p->first->endp;
    }
    p->head.bump = p->counted = (char *)p + POOL_STRUCT;
}

/* Keep the pool for the allocator's next request. 0: the caller gives it up. */
static inline int pool_keep(apr_pool_t *p, apr_allocator_t *a)
{
    if (p->per_block || a->mutex != NULL || !allocator_has_room(a, p->first))
        return 0;
    BRG_ASSERT_DEBUG(p->allocator == a);
    pool_rewind(p);
    p->tag = NULL;
    p->begins_scope = p->traced = 0;
    p->pools_n = 1;
    p->sibling = a->ended;
    a->ended = p;
    a->kept_units += p->first->index + 1;
    return 1;
}

static void pool_give_up(apr_pool_t *p, apr_allocator_t *allocator, int at_once)
{
    if (p->per_block) {
        if (allocator->traced)
            pool_trace_destroyed(p);
        pool_blocks_free(p);
        allocator_block_free(allocator, p, sizeof(*p), p->per_block == 2);
    } else if (at_once) {
        allocator_release(allocator, p->first);
    } else {
        apr_allocator_free(allocator, p->first);
    }
}

APR_DECLARE(void) apr_pool_destroy(apr_pool_t *p)
{
    apr_allocator_t *allocator;
    int owner;

    pool_end_contents(p);
    pool_account(p);
    pool_unlink(p);
    if (__builtin_expect(p->origin != NULL, 0))
        pool_move_back(p);
    allocator = p->allocator;
    owner = allocator->owner == p;
    if (owner) /* the mutex lay in this pool, or in one below */
        allocator->mutex = NULL;
    if ((owner && !allocator->keeps_nodes) || !pool_keep(p, allocator))
        pool_give_up(p, allocator, owner && !allocator->keeps_nodes);
    if (owner && !(allocator->keeps_nodes && memory_spare_keep(allocator)))
        apr_allocator_destroy(allocator);
}

APR_DECLARE(void) apr_pool_clear(apr_pool_t *p)
{
    pool_end_contents(p);
    pool_account(p);
    if (__builtin_expect(p->traced, 0))
        pool_trace_cleared(p);
    if (__builtin_expect(p->origin != NULL, 0))
        pool_move_back(p);
    pool_rewind(p);
    if (p->allocator->owner == p)
        p->allocator->limit_hit = 0;
}
