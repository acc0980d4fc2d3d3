/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SUPERVISOR_GENERATION_H
#define BRIGADE_SUPERVISOR_GENERATION_H

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
    CONF_DEPTH_CHECK, /**< read, walked and checked */
    CONF_DEPTH_TRIAL, /**< also post_config run, without listening sockets; with logs, as trial.h has it, if this process is a trial */
    CONF_DEPTH_FULL   /**< also logs opened and post_config run: ready to serve */
} conf_depth;

/**
 * Read the configuration named by the command line into process->pconf, which must be empty.
 *
 * @return APR_SUCCESS, with ap_server_conf and ap_conftree set; else the fault was logged and
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

/* ---- config_fault.c: why it cannot be used ---- */

/** A phase begins: messages from here on tell why it fails. */
void conf_fault_phase(void);

/** A hook of this module failed; NULL: of none. @param name  static */
void conf_fault_module(const char *name);

/** The phase failed: find out the place, while its configuration is there still. @param message  if nothing else was logged */
void conf_fault_found(const char *message);

/** Nobody listens to messages any more. */
void conf_fault_end(void);

/** The fault, with file and line where that can be told, on one line; "" if nothing is. Until the next phase begins. */
const char *conf_fault(void);

/** 1 if it says more than the messages that were logged, of which there may be none. */
int conf_fault_is_placed(void);

/* ---- config_trial.c: the process that tries a configuration out ---- */

/** Its order: the purpose, and for a reload the addresses that the server has, as in handover.h; "*" for any. */
#define CONF_TRIAL_VARIABLE "BRIGADE_TRIAL"
#define CONF_TRIAL_START "start"
#define CONF_TRIAL_RELOAD "reload"
#define CONF_TRIAL_SECRETS " secrets=" /**< a descriptor of kept_secret.h, in the order, too */

/** How it tells the result, as lines on standard error. */
#define CONF_TRIAL_GOOD "brigade-trial good"
#define CONF_TRIAL_FAULT "brigade-trial bad "

/** As the program begins: 1 if it was started for a trial. Programs that it starts are not told. */
int conf_trial_asked(void);

/** Do all that a start does, as far as a trial may (trial.h), tell the result, and end the program. */
void conf_trial(process_rec *process) __attribute__((noreturn));

/* ---- config_check.c: the asking side ---- */

/** -t: would a start go well? @return 1, or 0 after saying why not on standard error. Blocking: waits for a child process */
int conf_trial_of_start(process_rec *process);

/**
 * Would the configuration files, as they are now, start? Answered by a process of its own, which does all that a start does and
 * leaves this one untouched. A fault goes to this process's error log, as one line.
 *
 * @param quietly  say nothing if it is the same fault as the last
 * @return 1 if they would, 0 if not
 * Blocking: waits for the child. Threads: the supervisor's main thread, which must hold no locks.
 */
int conf_test_in_child(process_rec *process, int quietly);

/**
 * The same with another program.
 * @param says  the last line that it must write to standard error for a 1
 * @param also  a line that it may write there before; *said tells whether it did
 */
int conf_test_program_in_child(process_rec *process, const char *program, const char *says,
                               const char *also, int *said);

/** Our command line for another process of this server: without options that only make sense for the process started with
 * them, and with @a first (or NULL) in front. @return NULL-terminated */
const char *const *conf_program_args(const process_rec *process, const char *first, apr_pool_t *p);

/**
 * For a reload: conf_generation_clear, then conf_generation_read to full depth. Module structs are
 * static data that third-party modules reset from cleanups of pconf, so two generations cannot live
 * side by side in one process; conf_test_in_child() makes a reload safe. A failure even so leaves
 * the server processes alone: they serve on, and it is tried again whenever a trial is good, and at
 * once when that is ordered. A module that crashes or calls exit() meanwhile leads there, too
 * (upgrade.c).
 * @return another status than APR_SUCCESS if the server was told to end, and has
 */
apr_status_t conf_read_generation(process_rec *process);

#endif
