/* SPDX-License-Identifier: Apache-2.0 */
/* ProxyPassReverse and its forms for cookies: names of the backend in its answers become names of this server. */
#include "proxy_private.h"
#include "proxy_growth.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_protocol.h"
#include <string.h>
#include <strings.h>

static const apr_array_header_t *reverse_list(request_rec *r, const apr_array_header_t *list)
{
    apr_array_header_t *to;

    if (proxy_dir_of(r)->interpolate != 1)
        return list;
    to = apr_array_copy(r->pool, list);
    for (int i = 0; i < to->nelts; i++) {
        proxy_reverse *e = &APR_ARRAY_IDX(to, i, proxy_reverse);

        if (!e->interpolate)
            continue;
        e->fake = proxy_interpolate(r, e->fake);
        e->real = proxy_interpolate(r, e->real);
    }
    return to;
}

const apr_array_header_t *proxy_reverses(request_rec *r)
{
    BRG_ASSERT(r->per_dir_config != NULL);
    return reverse_list(r, proxy_dir_of(r)->reverses);
}

/* ---- Location and its like ---- */

static const char *reverse_full(request_rec *r, const char *path, const char *rest)
{
    const char *url =
        *path == '/' && *rest == '/' && !path[1] ? rest : apr_pstrcat(r->pool, path, rest, NULL);

    return *url == '/' ? ap_construct_url(r->pool, url, r) : url;
}

/* "balancer://name/path" stands for each of its members. */
static size_t reverse_of_balancer(request_rec *r, const char *real, const char *value)
{
    const proxy_balancer *b = proxy_balancer_find(proxy_conf_of(r->server), real);
    const char *path = strchr(real + 11, '/');
    const size_t extra = path && path[1] ? strlen(path) : 0;

    for (int i = 0; b && i < proxy_members(b)->nelts; i++) {
        const proxy_worker *w = APR_ARRAY_IDX(proxy_members(b), i, proxy_worker *);
        const size_t len = strlen(w->name);

        if (!strncasecmp(value, w->name, len) && (!extra || !strncmp(value + len, path, extra)))
            return len + extra;
    }
    return 0;
}

static const char *reverse_one(request_rec *r, const proxy_reverse *e, const char *value)
{
    const size_t len = strlen(e->real);
    size_t covered;

    if (!strncasecmp(e->real, "balancer://", 11)) {
        covered = reverse_of_balancer(r, e->real, value);
        return covered ? reverse_full(r, e->fake, value + covered) : NULL;
    }
    if (strncasecmp(value, e->real, len) != 0)
        return NULL;
    return reverse_full(r, e->fake, value + len);
}

const char *proxy_reverse_url(request_rec *r, const proxy_target *target, const char *value)
{
    const apr_array_header_t *list = proxy_reverses(r);

    (void)target;
    if (r->proxyreq != PROXYREQ_REVERSE)
        return value;
    for (int i = 0; i < list->nelts; i++) {
        const char *to = reverse_one(r, &APR_ARRAY_IDX(list, i, proxy_reverse), value);

        if (to)
            return to;
    }
    return value;
}

/* ---- Set-Cookie ---- */

/* An attribute's value within a cookie. @return its first byte, len is set; NULL: there is none */
static const char *cookie_attribute(const char *cookie, const char *name, size_t *len)
{
    const size_t n = strlen(name);

    for (const char *at = strchr(cookie, ';'); at; at = strchr(at, ';')) {
        at++;
        while (apr_isspace(*at))
            at++;
        if (strncasecmp(at, name, n) != 0 || at[n] != '=')
            continue;
        *len = strcspn(at + n + 1, ";");
        return at + n + 1;
    }
    return NULL;
}

static const char *cookie_replace(request_rec *r, const char *cookie, const char *at, size_t len,
                                  const char *to)
{
    BRG_ASSERT(at >= cookie && strlen(at) >= len);
    return apr_pstrcat(r->pool, apr_pstrmemdup(r->pool, cookie, (apr_size_t)(at - cookie)), to,
                       at + len, NULL);
}

static const char *cookie_path(request_rec *r, const char *cookie)
{
    const apr_array_header_t *list = reverse_list(r, proxy_dir_of(r)->cookie_paths);
    size_t len;
    const char *path = list->nelts ? cookie_attribute(cookie, "path", &len) : NULL;

    for (int i = 0; path && i < list->nelts; i++) {
        const proxy_reverse *e = &APR_ARRAY_IDX(list, i, proxy_reverse);
        const size_t n = strlen(e->real);

        if (n <= len && !strncmp(path, e->real, n))
            return cookie_replace(r, cookie, path, len,
                                  e->fake); /* what follows is left out, too */
    }
    return cookie;
}

static const char *cookie_domain(request_rec *r, const char *cookie)
{
    const apr_array_header_t *list = reverse_list(r, proxy_dir_of(r)->cookie_domains);
    size_t len;
    const char *domain = list->nelts ? cookie_attribute(cookie, "domain", &len) : NULL;

    for (int i = 0; domain && i < list->nelts; i++) {
        const proxy_reverse *e = &APR_ARRAY_IDX(list, i, proxy_reverse);

        if (strlen(e->real) == len && !strncasecmp(domain, e->real, len))
            return cookie_replace(r, cookie, domain, len, e->fake);
    }
    return cookie;
}

const char *proxy_reverse_cookie(request_rec *r, const char *value)
{
    return r->proxyreq == PROXYREQ_REVERSE ? cookie_domain(r, cookie_path(r, value)) : value;
}
