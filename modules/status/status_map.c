/* SPDX-License-Identifier: Apache-2.0 */
/* The map of the live page: see status_map.h. It goes through the tree of the configuration, which lives as long as the process. */
#include "status_map.h"
#include "status_private.h"
#include "http_config.h"
#include "http_protocol.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "util_cfgtree.h"
#include <string.h>

enum { MAP_ROWS = 300, MAP_DEPTH = 20 };

/* Where a line stands. */
typedef struct map_scope {
    const char *host, *path; /* of the section; "" outside */
    int depth;
} map_scope;

typedef struct map_walk {
    request_rec *r;
    int rows;
} map_walk;

/* A directive that leads somewhere. own_path: its first argument is a path, unless it has only one or stands in a Location. */
static const struct map_line {
    const char *directive, *kind;
    int own_path;
} map_lines[] = {
    {"DocumentRoot", "folder", 0},     {"Alias", "folder", 1},
    {"AliasMatch", "folder", 1},       {"ScriptAlias", "folder", 1},
    {"ScriptAliasMatch", "folder", 1}, {"ProxyPass", "backend", 1},
    {"ProxyPassMatch", "backend", 1},  {"Redirect", "redirect", 1},
    {"RedirectMatch", "redirect", 1},  {"RedirectPermanent", "redirect", 1},
    {"RedirectTemp", "redirect", 1},   {"RewriteRule", "rule", 1},
    {"FallbackResource", "rule", 0},   {"SetHandler", "handler", 0},
};

static const struct map_line *map_line_of(const char *directive)
{
    for (size_t i = 0; i < sizeof map_lines / sizeof *map_lines; i++)
        if (!ap_cstr_casecmp(map_lines[i].directive, directive))
            return &map_lines[i];
    return NULL;
}

/* Without name and password of a URL. */
static const char *map_public(apr_pool_t *p, const char *url)
{
    const char *slashes = strstr(url, "://"), *at = slashes ? strpbrk(slashes + 3, "@/") : NULL;

    return at && *at == '@'
               ? apr_pstrcat(p, apr_pstrmemdup(p, url, (apr_size_t)(slashes - url) + 3), at + 1,
                             NULL)
               : url;
}

static void map_row(map_walk *w, const ap_directive_t *d, const map_scope *scope, const char *kind,
                    const char *path, const char *to)
{
    request_rec *r = w->r;

    if (w->rows >= MAP_ROWS)
        return;
    ap_rputs(w->rows++ ? ",\n{" : "{", r);
    status_json_string(r, "host", scope->host);
    status_json_next(r, "path", *path ? path : "/");
    ap_rprintf(r, ",\"kind\":\"%s\",", kind);
    status_json_string(r, "to", map_public(r->pool, to));
    status_json_next(r, "line",
                     apr_psprintf(r->pool, "%s:%d", d->filename ? d->filename : "", d->line_num));
    ap_rputs("}", r);
}

/* "permanent", "301" and their like before the path of Redirect. */
static int map_is_status(const char *word)
{
    return *word != '/' && *word != '^' && !strstr(word, "://") && apr_isalnum(*word);
}

static void map_leads(map_walk *w, const ap_directive_t *d, const struct map_line *line,
                      const map_scope *scope)
{
    apr_pool_t *p = w->r->pool;
    const char *args = d->args, *first = ap_getword_conf(p, &args), *second;

    if (!strcmp(line->kind, "redirect") && map_is_status(first))
        first = ap_getword_conf(p, &args);
    second = ap_getword_conf(p, &args);
    if (!strcmp(line->kind, "handler") && !*scope->path)
        return; /* of all files of a kind: it is no address that leads there */
    if (!line->own_path || !*second || strchr(second, '='))
        map_row(w, d, scope, !strcmp(first, "!") ? "rule" : line->kind, scope->path,
                !strcmp(first, "!") ? "stays here" : first);
    else if (!strcmp(second, "!") || !strcmp(second, "-"))
        map_row(w, d, scope, "rule", first,
                *second == '!' ? "stays here" : apr_pstrcat(p, "as it is ", args, NULL));
    else
        map_row(w, d, scope, line->kind, first, second);
}

/* The name of a virtual host, or its address. */
static const char *map_host(apr_pool_t *p, const ap_directive_t *section)
{
    const char *args = section->args, *address = ap_getword(p, &args, '>');

    for (const ap_directive_t *d = section->first_child; d; d = d->next)
        if (!ap_cstr_casecmp(d->directive, "ServerName")) {
            args = d->args;
            return apr_pstrcat(p, ap_getword_conf(p, &args), " (", address, ")", NULL);
        }
    return address;
}

static map_scope map_inside(apr_pool_t *p, const ap_directive_t *section, const map_scope *scope)
{
    map_scope inside = *scope;
    const char *args = apr_pstrmemdup(p, section->args, strcspn(section->args, ">"));

    inside.depth++;
    if (!ap_cstr_casecmp(section->directive, "<VirtualHost"))
        inside.host = map_host(p, section);
    else if (!ap_cstr_casecmpn(section->directive, "<Location", 9))
        inside.path = ap_getword_conf(p, &args);
    else if (!ap_cstr_casecmpn(section->directive, "<Directory", 10))
        inside.path = apr_pstrcat(p, "files in ", ap_getword_conf(p, &args), NULL);
    return inside;
}

static void map_level(map_walk *w, const ap_directive_t *d, const map_scope *scope)
{
    for (; d && w->rows < MAP_ROWS; d = d->next) {
        const struct map_line *line = map_line_of(d->directive);

        if (line && d->args)
            map_leads(w, d, line, scope);
        if (d->first_child && scope->depth < MAP_DEPTH && d->args &&
            ap_cstr_casecmp(d->directive, "<Proxy") != 0) {
            const map_scope inside = map_inside(w->r->pool, d, scope);

            map_level(w, d->first_child, &inside);
        }
    }
}

void status_map_write_json(request_rec *r)
{
    const map_scope all = {"all others", "", 0};
    map_walk w = {.r = r};

    ap_rputs(",\n\"map\":[", r);
    map_level(&w, ap_conftree, &all);
    ap_rputs("]", r);
}
