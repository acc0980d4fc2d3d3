/* SPDX-License-Identifier: Apache-2.0 */
/* Common part of providers of Require that look at the user. */
#include "auth_authz.h"
#include "http_log.h"
#include "http_request.h"
#include "ap_expr.h"
#include "ap_provider.h"
#include "apr_strings.h"
#include "brigade/auth.h"

APLOG_USE_MODULE(authz_user);

const char *auth_authz_parse(cmd_parms *cmd, const char *line, const void **parsed)
{
    const char *err = NULL;

    *parsed = ap_expr_parse_cmd(cmd, line, AP_EXPR_FLAG_STRING_RESULT, &err, NULL);
    return err ? apr_pstrcat(cmd->pool, "Cannot parse expression in require line: ", err, NULL)
               : NULL;
}

void auth_authz_register_open(apr_pool_t *p, const char *name, const authz_provider *provider)
{
    ap_register_auth_provider(p, AUTHZ_PROVIDER_GROUP, name, AUTHZ_PROVIDER_VERSION, provider,
                              AP_AUTH_INTERNAL_PER_CONF);
}

void auth_authz_register(apr_pool_t *p, const char *name, const authz_provider *provider)
{
    auth_authz_register_open(p, name, provider);
    ap_register_provider(p, BRG_AUTHZ_USER_GROUP, name, "0", provider);
}
