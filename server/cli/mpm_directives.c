/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mpm_event module: directives of the process model.
 *
 * Apache's event MPM starts and ends processes as load changes. Here their number is fixed, event
 * loops carry the connections, and worker threads start on demand. Its directives for the numbers
 * of requests and connections count here, too (mpm_capacity.c); directives about starting and
 * ending processes have no effect, and a notice says so once per configuration.
 */
#include "configuration.h"
#include "core_settings.h"
#include "setting.h"
#include "brigade/assert.h"
#include "brigade/directive.h"
#include "mpm_commands.h"
#include "upgrade.h"
#include "mpm_affinity.h"
#include "mpm_settings.h"
#include "main_parts.h"
#include "brigade/response_cache.h"
#include "supervisor_parts.h"
#include "scores.h"
#include "trial.h"

#include "ap_listen.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"

#include "apr_strings.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MPM_LEAST_SPOOL 65536

/* ---- numbers ---- */

void *mpm_of_settings(const cmd_parms *cmd)
{
    return &mpm_settings;
}

const conf_word mpm_trial_words[] = {{"Full", 1}, {"Check", 0}, {NULL, 0}};

static const char *mpm_set_loops(cmd_parms *cmd, void *dummy, const char *arg)
{
    if (ap_cstr_casecmp(arg, "auto"))
        return conf_set_number(cmd, dummy, arg);
    mpm_settings.loops = 0;
    return ap_check_cmd_context(cmd, GLOBAL_ONLY);
}

static const char *mpm_set_affinity(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    cpu_set_t usable;

    if (err)
        return err;
    mpm_affinity.n = 0;
    if (!ap_cstr_casecmp(arg, "off"))
        return NULL;
    if (sched_getaffinity(0, sizeof usable, &usable))
        return "LoopAffinity: the system does not tell which processors there are";
    if (!ap_cstr_casecmp(arg, "auto"))
        affinity_all(&usable, &mpm_affinity);
    else if ((err = affinity_read(cmd->temp_pool, arg, &usable, &mpm_affinity)) != NULL)
        err = apr_pstrcat(cmd->pool, "LoopAffinity: ", err, NULL);
    return err;
}

/* ---- output on disk ---- */

static const char *mpm_set_spool(cmd_parms *cmd, void *dummy, const char *one, const char *total)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t n, all = 0;

    if (!err)
        err = conf_bytes(cmd, one, &n);
    if (!err && total)
        err = conf_bytes(cmd, total, &all);
    if (err)
        return err;
    if (n && n < MPM_LEAST_SPOOL)
        return "OutputSpoolSize takes 0 (off) or at least 65536 bytes";
    if (total && all < n)
        return "OutputSpoolSize: the limit of all responses together is below that of one";
    mpm_settings.spool = n;
    if (total)
        mpm_settings.spool_total = all;
    else if (mpm_settings.spool_total < n)
        mpm_settings.spool_total = n;
    return NULL;
}

static const char *mpm_set_spool_dir(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    const char *dir = ap_server_root_relative(cmd->pool, arg);

    if (err)
        return err;
    if (!dir || !ap_is_directory(cmd->pool, dir))
        return apr_psprintf(cmd->pool, "OutputSpoolDir: %s is not a directory", arg);
    mpm_settings.spool_dir = dir;
    return NULL;
}

/* ---- directives without effect, and the one of Apache's connections ---- */

static const char *mpm_set_nothing(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    BRG_ASSERT(cmd->info != NULL);
    if (err)
        return err;
    brg_argument_clamp(cmd, brg_argument_number(cmd, arg), 0, INT_MAX);
    conf_notice_no_effect(cmd, mpm_log_index, cmd->info);
    return NULL;
}

static const char *mpm_set_factor(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    double factor;
    char *end;

    if (err)
        return err;
    factor = strtod(arg, &end);
    if (!(factor >= 0) || end == arg || *end)
        return "AsyncRequestWorkerFactor must be a positive number";
    mpm_settings.factor = factor;
    return NULL;
}

const char *mpm_set_exception_hook(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (err)
        return err;
    if (!ap_cstr_casecmp(arg, "off"))
        return NULL;
    if (ap_cstr_casecmp(arg, "on"))
        return "EnableExceptionHook takes On or Off";
    return "EnableExceptionHook On is not offered: fatal signals are logged by the server itself";
}

static const char no_spare[] = "worker threads start when there is work for them";
static const char no_start[] = "ServerProcesses says how many processes there are";

#define WHY(text) ((void *)(uintptr_t)(text))

const command_rec mpm_commands[] = {
    MPM_SHARED_COMMANDS,
    AP_INIT_TAKE1("ServerProcesses", conf_set_number,
                  MPM_NUMBER(processes_given, 1, MPM_MAX_PROCESSES), RSRC_CONF,
                  "number of server processes"),
    AP_INIT_TAKE1("EventLoops", mpm_set_loops, MPM_NUMBER(loops, 1, MPM_MAX_LOOPS), RSRC_CONF,
                  "auto, or number of event loops in each server process"),
    AP_INIT_TAKE1("LoopAffinity", mpm_set_affinity, NULL, RSRC_CONF,
                  "off, auto, or a list as 0-3,8: the processors that event loops run on"),
    AP_INIT_TAKE1("ThreadsPerChild", conf_set_clamped, MPM_NUMBER(threads, 1, MPM_MAX_THREADS),
                  RSRC_CONF,
                  "worker threads of a process: with ServerProcesses or ServerLimit, most of all"),
    AP_INIT_TAKE1("WorkerQueueSize", conf_set_number, MPM_NUMBER(queue, 1, 1000000), RSRC_CONF,
                  "most requests of a server process that wait for a worker thread"),
    AP_INIT_TAKE1("WorkerQueueTimeout", conf_set_number, MPM_NUMBER(queue_seconds, 0, 86400),
                  RSRC_CONF, "seconds that a request waits for a worker thread; 0 = any time"),
    AP_INIT_TAKE1("WorkerStallTimeout", conf_set_number, MPM_NUMBER(stall_seconds, 0, 86400),
                  RSRC_CONF,
                  "seconds that a client may make no progress while requests wait for its worker "
                  "thread; 0 = as long as Timeout"),
    AP_INIT_TAKE12(
        "OutputSpoolSize", mpm_set_spool, NULL, RSRC_CONF,
        "bytes of a response, and of all of a server process together, that wait on disk "
        "for slow clients; 0 = none: worker threads wait"),
    AP_INIT_TAKE1("OutputSpoolDir", mpm_set_spool_dir, NULL, RSRC_CONF,
                  "directory for files without a name, in which output waits for slow clients"),
    AP_INIT_TAKE1("ThreadLimit", conf_set_clamped, MPM_NUMBER(thread_limit, 1, MPM_MAX_THREADS),
                  RSRC_CONF, "upper bound of ThreadsPerChild"),
    AP_INIT_TAKE1("ServerLimit", conf_set_clamped, MPM_NUMBER(server_limit, 1, 20000), RSRC_CONF,
                  "bounds MaxRequestWorkers to so many times ThreadsPerChild"),
    AP_INIT_TAKE1("MaxRequestWorkers", conf_set_clamped, MPM_NUMBER(requests, 1, INT_MAX),
                  RSRC_CONF, "most requests that may wait for something at the same time"),
    AP_INIT_TAKE1("MaxClients", conf_set_clamped, MPM_NUMBER(requests, 1, INT_MAX), RSRC_CONF,
                  "former name of MaxRequestWorkers"),
    AP_INIT_TAKE1("StartServers", mpm_set_nothing, WHY(no_start), RSRC_CONF,
                  "number of processes at start"),
    AP_INIT_TAKE1("MinSpareThreads", mpm_set_nothing, WHY(no_spare), RSRC_CONF,
                  "fewest idle threads"),
    AP_INIT_TAKE1("MaxSpareThreads", mpm_set_nothing, WHY(no_spare), RSRC_CONF,
                  "most idle threads"),
    AP_INIT_TAKE1("AsyncRequestWorkerFactor", mpm_set_factor, NULL, RSRC_CONF,
                  "connections, as a multiple of MaxRequestWorkers, beside those"),
    {.name = NULL},
};

/* ---- phases ---- */

/* The first reading is a trial, made at the terminal. The second reading counts. */
static apr_status_t mpm_leave_terminal(apr_pool_t *p)
{
    static int readings;

    if (ap_run_mode != AP_SQ_RM_NORMAL || trial_runs() || ++readings != 2 || mpm_foreground() ||
        upgrade_took_over())
        return APR_SUCCESS;
    return daemon_detach(p);
}

static int mpm_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    apr_status_t rv = mpm_leave_terminal(pconf);

    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT | APLOG_STARTUP, rv, NULL,
                     mpm_settings.prefork ? APLOGNO(00174) "apr_proc_detach failed"
                                          : APLOGNO(00496) "apr_proc_detach failed");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (!trial_runs() && sup_signals_early() < 0)
        return HTTP_INTERNAL_SERVER_ERROR;
    mpm_common_pre_config(pconf);
    ap_listen_pre_config();
    sandbox_pre_config(pconf);
    mpm_settings_reset();
    ap_extended_status = 0;
    return OK;
}

static int mpm_check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    BRG_ASSERT(mpm_settings.processes > 0);
    if (mpm_settings.processes_given)
        mpm_settings.processes = mpm_settings.processes_given;
    if (mpm_one_process())
        mpm_settings.processes = 1;
    if (sandbox_check(s) != OK)
        return HTTP_INTERNAL_SERVER_ERROR;
    if (mpm_settings.prefork)
        return mpm_check_prefork();
    mpm_check_capacity();
    return OK;
}

void mpm_register_hooks(apr_pool_t *p)
{
    /* Ports before logs: when one is taken, that is said on the terminal. */
    static const char *const before[] = {"core.c", NULL};

    APR_REGISTER_OPTIONAL_FN(ap_signal_server);
    APR_REGISTER_OPTIONAL_FN(mpm_choose_prefork);
    brg_cache_declare(mpm_chosen_module(), NULL);
    ap_hook_test_config(main_dump_run_config, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_test_config(sandbox_dump, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_test_config(main_listen_report, NULL, NULL, APR_HOOK_MIDDLE);
    main_explain_hooks();
    ap_hook_test_config(main_advice_report, NULL, NULL, APR_HOOK_LAST);
    ap_hook_test_config(main_takeover_report, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_open_logs(supervisor_open, NULL, before, APR_HOOK_REALLY_FIRST);
    ap_hook_pre_config(mpm_pre_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_check_config(mpm_check_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_mpm(ap_create_scoreboard, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_status(ap_core_child_status, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_mpm(supervisor_run, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_mpm_query(mpm_query_hook, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_mpm_register_timed_callback(mpm_timer_hook, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_mpm_get_name(mpm_name, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(mpm_event) = {
    .version = MODULE_MAGIC_NUMBER_MAJOR,
    .minor_version = MODULE_MAGIC_NUMBER_MINOR,
    .module_index = -1,
    .name = "event.c", /* by which configurations know it */
    .magic = MODULE_MAGIC_COOKIE,
    .rewrite_args = ap_mpm_rewrite_args,
    .cmds = mpm_commands,
    .register_hooks = mpm_register_hooks,
};
