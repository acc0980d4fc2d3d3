/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of modules to the core about authentication. The core passes it on to the modules that
 * implement it. */
#include "auth_helpers.h"
#include "httpd.h"
#include "ap_hooks.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

/* clang-format off */
APR_HOOK_STRUCT(
    APR_HOOK_LINK(note_auth_failure)
)
AP_IMPLEMENT_HOOK_RUN_FIRST(int, note_auth_failure, (request_rec *r, const char *auth_type),
                            (r, auth_type), DECLINED)
/* clang-format on */

/* Written before threads start. */
static APR_OPTIONAL_FN_TYPE(authz_some_auth_required) * auth_some_required;
static APR_OPTIONAL_FN_TYPE(authn_ap_auth_type) * auth_type_of;
static APR_OPTIONAL_FN_TYPE(authn_ap_auth_name) * auth_name_of;
static APR_OPTIONAL_FN_TYPE(access_compat_ap_satisfies) * auth_satisfies;

void auth_helpers_retrieve(void)
{
    auth_some_required = APR_RETRIEVE_OPTIONAL_FN(authz_some_auth_required);
    auth_type_of = APR_RETRIEVE_OPTIONAL_FN(authn_ap_auth_type);
    auth_name_of = APR_RETRIEVE_OPTIONAL_FN(authn_ap_auth_name);
    auth_satisfies = APR_RETRIEVE_OPTIONAL_FN(access_compat_ap_satisfies);
}

AP_DECLARE(const char *) ap_auth_type(request_rec *r)
{
    return auth_type_of ? auth_type_of(r) : NULL;
}

AP_DECLARE(const char *) ap_auth_name(request_rec *r)
{
    return auth_name_of ? auth_name_of(r) : NULL;
}

AP_DECLARE(int) ap_satisfies(request_rec *r)
{
    return auth_satisfies ? auth_satisfies(r) : SATISFY_NOSPEC;
}

AP_DECLARE(int) ap_some_auth_required(request_rec *r)
{
    return auth_some_required ? auth_some_required(r) : 0;
}

AP_DECLARE(int) ap_some_authn_required(request_rec *r)
{
    int allowed = ap_run_access_checker(r) == OK;

    /* Access by address decides alone where one kind of control is enough and it allows, or where all must
     * allow and it does not. */
    if (allowed == (ap_satisfies(r) == SATISFY_ANY))
        return 0;
    return ap_run_access_checker_ex(r) == DECLINED;
}

AP_DECLARE(void) ap_note_auth_failure(request_rec *r)
{
    const char *type = ap_auth_type(r);

    if (type) {
        ap_run_note_auth_failure(r, type);
    } else {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00571) "need AuthType to note auth failure: %s", r->uri);
    }
}

static void auth_note_failure_as(request_rec *r, const char *wanted)
{
    const char *type = ap_auth_type(r);

    if (type && !ap_cstr_casecmp(type, wanted))
        ap_run_note_auth_failure(r, wanted);
    else
        ap_note_auth_failure(r);
}

AP_DECLARE(void) ap_note_basic_auth_failure(request_rec *r)
{
    auth_note_failure_as(r, "Basic");
}

AP_DECLARE(void) ap_note_digest_auth_failure(request_rec *r)
{
    auth_note_failure_as(r, "Digest");
}

static const char *auth_field(const request_rec *r)
{
    return apr_table_get(r->headers_in,
                         r->proxyreq == PROXYREQ_PROXY ? "Proxy-Authorization" : "Authorization");
}

/* The credentials of a Basic field, still encoded; NULL if it is of another scheme. */
static const char *auth_basic_part(const char *field)
{
    BRG_ASSERT(field != NULL);
    if (ap_cstr_casecmpn(field, "Basic", 5) || (field[5] && field[5] != ' ' && field[5] != '\t'))
        return NULL;
    for (field += 5; *field == ' ' || *field == '\t'; field++) {
    }
    return field;
}

AP_DECLARE(int) ap_get_basic_auth_pw(request_rec *r, const char **pw)
{
    const char *type = ap_auth_type(r), *field, *part, *decoded;

    if (!type || ap_cstr_casecmp(type, "Basic"))
        return DECLINED;
    if (!ap_auth_name(r)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(00572) "need AuthName: %s", r->uri);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    field = auth_field(r);
    part = field ? auth_basic_part(field) : NULL;
    if (!part) {
        if (field) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(00573) "client used wrong authentication scheme: %s", r->uri);
        }
        ap_note_auth_failure(r);
        return HTTP_UNAUTHORIZED;
    }
    decoded = ap_pbase64decode(r->pool, part);
    r->user = ap_getword_nulls(r->pool, &decoded, ':');
    apr_table_setn(r->notes, AP_GET_BASIC_AUTH_PW_NOTE, "1");
    r->ap_auth_type = (char *)"Basic";
    *pw = decoded;
    return OK;
}

AP_DECLARE(apr_status_t)
ap_get_basic_auth_components(const request_rec *r, const char **username, const char **password)
{
    const char *field = auth_field(r);
    const char *part = field ? auth_basic_part(field) : NULL;
    const char *decoded, *user;

    if (!part)
        return APR_EINVAL;
    decoded = ap_pbase64decode(r->pool, part);
    user = ap_getword_nulls(r->pool, &decoded, ':');
    if (username)
        *username = user;
    if (password)
        *password = decoded;
    return APR_SUCCESS;
}
