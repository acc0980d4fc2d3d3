/* SPDX-License-Identifier: Apache-2.0 */
/* Of --explain: lines of the configuration, with their places. */
#include "main_explain_private.h"
#include "ap_expr.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"

#include <string.h>

APLOG_USE_MODULE(core);

static int show_is(const ap_directive_t *d, const char *name)
{
    return !ap_cstr_casecmp(d->directive, name);
}

static const module *show_module(const ap_directive_t *d, const command_rec **command)
{
    module *m = ap_top_module;

    *command = ap_find_command_in_modules(d->directive, &m);
    return *command ? m : NULL;
}

static const char *show_line(apr_pool_t *p, const ap_directive_t *d)
{
    return apr_psprintf(p, "%s:%d: %s%s%s", d->filename, d->line_num, d->directive,
                        d->args && *d->args ? " " : "", d->args ? d->args : "");
}

/* ---- sections ---- */

/* Sections that are merged by themselves where they match. */
static int show_is_section(const ap_directive_t *d)
{
    static const char *const names[] = {
        "<Directory", "<DirectoryMatch", "<Location", "<LocationMatch", "<Files", "<FilesMatch",
        "<If",        "<ElseIf",         "<Else",     "<VirtualHost",   "<Proxy", "<ProxyMatch"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (show_is(d, names[i]))
            return 1;
    return 0;
}

static void show_note(apr_pool_t *p, const ap_directive_t *d, apr_array_header_t *lines)
{
    const command_rec *command;
    const module *m = show_module(d, &command);

    if (m && strcmp(m->name, "core.c")) /* it gives no reason that is a line's */
        APR_ARRAY_PUSH(lines, explain_line) = (explain_line){m->name, show_line(p, d), d};
}

/* Whether it holds or not, its condition was looked at. */
static void show_note_condition(apr_pool_t *p, const ap_directive_t *d, apr_array_header_t *lines)
{
    if (show_is(d, "<If") || show_is(d, "<ElseIf"))
        APR_ARRAY_PUSH(lines, explain_line) = (explain_line){"core.c", show_line(p, d), d};
}

static void show_lines(apr_array_header_t *to, const ap_directive_t *d, int indent,
                       apr_array_header_t *lines)
{
    for (; d; d = d->next) {
        show_note_condition(to->pool, d, lines);
        if (show_is_section(d))
            continue;
        show_note(to->pool, d, lines);
        explain_at(to, indent, d, "");
        show_lines(to, d->first_child, indent + 4, lines);
    }
}

void explain_section(apr_array_header_t *to, const ap_directive_t *section,
                     apr_array_header_t *lines)
{
    if (!*section->directive) { /* an access file */
        explain_text(to, 4, section->filename);
        show_lines(to, section->first_child, 8, lines);
        return;
    }
    show_note_condition(to->pool, section, lines);
    explain_at(to, 4, section, "");
    show_lines(to, section->first_child, 8, lines);
}

/* ---- the server ---- */

static const ap_directive_t *show_host(const server_rec *s)
{
    if (!s->is_virtual || !s->defn_name)
        return NULL;
    for (const ap_directive_t *d = ap_conftree; d; d = d->next)
        if (show_is(d, "<VirtualHost") && d->line_num == (int)s->defn_line_number &&
            !strcmp(d->filename, s->defn_name))
            return d;
    return NULL;
}

/* Lines by the hundred that name types, icons and languages, and rules, which are told where they do something. */
static int show_is_left_out(const module *m)
{
    static const char *const names[] = {"mod_mime.c",  "mod_autoindex.c", "mod_negotiation.c",
                                        "mod_alias.c", "mod_rewrite.c",   "mod_setenvif.c",
                                        "mod_proxy.c"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(m->name, names[i]))
            return 1;
    return 0;
}

static int show_server_lines(apr_array_header_t *to, const ap_directive_t *d,
                             apr_array_header_t *lines, int n)
{
    for (; d; d = d->next) {
        const command_rec *command;
        const module *m = show_is_section(d) ? NULL : show_module(d, &command);

        show_note_condition(to->pool, d, lines);
        if (!m || !(command->req_override & (OR_ALL | ACCESS_CONF)))
            continue;
        show_note(to->pool, d, lines);
        if (show_is_left_out(m))
            continue;
        if (!n++)
            explain_head(to, "server", "Lines of the server for all its requests:", "");
        explain_at(to, 4, d, "");
    }
    return n;
}

void explain_server(apr_array_header_t *to, const server_rec *s, apr_array_header_t *lines)
{
    const ap_directive_t *host = show_host(s);
    const int n = show_server_lines(to, ap_conftree, lines, 0);

    if (host)
        show_server_lines(to, host->first_child, lines, n);
}

/* ---- handler and filters ---- */

const char *explain_filters(apr_pool_t *p, const request_rec *r)
{
    const char *text = "";

    for (const ap_filter_t *f = r->output_filters; f && f->frec->ftype < AP_FTYPE_CONNECTION;
         f = f->next)
        text = apr_pstrcat(p, text, *text ? ", " : "", f->frec->name, NULL);
    return text;
}

int explain_makes_body(const request_rec *r)
{
    for (const ap_filter_t *f = r->output_filters; f; f = f->next)
        if (!ap_cstr_casecmp(f->frec->name, "INCLUDES"))
            return 1;
    return 0;
}

int explain_is_run(const request_rec *r, const char *configured)
{
    static const char *const names[] = {"default-handler", "httpd/unix-directory",
                                        "redirect-handler", "type-map"};

    if (!configured)
        return strncmp(r->handler, "application/x-httpd-", 20) != 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(configured, names[i]))
            return 1;
    return 0;
}

/* ---- logs ---- */

static const ap_directive_t *show_format(apr_pool_t *p, const char *name)
{
    for (const ap_directive_t *d = ap_conftree; name && d; d = d->next) {
        const char *args = d->args;

        if (!show_is(d, "LogFormat"))
            continue;
        ap_getword_conf(p, &args);
        if (!strcmp(ap_getword_conf(p, &args), name))
            return d;
    }
    return NULL;
}

/* @return 1: the condition holds, 0: not; -1: it cannot be told here */
static int show_condition(request_rec *r, const char *condition)
{
    const char *error = NULL;
    ap_expr_info_t *expr;
    int holds;

    if (!*condition)
        return 1;
    if (!strncmp(condition, "env=!", 5))
        return !apr_table_get(r->subprocess_env, condition + 5);
    if (!strncmp(condition, "env=", 4))
        return apr_table_get(r->subprocess_env, condition + 4) != NULL;
    if (strncmp(condition, "expr=", 5))
        return -1;
    expr = apr_pcalloc(r->pool, sizeof *expr);
    expr->filename = "";
    expr->flags = AP_EXPR_FLAG_DONT_VARY;
    expr->module_index = APLOG_MODULE_INDEX;
    if (ap_expr_parse(r->pool, r->pool, expr, condition + 5, NULL))
        return -1;
    holds = ap_expr_exec(r, expr, &error);
    return error ? -1 : holds > 0;
}

static void show_log(apr_array_header_t *to, request_rec *r, const ap_directive_t *d)
{
    const char *args = d->args, *format, *condition;
    const ap_directive_t *line;
    int holds;

    ap_getword_conf(r->pool, &args);
    format = ap_getword_conf(r->pool, &args);
    condition = ap_getword_conf(r->pool, &args);
    if (!strncmp(format, "env=", 4) || !strncmp(format, "expr=", 5))
        condition = format;
    holds = show_condition(r, condition);
    line = show_format(r->pool, format);
    explain_at(to, 4, d,
               holds == 1   ? ""
               : holds == 0 ? " (no: its condition does not hold)"
                            : " (if its condition holds)");
    if (line)
        explain_at(to, 8, line, "");
}

static int show_logs_of(apr_array_header_t *to, request_rec *r, const ap_directive_t *d, int all)
{
    int n = 0;

    for (; d; d = d->next) {
        const int is_log = show_is(d, "CustomLog") || show_is(d, "TransferLog");

        if ((is_log && all) || (show_is(d, "GlobalLog") && d->parent == NULL))
            show_log(to, r, d);
        n += is_log;
    }
    return n;
}

void explain_logs(apr_array_header_t *to, request_rec *r)
{
    const ap_directive_t *host = show_host(r->server);
    const int own = host ? show_logs_of(to, r, host->first_child, 1) : 0;

    show_logs_of(to, r, ap_conftree, !own);
}

/* ---- the cache ---- */

static int show_cache_of(apr_array_header_t *to, const ap_directive_t *d, const char *path)
{
    apr_pool_t *p = to->pool;
    int n = 0;

    for (; d; d = d->next) {
        const char *args = d->args, *prefix;

        if (!show_is(d, "CacheEnable") && !show_is(d, "CacheDisable"))
            continue;
        if (show_is(d, "CacheEnable"))
            ap_getword_conf(p, &args);
        prefix = ap_getword_conf(p, &args);
        if (strncmp(path, prefix, strlen(prefix)) != 0)
            continue;
        explain_at(to, 4, d, "");
        n++;
    }
    return n;
}

int explain_cache_lines(apr_array_header_t *to, const server_rec *s, const char *path)
{
    const ap_directive_t *host = show_host(s);
    int n = show_cache_of(to, ap_conftree, path);

    if (host)
        n += show_cache_of(to, host->first_child, path);
    return n;
}
