/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMORY_OUT_H
#define BRIGADE_MEMORY_OUT_H

/*
 * The program's start with memory systems, and what can be said when memory is out.
 */
#include "apr_pools.h"

/** What a thread was refused last, beyond any reserve. */
typedef struct memory_refused {
    const char *scope;  /**< NULL: nothing was */
    const char *system; /**< specification */
    apr_size_t bytes;
} memory_refused;

/** Of the calling thread. To be asked from an abort function. */
memory_refused memory_refused_last(void);

/**
 * Before apr_initialize(): make the systems that scopes begin with, as the environment names them,
 * and say what is to be called when pools run out of memory.
 * @param variable [out] the one with a mistake
 * @return NULL, or what is wrong with its value
 */
const char *memory_begin(apr_abortfunc_t out_of_memory, const char **variable);

#endif
