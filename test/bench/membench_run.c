/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring. Time is cut into slices and the best one counts: other work on the machine makes
 * slices worse, never better. Processor time is the measure of cost; elapsed time that of what
 * threads take from each other.
 */
#include "membench_run.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BENCH_THREADS_MOST 64
#define BENCH_SLICES 8
#define BENCH_BURST 1000 /* connections */

typedef struct bench_thread {
    pthread_t thread;
    const bench_subject *subject;
    const trace *t;
    pthread_barrier_t *together;
    double slice_s;
    uint64_t requests[BENCH_SLICES];
    double cpu[BENCH_SLICES], wall[BENCH_SLICES];
} bench_thread;

void bench_fail(const char *what)
{
    fprintf(stderr, "brigade-membench: %s\n", what);
    _exit(1);
}

apr_status_t bench_cleanup(void *data)
{
    return APR_SUCCESS;
}

/* One step at a time, as recorded. Runs of equal steps are not made into loops of their own: no
 * program allocates thirty blocks without an instruction in between, and such a loop would measure
 * how long the processor waits for its own last store instead of what an allocation costs. */
void bench_replay(const bench_pools *b, const trace *t, apr_pool_t **pools)
{
    const trace_op *op = t->ops, *end = op + t->ops_n;
    size_t *block;

    for (; op < end; op++)
        switch (op->op) {
        case 'a':
            block = b->palloc(pools[op->pool], op->n);
            if (op->n >= sizeof(*block))
                *block = op->n;
            break;
        case 'z':
            block = b->palloc(pools[op->pool], op->n);
            __builtin_memset(block, 0, op->n);
            break;
        case 'k':
            b->cleanup(pools[op->pool], pools, bench_cleanup, apr_pool_cleanup_null);
            break;
        case 'p':
            if (b->create(&pools[op->pool], pools[op->n], NULL, NULL) != APR_SUCCESS)
                bench_fail("no pool");
            break;
        case 'q':
            pools[op->pool] = b->request(pools[op->n]);
            break;
        case 'x':
            b->clear(pools[op->pool]);
            break;
        default:
            b->destroy(pools[op->pool]);
            break;
        }
}

static double bench_clock(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void bench_slice(bench_thread *b, apr_pool_t **pools, int slice)
{
    double cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID), start = bench_clock(CLOCK_MONOTONIC), now;
    uint64_t passes = 0;
    int i;

    do {
        for (i = 0; i < 4; i++) {
            b->subject->replay(&b->subject->pools, b->t, pools);
            b->subject->pools.clear(pools[0]);
        }
        passes += 4;
        now = bench_clock(CLOCK_MONOTONIC);
    } while (now - start < b->slice_s);
    b->cpu[slice] = bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
    b->wall[slice] = now - start;
    b->requests[slice] = passes * b->t->requests;
}

static void *bench_thread_main(void *data)
{
    bench_thread *b = data;
    apr_pool_t *pools[TRACE_POOLS];
    int i;

    pools[0] = b->subject->pools.connection();
    for (i = 0; i < 20; i++) {
        b->subject->replay(&b->subject->pools, b->t, pools);
        b->subject->pools.clear(pools[0]);
    }
    for (i = 0; i < BENCH_SLICES; i++) {
        pthread_barrier_wait(b->together);
        bench_slice(b, pools, i);
    }
    b->subject->pools.destroy(pools[0]);
    return NULL;
}

static void bench_sum(const bench_thread *threads, int n, bench_result *result)
{
    double cpu, speed, best = 0;
    int i, slice;

    result->cpu_ns = 0;
    result->requests_per_s = 0;
    for (slice = 0; slice < BENCH_SLICES; slice++) {
        for (i = 0, cpu = speed = 0; i < n; i++) {
            cpu += threads[i].cpu[slice] / (double)threads[i].requests[slice] * 1e9 / n;
            speed += (double)threads[i].requests[slice] / threads[i].wall[slice];
        }
        if (best == 0 || cpu < best)
            best = cpu;
        if (speed > result->requests_per_s)
            result->requests_per_s = speed;
    }
    result->cpu_ns = best;
}

static void bench_speed(const bench_subject *s, const trace *t, int n, int milliseconds,
                        bench_result *result)
{
    static bench_thread threads[BENCH_THREADS_MOST];
    pthread_barrier_t together;
    uint64_t requests = 0;
    int i, slice;

    pthread_barrier_init(&together, NULL, (unsigned)n);
    if (s->refills != NULL)
        (void)s->refills();
    for (i = 0; i < n; i++) {
        threads[i] = (bench_thread){.subject = s, .t = t, .together = &together};
        threads[i].slice_s = milliseconds / 1e3 / BENCH_SLICES;
        if (pthread_create(&threads[i].thread, NULL, bench_thread_main, &threads[i]) != 0)
            bench_fail("no thread");
    }
    for (i = 0; i < n; i++)
        pthread_join(threads[i].thread, NULL);
    for (i = 0; i < n; i++)
        for (slice = 0; slice < BENCH_SLICES; slice++)
            requests += threads[i].requests[slice];
    result->refills = s->refills != NULL ? (double)s->refills() * 1000 / (double)requests : -1;
    bench_sum(threads, n, result);
    pthread_barrier_destroy(&together);
}

static long bench_resident_kb(void)
{
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file != NULL) {
        if (fscanf(file, "%ld %ld", &size, &resident) != 2)
            resident = 0;
        fclose(file);
    }
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Up to where nothing has ended yet: what a connection holds in the middle of its first request. */
static size_t bench_held_ops(const trace *t)
{
    size_t i;

    for (i = 0; i < t->ops_n; i++)
        if (t->ops[i].op == 'd' || t->ops[i].op == 'x')
            break;
    return i;
}

static void bench_burst(const bench_subject *s, const trace *t, bench_result *result)
{
    static apr_pool_t *connections[BENCH_BURST];
    apr_pool_t *pools[TRACE_POOLS];
    trace held = *t;
    long begin = bench_resident_kb();
    int i;

    held.ops_n = bench_held_ops(t);
    for (i = 0; i < BENCH_BURST; i++) {
        pools[0] = connections[i] = s->pools.connection();
        s->replay(&s->pools, &held, pools);
    }
    result->burst_kb = bench_resident_kb() - begin;
    for (i = 0; i < BENCH_BURST; i++)
        s->pools.destroy(connections[i]);
    if (s->idle != NULL)
        s->idle();
    result->after_kb = bench_resident_kb() - begin;
}

int bench_run(const bench_subject *s, const char *trace_path, int threads, int milliseconds)
{
    bench_result r;
    trace t;

    if (threads < 1 || threads > BENCH_THREADS_MOST || milliseconds < 1)
        bench_fail("impossible number of threads or milliseconds");
    if (trace_read(&t, trace_path) != 0)
        return 1;
    bench_burst(s, &t, &r);
    bench_speed(s, &t, threads, milliseconds, &r);
    printf(BENCH_LINE "\n", r.cpu_ns, r.requests_per_s, r.burst_kb, r.after_kb, r.refills);
    trace_free(&t);
    return 0;
}
