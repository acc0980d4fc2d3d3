/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_MPM_COMMON_H
#define APACHE_MPM_COMMON_H

/**
 * @file mpm_common.h Common needs of all ways of running processes and threads. For the
 * supervisor's main thread, except hooks that say otherwise.
 */
#include "ap_config.h"
#include "ap_mpm.h"
#include "scoreboard.h"
#include <netinet/tcp.h>
#include "apr_proc_mutex.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DEFAULT_LISTENBACKLOG
/** ListenBacklog where the configuration has none. */
#define DEFAULT_LISTENBACKLOG 511
#endif
#ifndef DEFAULT_TCP_DEFER_ACCEPT
/** ListenTCPDeferAccept where the configuration has none, seconds. */
#define DEFAULT_TCP_DEFER_ACCEPT 30
#endif

/* Signals of a graceful restart and stop. */
#define AP_SIG_GRACEFUL SIGUSR1
#define AP_SIG_GRACEFUL_SHORT USR1
#define AP_SIG_GRACEFUL_STRING "SIGUSR1"
#define AP_SIG_GRACEFUL_STOP SIGWINCH
#define AP_SIG_GRACEFUL_STOP_SHORT WINCH
#define AP_SIG_GRACEFUL_STOP_STRING "SIGWINCH"

/* ---- Server processes ---------------------------------------------------------------------------------- */

/** A process that was started by nobody the scoreboard knows has ended. */
typedef void ap_reclaim_callback_fn_t(int childnum, pid_t pid, ap_generation_t gen);
/** Wait for all to end, more and more insistently if @a terminate. */
AP_DECLARE(void)
ap_reclaim_child_processes(int terminate, ap_reclaim_callback_fn_t *mpm_callback);
/** Collect ended processes; do not wait. */
AP_DECLARE(void) ap_relieve_child_processes(ap_reclaim_callback_fn_t *mpm_callback);
/* Processes without a slot. */
AP_DECLARE(void) ap_register_extra_mpm_process(pid_t pid, ap_generation_t gen);
/** Forget it. 1 if it was known; its generation is then in *old_gen. */
AP_DECLARE(int) ap_unregister_extra_mpm_process(pid_t pid, ap_generation_t *old_gen);
/** kill(2), but only of a process that is ours. APR_EINVAL. */
AP_DECLARE(apr_status_t) ap_mpm_safe_kill(pid_t pid, int sig);
/** Log how a process ended. APEXIT_CHILDFATAL, APEXIT_CHILDSICK or 0. */
AP_DECLARE(int) ap_process_child_status(apr_proc_t *pid, apr_exit_why_e why, int status);
/** Wait for a process to end, at most a second; pid -1 if none did. Runs the monitor hook at times. */
AP_DECLARE(void)
ap_wait_or_timeout(apr_exit_why_e *status, int *exitcode, apr_proc_t *ret, apr_pool_t *p,
                   server_rec *s);
/* Handlers for signals that end a process. */
AP_DECLARE(apr_status_t) ap_fatal_signal_setup(server_rec *s, apr_pool_t *in_pconf);
/** The same in a server process. */
AP_DECLARE(apr_status_t) ap_fatal_signal_child_setup(server_rec *s);
/** Pool cleanup: runs end_generation if the generation is over. */
AP_DECLARE(apr_status_t) ap_mpm_end_gen_helper(void *unused);
/** Function of the child_status hook. */
AP_DECLARE(void)
ap_core_child_status(server_rec *s, pid_t pid, ap_generation_t gen, int slot,
                     mpm_child_status status);

/** Set TCP_NODELAY. Any thread. */
AP_DECLARE(void) ap_sock_disable_nagle(apr_socket_t *s);

/* Numbers of a user and group; "#123" is 123. They end the process if it is unknown. */
AP_DECLARE(uid_t) ap_uname2id(const char *name);
/** The same for a group. */
AP_DECLARE(gid_t) ap_gname2id(const char *name);

/* ---- Pipe of death: one byte ends one process ---------------------------------------------------------- */

/** A pipe through which the supervisor tells server processes to end. */
typedef struct ap_pod_t ap_pod_t;
struct ap_pod_t {
    apr_file_t *pod_in;
    apr_file_t *pod_out;
    apr_pool_t *p;
};
/** Make one in @a p. */
AP_DECLARE(apr_status_t) ap_mpm_pod_open(apr_pool_t *p, ap_pod_t **pod);
/** APR_SUCCESS: end. AP_NORESTART: not yet. */
AP_DECLARE(apr_status_t) ap_mpm_pod_check(ap_pod_t *pod);
/** Close both ends. */
AP_DECLARE(apr_status_t) ap_mpm_pod_close(ap_pod_t *pod);
/** Tell one process to end. */
AP_DECLARE(apr_status_t) ap_mpm_pod_signal(ap_pod_t *pod);
/** Tell @a num processes to end. */
AP_DECLARE(void) ap_mpm_pod_killpg(ap_pod_t *pod, int num);

/* The same for processes with threads, with the manner of the end. */
#define AP_MPM_PODX_RESTART_CHAR '$'
#define AP_MPM_PODX_GRACEFUL_CHAR '!'
/** Orders to processes: to end at once, or when their requests are done. */
typedef enum {
    AP_MPM_PODX_NORESTART,
    AP_MPM_PODX_RESTART,
    AP_MPM_PODX_GRACEFUL
} ap_podx_restart_t;
/** Make one in @a p. */
AP_DECLARE(apr_status_t) ap_mpm_podx_open(apr_pool_t *p, ap_pod_t **pod);
/** In a server process: the order, 0 = nothing. Does not block. */
AP_DECLARE(int) ap_mpm_podx_check(ap_pod_t *pod);
/** Close both ends. */
AP_DECLARE(apr_status_t) ap_mpm_podx_close(ap_pod_t *pod);
/** Tell one process. */
AP_DECLARE(apr_status_t) ap_mpm_podx_signal(ap_pod_t *pod, ap_podx_restart_t graceful);
/** Tell @a num processes. */
AP_DECLARE(void) ap_mpm_podx_killpg(ap_pod_t *pod, int num, ap_podx_restart_t graceful);

/* ---- Settings and their directives --------------------------------------------------------------------- */

/** MaxConnectionsPerChild. */
AP_DECLARE_DATA extern int ap_max_requests_per_child;
/** PidFile. */
AP_DECLARE_DATA extern const char *ap_pid_fname;
/** CoreDumpDirectory. */
AP_DECLARE_DATA extern char ap_coredump_dir[MAX_STRING_LEN];
/** 1 if the configuration has CoreDumpDirectory. */
AP_DECLARE_DATA extern int ap_coredumpdir_configured;
AP_DECLARE_DATA extern int ap_graceful_shutdown_timeout; /**< seconds */
AP_DECLARE_DATA extern apr_uint32_t ap_max_mem_free;     /**< bytes */
/** ThreadStackSize, bytes; 0 = the system's. */
AP_DECLARE_DATA extern apr_size_t ap_thread_stacksize;

/** MaxConnectionsPerChild. */
AP_DECLARE(const char *) ap_mpm_set_max_requests(cmd_parms *cmd, void *dummy, const char *arg);
/** PidFile. */
AP_DECLARE(const char *) ap_mpm_set_pidfile(cmd_parms *cmd, void *dummy, const char *arg);
/** CoreDumpDirectory. */
AP_DECLARE(const char *) ap_mpm_set_coredumpdir(cmd_parms *cmd, void *dummy, const char *arg);
/** GracefulShutdownTimeout. */
AP_DECLARE(const char *) ap_mpm_set_graceful_shutdown(cmd_parms *cmd, void *dummy, const char *arg);
/** MaxMemFree. */
AP_DECLARE(const char *) ap_mpm_set_max_mem_free(cmd_parms *cmd, void *dummy, const char *arg);
/** ThreadStackSize. */
AP_DECLARE(const char *) ap_mpm_set_thread_stacksize(cmd_parms *cmd, void *dummy, const char *arg);
#if defined(AP_ENABLE_EXCEPTION_HOOK) && AP_ENABLE_EXCEPTION_HOOK
/** EnableExceptionHook. */
AP_DECLARE(const char *) ap_mpm_set_exception_hook(cmd_parms *cmd, void *dummy, const char *arg);
#endif
/** The entry of GracefulShutdownTimeout in a table of directives. */
#define AP_GRACEFUL_SHUTDOWN_TIMEOUT_COMMAND \
    AP_INIT_TAKE1("GracefulShutdownTimeout", ap_mpm_set_graceful_shutdown, NULL, RSRC_CONF, \
                  "Seconds that server processes may take to end gracefully")

/** NULL, or why the MPM cannot run. */
AP_DECLARE(const char *) ap_check_mpm(void);
/** Print where the PID file is, for -D DUMP_RUN_CFG. */
AP_DECLARE(void) ap_mpm_dump_pidfile(apr_pool_t *p, apr_file_t *out);
/** Carry out -k on the running server; the exit status goes to the first argument. */
AP_DECLARE(int) ap_signal_server(int *exit_status, apr_pool_t *pconf);
/** Take -k and -X off the command line. */
AP_DECLARE(void) ap_mpm_rewrite_args(process_rec *process);
/** Before the configuration is read: set everything above to its default. */
AP_DECLARE(void) mpm_common_pre_config(apr_pool_t *pconf);
/** Modules that handle privileges: adds @a inc, returns the number. */
AP_DECLARE(int) ap_sys_privileges_handlers(int inc);

/** Name of the lock around accept() in Mutex. */
#define AP_ACCEPT_MUTEX_TYPE "mpm-accept"

/* ---- Hooks --------------------------------------------------------------------------------------------- */

/** In the supervisor, every few seconds. Run all. */
AP_DECLARE_HOOK(int, monitor, (apr_pool_t * p, server_rec *s))
/** In a server process, before it serves. Run all. */
AP_DECLARE_HOOK(int, drop_privileges, (apr_pool_t * pchild, server_rec *s))
/* Behind the functions of ap_mpm.h. First that does not decline. */
AP_DECLARE_HOOK(int, mpm_query, (int query_code, int *result, apr_status_t *rv))
AP_DECLARE_HOOK(apr_status_t, mpm_register_timed_callback,
                (apr_time_t t, ap_mpm_callback_fn_t *cbfn, void *baton))
AP_DECLARE_HOOK(const char *, mpm_get_name, (void))
/* A connection leaves its thread; comes back to one. @a r may be NULL. Run all. */
AP_DECLARE_HOOK(void, suspend_connection, (conn_rec * c, request_rec *r))
AP_DECLARE_HOOK(void, resume_connection, (conn_rec * c, request_rec *r))
/** In a server process that is to end. Run all. */
AP_DECLARE_HOOK(void, child_stopping, (apr_pool_t * pchild, int graceful))

#ifdef __cplusplus
}
#endif
#endif
