/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool that goes on with another memory system: what it has stays where it is, what comes is the
 * new one's. A request does so when it is known for which virtual host it is, a configuration when
 * it says what it wants to be kept in.
 */
#include "pool_private.h"
#include "brigade/assert.h"
#include "pool_trace.h"

static void pool_move_to_blocks(apr_pool_t *p)
{
    p->first = p->current = NULL;
    p->head.bump = p->head.end = p->counted = (char *)p;
    p->per_block = 1;
}

static int pool_move_to_chunks(apr_pool_t *p, apr_allocator_t *a)
{
    apr_memnode_t *chunk = allocator_node(a, 0);

    if (chunk == NULL)
        return -1;
    p->first = p->current = chunk;
    p->head.bump = p->counted = pool_chunk_start(chunk);
    p->head.end = chunk->endp;
    p->per_block = 0;
    return 0;
}

int pool_continue_on(apr_pool_t *p, memory_stack *stack)
{
    apr_allocator_t *a, *before = p->allocator;
    pool_origin origin = {before, p->first, p->records, p->per_block};

    if (p->origin.allocator != NULL || before->stack == stack)
        return 0;
    a = allocator_make(stack);
    if (a == NULL)
        return -1;
    pool_tell(p);
    if (a->per_block) {
        pool_move_to_blocks(p);
    } else if (pool_move_to_chunks(p, a) != 0) {
        apr_allocator_destroy(a);
        return -1;
    }
    BRG_ASSERT(a != before);
    p->origin = origin;
    p->records = NULL;
    p->spare = NULL;
    p->chunks_n = 1;
    a->owner = p;
    a->mutex = before->mutex;
    p->allocator = a;
    if (before->trace != NULL)
        pool_trace_moved(before, a);
    return 0;
}

void pool_move_back(apr_pool_t *p)
{
    apr_allocator_t *a = p->allocator;

    BRG_ASSERT(p->origin.allocator != NULL && a->owner == p);
    a->mutex = NULL;
    if (a->trace != NULL)
        pool_trace_moved(a, p->origin.allocator);
    pool_blocks_free(p);
    if (p->first != NULL)
        allocator_release(a, p->first);
    apr_allocator_destroy(a);
    p->allocator = p->origin.allocator;
    p->first = p->origin.first;
    p->records = p->origin.records;
    p->per_block = p->origin.per_block;
    p->origin.allocator = NULL;
    p->spare = NULL;
    if (p->per_block)
        return;
    p->current = p->first;
    p->chunks_n = 1 + (p->first->next != NULL);
    p->head.end = p->first->endp;
}
