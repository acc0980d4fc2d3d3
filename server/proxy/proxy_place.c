/* SPDX-License-Identifier: Apache-2.0 */
/* Where a ProxyPass leads whatever the rest of the path: its URL in canonical form, and in parts,
 * worked out once. It holds for a request as long as r->filename is the string that ProxyPass put
 * there, and then its canonical form. */
#include "proxy_private.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

/* 1: the path behind the URL is all that requests add: no pattern, no variable, no form of its own. */
static int place_is_plain(const proxy_alias *alias)
{
    return !alias->regex && !alias->flags && !strpbrk(alias->real, "%?#$ ");
}

const proxy_place *proxy_place_make(apr_pool_t *p, const proxy_alias *alias)
{
    const char *colon = strchr(alias->real, ':'), *rest, *path;
    proxy_place *place;

    if (!colon || !place_is_plain(alias))
        return NULL;
    place = apr_pcalloc(p, sizeof *place);
    place->scheme_name = apr_pstrmemdup(p, alias->real, (apr_size_t)(colon - alias->real));
    place->scheme = proxy_scheme_of(place->scheme_name, strlen(place->scheme_name));
    place->port = proxy_scheme_port(place->scheme);
    rest = colon + 1;
    if ((place->scheme != PROXY_SCHEME_HTTP && place->scheme != PROXY_SCHEME_HTTPS) ||
        proxy_netloc(p, &rest, &place->host, &place->port) || rest[-1] != '/' ||
        !(path = proxy_encode_path(p, rest, 0)))
        return NULL;
    place->scheme_name = place->scheme == PROXY_SCHEME_HTTP ? "http" : "https";
    place->authority =
        proxy_authority(p, place->host, place->port, proxy_scheme_port(place->scheme));
    place->start =
        apr_pstrcat(p, "proxy:", place->scheme_name, "://", place->authority, "/", path, NULL);
    place->start_len = strlen(place->start);
    place->path_at = place->start_len - strlen(path) - 1;
    place->real = alias->real;
    place->real_len = strlen("proxy:") + strlen(alias->real);
    return place;
}

/* ---- of requests ---- */

proxy_request *proxy_request_of(request_rec *r)
{
    proxy_request *pr = ap_get_module_config(r->request_config, &proxy_module);

    if (!pr) {
        pr = apr_pcalloc(r->pool, sizeof *pr);
        ap_set_module_config(r->request_config, &proxy_module, pr);
    }
    return pr;
}

void proxy_place_mapped(request_rec *r, const proxy_alias *alias, size_t covered)
{
    proxy_request *pr = proxy_request_of(r);

    pr->alias = alias;
    pr->covered = covered;
    if (alias->place) {
        pr->place = alias->place;
        pr->mapped = r->filename;
    }
}

/* Of the URL of a ProxyPass; "": it has none. */
static const char *place_path(const char *real)
{
    const char *host = strstr(real, "://"), *slash = host ? strchr(host + 3, '/') : NULL;

    return slash ? slash : "";
}

size_t proxy_place_prefix(const request_rec *r, const char *path)
{
    const proxy_request *pr = ap_get_module_config(r->request_config, &proxy_module);
    const char *start, *rest;
    size_t start_len, rest_len;

    if (!pr || !pr->alias || !pr->covered || !place_is_plain(pr->alias))
        return 0;
    BRG_ASSERT(pr->covered <= strlen(r->uri));
    start = place_path(pr->alias->real);
    start_len = strlen(start);
    rest = r->uri + pr->covered;
    rest_len = strlen(rest);
    if (strncmp(path, start, start_len) != 0 || strncmp(path + start_len, rest, rest_len) != 0 ||
        (path[start_len + rest_len] && path[start_len + rest_len] != '?'))
        return 0;
    path += start_len;
    if (*rest == '/') {
        rest++;
        path++;
    } else if (!start_len || path[-1] != '/') {
        return 0;
    }
    return *rest && rest[-1] == '/' ? (size_t)(rest - r->uri) : 0;
}

const proxy_place *proxy_place_of(const request_rec *r, const char **rest)
{
    const proxy_request *pr = ap_get_module_config(r->request_config, &proxy_module);

    if (!pr || !pr->mapped || pr->mapped != r->filename || r->proxyreq != PROXYREQ_REVERSE ||
        strncmp(r->filename + strlen("proxy:"), pr->place->real,
                pr->place->real_len - strlen("proxy:")) != 0)
        return NULL;
    *rest = r->filename + pr->place->real_len;
    return pr->place;
}

void proxy_place_canonical(request_rec *r)
{
    proxy_request *pr = proxy_request_of(r);

    pr->canonical = r->filename;
    pr->mapped = NULL;
}

const proxy_place *proxy_place_resolved(const request_rec *r)
{
    const proxy_request *pr = ap_get_module_config(r->request_config, &proxy_module);

    return pr && pr->canonical && pr->canonical == r->filename && r->proxyreq == PROXYREQ_REVERSE &&
                   !strncmp(r->filename, pr->place->start, pr->place->start_len)
               ? pr->place
               : NULL;
}
