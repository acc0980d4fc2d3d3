/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions of the core and of modules about TLS. Modules of today answer by hooks; those of before
 * offered the optional functions of mod_ssl.h, which are asked after the hooks and, towards
 * callers, stand on top of both.
 */
#include "httpd.h"
#include "http_log.h"
#include "http_ssl.h"
#include "mod_ssl.h"
#include "apr_hooks.h"
#include "apr_optional.h"

APLOG_USE_MODULE(core);

APR_HOOK_STRUCT(APR_HOOK_LINK(ssl_conn_is_ssl) APR_HOOK_LINK(ssl_bind_outgoing)
                    APR_HOOK_LINK(ssl_var_lookup) APR_HOOK_LINK(ssl_add_cert_files)
                        APR_HOOK_LINK(ssl_add_fallback_cert_files)
                            APR_HOOK_LINK(ssl_answer_challenge) APR_HOOK_LINK(ssl_ocsp_prime_hook)
                                APR_HOOK_LINK(ssl_ocsp_get_resp_hook))

AP_IMPLEMENT_HOOK_RUN_FIRST(int, ssl_conn_is_ssl, (conn_rec * c), (c), DECLINED)
AP_IMPLEMENT_HOOK_RUN_ALL(int, ssl_bind_outgoing,
                          (conn_rec * c, ap_conf_vector_t *dir_conf, int require_ssl),
                          (c, dir_conf, require_ssl), OK, DECLINED)
AP_IMPLEMENT_HOOK_RUN_FIRST(const char *, ssl_var_lookup,
                            (apr_pool_t * p, server_rec *s, conn_rec *c, request_rec *r,
                             const char *name),
                            (p, s, c, r, name), NULL)
AP_IMPLEMENT_HOOK_RUN_ALL(int, ssl_add_cert_files,
                          (server_rec * s, apr_pool_t *p, apr_array_header_t *cert_files,
                           apr_array_header_t *key_files),
                          (s, p, cert_files, key_files), OK, DECLINED)
AP_IMPLEMENT_HOOK_RUN_ALL(int, ssl_add_fallback_cert_files,
                          (server_rec * s, apr_pool_t *p, apr_array_header_t *cert_files,
                           apr_array_header_t *key_files),
                          (s, p, cert_files, key_files), OK, DECLINED)
AP_IMPLEMENT_HOOK_RUN_FIRST(int, ssl_answer_challenge,
                            (conn_rec * c, const char *server_name, const char **pcert_pem,
                             const char **pkey_pem),
                            (c, server_name, pcert_pem, pkey_pem), DECLINED)
AP_IMPLEMENT_HOOK_RUN_FIRST(int, ssl_ocsp_prime_hook,
                            (server_rec * s, apr_pool_t *p, const char *id, apr_size_t id_len,
                             const char *pem),
                            (s, p, id, id_len, pem), DECLINED)
AP_IMPLEMENT_HOOK_RUN_FIRST(int, ssl_ocsp_get_resp_hook,
                            (server_rec * s, conn_rec *c, const char *id, apr_size_t id_len,
                             ap_ssl_ocsp_copy_resp *cb, void *userdata),
                            (s, c, id, id_len, cb, userdata), DECLINED)

/* The functions of an older TLS module, NULL if there is no such module. Set while the configuration is read. */
static APR_OPTIONAL_FN_TYPE(ssl_is_https) * ssl_old_is_https;
static APR_OPTIONAL_FN_TYPE(ssl_var_lookup) * ssl_old_var_lookup;
static APR_OPTIONAL_FN_TYPE(ssl_engine_set) * ssl_old_engine_set;
static APR_OPTIONAL_FN_TYPE(ssl_proxy_enable) * ssl_old_proxy_enable;
static APR_OPTIONAL_FN_TYPE(ssl_engine_disable) * ssl_old_engine_disable;

AP_DECLARE(int) ap_ssl_conn_is_ssl(conn_rec *c)
{
    if (ap_run_ssl_conn_is_ssl(c) == OK)
        return 1;
    return ssl_old_is_https && ssl_old_is_https(c);
}

static int ssl_old_bind_outgoing(conn_rec *c, ap_conf_vector_t *dir_conf, int require_ssl)
{
    if (ssl_old_engine_set)
        return ssl_old_engine_set(c, dir_conf, 1, require_ssl);
    if (require_ssl)
        return ssl_old_proxy_enable && ssl_old_proxy_enable(c);
    return !ssl_old_engine_disable || ssl_old_engine_disable(c);
}

/* As ap_run_ssl_bind_outgoing(), which does not tell whether any of them took it.
 * @return OK: one did; DECLINED: none; else the first error */
static int ssl_bind_by_hooks(conn_rec *c, ap_conf_vector_t *dir_conf, int require_ssl)
{
    const apr_array_header_t *hooks = ap_hook_get_ssl_bind_outgoing();
    int result = DECLINED;

    for (int i = 0; hooks && i < hooks->nelts; i++) {
        int rv =
            APR_ARRAY_IDX(hooks, i, ap_LINK_ssl_bind_outgoing_t).pFunc(c, dir_conf, require_ssl);

        if (rv != OK && rv != DECLINED)
            return rv;
        if (rv == OK)
            result = OK;
    }
    return result;
}

AP_DECLARE(int)
ap_ssl_bind_outgoing(conn_rec *c, struct ap_conf_vector_t *dir_conf, int require_ssl)
{
    int rv, enabled;

    c->outgoing = 1;
    rv = ssl_bind_by_hooks(c, dir_conf, require_ssl);
    if (rv != OK && rv != DECLINED)
        return rv;
    enabled = rv == OK;
    if (!enabled)
        enabled = ssl_old_bind_outgoing(c, dir_conf, require_ssl) && require_ssl;
    if (require_ssl && !enabled) {
        ap_log_cerror(APLOG_MARK, APLOG_ERR, 0, c,
                      APLOGNO(01961) " failed to enable ssl support [Hint: if using mod_ssl, see "
                                     "SSLProxyEngine]");
        return DECLINED;
    }
    return OK;
}

AP_DECLARE(int) ap_ssl_has_outgoing_handlers(void)
{
    return (_hooks.link_ssl_bind_outgoing && _hooks.link_ssl_bind_outgoing->nelts > 0) ||
           ssl_old_engine_set || ssl_old_proxy_enable;
}

AP_DECLARE(const char *)
ap_ssl_var_lookup(apr_pool_t *p, server_rec *s, conn_rec *c, request_rec *r, const char *name)
{
    const char *value = ap_run_ssl_var_lookup(p, s, c, r, name);

    if (!value && ssl_old_var_lookup)
        value = ssl_old_var_lookup(p, s, c, r, (char *)name);
    return value;
}

/* Hooks return OK, DECLINED or an error; callers of these functions get an apr_status_t. */
static apr_status_t ssl_status(int rv)
{
    return rv == OK || rv == DECLINED ? APR_SUCCESS : APR_EGENERAL;
}

AP_DECLARE(apr_status_t)
ap_ssl_add_cert_files(server_rec *s, apr_pool_t *p, apr_array_header_t *cert_files,
                      apr_array_header_t *key_files)
{
    return ssl_status(ap_run_ssl_add_cert_files(s, p, cert_files, key_files));
}

AP_DECLARE(apr_status_t)
ap_ssl_add_fallback_cert_files(server_rec *s, apr_pool_t *p, apr_array_header_t *cert_files,
                               apr_array_header_t *key_files)
{
    return ssl_status(ap_run_ssl_add_fallback_cert_files(s, p, cert_files, key_files));
}

AP_DECLARE(int)
ap_ssl_answer_challenge(conn_rec *c, const char *server_name, const char **pcert_pem,
                        const char **pkey_pem)
{
    return ap_run_ssl_answer_challenge(c, server_name, pcert_pem, pkey_pem) == OK;
}

AP_DECLARE(apr_status_t)
ap_ssl_ocsp_prime(server_rec *s, apr_pool_t *p, const char *id, apr_size_t id_len, const char *pem)
{
    return ap_run_ssl_ocsp_prime_hook(s, p, id, id_len, pem) == OK ? APR_SUCCESS : APR_ENOENT;
}

AP_DECLARE(apr_status_t)
ap_ssl_ocsp_get_resp(server_rec *s, conn_rec *c, const char *id, apr_size_t id_len,
                     ap_ssl_ocsp_copy_resp *cb, void *userdata)
{
    return ap_run_ssl_ocsp_get_resp_hook(s, c, id, id_len, cb, userdata) == OK ? APR_SUCCESS
                                                                               : APR_ENOENT;
}

/* The optional functions that callers get from now on. */
static int ssl_is_https(conn_rec *c)
{
    return ap_ssl_conn_is_ssl(c);
}

static char *ssl_var_lookup(apr_pool_t *p, server_rec *s, conn_rec *c, request_rec *r, char *name)
{
    return (char *)ap_ssl_var_lookup(p, s, c, r, name);
}

AP_DECLARE(void) ap_setup_ssl_optional_fns(apr_pool_t *pool)
{
    APR_OPTIONAL_FN_TYPE(ssl_is_https) *is_https = APR_RETRIEVE_OPTIONAL_FN(ssl_is_https);
    APR_OPTIONAL_FN_TYPE(ssl_var_lookup) *lookup = APR_RETRIEVE_OPTIONAL_FN(ssl_var_lookup);

    ssl_old_is_https = is_https == ssl_is_https ? NULL : is_https;
    ssl_old_var_lookup = lookup == ssl_var_lookup ? NULL : lookup;
    ssl_old_engine_set = APR_RETRIEVE_OPTIONAL_FN(ssl_engine_set);
    ssl_old_proxy_enable = APR_RETRIEVE_OPTIONAL_FN(ssl_proxy_enable);
    ssl_old_engine_disable = APR_RETRIEVE_OPTIONAL_FN(ssl_engine_disable);
    APR_REGISTER_OPTIONAL_FN(ssl_is_https);
    APR_REGISTER_OPTIONAL_FN(ssl_var_lookup);
}
