/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_env: SetEnv, PassEnv and UnsetEnv.
 *
 * UnsetEnv takes effect on variables of broader contexts, when contexts are merged, and on earlier
 * ones of the same context; a SetEnv after it in the same context stays. So a context keeps its
 * variables and, apart from them, the names that it removes.
 */
#include "brigade/assert.h"
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "apr_strings.h"
#include "apr_tables.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"

#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(env);

typedef struct env_conf {
    apr_table_t *vars;
    apr_array_header_t *removed; /**< const char *: names unset from broader contexts */
} env_conf;

static void *env_create_conf(apr_pool_t *p, char *dir)
{
    env_conf *conf = apr_palloc(p, sizeof(*conf));

    conf->vars = apr_table_make(p, 5);
    conf->removed = NULL;
    return conf;
}

static void *env_merge_conf(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const env_conf *base = base_conf;
    env_conf *add = add_conf;
    const apr_array_header_t *added = apr_table_elts(add->vars);
    const apr_table_entry_t *entry = (const apr_table_entry_t *)added->elts;
    env_conf *conf;
    int i;

    BRG_ASSERT(base->vars && add->vars);
    if (apr_is_empty_table(base->vars))
        return add;
    conf = apr_palloc(p, sizeof(*conf));
    conf->vars = apr_table_copy(p, base->vars);
    conf->removed = NULL;
    for (i = 0; add->removed && i < add->removed->nelts; i++)
        apr_table_unset(conf->vars, APR_ARRAY_IDX(add->removed, i, const char *));
    for (i = 0; i < added->nelts; i++)
        apr_table_setn(conf->vars, entry[i].key, entry[i].val);
    return conf;
}

static const char *env_pass(cmd_parms *cmd, void *mconfig, const char *name)
{
    env_conf *conf = mconfig;
    const char *value = getenv(name);

    if (value == NULL) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     APLOGNO(01506) "PassEnv variable %s was undefined", name);
        return NULL;
    }
    apr_table_setn(conf->vars, name, apr_pstrdup(cmd->pool, value));
    return NULL;
}

/* "SetEnv NAME=value" names a variable with '=' in it: name the probable intention. */
static void env_warn_equals(const cmd_parms *cmd, const char *name)
{
    const char *meant = name + strspn(name, "="), *value;
    apr_size_t len = strcspn(meant, "=");

    value = meant[len] ? meant + len + 1 : "";
    if (len == 0) {
        meant = "(null)";
        len = sizeof("(null)") - 1;
    }
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                 APLOGNO(10032) "Spurious usage of '=' in an environment variable name. "
                                "'%s %.*s %s' expected instead?",
                 cmd->cmd->name, (int)len, meant, value);
}

static const char *env_set(cmd_parms *cmd, void *mconfig, const char *name, const char *value)
{
    env_conf *conf = mconfig;

    if (ap_strchr_c(name, '='))
        env_warn_equals(cmd, name);
    apr_table_setn(conf->vars, name, value ? value : "");
    return NULL;
}

static const char *env_unset(cmd_parms *cmd, void *mconfig, const char *name)
{
    env_conf *conf = mconfig;

    if (conf->removed == NULL)
        conf->removed = apr_array_make(cmd->pool, 2, sizeof(const char *));
    APR_ARRAY_PUSH(conf->removed, const char *) = name;
    apr_table_unset(conf->vars, name);
    return NULL;
}

static int env_fixup(request_rec *r)
{
    const env_conf *conf = ap_get_module_config(r->per_dir_config, &env_module);

    if (!apr_is_empty_table(conf->vars)) {
        /* Variables of earlier phases come first in the new table, so that look-ups find them. */
        r->subprocess_env = apr_table_overlay(r->pool, r->subprocess_env, conf->vars);
    }
    return DECLINED;
}

static const command_rec env_commands[] = {
    AP_INIT_ITERATE("PassEnv", env_pass, NULL, OR_FILEINFO,
                    "a list of environment variables to pass to CGI."),
    AP_INIT_TAKE12("SetEnv", env_set, NULL, OR_FILEINFO,
                   "an environment variable name and optional value to pass to CGI."),
    AP_INIT_ITERATE("UnsetEnv", env_unset, NULL, OR_FILEINFO,
                    "a list of variables to remove from the CGI environment."),
    {0},
};

static void env_register_hooks(apr_pool_t *p)
{
    ap_hook_fixups(env_fixup, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&env_module, NULL);
    brg_hooks_need_directive(&env_module, "fixups", NULL, BRG_HOOKS_BY_SERVER);
}

module AP_MODULE_DECLARE_DATA env_module = {
    STANDARD20_MODULE_STUFF,
    env_create_conf,
    env_merge_conf,
    NULL,
    NULL,
    env_commands,
    env_register_hooks,
    0,
};
