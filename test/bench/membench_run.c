/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring. Time is cut into slices and the best one counts: other work on the machine makes
 * slices worse, never better.
 *
 * Processor time is the measure of cost, of threads as well: what threads take from each other, a
 * cache line or a turn at a counter, makes each one's request cost more of it. Only who sleeps
 * until another thread is done uses none; so it is counted how often threads did.
 */
#include "membench_run.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define BENCH_THREADS_MOST 64
#define BENCH_SLICES 8   /* with all threads; as many with the first alone, in turn */
#define BENCH_BURST 1000 /* connections */
#define BENCH_WARM 20    /* passes before measuring, unless they take this long: */
#define BENCH_WARM_S 0.01

typedef struct bench_time {
    uint64_t requests;
    double cpu, wall;
} bench_time;

typedef struct bench_thread {
    pthread_t thread;
    const bench_subject *subject;
    const trace *t;
    pthread_barrier_t *together;
    double slice_s;
    int passes;   /* between two looks at the clock */
    int is_first; /* of several */
    bench_time slices[BENCH_SLICES];
    double alone_ns; /* the best slice, for a request */
    long waits;      /* times that it slept during slices */
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

#define STEPS_NAME bench_replay
#define STEPS_ALLOC(b, pool, n) ((b)->palloc(pool, n))
#define STEPS_CALLOC(b, pool, n) memset((b)->palloc(pool, n), 0, n)
#include "membench_steps.h"

static double bench_clock(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static long bench_waits(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

static inline void bench_pass(const bench_thread *b, apr_pool_t **pools)
{
    b->subject->replay(&b->subject->pools, b->t, pools);
    b->subject->pools.clear(pools[0]);
}

static void bench_warm(bench_thread *b, apr_pool_t **pools)
{
    double start = bench_clock(CLOCK_MONOTONIC);
    int i;

    b->passes = 4;
    for (i = 0; i < BENCH_WARM && b->passes > 1; i++) {
        bench_pass(b, pools);
        if (bench_clock(CLOCK_MONOTONIC) - start > BENCH_WARM_S)
            b->passes = 1;
    }
}

static bench_time bench_slice(const bench_thread *b, apr_pool_t **pools)
{
    double cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID), start = bench_clock(CLOCK_MONOTONIC), now;
    bench_time time = {0, 0, 0};
    int i;

    do {
        for (i = 0; i < b->passes; i++)
            bench_pass(b, pools);
        time.requests += (uint64_t)b->passes * b->t->requests;
        now = bench_clock(CLOCK_MONOTONIC);
    } while (now - start < b->slice_s);
    time.cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
    time.wall = now - start;
    return time;
}

static inline double bench_ns(bench_time time)
{
    return time.cpu / (double)time.requests * 1e9;
}

static void bench_slice_alone(bench_thread *b, apr_pool_t **pools)
{
    double ns = bench_ns(bench_slice(b, pools));

    if (b->alone_ns == 0 || ns < b->alone_ns)
        b->alone_ns = ns;
}

static void *bench_thread_main(void *data)
{
    bench_thread *b = data;
    apr_pool_t *pools[TRACE_POOLS];
    long waits;
    int i;

    pools[0] = b->subject->pools.connection();
    bench_warm(b, pools);
    for (i = 0; i < BENCH_SLICES; i++) {
        pthread_barrier_wait(b->together);
        if (b->is_first)
            bench_slice_alone(b, pools);
        pthread_barrier_wait(b->together);
        waits = bench_waits();
        b->slices[i] = bench_slice(b, pools);
        b->waits += bench_waits() - waits;
    }
    b->subject->pools.destroy(pools[0]);
    return NULL;
}

static void bench_sum(const bench_thread *threads, int n, bench_result *result)
{
    double cpu, speed;
    int i, slice;

    result->cpu_ns = result->requests_per_s = 0;
    result->alone_ns = threads[0].alone_ns;
    for (slice = 0; slice < BENCH_SLICES; slice++) {
        for (i = 0, cpu = speed = 0; i < n; i++) {
            cpu += bench_ns(threads[i].slices[slice]) / n;
            speed += (double)threads[i].slices[slice].requests / threads[i].slices[slice].wall;
        }
        if (result->cpu_ns == 0 || cpu < result->cpu_ns)
            result->cpu_ns = cpu;
        if (speed > result->requests_per_s)
            result->requests_per_s = speed;
    }
}

static void bench_speed(const bench_subject *s, const trace *t, int n, int milliseconds,
                        bench_result *result)
{
    static bench_thread threads[BENCH_THREADS_MOST];
    pthread_barrier_t together;
    uint64_t requests = 0;
    long waits = 0;
    int i, slice;

    pthread_barrier_init(&together, NULL, (unsigned)n);
    if (s->refills != NULL)
        (void)s->refills();
    for (i = 0; i < n; i++) {
        threads[i] = (bench_thread){.subject = s, .t = t, .together = &together};
        threads[i].is_first = n > 1 && i == 0;
        threads[i].slice_s = milliseconds / 1e3 / (n > 1 ? 2 : 1) / BENCH_SLICES;
        if (pthread_create(&threads[i].thread, NULL, bench_thread_main, &threads[i]) != 0)
            bench_fail("no thread");
    }
    for (i = 0; i < n; i++)
        pthread_join(threads[i].thread, NULL);
    for (i = 0; i < n; i++) {
        waits += threads[i].waits;
        for (slice = 0; slice < BENCH_SLICES; slice++)
            requests += threads[i].slices[slice].requests;
    }
    result->waits = (double)waits * 1000 / (double)requests;
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
    bench_result r = {0};
    trace t;

    if (threads < 1 || threads > BENCH_THREADS_MOST || milliseconds < 1)
        bench_fail("impossible number of threads or milliseconds");
    if (trace_read(&t, trace_path) != 0)
        return 1;
    if (threads == 1)
        bench_burst(s, &t, &r);
    bench_speed(s, &t, threads, milliseconds, &r);
    printf(BENCH_LINE "\n", r.cpu_ns, r.alone_ns, r.requests_per_s, r.waits, r.burst_kb, r.after_kb,
           r.refills);
    trace_free(&t);
    return 0;
}
