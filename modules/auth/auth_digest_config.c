/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of mod_auth_digest. */
#include "auth_digest_private.h"
#include "auth_providers.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdlib.h>

APLOG_USE_MODULE(auth_digest);

#define DIGEST_SHMEM 1000
#define DIGEST_LIFETIME apr_time_from_sec(300)

apr_size_t auth_digest_shmem = DIGEST_SHMEM;

void *auth_digest_create(apr_pool_t *p, char *dir)
{
    auth_digest_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->lifetime = DIGEST_LIFETIME;
    return conf;
}

void *auth_digest_merge(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const auth_digest_conf *base = base_conf, *add = add_conf;
    auth_digest_conf *conf = apr_pmemdup(p, base, sizeof *base);

    if (add->providers)
        conf->providers = add->providers;
    if (add->domain)
        conf->domain = add->domain;
    if (add->lifetime_set) {
        conf->lifetime = add->lifetime;
        conf->lifetime_set = 1;
    }
    if (add->check_nc_set) {
        conf->check_nc = add->check_nc;
        conf->check_nc_set = 1;
    }
    return conf;
}

static const char *digest_cmd_provider(cmd_parms *cmd, void *mconfig, const char *name)
{
    auth_digest_conf *conf = mconfig;
    const authn_provider *provider;
    const char *err = auth_provider_find(cmd, name, &provider);

    if (err)
        return err;
    if (!provider->get_realm_hash)
        return apr_psprintf(cmd->pool,
                            "The '%s' Authn provider doesn't support Digest Authentication", name);
    auth_provider_append(cmd->pool, &conf->providers, name, provider);
    return NULL;
}

static const char *digest_cmd_qop(cmd_parms *cmd, void *mconfig, const char *word)
{
    return strcasecmp(word, "auth") ? "AuthDigestQop is deprecated: only 'auth' is supported"
                                    : NULL;
}

static const char *digest_cmd_lifetime(cmd_parms *cmd, void *mconfig, const char *arg)
{
    auth_digest_conf *conf = mconfig;
    char *end;
    const long seconds = strtol(arg, &end, 10);

    if (!*arg || (*end && !apr_isspace(*end))) /* text behind white space is not looked at */
        return apr_pstrcat(cmd->pool, "Invalid time in AuthDigestNonceLifetime: ", arg, NULL);
    conf->lifetime = apr_time_from_sec(seconds);
    conf->lifetime_set = 1;
    return NULL;
}

static const char *digest_cmd_nc(cmd_parms *cmd, void *mconfig, int on)
{
    auth_digest_conf *conf = mconfig;

    conf->check_nc = on;
    conf->check_nc_set = 1;
    return NULL;
}

static const char *digest_cmd_algorithm(cmd_parms *cmd, void *mconfig, const char *name)
{
    return strcasecmp(name, "MD5")
               ? apr_pstrcat(cmd->pool, "Unsupported algorithm in AuthDigestAlgorithm: ", name,
                             NULL)
               : NULL;
}

static const char *digest_cmd_domain(cmd_parms *cmd, void *mconfig, const char *uri)
{
    auth_digest_conf *conf = mconfig;

    conf->domain =
        conf->domain
            ? apr_pstrcat(cmd->pool,
                          apr_pstrmemdup(cmd->temp_pool, conf->domain, strlen(conf->domain) - 1),
                          " ", uri, "\"", NULL)
            : apr_pstrcat(cmd->pool, ", domain=\"", uri, "\"", NULL);
    return NULL;
}

static const char *digest_cmd_shmem(cmd_parms *cmd, void *mconfig, const char *arg)
{
    const long least = (long)digest_client_bytes();
    char *end;
    long size = strtol(arg, &end, 10);

    if (apr_isspace(*end) || !*end)
        size *= 1;
    else if (*end == 'k' || *end == 'K')
        size *= 1024;
    else if (*end == 'm' || *end == 'M')
        size *= 1048576;
    else
        return apr_pstrcat(cmd->pool, "Invalid size in AuthDigestShmemSize: ", arg, NULL);
    if (size < least)
        return apr_psprintf(cmd->pool, "size in AuthDigestShmemSize too small: %ld < %ld", size,
                            least);
    auth_digest_shmem = (apr_size_t)size;
    return NULL;
}

const command_rec auth_digest_directives[] = {
    AP_INIT_ITERATE("AuthDigestProvider", digest_cmd_provider, NULL, OR_AUTHCFG,
                    "the providers that are asked for hashes, in their order"),
    AP_INIT_ITERATE("AuthDigestQop", digest_cmd_qop, NULL, OR_AUTHCFG,
                    "quality of protection: auth, which is the only one"),
    AP_INIT_TAKE1("AuthDigestNonceLifetime", digest_cmd_lifetime, NULL, OR_AUTHCFG,
                  "seconds for which a nonce is good; 0: for one request; less: for ever"),
    AP_INIT_FLAG("AuthDigestNcCheck", digest_cmd_nc, NULL, OR_AUTHCFG,
                 "On or Off: the count that clients send with a nonce must go up"),
    AP_INIT_TAKE1("AuthDigestAlgorithm", digest_cmd_algorithm, NULL, OR_AUTHCFG,
                  "the hash: MD5, which is the only one"),
    AP_INIT_ITERATE("AuthDigestDomain", digest_cmd_domain, NULL, OR_AUTHCFG,
                    "URIs for which clients may use the same credentials"),
    AP_INIT_TAKE1("AuthDigestShmemSize", digest_cmd_shmem, NULL, RSRC_CONF,
                  "bytes of shared memory for clients that are counted; K and M are taken"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};
