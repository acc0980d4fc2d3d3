/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Providers for Require that look at where a client comes from: ip, host, forward-dns and local.
 *
 * host and forward-dns ask the name service and so may wait, on the thread that serves the request,
 * as they do in Apache. The module is nevertheless declared non-blocking: ip and local, by far the
 * common ones, must not cost a change of thread.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "mod_auth.h"
#include "ap_expr.h"
#include "apr_network_io.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"
#include "host_match.h"

extern module AP_MODULE_DECLARE_DATA authz_host_module;
APLOG_USE_MODULE(authz_host);

static apr_ipsubnet_t *authz_host_loopback_v4;
#if APR_HAVE_IPV6
static apr_ipsubnet_t *authz_host_loopback_v6;
#endif

static const char *authz_host_subnet(cmd_parms *cmd, const char *word, apr_ipsubnet_t **net)
{
    char *address = apr_pstrdup(cmd->temp_pool, word), *mask = strchr(address, '/');
    apr_status_t rv;

    if (mask)
        *mask++ = '\0';
    rv = apr_ipsubnet_create(net, address, mask, cmd->pool);
    if (rv == APR_SUCCESS)
        return NULL;
    if (APR_STATUS_IS_EINVAL(rv))
        return apr_psprintf(cmd->pool, "ip address '%s' appears to be invalid", word);
    return apr_psprintf(cmd->pool, "ip address '%s' appears to be invalid: %pm", word, &rv);
}

/* The networks of Require ip. */
typedef struct authz_host_nets {
    apr_array_header_t *nets; /* of apr_ipsubnet_t * */
    int lasts;                /* as long as the configuration: not of an .htaccess file */
} authz_host_nets;

static const char *authz_host_ip_parse(cmd_parms *cmd, const char *line, const void **parsed)
{
    authz_host_nets *list = apr_palloc(cmd->pool, sizeof *list);
    const char *word, *err;

    list->nets = apr_array_make(cmd->pool, 4, sizeof(apr_ipsubnet_t *));
    list->lasts = cmd->pool != cmd->temp_pool;
    while (*(word = ap_getword_conf(cmd->temp_pool, &line))) {
        apr_ipsubnet_t *net;

        if ((err = authz_host_subnet(cmd, word, &net)))
            return err;
        APR_ARRAY_PUSH(list->nets, apr_ipsubnet_t *) = net;
    }
    if (!list->nets->nelts)
        return "'require ip' requires an argument";
    *parsed = list;
    return NULL;
}

/* 1 if the client is in one of the networks. A brg_cache_client_fn. */
static apr_int64_t authz_host_is_in(const void *data, apr_sockaddr_t *client)
{
    const apr_array_header_t *nets = ((const authz_host_nets *)data)->nets;

    for (int i = 0; i < nets->nelts; i++)
        if (apr_ipsubnet_test(APR_ARRAY_IDX(nets, i, apr_ipsubnet_t *), client))
            return 1;
    return 0;
}

static authz_status authz_host_ip_check(request_rec *r, const char *line, const void *parsed)
{
    const authz_host_nets *list = parsed;

    if (list->lasts)
        return brg_cache_vary_client(r, authz_host_is_in, list) ? AUTHZ_GRANTED : AUTHZ_DENIED;
    brg_cache_depends_on(r, NULL);
    return authz_host_is_in(list, r->useragent_addr) ? AUTHZ_GRANTED : AUTHZ_DENIED;
}

static const authz_provider authz_host_ip = {authz_host_ip_check, authz_host_ip_parse};

static const char *authz_host_expr_parse(cmd_parms *cmd, const char *line, const void **parsed)
{
    const char *err = NULL;
    ap_expr_info_t *expr = ap_expr_parse_cmd(cmd, line, AP_EXPR_FLAG_STRING_RESULT, &err, NULL);

    if (err)
        return apr_pstrcat(cmd->pool, "Cannot parse expression in require line: ", err, NULL);
    brg_phases_need_worker(); /* names are looked up */
    *parsed = expr;
    return NULL;
}

static authz_status authz_host_name_check(request_rec *r, const char *line, const void *parsed)
{
    const char *err = NULL, *names, *word, *hash;
    int is_ip = 0;
    const char *host = ap_get_useragent_host(r, REMOTE_DOUBLE_REV, &is_ip);

    if (!host || is_ip) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01753) "access check of '%s' to %s failed, reason: "
                                     "unable to get the remote host name",
                      line, r->uri);
        return AUTHZ_DENIED;
    }
    names = ap_expr_str_exec(r, parsed, &err);
    if (err) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02593) "authz_host authorize: require host: "
                                     "Can't evaluate require expression: %s",
                      err);
        return AUTHZ_DENIED;
    }
    if ((hash = ap_strchr_c(names, '#'))) {
        if (hash == names) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(10120) "authz_host authorize: dubious empty "
                                         "'Require host %s' with only comment",
                          names);
        } else {
            ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                          APLOGNO(10121) "authz_host authorize: ignoring comment in "
                                         "'Require host %s'",
                          names);
        }
        names = apr_pstrmemdup(r->pool, names, (apr_size_t)(hash - names));
    }
    while (*(word = ap_getword_conf(r->pool, &names)))
        if (host_match_domain(word, host))
            return AUTHZ_GRANTED;
    return AUTHZ_DENIED;
}

static const authz_provider authz_host_name = {authz_host_name_check, authz_host_expr_parse};

/* Does one of the addresses of @a name belong to the client? */
static int authz_host_resolves_to_client(request_rec *r, const char *name)
{
    apr_sockaddr_t *sa = NULL;
    apr_status_t rv = apr_sockaddr_info_get(&sa, name, APR_UNSPEC, 0, 0, r->pool);

    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r, APLOGNO(03356) "No sockaddr info for \"%s\"",
                      name);
        return 0;
    }
    for (; sa; sa = sa->next) {
        int same = apr_sockaddr_equal(sa, r->useragent_addr);

        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      APLOGNO(03355) "access check for %s as '%s': %s", r->useragent_ip, name,
                      same ? "yes" : "no");
        if (same)
            return 1;
    }
    return 0;
}

static authz_status authz_host_forward_check(request_rec *r, const char *line, const void *parsed)
{
    const char *err = NULL, *names = ap_expr_str_exec(r, parsed, &err), *word, *hash;

    if (err) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(03354) "authz_host authorize: require forward-dns: "
                                     "Can't evaluate require expression: %s",
                      err);
        return AUTHZ_DENIED;
    }
    if ((hash = ap_strchr_c(names, '#')))
        names = apr_pstrmemdup(r->pool, names, (apr_size_t)(hash - names));
    while (*(word = ap_getword_conf(r->pool, &names)))
        if (authz_host_resolves_to_client(r, word))
            return AUTHZ_GRANTED;
    return AUTHZ_DENIED;
}

static const authz_provider authz_host_forward = {authz_host_forward_check, authz_host_expr_parse};

/* Whether another client is the server itself depends on the address that it connected to. */
static apr_int64_t authz_host_local_kind(const void *unused, apr_sockaddr_t *client)
{
    if (apr_ipsubnet_test(authz_host_loopback_v4, client))
        return 1;
#if APR_HAVE_IPV6
    if (apr_ipsubnet_test(authz_host_loopback_v6, client))
        return 1;
#endif
    return -1;
}

static authz_status authz_host_local_check(request_rec *r, const char *line, const void *parsed)
{
    return brg_cache_vary_client(r, authz_host_local_kind, NULL) == 1 ||
                   apr_sockaddr_equal(r->connection->local_addr, r->useragent_addr)
               ? AUTHZ_GRANTED
               : AUTHZ_DENIED;
}

static const authz_provider authz_host_local = {authz_host_local_check, NULL};

static int authz_host_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    apr_status_t rv = apr_ipsubnet_create(&authz_host_loopback_v4, "127.0.0.0", "8", pconf);

#if APR_HAVE_IPV6
    if (rv == APR_SUCCESS)
        rv = apr_ipsubnet_create(&authz_host_loopback_v6, "::1", NULL, pconf);
#endif
    return rv == APR_SUCCESS ? OK : HTTP_INTERNAL_SERVER_ERROR;
}

static void authz_host_register(apr_pool_t *p, const char *name, const authz_provider *provider)
{
    ap_register_auth_provider(p, AUTHZ_PROVIDER_GROUP, name, AUTHZ_PROVIDER_VERSION, provider,
                              AP_AUTH_INTERNAL_PER_CONF);
}

static void authz_host_register_hooks(apr_pool_t *p)
{
    ap_hook_pre_config(authz_host_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    authz_host_register(p, "ip", &authz_host_ip);
    authz_host_register(p, "host", &authz_host_name);
    authz_host_register(p, "forward-dns", &authz_host_forward);
    authz_host_register(p, "local", &authz_host_local);
    ap_register_auth_provider(p, BRG_CACHE_AUTHZ_GROUP, "ip", "0", &authz_host_ip,
                              AP_AUTH_INTERNAL_PER_CONF);
    ap_register_auth_provider(p, BRG_CACHE_AUTHZ_GROUP, "local", "0", &authz_host_local,
                              AP_AUTH_INTERNAL_PER_CONF);
    /* The module hooks no phase: mod_authz_core answers for the providers that a request met. */
    brg_cache_declare(&authz_host_module, NULL);
}

module AP_MODULE_DECLARE_DATA authz_host_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, authz_host_register_hooks, 0,
};
