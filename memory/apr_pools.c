/* SPDX-License-Identifier: Apache-2.0 */
/*
 * APR's pools on memory systems: allocation.
 *
 * The common case is in pool_inline.h. This is the case of a full chunk, and in
 * pools that ask their memory system for every block.
 */
#include "pool_private.h"
#include "brigade/assert.h"
#include "pool_trace.h"
#include <stdlib.h>

/* Later chunks are larger, so that a pool that grows much asks seldom: 8 KB, doubled after each 4
 * chunks to 64 KB. */
#define POOL_CHUNK_STEP 4
#define POOL_CHUNK_DOUBLINGS 3

#define POOL_LARGEST (SIZE_MAX / 4)

APR_DECLARE(void *) apr_palloc(apr_pool_t *p, apr_size_t size)
{
    return pool_alloc_at(p, size, __builtin_return_address(0));
}

APR_DECLARE(void *) apr_pcalloc(apr_pool_t *p, apr_size_t size)
{
    return pool_calloc_at(p, size, __builtin_return_address(0));
}

void *pool_out_of_memory(apr_pool_t *p)
{
    if (p->abort_fn != NULL)
        p->abort_fn(APR_ENOMEM);
    return NULL;
}

apr_memnode_t *pool_chunk(apr_pool_t *p, apr_size_t bytes)
{
    apr_uint32_t doublings = p->chunks_n / POOL_CHUNK_STEP;
    apr_size_t usual;

    if (doublings > POOL_CHUNK_DOUBLINGS)
        doublings = POOL_CHUNK_DOUBLINGS;
    usual = (NODE_SMALLEST << doublings) - APR_MEMNODE_T_SIZE;
    bytes += BRG_POOL_ALIGNMENT; /* the header is no multiple of it */
    return allocator_node(p->allocator, bytes > usual ? bytes : usual);
}

static inline apr_size_t pool_chunk_room(const apr_memnode_t *chunk)
{
    return (apr_size_t)(chunk->endp - chunk->first_avail);
}

/* Remember the chunk if it has more room than the spare one. */
static void pool_chunk_spare(apr_pool_t *p, apr_memnode_t *chunk)
{
    if (p->spare == NULL || pool_chunk_room(chunk) > pool_chunk_room(p->spare))
        p->spare = chunk;
}

void pool_chunk_add(apr_pool_t *p, apr_memnode_t *chunk, apr_size_t used)
{
    char *start = pool_chunk_start(chunk);

    chunk->next = p->first->next;
    p->first->next = chunk;
    p->chunks_n++;
    p->refills_n++;
    chunk->first_avail = start + BRG_POOL_ROUND(used);
    BRG_ASSERT(chunk->first_avail <= chunk->endp);
    if (chunk->endp - chunk->first_avail <= p->head.end - p->head.bump) {
        p->bytes_before += BRG_POOL_ROUND(used);
        pool_chunk_spare(p, chunk);
        return;
    }
    p->bytes_before = pool_bytes(p);
    p->current->first_avail = p->head.bump;
    pool_chunk_spare(p, p->current);
    p->current = chunk;
    p->counted = start;
    p->head.bump = chunk->first_avail;
    p->head.end = chunk->endp;
    pool_tell(p);
}

__attribute__((noinline, cold)) void *pool_alloc_slow(apr_pool_t *p, apr_size_t n, const void *site)
{
    apr_memnode_t *chunk = p->spare;
    apr_size_t rounded = BRG_POOL_ROUND(n);
    char *block;

    BRG_ASSERT_DEBUG(p->head.bump <= p->head.end);
    if (n > POOL_LARGEST) {
        memory_stack_refused(p->allocator->stack, n);
        return pool_out_of_memory(p);
    }
    if (p->per_block)
        return pool_block(p, n, site != NULL ? site : __builtin_return_address(0));
    if (chunk != NULL && rounded <= pool_chunk_room(chunk)) {
        block = chunk->first_avail;
        chunk->first_avail += rounded;
        p->bytes_before += rounded;
        p->head.allocations++;
        return block;
    }
    chunk = pool_chunk(p, rounded);
    if (chunk == NULL)
        return pool_out_of_memory(p);
    p->head.allocations++;
    pool_chunk_add(p, chunk, n);
    return pool_chunk_start(chunk);
}

/* ---- one block per allocation ---- */

static pool_record *pool_record_new(apr_pool_t *p)
{
    pool_records *page = p->records;

    if (page == NULL || page->n == POOL_RECORDS) {
        page = malloc(sizeof(*page));
        if (page == NULL) {
            memory_stack_refused(NULL, sizeof(*page));
            return NULL;
        }
        page->next = p->records;
        page->n = 0;
        p->records = page;
        pool_tell(p);
    }
    return &page->record[page->n++];
}

void *pool_block(apr_pool_t *p, apr_size_t n, const void *site)
{
    pool_record *record = pool_record_new(p);
    int from_reserve;

    if (record == NULL)
        return pool_out_of_memory(p);
    record->block = allocator_block(p->allocator, n, site, &from_reserve);
    if (record->block == NULL) {
        p->records->n--;
        return pool_out_of_memory(p);
    }
    record->bytes = n << 1 | (apr_size_t)from_reserve;
    p->head.allocations++;
    p->bytes_before += n;
    if (p->traced)
        pool_trace_block(p, n, site);
    return record->block;
}

void *pool_block_resize(apr_pool_t *p, void *block, apr_size_t old_bytes, apr_size_t n)
{
    pool_record *record = &p->records->record[p->records->n - 1];
    int from_reserve = (int)(record->bytes & 1);
    void *moved;

    BRG_ASSERT(p->per_block && p->records->n > 0 && record->block == block);
    moved = allocator_block_resize(p->allocator, block, old_bytes, n, &from_reserve);

    if (moved == NULL)
        return NULL;
    record->block = moved;
    record->bytes = n << 1 | (apr_size_t)from_reserve;
    p->bytes_before += n - old_bytes;
    if (p->traced)
        pool_trace_resized(p, n);
    return moved;
}

void pool_blocks_free(apr_pool_t *p)
{
    pool_records *page, *next;

    for (page = p->records; page != NULL; page = next) {
        next = page->next;
        while (page->n-- > 0)
            allocator_block_free(p->allocator, page->record[page->n].block,
                                 page->record[page->n].bytes >> 1,
                                 (int)(page->record[page->n].bytes & 1));
        free(page);
    }
    p->records = NULL;
}
