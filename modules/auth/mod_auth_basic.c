/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP Basic (RFC 7617): a user and a password from the Authorization field, checked by the providers of the section. */
#include "auth_basic_private.h"
#include "auth_digest_sums.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "ap_provider.h"
#include "apr_base64.h"
#include "apr_strings.h"
#include "util_md5.h"
#include "brigade/auth.h"
#include "brigade/files.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"

APLOG_USE_MODULE(auth_basic);

static const auth_basic_conf *basic_conf_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &auth_basic_module);
}

/* ---- asking ---- */

static void basic_ask(request_rec *r)
{
    apr_table_setn(r->err_headers_out,
                   r->proxyreq == PROXYREQ_PROXY ? "Proxy-Authenticate" : "WWW-Authenticate",
                   apr_pstrcat(r->pool, "Basic realm=\"", ap_auth_name(r), "\"", NULL));
}

static int basic_note_failure(request_rec *r, const char *type)
{
    if (ap_cstr_casecmp(type, "Basic"))
        return DECLINED;
    basic_ask(r);
    return OK;
}

/* ---- the field ---- */

static int basic_refuse(request_rec *r)
{
    basic_ask(r);
    return HTTP_UNAUTHORIZED;
}

static int basic_read(request_rec *r, const char **user, const char **password)
{
    const char *field = apr_table_get(
        r->headers_in, r->proxyreq == PROXYREQ_PROXY ? "Proxy-Authorization" : "Authorization");
    const char *text;
    char *decoded;

    if (!field)
        return basic_refuse(r);
    if (ap_cstr_casecmp(ap_getword(r->pool, &field, ' '), "Basic")) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01614) "client used wrong authentication scheme: %s", r->uri);
        return basic_refuse(r);
    }
    while (*field == ' ' || *field == '\t')
        field++;
    decoded = apr_pcalloc(r->pool, (apr_size_t)apr_base64_decode_len(field) + 1);
    decoded[apr_base64_decode(decoded, field)] = '\0';
    text = decoded;
    *user = ap_getword_nulls(r->pool, &text, ':');
    *password = text;
    r->user = (char *)(uintptr_t)*user;
    return OK;
}

/* ---- checking ---- */

static authn_status basic_by_digest(request_rec *r, const authn_provider *provider,
                                    const char *user, const char *password)
{
    const char *realm = ap_auth_name(r);
    const char *mine = ap_md5(r->pool, (const unsigned char *)apr_pstrcat(r->pool, user, ":", realm,
                                                                          ":", password, NULL));
    char *hash = NULL;
    authn_status status;

    auth_note_asked(r, auth_note_of(r), "by digest");
    if (!provider->get_realm_hash) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02493) "Authn provider does not support AuthBasicUseDigestAlgorithm");
        return AUTH_GENERAL_ERROR;
    }
    status = provider->get_realm_hash(r, user, realm, &hash);
    if (status != AUTH_USER_FOUND)
        return status;
    return hash && digest_equal(mine, hash) ? AUTH_GRANTED : AUTH_DENIED;
}

static authn_status basic_ask_provider(request_rec *r, const authn_provider *provider,
                                       const char *name, const char *user, const char *password)
{
    const int how_many = auth_note_of(r)->asked_n;
    authn_status status;

    apr_table_setn(r->notes, AUTHN_PROVIDER_NAME_NOTE, name);
    status = basic_conf_of(r)->use_digest ? basic_by_digest(r, provider, user, password)
                                          : provider->check_password(r, user, password);
    apr_table_unset(r->notes, AUTHN_PROVIDER_NAME_NOTE);
    if (auth_note_of(r)->asked_n == how_many) /* a provider that notes nothing */
        auth_note_open(auth_note_of(r));
    return status;
}

/* 1 if it may be asked on a loop: it leaves where it would wait. */
static int basic_is_own(const char *name)
{
    return ap_lookup_provider(AUTH_OWN_GROUP, name, "0") != NULL;
}

static authn_status basic_check(request_rec *r, const char *user, const char *password)
{
    const authn_provider_list *list = basic_conf_of(r)->providers;
    authn_status status;

    if (!list) {
        const authn_provider *provider = ap_lookup_provider(
            AUTHN_PROVIDER_GROUP, AUTHN_DEFAULT_PROVIDER, AUTHN_PROVIDER_VERSION);

        if (!provider || !provider->check_password) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(01616) "No Authn provider configured");
            return AUTH_GENERAL_ERROR;
        }
        if (!basic_is_own(AUTHN_DEFAULT_PROVIDER) && auth_leaves_loop(r))
            return AUTH_GENERAL_ERROR;
        return basic_ask_provider(r, provider, AUTHN_DEFAULT_PROVIDER, user, password);
    }
    for (;; list = list->next) {
        if (!basic_is_own(list->provider_name) && auth_leaves_loop(r))
            return AUTH_GENERAL_ERROR;
        status = basic_ask_provider(r, list->provider, list->provider_name, user, password);
        if (status != AUTH_USER_NOT_FOUND || !list->next)
            return status;
    }
}

static int basic_denied(request_rec *r, authn_status status, const char *user)
{
    if (!basic_conf_of(r)->authoritative && status != AUTH_DENIED)
        return DECLINED;
    if (status == AUTH_DENIED) {
        ap_log_rerror(
            APLOG_MARK, APLOG_ERR, 0, r,
            APLOGNO(01617) "user %s: authentication failure for \"%s\": Password Mismatch", user,
            r->uri);
        return basic_refuse(r);
    }
    if (status == AUTH_USER_NOT_FOUND) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01618) "user %s not found: %s", user,
                      r->uri);
        return basic_refuse(r);
    }
    return HTTP_INTERNAL_SERVER_ERROR; /* the provider said why */
}

static int basic_authenticate(request_rec *r)
{
    const char *type = ap_auth_type(r), *user, *password;
    authn_status status;
    int refused;

    if (!type || ap_cstr_casecmp(type, "Basic"))
        return DECLINED;
    if (!ap_auth_name(r)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01615) "need AuthName: %s", r->uri);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    r->ap_auth_type = (char *)"Basic";
    if ((refused = basic_read(r, &user, &password)) != OK)
        return refused;
    auth_note_begin(r, "Basic");
    status = basic_check(r, user, password);
    if (brg_auth_waits(r)) {
        r->user = r->ap_auth_type = NULL;
        return BRG_WOULD_WAIT;
    }
    if (status == AUTH_GRANTED) {
        auth_note_grant(auth_note_of(r));
        return OK;
    }
    if (status == AUTH_USER_NOT_FOUND)
        auth_password_of_nobody(r, user, password);
    return basic_denied(r, status, user);
}

/* ---- AuthBasicFake ---- */

static int basic_fake(request_rec *r)
{
    const auth_basic_conf *conf = basic_conf_of(r);
    const char *user, *password, *err = NULL, *field;

    if (!conf->fake_user)
        return DECLINED;
    user = ap_expr_str_exec(r, conf->fake_user, &err);
    if (err) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02455) "AuthBasicFake: could not evaluate user expression for URI "
                                     "'%s': %s",
                      r->uri, err);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (!user || !*user) {
        ap_log_rerror(
            APLOG_MARK, APLOG_INFO, 0, r,
            APLOGNO(02458) "AuthBasicFake: empty username expression for URI '%s', ignoring",
            r->uri);
        return DECLINED;
    }
    password = ap_expr_str_exec(r, conf->fake_password, &err);
    if (err) {
        ap_log_rerror(
            APLOG_MARK, APLOG_ERR, 0, r,
            APLOGNO(02456) "AuthBasicFake: could not evaluate password expression for URI "
                           "'%s': %s",
            r->uri, err);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (!password || !*password) {
        ap_log_rerror(
            APLOG_MARK, APLOG_INFO, 0, r,
            APLOGNO(02459) "AuthBasicFake: empty password expression for URI '%s', ignoring",
            r->uri);
        return DECLINED;
    }
    field = apr_pstrcat(r->pool, user, ":", password, NULL);
    field =
        apr_pstrcat(r->pool, "Basic ", ap_pbase64encode(r->pool, (char *)(uintptr_t)field), NULL);
    apr_table_setn(r->headers_in, "Authorization", field);
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  APLOGNO(02457) "AuthBasicFake: \"Authorization: %s\"", field);
    return OK;
}

/* A field that was made is looked at by handlers, which no answer from memory has. A brg_cache_fn. */
static int basic_depends(request_rec *r)
{
    return basic_conf_of(r)->fake_user ? BRG_CACHE_VOLATILE : BRG_CACHE_STATIC;
}

static void basic_register_hooks(apr_pool_t *p)
{
    ap_hook_check_authn(basic_authenticate, NULL, NULL, APR_HOOK_MIDDLE, AP_AUTH_INTERNAL_PER_CONF);
    ap_hook_fixups(basic_fake, NULL, NULL, APR_HOOK_LAST);
    ap_hook_note_auth_failure(basic_note_failure, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&auth_basic_module, basic_depends);
    brg_hooks_need_directive(&auth_basic_module, "fixups", "AuthBasicFake", BRG_HOOKS_BY_SERVER);
    brg_auth_declare(&auth_basic_module);
}

module AP_MODULE_DECLARE_DATA auth_basic_module = {
    STANDARD20_MODULE_STUFF,
    auth_basic_create,
    auth_basic_merge,
    NULL,
    NULL,
    auth_basic_directives,
    basic_register_hooks,
    0,
};
