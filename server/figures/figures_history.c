/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of the last hour: a ring of samples in memory that processes share. Whichever loop comes first when a sample
 * is due takes it. */
#include "figures.h"
#include "scores.h"
#include "brigade/assert.h"
#include "apr_time.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY_LINE 128

typedef struct figures_history {
    _Alignas(HISTORY_LINE) _Atomic apr_time_t due; /* the next sample; clock_monotonic() */
    _Atomic uint64_t n;                            /* samples taken so far */
    brg_sample sample[BRG_SAMPLES];
} figures_history;

static figures_history *history;

size_t figures_history_bytes(void)
{
    return sizeof(figures_history);
}

void figures_history_place(void *at)
{
    BRG_ASSERT((uintptr_t)at % HISTORY_LINE == 0);
    if (at && history)
        memcpy(at, history, sizeof *history);
    history = at;
}

static void history_put(brg_sample *sample, const brg_figures *f)
{
    BRG_ASSERT(sample >= history->sample && sample < history->sample + BRG_SAMPLES);
    sample->at = apr_time_now();
    memcpy(sample->value, f->value, sizeof sample->value);
    memcpy(sample->took, f->took, sizeof sample->took);
    memset(sample->by_class, 0, sizeof sample->by_class);
    for (int host = 0; host < BRG_FIGURE_HOSTS; host++)
        for (int protocol = 0; protocol < BRG_PROTOCOLS_N; protocol++)
            for (int class = 0; class < BRG_CLASSES_N; class ++)
                sample->by_class[class] += f->requests[host][protocol][class];
}

void figures_sample(apr_time_t now)
{
    apr_time_t due = history ? atomic_load_explicit(&history->due, memory_order_relaxed) : 0;
    brg_figures *f;
    uint64_t n;

    if (!history || now < due ||
        !atomic_compare_exchange_strong(&history->due, &due,
                                        now + apr_time_from_sec(BRG_SAMPLE_SECONDS)))
        return;
    figures_targets_age();
    if (!(f = malloc(sizeof *f)))
        return;
    if (!brg_figures_sum(f)) {
        n = atomic_load(&history->n);
        history_put(&history->sample[n % BRG_SAMPLES], f);
        atomic_store(&history->n, n + 1);
    }
    free(f);
}

BRG_DECLARE(uint64_t) brg_figures_samples(void)
{
    return history ? atomic_load(&history->n) : 0;
}

BRG_DECLARE(int) brg_figures_sample(uint64_t n, brg_sample *out)
{
    uint64_t taken = brg_figures_samples();

    if (n >= taken)
        return -1;
    if (n + BRG_SAMPLES <= taken)
        return 0;
    *out = history->sample[n % BRG_SAMPLES];
    out->at = score_held(out->at);
    atomic_thread_fence(memory_order_acquire);
    return n + BRG_SAMPLES > atomic_load(&history->n); /* else it was being written over */
}
