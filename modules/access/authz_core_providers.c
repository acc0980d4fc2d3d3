/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The authorization providers that do not need a user: all, env, method and expr. Arguments are
 * parsed once, when the Require line is read.
 */
#include "authz_core_private.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "ap_expr.h"
#include "ap_provider.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/directive.h"
#include "brigade/response_cache.h"

APLOG_USE_MODULE(authz_core);

#define AUTHZ_EXPR_KEY "Require_expr_info"

typedef struct authz_expr {
    ap_expr_info_t *expr;
    int wants_user;
} authz_expr;

static const char authz_all_granted, authz_all_denied;

static authz_status authz_env_check(request_rec *r, const char *line, const void *parsed)
{
    const char *const *name = parsed;

    BRG_ASSERT(parsed || line);
    for (; name && *name; name++)
        if (apr_table_get(r->subprocess_env, *name))
            return AUTHZ_GRANTED;
    return AUTHZ_DENIED;
}

/* 1 if the setters of the variables declare their dependencies. */
static int authz_env_is_told(const char *const *name)
{
    while (name && *name && brg_cache_variable_is_told(*name))
        name++;
    return name && !*name;
}

static const char *authz_env_parse(cmd_parms *cmd, const char *line, const void **parsed)
{
    apr_array_header_t *names = apr_array_make(cmd->pool, 4, sizeof(char *));
    const char *word;

    while (*(word = ap_getword_conf(cmd->pool, &line)))
        APR_ARRAY_PUSH(names, const char *) = word;
    APR_ARRAY_PUSH(names, const char *) = NULL;
    *parsed = names->elts;
    return NULL;
}

static const authz_provider authz_env_provider = {authz_env_check, authz_env_parse};

static authz_status authz_method_check(request_rec *r, const char *line, const void *parsed)
{
    const apr_int64_t *allowed = parsed;

    return (*allowed & (AP_METHOD_BIT << r->method_number)) ? AUTHZ_GRANTED : AUTHZ_DENIED;
}

static const char *authz_method_parse(cmd_parms *cmd, const char *line, const void **parsed)
{
    apr_int64_t *allowed = apr_pcalloc(cmd->pool, sizeof(*allowed));
    const char *word;

    while (*(word = ap_getword_conf(cmd->temp_pool, &line))) {
        int number = ap_method_number_of(word);
        if (number == M_INVALID)
            return apr_pstrcat(cmd->pool, "Invalid Method '", word, "'", NULL);
        *allowed |= AP_METHOD_BIT << number;
    }
    *parsed = allowed;
    return NULL;
}

static const authz_provider authz_method_provider = {authz_method_check, authz_method_parse};

static authz_status authz_all_check(request_rec *r, const char *line, const void *parsed)
{
    return parsed == &authz_all_granted ? AUTHZ_GRANTED : AUTHZ_DENIED;
}

static const char *authz_all_parse(cmd_parms *cmd, const char *line, const void **parsed)
{
    if (strcasecmp(line, "granted") == 0) {
        *parsed = &authz_all_granted;
        return NULL;
    }
    if (strcasecmp(line, "denied") == 0) {
        *parsed = &authz_all_denied;
        return NULL;
    }
    return "Argument for 'Require all' must be 'granted' or 'denied'";
}

static const authz_provider authz_all_provider = {authz_all_check, authz_all_parse};

/* Notes that the expression being parsed asks for the user, which is unknown before authentication.
 */
static int authz_expr_lookup(ap_expr_lookup_parms *parms)
{
    if (parms->type == AP_EXPR_FUNC_VAR && strcasecmp(parms->name, "REMOTE_USER") == 0) {
        void *info = NULL;

        apr_pool_userdata_get(&info, AUTHZ_EXPR_KEY, parms->ptemp);
        if (info)
            ((authz_expr *)info)->wants_user = 1;
    }
    return ap_expr_lookup_default(parms);
}

static const char *authz_expr_parse(cmd_parms *cmd, const char *line, const void **parsed)
{
    authz_expr *info = apr_pcalloc(cmd->pool, sizeof(*info));
    apr_size_t len = strlen(line);
    const char *err = NULL;

    if (len > 1 && line[0] == '"' && line[len - 1] == '"')
        line = apr_pstrndup(cmd->temp_pool, line + 1, len - 2);
    apr_pool_userdata_setn(info, AUTHZ_EXPR_KEY, apr_pool_cleanup_null, cmd->temp_pool);
    info->expr = ap_expr_parse_cmd(cmd, line, 0, &err, authz_expr_lookup);
    apr_pool_userdata_setn(NULL, AUTHZ_EXPR_KEY, apr_pool_cleanup_null, cmd->temp_pool);
    if (err)
        return apr_pstrcat(cmd->pool, "Cannot parse expression in require line: ", err, NULL);
    *parsed = info;
    return NULL;
}

static authz_status authz_expr_check(request_rec *r, const char *line, const void *parsed)
{
    const authz_expr *info = parsed;
    const char *err = NULL;
    int truth = ap_expr_exec(r, info->expr, &err);

    if (info->wants_user || !brg_cache_depends_on_expression(r, info->expr, 0))
        authz_mark_volatile(r);
    if (truth < 0) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02320) "Error evaluating expression in 'Require expr': %s", err);
        return AUTHZ_GENERAL_ERROR;
    }
    if (truth)
        return AUTHZ_GRANTED;
    return info->wants_user ? AUTHZ_DENIED_NO_USER : AUTHZ_DENIED;
}

static const authz_provider authz_expr_provider = {authz_expr_check, authz_expr_parse};

int authz_provider_is_static(const authz_provider *provider, const void *parsed)
{
    return provider == &authz_all_provider || provider == &authz_method_provider ||
           (provider == &authz_env_provider && authz_env_is_told(parsed));
}

int authz_provider_tells(const authz_provider *provider)
{
    return provider == &authz_expr_provider;
}

int authz_provider_is_own(const authz_provider *provider)
{
    return authz_provider_is_static(provider, NULL) || provider == &authz_env_provider ||
           provider == &authz_expr_provider;
}

int authz_provider_grants_all(const authz_provider *provider, const void *parsed)
{
    return provider == &authz_all_provider && parsed == &authz_all_granted;
}

const char *authz_unknown_provider(const cmd_parms *cmd, const char *name)
{
    const apr_array_header_t *names =
        ap_list_provider_names(cmd->temp_pool, AUTHZ_PROVIDER_GROUP, AUTHZ_PROVIDER_VERSION);
    brg_nearest nearest = {name, NULL, 0};

    for (int i = 0; i < names->nelts; i++)
        brg_nearest_offer(&nearest,
                          APR_ARRAY_IDX(names, i, ap_list_provider_names_t).provider_name);
    return apr_pstrcat(cmd->pool, "Unknown Authz provider: ", name,
                       brg_nearest_question(cmd->temp_pool, &nearest), NULL);
}

void authz_providers_register(apr_pool_t *p)
{
    static const struct {
        const char *name;
        const authz_provider *provider;
    } own[] = {
        {"env", &authz_env_provider},
        {"method", &authz_method_provider},
        {"all", &authz_all_provider},
        {"expr", &authz_expr_provider},
    };

    for (apr_size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        ap_register_auth_provider(p, AUTHZ_PROVIDER_GROUP, own[i].name, AUTHZ_PROVIDER_VERSION,
                                  own[i].provider, AP_AUTH_INTERNAL_PER_CONF);
    }
}
