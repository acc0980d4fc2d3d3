/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_actions: Action has a script answer for a media type or handler, Script for a method.
 *
 * The handler of the request is an internal redirect to the script, with the path that was asked for behind its own.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include <string.h>

extern module actions_module;
APLOG_USE_MODULE(actions);

typedef struct actions_script {
    const char *path;
    int is_virtual; /* the file that was asked for need not be there */
} actions_script;

typedef struct actions_conf {
    apr_hash_t *by_type;            /* actions_script *; NULL: none */
    const char *by_method[METHODS]; /* paths */
    int methods_n;
} actions_conf;

static void *actions_create(apr_pool_t *p, char *dir)
{
    return apr_pcalloc(p, sizeof(actions_conf));
}

static void *actions_merge(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const actions_conf *base = base_conf, *add = add_conf;
    actions_conf *conf = apr_pmemdup(p, base, sizeof *conf);

    if (base->by_type && add->by_type)
        conf->by_type = apr_hash_overlay(p, add->by_type, base->by_type);
    else if (add->by_type)
        conf->by_type = add->by_type;
    for (int i = 0; add->methods_n && i < METHODS; i++)
        if (add->by_method[i])
            conf->by_method[i] = add->by_method[i];
    conf->methods_n += add->methods_n;
    return conf;
}

static const char *actions_action(cmd_parms *cmd, void *mconfig, const char *type, const char *path,
                                  const char *option)
{
    actions_conf *conf = mconfig;
    actions_script *script = apr_pcalloc(cmd->pool, sizeof *script);

    if (option && ap_cstr_casecmp(option, "virtual") != 0)
        return apr_pstrcat(cmd->pool, "unrecognized option '", option, "'", NULL);
    *script = (actions_script){path, option != NULL};
    if (!conf->by_type)
        conf->by_type = apr_hash_make(cmd->pool);
    apr_hash_set(conf->by_type, type, APR_HASH_KEY_STRING, script);
    return NULL;
}

static const char *actions_method(cmd_parms *cmd, void *mconfig, const char *method,
                                  const char *path)
{
    actions_conf *conf = mconfig;
    int number = ap_method_number_of(method);

    if (number == M_TRACE)
        return "TRACE not allowed for Script";
    if (number == M_INVALID)
        number = ap_method_register(cmd->pool, method);
    if (number == M_INVALID)
        return apr_pstrcat(cmd->pool, "Could not register method '", method, "' for Script", NULL);
    conf->by_method[number] = path;
    conf->methods_n++;
    return NULL;
}

static const char *actions_type(const request_rec *r)
{
    return r->handler ? r->handler : ap_field_noparam(r->pool, r->content_type);
}

static const actions_script *actions_of_type(const actions_conf *conf, const request_rec *r)
{
    const char *type = actions_type(r);

    return type && conf->by_type ? apr_hash_get(conf->by_type, type, APR_HASH_KEY_STRING) : NULL;
}

/* Script GET is for requests with a query alone. */
static const char *actions_of_method(const actions_conf *conf, const request_rec *r)
{
    if (!conf->methods_n || r->method_number < 0 || r->method_number >= METHODS ||
        (r->method_number == M_GET && !r->args))
        return NULL;
    return conf->by_method[r->method_number];
}

static int actions_handler(request_rec *r)
{
    const actions_conf *conf = ap_get_module_config(r->per_dir_config, &actions_module);
    const actions_script *action;
    const char *path;

    if (!conf->by_type && !conf->methods_n)
        return DECLINED;
    for (int i = 0; conf->methods_n && i < METHODS; i++)
        if (conf->by_method[i])
            r->allowed |= AP_METHOD_BIT << i;
    path = actions_of_method(conf, r);
    if ((action = actions_of_type(conf, r)) != NULL) {
        if (!action->is_virtual && r->finfo.filetype == APR_NOFILE) {
            ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, APLOGNO(00652) "File does not exist: %s",
                          r->filename);
            return HTTP_NOT_FOUND;
        }
        path = action->path;
        apr_table_setn(r->subprocess_env, "HANDLER", actions_type(r)); /* REDIRECT_HANDLER there */
    }
    if (!path)
        return DECLINED;
    ap_internal_redirect_handler(apr_pstrcat(r->pool, path, ap_escape_uri(r->pool, r->uri),
                                             r->args ? "?" : NULL, r->args, NULL),
                                 r);
    return OK;
}

/* The phases and the handler of the script run inside the handler, which cannot be called twice: on a worker. */
static int actions_fixup(request_rec *r)
{
    const actions_conf *conf = ap_get_module_config(r->per_dir_config, &actions_module);

    if ((conf->by_type && actions_of_type(conf, r)) || actions_of_method(conf, r))
        brg_request_needs_worker(r);
    return DECLINED;
}

static int actions_depend(request_rec *r)
{
    const actions_conf *conf = ap_get_module_config(r->per_dir_config, &actions_module);

    return (conf->by_type && actions_of_type(conf, r)) || conf->by_method[M_GET]
               ? BRG_CACHE_VOLATILE
               : BRG_CACHE_STATIC;
}

static const command_rec actions_commands[] = {
    AP_INIT_TAKE23("Action", actions_action, NULL, OR_FILEINFO,
                   "a media type followed by a script name"),
    AP_INIT_TAKE2("Script", actions_method, NULL, ACCESS_CONF | RSRC_CONF,
                  "a method followed by a script name"),
    {0},
};

static void actions_register_hooks(apr_pool_t *p)
{
    ap_hook_fixups(actions_fixup, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_handler(actions_handler, NULL, NULL, APR_HOOK_LAST);
    brg_cache_declare(&actions_module, actions_depend);
    brg_hooks_need_directive(&actions_module, "fixups handler", NULL, BRG_HOOKS_BY_SERVER);
    brg_cache_leaves_query(&actions_module);
}

module AP_MODULE_DECLARE_DATA actions_module = {
    STANDARD20_MODULE_STUFF,
    actions_create,
    actions_merge,
    NULL,
    NULL,
    actions_commands,
    actions_register_hooks,
    0,
};
