/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FIGURES_SCORES_H
#define BRIGADE_FIGURES_SCORES_H

/**
 * @file scores.h
 * The scoreboard's own half: counters of the event loops, beside Apache's worker_score in the same
 * shared memory.
 *
 * Each counter has one writer, the thread of its loop, and any number of readers in any process.
 * Writers use plain relaxed stores, so counting costs no locked instruction; readers see each
 * counter whole, but not two counters at the same moment.
 */
#include "counter.h"
#include "httpd.h"
#include "scoreboard.h"
#include <stdatomic.h>
#include <stdint.h>

/** Alignment of a loop's counters, bytes: two cache lines, since processors fetch lines in pairs. */
#define LOOP_SCORE_LINE 128

/** The counters of one loop. */
typedef struct loop_score {
    _Alignas(LOOP_SCORE_LINE) _Atomic uint64_t accesses; /**< requests that ended */
    _Atomic uint64_t bytes;                              /**< bytes of responses, heads included */
    _Atomic uint64_t accepted;                           /**< connections accepted */
    _Atomic uint64_t connections;                        /**< open now */
    _Atomic uint64_t reading;                            /**< of these: a head is arriving */
    _Atomic uint64_t writing;   /**< of these: output waits for the socket */
    _Atomic uint64_t keepalive; /**< of these: idle between requests */
    _Atomic uint64_t lingering; /**< of these: closing */
    _Atomic uint64_t busy;      /**< of these: owned by a worker */
    _Atomic uint64_t http2;     /**< of the connections: they speak HTTP/2 */
    _Atomic uint64_t streams;   /**< and have so many streams open */
    _Atomic uint64_t turns;     /**< turns of the loop */
    _Atomic uint64_t waits;     /**< 1: it waits for events, or has ended: no turn is under way */
    _Atomic uint64_t thread;    /**< gettid() of its thread */
    /** Of the first loop, written by the process with a lock of its own: its worker threads, and whether it is short of
     * them (worker_lend.c). */
    _Atomic uint64_t workers, workers_wanted;
} loop_score;

#define HTTP2_SCORES 64 /**< connections of HTTP/2 of a loop that are told one by one */

/** A connection of HTTP/2. */
typedef struct http2_score {
    _Atomic uint64_t since;     /**< microseconds since the epoch; 0: nobody's */
    _Atomic uint64_t client[6]; /**< its address as text, NUL-terminated */
    _Atomic uint64_t tls;       /**< 1: with TLS of the server's own */
    _Atomic uint64_t open;      /**< streams that are open */
    _Atomic uint64_t streams;   /**< and all streams so far */
} http2_score;

/** Set a counter. Writer only. */
static inline void loop_score_set(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, value, memory_order_relaxed);
}

/** Add to a counter. Writer only: this is no atomic addition. */
static inline void loop_score_add(_Atomic uint64_t *counter, uint64_t n)
{
    counter_add((uint64_t *)counter, n);
}

/** Read a counter. Threads: any, of any process. */
static inline uint64_t loop_score_get(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/** A time, or a number of bytes, out of memory that any server process can write: 0 if it is out of
 * bounds, so that sums do not overflow. */
static inline int64_t score_held(int64_t value)
{
    return value < 0 || value > INT64_MAX / 8 ? 0 : value;
}

/** The size of the scoreboard; set by the supervisor before pre_mpm. */
typedef struct scoreboard_limits {
    int processes;  /**< slots for server processes, those of ending generations included */
    int threads;    /**< loops and workers of one process */
    int loops;      /**< loops of one process */
    int generation; /**< of the processes that will be started */
    /** a graceful restart: totals, and the time since when they count, stay. Otherwise they begin
     * at 0, and processes of generations before this one do not count */
    int totals_stay;
} scoreboard_limits;

/** The program before this one left its scoreboard: use it, with its counts and the slots of processes that live on.
 * One of another layout is left alone. Supervisor only, before pre_mpm. */
void scoreboard_take_left(void);

/** Every process has its connection, and no more processes may be started: set by the supervisor,
 * read by loops. */
void scoreboard_set_full(int full);
int scoreboard_is_full(void);

/** The server is about to end: set by the supervisor, for readiness endpoints. */
void scoreboard_set_draining(void);

void scoreboard_set_limits(const scoreboard_limits *limits);

/**
 * Counters of loop @a loop in process slot @a slot. Never NULL: beyond the limits, or without a
 * scoreboard, a private dummy is returned.
 */
struct loop_score *scoreboard_loop(int slot, int loop);

/** Show the state of a thread: one of SERVER_*, and nothing else of its line. @param line  of the
 * thread; NULL: it has none */
static inline void scoreboard_show(worker_score *line, int status)
{
    if (!line)
        return;
    __atomic_store_n(&line->status, (unsigned char)status, __ATOMIC_RELAXED);
    if (status == SERVER_READY) { /* counters of the connection that the thread serves */
        __atomic_store_n(&line->conn_count, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&line->conn_bytes, 0, __ATOMIC_RELAXED);
    }
}

/** As above for readers; NULL: no such line. */
const struct loop_score *scoreboard_loop_if(int slot, int loop);

/** HTTP2_SCORES connections of a loop; NULL: there is no such loop, or no scoreboard. */
http2_score *scoreboard_http2(int slot, int loop);

/** The dimensions of the scoreboard, out of this process's own memory; 0: no scoreboard.
 * global_score tells modules the same, but any server process can write it. */
int scoreboard_loops(void);
int scoreboard_processes(void);
int scoreboard_threads(void); /**< of one process, its loops included */

/** Add to the number of access log lines that were lost since the start; 0: only look. @return it */
uint64_t scoreboard_log_lines_lost(uint64_t more);

/** Event loops that stand in one turn now. Supervisor only. */
void scoreboard_set_stalled(uint64_t loops);

/** So many processes more were replaced since they did not come to an end. Supervisor only. */
void scoreboard_add_replaced(uint64_t processes);

/** The same for readers; the processes since the start of the server. */
void scoreboard_stalled(uint64_t *loops, uint64_t *replaced);

/**
 * A process starts in @a slot: its workers' entries are cleared, and the totals of the slot's
 * former process are added to those of the ended processes. Supervisor only.
 */
void scoreboard_slot_start(int slot, pid_t pid, int generation);

/** The process of @a slot is gone. Supervisor only. */
void scoreboard_slot_end(int slot);

/** When the server was started, microseconds since the epoch; kept over restarts. */
apr_time_t scoreboard_started(void);

/** 1 if the counts of processes of @a generation are part of the totals. */
int scoreboard_counts(int generation);

/** Totals of processes that have ended since the server started. */
void scoreboard_ended_totals(uint64_t *accesses, uint64_t *bytes);

#endif
