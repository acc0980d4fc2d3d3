/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authorization: asks the rules of the section in force, first without a user, so that requests
 * that need none are answered before anybody is asked for a password, then again once the user is
 * known.
 */
#include "authz_core_private.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "ap_provider.h"
#include "brigade/auth.h"
#include "brigade/files.h"
#include "brigade/response_cache.h"

APLOG_USE_MODULE(authz_core);

static char authz_was_volatile;

/* The request, and all that it came from, was judged by something that the next one may not share.
 */
void authz_mark_volatile(request_rec *r)
{
    for (; r; r = r->main ? r->main : r->prev)
        ap_set_module_config(r->request_config, &authz_core_module, &authz_was_volatile);
}

static APR_OPTIONAL_FN_TYPE(brg_authn_vouches) * authz_vouches;

/* A brg_cache_variant_fn. */
static int authz_absent(const void *unused, const char *value, apr_size_t len)
{
    return value ? -1 : 0;
}

/* 1 if nobody was asked for, or named, by a scheme that knows one by that field alone: so it is with all such requests. */
static int authz_nobody_came(request_rec *r)
{
    const char *type = ap_auth_type(r);

    if (r->user || apr_table_get(r->headers_in, "Authorization") || !type ||
        strcasecmp(type, "Basic") != 0)
        return 0;
    brg_cache_vary(r, "Authorization", authz_absent, NULL);
    return 1;
}

/* 1 if the rules ask for no user, or mod_authn_core tells for whom the answer is. */
static int authz_users_are_told(request_rec *r)
{
    const authz_dir_conf *conf = ap_get_module_config(r->per_dir_config, &authz_core_module);

    return !conf->root || !conf->root->of_user || (authz_vouches && authz_vouches(r)) ||
           authz_nobody_came(r);
}

static const char *brg_authz_user_rules(request_rec *r)
{
    const authz_dir_conf *conf = ap_get_module_config(r->per_dir_config, &authz_core_module);

    return conf->root && !conf->root->of_more ? authz_tree_text(r->pool, conf->root) : NULL;
}

static void authz_find_vouches(void)
{
    authz_vouches = APR_RETRIEVE_OPTIONAL_FN(brg_authn_vouches);
}

static int authz_depends(request_rec *r)
{
    const authz_dir_conf *conf = ap_get_module_config(r->per_dir_config, &authz_core_module);

    if (conf->root && conf->root->is_volatile)
        return BRG_CACHE_VOLATILE;
    for (request_rec *q = r; q; q = q->prev)
        if (ap_get_module_config(q->request_config, &authz_core_module) || !authz_users_are_told(q))
            return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

/* 1 if an <If> among these sections, or in them, has rules: which ones hold follows from its expression. */
static int authz_sections_judge(const apr_array_header_t *sections)
{
    for (int i = 0; sections && i < sections->nelts; i++) {
        ap_conf_vector_t *section = APR_ARRAY_IDX(sections, i, ap_conf_vector_t *);
        const authz_dir_conf *conf = ap_get_module_config(section, &authz_core_module);
        const core_dir_config *core = ap_get_core_module_config(section);

        if ((conf && conf->root) || (core && authz_sections_judge(core->sec_if)))
            return 1;
    }
    return 0;
}

/* A part of a page has other rules than the page, and not the same outcome for everyone; or it may have for another client. */
static void authz_tell_guarded(request_rec *r, const authz_dir_conf *conf)
{
    const authz_node *root = conf->root;
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    const authz_dir_conf *page;

    if (!r->main)
        return;
    page = ap_get_module_config(r->main->per_dir_config, &authz_core_module);
    if ((root && (root->is_volatile ||
                  ((root->of_user || root->of_more) && (!page || page->root != root)))) ||
        (core && authz_sections_judge(core->sec_if)))
        brg_cache_part_is_guarded(r);
}

static int authz_without_rules(request_rec *r)
{
    if (ap_auth_type(r)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01627) "AuthType configured with no corresponding "
                                     "authorization directives");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                  APLOGNO(01628) "authorization result: granted (no directives)");
    return OK;
}

static int authz_no_user(request_rec *r, int after_authn)
{
    if (!after_authn)
        return DECLINED;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  APLOGNO(01629) "authorization failure (no authenticated user): %s", r->uri);
    if (r->user)
        ap_note_auth_failure(r);
    return HTTP_UNAUTHORIZED;
}

/* Where the line stands that refuses: nobody reads it of a message that is not written. */
static const char *authz_place(request_rec *r, const authz_dir_conf *conf)
{
    return APLOG_R_IS_LEVEL(r, APLOG_ERR) ? authz_tree_place(r->pool, conf->root) : "";
}

static int authz_denied(request_rec *r, const authz_dir_conf *conf, int after_authn)
{
    if (!after_authn || !ap_auth_type(r)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01630) "client denied by server configuration: %s%s%s",
                      r->filename ? "" : "uri ", r->filename ? r->filename : r->uri,
                      authz_place(r, conf));
        return HTTP_FORBIDDEN;
    }
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  APLOGNO(01631) "user %s: authorization failure for \"%s\":%s", r->user, r->uri,
                  authz_place(r, conf));
    if (conf->forbid == 1)
        return HTTP_FORBIDDEN;
    if (r->user)
        ap_note_auth_failure(r);
    return HTTP_UNAUTHORIZED;
}

static int authz_judge(request_rec *r, int after_authn)
{
    const authz_dir_conf *conf = ap_get_module_config(r->per_dir_config, &authz_core_module);

    authz_tell_guarded(r, conf);
    if (conf->grants_all && !APLOGrdebug(r))
        return OK;
    if (!conf->root)
        return authz_without_rules(r);
    if (conf->root->is_volatile)
        authz_mark_volatile(r);
    switch (authz_eval(r, conf->root, AUTHZ_OP_ALL)) {
    case AUTHZ_GRANTED:
        return OK;
    case AUTHZ_DENIED_NO_USER:
        return authz_no_user(r, after_authn);
    case AUTHZ_DENIED:
    case AUTHZ_NEUTRAL:
        return authz_denied(r, conf, after_authn);
    case AUTHZ_GENERAL_ERROR:
        break;
    }
    if (brg_auth_waits(r))
        return BRG_WOULD_WAIT;
    return HTTP_INTERNAL_SERVER_ERROR;
}

static int authz_check_userless(request_rec *r)
{
    return authz_judge(r, 0);
}

static int authz_check_user(request_rec *r)
{
    const authz_dir_conf *conf = ap_get_module_config(r->per_dir_config, &authz_core_module);

    if (conf->root && conf->root->may_wait && brg_auth_may_defer(r))
        return BRG_WOULD_WAIT;
    return authz_judge(r, 1);
}

static int authz_some_auth_required(request_rec *r)
{
    const authz_dir_conf *conf = ap_get_module_config(r->per_dir_config, &authz_core_module);

    return conf->root && (conf->root->limited & (AP_METHOD_BIT << r->method_number)) ? 1 : 0;
}

static apr_array_header_t *authz_ap_list_provider_names(apr_pool_t *ptemp)
{
    return ap_list_provider_names(ptemp, AUTHZ_PROVIDER_GROUP, AUTHZ_PROVIDER_VERSION);
}

static int authz_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    authz_tree_begin(pconf);
    authz_alias_reset(pconf);
    return OK;
}

static int authz_check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    return authz_tree_check(ptemp, s);
}

static void authz_register_hooks(apr_pool_t *p)
{
    APR_REGISTER_OPTIONAL_FN(authz_some_auth_required);
    APR_REGISTER_OPTIONAL_FN(authz_ap_list_provider_names);
    APR_REGISTER_OPTIONAL_FN(brg_authz_user_rules);
    ap_hook_optional_fn_retrieve(authz_find_vouches, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_config(authz_pre_config, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_check_config(authz_check_config, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_check_access_ex(authz_check_userless, NULL, NULL, APR_HOOK_LAST,
                            AP_AUTH_INTERNAL_PER_CONF);
    ap_hook_check_authz(authz_check_user, NULL, NULL, APR_HOOK_LAST, AP_AUTH_INTERNAL_PER_CONF);
    authz_providers_register(p);
    brg_cache_declare(&authz_core_module, authz_depends);
    brg_auth_declare(&authz_core_module);
}

static const command_rec authz_directives[] = {
    AP_INIT_RAW_ARGS("<AuthzProviderAlias", authz_cmd_alias, NULL, RSRC_CONF,
                     "names a provider together with its argument and directives"),
    AP_INIT_RAW_ARGS("Require", authz_cmd_require, NULL, OR_AUTHCFG,
                     "a provider that must, or after 'not' must not, grant, and its arguments"),
    AP_INIT_RAW_ARGS("<RequireAll", authz_cmd_container, NULL, OR_AUTHCFG,
                     "rules of which none may deny and one must grant"),
    AP_INIT_RAW_ARGS("<RequireAny", authz_cmd_container, NULL, OR_AUTHCFG,
                     "rules of which one must grant"),
    AP_INIT_RAW_ARGS("<RequireNone", authz_cmd_container, NULL, OR_AUTHCFG,
                     "rules of which none may grant"),
    AP_INIT_TAKE1("AuthMerging", authz_cmd_merging, NULL, OR_AUTHCFG,
                  "how the section's rules join those of the sections before: Off, And or Or"),
    AP_INIT_FLAG("AuthzSendForbiddenOnFailure", ap_set_flag_slot,
                 (void *)APR_OFFSETOF(authz_dir_conf, forbid), OR_AUTHCFG,
                 "answer 403 instead of 401 to a known user who is not authorized"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

module AP_MODULE_DECLARE_DATA authz_core_module = {
    STANDARD20_MODULE_STUFF,
    authz_dir_create,
    authz_dir_merge,
    NULL,
    NULL,
    authz_directives,
    authz_register_hooks,
    0,
};
