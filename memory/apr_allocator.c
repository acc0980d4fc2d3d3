/* SPDX-License-Identifier: Apache-2.0 */
/*
 * APR's allocators on memory systems: nodes of a multiple of 4096 bytes, kept on lists by size
 * between uses.
 *
 * The lists have a bit each in a word, so that the smallest node that is large enough is found with
 * one instruction. The last list holds every size from NODE_LISTS units up and is searched for the
 * first that fits.
 */
#include "allocator_private.h"
#include "brigade/assert.h"
#include "memory_scope.h"
#include <stdlib.h>
#include <string.h>

#define LAST_LIST (NODE_LISTS - 1)

/* Size of the node that has room for so many bytes, 0 when there is no such number. */
static apr_size_t allocator_node_size(apr_size_t bytes)
{
    apr_size_t size = (bytes + APR_MEMNODE_T_SIZE + NODE_UNIT - 1) & ~(NODE_UNIT - 1);

    if (size < bytes || ((size - 1) >> NODE_UNIT_SHIFT) > UINT32_MAX)
        return 0;
    return size < NODE_SMALLEST ? NODE_SMALLEST : size;
}

apr_allocator_t *allocator_make(memory_stack *stack)
{
    apr_allocator_t *a = memory_stack_spare(stack);

    if (a != NULL)
        return a;
    a = calloc(1, sizeof(*a));
    if (a != NULL && memory_stack_attach(stack, a) != 0) {
        free(a);
        a = NULL;
    }
    return a;
}

APR_DECLARE(apr_status_t) apr_allocator_create(apr_allocator_t **allocator)
{
    *allocator = allocator_make(memory_scope_stack(BRG_SCOPE_PROCESS));
    return *allocator != NULL ? APR_SUCCESS : APR_ENOMEM;
}

static inline apr_allocator_t *allocator_backer(apr_allocator_t *a)
{
    return a->backer != NULL ? a->backer : a;
}

static void *allocator_reserve_take(apr_allocator_t *a, apr_size_t bytes)
{
    apr_allocator_t *backer = allocator_backer(a);
    void *block;

    backer->limit_hit = 1;
    block =
        a->has_reserve && bytes <= ALLOCATOR_RESERVE - backer->reserve_used ? malloc(bytes) : NULL;
    if (block != NULL)
        backer->reserve_used += bytes;
    else
        memory_stack_refused(a->stack, bytes);
    return block;
}

static void allocator_reserve_return(apr_allocator_t *a, void *block, apr_size_t bytes)
{
    BRG_ASSERT(allocator_backer(a)->reserve_used >= bytes);
    allocator_backer(a)->reserve_used -= bytes;
    free(block);
}

static void allocator_give_back(apr_allocator_t *a, apr_memnode_t *node)
{
    if (node->free_index == NODE_FROM_RESERVE)
        allocator_reserve_return(a, node, node_bytes(node));
    else if (a->system != NULL)
        brg_sms_free(a->system, node, node_bytes(node));
    else
        free(node);
}

void allocator_release(apr_allocator_t *a, apr_memnode_t *nodes)
{
    apr_memnode_t *next;

    for (; nodes != NULL; nodes = next) {
        next = nodes->next;
        allocator_give_back(a, nodes);
    }
}

static void *allocator_ask(apr_allocator_t *a, apr_size_t size)
{
    return a->system != NULL ? brg_sms_allocate(a->system, size) : malloc(size);
}

void allocator_release_kept(apr_allocator_t *a)
{
    apr_memnode_t *node;
    apr_uint32_t left;

    for (left = a->stocked; left != 0; left &= left - 1) {
        apr_memnode_t **list = &a->lists[__builtin_ctz(left)];

        allocator_release(a, *list);
        *list = NULL;
    }
    while ((node = pool_ended_chunk(a, 0)) != NULL)
        allocator_give_back(a, node);
    a->stocked = 0;
    a->kept_units = 0;
}

/* Ask the system, under the lock: it may be one for a single thread. */
static __attribute__((noinline)) apr_memnode_t *allocator_node_make(apr_allocator_t *a,
                                                                    apr_size_t size)
{
    apr_memnode_t *node = pool_ended_chunk(a, size);
    apr_uint32_t mark = 0;

    BRG_ASSERT(size >= NODE_SMALLEST && size % NODE_UNIT == 0);
    if (node != NULL)
        return node;
    node = allocator_ask(a, size);
    if (node == NULL && (a->stocked != 0 || a->ended != NULL)) {
        allocator_release_kept(a); /* kept memory may be counted by a limit */
        node = allocator_ask(a, size);
    }
    if (node == NULL) {
        node = allocator_reserve_take(a, size);
        mark = NODE_FROM_RESERVE;
        if (node == NULL)
            return NULL;
    }
    node->index = (apr_uint32_t)((size >> NODE_UNIT_SHIFT) - 1);
    node->free_index = mark;
    node->endp = (char *)node + size;
    return node;
}

static inline apr_memnode_t *allocator_unlist(apr_allocator_t *a, unsigned list,
                                              apr_memnode_t **link)
{
    apr_memnode_t *node = *link;

    BRG_ASSERT_DEBUG(a->kept_units >= node->index + 1);
    *link = node->next;
    if (a->lists[list] == NULL)
        a->stocked &= ~((apr_uint32_t)1 << list);
    a->kept_units -= node->index + 1;
    return node;
}

/* A kept node of at least so many units, or NULL. */
static inline apr_memnode_t *allocator_take(apr_allocator_t *a, apr_size_t units)
{
    unsigned list = units <= LAST_LIST ? (unsigned)units - 1 : LAST_LIST;
    apr_uint32_t fitting = a->stocked & (~(apr_uint32_t)0 << list);
    apr_memnode_t **link;

    if (fitting == 0)
        return NULL;
    list = (unsigned)__builtin_ctz(fitting);
    if (list < LAST_LIST)
        return allocator_unlist(a, list, &a->lists[list]);
    for (link = &a->lists[list]; *link != NULL; link = &(*link)->next)
        if ((*link)->index + (apr_size_t)1 >= units)
            return allocator_unlist(a, list, link);
    return NULL;
}

static inline apr_memnode_t *allocator_get(apr_allocator_t *a, apr_size_t size)
{
    apr_memnode_t *node;

    if (__builtin_expect(a->mutex != NULL, 0))
        apr_thread_mutex_lock(a->mutex);
    node = allocator_take(a, size >> NODE_UNIT_SHIFT);
    if (node == NULL)
        node = allocator_node_make(a, size);
    if (__builtin_expect(a->mutex != NULL, 0))
        apr_thread_mutex_unlock(a->mutex);
    return node;
}

apr_memnode_t *allocator_node(apr_allocator_t *a, apr_size_t bytes)
{
    apr_size_t size = allocator_node_size(bytes);
    apr_memnode_t *node = size != 0 ? allocator_get(a, size) : NULL;

    if (node != NULL) {
        node->next = NULL;
        node->ref = NULL;
        node->first_avail = (char *)node + APR_MEMNODE_T_SIZE;
    }
    return node;
}

APR_DECLARE(apr_memnode_t *) apr_allocator_alloc(apr_allocator_t *allocator, apr_size_t size)
{
    apr_memnode_t *node = allocator_node(allocator, size);

    /* APR-util's bucket allocators do not look. */
    if (__builtin_expect(node == NULL, 0) && pool_root_abort != NULL)
        pool_root_abort(APR_ENOMEM);
    return node;
}

APR_DECLARE(apr_size_t) apr_allocator_align(apr_allocator_t *allocator, apr_size_t size)
{
    return allocator_node_size(size);
}

APR_DECLARE(void) apr_allocator_free(apr_allocator_t *allocator, apr_memnode_t *memnode)
{
    apr_memnode_t *node = memnode, *next;

    if (__builtin_expect(allocator->mutex != NULL, 0))
        apr_thread_mutex_lock(allocator->mutex);
    for (; node != NULL; node = next) {
        next = node->next;
        if (allocator_has_room(allocator, node))
            allocator_keep(allocator, node);
        else
            allocator_give_back(allocator, node);
    }
    if (__builtin_expect(allocator->mutex != NULL, 0))
        apr_thread_mutex_unlock(allocator->mutex);
}

void allocator_end(apr_allocator_t *a)
{
    allocator_release_kept(a);
    memory_stack_detach(a);
    free(a);
}

APR_DECLARE(void) apr_allocator_destroy(apr_allocator_t *allocator)
{
    if (!allocator->keeps_nodes)
        allocator_release_kept(allocator);
    if (!memory_spare_keep(allocator))
        allocator_end(allocator);
}

APR_DECLARE(void) apr_allocator_owner_set(apr_allocator_t *allocator, apr_pool_t *pool)
{
    allocator->owner = pool;
}

APR_DECLARE(apr_pool_t *) apr_allocator_owner_get(apr_allocator_t *allocator)
{
    return allocator->owner;
}

APR_DECLARE(void) apr_allocator_mutex_set(apr_allocator_t *allocator, apr_thread_mutex_t *mutex)
{
    allocator->mutex = mutex;
}

APR_DECLARE(apr_thread_mutex_t *) apr_allocator_mutex_get(apr_allocator_t *allocator)
{
    return allocator->mutex;
}

APR_DECLARE(void) apr_allocator_max_free_set(apr_allocator_t *allocator, apr_size_t size)
{
    apr_size_t units = (size + NODE_UNIT - 1) >> NODE_UNIT_SHIFT;

    if (allocator->mutex != NULL)
        apr_thread_mutex_lock(allocator->mutex);
    allocator->keep_units = units > UINT32_MAX ? UINT32_MAX : (apr_uint32_t)units;
    if (allocator->mutex != NULL)
        apr_thread_mutex_unlock(allocator->mutex);
}

/* ---- blocks of per-block pools ---- */

/* The lock covers a system that serves one thread at a time below an allocator that serves several.
 */
static inline void allocator_lock(apr_allocator_t *a)
{
    if (a->mutex != NULL)
        apr_thread_mutex_lock(a->mutex);
}

static inline void allocator_unlock(apr_allocator_t *a)
{
    if (a->mutex != NULL)
        apr_thread_mutex_unlock(a->mutex);
}

void *allocator_block(apr_allocator_t *a, apr_size_t bytes, const void *site, int *from_reserve)
{
    void *block;

    BRG_ASSERT(a->system != NULL);
    *from_reserve = 0;
    allocator_lock(a);
    block = brg_sms_allocate_from(a->system, bytes, site);
    if (block == NULL) {
        block = allocator_reserve_take(a, bytes);
        *from_reserve = block != NULL;
    }
    allocator_unlock(a);
    return block;
}

/* A block of the reserve stays one; another becomes one when the system refuses. */
static void *allocator_block_move(apr_allocator_t *a, void *block, apr_size_t old_bytes,
                                  apr_size_t bytes, int *from_reserve)
{
    void *moved;

    if (!*from_reserve) {
        moved = brg_sms_resize(a->system, block, old_bytes, bytes);
        if (moved != NULL)
            return moved;
    }
    moved = allocator_reserve_take(a, bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    if (*from_reserve)
        allocator_reserve_return(a, block, old_bytes);
    else
        brg_sms_free(a->system, block, old_bytes);
    *from_reserve = 1;
    return moved;
}

void *allocator_block_resize(apr_allocator_t *a, void *block, apr_size_t old_bytes,
                             apr_size_t bytes, int *from_reserve)
{
    void *moved;

    allocator_lock(a);
    moved = allocator_block_move(a, block, old_bytes, bytes, from_reserve);
    allocator_unlock(a);
    return moved;
}

void allocator_block_free(apr_allocator_t *a, void *block, apr_size_t bytes, int from_reserve)
{
    allocator_lock(a);
    if (from_reserve)
        allocator_reserve_return(a, block, bytes);
    else
        brg_sms_free(a->system, block, bytes);
    allocator_unlock(a);
}
