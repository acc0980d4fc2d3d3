/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the directives of mod_cache and mod_cache_disk, and the requests that they are about. */
#include "cached_below_private.h"
#include "cached_litespeed_private.h"
#include "brigade/response_cache.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include <strings.h>

void *cached_server_create(apr_pool_t *p, server_rec *s)
{
    cached_server *c = apr_pcalloc(p, sizeof *c);

    (void)s;
    c->enable = apr_array_make(p, 2, sizeof(cached_scope));
    c->disable = apr_array_make(p, 2, sizeof(cached_scope));
    return c;
}

static uint8_t cached_either(uint8_t base, uint8_t add)
{
    return add ? add : base;
}

void *cached_server_merge(apr_pool_t *p, void *base, void *add)
{
    const cached_server *b = base, *a = add;
    cached_server *c = apr_pmemdup(p, a, sizeof *c);

    c->enable = apr_array_append(p, b->enable, a->enable);
    c->disable = apr_array_append(p, b->disable, a->disable);
    if (!a->ignore_fields)
        c->ignore_fields = b->ignore_fields;
    if (!a->ignore_sessions)
        c->ignore_sessions = b->ignore_sessions;
    if (!a->ignore_params)
        c->ignore_params = b->ignore_params;
    if (!a->bypass_cookies)
        c->bypass_cookies = b->bypass_cookies;
    if (!a->key)
        c->key = b->key;
    if (!a->base)
        c->base = b->base;
    c->quick = cached_either(b->quick, a->quick);
    c->ignore_control = cached_either(b->ignore_control, a->ignore_control);
    c->ignore_query = cached_either(b->ignore_query, a->ignore_query);
    c->lock = cached_either(b->lock, a->lock);
    c->search = cached_either(b->search, a->search);
    c->litespeed = cached_either(b->litespeed, a->litespeed);
    if (!a->private_cookies)
        c->private_cookies = b->private_cookies;
    c->sort_query = cached_either(b->sort_query, a->sort_query);
    c->memory = b->memory;
    c->fetching = b->fetching;
    c->variants = b->variants;
    c->tags = b->tags;
    c->objects = b->objects;
    return c;
}

void *cached_section_create(apr_pool_t *p, char *path)
{
    cached_section *c = apr_pcalloc(p, sizeof *c);

    (void)path;
    c->factor = -1;
    c->most = c->least = c->usual = c->ahead = -1;
    return c;
}

void *cached_section_merge(apr_pool_t *p, void *base, void *add)
{
    const cached_section *b = base, *a = add;
    cached_section *c = apr_pmemdup(p, a, sizeof *c);

    if (!a->enable)
        c->enable = b->enable;
    else if (b->enable)
        c->enable = apr_array_append(p, b->enable, a->enable);
    if (!a->purgers)
        c->purgers = b->purgers;
    c->factor = a->factor < 0 ? b->factor : a->factor;
    c->most = a->most < 0 ? b->most : a->most;
    c->least = a->least < 0 ? b->least : a->least;
    c->usual = a->usual < 0 ? b->usual : a->usual;
    if (a->ahead < 0) {
        c->ahead = b->ahead;
        c->ahead_most = b->ahead_most;
        c->ahead_is_part = b->ahead_is_part;
    }
    c->methods = a->methods ? a->methods : b->methods;
    cached_ls_section_merge(p, c, b, a);
    c->disable = cached_either(b->disable, a->disable);
    c->no_last_mod = cached_either(b->no_last_mod, a->no_last_mod);
    c->expired = cached_either(b->expired, a->expired);
    c->is_private = cached_either(b->is_private, a->is_private);
    c->no_store = cached_either(b->no_store, a->no_store);
    c->cookies = cached_either(b->cookies, a->cookies);
    c->tell = cached_either(b->tell, a->tell);
    c->detail = cached_either(b->detail, a->detail);
    c->standard = cached_either(b->standard, a->standard);
    c->stale = cached_either(b->stale, a->stale);
    return c;
}

static uint32_t cached_span(int64_t given, uint32_t usual)
{
    return given < 0 ? usual : given > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)given;
}

/* Without CacheIgnoreHeaders all fields are stored that may be. */
static fresh_names cached_ignored(const cached_server *s)
{
    const apr_array_header_t *names = s->ignore_fields;

    return names ? (fresh_names){(const char *const *)names->elts, (uint32_t)names->nelts}
                 : (fresh_names){NULL, 0};
}

/* CacheIgnoreHeaders Set-Cookie: an answer that sets a cookie is for all but for that field. */
static int cached_ignores_cookies(const fresh_names *names)
{
    for (uint32_t i = 0; i < names->n; i++)
        if (!strcasecmp(names->name[i], "Set-Cookie"))
            return 1;
    return 0;
}

void cached_policy(const cached_server *s, const cached_section *c, fresh_policy *policy)
{
    fresh_policy_default(policy);
    policy->ignored_fields = cached_ignored(s);
    policy->keep_cookies = c->cookies == CACHED_ON;
    policy->store_cookies = (uint8_t)cached_ignores_cookies(&policy->ignored_fields);
    if (c->factor >= 0)
        policy->last_modified_factor = c->factor;
    policy->max_expire = cached_span(c->most, policy->max_expire);
    policy->min_expire = cached_span(c->least, policy->min_expire);
    policy->default_expire = cached_span(c->usual, policy->default_expire);
    policy->ignore_no_last_mod = c->no_last_mod == CACHED_ON;
    policy->store_expired = c->expired == CACHED_ON;
    policy->store_private = c->is_private == CACHED_ON;
    policy->store_no_store = c->no_store == CACHED_ON;
    policy->stale_on_error = c->stale == CACHED_OFF ? 0 : policy->keep;
    policy->ignore_request = s->ignore_control == CACHED_ON;
    policy->ignore_query = s->ignore_query == CACHED_ON;
    if (policy->ignore_query)
        policy->queries_need_expiry = 0;
}

/* ---- which requests ---- */

/* "*.example.org" and ".example.org": hosts of that domain. */
static int cached_host_is(const char *named, const char *host)
{
    const apr_size_t len = strlen(named), has = strlen(host);

    if (*named == '*')
        return has >= len - 1 && !strcasecmp(host + (has - (len - 1)), named + 1);
    if (*named == '.')
        return has >= len && !strcasecmp(host + (has - len), named);
    return !strcasecmp(named, host);
}

/* The meaning of a path: before phases it is as the client sent it, and "/%61ccount" or "//account"
 * is "/account" to CacheDisable, too. */
static const char *cached_path_meant(apr_pool_t *p, const char *path)
{
    char *meant;

    if (!strchr(path, '%') && !strstr(path, "//") && !strstr(path, "/."))
        return path;
    meant = apr_pstrdup(p, path);
    (void)ap_unescape_url(meant);
    (void)ap_normalize_path(meant, AP_NORMALIZE_NOT_ABOVE_ROOT | AP_NORMALIZE_MERGE_SLASHES);
    return meant;
}

static int cached_scope_is(const cached_scope *scope, request_rec *r, const char *path)
{
    const apr_uri_t *url = &scope->url;
    const int absolute = r->proxyreq == PROXYREQ_PROXY;

    if (url->scheme && *url->scheme &&
        strcasecmp(url->scheme,
                   absolute && r->parsed_uri.scheme ? r->parsed_uri.scheme : ap_http_scheme(r)))
        return 0;
    if (url->hostname && *url->hostname) {
        const char *host = absolute ? r->parsed_uri.hostname : r->hostname;

        if (!host || !cached_host_is(url->hostname, host))
            return 0;
    }
    if (url->port_str && *url->port_str &&
        url->port != (absolute && r->parsed_uri.port ? r->parsed_uri.port : ap_get_server_port(r)))
        return 0;
    if (!scope->path_len)
        return 1;
    return !strncmp(url->path, path, scope->path_len);
}

static cached_tier cached_tier_of(const char *provider)
{
    if (!strcmp(provider, "memory"))
        return CACHED_MEMORY;
    if (!strcmp(provider, "disk"))
        return cached_disk_is_open() ? CACHED_DISK : CACHED_NOWHERE;
    if (strcmp(provider, "socache") != 0)
        return CACHED_NOWHERE;
    return cached_tier_is_open()   ? CACHED_SOCACHE
           : cached_so_is_memory() ? CACHED_MEMORY
                                   : CACHED_NOWHERE;
}

static int cached_is_disabled(request_rec *r, const char *path)
{
    const cached_server *s = cached_server_of(r->server);

    for (int i = 0; i < s->disable->nelts; i++)
        if (cached_scope_is(&APR_ARRAY_IDX(s->disable, i, cached_scope), r, path))
            return 1;
    return cached_section_of(r)->disable == CACHED_ON;
}

cached_tier cached_is_enabled(request_rec *r, int sections)
{
    const cached_server *s = cached_server_of(r->server);
    const cached_section *c = cached_section_of(r);
    cached_tier tier = CACHED_NOWHERE;
    const char *path;

    BRG_ASSERT(s && c && r->uri);
    path = cached_path_meant(r->pool, cached_request_path(r));
    for (int i = 0; sections && c->enable && !tier && i < c->enable->nelts; i++)
        tier = cached_tier_of(APR_ARRAY_IDX(c->enable, i, const char *));
    for (int i = 0; !tier && i < s->enable->nelts; i++) {
        const cached_scope *scope = &APR_ARRAY_IDX(s->enable, i, cached_scope);

        if (cached_scope_is(scope, r, path))
            tier = cached_tier_of(scope->provider);
    }
    if (!tier && sections && cached_ls_is_on(r->server))
        tier = CACHED_MEMORY;
    return tier && cached_is_disabled(r, path) ? CACHED_NOWHERE : tier;
}

static int cached_scope_holds(const cached_scope *scope, const char *path)
{
    return !scope->path_len || !strncmp(scope->url.path, path, scope->path_len);
}

int cached_path_is_enabled(const cached_server *s, const char *path, apr_pool_t *p)
{
    int found = 0;

    path = cached_path_meant(p, path);
    for (int i = 0; i < s->enable->nelts; i++) {
        const cached_scope *scope = &APR_ARRAY_IDX(s->enable, i, cached_scope);

        if (scope->url.hostinfo || scope->url.scheme)
            return 0;
        if (cached_scope_holds(scope, path))
            found |= cached_tier_of(scope->provider) != CACHED_NOWHERE;
    }
    for (int i = 0; i < s->disable->nelts; i++) {
        const cached_scope *scope = &APR_ARRAY_IDX(s->disable, i, cached_scope);

        if (scope->url.hostinfo || scope->url.scheme || cached_scope_holds(scope, path))
            return 0;
    }
    return found;
}

#define CACHED_TOLD_MOST 62 /* scopes, a bit each */

apr_int64_t cached_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                        const char *filename, const char *path_info, int is_file)
{
    const cached_server *server = cached_server_of(s);
    const apr_array_header_t *lists[] = {server->enable, server->disable};
    apr_int64_t said = 0;
    int bit = 0;

    (void)dir;
    if (server->litespeed == CACHED_ON || cached_sections_enable() ||
        server->enable->nelts + server->disable->nelts > CACHED_TOLD_MOST)
        return BRG_CACHE_NAME_COUNTS;
    for (int l = 0; l < 2; l++)
        for (int i = 0; i < lists[l]->nelts; i++)
            said |= (apr_int64_t)cached_scope_holds(&APR_ARRAY_IDX(lists[l], i, cached_scope), path)
                    << bit++;
    return said;
}

int cached_names(const server_rec *main, const char *provider)
{
    for (const server_rec *s = main; s; s = s->next) {
        const apr_array_header_t *enable = cached_server_of(s)->enable;

        for (int i = 0; i < enable->nelts; i++)
            if (!strcmp(APR_ARRAY_IDX(enable, i, cached_scope).provider, provider))
                return 1;
    }
    return 0;
}
