/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_POOL_INLINE_H
#define BRIGADE_POOL_INLINE_H

/*
 * The bump path of pools, inline. The build forces this header into every file of server/, where
 * apr_palloc and apr_pcalloc become these functions; everybody else (APR, APR-util, filters,
 * modules) calls the exported ones, which are the same code behind a call.
 *
 * apr_table_get() becomes that of pool_table.h.
 *
 * A pool begins with brg_pool_head. In a per-block pool bump equals end for ever, so that every
 * request goes the slow way without a test of its own.
 */
#include "apr_pools.h"
#include "pool_table.h"
#include <stdint.h>
#include <string.h>

#define BRG_POOL_ALIGNMENT 16
#define BRG_POOL_ROUND(n) (((n) + (BRG_POOL_ALIGNMENT - 1)) & ~(apr_size_t)(BRG_POOL_ALIGNMENT - 1))

typedef struct brg_pool_head {
    char *bump;           /* next free byte of the current chunk; aligned */
    char *end;            /* end of that chunk; aligned: a size that fits unrounded fits rounded */
    uint64_t allocations; /* not yet told to the counters of a thread */
    uint64_t zeroed;      /* bytes that the pool itself cleared, likewise */
} brg_pool_head;

/** A block from a new chunk, or NULL after the abort function was called. Counts the allocation. @a
 * site is where it is asked for, NULL: where this is called from. */
__attribute__((visibility("hidden"))) void *pool_alloc_slow(apr_pool_t *p, apr_size_t n,
                                                            const void *site);

static inline __attribute__((always_inline)) void *pool_alloc_at(apr_pool_t *p, apr_size_t n,
                                                                 const void *site)
{
    brg_pool_head *head = (brg_pool_head *)p;
    char *block = head->bump;

    if (__builtin_expect(n > (apr_size_t)(head->end - block), 0))
        return pool_alloc_slow(p, n, site);
    head->allocations++;
    head->bump = block + BRG_POOL_ROUND(n);
    return block;
}

static inline __attribute__((always_inline)) void *pool_alloc(apr_pool_t *p, apr_size_t n)
{
    return pool_alloc_at(p, n, NULL);
}

static inline __attribute__((always_inline)) void *pool_calloc_at(apr_pool_t *p, apr_size_t n,
                                                                  const void *site)
{
    void *block = pool_alloc_at(p, n, site);

    if (__builtin_expect(block == NULL, 0))
        return NULL;
    ((brg_pool_head *)p)->zeroed += n;
    return memset(block, 0, n);
}

static inline __attribute__((always_inline)) void *pool_calloc(apr_pool_t *p, apr_size_t n)
{
    return pool_calloc_at(p, n, NULL);
}

#ifdef BRIGADE_POOL_INLINE
#define apr_table_get(t, key) pool_table_get(t, key)
#define apr_palloc(p, n) pool_alloc(p, n)
#undef apr_pcalloc
#define apr_pcalloc(p, n) pool_calloc(p, n)
#endif

#endif
