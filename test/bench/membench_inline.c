/* SPDX-License-Identifier: Apache-2.0 */
/* The replay as the server's own code does it: with the inline bump path of pools. */
#include "membench_ours.h"
#include "pool_inline.h"

#define STEPS_NAME bench_replay_inline
#define STEPS_ALLOC(b, pool, n) pool_alloc(pool, n)
#define STEPS_CALLOC(b, pool, n) pool_calloc(pool, n)
#include "membench_steps.h"
