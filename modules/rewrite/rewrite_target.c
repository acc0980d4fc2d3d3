/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: URLs with a scheme, queries, prefixes. */
#include "rewrite_private.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_vhost.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "apr_user.h"
#include "brigade/files.h"
#include "brigade/response_cache.h"

#include <stdlib.h>
#include <string.h>

unsigned rewrite_scheme(const char *uri, int *has_query)
{
    static const struct {
        const char *scheme;
        int has_query;
    } known[] = {{"ajp://", 1},    {"balancer://", 1}, {"fcgi://", 1},  {"ftp://", 0},
                 {"gopher://", 0}, {"http://", 1},     {"https://", 1}, {"h2://", 1},
                 {"h2c://", 1},    {"ldap://", 0},     {"mailto:", 1},  {"news:", 0},
                 {"nntp://", 0},   {"scgi://", 1},     {"unix:", 1},    {"ws://", 1},
                 {"wss://", 1},    {"uwsgi://", 1},    {"ldaps://", 0}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        apr_size_t len;

        if ((*uri | 0x20) != *known[i].scheme) /* that of a path is a slash */
            continue;
        len = strlen(known[i].scheme);
        if (strncasecmp(uri, known[i].scheme, len) != 0)
            continue;
        if (has_query)
            *has_query = known[i].has_query;
        return (unsigned)len;
    }
    if (has_query)
        *has_query = 0;
    return 0;
}

/* ---- queries ---- */

/* The text behind the '?' of the substitution is the query; or is put before the old one. */
static void target_take_query(request_rec *r, char *query, unsigned flags)
{
    apr_size_t len;

    if (flags & REWRITE_F_QSAPPEND) {
        if (*query)
            r->args = apr_pstrcat(r->pool, query, "&", r->args, NULL);
    } else {
        r->args = apr_pstrdup(r->pool, query);
    }
    len = r->args ? strlen(r->args) : 0;
    if (!len)
        r->args = NULL;
    else if (r->args[len - 1] == '&')
        r->args[len - 1] = '\0';
}

void rewrite_split_query(request_rec *r, unsigned flags)
{
    int has_query;
    const char *whole;
    char *mark;

    if (flags & REWRITE_F_QSNONE) {
        REWRITE_LOG(r, 2, NULL, "discarding query string, no parse from substitution");
        r->args = NULL;
        return;
    }
    if (rewrite_scheme(r->filename, &has_query) && !has_query) {
        r->args = NULL;
        return;
    }
    if (flags & REWRITE_F_QSDISCARD) {
        r->args = NULL;
        REWRITE_LOG(r, 2, NULL, "discarding query string");
    }
    mark = flags & REWRITE_F_QSLAST ? strrchr(r->filename, '?') : strchr(r->filename, '?');
    if (!mark)
        return;
    whole = apr_pstrdup(r->pool, r->filename);
    *mark++ = '\0';
    target_take_query(r, mark, flags);
    REWRITE_LOG(r, 3, NULL, "split uri=%s -> uri=%s, args=%s", whole, r->filename,
                r->args ? r->args : "<none>");
}

/* ---- this server's own name ---- */

void rewrite_qualify(request_rec *r)
{
    apr_port_t port;
    const char *shown;

    if (r->method_number == M_CONNECT || rewrite_scheme(r->filename, NULL))
        return;
    port = ap_get_server_port(r);
    shown = ap_is_default_port(port, r) ? "" : apr_psprintf(r->pool, ":%u", port);
    r->filename =
        apr_psprintf(r->pool, "%s://%s%s%s%s", ap_http_scheme(r), ap_get_server_name_for_url(r),
                     shown, *r->filename == '/' ? "" : "/", r->filename);
}

void rewrite_reduce(request_rec *r)
{
    const char *scheme = ap_http_scheme(r), *path, *colon;
    apr_size_t len = strlen(scheme);
    apr_port_t port = ap_default_port(r);
    char *host;

    if (strncasecmp(r->filename, scheme, len) != 0 || strncmp(r->filename + len, "://", 3) != 0)
        return;
    host = apr_pstrdup(r->pool, r->filename + len + 3);
    path = r->filename + len + 3 + strcspn(host, "/");
    host[strcspn(host, "/")] = '\0';
    if (!*path)
        path = "/";
    if ((colon = strchr(host, ':')) != NULL) {
        port = (apr_port_t)atoi(colon + 1);
        host[colon - host] = '\0';
    }
    if (!ap_matches_request_vhost(r, host, port))
        return;
    REWRITE_LOG(r, 3, NULL, "reduce %s -> %s", r->filename, path);
    r->filename = apr_pstrdup(r->pool, path);
    apr_table_setn(r->notes, "mod_rewrite_uri_reduced", "true");
}

/* ---- escaping ---- */

/* dn?attributes?scope?filter?extensions, each escaped by itself. */
static char *target_escape_ldap(apr_pool_t *p, const char *parts)
{
    char *to = apr_pstrdup(p, "");

    for (int i = 0;; i++) {
        apr_size_t len = i < 4 ? strcspn(parts, "?") : strlen(parts);

        to = apr_pstrcat(p, to, ap_escape_uri(p, apr_pstrmemdup(p, parts, len)), NULL);
        if (!parts[len])
            return to;
        to = apr_pstrcat(p, to, "?", NULL);
        parts += len + 1;
    }
}

char *rewrite_escape_url(apr_pool_t *p, char *uri, unsigned scheme)
{
    char *path = uri + scheme, *begin;

    BRG_ASSERT(scheme <= sizeof "balancer://" - 1);
    if (!scheme || strlen(uri) < scheme)
        return ap_escape_uri(p, uri);
    if (path[-1] == '/') {
        path += strcspn(path, "/");
        if (!*path || !*++path)
            return apr_pstrdup(p, uri);
    }
    begin = apr_pstrmemdup(p, uri, (apr_size_t)(path - uri));
    return apr_pstrcat(
        p, begin,
        strncasecmp(uri, "ldap", 4) ? ap_escape_uri(p, path) : target_escape_ldap(p, path), NULL);
}

/* ---- prefixes ---- */

char *rewrite_replace_prefix(request_rec *r, char *text, const char *match, const char *subst)
{
    apr_size_t len = strlen(match), subst_len = strlen(subst);
    char *rest, *result;

    if (len && match[len - 1] == '/')
        len--;
    if (strncmp(text, match, len) != 0 || text[len] != '/')
        return text;
    rest = text + len + 1;
    REWRITE_LOG(r, 5, NULL, "strip matching prefix: %s -> %s", text, rest);
    result = apr_pstrcat(r->pool, subst, subst_len && subst[subst_len - 1] != '/' ? "/" : "", rest,
                         NULL);
    REWRITE_LOG(r, 4, NULL, "add subst prefix: %s -> %s", rest, result);
    return result;
}

char *rewrite_expand_tilde(request_rec *r, char *uri)
{
    apr_size_t len;
    char *home;

    if (strncmp(uri, "/~", 2) != 0 || !uri[2])
        return uri;
    rewrite_is_volatile(r);
    len = strcspn(uri + 2, "/");
    if (apr_uid_homepath_get(&home, apr_pstrmemdup(r->pool, uri + 2, len), r->pool) != APR_SUCCESS)
        return uri;
    uri += 2 + len;
    len = strlen(home);
    if (*uri && len && home[len - 1] == '/')
        uri++;
    return apr_pstrcat(r->pool, home, uri, NULL);
}

static int target_begins_with(request_rec *r, const char *text, const char *begin)
{
    int does = !strncmp(text, begin, strlen(begin));

    REWRITE_LOG(r, 5, NULL, "prefix_stat startsWith(%s, %s) %d", text, begin, does);
    return does;
}

int rewrite_is_real_prefix(request_rec *r, const char *path, const rewrite_rule *last)
{
    const char *first = path + strspn(path, "/");
    apr_finfo_t found;

    if (*path != '/')
        return 0;
    first = apr_pstrcat(r->pool, "/", apr_pstrmemdup(r->pool, first, strcspn(first, "/")), NULL);
    brg_cache_depends_on(r, first);
    if (brg_file_stat(&found, r, first, APR_FINFO_MIN) != APR_SUCCESS)
        return 0;
    if (!last) {
        REWRITE_LOG(r, 3, NULL, "prefix_stat no lastsub subst prefix %s", first);
        return 1;
    }
    REWRITE_LOG(r, 3, NULL, "prefix_stat compare statpath %s and lastsub output %s STATOK %d ",
                first, last->output, (int)(last->flags & REWRITE_F_PREFIXSTAT));
    if (last->flags & REWRITE_F_PREFIXSTAT)
        return 1;
    return target_begins_with(r, last->output, first) ||
           target_begins_with(r, path, ap_document_root(r));
}
