/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMORY_TREE_H
#define BRIGADE_MEMORY_TREE_H

/**
 * @file brigade/memory_tree.h
 * A look at the pools of a running server process: a tree of them, added up by name, scope and memory system, and the places in the
 * code that hold most, where a memory system knows them (tracking).
 */
#include "apr_pools.h"
#include "brigade/declare.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct brg_sms;

#define BRG_POOL_NODES 256    /**< of a tree; pools of further names are left out, and counted */
#define BRG_POOL_DEPTH 16     /**< pools below that many others are left out */
#define BRG_POOL_LOOP_US 1000 /**< microseconds that a look may stop an event loop for */

/** All pools of one name (apr_pool_tag()), scope and memory system below those of another node. */
typedef struct brg_pool_node {
    char name[40];
    char system[56];       /**< specification of the memory system, cut to its length */
    int above;             /**< number of the node above, which stands before it; -1: none */
    int scope;             /**< brg_scope */
    uint64_t pools, bytes; /**< how many; bytes that they handed out */
    uint64_t held; /**< bytes of their chunks or blocks; 0: those of threads that were not asked */
    uint64_t largest; /**< bytes that the largest handed out */
} brg_pool_node;

/** A tree. Zeroed: empty. */
typedef struct brg_pool_tree {
    int n;
    uint64_t left_out;   /**< pools that had no room, and connections that there was no time for */
    uint64_t at_workers; /**< connections that workers had, which were not looked into */
    brg_pool_node node[BRG_POOL_NODES];
} brg_pool_tree;

/** Add a pool and all below it. Threads: the user of the pools. Blocking: no. */
BRG_DECLARE(void) brg_pool_tree_add(brg_pool_tree *t, const apr_pool_t *pool);

/** Add another tree. */
BRG_DECLARE(void) brg_pool_tree_merge(brg_pool_tree *to, const brg_pool_tree *from);

/**
 * Look at all pools of the process: of each event loop by itself, between two turns, and for BRG_POOL_LOOP_US at most.
 * @param t  empty
 * @return how many event loops gave no answer within a second
 * Threads: a worker, or any that is no event loop. Blocking: for a turn of each loop.
 */
BRG_DECLARE(int) brg_pool_tree_look(brg_pool_tree *t);

/** Live blocks of one place in the code. */
typedef struct brg_sms_site {
    char place[160]; /**< function and offset, or an offset in the file */
    char module[64]; /**< the file that has the code: a module's, a library's or the program's */
    uint64_t blocks, bytes;
    uint64_t largest; /**< bytes of the largest block */
    uint64_t more;    /**< bytes of blocks that came since the last look */
    unsigned oldest;  /**< seconds that the oldest block has been there */
} brg_sms_site;

/**
 * The places that hold most of a memory system, or of one below it, most bytes first.
 * @return how many; -1: no system of them knows
 * Threads: any. Blocking: on locks of the system, each for a few thousand blocks.
 */
BRG_DECLARE(int) brg_sms_sites(const struct brg_sms *s, brg_sms_site *out, int most);

#ifdef __cplusplus
}
#endif

#endif
