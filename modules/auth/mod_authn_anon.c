/* SPDX-License-Identifier: Apache-2.0 */
/* Users whose password is a mail address, which is logged and not checked. */
#include "auth_request.h"
#include "http_config.h"
#include "http_log.h"
#include "http_request.h"
#include "ap_provider.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"

extern module AP_MODULE_DECLARE_DATA authn_anon_module;
APLOG_USE_MODULE(authn_anon);

typedef struct anon_conf {
    apr_array_header_t *users; /* of const char *; NULL: none */
    int any_user, no_user, must_email, verify_email, log_email;
} anon_conf;

static void *anon_create(apr_pool_t *p, char *dir)
{
    anon_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->must_email = conf->log_email = 1;
    return conf;
}

static const char *anon_cmd_user(cmd_parms *cmd, void *mconfig, const char *name)
{
    anon_conf *conf = mconfig;

    if (!*name)
        return "Anonymous string cannot be empty, use Anonymous_NoUserId";
    if (!strcmp(name, "*")) {
        conf->any_user = 1;
        return NULL;
    }
    if (!conf->users)
        conf->users = apr_array_make(cmd->pool, 4, sizeof(char *));
    APR_ARRAY_PUSH(conf->users, const char *) = name;
    return NULL;
}

static int anon_has_user(const anon_conf *conf, const char *user)
{
    if (!*user)
        return conf->no_user;
    if (conf->any_user)
        return 1;
    for (int i = 0; conf->users && i < conf->users->nelts; i++)
        if (!strcasecmp(user, APR_ARRAY_IDX(conf->users, i, const char *)))
            return 1;
    return 0;
}

static int anon_is_enough(const anon_conf *conf, const char *password)
{
    if (conf->must_email && !*password)
        return 0;
    return !conf->verify_email || (strchr(password, '@') && strchr(password, '.'));
}

static authn_status anon_check(request_rec *r, const char *user, const char *password)
{
    const anon_conf *conf = ap_get_module_config(r->per_dir_config, &authn_anon_module);

    if ((!conf->users && !conf->any_user) || !anon_has_user(conf, user))
        return AUTH_USER_NOT_FOUND;
    if (!anon_is_enough(conf, password))
        return AUTH_DENIED;
    if (conf->log_email && ap_is_initial_req(r))
        ap_log_rerror(APLOG_MARK, APLOG_INFO, APR_SUCCESS, r,
                      APLOGNO(01672) "Anonymous: Passwd <%s> Accepted", password);
    return AUTH_GRANTED;
}

static const authn_provider anon_provider = {anon_check, NULL};

/* It notes nothing, so nobody whom it was asked for is remembered: each time is logged. */
static void anon_register_hooks(apr_pool_t *p)
{
    ap_register_auth_provider(p, AUTHN_PROVIDER_GROUP, "anon", AUTHN_PROVIDER_VERSION,
                              &anon_provider, AP_AUTH_INTERNAL_PER_CONF);
    ap_register_provider(p, AUTH_OWN_GROUP, "anon", "0", &anon_provider);
    brg_cache_declare(&authn_anon_module, NULL);
}

#define ANON_FLAG(name, member, help) \
    AP_INIT_FLAG(name, ap_set_flag_slot, (void *)APR_OFFSETOF(anon_conf, member), OR_AUTHCFG, help)

static const command_rec anon_directives[] = {
    AP_INIT_ITERATE("Anonymous", anon_cmd_user, NULL, OR_AUTHCFG, "names of users, or * for all"),
    ANON_FLAG("Anonymous_MustGiveEmail", must_email, "On or Off: the password must not be empty"),
    ANON_FLAG("Anonymous_NoUserID", no_user, "On or Off: the name may be empty"),
    ANON_FLAG("Anonymous_VerifyEmail", verify_email,
              "On or Off: the password must have an '@' and a '.'"),
    ANON_FLAG("Anonymous_LogEmail", log_email, "On or Off: the error log shows the password"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

module AP_MODULE_DECLARE_DATA authn_anon_module = {
    STANDARD20_MODULE_STUFF, anon_create, NULL, NULL, NULL, anon_directives, anon_register_hooks, 0,
};
