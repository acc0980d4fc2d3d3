/* SPDX-License-Identifier: Apache-2.0 */
/* Require user NAME..., Require valid-user. */
#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "ap_expr.h"
#include "ap_provider.h"
#include "mod_auth.h"
#include "apr_strings.h"
#include "auth_authz.h"
#include "brigade/response_cache.h"

extern module AP_MODULE_DECLARE_DATA authz_user_module;
APLOG_USE_MODULE(authz_user);

static authz_status authz_user_check(request_rec *r, const char *line, const void *parsed)
{
    const char *err = NULL, *names, *name;

    if (!r->user)
        return AUTHZ_DENIED_NO_USER;
    names = ap_expr_str_exec(r, parsed, &err);
    if (err) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02594) "authz_user authorize: require user: Can't evaluate require "
                                     "expression: %s",
                      err);
        return AUTHZ_DENIED;
    }
    while (*(name = ap_getword_conf(r->pool, &names)))
        if (!strcmp(r->user, name))
            return AUTHZ_GRANTED;
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                  APLOGNO(01663) "access to %s failed, reason: user '%s' does not meet "
                                 "'require'ments for user to be allowed access",
                  r->uri, r->user);
    return AUTHZ_DENIED;
}

static authz_status authz_valid_user_check(request_rec *r, const char *line, const void *parsed)
{
    return r->user ? AUTHZ_GRANTED : AUTHZ_DENIED_NO_USER;
}

static const authz_provider authz_user_provider = {authz_user_check, auth_authz_parse};
static const authz_provider authz_valid_user_provider = {authz_valid_user_check, NULL};

static void authz_user_register_hooks(apr_pool_t *p)
{
    auth_authz_register(p, "user", &authz_user_provider);
    auth_authz_register(p, "valid-user", &authz_valid_user_provider);
    brg_cache_declare(&authz_user_module, NULL);
}

module AP_MODULE_DECLARE_DATA authz_user_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, authz_user_register_hooks, 0,
};
