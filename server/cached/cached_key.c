/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of targets: of requests, and of URLs that somebody names on the command line or on the page. */
#include "cached_named_private.h"
#include "brigade/assert.h"
#include "apr_hash.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

const char *cached_key_text(apr_pool_t *p, const cached_server *s, const fresh_target *of,
                            const char *path, const char *query, uint32_t *len)
{
    const fresh_policy policy = {.ignore_query = s->ignore_query == CACHED_ON};
    fresh_target target = *of;
    fresh_text key = {0};

    BRG_ASSERT(path && of->scheme && of->authority);
    target.path = cached_query_text(p, s, path, query);
    target.path_len = strlen(target.path);
    key.room =
        target.authority_len + target.path_len + 160 + (target.base ? strlen(target.base) : 0);
    key.at = apr_palloc(p, key.room);
    fresh_key(&key, &target, &policy);
    *len = (uint32_t)key.len;
    return key.over || key.len > UINT16_MAX ? NULL : key.at;
}

/* ---- names of fields that Vary has ---- */

int cached_names_have(const char *names, const char *name, size_t len)
{
    for (const char *at = names; at && *at;) {
        const size_t n = strcspn(at, ",");

        if (n == len && !strncasecmp(at, name, len))
            return 1;
        at += n + (at[n] == ',');
    }
    return 0;
}

const char *const *cached_names_of(apr_pool_t *p, const char *names)
{
    const char **list;
    int n = 2;

    if (!names)
        return NULL;
    for (const char *at = names; (at = strchr(at, ',')) != NULL; at++)
        n++;
    list = apr_palloc(p, (size_t)n * sizeof *list);
    for (n = 0; *names;)
        list[n++] = ap_getword(p, &names, ',');
    list[n] = NULL;
    return list;
}

/* ---- URLs ---- */

static int key_is_of(const server_rec *s, const char *host)
{
    if (s->server_hostname && !strcasecmp(s->server_hostname, host))
        return 1;
    for (int i = 0; s->names && i < s->names->nelts; i++)
        if (!strcasecmp(APR_ARRAY_IDX(s->names, i, const char *), host))
            return 1;
    for (int i = 0; s->wild_names && i < s->wild_names->nelts; i++)
        if (!ap_strcasecmp_match(host, APR_ARRAY_IDX(s->wild_names, i, const char *)))
            return 1;
    return 0;
}

/* ---- servers that share names ---- */

/* How many servers have a name, and on which ports. */
typedef struct key_owners {
    int n, clear, tls;
} key_owners;

static key_owners *key_owners_of(apr_pool_t *p, apr_hash_t *all, const char *name)
{
    char *lower = apr_pstrdup(p, name ? name : "");
    key_owners *owners;

    ap_str_tolower(lower);
    owners = apr_hash_get(all, lower, APR_HASH_KEY_STRING);
    if (!owners) {
        owners = apr_pcalloc(p, sizeof *owners);
        apr_hash_set(all, lower, APR_HASH_KEY_STRING, owners);
    }
    return owners;
}

static const char *key_name(const server_rec *s, int i)
{
    return i ? APR_ARRAY_IDX(s->names, i - 1, const char *) : s->server_hostname;
}

static int key_names_n(const server_rec *s)
{
    return 1 + (s->names ? s->names->nelts : 0);
}

static apr_port_t key_port(const server_rec *s)
{
    return s->addrs ? s->addrs->host_port : s->port;
}

/* The usual two of a name, in the clear and with TLS, have keys of their own by the scheme. */
static int key_names_are_own(apr_pool_t *p, apr_hash_t *all, const server_rec *s)
{
    for (int i = 0; i < key_names_n(s); i++) {
        const key_owners *owners = key_owners_of(p, all, key_name(s, i));

        if (owners->n > 1 && (owners->n > 2 || owners->clear != 1 || owners->tls != 1))
            return 0;
    }
    return 1;
}

void cached_sites(apr_pool_t *p, server_rec *main)
{
    apr_hash_t *all = apr_hash_make(p);
    int any_wild = 0;

    for (const server_rec *s = main->next ? main : NULL; s; s = s->next) {
        any_wild |= s->wild_names && s->wild_names->nelts;
        for (int i = 0; i < key_names_n(s); i++) {
            key_owners *owners = key_owners_of(p, all, key_name(s, i));

            owners->n++;
            owners->clear += key_port(s) == 80;
            owners->tls += key_port(s) == 443;
        }
    }
    for (server_rec *s = main->next ? main : NULL; s; s = s->next) {
        cached_server *own = apr_pmemdup(p, cached_server_of(s), sizeof *own);

        own->names_are_own = (uint8_t)(!any_wild && key_names_are_own(p, all, s));
        own->site = apr_psprintf(p, "%s:%u/%s", s->addrs ? s->addrs->virthost : "", key_port(s),
                                 s->server_hostname ? s->server_hostname : "");
        ap_set_module_config(s->module_config, &cache_module, own);
    }
}

static int key_is_name(const char *name, const char *host, size_t len)
{
    return name && !strncasecmp(name, host, len) && !name[len];
}

const char *cached_site_of(const server_rec *s, const char *authority)
{
    const cached_server *c = cached_server_of(s);
    const char *port = strrchr(authority, ':');
    const size_t len = port && !strchr(port, ']') ? (size_t)(port - authority) : strlen(authority);

    BRG_ASSERT(authority);
    if (!c->site || c->base)
        return NULL;
    for (int i = 0; c->names_are_own && i < key_names_n(s); i++)
        if (key_is_name(key_name(s, i), authority, len))
            return NULL;
    return c->site;
}

/* The server whose CacheKeyBaseURL and the like hold for that host; of two of a name, the first. */
static const cached_server *key_server(const server_rec *main, const char *host)
{
    for (const server_rec *s = main; s; s = s->next)
        if (key_is_of(s, host))
            return cached_server_of(s);
    return cached_server_of(main);
}

const char *cached_tag_text(apr_pool_t *p, const server_rec *s, const char *tag, size_t len,
                            uint32_t *n)
{
    const char *site = s->server_hostname ? s->server_hostname : "";
    const size_t site_len = strlen(site);
    char *text = apr_palloc(p, site_len + 1 + len + 1);

    memcpy(text, site, site_len + 1);
    ap_str_tolower(text);
    text[site_len] = '\n'; /* in no ServerName, and in no tag */
    memcpy(text + site_len + 1, tag, len);
    text[site_len + 1 + len] = '\0';
    *n = (uint32_t)(site_len + 1 + len);
    return text;
}

/* Servers of one ServerName, on several ports, are one site. */
static const char *key_tags(apr_pool_t *p, const server_rec *main, const char *tag,
                            cached_named *named)
{
    apr_hash_t *seen = apr_hash_make(p);
    cached_named *last = NULL;

    if (!*tag)
        return "a tag has a name: tag:NAME";
    for (const server_rec *s = main; s; s = s->next) {
        cached_named *one = last ? apr_pcalloc(p, sizeof *one) : named;

        one->what = CACHED_TAG;
        one->text = cached_tag_text(p, s, tag, strlen(tag), &one->len);
        if (apr_hash_get(seen, one->text, one->len))
            continue;
        apr_hash_set(seen, one->text, one->len, one);
        if (last)
            last->next = one;
        last = one;
    }
    BRG_ASSERT(last && !last->next && named->text);
    return NULL;
}

const char *cached_named_read(apr_pool_t *p, const server_rec *main, const char *arg,
                              cached_named *named)
{
    fresh_target target = {0};
    apr_uri_t url;

    *named = (cached_named){.what = CACHED_TARGET};
    if (!strncmp(arg, "tag:", 4))
        return key_tags(p, main, arg + 4, named);
    if (apr_uri_parse(p, arg, &url) != APR_SUCCESS || !url.scheme || !url.hostname ||
        !*url.hostname || url.user ||
        (strcasecmp(url.scheme, "http") != 0 && strcasecmp(url.scheme, "https") != 0))
        return "neither a URL (http://HOST/PATH or https://HOST/PATH) nor tag:NAME";
    ap_str_tolower(url.scheme);
    target.scheme = url.scheme;
    target.authority = url.hostinfo;
    target.authority_len = strlen(url.hostinfo);
    target.base = key_server(main, url.hostname)->base;
    named->text = cached_key_text(p, key_server(main, url.hostname), &target,
                                  url.path && *url.path ? url.path : "/", url.query, &named->len);
    if (!named->text)
        return "too long";
    if (named->text[named->len - 1] == '*') {
        named->what = CACHED_PREFIX;
        named->len--;
    }
    return NULL;
}
