/* SPDX-License-Identifier: Apache-2.0 */
/* Access by properties of a connection's TLS: SSLRequireSSL, SSLRequire, client certificates and
 * ciphers of directories, SSLUserName, FakeBasicAuth, StrictRequire. */
#include "tls_renegotiate.h"
#include "tls_connection.h"
#include "tls_request_private.h"
#include "conn.h"
#include "brigade/assert.h"
#include "brigade/files.h"
#include "brigade/response_cache.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_ssl.h"
#include "mod_auth.h"
#include "apr_strings.h"
#include <openssl/x509.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

static const char access_forbidden[] = "ssl-access-forbidden";

static const tls_dir_conf *access_conf(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &ssl_module);
}

static int access_refused(request_rec *r)
{
    apr_table_setn(r->notes, access_forbidden, "1");
    return HTTP_FORBIDDEN;
}

/* ---- more than the handshake asked for ---- */

/* The first request that an .htaccess file asks more of is on an event loop still. */
static int access_place(request_rec *r)
{
    tls_wish wish;

    if (r->main || r->prev || !conn_on_loop() || !tls_wish_of(r, access_conf(r), &wish))
        return DECLINED;
    return r->connection->master ? DECLINED : BRG_WOULD_WAIT;
}

/* ---- SSLRequire ---- */

static int access_requirements(request_rec *r, const tls_dir_conf *dc)
{
    if (r->main && dc->requirements && dc->requirements->nelts)
        brg_cache_part_is_guarded(r);
    for (int i = 0; dc->requirements && i < dc->requirements->nelts; i++) {
        const tls_requirement *q = &APR_ARRAY_IDX(dc->requirements, i, tls_requirement);
        const char *error = NULL;
        int rc = ap_expr_exec(r, q->expr, &error);
        BRG_ASSERT(q->expr && q->text);

        if (rc > 0)
            continue;
        if (rc < 0)
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(02265) "access to %s failed, reason: Failed to execute SSL "
                                         "requirement expression: %s",
                          r->filename, error);
        else
            ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                          APLOGNO(02266) "Access to %s denied for %s (requirement expression not "
                                         "fulfilled): %s",
                          r->filename, r->useragent_ip, q->text);
        return access_refused(r);
    }
    return OK;
}

/* ---- the user ---- */

static void access_user(request_rec *r, const tls_dir_conf *dc)
{
    const char *user;

    if (!dc->user_name)
        return;
    user = ap_ssl_var_lookup(r->pool, r->server, r->connection, r, dc->user_name);
    if (user && *user)
        r->user = apr_pstrdup(r->pool, user);
    else if (!r->main)
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                      APLOGNO(02227) "Failed to set r->user to '%s'", dc->user_name);
}

static int access_check(request_rec *r)
{
    const tls_dir_conf *dc = access_conf(r);
    const tls_conn *t = tls_of(r->connection);
    tls_wish wish;
    int status;

    if (!t && dc->require_ssl) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(02219) "access to %s failed, reason: %s",
                      r->filename, "SSL connection required");
        return access_refused(r);
    }
    if (!t)
        return DECLINED;
    if (tls_wish_of(r, dc, &wish) && (status = tls_renegotiate(r, dc, &wish)) != OK)
        return status;
    access_user(r, dc);
    status = access_requirements(r, dc);
    return status == OK ? DECLINED : status;
}

/* With StrictRequire a user's name does not help (Satisfy any). */
static int access_strict(request_rec *r)
{
    return access_conf(r)->options & TLS_OPT_STRICT_REQUIRE &&
                   apr_table_get(r->notes, access_forbidden)
               ? HTTP_FORBIDDEN
               : DECLINED;
}

/* ---- SSLOptions +FakeBasicAuth ---- */

static const char fake_password[] = "password"; /* the manual names it */

/* A client that sends such a name by itself. */
static int fake_spoofed(request_rec *r)
{
    const char *line = apr_table_get(r->headers_in, "Authorization"), *text, *name;

    if (!line || ap_cstr_casecmp(ap_getword(r->pool, &line, ' '), "Basic"))
        return 0;
    while (*line == ' ' || *line == '\t')
        line++;
    text = ap_pbase64decode(r->pool, line);
    name = ap_getword_nulls(r->pool, &text, ':');
    if (*name != '/' || strcmp(text, fake_password) != 0)
        return 0;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(02035) "Encountered FakeBasicAuth spoof: %s",
                  name);
    return 1;
}

static const char *fake_name(request_rec *r, const X509 *x)
{
    char *line = X509_NAME_oneline(X509_get_subject_name(x), NULL, 0);
    const char *name = line ? apr_pstrdup(r->pool, line) : NULL;

    OPENSSL_free(line);
    return name;
}

static int access_fake_basic(request_rec *r)
{
    const tls_conn *t;
    const char *name, *line;
    X509 *x;

    if (access_strict(r) != DECLINED)
        return HTTP_FORBIDDEN;
    if (!(access_conf(r)->options & TLS_OPT_FAKE_BASIC) || !ap_is_initial_req(r))
        return DECLINED;
    brg_cache_each_time(r);
    if (fake_spoofed(r))
        return HTTP_FORBIDDEN;
    t = tls_of(r->connection);
    x = t ? SSL_get0_peer_certificate(tls_ssl_of(t)) : NULL;
    if (r->user || !x || !(name = fake_name(r, x)))
        return DECLINED;
    line = apr_pstrcat(r->pool, name, ":", fake_password, NULL);
    line = apr_pstrcat(r->pool, "Basic ", ap_pbase64encode(r->pool, (char *)(uintptr_t)line), NULL);
    apr_table_setn(r->headers_in, "Authorization", line);
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  APLOGNO(02036) "Faking HTTP Basic Auth header: \"Authorization: %s\"", line);
    return DECLINED;
}

void tls_access_hooks(void)
{
    ap_hook_post_perdir_config(access_place, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_check_access(access_check, NULL, NULL, APR_HOOK_MIDDLE, AP_AUTH_INTERNAL_PER_CONF);
    ap_hook_check_authn(access_fake_basic, NULL, NULL, APR_HOOK_FIRST, AP_AUTH_INTERNAL_PER_CONF);
    ap_hook_check_authz(access_strict, NULL, NULL, APR_HOOK_MIDDLE, AP_AUTH_INTERNAL_PER_CONF);
}
