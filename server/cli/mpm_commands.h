/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CLI_MPM_COMMANDS_H
#define BRIGADE_CLI_MPM_COMMANDS_H

/**
 * @file mpm_commands.h
 * The modules mpm_event and mpm_prefork: their directives and hooks, which use all of the rooms below.
 */
#include "mpm_settings.h"
#include "setting.h"
#include "sandbox.h"

/** The process model's module: mpm_event_module, or mpm_prefork_module where that was chosen. */
module *mpm_chosen_module(void);

/** "event" or "prefork". */
const char *mpm_name(void);

/** Directives of the module (mpm_directives.c). */
extern const command_rec mpm_commands[];
void mpm_register_hooks(apr_pool_t *p);

/** A field of mpm_settings: cmd->info of the setters in setting.h. */
#define MPM_FIELD(field, ...)                                                              \
    CONF_SETTING(.of = mpm_of_settings, CONF_FIELD(mpm_conf, field), .where = GLOBAL_ONLY, \
                 __VA_ARGS__)
#define MPM_NUMBER(field, from, to) MPM_FIELD(field, .least = from, .most = to)
void *mpm_of_settings(const cmd_parms *cmd);
extern const conf_word mpm_trial_words[];

/** Common directives of both kinds of processes. */
#define MPM_SHARED_COMMANDS                                                                       \
    LISTEN_COMMANDS,                                                                              \
        AP_INIT_TAKE1("MaxConnectionsPerChild", ap_mpm_set_max_requests, NULL, RSRC_CONF,         \
                      "connections after which a process is replaced"),                           \
        AP_INIT_TAKE1("MaxRequestsPerChild", ap_mpm_set_max_requests, NULL, RSRC_CONF,            \
                      "former name of MaxConnectionsPerChild"),                                   \
        AP_INIT_TAKE1("LoopTimeout", conf_set_number, MPM_NUMBER(loop_seconds, 0, 86400),         \
                      RSRC_CONF,                                                                  \
                      "seconds of a turn of an event loop; then its process is replaced"),        \
        AP_INIT_TAKE1("WorkerTimeout", conf_set_number, MPM_NUMBER(worker_seconds, 0, 86400),     \
                      RSRC_CONF,                                                                  \
                      "seconds of processor time for one request after which a worker's process " \
                      "is replaced"),                                                             \
        AP_INIT_TAKE1("GracefulDrainDelay", conf_set_number, MPM_NUMBER(drain_seconds, 0, 86400), \
                      RSRC_CONF,                                                                  \
                      "seconds to serve on after graceful-stop, while readiness says 503"),       \
        AP_INIT_TAKE1("ReloadTimeout", conf_set_number, MPM_NUMBER(reload_seconds, 1, 86400),     \
                      RSRC_CONF,                                                                  \
                      "seconds that the trial of a configuration, or a new program, may take"),   \
        AP_INIT_TAKE1("ReloadTrial", conf_set_word,                                               \
                      MPM_FIELD(trial_is_full, .words = mpm_trial_words), RSRC_CONF,              \
                      "Full or Check: whether modules also set up all that they do at a start"),  \
        AP_INIT_TAKE1("MaxMemFree", ap_mpm_set_max_mem_free, NULL, RSRC_CONF,                     \
                      "KiB of free memory that an allocator keeps; 0 = all"),                     \
        AP_INIT_TAKE1("ThreadStackSize", ap_mpm_set_thread_stacksize, NULL, RSRC_CONF,            \
                      "bytes of a thread's stack"),                                               \
        AP_INIT_TAKE1("CoreDumpDirectory", ap_mpm_set_coredumpdir, NULL, RSRC_CONF,               \
                      "directory for core files"),                                                \
        AP_INIT_TAKE1(                                                                            \
            "Sandbox", sandbox_set, NULL, RSRC_CONF,                                              \
            "Off, On or Required: server processes reach only what the configuration names"),     \
        AP_INIT_TAKE_ARGV("SandboxAllow", sandbox_allow, NULL, RSRC_CONF,                         \
                          "read, write or exec, and paths that server processes may also reach"), \
        AP_INIT_TAKE1("PidFile", ap_mpm_set_pidfile, NULL, RSRC_CONF,                             \
                      "file for the process id of the server"),                                   \
        AP_INIT_TAKE1("ScoreBoardFile", ap_set_scoreboard, NULL, RSRC_CONF,                       \
                      "accepted; the scoreboard is anonymous memory"),                            \
        AP_INIT_TAKE1("EnableExceptionHook", mpm_set_exception_hook, NULL, RSRC_CONF,             \
                      "Off; On is refused"),                                                      \
        AP_GRACEFUL_SHUTDOWN_TIMEOUT_COMMAND

/** mpm_prefork.c: settings before a configuration is read; checks of their combination. */
void mpm_settings_reset(void);
int mpm_check_prefork(void);

const char *mpm_set_exception_hook(cmd_parms *cmd, void *dummy, const char *arg);

/** The optional function of that name (configuration.h). */
const char *mpm_choose_prefork(apr_pool_t *pconf, server_rec *s);

#endif
