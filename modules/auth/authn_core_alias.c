/* SPDX-License-Identifier: Apache-2.0 */
/* <AuthnProviderAlias>: a name for a provider with directives of its own. One provider serves all aliases; the note
 * AUTHN_PROVIDER_NAME_NOTE says which of them is asked. */
#include "authn_core_private.h"
#include "http_request.h"
#include "ap_provider.h"
#include "apr_hash.h"
#include "apr_strings.h"

typedef struct authn_alias {
    const char *name, *base;
    const authn_provider *provider; /* of the base */
    ap_conf_vector_t *config;       /* the directives inside the section */
} authn_alias;

/* Written while the configuration is read, read-only afterwards. */
static apr_hash_t *authn_aliases;

void authn_alias_reset(apr_pool_t *pconf)
{
    authn_aliases = apr_hash_make(pconf);
}

static const authn_alias *alias_asked(const request_rec *r)
{
    const char *name = apr_table_get(r->notes, AUTHN_PROVIDER_NAME_NOTE);

    return name && authn_aliases ? apr_hash_get(authn_aliases, name, APR_HASH_KEY_STRING) : NULL;
}

/* The base is asked under its own name and with the section's directives. @return the configuration
 * to be restored */
static ap_conf_vector_t *alias_enter(request_rec *r, const authn_alias *alias)
{
    ap_conf_vector_t *saved = r->per_dir_config;

    r->per_dir_config = ap_merge_per_dir_configs(r->pool, saved, alias->config);
    apr_table_setn(r->notes, AUTHN_PROVIDER_NAME_NOTE, alias->base);
    return saved;
}

static void alias_leave(request_rec *r, const authn_alias *alias, ap_conf_vector_t *saved)
{
    r->per_dir_config = saved;
    apr_table_setn(r->notes, AUTHN_PROVIDER_NAME_NOTE, alias->name);
}

static authn_status alias_check(request_rec *r, const char *user, const char *password)
{
    const authn_alias *alias = alias_asked(r);
    ap_conf_vector_t *saved;
    authn_status status;

    if (!alias || !alias->provider->check_password)
        return AUTH_USER_NOT_FOUND;
    saved = alias_enter(r, alias);
    status = alias->provider->check_password(r, user, password);
    alias_leave(r, alias, saved);
    return status;
}

static authn_status alias_realm_hash(request_rec *r, const char *user, const char *realm,
                                     char **hash)
{
    const authn_alias *alias = alias_asked(r);
    ap_conf_vector_t *saved;
    authn_status status;

    if (!alias || !alias->provider->get_realm_hash)
        return AUTH_USER_NOT_FOUND;
    saved = alias_enter(r, alias);
    status = alias->provider->get_realm_hash(r, user, realm, hash);
    alias_leave(r, alias, saved);
    return status;
}

static const authn_provider alias_provider = {alias_check, alias_realm_hash};
static const authn_provider alias_provider_no_digest = {alias_check, NULL};

/* The directives inside the section go to a configuration of their own. */
static const char *alias_walk(cmd_parms *cmd, ap_conf_vector_t *config)
{
    const int saved = cmd->override;
    const char *err;

    cmd->override = OR_AUTHCFG | ACCESS_CONF;
    err = ap_walk_config(cmd->directive->first_child, cmd, config);
    cmd->override = saved;
    return err;
}

static const char *alias_make(cmd_parms *cmd, const char *base, const char *name)
{
    authn_alias *alias = apr_palloc(cmd->pool, sizeof *alias);
    const char *err;

    *alias = (authn_alias){.name = name, .base = base};
    alias->config = ap_create_per_dir_config(cmd->pool);
    if ((err = alias_walk(cmd, alias->config)))
        return err;
    alias->provider = ap_lookup_provider(AUTHN_PROVIDER_GROUP, base, AUTHN_PROVIDER_VERSION);
    if (!alias->provider)
        return apr_psprintf(cmd->pool, "Unknown Authn provider: %s", base);
    apr_hash_set(authn_aliases, name, APR_HASH_KEY_STRING, alias);
    ap_register_auth_provider(cmd->pool, AUTHN_PROVIDER_GROUP, name, AUTHN_PROVIDER_VERSION,
                              alias->provider->get_realm_hash ? &alias_provider
                                                              : &alias_provider_no_digest,
                              AP_AUTH_INTERNAL_PER_CONF);
    if (ap_lookup_provider(AUTH_OWN_GROUP, base, "0"))
        ap_register_provider(cmd->pool, AUTH_OWN_GROUP, name, "0", alias->provider);
    return NULL;
}

const char *authn_cmd_alias(cmd_parms *cmd, void *mconfig, const char *args)
{
    const char *end = ap_strrchr_c(args, '>'), *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    const char *base, *name;

    if (err)
        return err;
    if (!end)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, "> directive missing closing '>'", NULL);
    args = apr_pstrndup(cmd->temp_pool, args, (apr_size_t)(end - args));
    if (!*args)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, "> directive requires additional arguments",
                           NULL);
    base = ap_getword_conf(cmd->pool, &args);
    name = ap_getword_conf(cmd->pool, &args);
    if (!*base || !*name)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, "> directive requires additional arguments",
                           NULL);
    if (!strcasecmp(base, name))
        return "The alias provider name must be different from the base provider name.";
    if (ap_lookup_provider(AUTHN_PROVIDER_GROUP, name, AUTHN_PROVIDER_VERSION))
        return apr_pstrcat(cmd->pool, "The alias provider ", name,
                           " has already be registered previously as either a base provider or an "
                           "alias provider.",
                           NULL);
    return alias_make(cmd, base, name);
}
