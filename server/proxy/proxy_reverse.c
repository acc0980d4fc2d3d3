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

proxy_reversal proxy_reversal_of(request_rec *r)
{
    const proxy_dir_conf *d = proxy_dir_of(r);

    return (proxy_reversal){.conf = proxy_conf_of(r->server),
                            .base = d->reverses->nelts ? ap_construct_url(r->pool, "", r) : "",
                            .list = {proxy_reverses(r), reverse_list(r, d->cookie_paths),
                                     reverse_list(r, d->cookie_domains)}};
}

/* ---- copies ---- */

size_t proxy_reversal_bytes(const proxy_reversal *v)
{
    size_t n = strlen(v->base) + 1;

    for (int k = 0; k < PROXY_REVERSALS; k++)
        for (int i = 0; i < v->list[k]->nelts; i++) {
            const proxy_reverse *e = &APR_ARRAY_IDX(v->list[k], i, proxy_reverse);

            n += sizeof *e + strlen(e->fake) + strlen(e->real) + 2;
        }
    return n + sizeof(apr_array_header_t) * PROXY_REVERSALS;
}

static const char *copy_text(char **to, const char *text)
{
    char *at = *to;

    *to = stpcpy(at, text) + 1;
    return at;
}

void proxy_reversal_copy(proxy_reversal *v, void *at)
{
    apr_array_header_t *list = at;
    proxy_reverse *e = (proxy_reverse *)(void *)(list + PROXY_REVERSALS);
    int n = 0;
    char *text;

    for (int k = 0; k < PROXY_REVERSALS; k++)
        n += v->list[k]->nelts;
    text = (char *)(e + n);
    v->base = copy_text(&text, v->base);
    for (int k = 0; k < PROXY_REVERSALS; k++) {
        const apr_array_header_t *from = v->list[k];

        list[k] = (apr_array_header_t){
            .elt_size = sizeof *e, .nelts = from->nelts, .nalloc = from->nelts, .elts = (char *)e};
        v->list[k] = &list[k];
        for (int i = 0; i < from->nelts; i++, e++) {
            e->fake = copy_text(&text, APR_ARRAY_IDX(from, i, proxy_reverse).fake);
            e->real = copy_text(&text, APR_ARRAY_IDX(from, i, proxy_reverse).real);
        }
    }
}

/* ---- Location and its like ---- */

static const char *reverse_full(const proxy_reversal *v, apr_pool_t *p, const char *path,
                                const char *rest)
{
    const char *url =
        *path == '/' && *rest == '/' && !path[1] ? rest : apr_pstrcat(p, path, rest, NULL);

    return *url == '/' ? apr_pstrcat(p, v->base, url, NULL) : url;
}

/* "balancer://name/path" stands for each of its members. */
static size_t reverse_of_balancer(const proxy_reversal *v, const char *real, const char *value)
{
    const proxy_balancer *b = proxy_balancer_find(v->conf, real);
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

static const char *reverse_one(const proxy_reversal *v, apr_pool_t *p, const proxy_reverse *e,
                               const char *value)
{
    const size_t len = strlen(e->real);
    size_t covered;

    if (!strncasecmp(e->real, "balancer://", 11)) {
        covered = reverse_of_balancer(v, e->real, value);
        return covered ? reverse_full(v, p, e->fake, value + covered) : NULL;
    }
    if (strncasecmp(value, e->real, len) != 0)
        return NULL;
    return reverse_full(v, p, e->fake, value + len);
}

const char *proxy_reverse_url(const proxy_reversal *v, apr_pool_t *p, const char *value)
{
    const apr_array_header_t *list = v->list[PROXY_REVERSES_URLS];

    for (int i = 0; i < list->nelts; i++) {
        const char *to = reverse_one(v, p, &APR_ARRAY_IDX(list, i, proxy_reverse), value);

        if (to)
            return to;
    }
    return value;
}

/* ---- Set-Cookie ---- */

/* An attribute's value within a cookie. @return its first byte, len is set; NULL: not in it */
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

static const char *cookie_replace(apr_pool_t *p, const char *cookie, const char *at, size_t len,
                                  const char *to)
{
    BRG_ASSERT(at >= cookie && strlen(at) >= len);
    return apr_pstrcat(p, apr_pstrmemdup(p, cookie, (apr_size_t)(at - cookie)), to, at + len, NULL);
}

static const char *cookie_path(const proxy_reversal *v, apr_pool_t *p, const char *cookie)
{
    const apr_array_header_t *list = v->list[PROXY_REVERSES_PATHS];
    size_t len;
    const char *path = list->nelts ? cookie_attribute(cookie, "path", &len) : NULL;

    for (int i = 0; path && i < list->nelts; i++) {
        const proxy_reverse *e = &APR_ARRAY_IDX(list, i, proxy_reverse);
        const size_t n = strlen(e->real);

        if (n <= len && !strncmp(path, e->real, n))
            return cookie_replace(p, cookie, path, len, e->fake); /* the rest is left out, too */
    }
    return cookie;
}

static const char *cookie_domain(const proxy_reversal *v, apr_pool_t *p, const char *cookie)
{
    const apr_array_header_t *list = v->list[PROXY_REVERSES_DOMAINS];
    size_t len;
    const char *domain = list->nelts ? cookie_attribute(cookie, "domain", &len) : NULL;

    for (int i = 0; domain && i < list->nelts; i++) {
        const proxy_reverse *e = &APR_ARRAY_IDX(list, i, proxy_reverse);

        if (strlen(e->real) == len && !strncasecmp(domain, e->real, len))
            return cookie_replace(p, cookie, domain, len, e->fake);
    }
    return cookie;
}

const char *proxy_reverse_cookie(const proxy_reversal *v, apr_pool_t *p, const char *value)
{
    return cookie_domain(v, p, cookie_path(v, p, value));
}
