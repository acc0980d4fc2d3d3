/* SPDX-License-Identifier: Apache-2.0 */
/* A generation of the configuration: everything from the files to "ready to serve", and back.
 *
 *   pool            lives as long as
 *   --------------  -------------------------------------
 *   process->pool   the program
 *     pconf         a generation
 *       ptemp       the generation is being read
 *     plog          the log files of a generation are open
 *
 * Modules keep their settings in static variables and reset these from
 * cleanups of pconf. So a generation is read only after the one before is gone; whether it can be
 * read is tried out beforehand by another process (config_check.c).
 */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "http_request.h"
#include "http_vhost.h"
#include "apr_hooks.h"
#include "apr_strings.h"
#include "upgrade.h"
#include "generation.h"
#include "configuration.h"
#include "core_settings.h"
#include "supervisor_parts.h"
#include "trial.h"
#include "brigade/memory.h"

APLOG_USE_MODULE(core);

static struct {
    apr_pool_t *plog, *ptemp;
    const char *confname, *default_root;
    int was_read; /* wholly, in this process */
} conf_gen;

apr_pool_t *conf_plog(void)
{
    return conf_gen.plog;
}

apr_pool_t *conf_ptemp(void)
{
    return conf_gen.ptemp;
}

void conf_generation_source(const char *confname, const char *default_root)
{
    conf_gen.confname = confname;
    conf_gen.default_root = default_root;
}

void conf_generation_init(process_rec *process)
{
    BRG_ASSERT(!conf_gen.plog);
    brg_pool_create_scoped(&conf_gen.plog, process->pool, BRG_SCOPE_LOG);
    apr_pool_tag(conf_gen.plog, "plog");
    apr_hook_global_pool = process->pconf;
}

/* A hook of the configuration phase: OK, or the failure is logged. */
static apr_status_t conf_phase(int rc, const char *message)
{
    if (rc == OK)
        return APR_SUCCESS;
    conf_fault_found(message);
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, NULL, "%s", message);
    return APR_EGENERAL;
}

static apr_status_t conf_phase_read(process_rec *process)
{
    server_rec *s;

    BRG_ASSERT(conf_gen.ptemp && conf_gen.confname);
    conf_vars_reset(process->pconf);
    conf_unsupported_reset();
    conf_notices_reset();
    conf_env_forget();
    core_banner_reset(process->pconf);
    ap_server_root = conf_gen.default_root;
    ap_init_vhost_config(process->pconf);
    s = ap_read_config(process, conf_gen.ptemp, conf_gen.confname, &ap_conftree);
    if (!s)
        return APR_EGENERAL;
    ap_server_conf = s;
    return APR_SUCCESS;
}

/* Lines that belong to modules which are not here stop a start, unless it was asked to go on
 * without them. */
static apr_status_t conf_phase_unsupported(void)
{
    int lenient = ap_exists_config_define("LENIENT");

    return conf_unsupported_report(lenient) && !lenient ? APR_EGENERAL : APR_SUCCESS;
}

static apr_status_t conf_phase_walk(apr_pool_t *pconf)
{
    apr_pool_t *ptemp = conf_gen.ptemp;
    apr_status_t rv;

    BRG_ASSERT(ptemp && ap_server_conf);
    apr_hook_sort_all();
    (void)mpm_told_of_threads();
    rv = conf_phase(ap_run_pre_config(pconf, conf_gen.plog, ptemp),
                    APLOGNO(00013) "Pre-configuration failed");
    if (rv != APR_SUCCESS && mpm_told_of_threads())
        ap_log_error(APLOG_MARK, APLOG_CRIT | APLOG_STARTUP, 0, NULL,
                     "A module asked before whether there are threads: one that is not thread-safe "
                     "(PHP) needs "
                     "\"LoadModule mpm_prefork_module modules/mod_mpm_prefork.so\"");
    if (rv == APR_SUCCESS &&
        ap_process_config_tree(ap_server_conf, ap_conftree, pconf, ptemp) != OK)
        rv = APR_EGENERAL;
    if (rv == APR_SUCCESS)
        rv = conf_phase_unsupported();
    if (rv != APR_SUCCESS)
        return rv;
    ap_fixup_virtual_hosts(pconf, ap_server_conf);
    ap_fini_vhost_config(pconf, ap_server_conf);
    /* Setters may have added hooks. */
    apr_hook_sort_all();
    return conf_phase(ap_run_check_config(pconf, conf_gen.plog, ptemp, ap_server_conf),
                      APLOGNO(00014) "Configuration check failed");
}

/* Run the hook, and note which module says no: it may do so without a message. */
#define CONF_RUN(hook, plog, ptemp)                                                       \
    static int conf_run_##hook(apr_pool_t *pconf)                                         \
    {                                                                                     \
        const apr_array_header_t *list = ap_hook_get_##hook();                            \
        int rc = OK;                                                                      \
                                                                                          \
        for (int i = 0; list && i < list->nelts && (rc == OK || rc == DECLINED); i++) {   \
            const ap_LINK_##hook##_t *link = &APR_ARRAY_IDX(list, i, ap_LINK_##hook##_t); \
                                                                                          \
            rc = link->pFunc(pconf, plog, ptemp, ap_server_conf);                         \
            conf_fault_module(rc == OK || rc == DECLINED ? NULL : link->szName);          \
        }                                                                                 \
        return rc == DECLINED ? OK : rc;                                                  \
    }

CONF_RUN(open_logs, conf_gen.plog, conf_gen.ptemp)
CONF_RUN(post_config, conf_gen.plog, conf_gen.ptemp)

static apr_status_t conf_phase_open(apr_pool_t *pconf, conf_depth depth)
{
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(conf_gen.plog && conf_gen.ptemp && ap_server_conf);
    apr_pool_clear(conf_gen.plog);
    if (depth == CONF_DEPTH_FULL || trial_runs())
        rv = conf_phase(conf_run_open_logs(pconf), APLOGNO(00015) "Unable to open logs");
    core_banner_complete();
    if (rv == APR_SUCCESS)
        rv = conf_phase(conf_run_post_config(pconf), APLOGNO(00016) "Configuration Failed");
    return rv;
}

apr_status_t conf_generation_open(process_rec *process, conf_depth depth)
{
    apr_status_t rv;

    conf_fault_phase();
    rv = conf_phase_open(process->pconf, depth);
    conf_fault_end();
    apr_pool_destroy(conf_gen.ptemp);
    conf_gen.ptemp = NULL;
    return rv;
}

/* Back to before the first line was read. */
static void conf_generation_reset(process_rec *process)
{
    ap_main_state = AP_SQ_MS_DESTROY_CONFIG;
    apr_hook_deregister_all();
    ap_server_conf = NULL;
    ap_conftree = NULL;
    conf_gen.ptemp = NULL;
    apr_pool_clear(process->pconf);
    /* Built-in modules that were taken out come back, then all register afresh. */
    ap_setup_prelinked_modules(process);
    conf_register_afresh(ap_loaded_modules, process->pconf);
    ap_main_state = AP_SQ_MS_CREATE_CONFIG;
}

void conf_generation_clear(process_rec *process)
{
    conf_builtin_begin();
    conf_generation_reset(process);
}

/* Which built-in modules are active counts from the first line of the configuration. Where a later line
 * changes that, all is read again (config_builtin.c): three times at most if BuiltinModules follows a
 * LoadModule, and once for each built-in module that does not offer the feature of a directive. */
static apr_status_t conf_phases_of_files(process_rec *process, conf_depth depth)
{
    int state = ap_main_state;
    apr_status_t rv;

    BRG_ASSERT(!conf_gen.ptemp);
    for (;;) {
        apr_pool_create(&conf_gen.ptemp, process->pconf);
        apr_pool_tag(conf_gen.ptemp, "ptemp");
        conf_fault_phase();
        rv = conf_phase_read(process);
        if (rv == APR_SUCCESS && depth != CONF_DEPTH_READ)
            rv = conf_phase_walk(process->pconf);
        if (!conf_builtin_reread()) {
            conf_dump_includes(conf_gen.ptemp);
            if (rv != APR_SUCCESS)
                conf_fault_found("it cannot be read");
            conf_fault_end();
            return rv;
        }
        conf_generation_reset(process);
        ap_main_state = state;
    }
}

apr_status_t conf_generation_read(process_rec *process, conf_depth depth)
{
    apr_status_t rv = conf_phases_of_files(process, depth);

    if (depth == CONF_DEPTH_READ)
        return rv;
    if (rv != APR_SUCCESS || depth == CONF_DEPTH_CHECK)
        return rv;
    if (depth == CONF_DEPTH_FULL)
        conf_notices_write();
    rv = conf_generation_open(process, depth);
    if (rv != APR_SUCCESS)
        return rv;
    /* As Apache has it: once, for a configuration that is going to serve, when all is ready. */
    ap_run_optional_fn_retrieve();
    conf_gen.was_read = 1;
    return rv;
}

/* As a start does it: modules put off things until they are called for the second time. */
static apr_status_t conf_read_first(process_rec *process)
{
    apr_status_t rv;

    ap_main_state = AP_SQ_MS_CREATE_PRE_CONFIG;
    rv = conf_generation_read(process, CONF_DEPTH_FULL);
    if (rv == APR_SUCCESS)
        conf_generation_clear(process);
    return rv;
}

static apr_status_t conf_read_in_place(process_rec *process)
{
    apr_status_t rv = APR_SUCCESS;

    sup_signals_reading(1);
    upgrade_reads(1);
    conf_generation_clear(process);
    if (!conf_gen.was_read)
        rv = conf_read_first(process);
    if (rv == APR_SUCCESS)
        rv = conf_generation_read(process, CONF_DEPTH_FULL);
    if (rv != APR_SUCCESS) {
        sup_reading_failed(sup_has_failed() + 1);
        ap_log_error(APLOG_MARK, APLOG_CRIT, 0, NULL,
                     "the configuration cannot be used, although its trial went well; server "
                     "processes go on with the one that they have: %s",
                     conf_fault());
        conf_generation_clear(process);
    }
    upgrade_reads(0);
    return rv;
}

apr_status_t conf_read_generation(process_rec *process)
{
    BRG_ASSERT(sup_is_supervisor());
    /* The fault that ended this process's program before, or its last attempt, may do so again: not without a trial. */
    if ((!conf_gen.was_read || sup_has_failed()) && sup_await_order(process))
        return APR_EOF;
    while (conf_read_in_place(process) != APR_SUCCESS)
        if (sup_await_order(process))
            return APR_EOF;
    return APR_SUCCESS;
}
