/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMORY_H
#define BRIGADE_MEMORY_H

/**
 * @file brigade/memory.h
 * Scopes: the memory system behind the pools of a part of the server, and their use of it.
 *
 * Every pool belongs to a scope. A pool that is created with apr_pool_create() is of its parent's
 * scope; brg_pool_create_scoped() begins a scope. Systems are described in brigade/sms.h.
 *
 * Where the server was built with stock APR pools (BRIGADE_MEMORY=OFF), pools are created all the
 * same and all figures are 0.
 */
#include "apr_pools.h"
#include "brigade/declare.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum brg_scope {
    /** lives as long as the process, and everything without another scope */
    BRG_SCOPE_PROCESS,
    BRG_SCOPE_CONFIGURATION, /**< one reading of the configuration */
    BRG_SCOPE_CONNECTION,
    BRG_SCOPE_REQUEST,
    BRG_SCOPE_BUCKET, /**< bucket allocators of connections */
    BRG_SCOPE_LOG,
    BRG_SCOPES_N
} brg_scope;

/** The use of memory by the pools of one scope. Sums over threads; pools are added when they get
 * new memory, are cleared or end. */
typedef struct brg_memory_figures {
    uint64_t pools;            /**< created */
    uint64_t clears;           /**< cleared or destroyed */
    uint64_t allocations;      /**< blocks handed out */
    uint64_t bytes;            /**< in them, with rounding */
    uint64_t zeroed_bytes;     /**< of these: cleared by the pool on request */
    uint64_t cleanups;         /**< registered */
    uint64_t refills;          /**< times that a pool needed more than its first chunk */
    uint64_t high_water_bytes; /**< most that one pool held when it was cleared or destroyed */
} brg_memory_figures;

/** A pool's own use, and that of pools below it in the same scope, since it was created or cleared.
 */
typedef struct brg_pool_figures {
    uint64_t allocations;
    uint64_t bytes;
    uint64_t zeroed_bytes; /**< of these: that the pool cleared (apr_pcalloc) */
} brg_pool_figures;

/** "request" and so on; NULL for other numbers. */
BRG_DECLARE(const char *) brg_scope_name(int scope);

/** The scope with this name, case ignored, or -1. */
BRG_DECLARE(int) brg_scope_by_name(const char *name);

/**
 * Create a pool that begins a scope. As apr_pool_create(), and destroyed as every pool.
 * Threads: as apr_pool_create(). Blocking: no. Errors: APR_ENOMEM.
 */
BRG_DECLARE(apr_status_t)
brg_pool_create_scoped(apr_pool_t **pool, apr_pool_t *parent, brg_scope scope);

/**
 * The same, with memory of its own: from the return on another thread than that of @a parent may use the pool, one at a
 * time. It is still ended with @a parent, or before, by the thread of @a parent.
 */
BRG_DECLARE(apr_status_t)
brg_pool_create_apart(apr_pool_t **pool, apr_pool_t *parent, brg_scope scope);

/** Answers of brg_pool_refused(): a memory system refused memory, and the pool uses its emergency reserve of 64 MB. */
#define BRG_POOL_REFUSED 1
#define BRG_POOL_RESERVE_LOW 2 /**< half of the reserve is used; at its end the process ends */

/**
 * Whether a memory system refused memory to this pool, to one that shares its allocator, or to a
 * bucket allocator of its own: 0 or one of the above. Whoever owns the pool should come to an end
 * with it soon. Cleared by apr_pool_clear() of the allocator's owner.
 */
BRG_DECLARE(int) brg_pool_refused(const apr_pool_t *pool);

/** The HTTP status with which a request ends whose pool was refused memory: that of the system that
 * refused (`limit(16M, status=413)`), or 503. */
BRG_DECLARE(int) brg_pool_refusal_status(const apr_pool_t *pool);

/** Handling of the data of requests and responses. Sums over threads. */
typedef struct brg_buffer_figures {
    /** buffers, mappings and files that buckets were made for, and bodies that the server remembers */
    uint64_t created;
    /** times that such a one, or data that needs no owner, was referred to once more in place of a
     * copy */
    uint64_t shared;
    uint64_t copied;       /**< times that data was copied from one buffer into another */
    uint64_t copied_bytes; /**< in these */
    /** times that a buffer was too small, and its data went into a larger one; not among   the copies */
    uint64_t grown;
    uint64_t grown_bytes; /**< in these */
} brg_buffer_figures;

/**
 * Count by hand. Needed only for a module's own buffers: buckets of the types of APR-util count by
 * themselves when they are made, copied, split, or copied because they are set aside. Heads are
 * composed, and not counted. Threads: any. Blocking: no.
 */
BRG_DECLARE(void) brg_buffer_created(void);
BRG_DECLARE(void) brg_buffer_shared(void);
BRG_DECLARE(void) brg_buffer_copied(apr_size_t bytes);
BRG_DECLARE(void) brg_buffer_grown(apr_size_t bytes);

/** Threads: any. */
BRG_DECLARE(void) brg_buffer_figures_get(brg_buffer_figures *out);

/** Threads: the user of the pool. */
BRG_DECLARE(void) brg_pool_figures_get(const apr_pool_t *pool, brg_pool_figures *out);

/** Threads: any. */
BRG_DECLARE(void) brg_memory_figures_get(brg_scope scope, brg_memory_figures *out);

/** Begin to count anew, in scopes, in their systems, and of buffers. Threads: any. */
BRG_DECLARE(void) brg_memory_figures_reset(void);

/** The specification of a scope's memory system: "arena(chunk=64K)". Constant until the next
 * configuration. */
BRG_DECLARE(const char *) brg_scope_spec(brg_scope scope);

/** 1 where the configuration wants figures to be shown (MemoryReport On). */
BRG_DECLARE(int) brg_memory_reported(void);

struct brg_sms;

/**
 * The systems below a scope that all its pools share, from the outermost inwards.
 * @return the @a n th, from 0, or NULL after the last
 */
BRG_DECLARE(const struct brg_sms *) brg_scope_system(brg_scope scope, int n);

/** A memory system that requests of virtual hosts or sections draw from in place of their scope's. */
typedef struct brg_host_system {
    const char *name; /**< "name, line NUMBER" of the first virtual host or section that has it */
    const char *spec; /**< as brg_scope_spec() */
    /** as brg_scope_system(BRG_SCOPE_REQUEST, 0), its parent is the next; may be NULL */
    const struct brg_sms *system;
} brg_host_system;

/** The @a n th of them, from 0. @return 1; 0: there are no more. Threads: any. As long as the process. */
BRG_DECLARE(int) brg_host_system_get(int n, brg_host_system *out);

#ifdef __cplusplus
}
#endif

#endif
