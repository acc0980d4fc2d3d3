/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of the last hour and of the last day: rings of samples in memory that processes share. Whichever loop comes first when a sample
 * is due takes it. */
#include "figures.h"
#include "scores.h"
#include "brigade/assert.h"
#include "apr_time.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY_LINE 128
#define HISTORY_DAY_EVERY (BRG_DAY_SECONDS / BRG_SAMPLE_SECONDS)

typedef struct figures_history {
    _Alignas(HISTORY_LINE) _Atomic apr_time_t due; /* the next sample; clock_monotonic() */
    _Atomic uint64_t n;                            /* samples taken so far */
    brg_sample sample[BRG_SAMPLES];
    _Atomic uint64_t day_n; /* the same for the day: one of HISTORY_DAY_EVERY goes there, too */
    brg_sample day[BRG_DAY_SAMPLES];
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
    BRG_ASSERT(history != NULL);
    sample->at = apr_time_now();
    memcpy(sample->value, f->value, sizeof sample->value);
    memcpy(sample->took, f->took, sizeof sample->took);
    memset(sample->by_class, 0, sizeof sample->by_class);
    for (int host = 0; host < BRG_FIGURE_HOSTS; host++)
        for (int protocol = 0; protocol < BRG_PROTOCOLS_N; protocol++)
            for (int class = 0; class < BRG_CLASSES_N; class ++)
                sample->by_class[class] += f->host[host][protocol].by_class[class];
}

static void history_take(const brg_figures *f)
{
    const uint64_t n = atomic_load(&history->n), day = atomic_load(&history->day_n);

    history_put(&history->sample[n % BRG_SAMPLES], f);
    if (n % HISTORY_DAY_EVERY == 0) {
        history->day[day % BRG_DAY_SAMPLES] = history->sample[n % BRG_SAMPLES];
        atomic_store(&history->day_n, day + 1);
    }
    atomic_store(&history->n, n + 1);
}

void figures_sample(apr_time_t now)
{
    apr_time_t due = history ? atomic_load_explicit(&history->due, memory_order_relaxed) : 0;
    brg_figures *f;

    if (!history || now < due ||
        !atomic_compare_exchange_strong(&history->due, &due,
                                        now + apr_time_from_sec(BRG_SAMPLE_SECONDS)))
        return;
    figures_targets_age();
    if (!(f = malloc(sizeof *f)))
        return;
    if (!brg_figures_sum(f))
        history_take(f);
    free(f);
}

BRG_DECLARE(uint64_t) brg_figures_samples(void)
{
    return history ? atomic_load(&history->n) : 0;
}

BRG_DECLARE(uint64_t) brg_figures_day_samples(void)
{
    return history ? atomic_load(&history->day_n) : 0;
}

/* One of a ring of @a size, of which *taken were taken. */
static int history_get(const brg_sample *ring, uint64_t size, _Atomic uint64_t *taken, uint64_t n,
                       brg_sample *out)
{
    const uint64_t before = atomic_load(taken);

    if (n >= before)
        return -1;
    if (n + size <= before)
        return 0;
    *out = ring[n % size];
    out->at = score_held(out->at);
    atomic_thread_fence(memory_order_acquire);
    return n + size > atomic_load(taken); /* else it was being written over */
}

BRG_DECLARE(int) brg_figures_sample(uint64_t n, brg_sample *out)
{
    return history ? history_get(history->sample, BRG_SAMPLES, &history->n, n, out) : -1;
}

BRG_DECLARE(int) brg_figures_day_sample(uint64_t n, brg_sample *out)
{
    return history ? history_get(history->day, BRG_DAY_SAMPLES, &history->day_n, n, out) : -1;
}
