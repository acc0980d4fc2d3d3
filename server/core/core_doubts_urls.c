/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for URLs that do nothing, or other than they look: redirects to themselves, slashes that ProxyPass puts together, rewrite rules that
 * are off or never match, virtual hosts where nobody listens. */
#include "core_doubts_private.h"
#include "core_private.h"
#include "ap_listen.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"

#include <stdlib.h>

static int urls_is(const ap_directive_t *node, const char *name)
{
    return !ap_cstr_casecmp(node->directive, name);
}

/* The nearest section for a part of a site; NULL: the server's or the virtual host's own line. */
static const ap_directive_t *urls_section(const ap_directive_t *node)
{
    for (node = node->parent; node; node = node->parent)
        if (!ap_cstr_casecmpn(node->directive, "<Dir", 4) ||
            !ap_cstr_casecmpn(node->directive, "<Loc", 4) ||
            !ap_cstr_casecmpn(node->directive, "<Files", 6))
            return node;
    return NULL;
}

/* ---- ProxyPass ---- */

static void urls_proxy(core_doubts *d, const ap_directive_t *node)
{
    const ap_directive_t *section = urls_section(node);
    const char *path = core_doubts_word(d, node, 0), *url = core_doubts_word(d, node, 1), *end;
    int path_ends, url_ends;

    if (section) {
        if (!urls_is(section, "<Location"))
            return;
        url = path;
        path = core_doubts_word(d, section, 0);
    }
    end = strstr(url, "://");
    if (*path != '/' || !end || strpbrk(url, "$|") || strlen(path) < 1)
        return;
    path_ends = path[strlen(path) - 1] == '/';
    url_ends = url[strlen(url) - 1] == '/';
    if (!strchr(end + 3, '/'))
        return; /* mod_proxy reports URLs that end with their host */
    if (path_ends && !url_ends)
        core_doubts_say(d, node,
                        "ProxyPass: %s ends with a slash and %s does not: %sa is asked for as %sa; "
                        "write %s/",
                        path, url, path, url, url);
    else if (!path_ends && url_ends)
        core_doubts_say(d, node,
                        "ProxyPass: %s ends with a slash and %s does not: %s/a is asked for as "
                        "%s/a; write %s/ and %s, or neither with a slash",
                        url, path, path, url, path, url);
}

/* ---- redirects ---- */

/* A target of the same server, as a path; NULL: of another one. */
static const char *urls_own_path(const core_doubts *d, const ap_directive_t *node, const char *url)
{
    const server_rec *s = core_doubts_server(d, node);
    const char *host = strstr(url, "://"), *path;
    const ap_directive_t *engine;
    int is_tls;

    if (!host)
        return *url == '/' && url[1] != '/' ? url : NULL;
    path = host + 3 + strcspn(host + 3, "/");
    engine = core_doubts_line(d, s, "SSLEngine");
    is_tls = engine && !ap_cstr_casecmp(core_doubts_args(engine), "on");
    if (!s->server_hostname || !core_doubts_line(d, s, "ServerName") ||
        ap_cstr_casecmpn(url, is_tls ? "https://" : "http://", is_tls ? 8 : 7) ||
        strlen(s->server_hostname) != (size_t)(path - host - 3) ||
        ap_cstr_casecmpn(host + 3, s->server_hostname, strlen(s->server_hostname)))
        return NULL;
    /* Other names of the host may be led to its first one. */
    if (s->names && (s->names->nelts || s->wild_names->nelts))
        return NULL;
    return *path ? path : "/";
}

static void urls_tell_loop(core_doubts *d, const ap_directive_t *node, const char *from,
                           const char *to)
{
    core_doubts_say(d, node,
                    "%s: a loop: %s begins with what %s matches, so it is redirected again; write "
                    "RedirectMatch \"^/$\" for the first page alone, or a condition",
                    node->directive, to, from);
}

static void urls_redirect(core_doubts *d, const ap_directive_t *node)
{
    const char *from = core_doubts_word(d, node, 0), *to = core_doubts_word(d, node, 1);
    size_t len;

    if (urls_is(node, "Redirect") && *from != '/') {
        from = to;
        to = core_doubts_word(d, node, 2);
    }
    if (*from != '/' || !*to || urls_section(node) || strchr(to, '%') ||
        !(to = urls_own_path(d, node, to)))
        return;
    len = strlen(from);
    BRG_ASSERT(len > 0);
    if (!strncmp(to, from, len) &&
        (!to[len] || to[len] == '/' || to[len] == '?' || from[len - 1] == '/'))
        urls_tell_loop(d, node, from, to);
}

/* The target with texts in place of $1, as for a path of one letter. */
static const char *urls_example(apr_pool_t *p, const char *to)
{
    char *text = apr_palloc(p, strlen(to) + 1), *at = text;

    for (; *to; to++)
        if (*to == '$' && apr_isdigit(to[1])) {
            *at++ = 'a';
            to++;
        } else {
            *at++ = *to;
        }
    *at = '\0';
    return text;
}

static void urls_redirect_match(core_doubts *d, const ap_directive_t *node)
{
    const char *from = core_doubts_word(d, node, 0), *to = core_doubts_word(d, node, 1),
               *more = core_doubts_word(d, node, 2);
    ap_regex_t *regex;

    if (*more || (*to && (apr_isdigit(*from) || !strcmp(from, "permanent") ||
                          !strcmp(from, "temp") || !strcmp(from, "seeother")))) {
        from = to;
        to = more;
    }
    if (!*to || urls_section(node) || !(to = urls_own_path(d, node, to)) ||
        !(regex = ap_pregcomp(d->p, from, AP_REG_EXTENDED)))
        return;
    if (!ap_regexec(regex, urls_example(d->p, to), 0, NULL, 0))
        urls_tell_loop(d, node, from, to);
}

/* ---- rewrite rules ---- */

static void urls_find_engine(core_doubts *d, const ap_directive_t *node)
{
    if (urls_is(node, "RewriteEngine") && !ap_cstr_casecmp(core_doubts_args(node), "on") &&
        urls_section(node))
        d->found = 1;
}

static int urls_rewrites(core_doubts *d, const ap_directive_t *node)
{
    const server_rec *s = core_doubts_server(d, node);
    const ap_directive_t *engine;

    if (urls_section(node)) {
        d->found = 0;
        core_doubts_each(d, ap_conftree, urls_find_engine);
        return d->found;
    }
    engine = core_doubts_line(d, s, "RewriteEngine");
    if (!engine)
        engine = core_doubts_line(d, d->main, "RewriteEngine");
    return engine && !ap_cstr_casecmp(core_doubts_args(engine), "on");
}

static void urls_rewrite(core_doubts *d, const ap_directive_t *node)
{
    const char *pattern = core_doubts_word(d, node, 0);
    const ap_directive_t *section = urls_section(node);

    if (!urls_rewrites(d, node))
        core_doubts_say(d, node,
                        "RewriteRule: it does nothing, since no RewriteEngine On is in force here; "
                        "write that line %s",
                        section ? "into the same section" : "above it");
    if (!section || ap_cstr_casecmpn(section->directive, "<Dir", 4))
        return;
    pattern += *pattern == '!';
    if (!strncmp(pattern, "^/", 2) && pattern[2] && pattern[2] != '?' && pattern[2] != '*')
        core_doubts_say(d, node,
                        "RewriteRule: %s matches nothing in a directory, where the path begins "
                        "behind the directory's own slash; write ^%s",
                        pattern, pattern + 2);
}

/* ---- virtual hosts ---- */

static int urls_is_heard(apr_port_t port)
{
    for (const ap_listen_rec *l = ap_listeners; l; l = l->next)
        if (l->bind_addr->port == port)
            return 1;
    return 0;
}

void core_doubts_ports(core_doubts *d)
{
    for (const server_rec *s = d->main->next; s; s = s->next)
        for (const server_addr_rec *at = s->addrs; ap_listeners && at; at = at->next)
            if (at->host_port && !urls_is_heard(at->host_port)) {
                core_doubts_tell(
                    d, s->defn_name, (int)s->defn_line_number,
                    apr_psprintf(d->p,
                                 "no request comes to this virtual host: no Listen has "
                                 "port %u; write Listen %u",
                                 at->host_port, at->host_port));
                break;
            }
}

void core_doubts_urls(core_doubts *d, const ap_directive_t *node)
{
    if (urls_is(node, "ProxyPass"))
        urls_proxy(d, node);
    else if (urls_is(node, "Redirect") || urls_is(node, "RedirectPermanent") ||
             urls_is(node, "RedirectTemp"))
        urls_redirect(d, node);
    else if (urls_is(node, "RedirectMatch"))
        urls_redirect_match(d, node);
    else if (urls_is(node, "RewriteRule"))
        urls_rewrite(d, node);
}
