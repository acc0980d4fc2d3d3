/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of scopes: each thread has its own, readers add them up.
 *
 * The struct of a thread that ended keeps its numbers and is taken over by the next thread that
 * begins. A reset keeps the sums of that moment, which are subtracted from then on; only high-water
 * marks are set back, and a thread that raises one at that very moment may undo it.
 */
#include "memory_scope.h"
#include "brigade/assert.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

__thread memory_thread *memory_thread_mine;

static pthread_mutex_t counts_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t counts_once = PTHREAD_ONCE_INIT;
static pthread_key_t counts_key;
static memory_thread *counts_threads;
static memory_thread counts_sink; /* of threads for which there was no memory */
static memory_counts counts_base[BRG_SCOPES_N];
static brg_buffer_figures counts_buffers_base;

/* At the end of a thread. Its spare allocators stay for the successor. */
static void counts_thread_end(void *thread)
{
    BRG_ASSERT(thread == memory_thread_mine && thread != &counts_sink);
    memory_thread_mine = NULL;
    __atomic_store_n(&((memory_thread *)thread)->used, 0, __ATOMIC_RELEASE);
}

static void counts_key_make(void)
{
    pthread_key_create(&counts_key, counts_thread_end);
}

static memory_thread *counts_adopt(void)
{
    memory_thread *t;

    for (t = counts_threads; t != NULL; t = t->next)
        if (!__atomic_load_n(&t->used, __ATOMIC_ACQUIRE))
            break;
    if (t == NULL) {
        t = aligned_alloc(_Alignof(memory_thread), sizeof(*t));
        if (t == NULL)
            return &counts_sink;
        memset(t, 0, sizeof(*t));
        t->next = counts_threads;
        counts_threads = t;
    }
    __atomic_store_n(&t->used, 1, __ATOMIC_RELAXED);
    return t;
}

__attribute__((noinline)) memory_thread *memory_thread_begin(void)
{
    memory_thread *t;

    BRG_ASSERT(memory_thread_mine == NULL);
    pthread_once(&counts_once, counts_key_make);
    pthread_mutex_lock(&counts_lock);
    t = counts_adopt();
    pthread_mutex_unlock(&counts_lock);
    memory_thread_mine = t;
    if (t != &counts_sink)
        pthread_setspecific(counts_key, t);
    return t;
}

static void counts_add(memory_counts *sum, const memory_counts *one)
{
    const uint64_t *from = (const uint64_t *)one;
    uint64_t *to = (uint64_t *)sum;
    uint64_t high = __atomic_load_n(&one->high_water, __ATOMIC_RELAXED);
    size_t i;

    if (high < sum->high_water)
        high = sum->high_water;
    for (i = 0; i < sizeof(*sum) / sizeof(*to); i++)
        to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    sum->high_water = high;
}

static void counts_sum_all(int scope, memory_counts *out)
{
    const memory_thread *t;

    memset(out, 0, sizeof(*out));
    for (t = counts_threads; t != NULL; t = t->next)
        counts_add(out, &t->scope[scope]);
}

static void counts_sum_buffers(brg_buffer_figures *out)
{
    const memory_thread *t;

    memset(out, 0, sizeof(*out));
    for (t = counts_threads; t != NULL; t = t->next) {
        out->created += __atomic_load_n(&t->buffers.created, __ATOMIC_RELAXED);
        out->shared += __atomic_load_n(&t->buffers.shared, __ATOMIC_RELAXED);
        out->copied += __atomic_load_n(&t->buffers.copied, __ATOMIC_RELAXED);
        out->copied_bytes += __atomic_load_n(&t->buffers.copied_bytes, __ATOMIC_RELAXED);
        out->grown += __atomic_load_n(&t->buffers.grown, __ATOMIC_RELAXED);
        out->grown_bytes += __atomic_load_n(&t->buffers.grown_bytes, __ATOMIC_RELAXED);
    }
}

BRG_DECLARE(void) brg_buffer_figures_get(brg_buffer_figures *out)
{
    pthread_mutex_lock(&counts_lock);
    counts_sum_buffers(out);
    out->created -= counts_buffers_base.created;
    out->shared -= counts_buffers_base.shared;
    out->copied -= counts_buffers_base.copied;
    out->copied_bytes -= counts_buffers_base.copied_bytes;
    out->grown -= counts_buffers_base.grown;
    out->grown_bytes -= counts_buffers_base.grown_bytes;
    pthread_mutex_unlock(&counts_lock);
}

/* Sum of a scope over threads, since the last reset. */
static void memory_counts_sum(int scope, memory_counts *out)
{
    const memory_counts *base = &counts_base[scope];

    BRG_ASSERT(scope >= 0 && scope < BRG_SCOPES_N);
    pthread_mutex_lock(&counts_lock);
    counts_sum_all(scope, out);
    out->pools -= base->pools;
    out->clears -= base->clears;
    out->allocations -= base->allocations;
    out->bytes -= base->bytes;
    out->zeroed -= base->zeroed;
    out->cleanups -= base->cleanups;
    out->refills -= base->refills;
    pthread_mutex_unlock(&counts_lock);
}

static void memory_counts_reset(void)
{
    memory_thread *t;
    int scope;

    pthread_mutex_lock(&counts_lock);
    for (scope = 0; scope < BRG_SCOPES_N; scope++) {
        counts_sum_all(scope, &counts_base[scope]);
        for (t = counts_threads; t != NULL; t = t->next)
            __atomic_store_n(&t->scope[scope].high_water, 0, __ATOMIC_RELAXED);
    }
    counts_sum_buffers(&counts_buffers_base);
    pthread_mutex_unlock(&counts_lock);
}

BRG_DECLARE(void) brg_memory_figures_get(brg_scope scope, brg_memory_figures *out)
{
    memory_counts sum;

    memory_counts_sum((int)scope, &sum);
    out->pools = sum.pools;
    out->clears = sum.clears;
    out->allocations = sum.allocations;
    out->bytes = sum.bytes;
    out->zeroed_bytes = sum.zeroed;
    out->cleanups = sum.cleanups;
    out->refills = sum.refills;
    out->high_water_bytes = sum.high_water;
}

BRG_DECLARE(void) brg_memory_figures_reset(void)
{
    const struct brg_sms *s;
    brg_host_system host;
    int scope, n;

    memory_counts_reset();
    for (n = 0; brg_host_system_get(n, &host); n++)
        for (s = host.system; s != NULL; s = s->parent)
            brg_sms_statistics_reset((brg_sms *)(uintptr_t)s);
    for (scope = 0; scope < BRG_SCOPES_N; scope++)
        for (n = 0; (s = brg_scope_system((brg_scope)scope, n)) != NULL; n++)
            brg_sms_statistics_reset((brg_sms *)s);
}
