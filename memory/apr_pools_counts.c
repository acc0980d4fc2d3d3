/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums from pools to the counters of their thread: not each allocation, but when a pool gets new
 * memory, is cleared or ends.
 */
#include "pool_private.h"
#include "pool_trace.h"

#define POOL_USUAL_DECAY 6 /* the usual need falls by 1/64 of the difference */

static inline void pool_tell_to(const apr_pool_t *p, memory_counts *mine, apr_uint64_t bytes)
{
    memory_count(&mine->allocations, p->head.allocations);
    memory_count(&mine->bytes, bytes);
    memory_count(&mine->zeroed, p->head.zeroed);
    memory_count(&mine->pools, p->pools_n);
    memory_count(&mine->clears, p->clears_n);
    memory_count(&mine->cleanups, p->cleanups_n);
    memory_count(&mine->refills, p->refills_n);
}

void pool_tell(apr_pool_t *p)
{
    apr_uint64_t bytes = pool_bytes(p);

    if (__builtin_expect(p->traced, 0))
        pool_trace_told(p);
    pool_tell_to(p, memory_counts_mine(p->scope), bytes);
    p->told_allocations += p->head.allocations;
    p->told_bytes += bytes;
    p->told_zeroed += p->head.zeroed;
    p->head.allocations = p->head.zeroed = 0;
    p->pools_n = p->clears_n = p->cleanups_n = p->refills_n = 0;
    p->bytes_before = 0;
    p->counted = p->head.bump;
}

/* Bytes that one chunk would have needed to hold all that the pool had. */
static inline apr_uint64_t pool_need(const apr_pool_t *p)
{
    const apr_memnode_t *chunk;
    apr_uint64_t need = (apr_uint64_t)(p->head.bump - (char *)p->current) + POOL_FIRST_PLACE +
                        POOL_PLACES * (POOL_STRUCT + POOL_CLEARED);

    if (p->chunks_n > 1)
        for (chunk = p->first; chunk != NULL; chunk = chunk->next)
            if (chunk != p->current)
                need += (apr_uint64_t)(chunk->first_avail - (char *)chunk);
    return need + BRG_POOL_ALIGNMENT;
}

static inline void pool_tell_life_to(const apr_pool_t *p, memory_counts *mine)
{
    apr_uint64_t need, usual, bytes = pool_bytes(p);

    pool_tell_to(p, mine, bytes);
    bytes += p->told_bytes;
    if (bytes > __atomic_load_n(&mine->high_water, __ATOMIC_RELAXED))
        __atomic_store_n(&mine->high_water, bytes, __ATOMIC_RELAXED);
    if (!p->begins_scope || p->per_block || p->origin != NULL || p->allocator->limit_hit)
        return;
    need = pool_need(p);
    usual = mine->usual; /* which only this thread writes */
    usual = need > usual ? need : usual - ((usual - need) >> POOL_USUAL_DECAY);
    __atomic_store_n(&mine->usual, usual, __ATOMIC_RELAXED);
}

/* Apart, so that the usual way calls nothing and needs no stack. */
static __attribute__((noinline)) void pool_tell_life_first(apr_pool_t *p)
{
    if (p->traced)
        pool_trace_told(p);
    pool_tell_life_to(p, memory_counts_mine(p->scope));
}

void pool_tell_life(apr_pool_t *p)
{
    memory_thread *t = memory_thread_mine;

    if (__builtin_expect(t == NULL || p->traced, 0))
        pool_tell_life_first(p);
    else
        pool_tell_life_to(p, &t->scope[p->scope]);
}
