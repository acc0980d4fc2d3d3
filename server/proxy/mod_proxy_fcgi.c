/* SPDX-License-Identifier: Apache-2.0 */
/* ProxyFCGIBackendType, ProxyFCGIInternalRedirect, ProxyFCGISetEnvIf; settings of PHP. */
#include "proxy_private.h"
#include "php_settings_private.h"
#include "proxy_gateway_private.h"
#include "expr_depends.h"
#include "apr_strings.h"
#include "http_log.h"
#include "http_main.h"
#include "http_core.h"
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy_fcgi);

typedef struct fcgi_variable {
    const ap_expr_info_t *when, *value; /* value NULL: unset */
    const char *name;
} fcgi_variable;

typedef struct fcgi_dir {
    int generic;          /* PROXY_UNSET: FPM */
    const char *redirect; /* "": off. NULL: not named */
    apr_array_header_t *variables;
    apr_array_header_t *php; /* of php_setting; NULL: none */
} fcgi_dir;

static void *fcgi_create(apr_pool_t *p, char *path)
{
    fcgi_dir *d = apr_palloc(p, sizeof *d);

    (void)path;
    d->generic = PROXY_UNSET;
    d->redirect = NULL;
    d->variables = apr_array_make(p, 0, sizeof(fcgi_variable));
    d->php = NULL;
    return d;
}

static void *fcgi_merge(apr_pool_t *p, void *basev, void *addv)
{
    const fcgi_dir *base = basev, *mine = addv;
    fcgi_dir *d = apr_palloc(p, sizeof *d);

    d->generic = mine->generic == PROXY_UNSET ? base->generic : mine->generic;
    d->redirect = mine->redirect ? mine->redirect : base->redirect;
    d->variables = apr_array_append(p, base->variables, mine->variables);
    d->php = php_settings_merge(p, base->php, mine->php);
    return d;
}

static const fcgi_dir *fcgi_dir_of(const request_rec *r)
{
    return proxy_fcgi_module.module_index == -1
               ? NULL
               : ap_get_module_config(r->per_dir_config, &proxy_fcgi_module);
}

int proxy_fcgi_is_generic(const request_rec *r)
{
    const fcgi_dir *d = fcgi_dir_of(r);

    return d && d->generic == 1;
}

const char *proxy_fcgi_redirect_field(const request_rec *r)
{
    const fcgi_dir *d = fcgi_dir_of(r);

    return d && d->redirect && *d->redirect ? d->redirect : NULL;
}

/* The settings of PHP of the main server, outside of sections. */
static const apr_array_header_t *fcgi_php_main(void)
{
    const fcgi_dir *main =
        ap_get_module_config(ap_server_conf->lookup_defaults, &proxy_fcgi_module);

    return main ? main->php : NULL;
}

int proxy_php_is_inside(void)
{
    return php_module_is_here();
}

const char *proxy_php_doubt(apr_pool_t *p, const ap_directive_t *line)
{
    return php_module_is_here() ? NULL : proxy_php_doubt_of_fpm(p, line);
}

const char *proxy_php_doubt_of_fpm(apr_pool_t *p, const ap_directive_t *line)
{
    const char *args = line->args, *name = ap_getword_conf(p, &args);
    const apr_array_header_t *main = fcgi_php_main();
    apr_array_header_t *own = apr_array_make(p, 1, sizeof(php_setting));

    if (proxy_fcgi_module.module_index == -1)
        return NULL;
    APR_ARRAY_PUSH(own, php_setting) = (php_setting){.name = name};
    if (php_module_is_here() && !line->parent) /* it would be of the main server */
        main = own;
    return php_setting_doubt(name, !strncasecmp(line->directive, "php_admin", 9), main);
}

int proxy_fcgi_set_variables(request_rec *r)
{
    const fcgi_dir *d = fcgi_dir_of(r);

    for (int i = 0; d && i < d->variables->nelts; i++) {
        const fcgi_variable *v = &APR_ARRAY_IDX(d->variables, i, fcgi_variable);
        const char *error = NULL, *value;
        ap_regmatch_t match[AP_MAX_REG_MATCH] = {{-1, -1}};
        const char *source = NULL;
        const int rv = ap_expr_exec_re(r, v->when, AP_MAX_REG_MATCH, match, &source, &error);

        if (rv < 0) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(10241) "fix_cgivars: Condition eval returned %d: %s", rv,
                          error ? error : "");
            continue;
        }
        if (!rv)
            continue;
        if (!v->value) {
            apr_table_unset(r->subprocess_env, v->name);
            continue;
        }
        value = ap_expr_str_exec_re(r, v->value, AP_MAX_REG_MATCH, match, &source, &error);
        if (error)
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(03514) "Error evaluating expression for replacement of %s: '%s'",
                          v->name, error);
        else
            apr_table_setn(r->subprocess_env, v->name, value);
    }
    if (d)
        php_settings_put(r, d->php, fcgi_php_main(), d->generic == 1);
    return OK;
}

/* Variables that each request has of its own, or may have: a plan is made by what the request at hand has. */
static int fcgi_is_of_request(const char *name)
{
    static const char *const of[] = {"HTTP_",     "CONTENT_", "REMOTE_",     "REQUEST_",
                                     "REDIRECT_", "QUERY_",   "SERVER_ADDR", "SSL_"};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (!strncasecmp(name, of[i], strlen(of[i])))
            return 1;
    return !strcasecmp(name, "PATH");
}

int proxy_fcgi_sets(const request_rec *r, const char *name)
{
    const fcgi_dir *d = fcgi_dir_of(r);

    for (int i = 0; d && i < d->variables->nelts; i++)
        if (!strcasecmp(APR_ARRAY_IDX(d->variables, i, fcgi_variable).name, name))
            return 1;
    return 0;
}

int proxy_fcgi_variables_are_fixed(const request_rec *r)
{
    const fcgi_dir *d = fcgi_dir_of(r);

    for (int i = 0; d && i < d->variables->nelts; i++) {
        const fcgi_variable *v = &APR_ARRAY_IDX(d->variables, i, fcgi_variable);

        if (!expr_is_constant(v->when) || (v->value && !expr_is_constant(v->value)) ||
            fcgi_is_of_request(v->name))
            return 0;
    }
    return 1;
}

static const char *fcgi_type_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    fcgi_dir *d = dconf;

    if (!strcasecmp(arg, "GENERIC"))
        d->generic = 1;
    else if (!strcasecmp(arg, "FPM"))
        d->generic = 0;
    else
        return "ProxyFCGIBackendType requires one of the following arguments: 'GENERIC', 'FPM'";
    return NULL;
}

static const char *fcgi_redirect_cmd(cmd_parms *cmd, void *dconf, const char *arg)
{
    ((fcgi_dir *)dconf)->redirect = !strcasecmp(arg, "on")    ? "X-Accel-Redirect"
                                    : !strcasecmp(arg, "off") ? ""
                                                              : arg;
    return NULL;
}

static const char *fcgi_set_cmd(cmd_parms *cmd, void *dconf, const char *when, const char *name,
                                const char *value)
{
    fcgi_dir *d = dconf;
    fcgi_variable *v = apr_array_push(d->variables);
    const char *error = NULL;

    v->value = NULL;
    v->name = name;
    v->when = ap_expr_parse_cmd(cmd, when, 0, &error, NULL);
    if (error)
        return apr_psprintf(cmd->pool, "Could not parse expression \"%s\": %s", when, error);
    if (*name == '!') {
        if (!name[1])
            return "ProxyFCGISetEnvIf: \"!\" is not a valid variable name";
        if (value)
            return apr_psprintf(cmd->pool,
                                "Third argument (\"%s\") is not allowed when using "
                                "ProxyFCGISetEnvIf's unset mode (%s)",
                                value, name);
        v->name = name + 1;
        return NULL;
    }
    v->value = ap_expr_parse_cmd(cmd, value ? value : "", AP_EXPR_FLAG_STRING_RESULT, &error, NULL);
    return error ? apr_psprintf(cmd->pool, "Could not parse expression \"%s\": %s", value, error)
                 : NULL;
}

static const char *fcgi_php_cmd(cmd_parms *cmd, void *dconf, const char *name, const char *value)
{
    return php_setting_cmd(cmd, &((fcgi_dir *)dconf)->php, name, value);
}

#define PHP_ADMIN_ANY (RSRC_CONF | ACCESS_CONF)

static const command_rec fcgi_commands[] = {
    AP_INIT_TAKE1("ProxyFCGIBackendType", fcgi_type_cmd, NULL, OR_FILEINFO,
                  "Specify the type of FastCGI server: 'Generic', 'FPM'"),
    AP_INIT_TAKE1("ProxyFCGIInternalRedirect", fcgi_redirect_cmd, NULL, RSRC_CONF | ACCESS_CONF,
                  "On, Off, or the name of the field of an answer whose path is answered here"),
    AP_INIT_TAKE23("ProxyFCGISetEnvIf", fcgi_set_cmd, NULL, OR_FILEINFO,
                   "expr-condition env-name expr-value"),
    AP_INIT_TAKE2("php_value", fcgi_php_cmd, NULL, OR_OPTIONS,
                  "a setting of PHP and its value, for PHP-FPM"),
    AP_INIT_TAKE2("php_flag", fcgi_php_cmd, (void *)PHP_IS_FLAG, OR_OPTIONS,
                  "a setting of PHP, and on or off, for PHP-FPM"),
    AP_INIT_TAKE2("php_admin_value", fcgi_php_cmd, (void *)PHP_IS_ADMIN, PHP_ADMIN_ANY,
                  "the same as php_value, not to be changed further down"),
    AP_INIT_TAKE2("php_admin_flag", fcgi_php_cmd, (void *)(PHP_IS_ADMIN | PHP_IS_FLAG),
                  PHP_ADMIN_ANY, "the same as php_flag, not to be changed further down"),
    AP_INIT_FLAG("PHPDirectives", php_directives_cmd, NULL, RSRC_CONF | EXEC_ON_READ,
                 "On: settings of PHP are taken, and <IfModule mod_php.c> holds; Off: they are "
                 "refused"),
    {.name = NULL}};

static int fcgi_pre_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp)
{
    (void)p;
    (void)plog;
    (void)ptemp;
    php_settings_begin();
    return OK;
}

static int fcgi_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *main)
{
    (void)p;
    (void)plog;
    (void)ptemp;
    return ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG ? OK
                                                                          : php_settings_map(main);
}

static void fcgi_hooks(apr_pool_t *p)
{
    (void)p;
    ap_hook_pre_config(fcgi_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(fcgi_post_config, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA proxy_fcgi_module = {
    STANDARD20_MODULE_STUFF, fcgi_create, fcgi_merge, NULL, NULL, fcgi_commands, fcgi_hooks, 0};
