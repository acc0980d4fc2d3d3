/* SPDX-License-Identifier: Apache-2.0 */
/* TLS for requests: scheme, port, whether their host may be asked for over this handshake,
 * SSLRequireSSL, variables for programs. */
#include "tls_connection.h"
#include "tls_request_private.h"
#include "brigade/auth.h"
#include "brigade/response_cache.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_ssl.h"
#include "mod_auth.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

APLOG_USE_MODULE(ssl);

static const tls_dir_conf *request_conf(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &ssl_module);
}

static int request_is_tls(conn_rec *c)
{
    return tls_of(c) ? OK : DECLINED;
}

static const char *request_scheme(const request_rec *r)
{
    return tls_of(r->connection) || tls_conf_of(r->server)->enabled == 1 ? "https" : NULL;
}

static apr_port_t request_port(const request_rec *r)
{
    return tls_conf_of(r->server)->enabled == 1 ? 443 : 0;
}

/* ---- post_read_request ---- */

static int request_clear(request_rec *r)
{
    apr_table_setn(r->notes, "error-notes",
                   "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />\n "
                   "Instead use the HTTPS scheme to access this URL, please.<br />\n");
    apr_table_setn(r->notes, "verbose-error-to", "*");
    r->connection->keepalive = AP_CONN_CLOSE;
    return HTTP_BAD_REQUEST;
}

static int request_wrong_host(request_rec *r, const tls_conn *t)
{
    BRG_ASSERT(tls_server_of(t) != r->server);
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  APLOGNO(02032) "Hostname %s %s and hostname %s provided via HTTP have no "
                                 "compatible SSL setup for policy '%s': different %s",
                  tls_server_of(t)->server_hostname ? tls_server_of(t)->server_hostname : "",
                  tls_has_name(t) ? "provided via SNI" : "(default host as no SNI was provided)",
                  r->hostname ? r->hostname : "", tls_compat_policy(),
                  tls_compat_difference(tls_server_of(t), r->server, r->pool));
    return HTTP_MISDIRECTED_REQUEST;
}

static int request_read(request_rec *r)
{
    const tls_conn *t;

    if (r->prev) /* it was asked, and this may be the page of its refusal */
        return DECLINED;
    if (tls_is_misdirected(r->connection))
        return request_clear(r);
    if (!(t = tls_of(r->connection)))
        return DECLINED;
    if (!tls_has_name(t) && (tls_conf_of(tls_server_of(t))->strict_sni == 1 ||
                             tls_conf_of(r->server)->strict_sni == 1)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02033) "No hostname was provided via SNI for a name based virtual "
                                     "host");
        apr_table_setn(r->notes, "error-notes",
                       "Reason: The client software did not provide a hostname using Server Name "
                       "Indication (SNI), which is required to access this server.<br />\n");
        return HTTP_FORBIDDEN;
    }
    if (tls_server_of(t) != r->server &&
        tls_conf_of(tls_server_of(t))->compat != tls_conf_of(r->server)->compat)
        return request_wrong_host(r, t);
    return DECLINED;
}

/* ---- variables ---- */

static int request_fixups(request_rec *r)
{
    const tls_conn *t = tls_of(r->connection);
    const tls_dir_conf *dc = request_conf(r);
    const char *name;

    if (!t)
        return DECLINED;
    apr_table_setn(r->subprocess_env, "HTTPS", "on");
    name = SSL_get_servername(tls_ssl_of(t), TLSEXT_NAMETYPE_host_name);
    if (name)
        apr_table_set(r->subprocess_env, "SSL_TLS_SNI", name);
    if (dc->options & (TLS_OPT_STD_ENV | TLS_OPT_EXPORT_CERTS))
        tls_vars_export(r, r->subprocess_env, dc->options);
    return DECLINED;
}

/* ---- Require ssl, Require ssl-verify-client ---- */

static authz_status require_ssl(request_rec *r, const char *line, const void *parsed)
{
    return tls_of(r->connection) ? AUTHZ_GRANTED : AUTHZ_DENIED;
}

static const char *require_no_words(cmd_parms *cmd, const char *line, const void **parsed)
{
    return *line ? "'Require ssl' does not take arguments" : NULL;
}

static authz_status require_verified(request_rec *r, const char *line, const void *parsed)
{
    const tls_conn *t = tls_of(r->connection);
    X509 *x = t ? SSL_get0_peer_certificate(tls_ssl_of(t)) : NULL;

    return x && SSL_get_verify_result(tls_ssl_of(t)) == X509_V_OK ? AUTHZ_GRANTED : AUTHZ_DENIED;
}

static const authz_provider require_ssl_provider = {require_ssl, require_no_words};
static const authz_provider require_verified_provider = {require_verified, require_no_words};

/* ---- the response cache ---- */

/* A value of the connection's TLS counts for this connection alone. */
static int request_depends(request_rec *r)
{
    const tls_dir_conf *dc = request_conf(r);
    const tls_conn *t = tls_of(r->connection);

    if (t && tls_server_of(t) != r->server &&
        tls_conf_of(tls_server_of(t))->reach != tls_conf_of(r->server)->reach)
        return BRG_CACHE_VOLATILE; /* its clients are asked for more */
    if (ap_get_module_config(r->request_config, &ssl_module) || dc->user_name ||
        dc->verify != TLS_UNSET || dc->depth != TLS_UNSET || dc->ciphers || dc->requirements ||
        dc->options & (TLS_OPT_STD_ENV | TLS_OPT_EXPORT_CERTS | TLS_OPT_FAKE_BASIC))
        return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

static int request_awake; /* in this generation */

void tls_request_sleep(void)
{
    request_awake = 0;
}

/* Requests shall not pay for a module that their configuration does not use. */
void tls_request_needed(void)
{
    const char *before = apr_hook_debug_current;

    if (request_awake)
        return;
    request_awake = 1;
    apr_hook_debug_current = ssl_module.name;
    ap_hook_http_scheme(request_scheme, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_default_port(request_port, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_read_request(request_read, NULL, NULL, APR_HOOK_MIDDLE);
    tls_access_hooks();
    ap_hook_fixups(request_fixups, NULL, NULL, APR_HOOK_MIDDLE);
    apr_hook_debug_current = before;
    apr_hook_sort_all();
}

const char *tls_request_wake(cmd_parms *cmd, int clear_too)
{
    if (!request_awake && cmd->pool != cmd->server->process->pconf)
        return !clear_too
                   ? NULL
                   : apr_pstrcat(cmd->pool, cmd->cmd->name,
                                 ": the server's configuration has no directive of mod_ssl", NULL);
    tls_request_needed();
    return NULL;
}

void tls_request_hooks(void)
{
    apr_pool_t *p = apr_hook_global_pool;

    ap_hook_ssl_conn_is_ssl(request_is_tls, NULL, NULL, APR_HOOK_MIDDLE);
    ap_register_auth_provider(p, AUTHZ_PROVIDER_GROUP, "ssl", AUTHZ_PROVIDER_VERSION,
                              &require_ssl_provider, AP_AUTH_INTERNAL_PER_CONF);
    ap_register_auth_provider(p, AUTHZ_PROVIDER_GROUP, "ssl-verify-client", AUTHZ_PROVIDER_VERSION,
                              &require_verified_provider, AP_AUTH_INTERNAL_PER_CONF);
    brg_cache_declare(&ssl_module, request_depends);
    brg_auth_declare(&ssl_module);
}
