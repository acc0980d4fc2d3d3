/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool that goes on with another memory system: its memory so far stays, new memory is the
 * new one's. A request does so when it is known for which virtual host it is, and in which sections, a
 * configuration when it says what it wants to be kept in.
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

/* Before the move, in the pool's own memory. NULL: there is none. */
static pool_origin *pool_origin_make(apr_pool_t *p)
{
    pool_origin *origin = apr_palloc(p, sizeof *origin);

    if (origin != NULL)
        *origin = (pool_origin){p->origin, p->allocator, p->first, p->records, p->per_block};
    return origin;
}

int pool_continue_on(apr_pool_t *p, memory_stack *stack)
{
    apr_allocator_t *a, *before = p->allocator;
    pool_origin *origin;

    if (before->stack == stack)
        return 0;
    if ((origin = pool_origin_make(p)) == NULL || (a = allocator_make(stack)) == NULL)
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

static void pool_move_to(apr_pool_t *p, const pool_origin *to)
{
    apr_allocator_t *a = p->allocator;

    BRG_ASSERT(a->owner == p);
    a->mutex = NULL;
    if (a->trace != NULL)
        pool_trace_moved(a, to->allocator);
    pool_blocks_free(p);
    if (p->first != NULL)
        allocator_release(a, p->first);
    apr_allocator_destroy(a);
    p->origin = to->before;
    p->allocator = to->allocator;
    p->first = to->first;
    p->records = to->records;
    p->per_block = to->per_block;
    p->spare = NULL;
}

void pool_move_back(apr_pool_t *p)
{
    BRG_ASSERT(p->origin != NULL);
    do
        pool_move_to(p, p->origin);
    while (p->origin != NULL);
    if (p->per_block)
        return;
    p->current = p->first;
    p->chunks_n = 1 + (p->first->next != NULL);
    p->head.end = p->first->endp;
}
