/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMBENCH_RUN_H
#define BRIGADE_MEMBENCH_RUN_H

/*
 * One subject in a process of its own: a trace is replayed again and again by some threads, then by
 * a burst of connections at once. Linked into the laboratory and into its helper, which has no
 * pools of ours.
 */
#include "membench_trace.h"
#include "apr_pools.h"

/* The functions that a replay calls. Through pointers for all subjects, as a library calls through
 * its linkage table. */
typedef struct bench_pools {
    void *(*palloc)(apr_pool_t *p, apr_size_t n);
    apr_status_t (*create)(apr_pool_t **p, apr_pool_t *above, apr_abortfunc_t abort_fn,
                           apr_allocator_t *allocator);
    void (*clear)(apr_pool_t *p);
    void (*destroy)(apr_pool_t *p);
    void (*cleanup)(apr_pool_t *p, const void *data, apr_status_t (*plain)(void *),
                    apr_status_t (*child)(void *));
    apr_pool_t *(*connection)(void);
    apr_pool_t *(*request)(apr_pool_t *connection);
} bench_pools;

typedef struct bench_subject {
    bench_pools pools;
    /** Replay once: pool 0 is there, and is cleared by the caller. */
    void (*replay)(const bench_pools *b, const trace *t, apr_pool_t **pools);
    /** Requests for memory that went below the memory system since the last call; NULL: cannot be
     * told. */
    uint64_t (*refills)(void);
    /** What an idle thread does. May be NULL. */
    void (*idle)(void);
} bench_subject;

/* What a subject prints, and the laboratory reads. */
#define BENCH_LINE "%lf %lf %lf %lf %ld %ld %lf"
typedef struct bench_result {
    double cpu_ns;         /* of processor time per request */
    double alone_ns;       /* the same while the other threads pause */
    double requests_per_s; /* of all threads together, by elapsed time */
    double waits;          /* for each 1,000 requests: times that a thread slept */
    /* resident memory beyond the beginning, while a burst of connections is there and after it,
     * where one thread is measured */
    long burst_kb, after_kb;
    double refills; /* per 1,000 requests; negative: not known */
} bench_result;

/** Measure and print. @return exit status */
int bench_run(const bench_subject *s, const char *trace_path, int threads, int milliseconds);

/** Replay through the pointers. */
void bench_replay(const bench_pools *b, const trace *t, apr_pool_t **pools);

/** Abort with a message: pools have no memory, or cannot be created. */
void bench_fail(const char *what) __attribute__((noreturn));

apr_status_t bench_cleanup(void *data);

#endif
