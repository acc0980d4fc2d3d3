/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BENCH_TRACE_H
#define BRIGADE_BENCH_TRACE_H

/* Numbers for traces that are the same in each run. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static uint64_t trace_seed;
static double *trace_weights; /* sums, by rank */

/* From 0 to less than 1. */
static inline double trace_random(void)
{
    trace_seed = trace_seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(trace_seed >> 11) / 9007199254740992.0;
}

/* Ranks below @a n are asked for by Zipf's law with this power. */
static inline void trace_weigh(long n, double power)
{
    double sum = 0;

    trace_weights = realloc(trace_weights, (size_t)n * sizeof *trace_weights);
    for (long i = 0; i < n; i++)
        trace_weights[i] = sum += 1.0 / pow((double)(i + 1), power);
}

/* A rank below @a n, which is at most trace_weigh()'s. */
static inline long trace_rank(long n)
{
    double x = trace_random() * trace_weights[n - 1];
    long low = 0, high = n - 1;

    while (low < high) {
        long mid = (low + high) / 2;

        if (trace_weights[mid] < x)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

#endif
