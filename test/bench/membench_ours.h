/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMBENCH_OURS_H
#define BRIGADE_MEMBENCH_OURS_H

#include "membench_run.h"

/** Offer jemalloc and mimalloc as kinds where their libraries are. */
void bench_kinds_register(void);

/** Replay with the inline bump path. */
void bench_replay_inline(const bench_pools *b, const trace *t, apr_pool_t **pools);

/** The child's work: pools on @a spec, measured. @return exit status */
int bench_ours(const char *spec, int is_inline, const char *trace_path, int threads,
               int milliseconds);

#endif
