/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FIGURES_FIGURES_H
#define BRIGADE_FIGURES_FIGURES_H

/**
 * @file figures.h
 * Where the figures of brigade/figures.h are counted: in the scoreboard's memory, two blocks for each
 * loop. One is written by the loop's thread alone, with plain relaxed stores; the other one by all
 * other threads of its connections (workers, threads of modules), with atomic additions.
 */
#include "brigade/figures.h"
#include "counter.h"
#include "httpd.h"
#include <stddef.h>

struct scoreboard_limits;

/** The two blocks of a loop. */
typedef struct loop_figures {
    _Alignas(128) brg_figures own;    /**< of the loop's thread */
    _Alignas(128) brg_figures others; /**< of all other threads */
} loop_figures;

/** Blocks of loop @a loop in process slot @a slot. Never NULL: beyond the limits, or without a scoreboard, dummies. */
loop_figures *figures_of_loop(int slot, int loop);

/** Add to a counter of a loop's own block. That loop's thread only. A call would cost more than its
 * work. */
static inline __attribute__((always_inline)) void figures_add(uint64_t *counter, uint64_t n)
{
    counter_add(counter, n);
}

/** Set one. That loop's thread only. */
static inline void figures_set(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, n, __ATOMIC_RELAXED);
}

/** Add to a counter of the other block. Threads: any. */
static inline void figures_add_shared(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/** Which bucket a time belongs to. */
int figures_bucket(uint64_t us);

/** Count something that took @a us in the other block. Threads: any. */
void figures_took_shared(brg_histogram *h, uint64_t us);

/** A request that ended. */
typedef struct figures_ended {
    int host; /**< figures_host() */
    brg_figure_protocol protocol;
    int status;
    uint64_t us;    /**< it took */
    uint64_t bytes; /**< of the response's body */
} figures_ended;

/** Count a request that took the full way. @param own  1: the calling thread is that of the loop */
void figures_request(loop_figures *f, int own, const figures_ended *request);

/** Counters of the requests of a virtual host in a protocol. */
static inline brg_host_figures *figures_requests(brg_figures *block, int host,
                                                 brg_figure_protocol protocol)
{
    return &block->host[host][protocol];
}

/** The place of a status among BRG_CLASSES_N. */
static inline int figures_class(int status)
{
    return status >= 100 && status < 600 ? status / 100 - 1 : BRG_CLASSES_N - 1;
}

/** How long requests took that ended on a loop, and those of ended processes; microseconds in all. Threads: any. */
uint64_t figures_duration_us(const loop_figures *f);
uint64_t figures_duration_ended_us(void);

/** The number of a virtual host; 0: it is not told apart. Threads: any. */
int figures_host(const server_rec *s);

/** The virtual hosts of the configuration @a generation get their numbers; known ones keep theirs.
 * Where all are taken, a host that no living process has goes, and counts with those that are not
 * told apart. Supervisor only. */
void figures_name_hosts(server_rec *main_server, int generation);

/** Once a second, by any loop: take a sample if one is due (figures_history.c). @param now  microseconds of clock_monotonic() */
void figures_sample(apr_time_t now);

/** A request that took the full way: is it one of the slowest, and its target one of the busiest (figures_targets.c)?
 * Threads: any. Blocking: no. */
void figures_target_ended(const char *host, const char *path, const figures_ended *request);

/** @a n requests for a target were answered. Threads: any. */
void figures_target_busy(const char *host, size_t host_len, const char *path, size_t path_len,
                         uint64_t n);

/** Forget old entries. Once for each sample. */
void figures_targets_age(void);

/** The memory of both that figures.c shares between processes. */
size_t figures_history_bytes(void);
void figures_history_place(void *at);
size_t figures_targets_bytes(void);
void figures_targets_place(void *at);

/** @name for scoreboard.c: the supervisor's alone */
/** @{ */
size_t figures_bytes(const struct scoreboard_limits *l);
/** A number that changes with the layout of that memory. */
unsigned figures_layout(void);
/** Take @a at, of figures_bytes(), in use; the former memory's content is kept. */
void figures_place(void *at, const struct scoreboard_limits *l);
/** A slot's process is gone: its counters go to those of ended processes, if they count. */
void figures_slot_end(int slot, int counts);
/** Count from 0 again. */
void figures_begin_totals(void);
/** There is no scoreboard any more. */
void figures_forget(void);
/** @} */

#endif
