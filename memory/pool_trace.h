/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_POOL_TRACE_H
#define BRIGADE_POOL_TRACE_H

/*
 * Traces of the calls that requests make of their pools; brigade-membench replays them.
 *
 * Recorded requests have per-block pools, so that each step calls these functions. Pools that are not
 * recorded have no test for it. Steps are collected in a buffer of the request, which moves from thread
 * to thread with its pool. It is written to the file with one call when the request's pool ends:
 * processes and threads share nothing but the file.
 */
#include "pool_private.h"
#include <stdatomic.h>

/* In memory that the server processes of a configuration share. */
typedef struct pool_trace_sums {
    _Atomic uint64_t requests, bytes; /* written, or about to be */
    atomic_int over;                  /* a limit was reached, or the file cannot be written */
} pool_trace_sums;

typedef struct pool_trace_file {
    int fd; /* opened for appending */
    uint64_t requests_most, bytes_most;
    pool_trace_sums *sums;
    /** Called once, by the thread that finds out: error is 0 where a limit was reached. */
    void (*ended)(int error);
} pool_trace_file;

/** The first lines of a trace: its kind, a remark, and the connection. */
#define POOL_TRACE_HEAD "# brigade-memory-trace 1\n"

/** Record to @a file, which stays while pools do; NULL: no more. Before threads begin. */
void pool_trace_to(const pool_trace_file *file);

/** Whether pools that begin now are recorded. */
int pool_trace_runs(void);

/** A pool begins on an allocator that records. @a parent is NULL for the pool of a request. */
void pool_trace_created(apr_pool_t *p, const apr_pool_t *parent);

/** A block of a recorded pool. @a site is POOL_CLEANUP_SITE for the record of a cleanup. */
void pool_trace_block(apr_pool_t *p, apr_size_t n, const void *site);

/** The newest block has another size now. */
void pool_trace_resized(apr_pool_t *p, apr_size_t n);

/** The pool's count of cleared bytes is about to be set to 0. */
void pool_trace_told(const apr_pool_t *p);

void pool_trace_cleared(apr_pool_t *p);

/** The pool has ended but for its memory; that of the request writes the trace. */
void pool_trace_destroyed(apr_pool_t *p);

/** A pool goes on with another allocator. */
void pool_trace_moved(apr_allocator_t *from, apr_allocator_t *to);

#endif
