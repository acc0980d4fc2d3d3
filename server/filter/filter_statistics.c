/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each filter did. A registered filter's function is replaced by one of the functions
 * FSTAT_OUT and FSTAT_IN make, one for each place in fstat_slots: a place cannot be told from what
 * a filter is called with, since modules (mod_filter) call the function of one filter with the
 * instance of another.
 *
 * Every thread counts for itself; readers add up. The cpu time of a call is that of the thread
 * without the calls of measured filters below it.
 */
#include "filter_statistics.h"
#include "filter_registry.h"
#include "http_config.h"
#include "http_log.h"
#include "brigade/status.h"
#include "brigade/assert.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

APLOG_USE_MODULE(core);

#define FSTAT_MOST 128 /* filters of each direction */
#define FSTAT_SLOTS (2 * FSTAT_MOST)

typedef struct fstat_slot {
    const ap_filter_rec_t *frec; /* NULL: free */
    ap_filter_func function;     /* its own */
} fstat_slot;

enum { FSTAT_CALLS, FSTAT_BYTES_IN, FSTAT_BYTES_OUT, FSTAT_CPU_NS, FSTAT_FIGURES };

/* Counters of a thread, the only writer. When it ends, another thread continues with them. */
typedef struct fstat_thread {
    struct fstat_thread *next;
    atomic_int used;
    _Atomic uint64_t figures[FSTAT_SLOTS][FSTAT_FIGURES];
} fstat_thread;

/* A call that has not returned. */
typedef struct fstat_frame {
    struct fstat_frame *below;
    uint64_t began, inner; /* nanoseconds: cpu time at the call, and of measured calls in it */
    unsigned slot;
    int counts; /* bytes count: no look ahead */
} fstat_frame;

static fstat_slot fstat_slots[FSTAT_SLOTS]; /* output filters, then input filters */
static int fstat_on;
static _Atomic(fstat_thread *) fstat_threads;
static pthread_key_t fstat_key;
static pthread_mutex_t fstat_lock = PTHREAD_MUTEX_INITIALIZER; /* guards fstat_base */
static uint64_t fstat_base[FSTAT_SLOTS][FSTAT_FIGURES];        /* sums at the last reset */
static _Thread_local fstat_thread *fstat_self;
static _Thread_local fstat_frame *fstat_top;

/* ---- threads ---- */

static void fstat_thread_ends(void *data)
{
    BRG_ASSERT(atomic_load(&((fstat_thread *)data)->used) == 1);
    atomic_store(&((fstat_thread *)data)->used, 0);
}

static fstat_thread *fstat_thread_find(void)
{
    fstat_thread *t;

    for (t = atomic_load(&fstat_threads); t; t = t->next) {
        int unused = 0;

        if (atomic_compare_exchange_strong(&t->used, &unused, 1))
            return t;
    }
    if (!(t = calloc(1, sizeof *t)))
        return NULL;
    atomic_store(&t->used, 1);
    t->next = atomic_load(&fstat_threads);
    while (!atomic_compare_exchange_weak(&fstat_threads, &t->next, t))
        continue;
    return t;
}

static fstat_thread *fstat_thread_self(void)
{
    if (!fstat_self && (fstat_self = fstat_thread_find()) != NULL)
        pthread_setspecific(fstat_key, fstat_self);
    return fstat_self;
}

static void fstat_add(unsigned slot, int figure, uint64_t n)
{
    fstat_thread *t = fstat_thread_self();

    BRG_ASSERT(figure >= 0);
    if (t)
        atomic_store_explicit(
            &t->figures[slot][figure],
            atomic_load_explicit(&t->figures[slot][figure], memory_order_relaxed) + n,
            memory_order_relaxed);
}

/* ---- a call ---- */

static uint64_t fstat_cpu(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What is known to be in a brigade; some buckets tell only when they are read. */
static uint64_t fstat_bytes(const apr_bucket_brigade *bb)
{
    uint64_t n = 0;

    for (const apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e))
        if (!APR_BUCKET_IS_METADATA(e) && e->length != (apr_size_t)-1)
            n += e->length;
    return n;
}

static void fstat_enter(fstat_frame *frame, unsigned slot, int counts)
{
    BRG_ASSERT(slot < FSTAT_SLOTS);
    *frame =
        (fstat_frame){.below = fstat_top, .slot = slot, .counts = counts, .began = fstat_cpu()};
    fstat_top = frame;
}

static void fstat_leave(fstat_frame *frame)
{
    uint64_t all = fstat_cpu() - frame->began;

    BRG_ASSERT(fstat_top == frame); /* filters return in turn */
    fstat_top = frame->below;
    if (frame->below)
        frame->below->inner += all;
    fstat_add(frame->slot, FSTAT_CALLS, 1);
    fstat_add(frame->slot, FSTAT_CPU_NS, all > frame->inner ? all - frame->inner : 0);
}

static apr_status_t fstat_pass(unsigned slot, ap_filter_t *f, apr_bucket_brigade *bb)
{
    uint64_t n = fstat_bytes(bb);
    fstat_frame frame;
    apr_status_t rv;

    if (fstat_top && fstat_top->slot < FSTAT_MOST)
        fstat_add(fstat_top->slot, FSTAT_BYTES_OUT, n);
    fstat_add(slot, FSTAT_BYTES_IN, n);
    fstat_enter(&frame, slot, 1);
    rv = fstat_slots[slot].function.out_func(f, bb);
    fstat_leave(&frame);
    return rv;
}

static apr_status_t fstat_get(unsigned slot, ap_filter_t *f, apr_bucket_brigade *bb,
                              ap_input_mode_t mode, apr_read_type_e block, apr_off_t readbytes)
{
    uint64_t before = fstat_bytes(bb), n;
    fstat_frame frame;
    apr_status_t rv;

    fstat_enter(&frame, slot, mode != AP_MODE_SPECULATIVE);
    rv = fstat_slots[slot].function.in_func(f, bb, mode, block, readbytes);
    fstat_leave(&frame);
    n = rv == APR_SUCCESS ? fstat_bytes(bb) : before;
    if (!frame.counts || n <= before)
        return rv;
    fstat_add(slot, FSTAT_BYTES_OUT, n - before);
    if (fstat_top && fstat_top->slot >= FSTAT_MOST && fstat_top->counts)
        fstat_add(fstat_top->slot, FSTAT_BYTES_IN, n - before);
    return rv;
}

/* ---- a function for each place ---- */

/* clang-format off */
#define FSTAT_16(MAKE, h) \
    MAKE(h##0) MAKE(h##1) MAKE(h##2) MAKE(h##3) MAKE(h##4) MAKE(h##5) MAKE(h##6) MAKE(h##7) \
    MAKE(h##8) MAKE(h##9) MAKE(h##a) MAKE(h##b) MAKE(h##c) MAKE(h##d) MAKE(h##e) MAKE(h##f)
#define FSTAT_ALL(MAKE) \
    FSTAT_16(MAKE, 0) FSTAT_16(MAKE, 1) FSTAT_16(MAKE, 2) FSTAT_16(MAKE, 3) \
    FSTAT_16(MAKE, 4) FSTAT_16(MAKE, 5) FSTAT_16(MAKE, 6) FSTAT_16(MAKE, 7)
/* clang-format on */
#define FSTAT_OUT(n)                                                          \
    static apr_status_t fstat_out_##n(ap_filter_t *f, apr_bucket_brigade *bb) \
    {                                                                         \
        return fstat_pass(0x##n, f, bb);                                      \
    }
#define FSTAT_IN(n)                                                                                \
    static apr_status_t fstat_in_##n(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode, \
                                     apr_read_type_e block, apr_off_t readbytes)                   \
    {                                                                                              \
        return fstat_get(FSTAT_MOST + 0x##n, f, bb, mode, block, readbytes);                       \
    }
#define FSTAT_OUT_NAME(n) fstat_out_##n,
#define FSTAT_IN_NAME(n) fstat_in_##n,

FSTAT_ALL(FSTAT_OUT)
FSTAT_ALL(FSTAT_IN)

static const ap_out_filter_func fstat_outs[] = {FSTAT_ALL(FSTAT_OUT_NAME)};
static const ap_in_filter_func fstat_ins[] = {FSTAT_ALL(FSTAT_IN_NAME)};

_Static_assert(sizeof fstat_outs / sizeof *fstat_outs == FSTAT_MOST, "a function for each place");

typedef struct fstat_begin {
    server_rec *s;
    unsigned n[2];
} fstat_begin;

static void fstat_wrap(void *baton, const ap_filter_rec_t *frec, int is_input)
{
    fstat_begin *begin = baton;
    unsigned n = begin->n[is_input]++;
    fstat_slot *slot = &fstat_slots[n + (is_input ? FSTAT_MOST : 0)];
    ap_filter_rec_t *record =
        (ap_filter_rec_t *)frec; /* the registry's, and this is before threads */

    if (n >= FSTAT_MOST) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, begin->s,
                     "FilterStatistics: %s filter %s is not counted: there are more than %d",
                     is_input ? "input" : "output", frec->name, FSTAT_MOST);
        return;
    }
    slot->frec = frec;
    slot->function = frec->filter_func;
    if (is_input)
        record->filter_func.in_func = fstat_ins[n];
    else
        record->filter_func.out_func = fstat_outs[n];
}

void filter_statistics_start(server_rec *s)
{
    fstat_begin begin = {.s = s};

    if (pthread_key_create(&fstat_key, fstat_thread_ends))
        return;
    filter_registry_each(fstat_wrap, &begin);
    fstat_on = 1;
}

/* ---- figures ---- */

static uint64_t fstat_sum(unsigned slot, int figure)
{
    uint64_t sum = 0;

    BRG_ASSERT(slot < FSTAT_SLOTS && figure >= 0 && figure < FSTAT_FIGURES);
    for (fstat_thread *t = atomic_load(&fstat_threads); t; t = t->next)
        sum += atomic_load_explicit(&t->figures[slot][figure], memory_order_relaxed);
    return sum;
}

BRG_DECLARE(int) brg_status_filter_get(int n, brg_status_filter *out)
{
    uint64_t figures[FSTAT_FIGURES];
    const fstat_slot *slot;

    if (!fstat_on || n < 0 || n >= FSTAT_SLOTS)
        return -1;
    slot = &fstat_slots[n];
    if (!slot->frec)
        return 0;
    pthread_mutex_lock(&fstat_lock);
    for (int i = 0; i < FSTAT_FIGURES; i++)
        figures[i] = fstat_sum((unsigned)n, i) - fstat_base[n][i];
    pthread_mutex_unlock(&fstat_lock);
    out->name = slot->frec->name;
    out->module = filter_owner(slot->frec);
    out->is_input = n >= FSTAT_MOST;
    out->calls = figures[FSTAT_CALLS];
    out->bytes_in = figures[FSTAT_BYTES_IN];
    out->bytes_out = figures[FSTAT_BYTES_OUT];
    out->cpu_ns = figures[FSTAT_CPU_NS];
    return 1;
}

BRG_DECLARE(void) brg_status_filters_reset(void)
{
    pthread_mutex_lock(&fstat_lock);
    for (unsigned slot = 0; slot < FSTAT_SLOTS; slot++)
        for (int i = 0; i < FSTAT_FIGURES; i++)
            fstat_base[slot][i] = fstat_sum(slot, i);
    pthread_mutex_unlock(&fstat_lock);
}
