/* SPDX-License-Identifier: Apache-2.0 */
/* TLS for the connections of mod_proxy and others, and checks before the server starts. */
#include "tls_client.h"
#include "tls_proxy_filter_private.h"
#include "http_log.h"
#include "http_ssl.h"
#include "mod_proxy.h"
#include "mod_ssl.h"
#include "apr_optional.h"
#include "apr_optional_hooks.h"

APLOG_USE_MODULE(ssl);

/* ---- connections ---- */

static int proxy_bind(conn_rec *c, ap_conf_vector_t *dir, int enable)
{
    const tls_proxy_conf *conf = tls_proxy_conf_of(dir ? dir : c->base_server->lookup_defaults);

    if (enable && tls_proxy_ssl(c))
        return OK; /* a kept connection, which has its settings already */
    if (!enable || !tls_proxy_is_on(conf))
        return DECLINED;
    c->outgoing = 1;
    return tls_proxy_begin(c, conf) ? DECLINED : OK;
}

static int proxy_is_tls(conn_rec *c)
{
    return tls_proxy_ssl(c) ? OK : DECLINED;
}

/* Functions of mod_ssl.h, for modules that know nothing newer. */
static int ssl_engine_set(conn_rec *c, ap_conf_vector_t *dir, int proxy, int enable)
{
    if (enable)
        return proxy && proxy_bind(c, dir, 1) == OK;
    tls_proxy_end(c);
    return 1;
}

static int ssl_proxy_enable(conn_rec *c)
{
    return ssl_engine_set(c, NULL, 1, 1);
}

static int ssl_engine_disable(conn_rec *c)
{
    return ssl_engine_set(c, NULL, 0, 0);
}

/* ---- before the start ---- */

static apr_status_t proxy_forget(void *p)
{
    tls_proxy_contexts_forget(p);
    return APR_SUCCESS;
}

/* The configuration that is served is left as it is. */
static int proxy_check_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    for (; s; s = s->next) {
        const tls_proxy_conf *conf = tls_proxy_conf_of(s->lookup_defaults);

        if (tls_proxy_is_on(conf) && tls_proxy_context_try(conf, s))
            return HTTP_INTERNAL_SERVER_ERROR;
    }
    return OK;
}

static int proxy_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    tls_proxy_contexts_begin(p);
    apr_pool_cleanup_register(p, p, proxy_forget, apr_pool_cleanup_null);
    for (; s; s = s->next) {
        const tls_proxy_conf *conf = tls_proxy_conf_of(s->lookup_defaults);

        if (tls_proxy_is_on(conf) && !tls_client_context_make(p, s, NULL))
            return HTTP_INTERNAL_SERVER_ERROR;
    }
    return OK;
}

static int proxy_section(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s,
                         ap_conf_vector_t *section)
{
    const tls_dir_conf *dc = tls_proxy_section(p, s, section);

    if (dc && tls_proxy_is_on(dc->proxy) && !tls_client_context_make(p, s, section))
        return HTTP_INTERNAL_SERVER_ERROR;
    return OK;
}

void tls_proxy_hooks(void)
{
    tls_proxy_filters();
    ap_hook_ssl_bind_outgoing(proxy_bind, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_ssl_conn_is_ssl(proxy_is_tls, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(proxy_check_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(proxy_post_config, NULL, NULL, APR_HOOK_FIRST);
    APR_OPTIONAL_HOOK(proxy, section_post_config, proxy_section, NULL, NULL, APR_HOOK_MIDDLE);
    APR_REGISTER_OPTIONAL_FN(ssl_engine_set);
    APR_REGISTER_OPTIONAL_FN(ssl_proxy_enable);
    APR_REGISTER_OPTIONAL_FN(ssl_engine_disable);
}
