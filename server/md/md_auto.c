/* SPDX-License-Identifier: Apache-2.0 */
/* AutoHTTPS: a server in the clear gets a sibling with TLS, out of the same lines, and a managed domain. The lines that are
 * added stand at the end of the configuration, which is being read on: they are read as if they stood in its file. */
#include "md_directives_private.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

#define AUTO_HSTS_MOST (10 * 366 * 86400L)

/* ---- lines ---- */

static ap_directive_t *auto_line(apr_pool_t *p, const ap_directive_t *like, ap_directive_t *parent,
                                 const char *name, const char *args)
{
    ap_directive_t *d = apr_pcalloc(p, sizeof *d);

    BRG_ASSERT(like->filename && args);
    d->directive = name;
    d->args = args;
    d->filename = like->filename;
    d->line_num = like->line_num;
    d->parent = parent;
    return d;
}

static ap_directive_t **auto_end(ap_directive_t **list)
{
    while (*list)
        list = &(*list)->next;
    return list;
}

/* With its sections, but without AutoHTTPS. */
static ap_directive_t *auto_copy(apr_pool_t *p, const ap_directive_t *from, ap_directive_t *parent)
{
    ap_directive_t *first = NULL, **last = &first;

    for (; from; from = from->next) {
        if (!strcasecmp(from->directive, "AutoHTTPS"))
            continue;
        *last = apr_pmemdup(p, from, sizeof **last);
        (*last)->next = (*last)->last = NULL;
        (*last)->parent = parent;
        (*last)->first_child = auto_copy(p, from->first_child, *last);
        last = &(*last)->next;
    }
    return first;
}

/* The last one counts. */
static const char *auto_find(const ap_directive_t *d, const char *name)
{
    const char *args = NULL;

    for (; d; d = d->next)
        if (!strcasecmp(d->directive, name))
            args = d->args;
    return args;
}

/* Without scheme and port. NULL: no host */
static const char *auto_host(apr_pool_t *p, const ap_directive_t *d)
{
    const char *args = auto_find(d, "ServerName"), *word, *scheme;

    if (!args)
        return NULL;
    word = ap_getword_conf(p, &args);
    scheme = ap_strstr_c(word, "://");
    word = scheme ? scheme + 3 : word;
    return apr_pstrmemdup(p, word, strcspn(word, ":/"));
}

/* ---- ports ---- */

static int auto_listens(const ap_directive_t *d, const char *port)
{
    const size_t len = strlen(port);

    for (; d; d = d->next) {
        const size_t n = strcspn(d->args, " \t");

        if (!strcasecmp(d->directive, "Listen") && n >= len &&
            !strncmp(d->args + n - len, port, len) && (n == len || d->args[n - len - 1] == ':'))
            return 1;
    }
    return 0;
}

static void auto_append(apr_pool_t *p, const ap_directive_t *like, const char *port,
                        ap_directive_t *section)
{
    ap_directive_t **end = auto_end(&ap_conftree);

    BRG_ASSERT(section->first_child && !section->next);
    if (!auto_listens(ap_conftree, port)) {
        *end = auto_line(p, like, NULL, "Listen", port);
        end = &(*end)->next;
    }
    *end = section;
    ap_conftree->last = section;
}

/* ---- the directive ---- */

static ap_directive_t *auto_section(apr_pool_t *p, const ap_directive_t *like,
                                    const ap_directive_t *host, const char *name, const char *port)
{
    ap_directive_t *section =
        auto_line(p, like, NULL, "<VirtualHost", apr_pstrcat(p, "*:", port, ">", NULL));
    ap_directive_t **end = &section->first_child;

    BRG_ASSERT(name && port);
    *end = host ? auto_copy(p, host->first_child, section)
                : auto_line(p, like, section, "ServerName", name);
    *auto_end(end) = auto_line(p, like, section, "SSLEngine", "on");
    if (!host || !auto_find(host->first_child, "Protocols"))
        *auto_end(end) = auto_line(p, like, section, "Protocols", "h2 http/1.1 acme-tls/1");
    return section;
}

static const char *auto_hsts(const char *word, long *seconds)
{
    char *end;

    if (strncasecmp(word, "hsts=", 5) != 0)
        return "AutoHTTPS takes On or Off, and hsts=SECONDS";
    *seconds = strtol(word + 5, &end, 10);
    return *end || end == word + 5 || *seconds < 0 || *seconds > AUTO_HSTS_MOST
               ? "AutoHTTPS: hsts= takes a number of seconds, at most ten years"
               : NULL;
}

static void auto_domain(cmd_parms *cmd, const char *name, long hsts)
{
    md_domain *domain = md_domain_of_name(name);

    BRG_ASSERT(hsts >= 0);
    if (!domain) {
        domain = md_directive_new_domain(cmd, name);
        domain->own->agreement = "accepted";
    }
    domain->own->require_https = hsts ? MD_HTTPS_PERMANENT : MD_HTTPS_TEMPORARY;
    domain->hsts = hsts;
    domain->waits = 1;
    if (!cmd->server->is_virtual)
        md_all.base_server = 1;
}

const char *md_set_auto(cmd_parms *cmd, void *dummy, const char *arg, const char *more)
{
    const ap_directive_t *host = cmd->directive->parent;
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT), *name;
    const char *port = apr_itoa(cmd->pool, md_all.port_https);
    long hsts = 0;
    int on;

    if (!error)
        error = md_directive_not_inside(cmd);
    if (!error)
        error = md_directive_flag(cmd, arg, &on);
    if (!error && more)
        error = auto_hsts(more, &hsts);
    if (error || !on)
        return error;
    while (host && host->parent) /* out of <IfModule> and the like */
        host = host->parent;
    if (host && strcasecmp(host->directive, "<VirtualHost") != 0)
        host = NULL;
    if (!(name = auto_host(cmd->pool, host ? host->first_child : ap_conftree)))
        return "AutoHTTPS needs a ServerName in the same server";
    if (!md_all.port_https)
        return "AutoHTTPS: MDPortMap says that no port is reached as 443";
    auto_domain(cmd, name, hsts);
    auto_append(cmd->pool, cmd->directive, port,
                auto_section(cmd->pool, cmd->directive, host, name, port));
    return NULL;
}
