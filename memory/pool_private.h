/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_POOL_PRIVATE_H
#define BRIGADE_POOL_PRIVATE_H

/*
 * A pool. It lies at the head of its first chunk (in a per-block pool: in a block of its own), so
 * that creating one takes one request to the allocator.
 *
 * Chunks hang from the first one by node->next, newest first. Allocations bump through one of them;
 * `spare` is another with some room left, for blocks that the current one is too full for.
 *
 * Threads: one at a time, except that children may be created, and end, while another thread uses
 * the parent: the links of the tree are guarded by the mutex of the parent's allocator, where it
 * has one.
 */
#include "allocator_private.h"
#include "memory_scope.h"
#include "apr_thread_proc.h"
#include "pool_inline.h"
#include <stddef.h>

typedef struct pool_cleanup {
    struct pool_cleanup *next;
    const void *data;
    apr_status_t (*plain)(void *);
    apr_status_t (*child)(void *);
} pool_cleanup;

typedef struct pool_process {
    struct pool_process *next;
    apr_proc_t *proc;
    apr_kill_conditions_e how;
} pool_process;

typedef struct pool_userdata {
    struct pool_userdata *next;
    const char *key;
    const void *data;
} pool_userdata;

/** For whom the record of a cleanup is allocated. */
#define POOL_CLEANUP_SITE ((const void *)(uintptr_t)apr_pool_cleanup_register)

/* Records of a per-block pool. */
#define POOL_RECORDS 62
typedef struct pool_record {
    void *block;
    apr_size_t bytes; /* shifted left by one; the lowest bit says that it was granted */
} pool_record;

typedef struct pool_records {
    struct pool_records *next;
    apr_size_t n;
    pool_record record[POOL_RECORDS];
} pool_records;

/* Where a pool was before pool_continue_on(), in that memory. The pool itself lies in the first of these. */
typedef struct pool_origin {
    const struct pool_origin *before; /* NULL: it had not moved then */
    apr_allocator_t *allocator;
    apr_memnode_t *first;
    pool_records *records;
    unsigned char per_block;
} pool_origin;

#define POOL_SCOPE_APART 2

struct apr_pool_t {
    brg_pool_head head;
    /* From head.allocations up to tag: zero in a pool that was just created or cleared. */
    apr_uint64_t bytes_before; /* of other chunks, and of pools below that ended */
    /* told to the thread's counters, since the pool was created or cleared */
    apr_uint64_t told_allocations, told_bytes, told_zeroed;
    /* as head.allocations, head.zeroed and pool_bytes(): not yet told */
    apr_uint32_t cleanups_n; /* registered */
    apr_uint32_t refills_n;
    apr_uint32_t clears_n;
    apr_uint32_t pools_n;   /* this one, and such that ended below it */
    pool_cleanup *cleanups; /* newest first */
    pool_cleanup *free_cleanups;
    pool_cleanup *pre_cleanups;
    pool_process *processes;
    pool_userdata *userdata;
    apr_memnode_t *spare;   /* or NULL */
    const char *tag;        /* past the young part: it stays when the pool is cleared */
    apr_memnode_t *current; /* the chunk of head.bump */
    apr_memnode_t *first;   /* NULL in a per-block pool */
    char *counted;          /* bytes before this one in the current chunk are counted elsewhere */
    apr_allocator_t *allocator;
    apr_pool_t *parent;
    apr_pool_t *child; /* newest first */
    apr_pool_t *sibling;
    apr_pool_t **link; /* the pointer to this pool among the siblings */
    apr_abortfunc_t abort_fn;
    unsigned char scope;
    /* 1, or POOL_SCOPE_APART: another thread than its parent's may use it */
    unsigned char begins_scope;
    unsigned char per_block;
    unsigned char traced; /* its number in a trace; 0: it is in none */
    apr_uint32_t chunks_n;
    pool_records *records;     /* per-block */
    const pool_origin *origin; /* NULL: it did not move */
};

#define POOL_YOUNG_BEGIN offsetof(apr_pool_t, head.allocations)
#define POOL_YOUNG_END offsetof(apr_pool_t, tag)

/** Bytes handed out that the thread's counters do not know. */
static inline apr_uint64_t pool_bytes(const apr_pool_t *p)
{
    return p->bytes_before + (apr_uint64_t)(p->head.bump - p->counted);
}

/** A pool without links to others, on an allocator of its own, which ends with it. NULL stack:
 * malloc. NULL when memory is out. */
apr_pool_t *pool_make_owner(memory_stack *stack, int scope, apr_size_t first_bytes);

/** The end of a failed allocation: calls the abort function. @return NULL */
void *pool_out_of_memory(apr_pool_t *p);

/** The end of a failed creation: the same, without a pool. @return APR_ENOMEM */
apr_status_t pool_create_failed(apr_abortfunc_t abort_fn);

/** Add the allocations since the last time to the thread's counters. */
void pool_tell(apr_pool_t *p);

/** The same for a pool that is about to be cleared or to end, with the figures of its whole life.
 */
void pool_tell_life(apr_pool_t *p);

/* Where in its chunk a pool may lie. */
#define POOL_PLACES 4
#define POOL_FIRST_PLACE (APR_MEMNODE_T_SIZE + POOL_CLEARED) /* at most */

/* A cache line. Compilers clear that much with a few stores; the loop of string instructions that
 * they take for more costs as much as the rest of creating a pool. */
#define POOL_CLEARED 64

#define POOL_STRUCT ((sizeof(apr_pool_t) + POOL_CLEARED - 1) / POOL_CLEARED * POOL_CLEARED)

/** A chunk with room for so many bytes more than a header, not yet linked. NULL: the caller reports
 * it. */
apr_memnode_t *pool_chunk(apr_pool_t *p, apr_size_t bytes);

/** Allocate from a chunk of pool_chunk: its first @a used bytes. The pool goes on in it if it has
 * more room. */
void pool_chunk_add(apr_pool_t *p, apr_memnode_t *chunk, apr_size_t used);

static inline char *pool_chunk_start(apr_memnode_t *chunk)
{
    return (char *)chunk + BRG_POOL_ROUND(APR_MEMNODE_T_SIZE);
}

/* Per-block pools. */
void *pool_block(apr_pool_t *p, apr_size_t n, const void *site);
/** Resize the newest block of the pool. NULL: it stays. */
void *pool_block_resize(apr_pool_t *p, void *block, apr_size_t old_bytes, apr_size_t n);
/** Free all blocks, in reverse order. */
void pool_blocks_free(apr_pool_t *p);

/** Free all that came after the first pool_continue_on(). The pool must be rewound next, or end. */
void pool_move_back(apr_pool_t *p);

void pool_cleanups_run(pool_cleanup **list);
void pool_processes_end(apr_pool_t *p);

/** The pool of all pools, or NULL before apr_pool_initialize and after apr_pool_terminate. */
extern apr_pool_t *pool_root __attribute__((visibility("hidden")));

#endif
