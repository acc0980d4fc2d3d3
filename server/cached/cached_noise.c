/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Noise in targets, which has no say in the answer: sessions in URLs, parameters of campaigns, the
 * order of parameters. A parameter that is not in the key goes to no backend either: one client's
 * value would else be in a page for all.
 */
#include "cached_private.h"
#include "script_vars.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

#define NOISE_NAME 128 /* bytes of a name that patterns are tried on */

/* 1: these bytes are "NAME=..." of a name of CacheIgnoreURLSessionIdentifiers. */
static int noise_is_session(const apr_array_header_t *names, const char *p, apr_size_t len)
{
    for (int i = 0; names && i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, const char *);
        const apr_size_t n = strlen(name);

        if (len > n && !strncmp(p, name, n) && p[n] == '=')
            return 1;
    }
    return 0;
}

int cached_name_is(const apr_array_header_t *patterns, const char *p, apr_size_t len)
{
    char name[NOISE_NAME];

    if (!patterns || !patterns->nelts || len >= sizeof name)
        return 0;
    memcpy(name, p, len);
    name[len] = '\0';
    for (int i = 0; i < patterns->nelts; i++)
        if (!ap_strcmp_match(name, APR_ARRAY_IDX(patterns, i, const char *)))
            return 1;
    return 0;
}

/* A parameter with a name of CacheIgnoreQuery, with a value or without. */
static int noise_is_ignored(const apr_array_header_t *patterns, const char *p, apr_size_t len)
{
    const char *is = memchr(p, '=', len);

    return cached_name_is(patterns, p, is ? (apr_size_t)(is - p) : len);
}

/* "/path;NAME=id" */
static const char *noise_path_without(const apr_array_header_t *names, apr_pool_t *p,
                                      const char *path)
{
    const char *at = names ? strrchr(path, ';') : NULL;

    return at && !strchr(at, '/') && noise_is_session(names, at + 1, strlen(at + 1))
               ? apr_pstrmemdup(p, path, (apr_size_t)(at - path))
               : path;
}

/* ---- the order of parameters ---- */

typedef struct noise_part {
    const char *at;
    apr_size_t len, name;
} noise_part;

/* Those of one name stay as they are among themselves: they lie in one text. */
static int noise_compare(const void *av, const void *bv)
{
    const noise_part *a = av, *b = bv;
    const int by_name = memcmp(a->at, b->at, a->name < b->name ? a->name : b->name);

    if (by_name || a->name != b->name)
        return by_name ? by_name : a->name < b->name ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

const char *cached_query_sorted(apr_pool_t *p, const char *query)
{
    apr_array_header_t *parts = apr_array_make(p, 8, sizeof(noise_part));
    char *out = apr_palloc(p, strlen(query) + 1), *to = out;

    for (const char *at = query; *at;) {
        const apr_size_t len = strcspn(at, "&");
        const char *is = memchr(at, '=', len);

        if (len)
            APR_ARRAY_PUSH(parts, noise_part) =
                (noise_part){at, len, is ? (apr_size_t)(is - at) : len};
        at += len + (at[len] == '&');
    }
    qsort(parts->elts, (size_t)parts->nelts, sizeof(noise_part), noise_compare);
    for (int i = 0; i < parts->nelts; i++) {
        const noise_part *part = &APR_ARRAY_IDX(parts, i, noise_part);

        if (i)
            *to++ = '&';
        memcpy(to, part->at, part->len);
        to += part->len;
    }
    *to = '\0';
    return out;
}

/* ---- a target ---- */

static const char *noise_query_without(apr_pool_t *p, const apr_array_header_t *sessions,
                                       const apr_array_header_t *patterns, const char *query)
{
    char *out = apr_palloc(p, strlen(query) + 1), *to = out;

    while (*query) {
        const apr_size_t len = strcspn(query, "&");

        if (!noise_is_session(sessions, query, len) && !noise_is_ignored(patterns, query, len)) {
            if (to > out)
                *to++ = '&';
            memcpy(to, query, len);
            to += len;
        }
        query += len + (query[len] == '&');
    }
    *to = '\0';
    return out;
}

static int noise_has(const apr_array_header_t *names)
{
    return names && names->nelts;
}

const char *cached_query_text(apr_pool_t *p, const cached_server *s, const char *path,
                              const char *query)
{
    const int has = query != NULL;

    if (noise_has(s->ignore_sessions))
        path = noise_path_without(s->ignore_sessions, p, path);
    if (s->ignore_query == CACHED_ON)
        return path;
    if (query && (noise_has(s->ignore_sessions) || noise_has(s->ignore_params)))
        query = noise_query_without(p, s->ignore_sessions, s->ignore_params, query);
    if (query && s->sort_query == CACHED_ON)
        query = cached_query_sorted(p, query);
    if (has && !*query && noise_has(s->ignore_params))
        query = NULL; /* nothing but noise was there */
    return query ? apr_pstrcat(p, path, "?", query, NULL) : path;
}

/* ---- the backend ---- */

/* The query of a URL that a rule or ProxyPass made already. */
static void noise_leave_url(request_rec *r, const char *old)
{
    const size_t len = r->filename ? strlen(r->filename) : 0, n = strlen(old);

    if (len <= n || strncmp(r->filename, "proxy:", 6) || strcmp(r->filename + (len - n), old) ||
        r->filename[len - n - 1] != '?')
        return;
    r->filename = apr_pstrcat(r->pool, apr_pstrmemdup(r->pool, r->filename, len - n - 1),
                              r->args ? "?" : "", r->args ? r->args : "", NULL);
}

void cached_noise_leave(request_rec *r, const request_rec *first, const cached_server *s)
{
    const int has = noise_has(s->ignore_params);
    const char *old = r->args, *query = first->parsed_uri.query;

    if (has && old) {
        r->args = (char *)noise_query_without(r->pool, NULL, s->ignore_params, old);
        if (!*r->args)
            r->args = NULL;
        noise_leave_url(r, old);
    }
    if ((!has || !query) && (!first->unparsed_uri || *first->unparsed_uri == '/'))
        return;
    if (has && query)
        query = noise_query_without(r->pool, NULL, s->ignore_params, query);
    apr_table_setn(
        r->notes, SCRIPT_URI_NOTE,
        apr_pstrcat(r->pool, cached_request_path(first), query && *query ? "?" : "", query, NULL));
}

/* ---- cookies ---- */

/* PHP takes blanks, dots and brackets of a name for underscores: such a cookie is the one of the pattern, too. So is a name that is too
 * long to be tried, since a page for its client must not be everybody's. */
int cached_cookie_name_is(const apr_array_header_t *patterns, const char *p, apr_size_t len)
{
    char name[NOISE_NAME];

    if (len >= sizeof name)
        return patterns && patterns->nelts;
    for (apr_size_t i = 0; i < len; i++)
        name[i] = (char)(p[i] == '.' || p[i] == ' ' || p[i] == '[' ? '_' : p[i]);
    return cached_name_is(patterns, p, len) || cached_name_is(patterns, name, len);
}

int cached_cookie_is(const apr_array_header_t *patterns, const char *cookies, apr_size_t len)
{
    const char *end = cookies + len;

    while (cookies < end) {
        const char *stop = cookies, *is;

        while (stop < end && *stop != ';' && *stop != ',') /* a comma: of two fields */
            stop++;
        while (cookies < stop && (*cookies == ' ' || *cookies == '\t'))
            cookies++;
        is = memchr(cookies, '=', (size_t)(stop - cookies));
        if (cached_cookie_name_is(patterns, cookies, (size_t)((is ? is : stop) - cookies)))
            return 1;
        cookies = stop + (stop < end);
    }
    return 0;
}

static int noise_cookies_kind(const void *patterns, const char *cookies, apr_size_t len)
{
    return cookies && cached_cookie_is(patterns, cookies, len);
}

int cached_is_bypassed(request_rec *r)
{
    const apr_array_header_t *patterns = cached_server_of(r->server)->bypass_cookies;
    const char *cookies = patterns ? apr_table_get(r->headers_in, "Cookie") : NULL;

    if (patterns)
        brg_cache_vary(cached_first(r), "Cookie", noise_cookies_kind, patterns);
    return noise_cookies_kind(patterns, cookies, cookies ? strlen(cookies) : 0);
}
