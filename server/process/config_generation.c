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
 * Modules keep what they know of the configuration in static variables and reset these from
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
#include "generation.h"
#include "configuration.h"
#include "core_settings.h"
#include "supervisor_private.h"
#include "brigade/memory.h"

APLOG_USE_MODULE(core);

/* Attempts, a second apart, to read files that were good when they were checked. */
#define CONF_READ_ATTEMPTS 30

static struct {
    apr_pool_t *plog, *ptemp;
    const char *confname, *default_root;
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
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, NULL, "%s", message);
    return APR_EGENERAL;
}

static apr_status_t conf_phase_read(process_rec *process)
{
    server_rec *s;

    BRG_ASSERT(conf_gen.ptemp && conf_gen.confname);
    conf_vars_reset(process->pconf);
    conf_unsupported_reset();
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

static apr_status_t conf_phase_open(apr_pool_t *pconf, conf_depth depth)
{
    apr_pool_t *plog = conf_gen.plog, *ptemp = conf_gen.ptemp;
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(plog && ptemp && ap_server_conf);
    apr_pool_clear(plog);
    if (depth == CONF_DEPTH_FULL)
        rv = conf_phase(ap_run_open_logs(pconf, plog, ptemp, ap_server_conf),
                        APLOGNO(00015) "Unable to open logs");
    core_banner_complete();
    if (rv == APR_SUCCESS)
        rv = conf_phase(ap_run_post_config(pconf, plog, ptemp, ap_server_conf),
                        APLOGNO(00016) "Configuration Failed");
    return rv;
}

apr_status_t conf_generation_open(process_rec *process, conf_depth depth)
{
    apr_status_t rv = conf_phase_open(process->pconf, depth);

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
 * LoadModule, and once for each built-in module that does not offer what a directive asks for. */
static apr_status_t conf_phases_of_files(process_rec *process, conf_depth depth)
{
    int state = ap_main_state;
    apr_status_t rv;

    BRG_ASSERT(!conf_gen.ptemp);
    for (;;) {
        apr_pool_create(&conf_gen.ptemp, process->pconf);
        apr_pool_tag(conf_gen.ptemp, "ptemp");
        rv = conf_phase_read(process);
        if (rv == APR_SUCCESS && depth != CONF_DEPTH_READ)
            rv = conf_phase_walk(process->pconf);
        if (!conf_builtin_reread()) {
            conf_dump_includes(conf_gen.ptemp);
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
    rv = conf_generation_open(process, depth);
    /* As Apache has it: once, for a configuration that is going to serve, when all is ready. */
    if (rv == APR_SUCCESS)
        ap_run_optional_fn_retrieve();
    return rv;
}

apr_status_t conf_read_generation(process_rec *process)
{
    apr_status_t rv = APR_EGENERAL;

    BRG_ASSERT(sup_is_supervisor());
    for (int attempt = 0; attempt < CONF_READ_ATTEMPTS; attempt++) {
        if (attempt)
            apr_sleep(apr_time_from_sec(1));
        conf_generation_clear(process);
        rv = conf_generation_read(process, CONF_DEPTH_FULL);
        if (rv == APR_SUCCESS)
            return rv;
        ap_log_error(APLOG_MARK, APLOG_CRIT, 0, NULL,
                     "the configuration became bad while it was reloaded; the server goes on with "
                     "the processes it has and tries again");
    }
    return rv;
}
