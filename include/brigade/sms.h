/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SMS_H
#define BRIGADE_SMS_H

/**
 * @file brigade/sms.h
 * Memory systems.
 *
 * A memory system (SMS) hands out blocks and takes the memory for them from a parent system, in pieces called chunks;
 * the last parent is the operating system. Kinds are stacked by a textual specification, outermost first:
 *
 *     limit(16M) arena(chunk=64k)
 *
 * Pools sit on top. On a *chunked* kind a pool takes whole chunks and bumps a pointer inside them,
 * so that the table below is called once per chunk and never per allocation. On a *per-block* kind
 * every allocation is one call, as debugging kinds and general-purpose allocators need.
 *
 * Sizes are bytes. Blocks are aligned to 16. The caller of free and resize tells the block's size: systems keep no
 * headers for it. A request for 0 bytes gives a block of its own. Sizes that overflow when rounded give NULL.
 */
#include "apr_pools.h"
#include "brigade/declare.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BRG_SMS_ALIGNMENT 16

/** Values of brg_sms_ops.per_block. */
#define BRG_SMS_CHUNKED 0   /**< pools take chunks and bump in them */
#define BRG_SMS_PER_BLOCK 1 /**< pools call for every block */
#define BRG_SMS_AS_PARENT 2 /**< whichever the parent is */

typedef struct brg_sms brg_sms;

/** Counters of one system. Sums over threads; each is exact, but they are not of one moment. */
typedef struct brg_sms_figures {
    uint64_t allocations;     /**< blocks handed out */
    uint64_t bytes;           /**< asked for, in these */
    uint64_t frees;           /**< blocks taken back one by one */
    uint64_t refills;         /**< requests to the parent */
    uint64_t remote_frees;    /**< blocks that came back from another thread */
    uint64_t resets;
    uint64_t failures;        /**< requests answered with NULL */
    uint64_t live_bytes;      /**< handed out now */
    /** most of live_bytes since the last reset of the counters: exact where one thread uses the
     * system, else 64 KB per thread too low at most */
    uint64_t high_water_bytes;
    uint64_t held_bytes;      /**< taken from the parent and not given back */
} brg_sms_figures;

/** Which threads may call a system. Each kind states its rule. */
typedef enum brg_sms_threads {
    /** one at a time, handed over with the pool that uses it; `kind(shared)` adds a lock, and then
     * any thread may */
    BRG_SMS_ONE_THREAD,
    BRG_SMS_ANY_THREAD  /**< any, at the same time */
} brg_sms_threads;

/** The functions of a kind. Constant; lives as long as its module. */
typedef struct brg_sms_ops {
    const char *kind;        /**< name in specifications */
    brg_sms_threads threads;
    int per_block;           /**< BRG_SMS_CHUNKED, _PER_BLOCK or _AS_PARENT */

    /** A block of at least @a bytes, or NULL. */
    void *(*allocate)(brg_sms *s, size_t bytes);
    /** Make a block larger or smaller, in place or by a move that keeps min(old, new) bytes. NULL: it stays as it was.
     *  May be NULL: then resize is allocate, copy, free. */
    void *(*resize)(brg_sms *s, void *block, size_t old_bytes, size_t bytes);
    /** Take a block back. May be NULL for a system that only resets. */
    void (*free)(brg_sms *s, void *block, size_t bytes);
    /** Take all blocks back. Only where no other thread uses the system. May be NULL: the caller frees each. */
    void (*reset)(brg_sms *s);
    /** Give everything to the parent and end. The brg_sms itself is freed by the caller of this function. A kind
     *  without reset keeps no record of its blocks: each must have been freed before. */
    void (*destroy)(brg_sms *s);
    /** Fill in figures that the kind knows better than the common counters. May be NULL. */
    void (*statistics)(const brg_sms *s, brg_sms_figures *out);
    /** 1 if the block is one of this system's that is handed out. May be NULL: not known. */
    int (*owns)(const brg_sms *s, const void *block);

    /* Each of the rest may be NULL. */

    /** Write the parameters in force, "chunk=64K,keep=2M", into @a out of @a n bytes. */
    void (*describe)(const brg_sms *s, char *out, size_t n);
    /** The largest size that takes no more memory than @a bytes does. */
    size_t (*good_size)(const brg_sms *s, size_t bytes);
    /** Give the calling thread's reserve to the parent. */
    void (*trim)(brg_sms *s);
    /** The content of a part of a block is of no use any more: give the memory behind it back, but not the part. It has
     *  any content afterwards. */
    void (*discard)(brg_sms *s, void *part, size_t bytes);
    /** Report noteworthy facts (live blocks and their call sites), line by line. */
    void (*report)(const brg_sms *s, void (*line)(void *baton, const char *text), void *baton);
    /** Walk the invariants; NULL or the broken one. Only where no other thread uses the system. */
    const char *(*verify)(const brg_sms *s);
    /** The HTTP status for a request whose memory this system refused last; 0: it did not refuse,
     *  its parent did, or it has no opinion. */
    int (*refusal_status)(const brg_sms *s);
} brg_sms_ops;

/** Every system begins with this. A kind allocates its own larger struct with brg_sms_make(). */
struct brg_sms {
    uint32_t magic;
    uint32_t flags;            /**< the framework's own */
    const brg_sms_ops *ops;
    brg_sms *parent;           /**< NULL for the operating system */
    struct brg_sms_counts *counts; /**< per-thread counters; see brg_sms_statistics() */
};

/** One parameter of a specification: `16M` has no name, `chunk=64k` has. */
typedef struct brg_sms_param {
    const char *name;  /**< NULL for a positional one */
    const char *value; /**< as written */
} brg_sms_param;

/**
 * Makes a system of a kind.
 *
 * @param out     [out] the system, on success
 * @param parent  [in]  where chunks come from; lives longer
 * @param params  [in]  @a params_n of them; a kind refuses unknown ones
 * @param p       [in]  for messages only; may be NULL
 * @return NULL, or a message for the administrator: constant, or brg_sms_message()
 */
typedef const char *brg_sms_create_fn(brg_sms **out, brg_sms *parent, const brg_sms_param *params, int params_n,
                                      apr_pool_t *p);

/**
 * Offer a kind by name. Call from a module's register_hooks function, each time that it runs.
 *
 * @param name   word in specifications
 * @param help   parameters and their meaning, one line, for error messages
 * Lifetime: until the configuration pool is cleared. Threads: the main thread.
 */
BRG_DECLARE(void) brg_sms_kind_register(const char *name, brg_sms_create_fn *create, const char *help);

/** A message in @a p; without a pool, in a buffer of the calling thread that its next message overwrites. */
BRG_DECLARE(const char *) brg_sms_message(apr_pool_t *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * Take a chunk for system @a s from its parent, and give it back: counts refills and held bytes.
 * Kinds that take memory from elsewhere (a library) need neither.
 */
BRG_DECLARE(void *) brg_sms_take(brg_sms *s, size_t bytes) __attribute__((warn_unused_result));
BRG_DECLARE(void) brg_sms_give(brg_sms *s, void *chunk, size_t bytes);

/** Space for a kind's struct, zeroed, its brg_sms filled in. NULL when memory is out. */
BRG_DECLARE(brg_sms *) brg_sms_make(size_t bytes, const brg_sms_ops *ops, brg_sms *parent);

/**
 * Build the stack that @a spec describes on top of @a parent (NULL: the operating system).
 *
 * @param p  holds messages only
 * @return NULL and *out, or the error of the specification
 * Threads: any. Blocking: no.
 */
BRG_DECLARE(const char *) brg_sms_create(brg_sms **out, const char *spec, brg_sms *parent, apr_pool_t *p);

/** Check a specification without building anything that stays. NULL or the error. */
BRG_DECLARE(const char *) brg_sms_check(const char *spec, apr_pool_t *p);

/** A specification that was read once, to be built often (a system for each request). */
typedef struct brg_sms_plan brg_sms_plan;

/**
 * Read a specification and try it.
 *
 * @param plan [out] in @a p; stays until @a p is cleared or a module with one of its kinds is unloaded. Without a
 *                   pool it is from malloc, and the caller frees it
 * @return NULL, or the error
 */
BRG_DECLARE(const char *) brg_sms_plan_make(const brg_sms_plan **plan, const char *spec, apr_pool_t *p);

/**
 * How many of the plan's systems, from its top, each user must have for itself: all down to the last kind that only
 * one thread may call and that is not declared shared. The rest can be built once and serve every thread.
 */
BRG_DECLARE(int) brg_sms_plan_private(const brg_sms_plan *plan);

/** The number of systems in a plan. */
BRG_DECLARE(int) brg_sms_plan_length(const brg_sms_plan *plan);

/**
 * Build the systems @a first .. @a end - 1 of a plan (0 is the outermost) on @a parent (NULL: the operating system).
 * With first == end, *out is the parent. Threads: any. Allocates from libc only; @a p (or NULL) is for messages.
 */
BRG_DECLARE(const char *) brg_sms_plan_build(brg_sms **out, const brg_sms_plan *plan, int first, int end,
                                             brg_sms *parent, apr_pool_t *p);

/** Destroy a stack from its top down to, but not including, @a until. Clears *s. */
BRG_DECLARE(void) brg_sms_destroy(brg_sms **s, brg_sms *until);

BRG_DECLARE(void *) brg_sms_allocate(brg_sms *s, size_t bytes) __attribute__((warn_unused_result));
/** The same, for the caller @a site (a return address), which tracking shows. */
BRG_DECLARE(void *) brg_sms_allocate_from(brg_sms *s, size_t bytes, const void *site) __attribute__((warn_unused_result));
BRG_DECLARE(void *) brg_sms_resize(brg_sms *s, void *block, size_t old_bytes, size_t bytes)
    __attribute__((warn_unused_result));
BRG_DECLARE(void) brg_sms_free(brg_sms *s, void *block, size_t bytes);

/** 0, or -1 where the kind has no reset. */
BRG_DECLARE(int) brg_sms_reset(brg_sms *s);

/** 1 if pools on @a s must call for every block. */
BRG_DECLARE(int) brg_sms_per_block(const brg_sms *s);

/** Which threads may call @a s and everything below it. */
BRG_DECLARE(brg_sms_threads) brg_sms_thread_rule(const brg_sms *s);

/** The largest size that takes no more memory than @a bytes does; @a bytes where the kind cannot tell. */
BRG_DECLARE(size_t) brg_sms_good_size(const brg_sms *s, size_t bytes);

/** Give the calling thread's reserve to the operating system, for the whole stack. For an idle
 * thread. */
BRG_DECLARE(void) brg_sms_trim(brg_sms *s);

/** The content of a part of one of @a s's blocks is of no use any more; its memory is given back as
 * far as possible. */
BRG_DECLARE(void) brg_sms_discard(brg_sms *s, void *part, size_t bytes);

/** 1 if handed out by @a s, 0 if not, -1 if the kind cannot tell. */
BRG_DECLARE(int) brg_sms_owns(const brg_sms *s, const void *block);

/** The reports of a stack's systems, line by line. */
BRG_DECLARE(void) brg_sms_report(const brg_sms *s, void (*line)(void *baton, const char *text), void *baton);

/** The status for the last refusal in a stack: the outermost system's, or 0. */
BRG_DECLARE(int) brg_sms_refusal_status(const brg_sms *s);

/** Walk the invariants of a whole stack; NULL or the broken one. Only where no other thread uses
 * it. */
BRG_DECLARE(const char *) brg_sms_verify(const brg_sms *s);

/** A thread's reserve where a specification does not say: MaxMemFree. Before systems are built. 0:
 *  everything. */
BRG_DECLARE(void) brg_sms_set_default_keep(size_t bytes);

/** Sum the counters of all threads. Threads: any. */
BRG_DECLARE(void) brg_sms_statistics(const brg_sms *s, brg_sms_figures *out);

/** Begin counting anew (live and held bytes stay). Threads: any. */
BRG_DECLARE(void) brg_sms_statistics_reset(brg_sms *s);

/** The stack as a specification, with defaults filled in: "limit(16M) arena(chunk=64K,keep=2M)". In @a p. */
BRG_DECLARE(const char *) brg_sms_describe(const brg_sms *s, apr_pool_t *p);

/**
 * For openers of modules: where @a error (dlerror's) says that a library's thread variables have no
 * room, begin the program anew with more, once. Only at start-up, before anything was begun that
 * must not be done twice.
 *
 * @return -1 where that is not the trouble, or was tried already; else it does not return
 */
BRG_DECLARE(int) brg_sms_static_tls_retry(const char *error);

/** The operating system: chunks from mmap. Never destroyed. */
BRG_DECLARE(brg_sms *) brg_sms_os(void);

/** "64k", "16M", "1G", "4096" as bytes. 0 on success, -1 if it is no size or does not fit. */
BRG_DECLARE(int) brg_sms_parse_size(const char *text, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
