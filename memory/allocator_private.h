/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ALLOCATOR_PRIVATE_H
#define BRIGADE_ALLOCATOR_PRIVATE_H

/*
 * The structure of an allocator, for pools. Sizes are bytes unless a name says units; a unit is 4096 bytes.
 *
 * Nodes come from the allocator's memory system, or from malloc where it has none, and are kept on
 * lists by size when they are freed. An allocator is *direct* when its system keeps free memory by
 * itself and may be called from any thread: its lists stay empty, and it needs no lock to be
 * shared.
 *
 * Threads: as APR says, one at a time, unless a mutex is set.
 */
#include "apr_declared.h"
#include "brigade/memory.h"
#include "brigade/sms.h"

#define NODE_UNIT_SHIFT 12
#define NODE_UNIT ((apr_size_t)1 << NODE_UNIT_SHIFT)
#define NODE_SMALLEST (2 * NODE_UNIT)
#define NODE_LISTS 32

/* In free_index of a node that came from the emergency reserve: it goes back to free(). */
#define NODE_FROM_RESERVE 0x6a4d1e5fu

/* The emergency reserve: bytes that an allocator hands out, from malloc, after its system refused. Code of APR does not
 * expect a refusal, so it goes on with these to the point where the server looks at allocator->limit_hit. */
#define ALLOCATOR_RESERVE ((apr_size_t)64 << 20)

typedef struct memory_stack memory_stack;

struct apr_allocator_t {
    brg_sms *system;           /* NULL: malloc */
    apr_uint32_t stocked;      /* bit i: lists[i] is not empty */
    unsigned char direct;      /* lists unused */
    unsigned char keeps_nodes; /* keeps nodes when it is kept for the thread's next one */
    unsigned char per_block;   /* pools ask the system for every block */
    unsigned char traced;      /* calls of its pools are recorded */
    unsigned char has_reserve; /* hands out up to ALLOCATOR_RESERVE after a refusal */
    signed char scope;         /* of the stack; -1: none */
    unsigned char limit_hit;   /* the system refused since the last apr_pool_clear of the owner */
    apr_uint32_t keep_units;   /* most that the lists may hold; 0: no limit */
    apr_uint32_t kept_units;
    apr_thread_mutex_t *mutex; /* NULL: used by one thread at a time */
    apr_pool_t *owner;         /* its destruction ends the allocator */
    apr_size_t reserve_used;   /* bytes beyond the system, at the moment */
    apr_allocator_t *backer;   /* whose reserve and limit_hit it uses; NULL: its own */
    memory_stack *stack;       /* where system was built; it is given back there. NULL: malloc */
    struct pool_trace *trace;  /* of the request whose pool owns this; see pool_trace.h */
    apr_pool_t *ended; /* pools ready to begin anew, by sibling; their first chunks count as kept */
    apr_memnode_t *lists[NODE_LISTS];
};

/** Called when memory is out and the pool has no abort function; NULL: nothing is called. */
extern apr_abortfunc_t pool_root_abort __attribute__((visibility("hidden")));

/** An allocator on a stack; NULL stack: malloc. NULL when memory is out. */
apr_allocator_t *allocator_make(memory_stack *stack);

/** Room for @a bytes in a node, or NULL. As apr_allocator_alloc. */
apr_memnode_t *allocator_node(apr_allocator_t *a, apr_size_t bytes);

/** End it, and keep nothing. */
void allocator_end(apr_allocator_t *a);

/** Give all nodes on its lists to the system. */
void allocator_release_kept(apr_allocator_t *a);

/** Give a chain of nodes to the system at once, not to the lists. */
void allocator_release(apr_allocator_t *a, apr_memnode_t *nodes);

/** The chunk of a kept pool, which is no pool any more (apr_pools_life.c). NULL: the newest has not
 * so many bytes, or no pool is kept. */
apr_memnode_t *pool_ended_chunk(apr_allocator_t *a, apr_size_t size);

/** A block for a per-block pool, or NULL. *from_reserve: the system refused it; pass that to
 * block_free. @a site is where it was asked for, for reports. */
void *allocator_block(apr_allocator_t *a, apr_size_t bytes, const void *site, int *from_reserve);
void *allocator_block_resize(apr_allocator_t *a, void *block, apr_size_t old_bytes,
                             apr_size_t bytes, int *from_reserve);
void allocator_block_free(apr_allocator_t *a, void *block, apr_size_t bytes, int from_reserve);

static inline int allocator_has_room(const apr_allocator_t *a, const apr_memnode_t *node)
{
    if (a->direct || node->free_index == NODE_FROM_RESERVE)
        return 0;
    return a->keep_units == 0 ||
           (apr_uint64_t)a->kept_units + node->index + 1 <= (apr_uint64_t)a->keep_units;
}

static inline void allocator_keep(apr_allocator_t *a, apr_memnode_t *node)
{
    unsigned list = node->index < NODE_LISTS - 1 ? node->index : NODE_LISTS - 1;

    node->next = a->lists[list];
    a->lists[list] = node;
    a->stocked |= (apr_uint32_t)1 << list;
    a->kept_units += node->index + 1;
}

static inline apr_size_t node_bytes(const apr_memnode_t *node)
{
    return ((apr_size_t)node->index + 1) << NODE_UNIT_SHIFT;
}

#endif
