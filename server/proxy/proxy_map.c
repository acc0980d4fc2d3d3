/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests are the proxy's: the phases up to the handler. */
#include "proxy_private.h"
#include "configuration.h"
#include "request_context.h"
#include "apr_fnmatch.h"
#include "apr_strings.h"
#include "brigade/explain.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_vhost.h"
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy);

/* ---- names of the environment in URLs: ${NAME} ---- */

const char *proxy_interpolate(request_rec *r, const char *text)
{
    const char *start = strstr(text, "${"), *end = start ? strchr(start, '}') : NULL, *value;

    if (!end)
        return text;
    value = apr_table_get(r->subprocess_env,
                          apr_pstrmemdup(r->pool, start + 2, (apr_size_t)(end - start - 2)));
    return apr_pstrcat(r->pool, apr_pstrmemdup(r->pool, text, (apr_size_t)(start - text)),
                       value ? value : "", proxy_interpolate(r, end + 1), NULL);
}

/* ---- forward proxy ---- */

static int detect_forward(request_rec *r)
{
    if (proxy_conf_of(r->server)->requests != 1)
        return 0;
    if (r->method_number == M_CONNECT)
        return r->parsed_uri.hostname && r->parsed_uri.port_str;
    if (!r->parsed_uri.scheme)
        return 0;
    /* A URL that names this very host is answered here. */
    return !(r->parsed_uri.hostname && !ap_cstr_casecmp(r->parsed_uri.scheme, ap_http_scheme(r)) &&
             ap_matches_request_vhost(
                 r, r->parsed_uri.hostname,
                 (apr_port_t)(r->parsed_uri.port_str ? r->parsed_uri.port : ap_default_port(r))));
}

int proxy_detect(request_rec *r)
{
    if (!detect_forward(r))
        return DECLINED;
    r->proxyreq = PROXYREQ_PROXY;
    r->uri = r->unparsed_uri;
    r->filename = apr_pstrcat(r->pool, "proxy:", r->uri, NULL);
    r->handler = "proxy-server";
    return OK;
}

/* ---- ProxyPass ---- */

size_t proxy_alias_covers(const char *uri, const char *name)
{
    const char *u = uri, *n = name;

    while (*n) {
        if (*n == '/') {
            if (*u != '/')
                return 0;
            for (; *n == '/'; n++)
                ;
            for (; *u == '/'; u++)
                ;
        } else if (*u++ != *n++)
            return 0;
    }
    if (n > name && n[-1] != '/' && *u && *u != '/')
        return 0;
    return (size_t)(u - uri);
}

/* Servlet containers take ";name=value" off each segment before they look at a path: so does mapping=servlet. */
static const char *alias_servlet_uri(request_rec *r)
{
    char *uri = apr_pstrdup(r->pool, r->uri), *to = uri;

    for (const char *from = uri; *from;)
        if (*from == ';')
            from += strcspn(from, "/");
        else
            *to++ = *from++;
    *to = '\0';
    ap_normalize_path(uri, AP_NORMALIZE_MERGE_SLASHES | AP_NORMALIZE_NOT_ABOVE_ROOT |
                               AP_NORMALIZE_ALLOW_RELATIVE);
    return uri;
}

/* The rest behind the part of @a uri that gave the first @a len bytes of @a servlet, parameters and
 * all; the rest of
 * @a servlet, where more than parameters was taken off. */
static const char *alias_servlet_rest(const char *uri, const char *servlet, size_t len)
{
    const char *end = servlet + len, *s = servlet;

    BRG_ASSERT(len > 0);
    while (s < end) {
        if (*uri == ';')
            uri += strcspn(uri, "/");
        if (*uri++ != *s++)
            return end;
    }
    if (!*s)
        return end; /* nothing but parameters is left */
    for (const char *u = uri; *s || *u;)
        if (*u == ';')
            u += strcspn(u, "/");
        else if (*u++ != *s++)
            return end;
    return uri;
}

typedef struct alias_run {
    request_rec *r;
    const proxy_alias *alias;
    const char *fake, *real, *uri; /* interpolated; the subject */
    int unsafe;                    /* nocanon, but the raw path does not match */
    const char *found;
    size_t covered; /* of uri; 0: a pattern matched */
} alias_run;

static int alias_pattern(alias_run *a)
{
    request_rec *r = a->r;
    ap_regmatch_t match[AP_MAX_REG_MATCH];
    const char *use = a->uri, *to;

    BRG_ASSERT(a->alias->regex && !a->found);
    if (ap_regexec(a->alias->regex, a->uri, AP_MAX_REG_MATCH, match, 0))
        return HTTP_CONTINUE;
    if (!strcmp(a->real, "!"))
        return DECLINED;
    if (a->alias->flags & ALIAS_NOCANON) {
        request_query_counts(r);
        if (!ap_regexec(a->alias->regex, r->unparsed_uri, AP_MAX_REG_MATCH, match, 0))
            use = r->unparsed_uri;
        else {
            a->unsafe = 1;
            ap_regexec(a->alias->regex, a->uri, AP_MAX_REG_MATCH, match, 0);
        }
    }
    to = ap_pregsub(r->pool, a->real, use, AP_MAX_REG_MATCH, match);
    if (!to) {
        ap_log_rerror(
            APLOG_MARK, APLOG_ERR, 0, r,
            APLOGNO(01135) "Substitution in regular expression failed. Replacement too long?");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    /* A target without $1 gets the whole path. */
    a->found = apr_pstrcat(r->pool, "proxy:", to, strcmp(to, a->real) ? "" : use, NULL);
    return OK;
}

/* "proxy:", the URL and the rest of the path. */
static const char *alias_join(apr_pool_t *p, const char *real, const char *rest)
{
    const apr_size_t start = strlen("proxy:"), real_len = strlen(real), rest_len = strlen(rest);
    char *text = apr_palloc(p, start + real_len + rest_len + 1);

    memcpy(text, "proxy:", start);
    memcpy(text + start, real, real_len);
    memcpy(text + start + real_len, rest, rest_len + 1);
    return text;
}

static int alias_prefix(alias_run *a)
{
    size_t len = proxy_alias_covers(a->uri, a->fake);
    const char *use = a->uri;

    BRG_ASSERT(!a->alias->regex && !a->found);
    if (!len)
        return HTTP_CONTINUE;
    if (!strcmp(a->real, "!"))
        return DECLINED;
    if (a->alias->flags & ALIAS_NOCANON) {
        request_query_counts(a->r);
        if (proxy_alias_covers(a->r->unparsed_uri, a->fake) == len)
            use = a->r->unparsed_uri;
        else
            a->unsafe = 1;
    }
    use = a->alias->flags & ALIAS_SERVLET ? alias_servlet_rest(a->r->uri, a->uri, len) : use + len;
    a->covered = len;
    a->found = alias_join(a->r->pool, a->real, use);
    return OK;
}

/* Of mod_proxy_wstunnel: a target of ws: takes only requests for an upgrade, unless plain HTTP may go there. */
static int alias_takes(request_rec *r, const char *url)
{
    const char *upgrade;

    if ((*url | 0x20) != 'w' ||
        (strncasecmp(url, "ws:", 3) != 0 && strncasecmp(url, "wss:", 4) != 0))
        return 1;
    if (proxy_websocket_is_http(r))
        return 1;
    upgrade = apr_table_get(r->headers_in, "Upgrade");
    return upgrade && !strcasecmp(upgrade, "WebSocket");
}

static void alias_notes(const alias_run *a)
{
    const unsigned flags = a->alias->flags;

    if ((flags & ALIAS_NOCANON) && !a->unsafe)
        apr_table_setn(a->r->notes, "proxy-nocanon", "1");
    if (flags & ALIAS_NOQUERY)
        apr_table_setn(a->r->notes, "proxy-noquery", "1");
    if (flags & ALIAS_ENCODED)
        apr_table_setn(a->r->notes, "proxy-noencode", "1");
}

/* OK, DONE: the proxy has it; DECLINED: "!" keeps it from the proxy; HTTP_CONTINUE: it does not match; or a status. */
static int alias_match(request_rec *r, const proxy_alias *alias, const proxy_dir_conf *dir)
{
    const int interpolates = (alias->flags & ALIAS_INTERPOLATE) && dir && dir->interpolate == 1;
    alias_run a = {r, alias, alias->fake, alias->real, r->uri, 0, NULL, 0};
    int rv;

    if (interpolates) {
        a.fake = proxy_interpolate(r, alias->fake);
        a.real = proxy_interpolate(r, alias->real);
    }
    if (alias->flags & ALIAS_SERVLET)
        a.uri = alias_servlet_uri(r);
    rv = alias->regex ? alias_pattern(&a) : alias_prefix(&a);
    if (rv != OK)
        return rv;
    if (!alias->place && proxy_authority_is_widened(a.real, a.found)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "proxy: the path adds to the host of %s (%s:%d), which ends without a slash: "
                      "%s",
                      a.real, alias->file, alias->line, r->uri);
        return HTTP_BAD_REQUEST;
    }
    if (a.unsafe)
        ap_log_rerror(
            APLOG_MARK, APLOG_WARNING, 0, r,
            APLOGNO(01136) "Unescaped URL path matched ProxyPass; ignoring unsafe nocanon");
    if (!alias_takes(r, a.found + 6)) {
        apr_table_setn(r->notes, "proxy-unless-upgrade", "1");
        return HTTP_CONTINUE;
    }
    r->filename = (char *)a.found;
    r->handler = "proxy-server";
    r->proxyreq = PROXYREQ_REVERSE;
    alias_notes(&a);
    proxy_place_mapped(r, alias, a.covered);
    if (!(alias->flags & ALIAS_SERVLET))
        return OK;
    r->uri = (char *)a.uri;
    return DONE;
}

static int alias_of_phase(const proxy_alias *alias, int early)
{
    return ((alias->flags & ALIAS_ENCODED) != 0) == early;
}

/* For --explain. */
static const char *alias_effect(const request_rec *r, int rv)
{
    if (rv == OK)
        return apr_pstrcat(r->pool, r->uri, " -> ", r->filename + strlen("proxy:"), NULL);
    return rv == DECLINED ? apr_pstrcat(r->pool, r->uri, " is not forwarded", NULL) : "refuses it";
}

static int proxy_find_alias(request_rec *r, int early)
{
    const proxy_server_conf *conf = proxy_conf_of(r->server);
    const proxy_dir_conf *dir = proxy_dir_of(r);

    BRG_ASSERT(early == 0 || early == 1);
    if (dir->alias && alias_of_phase(dir->alias, early)) {
        const int rv = alias_match(r, dir->alias, dir);

        if (rv != HTTP_CONTINUE) {
            BRG_EXPLAIN(r, dir->alias->directive, alias_effect(r, rv));
            return rv;
        }
    }
    for (int i = 0; i < conf->aliases->nelts; i++) {
        const proxy_alias *alias = &APR_ARRAY_IDX(conf->aliases, i, proxy_alias);
        const int rv = alias_of_phase(alias, early) ? alias_match(r, alias, dir) : HTTP_CONTINUE;

        if (rv != HTTP_CONTINUE) {
            BRG_EXPLAIN(r, alias->directive, alias_effect(r, rv));
            return rv;
        }
    }
    return DECLINED;
}

static int proxy_is_barred(request_rec *r)
{
    return apr_table_get(r->subprocess_env, "no-proxy") != NULL;
}

/* mapping=encoded and mapping=servlet look at the path before it is decoded. */
int proxy_pre_translate(request_rec *r)
{
    const proxy_alias *alias = proxy_dir_of(r)->alias;

    if (r->proxyreq || proxy_is_barred(r) || *r->uri != '/')
        return DECLINED;
    if (!proxy_conf_of(r->server)->encoded_some && !(alias && (alias->flags & ALIAS_ENCODED)))
        return DECLINED;
    return proxy_find_alias(r, 1);
}

int proxy_translate(request_rec *r)
{
    if (r->proxyreq)
        return OK; /* found before */
    if (proxy_is_barred(r) || *r->uri != '/')
        return DECLINED;
    return proxy_find_alias(r, 0);
}

/* ---- <Proxy> ---- */

int proxy_section_covers(const proxy_dir_conf *d, const char *url)
{
    return d->is_fnmatch ? apr_fnmatch(d->path, url, 0) == APR_SUCCESS
                         : !strncmp(url, d->path, strlen(d->path));
}

static int section_matches(request_rec *r, const proxy_dir_conf *d, const char *url)
{
    ap_regmatch_t match[AP_MAX_REG_MATCH];

    if (!d->regex)
        return proxy_section_covers(d, url);
    if (ap_regexec(d->regex, url, AP_MAX_REG_MATCH, match, 0))
        return 0;
    for (int i = 0; d->refs && i < d->refs->nelts && i < AP_MAX_REG_MATCH; i++)
        if (APR_ARRAY_IDX(d->refs, i, char *) && match[i].rm_so >= 0)
            apr_table_setn(r->subprocess_env, APR_ARRAY_IDX(d->refs, i, char *),
                           apr_pstrmemdup(r->pool, url + match[i].rm_so,
                                          (apr_size_t)(match[i].rm_eo - match[i].rm_so)));
    return 1;
}

static void sections_apply(request_rec *r)
{
    const apr_array_header_t *sections = proxy_conf_of(r->server)->sections;
    ap_conf_vector_t *conf = r->server->lookup_defaults;
    const char *socket, *url = NULL;

    BRG_ASSERT(!strncmp(r->filename, "proxy:", 6));
    if (sections->nelts && r->proxyreq == PROXYREQ_REVERSE)
        url = proxy_split_socket(r->pool, r->filename + 6, &socket);
    for (int i = 0; i < sections->nelts; i++) {
        ap_conf_vector_t *section = APR_ARRAY_IDX(sections, i, ap_conf_vector_t *);

        if (!section_matches(r, ap_get_module_config(section, &proxy_module),
                             url ? url : r->filename + 6))
            continue;
        BRG_EXPLAIN(r, conf_explained_section(section), NULL);
        conf = ap_merge_per_dir_configs(r->pool, conf, section);
    }
    r->per_dir_config = conf;
}

int proxy_map_to_storage(request_rec *r)
{
    if (!r->proxyreq || !r->filename || strncmp(r->filename, "proxy:", 6) != 0)
        return DECLINED;
    sections_apply(r);
    return OK;
}

/* ---- the URL's form ---- */

int proxy_take_socket(request_rec *r)
{
    const char *url = r->filename + 6, *socket;

    BRG_ASSERT(!strncmp(r->filename, "proxy:", 6));
    /* Only the configuration names sockets: a URL from a client of a forward proxy is no such name.
     */
    if (r->proxyreq != PROXYREQ_REVERSE || (*url | 0x20) != 'u' ||
        strncasecmp(url, "unix:", 5) != 0)
        return DECLINED;
    url = proxy_split_socket(r->pool, url, &socket);
    if (!url || !socket || !*socket) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(10292) "Invalid proxy UDS filename (%s)",
                      r->filename);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    apr_table_setn(r->notes, PROXY_SOCKET_NOTE, socket);
    r->filename = apr_pstrcat(r->pool, "proxy:", url, NULL);
    return OK;
}

int proxy_fixup(request_rec *r)
{
    const char *url;
    int rv;

    if (!r->proxyreq || !r->filename || strncmp(r->filename, "proxy:", 6) != 0)
        return DECLINED;
    rv = proxy_take_socket(r);
    if (rv != OK && rv != DECLINED)
        return rv;
    url = strchr(r->filename + 6, ':');
    if (!url || url == r->filename + 6)
        return HTTP_BAD_REQUEST;
    rv = proxy_canonical(r, r->filename + 6);
    return rv == DECLINED ? OK : rv;
}
