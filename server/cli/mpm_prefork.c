/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mpm_prefork module: for modules that are not thread-safe (PHP, Perl without threads, ...).
 *
 * LoadModule mpm_prefork_module puts this one in the place of mpm_event for as long as the
 * configuration lasts. A server process then is one thread, which ran child_init: it is its own
 * event loop (loop_turn_prefork()) and runs all hooks of modules. While it serves one connection it
 * takes no other, so their number is that of the processes, which follows the load
 * (supervisor_spare.c).
 */
#include "mpm_commands.h"
#include "brigade/assert.h"
#include "mpm_affinity.h"
#include "mpm_settings.h"
#include "configuration.h"

#include "ap_listen.h"
#include "http_core.h"
#include "http_log.h"
#include "scoreboard.h"

#include <stddef.h>

APLOG_USE_MODULE(core);

extern module mpm_event_module;
extern module mpm_prefork_module;

#define PREFORK_START 5
#define PREFORK_SPARE_MIN 5
#define PREFORK_SPARE_MAX 10
#define PREFORK_LIMIT 256

static const char *prefork_set_nothing(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (!err)
        conf_notice_no_effect(
            cmd, mpm_log_index,
            "with mpm_prefork a process has one loop, and MaxRequestWorkers says how "
            "many processes there are");
    return err;
}

static const command_rec prefork_commands[] = {
    MPM_SHARED_COMMANDS,
    AP_INIT_TAKE1("EventLoops", prefork_set_nothing, NULL, RSRC_CONF,
                  "event loops; here each process has one"),
    AP_INIT_TAKE1("LoopAffinity", prefork_set_nothing, NULL, RSRC_CONF,
                  "processors of event loops; here the system chooses"),
    AP_INIT_TAKE1("ServerProcesses", prefork_set_nothing, NULL, RSRC_CONF,
                  "server processes; here MaxRequestWorkers says so"),
    AP_INIT_TAKE1("StartServers", conf_set_clamped, MPM_NUMBER(start, 1, MPM_MAX_PREFORK),
                  RSRC_CONF, "number of processes at start"),
    AP_INIT_TAKE1("MinSpareServers", conf_set_clamped, MPM_NUMBER(spare_min, 1, MPM_MAX_PREFORK),
                  RSRC_CONF, "fewest processes without a connection"),
    AP_INIT_TAKE1("MaxSpareServers", conf_set_clamped, MPM_NUMBER(spare_max, 1, MPM_MAX_PREFORK),
                  RSRC_CONF, "most processes without a connection"),
    AP_INIT_TAKE1("ServerLimit", conf_set_clamped, MPM_NUMBER(server_limit, 1, MPM_MAX_PREFORK),
                  RSRC_CONF, "upper bound of MaxRequestWorkers"),
    AP_INIT_TAKE1("MaxRequestWorkers", conf_set_clamped, MPM_NUMBER(requests, 1, MPM_MAX_PREFORK),
                  RSRC_CONF, "most processes"),
    AP_INIT_TAKE1("MaxClients", conf_set_clamped, MPM_NUMBER(requests, 1, MPM_MAX_PREFORK),
                  RSRC_CONF, "former name of MaxRequestWorkers"),
    {.name = NULL},
};

/* ---- figures ---- */

static int prefork_limit(void)
{
    return mpm_settings.server_limit ? mpm_settings.server_limit : PREFORK_LIMIT;
}

void mpm_settings_reset(void)
{
    mpm_affinity.n = 0;
    mpm_settings = (mpm_conf){.processes = 1,
                              .factor = MPM_DEFAULT_FACTOR,
                              .queue = MPM_DEFAULT_QUEUE,
                              .stall_seconds = MPM_DEFAULT_STALL_SECONDS,
                              .loop_seconds = MPM_DEFAULT_LOOP_SECONDS,
                              .queue_seconds = MPM_DEFAULT_QUEUE_SECONDS,
                              .spool = MPM_DEFAULT_SPOOL,
                              .spool_total = MPM_DEFAULT_SPOOL_TOTAL,
                              .spool_dir = MPM_DEFAULT_SPOOL_DIR,
                              .reload_seconds = MPM_DEFAULT_RELOAD_SECONDS,
                              .trial_is_full = 1,
                              .prefork = mpm_prefork_module.module_index != -1,
                              .start = PREFORK_START,
                              .spare_min = PREFORK_SPARE_MIN,
                              .spare_max = PREFORK_SPARE_MAX};
    mpm_log_index =
        mpm_settings.prefork ? mpm_prefork_module.module_index : mpm_event_module.module_index;
}

int mpm_check_prefork(void)
{
    mpm_conf *conf = &mpm_settings;
    int most = conf->requests ? conf->requests : prefork_limit();

    BRG_ASSERT(conf->prefork);
    if (most > prefork_limit()) {
        ap_log_error(
            APLOG_MARK, APLOG_WARNING | APLOG_STARTUP, 0, NULL,
            APLOGNO(
                00180) "MaxRequestWorkers of %d exceeds ServerLimit of %d: it is lowered to that",
            most, prefork_limit());
        most = prefork_limit();
    }
    conf->processes = mpm_one_process() ? 1 : most;
    if (conf->start > conf->processes)
        conf->start = conf->processes;
    if (conf->spare_max <= conf->spare_min)
        conf->spare_max = conf->spare_min + 1;
    BRG_ASSERT(conf->start > 0 && conf->start <= conf->processes);
    BRG_ASSERT(conf->spare_min < conf->spare_max);
    conf->loops = 1;
    return OK;
}

module *mpm_chosen_module(void)
{
    return mpm_prefork_module.module_index != -1 ? &mpm_prefork_module : &mpm_event_module;
}

const char *mpm_name(void)
{
    return mpm_prefork_module.module_index != -1 ? "prefork" : "event";
}

/* ---- choice ---- */

/* mpm_event is entered again with the other built-in modules (ap_setup_prelinked_modules). */
static apr_status_t prefork_leave(void *unused)
{
    if (mpm_prefork_module.module_index != -1)
        ap_remove_loaded_module(&mpm_prefork_module);
    mpm_settings.prefork = 0;
    return APR_SUCCESS;
}

const char *mpm_choose_prefork(apr_pool_t *pconf, server_rec *s)
{
    const char *error;

    if (mpm_prefork_module.module_index != -1)
        return NULL;
    conf_builtin_replace(&mpm_event_module);
    error = ap_add_loaded_module(&mpm_prefork_module, pconf, "mpm_prefork_module");
    if (error)
        return error;
    BRG_ASSERT(mpm_prefork_module.module_index >= 0);
    mpm_settings.prefork = 1; /* modules that are loaded next may ask */
    apr_pool_cleanup_register(pconf, NULL, prefork_leave, apr_pool_cleanup_null);
    ap_single_module_configure(pconf, s, &mpm_prefork_module);
    return NULL;
}

module AP_MODULE_DECLARE_DATA mpm_prefork_module = {
    .version = MODULE_MAGIC_NUMBER_MAJOR,
    .minor_version = MODULE_MAGIC_NUMBER_MINOR,
    .module_index = -1,
    .name = "prefork.c", /* by which configurations know it */
    .magic = MODULE_MAGIC_COOKIE,
    .rewrite_args = ap_mpm_rewrite_args,
    .cmds = prefork_commands,
    .register_hooks = mpm_register_hooks,
};
