/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROCESS_GENERATION_H
#define BRIGADE_PROCESS_GENERATION_H

/**
 * @file generation.h
 * A whole configuration, from its files to hooks that ran (config_generation.c), and whether another
 * one would start (config_check.c).
 *
 * Threads: the main thread.
 */
#include "httpd.h"
#include "configuration.h"

/** How far conf_generation_read goes. */
typedef enum conf_depth {
    CONF_DEPTH_READ, /**< read; only those directives act that do so when they are read, such as LoadModule */
    CONF_DEPTH_CHECK, /**< read, walked and checked: what -t does */
    CONF_DEPTH_TRIAL, /**< also post_config run, without logs and listening sockets: for a trial */
    CONF_DEPTH_FULL   /**< also logs opened and post_config run: ready to serve */
} conf_depth;

/**
 * Read the configuration named by the command line into process->pconf, which must be empty.
 *
 * @return APR_SUCCESS, with ap_server_conf and ap_conftree set; else what is wrong was logged and
 * pconf must be cleared before another attempt Blocking: reads files. Threads: the main thread, no
 * other may run in this process.
 */
apr_status_t conf_generation_read(process_rec *process, conf_depth depth);

/** The rest of @a depth behind CONF_DEPTH_CHECK: open the logs, run post_config. */
apr_status_t conf_generation_open(process_rec *process, conf_depth depth);

/** Undo a generation: hooks forgotten, pconf and plog cleared, built-in modules registered again.
 */
void conf_generation_clear(process_rec *process);

/** Pools of the current generation. */
apr_pool_t *conf_plog(void);
apr_pool_t *conf_ptemp(void);

/** Make the pools; called once, before any module registers hooks. */
void conf_generation_init(process_rec *process);

/** The file to read (relative to the root) and ServerRoot until the file sets it; both live for
 * ever. */
void conf_generation_source(const char *confname, const char *default_root);

/**
 * Would the configuration files, as they are now, start? Answered by a forked child that reads them
 * with all checks (as -t does) and leaves this process untouched. Its messages go to this process's
 * error log.
 *
 * @return 1 if they would, 0 if not
 * Blocking: waits for the child. Threads: the supervisor's main thread, which must hold no locks.
 */
int conf_test_in_child(process_rec *process);

/**
 * The same with another program.
 * @param says  what it must write to standard error, as a line of its own, for a 1
 */
int conf_test_program_in_child(process_rec *process, const char *program, const char *says);

/** Our command line for another process of this server: without options that only make sense for the one that was started with
 * them, and with @a first (or NULL) in front. @return NULL-terminated */
const char *const *conf_program_args(const process_rec *process, const char *first, apr_pool_t *p);

/**
 * For a reload: conf_generation_clear, then conf_generation_read to full depth. Module structs are
 * static data that third-party modules reset from cleanups of pconf, so two generations cannot live
 * side by side in one process; conf_test_in_child() is what makes a reload safe. Should the files
 * have become bad in between, the attempt is repeated for a while, server processes meanwhile
 * serving on.
 */
apr_status_t conf_read_generation(process_rec *process);

#endif
