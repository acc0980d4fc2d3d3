/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MPM_MPM_SETTINGS_H
#define BRIGADE_MPM_MPM_SETTINGS_H

/**
 * @file mpm_settings.h
 * Settings of the process model and the parts that Apache's MPM interface is made of.
 */
#include "httpd.h"
#include "http_config.h"
#include "mpm_common.h"

#include <signal.h>

/** Apache's defaults; here they bound the number of threads, which start when there is work. */
#define MPM_DEFAULT_THREADS 25       /**< ThreadsPerChild */
#define MPM_DEFAULT_SERVERS 16       /**< ServerLimit */
#define MPM_DEFAULT_FACTOR 2.0       /**< AsyncRequestWorkerFactor */
#define MPM_DEFAULT_QUEUE 1024       /**< WorkerQueueSize */
#define MPM_DEFAULT_QUEUE_SECONDS 60 /**< WorkerQueueTimeout */
#define MPM_DEFAULT_STALL_SECONDS 5  /**< WorkerStallTimeout */
#define MPM_DEFAULT_LOOP_SECONDS 20  /**< LoopTimeout: no turn takes so long unless it has no end */
#define MPM_DEFAULT_SPOOL ((apr_int64_t)1 << 30)       /**< OutputSpoolSize, of one response */
#define MPM_DEFAULT_SPOOL_TOTAL ((apr_int64_t)4 << 30) /**< and of all of a process */
#define MPM_DEFAULT_SPOOL_DIR "/var/tmp" /**< OutputSpoolDir: on a disk, unlike many a /tmp */
#define MPM_DEFAULT_RELOAD_SECONDS 120
#define MPM_MAX_PROCESSES 64
#define MPM_MAX_PREFORK 4096 /**< processes with mpm_prefork */
#define MPM_MAX_LOOPS 256
#define MPM_MAX_THREADS 20000

/** The process model as configured. Set by mpm_directives.c; read-only once the configuration is read. */
typedef struct mpm_conf {
    int processes;       /**< server processes that there are */
    int processes_given; /**< ServerProcesses; 0 = not given */
    int loops;           /**< EventLoops of each process; 0 = auto */
    int threads;         /**< ThreadsPerChild; 0 = not given */
    int queue;           /**< WorkerQueueSize: requests of one process that may wait for a worker */
    int queue_seconds;   /**< WorkerQueueTimeout: how long each may; 0 = any time */
    /** WorkerStallTimeout: how long a client may make no progress while others wait for workers; 0
     * = as long as Timeout */
    int stall_seconds;
    int loop_seconds;   /**< LoopTimeout: a turn of so long has no end; 0 = it may */
    int worker_seconds; /**< WorkerTimeout: processor time of one request of a worker; 0 = any */
    apr_int64_t spool;  /**< OutputSpoolSize: bytes of a response on disk; 0 = none */
    apr_int64_t spool_total; /**< of all responses of a process */
    const char *spool_dir;   /**< OutputSpoolDir */
    int requests;            /**< MaxRequestWorkers; 0 = not given */
    double factor;           /**< AsyncRequestWorkerFactor */
    int server_limit;        /**< ServerLimit; 0 = not given */
    int thread_limit;        /**< ThreadLimit; 0 = not given */
    int drain_seconds;       /**< GracefulDrainDelay */
    int reload_seconds;      /**< ReloadTimeout */
    int trial_is_full;       /**< ReloadTrial: a trial does all that a start does */
    /** mpm_prefork: one thread and one connection per process; only then the following counts */
    int prefork;
    int start;     /**< StartServers */
    int spare_min; /**< MinSpareServers */
    int spare_max; /**< MaxSpareServers */
} mpm_conf;

extern mpm_conf mpm_settings;

/** Processes that run at the start of a generation, and that there may be at most. */
int mpm_processes_start(void);
int mpm_processes_most(void);

/** Messages of the process model are those of the module that was chosen: in place of
 * APLOG_USE_MODULE. */
extern int mpm_log_index;
#define MPM_USE_LOG_MODULE AP_MAYBE_UNUSED(static int *const aplog_module_index) = &mpm_log_index

/** Since pre_config began a module asked whether there are threads, and was told that there are. */
int mpm_told_of_threads(void);

/** Of the worker threads that there may be, the part of one process (mpm_capacity.c); 0 with mpm_prefork. Any time. */
int mpm_workers(void);

/** How many of its part a process does not lend to others; how many there may be in all processes, 0 if there is one
 * alone; and how many a process may have at most. */
int mpm_workers_kept(void);
int mpm_workers_all(void);
int mpm_workers_most(void);

/** Connections that one process may have; 0 = no limit but descriptors. */
int mpm_connections(void);

/** mpm_event: tell of settings that do not fit together. Once all directives are read. */
void mpm_check_capacity(void);

/** A request has to wait since all @a workers threads of this process are at work. Threads: a loop's. */
void mpm_workers_full(int workers);

/** Loops of each process: EventLoops, or the CPUs that may be used shared out among the processes,
 * at least 1. */
int mpm_loops(void);

/** LoopAffinity: the processor for a loop, or -1. loops_config.processor */
int mpm_processor(int process, int loop);

/** Bytes that the response cache of one loop may take where FileCacheSize is not set: its part of a
 * sixteenth of the memory that may be used (memory_limit.h), between 64 MiB and 1 GiB. Opens files. */
size_t mpm_cache_bytes(void);

/** Destroy all pools and end the program (process_exit.c). */
void mpm_process_exit(process_rec *process, int status) __attribute__((noreturn));

/** Set while the process model is (one of AP_MPMQ_STARTING, RUNNING, STOPPING). */
extern _Atomic int mpm_state;

/** -X, -D DEBUG and the like, asked of the command line. */
int mpm_one_process(void);

/** The word behind -k; NULL: there was none. */
const char *mpm_command(void);

/** The supervisor of the server that runs with this configuration. @return 0: not running, which is
 * said on standard error */
pid_t mpm_running(apr_pool_t *pconf);

/** 1 if one runs with this configuration, or its PidFile cannot tell. Says nothing. */
int mpm_runs(apr_pool_t *pconf);
int mpm_foreground(void);

/** Which generation a process belongs to; in the supervisor that of its newest processes. */
extern ap_generation_t mpm_generation;

/** Run the callbacks that ap_mpm_register_timed_callback() queued: starts its thread in this
 * process. */
void mpm_timer_fini(void);

/** Query hook of the mpm module (mpm_query.c). */
int mpm_query_hook(int query_code, int *result, apr_status_t *rv);
apr_status_t mpm_timer_hook(apr_time_t date, ap_mpm_callback_fn_t *fn, void *baton);

/** To the supervisor: the program at its path takes its place. nginx has the same signal for that. */
#define SUP_SIG_UPGRADE SIGUSR2

/** daemon.c: leave the terminal; called once. Returns in the daemon only; the starter waits for
 * daemon_ready().
 */
apr_status_t daemon_detach(apr_pool_t *p);

/** As the program begins: standard error, which becomes the error log, is kept for daemon_say() until the server is up. */
void daemon_keep_terminal(void);

/** Show @a text, a line, to whoever started the server, unless standard error goes there still. Nothing once the server is up. */
void daemon_say(const char *text);

/** In a new server process: nothing of the starter's is kept open. */
void daemon_child(void);

/** The server is up: lets the starter end with status 0. May be called any number of times. */
void daemon_ready(void);

#endif
