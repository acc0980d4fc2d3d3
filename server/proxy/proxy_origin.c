/* SPDX-License-Identifier: Apache-2.0 */
/* From workers to origins. A worker of the configuration has one origin, whose connections loops keep. For a target without a
 * worker of its own an origin is made for the request. */
#include "proxy_origin.h"
#include "proxy_private.h"
#include "proxy_settings.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_log.h"
#if BRIGADE_TLS
#include "tls_client.h"
#endif

APLOG_USE_MODULE(proxy);

static void origin_settings(const proxy_worker *w, server_rec *s, upstream_settings *to)
{
    const proxy_server_settings *conf = proxy_settings_of(s);
    const proxy_params *p = &w->params;

    *to = (upstream_settings){
        .server = s,
        .host = w->host,
        .port = w->port,
        .path = w->socket,
        .max = p->set & PROXY_PARAM_MAX ? p->max : 0,
        .smax = p->smax,
        .ttl = p->ttl,
        .address_ttl = p->address_ttl,
        .receive_buffer = (int)(p->receive_buffer ? p->receive_buffer : conf->receive_buffer),
        .refuses = proxy_conf_of(s)->blocks->nelts ? proxy_blocks_address : NULL,
        .from = (apr_sockaddr_t *)(uintptr_t)conf->source,
        .alpn = w->scheme == PROXY_SCHEME_H2 ? "\2h2" : NULL,
        .reuse = !p->no_reuse,
        .shared = !p->no_reuse && (w->scheme == PROXY_SCHEME_H2 || w->scheme == PROXY_SCHEME_H2C),
        .keepalive = p->keepalive};
}

/* @return 0: the backend is spoken to over TLS, and its settings do not work */
static int origin_tls_of_worker(apr_pool_t *p, const proxy_worker *w, server_rec *s,
                                upstream_settings *to)
{
    if (!proxy_scheme_is_tls(w->scheme))
        return 1;
#if BRIGADE_TLS
    to->tls = tls_client_context_make(p, s, w->section);
#endif
    return to->tls != NULL;
}

static int origin_tls_of_request(request_rec *r, const proxy_target *target, upstream_settings *to)
{
    if (!proxy_scheme_is_tls(target->scheme))
        return 1;
#if BRIGADE_TLS
    to->tls = tls_client_context_of(r->server, r->per_dir_config);
#endif
    if (!to->tls) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01961) " failed to enable ssl support [Hint: if using mod_ssl, see "
                                     "SSLProxyEngine]");
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00961) "%s: failed to enable ssl support for %s:%u (%s)",
                      target->scheme_name, target->host, (unsigned)target->port, target->host);
    }
    return to->tls != NULL;
}

void proxy_origins_make(apr_pool_t *pconf, server_rec *s)
{
    for (int i = 0; i < proxy_workers(); i++) {
        proxy_worker *w = proxy_worker_get(i);
        upstream_settings settings;

        if (!w || w->generic || !w->host || (!w->port && !w->socket))
            continue;
        if (w->server && !w->section)
            proxy_section_find(w);
        origin_settings(w, w->server ? w->server : s, &settings);
        if (!origin_tls_of_worker(pconf, w, w->server ? w->server : s, &settings))
            continue; /* each request says why */
        w->origin = upstream_origin_make(pconf, &settings);
    }
}

/* First bytes for a proxy on the way to a backend of TLS. */
static const char *origin_tunnel(request_rec *r, const proxy_target *t)
{
    const char *credentials = t->remotes[0].credentials;

    BRG_ASSERT(t->remotes_n > 0 && t->host);
    return apr_psprintf(
        r->pool,
        strchr(t->host, ':') ? "CONNECT [%s]:%u HTTP/1.0\r\n%s%s%sProxy-agent: %s\r\n\r\n"
                             : "CONNECT %s:%u HTTP/1.0\r\n%s%s%sProxy-agent: %s\r\n\r\n",
        t->host, (unsigned)t->port, credentials ? "Proxy-Authorization: Basic " : "",
        credentials ? credentials : "", credentials ? "\r\n" : "", ap_get_server_banner());
}

/* Of one request: where its URL leads. */
static upstream_origin *origin_of_request(request_rec *r, const proxy_target *target)
{
    upstream_settings settings;

    BRG_ASSERT(target->worker != NULL);
    origin_settings(target->worker, r->server, &settings);
    settings.host = target->host;
    settings.port = target->port;
    settings.path = target->socket;
    settings.reuse = 0;
    if (target->remotes_n) { /* the first of them */
        settings.host = target->remotes[0].host;
        settings.port = target->remotes[0].port;
        settings.path = NULL;
        settings.refuses = NULL;
    }
    if (target->remotes_n && proxy_scheme_is_tls(target->scheme)) {
        settings.tunnel = origin_tunnel(r, target);
        settings.sni = target->host;
    }
    if (!origin_tls_of_request(r, target, &settings))
        return NULL;
    return upstream_origin_once(r->pool, &settings);
}

upstream_origin *proxy_origin_of_member(apr_pool_t *p, const proxy_worker *w)
{
    upstream_settings settings;

    BRG_ASSERT(w->server && w->host);
    origin_settings(w, w->server, &settings);
#if BRIGADE_TLS
    if (proxy_scheme_is_tls(w->scheme))
        settings.tls = tls_client_context_of(w->server, NULL);
#endif
    if (!w->port && !w->socket)
        return NULL;
    return settings.tls || !proxy_scheme_is_tls(w->scheme) ? upstream_origin_make(p, &settings)
                                                           : NULL;
}

upstream_origin *proxy_origin_of_handler(apr_pool_t *p, server_rec *s, const char *host,
                                         apr_port_t port, const char *socket)
{
    upstream_settings settings;

    BRG_ASSERT(proxy_conf_of(s)->reverse->generic);
    origin_settings(proxy_conf_of(s)->reverse, s, &settings);
    settings.host = host;
    settings.port = port;
    settings.path = socket;
    settings.reuse = 0;
    return upstream_origin_once(p, &settings);
}

upstream_origin *proxy_origin_of(request_rec *r, const proxy_target *target)
{
    /* <Proxy fcgi://localhost> has settings for SetHandler "proxy:unix:...|fcgi://localhost". */
    const int has_own_socket = target->socket && !target->worker->socket;

    if (target->worker->origin && !target->dynamic && !target->remotes_n && !has_own_socket)
        return target->worker->origin;
    if (target->origin && target->worker == proxy_conf_of(r->server)->reverse && !target->remotes_n)
        return target->origin;
    return origin_of_request(r, target);
}
