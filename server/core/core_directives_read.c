/* SPDX-License-Identifier: Apache-2.0 */
/* Directives that act while the file is read: their subjects (variables, the root of relative
 * names, the set of modules) counts for the lines that follow. */
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_strings.h"
#include "configuration.h"
#include "core_private.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(core);

/* A folder that apache2ctl makes before it starts Apache (of a second one, apache2-NAME): --takeover-check does without it. */
static int core_is_made_at_start(cmd_parms *cmd, const char *path)
{
    const char *made = getenv("APACHE_RUN_DIR");

    made = made && ap_exists_config_define(CONF_TAKEOVER_DEFINE)
               ? ap_server_root_relative(cmd->temp_pool, made)
               : NULL;
    return made && !strcmp(path, made);
}

static const char *core_directory_name(cmd_parms *cmd, const char *arg, const char *what,
                                       const char **to)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY), *path;

    if (error)
        return error;
    path = ap_server_root_relative(cmd->pool, arg);
    if (!path || (!ap_is_directory(cmd->temp_pool, path) && !core_is_made_at_start(cmd, path)))
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " must be a valid directory", what, NULL);
    *to = path;
    return NULL;
}

/* The trailing slash would be doubled in every name below it. */
static char *core_without_slash(apr_pool_t *p, const char *path)
{
    apr_size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    return apr_pstrndup(p, path, len);
}

const char *core_set_server_root(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *path = NULL, *error = core_directory_name(cmd, arg, "", &path);

    if (!error)
        ap_server_root = core_without_slash(cmd->pool, path);
    return error;
}

const char *core_set_runtime_dir(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *path = NULL;
    const char *error =
        core_directory_name(cmd, arg, ", absolute or relative to ServerRoot", &path);

    if (error)
        return error;
    ap_runtime_dir = core_without_slash(cmd->pool, path);
    apr_pool_cleanup_register(cmd->pool, &ap_runtime_dir, ap_pool_cleanup_set_null,
                              apr_pool_cleanup_null);
    return NULL;
}

/* No part of this server keeps state on disk, so there is nothing to move; a wrong name is reported
 * all the same. */
const char *core_set_state_dir(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *path = NULL;

    return core_directory_name(cmd, arg, ", absolute or relative to ServerRoot", &path);
}

const char *core_include(cmd_parms *cmd, void *tree, const char *arg)
{
    BRG_ASSERT(tree != NULL);
    return conf_include(cmd, tree, arg, cmd->info != NULL);
}

/* ---- Define ---- */

static const char *core_check_variable(cmd_parms *cmd, const char *name)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_HTACCESS);

    if (!error && strchr(name, ':'))
        error = "Variable name must not contain ':'";
    return error;
}

const char *core_define(cmd_parms *cmd, void *dir, const char *name, const char *value)
{
    const char *error = core_check_variable(cmd, name);

    if (!error)
        conf_var_define(cmd->pool, name, value);
    return error;
}

const char *core_undefine(cmd_parms *cmd, void *dir, const char *name)
{
    const char *error = core_check_variable(cmd, name);

    if (!error)
        conf_var_undefine(name);
    return error;
}

/* ---- Error, Warning ---- */

/* Without the quotes around the whole; nothing in it is unescaped. */
static const char *core_message(cmd_parms *cmd, const char *arg)
{
    apr_size_t len = strlen(arg);

    if (len < 2 || (*arg != '"' && *arg != '\'') || arg[len - 1] != *arg)
        return arg;
    return apr_pstrmemdup(cmd->pool, arg + 1, len - 2);
}

const char *core_error(cmd_parms *cmd, void *dir, const char *arg)
{
    return *arg ? core_message(cmd, arg) : "The Error directive was used with no message.";
}

const char *core_warning(cmd_parms *cmd, void *dir, const char *arg)
{
    BRG_ASSERT(cmd->directive != NULL);
    if (!*arg)
        return "The Warning directive was used with no message.";
    conf_note_unrepeatable();
    ap_log_perror(APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, 0, cmd->temp_pool,
                  "%s (line %d of %s)", core_message(cmd, arg), cmd->directive->line_num,
                  cmd->directive->filename);
    return NULL;
}

/* ---- BuiltinModule NAME On|Off, BuiltinModules loaded|all ---- */

const char *core_builtin_module(cmd_parms *cmd, void *dir, const char *name, const char *state)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    int automatic = !ap_cstr_casecmp(state, "auto");

    if (error)
        return error;
    if (!ap_cstr_casecmp(state, "on") || automatic) {
        error = conf_builtin_on(name, automatic);
        return error ? apr_pstrcat(cmd->pool, "BuiltinModule: ", name, " ", error, NULL) : NULL;
    }
    if (ap_cstr_casecmp(state, "off"))
        return "BuiltinModule NAME must be followed by On, Auto or Off";
    error = conf_builtin_off(name);
    return error ? apr_pstrcat(cmd->pool, "BuiltinModule ", name, ": ", error, NULL) : NULL;
}

const char *core_builtin_modules(cmd_parms *cmd, void *dir, const char *which)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    return error ? error : conf_builtin_modules(which);
}
