/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOOP_LOOPS_H
#define BRIGADE_LOOP_LOOPS_H

/**
 * @file loops.h
 * The event loops and workers of one server process, as the process's main thread drives them.
 */
#include "driver.h"

typedef struct loops_config {
    server_rec *server; /**< main server */
    const loop_services *services;
    int n_loops; /**< at least 1 */
    /** LoopAffinity: the processor that a loop of server process @a process runs on alone; negative: any. NULL: any */
    int (*processor)(int process, int loop);
    int process;               /**< the index of this one */
    brg_listener ***listeners; /**< [n_loops], each a NULL-terminated array */
    int n_workers; /**< worker threads of this process, of all loops together; started on demand */
    /** worker_bounds; 0: no other process has any */
    int n_workers_most, n_workers_kept, n_workers_all;
    struct worker_share *workers; /**< loops_start() sets it; NULL: a loop has them for itself */
    /** NULL, or called when a request has to wait since all of them are at work. Threads: a loop's. */
    void (*workers_full)(int n_workers);
    int queue_most;               /**< connections that may wait for a worker */
    apr_interval_time_t queue_us; /**< how long each may wait, microseconds; 0 = any time */
    /** WorkerStallTimeout, microseconds; 0 = none: see conn_wait() */
    apr_interval_time_t stall_us;
    /** OutputSpoolSize: bytes of a response on disk for a client that is slower than its worker; 0 = none */
    apr_off_t spool_most;
    apr_off_t spool_total; /**< the same of all responses of this process together */
    const char *spool_dir; /**< OutputSpoolDir */
    int max_files;         /**< files that the caches of this process may keep open */
    size_t cache_bytes;    /**< memory of the cache of one loop, where FileCacheSize is not set */
    int max_connections;   /**< open connections of this process; beyond it, loops stop accepting */
    int slot;              /**< this process's index in the scoreboard */
    size_t stack_bytes;    /**< ThreadStackSize; 0 = the system's */

    /** With n_workers 0 the calling thread is the only one: it runs the one loop, and the work of
     * workers in between. */
    int order_fds[2]; /**< readable: orders_come is called, on the loop; -1 = none */
    void (*orders)(void *baton, int come); /**< called at the end of each turn */
    void *baton;
} loops_config;

/** Be the one thread (n_workers 0), from loops_start() until loops_stop() was called and all is
 * done. */
void loops_run_here(void);

/** Start all threads, unless there is only the caller. Called once, after child_init and the drop
 * of privileges. */
apr_status_t loops_start(apr_pool_t *pchild, const loops_config *config);

/**
 * Begin to end: no further accept; idle connections are closed, those with a request under way get
 * their answer with "Connection: close" and are closed then. Returns at once. Threads: the main
 * thread.
 * @param graceful  0: drop everything now
 */
void loops_stop(int graceful);

/** Call @a with each event loop of the process. Threads: any that ends before the loops, such as a
 * worker. */
void loops_each(void (*with)(brg_loop *loop, void *baton), void *baton);

/** worker_share_watch() of the process's workers, and worker_share_lend(). */
int loops_watch_workers(int limit);

/** Wait until all threads ended, at most @a limit_us (negative: for ever). @return 0 when all ended
 */
int loops_join(apr_interval_time_t limit_us);

/** The calling thread, a loop's or a worker, is about to end: the layer frees its data of the
 * thread. */
void loops_thread_end(void);

/** After loops_join() said 0: close open connections, free the loops' memory. */
void loops_free(void);

#endif
