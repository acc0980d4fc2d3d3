/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHE_CACHE_GATE_H
#define BRIGADE_CACHE_CACHE_GATE_H

/**
 * @file cache_gate.h
 * A gate stands before a stored answer: each request that it would answer is asked for first. Limits count requests there.
 */
#include "transaction.h"

/**
 * May the request be answered from memory?
 * @param data, fixed  as given to cache_gate()
 * @return 1; 0: it takes the full way, where the same limit decides its fate
 * Threads: the loop's. Blocking: must not.
 */
typedef int cache_gate_fn(const void *data, uint64_t fixed, const transaction *t);

/** A gate's decision needs this. */
typedef enum cache_gate_needs {
    CACHE_GATE_REQUEST, /**< the request alone: it also stands before plans (cache_plan.h) */
    CACHE_GATE_ANSWER   /**< the answer's length, or that it is sent at once */
} cache_gate_needs;

/** The answer to @a r is sent from memory to requests that @a fn lets pass. @param data  lives as
 * long as the configuration
 * Threads: the request's. Blocking: no. */
void cache_gate(request_rec *r, cache_gate_fn *fn, cache_gate_needs needs, const void *data,
                uint64_t fixed);

/** 1: a gate that a plan passed counted the request that @a c has now; limits leave it alone. Threads: the request's. */
int cache_gate_counted(const conn_rec *c);

#endif
