/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes as Apache's interface knows them: how one ended, which exist besides the server
 * processes, and the end of them all. The server processes themselves are the supervisor's
 * (supervisor_children.c).
 */
#include "supervisor_parts.h"

#include "http_log.h"
#include "http_main.h"

#include "apr_signal.h"
#include "apr_strings.h"
#include "apr_thread_proc.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

/* ---- processes that modules started ---- */

typedef struct extra_process {
    struct extra_process *next;
    pid_t pid;
    ap_generation_t generation;
} extra_process;

static extra_process *extra_first;

AP_DECLARE(void) ap_register_extra_mpm_process(pid_t pid, ap_generation_t gen)
{
    extra_process *e = ap_malloc(sizeof *e);

    *e = (extra_process){.next = extra_first, .pid = pid, .generation = gen};
    extra_first = e;
}

AP_DECLARE(int) ap_unregister_extra_mpm_process(pid_t pid, ap_generation_t *old_gen)
{
    extra_process **at = &extra_first, *e;

    while (*at && (*at)->pid != pid)
        at = &(*at)->next;
    if (!(e = *at))
        return 0;
    *old_gen = e->generation;
    *at = e->next;
    free(e);
    return 1;
}

/* ---- how a process ended ---- */

/* Only children of our process group are ever signalled: a number out of shared memory may have
 * been forged. */
AP_DECLARE(apr_status_t) ap_mpm_safe_kill(pid_t pid, int sig)
{
    pid_t group = getpgid(pid);

    if (pid < 1)
        return APR_EINVAL;
    if (group == -1)
        return errno;
    if (group != getpgrp()) {
        ap_log_error(APLOG_MARK, APLOG_ALERT, 0, ap_server_conf,
                     APLOGNO(00049) "refusing to send signal %d to pid %ld outside process group",
                     sig, (long)pid);
        return APR_EINVAL;
    }
    return kill(pid, sig) ? errno : APR_SUCCESS;
}

static int mpm_signal_is_ordinary(int sig)
{
    return sig == SIGTERM || sig == SIGHUP || sig == AP_SIG_GRACEFUL || sig == SIGKILL;
}

static void mpm_log_signal(const apr_proc_t *pid, apr_exit_why_e why, int sig)
{
    const char *name = apr_signal_description_get(sig);

    if (APR_PROC_CHECK_CORE_DUMP(why)) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf,
                     APLOGNO(00051) "child pid %ld exit signal %s (%d), possible coredump in %s",
                     (long)pid->pid, name, sig, ap_coredump_dir);
        return;
    }
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf,
                 APLOGNO(00052) "child pid %ld exit signal %s (%d)", (long)pid->pid, name, sig);
}

AP_DECLARE(int) ap_process_child_status(apr_proc_t *pid, apr_exit_why_e why, int status)
{
    if (APR_PROC_CHECK_EXIT(why)) {
        if (status == APEXIT_CHILDSICK)
            return status;
        if (status == APEXIT_CHILDFATAL) {
            ap_log_error(APLOG_MARK, APLOG_ALERT, 0, ap_server_conf,
                         APLOGNO(00050) "Child %ld returned a Fatal error... Apache is exiting!",
                         (long)pid->pid);
            return APEXIT_CHILDFATAL;
        }
        return 0;
    }
    if (APR_PROC_CHECK_SIGNALED(why) && !mpm_signal_is_ordinary(status))
        mpm_log_signal(pid, why, status);
    return 0;
}

/* ---- waiting ---- */

#define MPM_WAIT_US APR_USEC_PER_SEC
#define MPM_MONITOR_EVERY 10 /* waits */

AP_DECLARE(void)
ap_wait_or_timeout(apr_exit_why_e *status, int *exitcode, apr_proc_t *ret, apr_pool_t *p,
                   server_rec *s)
{
    static int waits;
    apr_status_t rv;

    if (++waits == MPM_MONITOR_EVERY) {
        waits = 0;
        ap_run_monitor(p, s);
    }
    rv = apr_proc_wait_all_procs(ret, exitcode, status, APR_NOWAIT, p);
    if (rv == APR_CHILD_DONE)
        return;
    ret->pid = -1;
    if (!APR_STATUS_IS_EINTR(rv))
        apr_sleep(MPM_WAIT_US);
}

/* ---- ending ---- */

/* 1 when the process is gone. */
static int mpm_reap(pid_t pid, ap_reclaim_callback_fn_t *callback, int slot, ap_generation_t gen)
{
    int status;
    pid_t got = waitpid(pid, &status, WNOHANG);

    if (got == 0)
        return 0;
    if (callback)
        callback(slot, pid, gen);
    return 1;
}

/* Reap ended processes; send sig (unless 0) to the rest. Returns how many are left. */
static int mpm_sweep(int sig, ap_reclaim_callback_fn_t *callback)
{
    int left = 0;

    /* By the supervisor's own table: server processes can write the numbers in the scoreboard. */
    for (const sup_process *c = sup_processes; c; c = c->next) {
        if (mpm_reap(c->pid, callback, c->slot, c->generation))
            continue;
        if (sig)
            ap_mpm_safe_kill(c->pid, sig);
        left++;
    }
    for (extra_process *e = extra_first, *next; e; e = next) {
        pid_t pid = e->pid;
        ap_generation_t gen;
        next = e->next;
        if (mpm_reap(pid, callback, -1, e->generation)) {
            ap_unregister_extra_mpm_process(pid, &gen);
            continue;
        }
        if (sig)
            ap_mpm_safe_kill(pid, sig);
        left++;
    }
    return left;
}

AP_DECLARE(void)
ap_reclaim_child_processes(int terminate, ap_reclaim_callback_fn_t *mpm_callback)
{
    /* Milliseconds to wait after each signal before the next. */
    static const struct {
        int sig, ms;
    } steps[] = {{0, 0}, {SIGTERM, 600}, {SIGKILL, 300}};

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (!terminate && steps[i].sig == SIGTERM)
            continue;
        if (!mpm_sweep(steps[i].sig, mpm_callback))
            return;
        for (int waited = 0; waited < steps[i].ms; waited += 10) {
            apr_sleep(10 * 1000);
            if (!mpm_sweep(0, mpm_callback))
                return;
        }
    }
}

AP_DECLARE(void) ap_relieve_child_processes(ap_reclaim_callback_fn_t *mpm_callback)
{
    mpm_sweep(0, mpm_callback);
}

/* ---- generations ---- */

void ap_core_child_status(server_rec *s, pid_t pid, ap_generation_t gen, int slot,
                          mpm_child_status status)
{
    ap_log_error(APLOG_MARK, APLOG_TRACE4, 0, s, "process %ld of generation %d in slot %d: %s",
                 (long)pid, gen, slot,
                 status == MPM_CHILD_STARTED  ? "started"
                 : status == MPM_CHILD_EXITED ? "ended"
                                              : "lost its slot");
}

apr_status_t ap_mpm_end_gen_helper(void *unused)
{
    ap_run_end_generation(ap_server_conf, mpm_generation);
    return APR_SUCCESS;
}
