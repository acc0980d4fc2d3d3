/* SPDX-License-Identifier: Apache-2.0 */
/* Setters of a server's identity, connections and stored files. */
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "core_private.h"
#include <stdlib.h>

APLOG_USE_MODULE(core);

/* ---- where its documents are ---- */

static const char *core_root_missing(cmd_parms *cmd, const char *path)
{
    if (!cmd->server->is_virtual)
        return apr_psprintf(cmd->pool, "DocumentRoot '%s' is not a directory, or is not readable",
                            path);
    ap_log_perror(APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, 0, cmd->pool,
                  APLOGNO(00112) "Warning: DocumentRoot [%s] does not exist", path);
    return NULL;
}

const char *core_set_document_root(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    char *path;

    if (error)
        return error;
    path = ap_server_root_relative(cmd->pool, arg);
    if (!path)
        return "DocumentRoot must be a directory";
    if (ap_document_root_check && !ap_is_directory(cmd->temp_pool, path))
        error = core_root_missing(cmd, path);
    core_conf(cmd)->ap_document_root = path;
    return error;
}

/* ---- its names ---- */

static const char *core_server_port(cmd_parms *cmd, const char *whole, const char *text)
{
    apr_int64_t port;

    if (conf_number(cmd, text, 1, 65535, &port))
        return apr_pstrcat(cmd->temp_pool, "The port number \"", whole,
                           "\" is outside the appropriate range (i.e., 1..65535).", NULL);
    cmd->server->port = (apr_port_t)port;
    return NULL;
}

static const char *core_server_scheme(cmd_parms *cmd, const char **name)
{
    const char *end = strstr(*name, "://");
    char *scheme;

    if (!end)
        return NULL;
    scheme = apr_pstrmemdup(cmd->pool, *name, (apr_size_t)(end - *name));
    for (const char *c = scheme; *c; c++)
        if (!apr_isalnum(*c) && !strchr("+-.", *c))
            return apr_pstrcat(cmd->pool, "Invalid scheme in ServerName \"", *name, "\"", NULL);
    ap_str_tolower(scheme);
    cmd->server->server_scheme = scheme;
    *name = end + 3;
    return NULL;
}

const char *core_set_server_name(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT), *name = arg, *port;

    if (!error)
        error = core_server_scheme(cmd, &name);
    if (error)
        return error;
    if (!*name || ap_is_matchexp(name))
        return apr_pstrcat(cmd->temp_pool, "Invalid ServerName \"", arg,
                           "\" use ServerAlias to set multiple server names.", NULL);
    /* The colons of an IPv6 address stand in brackets. */
    port = strchr(*name == '[' ? name + strcspn(name, "]") : name, ':');
    cmd->server->port = 0;
    if (port)
        error = core_server_port(cmd, arg, port + 1);
    cmd->server->server_hostname = port ? apr_pstrmemdup(cmd->pool, name, (apr_size_t)(port - name))
                                        : apr_pstrdup(cmd->pool, name);
    return error;
}

const char *core_set_server_admin(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);

    if (!error)
        cmd->server->server_admin = apr_pstrdup(cmd->pool, arg);
    return error;
}

const char *core_set_server_alias(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);

    if (error)
        return error;
    if (!cmd->server->names)
        return "ServerAlias only used in <VirtualHost>";
    while (*arg) {
        char *name = ap_getword_conf(cmd->pool, &arg);

        if (ap_is_matchexp(name))
            APR_ARRAY_PUSH(cmd->server->wild_names, char *) = name;
        else
            APR_ARRAY_PUSH(cmd->server->names, char *) = name;
    }
    return NULL;
}

const char *core_set_server_path(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);

    if (error)
        return error;
    cmd->server->path = arg;
    cmd->server->pathlen = (int)strlen(arg);
    return NULL;
}

/* ---- connections ---- */

const char *core_set_timeout(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    apr_interval_time_t t;
    apr_int64_t seconds;

    if (error)
        return error;
    /* As in Apache, any text may follow the number; a unit counts. */
    if (apr_isdigit(*arg) && ap_timeout_parameter_parse(arg, &t, "s") == APR_SUCCESS) {
        cmd->server->timeout = t;
        return NULL;
    }
    error = conf_number_begin(cmd, arg, 0, APR_INT32_MAX, &seconds);
    if (!error)
        cmd->server->timeout = apr_time_from_sec(seconds);
    return error;
}

const char *core_set_accept_filter(cmd_parms *cmd, void *dir, const char *protocol,
                                   const char *filter)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (!error)
        apr_table_set(core_conf(cmd)->accf_map, protocol, filter);
    return error;
}

/* ---- stored files ---- */

const char *core_set_cache_validate(cmd_parms *cmd, void *dir, const char *arg)
{
    brg_core_conf *conf = core_conf_writable(cmd->server);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t seconds;

    if (error)
        return error;
    if (!ap_cstr_casecmp(arg, "inotify")) {
        conf->file_cache_validate = BRG_VALIDATE_INOTIFY;
    } else if (!ap_cstr_casecmp(arg, "stat")) {
        conf->file_cache_validate = BRG_VALIDATE_STAT;
    } else if (!conf_number(cmd, arg, 1, 86400, &seconds)) {
        conf->file_cache_validate = BRG_VALIDATE_AGE;
        conf->file_cache_age_us = apr_time_from_sec(seconds);
    } else {
        return "FileCacheValidate must be inotify, stat, or a number of seconds (1 to 86400)";
    }
    return NULL;
}
