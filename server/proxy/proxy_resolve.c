/* SPDX-License-Identifier: Apache-2.0 */
/* The target of a request. */
#include "proxy_private.h"
#include "brigade/files.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_protocol.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy);

int proxy_error(request_rec *r, int status, const char *reason)
{
    const char *text = ap_escape_html(r->pool, reason);

    BRG_ASSERT(status >= 400);
    apr_table_setn(r->notes, "error-notes",
                   apr_pstrcat(r->pool,
                               "The proxy server could not handle the request<p>Reason: <strong>",
                               text, "</strong></p>", NULL));
    apr_table_setn(r->notes, "verbose-error-to", "*");
    r->status_line = apr_psprintf(r->pool, "%3.3u Proxy Error", (unsigned)status);
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(00898) "%s returned by %s", reason, r->uri);
    return status;
}

/* SetHandler proxy:... and its like name a scheme and a host; the file's path goes behind it. */
static int resolve_handler(request_rec *r, upstream_origin **origin)
{
    char *file = r->filename;
    int rv;

    BRG_ASSERT(!r->proxyreq && !strncmp(r->handler, "proxy:", 6));
    brg_file_remember(r);
    r->proxyreq = PROXYREQ_REVERSE;
    apr_table_setn(r->notes, "proxy-sethandler", "1");
    if (proxy_by_handler(r, origin))
        return OK;
    r->filename = apr_pstrcat(r->pool, r->handler, file, NULL);
    rv = proxy_fixup(r);
    if (rv != OK) {
        r->filename = file;
        r->proxyreq = PROXYREQ_NONE;
    }
    return rv == DECLINED ? HTTP_BAD_REQUEST : rv;
}

/* "host:port" of CONNECT. */
static int resolve_connect(request_rec *r, proxy_target *t)
{
    apr_port_t port = 0;
    char *host, *scope;

    BRG_ASSERT(t->forward);
    if (apr_parse_addr_port(&host, &scope, &port, t->url, r->pool) != APR_SUCCESS || !host || scope)
        return proxy_error(r, HTTP_BAD_REQUEST,
                           apr_pstrcat(r->pool, "URI cannot be parsed: ", t->url, NULL));
    t->scheme = PROXY_SCHEME_CONNECT;
    t->scheme_name = "connect";
    t->host = host;
    t->port = port;
    t->authority = t->path = t->url;
    t->dynamic = 1;
    if (!port || !proxy_connect_allows(r->server, port))
        return proxy_error(r, HTTP_FORBIDDEN, "Connect to remote machine blocked");
    return OK;
}

/* Scheme, host, port and path of the canonical URL. */
static int resolve_url(request_rec *r, proxy_target *t)
{
    const char *colon = strchr(t->url, ':'), *rest, *error;
    apr_port_t usual;

    BRG_ASSERT(strchr(t->url, ':') != NULL);
    t->scheme_name = apr_pstrmemdup(r->pool, t->url, (apr_size_t)(colon - t->url));
    t->scheme = proxy_scheme_of(t->scheme_name, strlen(t->scheme_name));
    if (t->scheme == PROXY_SCHEME_NONE || !proxy_scheme_is_served(t->scheme)) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                      APLOGNO(01144) "No protocol handler was valid for the URL %s (scheme '%s'). "
                                     "If you are using a "
                                     "DSO version of mod_proxy, make sure the proxy submodules are "
                                     "included in the "
                                     "configuration using LoadModule.",
                      r->uri, t->scheme_name);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    usual = t->port = proxy_scheme_port(t->scheme);
    rest = colon + 1;
    error = proxy_netloc(r->pool, &rest, &t->host, &t->port);
    if (error)
        return proxy_error(r, HTTP_BAD_REQUEST,
                           apr_pstrcat(r->pool, "URI cannot be parsed: ", t->url, NULL));
    t->authority = proxy_authority(r->pool, t->host, t->port, usual);
    t->path = *rest && rest[-1] == '/' ? rest - 1 : "/";
    return OK;
}

/* The same, by the data of a ProxyPass. @return 0: it was not resolved so */
static int resolve_place(request_rec *r, proxy_target *t)
{
    const proxy_place *place = proxy_place_resolved(r);

    if (!place || !proxy_scheme_is_served(place->scheme))
        return 0;
    t->scheme_name = place->scheme_name;
    t->scheme = place->scheme;
    t->host = place->host;
    t->port = place->port;
    t->authority = place->authority;
    t->path = r->filename + place->path_at;
    t->path_at = (unsigned)(place->path_at - strlen("proxy:"));
    return 1;
}

static void resolve_worker(request_rec *r, proxy_target *t)
{
    proxy_server_conf *conf = proxy_conf_of(r->server);

    BRG_ASSERT(t->scheme != PROXY_SCHEME_NONE && !t->worker);
    if (t->scheme == PROXY_SCHEME_BALANCER) {
        t->balancer = proxy_balancer_find(conf, t->url);
        return;
    }
    t->worker = t->path_at ? proxy_worker_longest(conf->workers, t->url, t->path_at, t->socket)
                           : proxy_worker_find(conf, NULL, t->url, t->socket);
    if (t->worker && t->worker->socket && !t->socket) {
        if (t->forward) /* no client chooses a socket */
            t->worker = NULL;
        else
            t->socket = t->worker->socket;
    }
    if (!t->worker) {
        t->worker = t->forward ? conf->forward : conf->reverse;
        t->dynamic = 1;
        if (!t->forward)
            apr_table_setn(r->subprocess_env, "proxy-nokeepalive", "1");
    } else if (t->worker->generic)
        t->dynamic = 1;
}

/* Worker or balancer, and proxies on the way. */
static int resolve_way(request_rec *r, proxy_target *t)
{
    int rv;

    if (t->scheme == PROXY_SCHEME_CONNECT)
        t->worker = proxy_conf_of(r->server)->forward;
    else
        resolve_worker(r, t);
    if (t->scheme == PROXY_SCHEME_BALANCER && !t->balancer)
        return proxy_error(r, HTTP_INTERNAL_SERVER_ERROR,
                           apr_pstrcat(r->pool, "No balancer is named ", t->url, NULL));
    if (!t->balancer && (rv = proxy_check_name(r, t->host)) != OK)
        return rv;
    if (!t->socket)
        proxy_find_remotes(r, t);
    return OK;
}

static int resolve_target(request_rec *r, proxy_target *t)
{
    int rv;

    if (resolve_place(r, t))
        return resolve_way(r, t);
    if (!strchr(t->url, ':')) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01141) "proxy_handler no URL in %s",
                      r->filename);
        return HTTP_BAD_REQUEST;
    }
    rv = t->forward && r->method_number == M_CONNECT ? resolve_connect(r, t) : resolve_url(r, t);
    if (rv != OK)
        return rv;
    return resolve_way(r, t);
}

/* ProxyDomain: names without a dot are sent back with the domain that users leave out. */
static int resolve_domain(request_rec *r, const char *domain)
{
    const char *host = r->parsed_uri.hostname, *to;

    if (!domain || r->proxyreq != PROXYREQ_PROXY || r->method_number == M_CONNECT || !host ||
        strpbrk(host, ".:") || !strcasecmp(host, "localhost"))
        return OK;
    r->parsed_uri.hostname = apr_pstrcat(r->pool, host, domain, NULL);
    to = apr_uri_unparse(r->pool, &r->parsed_uri, APR_URI_UNP_REVEALPASSWORD);
    r->parsed_uri.hostname = (char *)host;
    apr_table_setn(r->headers_out, "Location", to);
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, APLOGNO(01138) "Domain missing: %s sent to %s%s%s",
                  r->uri, to, "", "");
    return HTTP_MOVED_PERMANENTLY;
}

int proxy_resolve(request_rec *r, proxy_target **to)
{
    upstream_origin *origin = NULL;
    proxy_target *t;
    int rv;

    if (!r->filename)
        return DECLINED;
    if (!r->proxyreq) {
        if (!r->handler || strncmp(r->handler, "proxy:", 6) != 0 ||
            !strncmp(r->filename, "proxy:", 6))
            return DECLINED;
        rv = resolve_handler(r, &origin);
        if (rv != OK)
            return rv;
    }
    if (strncmp(r->filename, "proxy:", 6) != 0)
        return DECLINED;
    rv = resolve_domain(r, proxy_conf_of(r->server)->domain);
    if (rv != OK)
        return rv;
    *to = t = apr_pcalloc(r->pool, sizeof *t);
    t->url = r->filename + 6;
    t->origin = origin;
    t->forward = r->proxyreq == PROXYREQ_PROXY;
    t->socket = apr_table_get(r->notes, PROXY_SOCKET_NOTE);
    return resolve_target(r, t);
}
