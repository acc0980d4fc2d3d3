/* SPDX-License-Identifier: Apache-2.0 */
/* LoadModule and LoadFile.
 *
 * For a built-in module no file is opened: the line says that the module is to be active
 * (config_builtin.c), unless BuiltinModule switched the built-in one off before. All symbols are bound
 * when a file is opened. So a module that needs symbols which this server does not offer is refused here, by
 * name, and does not end the process later.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "mod_so.h"
#include "mod_so_private.h"
#include "brigade/sms.h"
#include "apr_dso.h"
#include "apr_strings.h"
#include "configuration.h"
#include "module_rows.h"
#include "stock_policy.h"
#include "brigade/response_cache.h"
#include "brigade/assert.h"
#include <unistd.h>

AP_DECLARE_MODULE(so);

/* A module that LoadModule brought in. */
typedef struct so_loaded {
    const char *symbol;
    module *mod;
} so_loaded;

typedef struct so_conf {
    apr_array_header_t *loaded;   /* of so_loaded */
    apr_array_header_t *built_in; /* of const char *: asked for, and here already */
    const char *mpm;              /* the process model that was named; NULL: none yet */
} so_conf;

static void *so_create_conf(apr_pool_t *p, server_rec *s)
{
    so_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->loaded = apr_array_make(p, DYNAMIC_MODULE_LIMIT / 8, sizeof(so_loaded));
    conf->built_in = apr_array_make(p, 8, sizeof(const char *));
    return conf;
}

static module *so_find(server_rec *s, const char *symbol)
{
    const so_conf *conf = ap_get_module_config(s->module_config, &so_module);

    BRG_ASSERT(conf != NULL && symbol != NULL);
    for (int i = 0; i < conf->loaded->nelts; i++) {
        const so_loaded *l = &APR_ARRAY_IDX(conf->loaded, i, so_loaded);

        if (!strcmp(l->symbol, symbol))
            return l->mod;
    }
    return NULL;
}

static module *ap_find_loaded_module_symbol(server_rec *s, const char *modname)
{
    return so_find(s, modname);
}

/* ---- opening ---- */

/* "FILE: undefined symbol: NAME" is how the dynamic linker complains; NAME may carry a version. */
static const char *so_missing_symbol(apr_pool_t *p, const char *complaint)
{
    static const char mark[] = "undefined symbol: ";
    const char *at = strstr(complaint, mark);

    if (!at)
        return NULL;
    at += sizeof mark - 1;
    return apr_pstrmemdup(p, at, strcspn(at, " ,\n"));
}

/* @param name  as it is in the configuration */
static const char *so_open_error(cmd_parms *cmd, const char *name, const char *file,
                                 apr_dso_handle_t *handle)
{
    char buf[512];
    const char *complaint = apr_dso_error(handle, buf, sizeof buf);
    const char *symbol = so_missing_symbol(cmd->temp_pool, complaint);

    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG)
        (void)brg_sms_static_tls_retry(complaint);
    if (symbol)
        return so_missing(cmd, file, symbol);
    return apr_pstrcat(cmd->pool, "Cannot load ", name, " into server: ", complaint, NULL);
}

/* @param symbol  of the module structure; NULL where there need not be one */
static const char *so_open(cmd_parms *cmd, const char *symbol, const char *name, const char **file,
                           apr_dso_handle_t **handle)
{
    const char *error;
    int is_there;

    BRG_ASSERT(name != NULL && *handle == NULL);
    *file = ap_server_root_relative(cmd->temp_pool, name);
    if (!*file)
        return apr_pstrcat(cmd->pool, "Invalid ", cmd->cmd->name, " path ", name, NULL);
    is_there = access(*file, F_OK) == 0;
    if (is_there && (error = so_check_file(cmd, symbol, *file)) != NULL)
        return error;
    if (apr_dso_load(handle, *file, cmd->pool) == APR_SUCCESS)
        return NULL;
    /* A name that is no path of ours may still be found by the dynamic linker. Where the file is
     * there, its own complaint counts. */
    if (!is_there && strcmp(name, *file) && apr_dso_load(handle, name, cmd->pool) == APR_SUCCESS)
        return NULL;
    return so_open_error(cmd, name, *file, *handle);
}

/* ---- LoadModule ---- */

static apr_status_t so_unload(void *data)
{
    so_loaded *l = data;

    BRG_ASSERT(l->symbol != NULL);
    /* Not if the whole was given up before it was entered. */
    if (l->mod && l->mod->module_index != -1) {
        ap_remove_loaded_module(l->mod);
        l->mod->dynamic_load_handle = NULL;
    }
    return APR_SUCCESS;
}

static const char *so_structure(cmd_parms *cmd, const char *symbol, const char *file,
                                apr_dso_handle_t *handle, module **mod)
{
    apr_dso_handle_sym_t address;
    char buf[512];

    if (apr_dso_sym(&address, handle, symbol) != APR_SUCCESS)
        return apr_psprintf(cmd->pool,
                            "Cannot load %s into server: there is no module structure %s in it: %s",
                            file, symbol, apr_dso_error(handle, buf, sizeof buf));
    *mod = (module *)address;
    if ((*mod)->magic == MODULE_MAGIC_COOKIE)
        return NULL;
    return apr_psprintf(cmd->pool,
                        "Cannot load %s into server: %s is no module structure: it has the "
                        "signature %08lx, not %08lx",
                        file, symbol, (*mod)->magic, MODULE_MAGIC_COOKIE);
}

static void so_enter(cmd_parms *cmd, const char *symbol, module *mod)
{
    so_conf *conf = ap_get_module_config(cmd->server->module_config, &so_module);
    so_loaded *l = apr_array_push(conf->loaded), *copy = apr_palloc(cmd->pool, sizeof *copy);

    BRG_ASSERT(mod->module_index >= 0 && mod->dynamic_load_handle != NULL);
    l->symbol = symbol;
    l->mod = mod;
    *copy = *l;
    /* Registered after the file was opened, hence run before it is closed. */
    apr_pool_cleanup_register(cmd->pool, copy, so_unload, apr_pool_cleanup_null);
    ap_single_module_configure(cmd->pool, cmd->server, mod);
}

static void so_note_built_in(cmd_parms *cmd, const char *symbol)
{
    const so_conf *conf = ap_get_module_config(cmd->server->module_config, &so_module);

    BRG_ASSERT(conf != NULL && conf_builtin_find(symbol));
    APR_ARRAY_PUSH(conf->built_in, const char *) = symbol;
}

/* A built-in module that is there only because of this line. */
static const char *so_enter_built_in(cmd_parms *cmd, const char *symbol, module *mod)
{
    const char *error;

    BRG_ASSERT(!mod->dynamic_load_handle && mod->module_index == -1);
    error = ap_add_loaded_module(mod, cmd->pool, symbol);
    if (error)
        return error;
    ap_single_module_configure(cmd->pool, cmd->server, mod);
    so_note_built_in(cmd, symbol);
    return NULL;
}

/* Whether a line before this one named a module that is built in. */
static int so_was_named(const cmd_parms *cmd, const char *symbol)
{
    const so_conf *conf = ap_get_module_config(cmd->server->module_config, &so_module);

    for (int i = 0; i < conf->built_in->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(conf->built_in, i, const char *), symbol))
            return 1;
    return 0;
}

static int so_is_file(cmd_parms *cmd, const char *name)
{
    const char *file = ap_server_root_relative(cmd->temp_pool, name);

    return file && access(file, R_OK) == 0;
}

/* Lines that ask for a module that is here already, or is needed by nobody. */
static int so_is_here(cmd_parms *cmd, const char *symbol, const char *file)
{
    if (so_find(cmd->server, symbol) || so_was_named(cmd, symbol)) {
        ap_log_perror(APLOG_MARK, APLOG_WARNING, 0, cmd->pool,
                      APLOGNO(01574) "module %s is already loaded, skipping", symbol);
        return 1;
    }
    if (conf_builtin_find(symbol) && !conf_builtin_is_off(symbol)) {
        so_note_built_in(cmd, symbol);
        return 1;
    }
    if (module_rows_other_mpm(symbol)) {
        ap_log_perror(APLOG_MARK, APLOG_NOTICE, 0, cmd->pool,
                      "%s: this server has a process model of its own; %s is not opened", symbol,
                      file);
        return 1;
    }
    if (module_rows_idle(symbol) && !so_is_file(cmd, file)) {
        ap_log_perror(APLOG_MARK, APLOG_NOTICE, 0, cmd->pool,
                      "%s: what is built in needs it for nothing; %s is not there", symbol, file);
        return 1;
    }
    return 0;
}

/* A configuration has one process model at most. */
static const char *so_choose_mpm(cmd_parms *cmd, const char *symbol)
{
    so_conf *conf = ap_get_module_config(cmd->server->module_config, &so_module);

    if (strncmp(symbol, "mpm_", 4) != 0)
        return NULL;
    if (conf->mpm && strcmp(conf->mpm, symbol) != 0)
        return apr_psprintf(cmd->pool,
                            APLOGNO(00534) "Configuration error: More than one MPM loaded: %s, %s.",
                            conf->mpm, symbol);
    conf->mpm = symbol;
    return NULL;
}

static const char *so_load_module(cmd_parms *cmd, void *unused, const char *symbol,
                                  const char *name)
{
    apr_dso_handle_t *handle = NULL;
    const char *error, *file;
    module *mod = NULL;

    if ((error = so_choose_mpm(cmd, symbol)) != NULL)
        return error;
    if (!strcmp(symbol, "mpm_prefork_module")) {
        APR_OPTIONAL_FN_TYPE(mpm_choose_prefork) *choose =
            APR_RETRIEVE_OPTIONAL_FN(mpm_choose_prefork);

        return choose ? choose(cmd->pool, cmd->server) : "this program has no process model";
    }
    if ((error = conf_builtin_stock_load(symbol)) != NULL)
        return error;
    if ((error = conf_builtin_named_file(cmd, symbol, so_is_file(cmd, name))) != NULL)
        return error;
    if ((mod = conf_builtin_absent(symbol)) != NULL)
        return so_enter_built_in(cmd, symbol, mod);
    if (so_is_here(cmd, symbol, name) ||
        (!so_is_file(cmd, name) && conf_absent_add(cmd, symbol, name)))
        return NULL;
    error = so_open(cmd, symbol, name, &file, &handle);
    if (!error)
        error = so_structure(cmd, symbol, file, handle, &mod);
    if (error)
        return error;
    BRG_ASSERT(mod != NULL && handle != NULL);
    mod->dynamic_load_handle = handle;
    error = ap_add_loaded_module(mod, cmd->pool, symbol);
    if (error) {
        mod->dynamic_load_handle = NULL;
        return error;
    }
    so_enter(cmd, symbol, mod);
    ap_log_perror(APLOG_MARK, APLOG_DEBUG, 0, cmd->pool, APLOGNO(01575) "loaded module %s from %s",
                  symbol, file);
    return NULL;
}

static const char *so_load_file(cmd_parms *cmd, void *unused, const char *name)
{
    apr_dso_handle_t *handle = NULL;
    const char *file;

    return so_open(cmd, NULL, name, &file, &handle);
}

/* One notice for all LoadModule lines that had nothing to do. */
static void so_tell_built_in(apr_pool_t *p, server_rec *s)
{
    const so_conf *conf = ap_get_module_config(s->module_config, &so_module);

    BRG_ASSERT(conf != NULL);
    if (conf->built_in->nelts)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                     "built in, so the file of LoadModule is not opened: %s "
                     "(\"BuiltinModule NAME Off\" before it changes that)",
                     apr_array_pstrcat(p, conf->built_in, ' '));
}

static int so_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_CONFIG) {
        so_tell_built_in(ptemp, s);
        conf_builtin_tell_lacks(s);
    }
    return OK;
}

/* ---- -t, -M ---- */

static void so_test_config(apr_pool_t *p, server_rec *s)
{
    apr_file_t *out;

    if (ap_state_query(AP_SQ_RUN_MODE) == AP_SQ_RM_CONFIG_TEST) {
        so_tell_built_in(p, s);
        conf_builtin_tell_lacks(s);
    }
    if (!ap_exists_config_define("DUMP_MODULES"))
        return;
    apr_file_open_stdout(&out, p);
    apr_file_printf(out, "Loaded Modules:\n");
    for (module **m = ap_loaded_modules; *m; m++)
        apr_file_printf(out, " %s (%s)\n", conf_module_symbol(*m),
                        (*m)->dynamic_load_handle ? "shared" : "static");
}

static void so_register_hooks(apr_pool_t *p)
{
    APR_REGISTER_OPTIONAL_FN(ap_find_loaded_module_symbol);
    stock_rewrite_keep_in(&so_module);
    conf_on_directive(stock_policy_directive);
    brg_cache_declare(&so_module, NULL);
    ap_hook_post_config(so_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_test_config(so_test_config, NULL, NULL, APR_HOOK_MIDDLE);
}

static const command_rec so_commands[] = {
    AP_INIT_TAKE2("LoadModule", so_load_module, NULL, RSRC_CONF | EXEC_ON_READ,
                  "a module's name and the file that it is in"),
    AP_INIT_ITERATE("LoadFile", so_load_file, NULL, RSRC_CONF | EXEC_ON_READ,
                    "files to load before modules that need them"),
    {.name = NULL}};

module AP_MODULE_DECLARE_DATA so_module = {STANDARD20_MODULE_STUFF,
                                           NULL,
                                           stock_rewrite_merge,
                                           so_create_conf,
                                           NULL,
                                           so_commands,
                                           so_register_hooks,
                                           AP_MODULE_FLAG_NONE};
