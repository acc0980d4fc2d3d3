/* SPDX-License-Identifier: Apache-2.0 */
/* Workers and balancers: made from URLs, found by URLs. */
#include "proxy_private.h"
#include "proxy_growth.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "apr_uri.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WORKER_HOST_SIZE 256
#define WORKER_SOCKET_SIZE 96
#define BALANCER_NAME_SIZE 96

int proxy_is_balancer(const char *url)
{
    return !strncasecmp(url, "balancer:", 9);
}

const char *proxy_split_socket(apr_pool_t *p, const char *url, const char **socket)
{
    const char *bar;

    *socket = NULL;
    if (strncasecmp(url, "unix:", 5) != 0 || !(bar = strchr(url, '|')))
        return url;
    *socket = ap_runtime_dir_relative(p, apr_pstrmemdup(p, url + 5, (apr_size_t)(bar - url - 5)));
    return *socket && strchr(bar + 1, ':') ? bar + 1 : NULL;
}

/* ---- names ---- */

/* @param end  of the authority. @return where ":PORT" begins that the scheme has anyway; @a end: it has none such */
static char *name_usual_port(const char *name, char *authority, char *end)
{
    char *colon = end;
    const int usual = proxy_scheme_port(proxy_scheme_of(name, strcspn(name, ":")));

    while (colon > authority && apr_isdigit(colon[-1]))
        colon--;
    return colon > authority && colon < end && colon[-1] == ':' && usual && atoi(colon) == usual
               ? colon - 1
               : end;
}

/* Scheme and authority in small letters, without a port that goes without saying; the rest as it is. */
static char *worker_name_of(apr_pool_t *p, const char *url)
{
    char *name = apr_pstrdup(p, url), *at = strstr(name, "://");
    char *end = at ? at + 3 + strcspn(at + 3, "/") : name + strlen(name), *port;

    for (char *c = name; c < end; c++)
        *c = (char)apr_tolower(*c);
    port = at ? name_usual_port(name, at + 3, end) : end;
    memmove(port, end, strlen(end) + 1);
    return name;
}

/* How much of a URL a name has to cover at least: all up to the path. */
static size_t url_authority_len(const char *url)
{
    const char *at = strstr(url, "://");

    return at ? (size_t)(at + 3 - url) + strcspn(at + 3, "/") : strlen(url);
}

/* A name of ProxyPassMatch: each $n stands for anything. */
static int name_matches_from(const char *url, const char *name)
{
    for (; *name; url++, name++) {
        if (*name == '$' && apr_isdigit(name[1])) {
            name += 2;
            if (!*name)
                return 1;
            for (; *url; url++)
                if (name_matches_from(url, name))
                    return 1;
            return 0;
        }
        if (*url != *name)
            return 0;
    }
    return 1;
}

static int socket_is(const proxy_worker *w, const char *socket)
{
    return w->socket && socket && !strcmp(w->socket, socket);
}

/* Of workers with the same name, the one for this very socket comes first; for a URL without a
 * socket, a worker without one. */
static int socket_rank(const proxy_worker *w, const char *socket)
{
    return !w->socket == !socket;
}

/* Is it a better match than the one so far? A URL without a socket leads to workers that have one, too. */
static int worker_fits(const proxy_worker *w, const char *url, size_t least, const char *socket,
                       const proxy_worker *best)
{
    const size_t len = strlen(w->name);

    if (w->socket && socket && !socket_is(w, socket))
        return 0;
    if (best && (strlen(best->name) > len || (strlen(best->name) == len &&
                                              socket_rank(best, socket) >= socket_rank(w, socket))))
        return 0;
    if (w->prefix_match)
        return name_matches_from(url, w->name);
    return len >= least && !strncmp(url, w->name, len);
}

proxy_worker *proxy_worker_find(const proxy_server_conf *conf, const proxy_balancer *balancer,
                                const char *url, const char *socket)
{
    return proxy_worker_longest(balancer ? proxy_members(balancer) : conf->workers, url,
                                url_authority_len(url), socket);
}

proxy_worker *proxy_worker_longest(const apr_array_header_t *from, const char *url, size_t least,
                                   const char *socket)
{
    proxy_worker *best = NULL;

    BRG_ASSERT(from && url);
    for (int i = 0; i < from->nelts; i++) {
        proxy_worker *w = APR_ARRAY_IDX(from, i, proxy_worker *);

        if (worker_fits(w, url, least, socket, best))
            best = w;
    }
    return best;
}

proxy_worker *proxy_worker_shared(const apr_array_header_t *workers, const char *url,
                                  const char *socket, apr_pool_t *p)
{
    const char *name = worker_name_of(p, url);
    const size_t least = url_authority_len(name);
    proxy_worker *best = NULL;
    size_t best_len = 0;

    for (int i = 0; i < workers->nelts; i++) {
        proxy_worker *w = APR_ARRAY_IDX(workers, i, proxy_worker *);
        const size_t len = strlen(w->name);

        if (len >= least && len > best_len && !strncmp(name, w->name, len) &&
            (socket ? socket_is(w, socket) : !w->socket)) {
            best = w;
            best_len = len;
        }
    }
    return best;
}

proxy_balancer *proxy_balancer_find(const proxy_server_conf *conf, const char *url)
{
    size_t len;

    if (!strstr(url, "://"))
        return NULL;
    len = url_authority_len(url);
    for (int i = 0; i < conf->balancers->nelts; i++) {
        proxy_balancer *b = APR_ARRAY_IDX(conf->balancers, i, proxy_balancer *);

        if (!strncasecmp(b->name, url, len) && !b->name[len])
            return b;
    }
    return NULL;
}

/* ---- made ---- */

static void worker_defaults(proxy_worker *w)
{
    proxy_params *to = &w->params;

    BRG_ASSERT(w->params.set == 0);
    to->retry = apr_time_from_sec(60);
    to->flush_wait = 10000;
    to->loadfactor = 100;
    to->route = to->redirect = "";
    to->check_uri = to->check_expr = "";
    to->check_interval = apr_time_from_sec(30);
    to->check_passes = to->check_fails = 1;
    to->no_reuse = w->scheme == PROXY_SCHEME_FCGI || w->scheme == PROXY_SCHEME_SCGI ||
                   w->scheme == PROXY_SCHEME_UWSGI;
}

/* A pattern's URL without its $n in the authority, which each request fills. */
static const char *worker_fixed(apr_pool_t *p, const char *url, int *host_open)
{
    char *fixed = apr_pstrdup(p, url), *to = fixed;
    const char *end = url + url_authority_len(url);

    *host_open = 0;
    for (; *url; url++)
        if (url < end && *url == '$' && apr_isdigit(url[1])) {
            *host_open = 1;
            url++;
        } else
            *to++ = *url;
    *to = '\0';
    return fixed;
}

static const char *worker_place(apr_pool_t *p, proxy_worker *w, const char *url, const char *given,
                                int host_open)
{
    apr_uri_t uri;
    const char *host;

    if (apr_uri_parse(p, url, &uri) != APR_SUCCESS)
        return apr_pstrcat(p, "Unable to parse URL: ", given, NULL);
    if (!uri.scheme || ((!uri.hostname || !*uri.hostname) && !w->socket && !host_open))
        return apr_pstrcat(p, "URL must be absolute!: ", given, NULL);
    host = uri.hostname && *uri.hostname ? uri.hostname : w->socket ? "localhost" : "";
    if (strlen(host) >= WORKER_HOST_SIZE)
        return apr_psprintf(p, "worker hostname (%s) too long", host);
    if (w->socket && strlen(w->socket) >= WORKER_SOCKET_SIZE)
        return apr_psprintf(p, "worker uds path (%s) too long", w->socket);
    w->scheme_name = apr_pstrdup(p, uri.scheme);
    ap_str_tolower((char *)w->scheme_name);
    w->scheme = proxy_scheme_of(w->scheme_name, strlen(w->scheme_name));
    w->host = apr_pstrdup(p, host);
    ap_str_tolower((char *)w->host);
    w->port = uri.port ? uri.port : w->socket && !uri.port_str ? 0 : proxy_scheme_port(w->scheme);
    w->prefix = uri.path ? uri.path : "";
    w->authority = proxy_authority(p, w->host, w->port, proxy_scheme_port(w->scheme));
    return NULL;
}

const char *proxy_worker_fill(apr_pool_t *p, proxy_worker *w, proxy_balancer *balancer,
                              const char *url, int flags)
{
    const char *name = proxy_split_socket(p, url, &w->socket), *error, *fixed;
    int host_open = 0;

    BRG_ASSERT(!balancer || !(flags & WORKER_MATCH));
    if (!name)
        return apr_pstrcat(p, "URL must be absolute!: ", url, NULL);
    fixed = flags & WORKER_MATCH ? worker_fixed(p, name, &host_open) : name;
    error = worker_place(p, w, fixed, name, host_open);
    if (error)
        return error;
    w->name = worker_name_of(p, name);
    w->prefix_match = (flags & WORKER_MATCH) && strchr(name, '$') != NULL;
    w->balancer = balancer;
    worker_defaults(w);
    if (!balancer)
        w->params.status |= PROXY_STATUS_IGNORE_ERRORS; /* no other can take its place */
    w->generic = host_open;                             /* each request names its own host */
    if (host_open)
        w->params.no_reuse = 1;
    return NULL;
}

const char *proxy_worker_define(apr_pool_t *p, proxy_worker **to, proxy_server_conf *conf,
                                proxy_balancer *balancer, const char *url, int flags)
{
    proxy_worker *w = apr_pcalloc(p, sizeof *w);
    const char *error;

    w->server = conf->server;
    if ((error = proxy_worker_fill(p, w, balancer, url, flags)) != NULL)
        return error;
    APR_ARRAY_PUSH(balancer ? balancer->members : conf->workers, proxy_worker *) = w;
    *to = w;
    return NULL;
}

const char *proxy_balancer_define(apr_pool_t *p, proxy_balancer **to, proxy_server_conf *conf,
                                  const char *url)
{
    proxy_balancer *b;
    char *name;

    if (!strstr(url, "://"))
        return apr_psprintf(p, "Bad syntax for a balancer name (%s)", url);
    name = apr_pstrmemdup(p, url, url_authority_len(url));
    ap_str_tolower(name);
    if (strlen(name) >= BALANCER_NAME_SIZE)
        return apr_psprintf(p, "balancer name (%s) too long", name);
    b = apr_pcalloc(p, sizeof *b);
    b->name = name;
    b->members = apr_array_make(p, 4, sizeof(proxy_worker *));
    b->fail_statuses = apr_array_make(p, 0, sizeof(int));
    b->server = conf->server;
    b->sticky = b->sticky_path = "";
    b->separator = '.';
    b->recovery = 1;
    APR_ARRAY_PUSH(conf->balancers, proxy_balancer *) = b;
    *to = b;
    return NULL;
}
