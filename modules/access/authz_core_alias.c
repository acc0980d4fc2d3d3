/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <AuthzProviderAlias>: a name for a provider with its argument and directives. One provider serves all
 * aliases; the note AUTHZ_PROVIDER_NAME_NOTE says which of them a Require line means.
 */
#include "authz_core_private.h"
#include "http_log.h"
#include "ap_provider.h"
#include "apr_hash.h"
#include "apr_strings.h"

APLOG_USE_MODULE(authz_core);

typedef struct authz_alias {
    const authz_provider *provider;
    const char *provider_name;
    const char *args;
    const void *parsed;
    ap_conf_vector_t *config; /* the directives inside the section */
} authz_alias;

/* Written while the configuration is read, read-only afterwards. */
static apr_hash_t *authz_aliases;

void authz_alias_reset(apr_pool_t *pconf)
{
    authz_aliases = apr_hash_make(pconf);
}

static authz_status authz_alias_check(request_rec *r, const char *line, const void *parsed)
{
    const char *name = apr_table_get(r->notes, AUTHZ_PROVIDER_NAME_NOTE);
    const authz_alias *alias =
        name && authz_aliases ? apr_hash_get(authz_aliases, name, APR_HASH_KEY_STRING) : NULL;
    ap_conf_vector_t *saved = r->per_dir_config;
    authz_status status;

    if (!alias) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02305) "no alias provider found for '%s' (BUG?)",
                      name ? name : "n/a");
        return AUTHZ_DENIED;
    }
    if (alias->config)
        r->per_dir_config = ap_merge_per_dir_configs(r->pool, saved, alias->config);
    status = alias->provider->check_authorization(r, alias->args, alias->parsed);
    r->per_dir_config = saved;
    return status;
}

static const authz_provider authz_alias_provider = {authz_alias_check, NULL};

static const char *authz_alias_fill(cmd_parms *cmd, authz_alias *alias)
{
    const char *err;

    alias->provider =
        ap_lookup_provider(AUTHZ_PROVIDER_GROUP, alias->provider_name, AUTHZ_PROVIDER_VERSION);
    if (!alias->provider)
        return authz_unknown_provider(cmd, alias->provider_name);
    if (!alias->provider->check_authorization) {
        return apr_psprintf(cmd->pool,
                            "The '%s' Authz provider is not supported by any of the loaded "
                            "authorization modules",
                            alias->provider_name);
    }
    err = authz_parse_line(cmd, alias->provider, alias->provider_name, alias->args, &alias->parsed);
    if (err)
        return apr_psprintf(cmd->pool, "Can't parse 'Require %s %s': %s", alias->provider_name,
                            alias->args, err);
    return NULL;
}

/* The directives inside the section go to a configuration of their own. */
static const char *authz_alias_walk(cmd_parms *cmd, ap_conf_vector_t *config)
{
    int saved = cmd->override;
    const char *err;

    cmd->override = OR_AUTHCFG | ACCESS_CONF;
    err = ap_walk_config(cmd->directive->first_child, cmd, config);
    cmd->override = saved;
    return err;
}

const char *authz_cmd_alias(cmd_parms *cmd, void *mconfig, const char *args)
{
    const char *end = ap_strrchr_c(args, '>');
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY), *name;
    authz_alias *alias = apr_pcalloc(cmd->pool, sizeof(*alias));

    if (err)
        return err;
    if (!end)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, "> directive missing closing '>'", NULL);
    args = apr_pstrndup(cmd->temp_pool, args, end - args);
    if (!*args) {
        return apr_pstrcat(cmd->pool, cmd->cmd->name, "> directive requires additional arguments",
                           NULL);
    }
    alias->provider_name = ap_getword_conf(cmd->pool, &args);
    name = ap_getword_conf(cmd->pool, &args);
    alias->args = ap_getword_conf(cmd->pool, &args);
    if (!*alias->provider_name || !*name) {
        return apr_pstrcat(cmd->pool, cmd->cmd->name, "> directive requires additional arguments",
                           NULL);
    }
    if (*args) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     APLOGNO(10142) "When several arguments (%s %s...) are passed to a %s "
                                    "directive, they must be enclosed in quotation marks.  "
                                    "Otherwise, only the first one is taken into account",
                     alias->args, args, cmd->cmd->name);
    }
    alias->config = ap_create_per_dir_config(cmd->pool);
    if ((err = authz_alias_walk(cmd, alias->config)) || (err = authz_alias_fill(cmd, alias)))
        return err;
    apr_hash_set(authz_aliases, name, APR_HASH_KEY_STRING, alias);
    ap_register_auth_provider(cmd->pool, AUTHZ_PROVIDER_GROUP, name, AUTHZ_PROVIDER_VERSION,
                              &authz_alias_provider, AP_AUTH_INTERNAL_PER_CONF);
    return NULL;
}
