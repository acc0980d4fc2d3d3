/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMORY_OUT_H
#define BRIGADE_MEMORY_OUT_H

/*
 * The program's start with memory systems, and messages when memory is out.
 */
#include "apr_pools.h"
#include "brigade/memory_tree.h"

/** The bytes that a thread was refused last, beyond any reserve. */
typedef struct memory_refused {
    const char *scope;  /**< NULL: nothing was */
    const char *system; /**< specification */
    apr_size_t bytes;
} memory_refused;

/** Of the calling thread. To be asked from an abort function. */
memory_refused memory_refused_last(void);

/** Add the pools of brg_pool_tree_look() beside those of the loops' connections. Threads: any.
 * Blocking: on the lock of the pool of all pools. */
void pool_tree_of_process(brg_pool_tree *t);

/**
 * Before apr_initialize(): make the systems that scopes begin with, as the environment names them,
 * and name the function for pools that run out of memory.
 * @param variable [out] the one with a mistake
 * @return NULL, or a message about its value
 */
const char *memory_begin(apr_abortfunc_t out_of_memory, const char **variable);

#endif
