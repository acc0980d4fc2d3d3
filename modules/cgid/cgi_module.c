/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration and hooks that mod_cgid and mod_cgi share. The daemon is one for both. */
#include "cgi_module.h"
#include "cgi_daemon.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "mpm_common.h"
#include "scoreboard.h"
#include "http_request.h"
#include "util_cfgtree.h"
#include "apr_strings.h"
#include "brigade/directive.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include "brigade/wait.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(cgid);

#define CGI_LOG_BYTES 10385760
#define CGI_LOG_BUFFER 1024

static apr_pool_t *cgi_pconf;

void *cgi_create_server(apr_pool_t *p, server_rec *s)
{
    cgi_server_conf *conf = apr_palloc(p, sizeof *conf);

    *conf = (cgi_server_conf){.log_bytes = CGI_LOG_BYTES, .body_bytes = CGI_LOG_BUFFER};
    return conf;
}

/* A virtual host with a ScriptLog of its own has its own settings. */
void *cgi_merge_server(apr_pool_t *p, void *base_conf, void *add_conf)
{
    return ((const cgi_server_conf *)add_conf)->log ? add_conf : base_conf;
}

void *cgi_create_dir(apr_pool_t *p, char *dir)
{
    return apr_pcalloc(p, sizeof(cgi_dir_conf));
}

void *cgi_merge_dir(apr_pool_t *p, void *base_conf, void *add_conf)
{
    return ((const cgi_dir_conf *)add_conf)->timeout ? add_conf : base_conf;
}

/* ---- directives ---- */

static cgi_server_conf *cgi_conf(const cmd_parms *cmd)
{
    return ap_get_module_config(cmd->server->module_config, (const module *)cmd->info);
}

const char *cgi_set_log(cmd_parms *cmd, void *dummy, const char *path)
{
    const char *full = ap_server_root_relative(cmd->pool, path);

    if (!full)
        return apr_pstrcat(cmd->pool, "Invalid ScriptLog path ", path, NULL);
    cgi_conf(cmd)->log = full;
    return NULL;
}

const char *cgi_set_log_length(cmd_parms *cmd, void *dummy, const char *arg)
{
    cgi_conf(cmd)->log_bytes = brg_argument_number(cmd, arg);
    return NULL;
}

const char *cgi_set_log_buffer(cmd_parms *cmd, void *dummy, const char *arg)
{
    cgi_conf(cmd)->body_bytes =
        (apr_size_t)brg_argument_clamp(cmd, brg_argument_number(cmd, arg), 0, APR_INT32_MAX);
    return NULL;
}

const char *cgi_set_timeout(cmd_parms *cmd, void *mconfig, const char *arg)
{
    cgi_dir_conf *conf = mconfig;

    if (ap_timeout_parameter_parse(arg, &conf->timeout, "s") != APR_SUCCESS)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " has wrong format", NULL);
    return NULL;
}

/* ---- the daemon ---- */

/* Some line of the configuration may have a program answer. */
static int cgi_is_used(const ap_directive_t *d)
{
    for (; d; d = d->next)
        if (ap_strcasestr(d->directive, "ScriptAlias") ||
            (d->args && (ap_strcasestr(d->args, "cgi-script") || ap_strcasestr(d->args, CGI_TYPE) ||
                         ap_strcasestr(d->args, "ExecCGI"))) ||
            cgi_is_used(d->first_child))
            return 1;
    return 0;
}

static int cgi_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    cgi_pconf = pconf;
    return OK;
}

static int cgi_is_named(const module *m)
{
    return m->module_index >= 0 && !m->dynamic_load_handle && brg_module_is_named(m);
}

static int cgi_pre_mpm(apr_pool_t *p, ap_scoreboard_e kind)
{
    if (cgi_daemon_socket() >= 0 ||
        !(cgi_is_named(&cgid_module) || cgi_is_named(&cgi_module) || cgi_is_used(ap_conftree)))
        return OK;
    return cgi_daemon_start(ap_server_conf, cgi_pconf) == APR_SUCCESS ? OK
                                                                      : HTTP_INTERNAL_SERVER_ERROR;
}

static int cgi_monitor(apr_pool_t *p, server_rec *s)
{
    cgi_daemon_look(s);
    return OK;
}

static void cgi_child_init(apr_pool_t *p, server_rec *s)
{
    cgi_daemon_leave();
}

/* ---- requests ---- */

static int cgi_is_for(const request_rec *r)
{
    return brg_handler_is(r, "cgi-script") || brg_handler_is(r, CGI_TYPE);
}

/* A sub-request waits on its thread. */
static int cgi_fixup(request_rec *r)
{
    if (cgi_is_for(r) && !brg_wait_possible(r))
        brg_request_needs_worker(r);
    return DECLINED;
}

static int cgi_depends(request_rec *r)
{
    return cgi_is_for(r) ? BRG_CACHE_VOLATILE : BRG_CACHE_STATIC;
}

void cgi_register(apr_pool_t *p, module *m)
{
    ap_hook_post_config(cgi_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_mpm(cgi_pre_mpm, NULL, NULL, APR_HOOK_LAST);
    ap_hook_monitor(cgi_monitor, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(cgi_child_init, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_fixups(cgi_fixup, NULL, NULL, APR_HOOK_REALLY_LAST);
    brg_cache_declare(m, cgi_depends);
    brg_handlers_are_for(m, "cgi-script " CGI_TYPE);
    brg_cache_leaves_query(m);
}
