/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of mod_auth_basic. */
#include "auth_basic_private.h"
#include "auth_providers.h"
#include "http_log.h"
#include "apr_strings.h"

APLOG_USE_MODULE(auth_basic);

void *auth_basic_create(apr_pool_t *p, char *dir)
{
    auth_basic_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->authoritative = 1;
    return conf;
}

void *auth_basic_merge(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const auth_basic_conf *base = base_conf, *add = add_conf;
    auth_basic_conf *conf = apr_pmemdup(p, base, sizeof *base);

    if (add->authoritative_set) {
        conf->authoritative = add->authoritative;
        conf->authoritative_set = 1;
    }
    if (add->fake_set) {
        conf->fake_user = add->fake_user;
        conf->fake_password = add->fake_password;
        conf->fake_set = 1;
    }
    if (add->use_digest_set) {
        conf->use_digest = add->use_digest;
        conf->use_digest_set = 1;
    }
    if (add->providers)
        conf->providers = add->providers;
    return conf;
}

static const char *basic_cmd_provider(cmd_parms *cmd, void *mconfig, const char *name)
{
    auth_basic_conf *conf = mconfig;
    const authn_provider *provider;
    const char *err = auth_provider_find(cmd, name, &provider);

    if (err)
        return err;
    if (!provider->check_password)
        return apr_psprintf(cmd->pool,
                            "The '%s' Authn provider doesn't support Basic Authentication", name);
    auth_provider_append(cmd->pool, &conf->providers, name, provider);
    return NULL;
}

static const char *basic_cmd_authoritative(cmd_parms *cmd, void *mconfig, int on)
{
    auth_basic_conf *conf = mconfig;

    conf->authoritative = on;
    conf->authoritative_set = 1;
    return NULL;
}

static const char *basic_cmd_digest(cmd_parms *cmd, void *mconfig, const char *name)
{
    auth_basic_conf *conf = mconfig;

    if (strcasecmp(name, "Off") && strcasecmp(name, "MD5"))
        return apr_pstrcat(cmd->pool, "Invalid algorithm in AuthBasicUseDigestAlgorithm: ", name,
                           NULL);
    conf->use_digest = strcasecmp(name, "Off") != 0;
    conf->use_digest_set = 1;
    return NULL;
}

static const char *basic_cmd_fake(cmd_parms *cmd, void *mconfig, const char *user,
                                  const char *password)
{
    auth_basic_conf *conf = mconfig;
    const char *err = NULL;

    conf->fake_set = 1;
    conf->fake_user = conf->fake_password = NULL;
    if (!strcasecmp(user, "off"))
        return NULL;
    conf->fake_user = ap_expr_parse_cmd(cmd, user, AP_EXPR_FLAG_STRING_RESULT, &err, NULL);
    if (err)
        return apr_psprintf(cmd->pool, "Could not parse fake username expression '%s': %s", user,
                            err);
    conf->fake_password = ap_expr_parse_cmd(cmd, password ? password : "password",
                                            AP_EXPR_FLAG_STRING_RESULT, &err, NULL);
    return err ? apr_psprintf(
                     cmd->pool,
                     "Could not parse fake password expression associated to user '%s': %s", user,
                     err)
               : NULL;
}

const command_rec auth_basic_directives[] = {
    AP_INIT_ITERATE("AuthBasicProvider", basic_cmd_provider, NULL, OR_AUTHCFG,
                    "the providers that are asked for passwords, in their order"),
    AP_INIT_FLAG("AuthBasicAuthoritative", basic_cmd_authoritative, NULL, OR_AUTHCFG,
                 "Off: other modules may know users that the providers do not"),
    AP_INIT_TAKE12("AuthBasicFake", basic_cmd_fake, NULL, OR_AUTHCFG,
                   "expressions for a user and a password that handlers see, or 'off'"),
    AP_INIT_TAKE1("AuthBasicUseDigestAlgorithm", basic_cmd_digest, NULL, OR_AUTHCFG,
                  "'MD5': compare with the hash of user:realm:password that Digest uses"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};
