/* SPDX-License-Identifier: Apache-2.0 */
/* Text to tree. A line becomes a node below the section that is open; a directive marked
 * EXEC_ON_READ is carried out at once instead, and may put a tree of its own in its place (Include,
 * <IfModule>).
 *
 * Messages are about parms->err_directive, for which a node is made even where none enters the
 * tree.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include "configuration.h"
#include "hook_needs.h"
#include "brigade/assert.h"
#include <limits.h>
#include <stdlib.h>

/* -D: there are lines that tell where others came from */
#define CONF_FLATTENED "BRIGADE_FLATTENED"

/* Where the next node goes. */
typedef struct conf_builder {
    apr_pool_t *p, *ptemp;
    cmd_parms *parms;
    ap_directive_t *first;   /* of the tree; NULL while it is empty */
    ap_directive_t *current; /* behind which the next node goes; NULL: first below parent */
    ap_directive_t *parent;  /* the open section */
} conf_builder;

apr_size_t conf_line_limit(const apr_pool_t *p, const apr_pool_t *ptemp)
{
    return p == ptemp ? CONF_HTACCESS_LINE_MAX : CONF_LINE_MAX;
}

static ap_directive_t *conf_node(const conf_builder *b, const char *name, const char *args)
{
    ap_directive_t *d = apr_pcalloc(b->p, sizeof *d);

    BRG_ASSERT(b->parms->config_file != NULL);
    d->filename = b->parms->config_file->name;
    d->line_num = (int)b->parms->config_file->line_number;
    d->directive = apr_pstrdup(b->p, name);
    d->args = apr_pstrdup(b->p, args);
    return d;
}

static void conf_attach(conf_builder *b, ap_directive_t *d, int section)
{
    BRG_ASSERT(d->next == NULL && d->first_child == NULL);
    b->current = ap_add_node(&b->parent, b->current, d, section);
    if (!b->first)
        b->first = d;
}

/* Put the nodes that an EXEC_ON_READ directive built where the directive stood. */
static void conf_splice(conf_builder *b, ap_directive_t *sub)
{
    ap_directive_t *last = sub;

    if (!sub)
        return;
    if (!b->first)
        b->first = sub;
    if (b->current)
        b->current->next = sub;
    else if (b->parent)
        b->parent->first_child = sub;
    for (;; last = last->next) {
        last->parent = b->parent;
        if (!last->next)
            break;
    }
    BRG_ASSERT(last->next == NULL);
    b->current = last;
}

/* "</Name>". As in Apache, words behind it are not looked at. */
static const char *conf_close_section(conf_builder *b, const char *name)
{
    const char *want;

    if (!b->parent)
        return apr_pstrcat(b->p, name, " without matching <", name + 2, " section", NULL);
    if (name[strlen(name) - 1] != '>')
        return apr_pstrcat(b->p, name, "> directive missing closing '>'", NULL);
    want = b->parent->directive + 1;
    if (ap_cstr_casecmp(name + 2, apr_pstrcat(b->ptemp, want, ">", NULL)))
        return apr_pstrcat(b->p, "Expected </", want, "> but saw ", name, NULL);
    BRG_ASSERT(b->first != NULL);
    b->current = b->parent;
    b->parent = b->parent->parent;
    return NULL;
}

/* All definitions of the directive that act when it is read. *done: there was one. */
static const char *conf_execute_now(conf_builder *b, ap_directive_t *d, int *done)
{
    ap_directive_t *saved = b->parms->directive;
    const char *error = NULL;

    *done = 0;
    for (const conf_command *c = conf_commands_find(d->directive); c; c = c->next) {
        ap_directive_t *sub = NULL;

        if (!(c->cmd->req_override & EXEC_ON_READ))
            continue;
        *done = 1;
        d->parent = b->parent;
        b->parms->directive = d;
        hook_needs_directive(c->mod, c->cmd->name, b->parms->server, b->parms->pool);
        error = conf_invoke(c->cmd, b->parms, &sub, d->args);
        b->parms->directive = saved;
        if (error && strcmp(error, DECLINE_CMD) != 0)
            break;
        error = NULL;
        conf_splice(b, sub);
    }
    d->parent = NULL;
    return error;
}

/* "<Name args>": the name goes without the '>' that closes a section with no arguments; args keeps
 * it. */
static const char *conf_split_section(char *name, const char *args)
{
    apr_size_t len = strlen(name);

    if (len < 2 || name[len - 1] != '>')
        return args;
    name[len - 1] = '\0';
    return *args ? args : ">";
}

/* "#@ 12 /etc/apache2/ports.conf" in a file that brigade-migrate made of several: the next line
 * came from there. Modules look for files beside the file that they are told (mod_security2 does),
 * and messages name a line that the reader knows. */
static void conf_take_origin(const conf_builder *b, const char *line)
{
    ap_configfile_t *f = b->parms->config_file;
    char *name;
    long n;

    if (line[1] != '@' || !ap_exists_config_define(CONF_FLATTENED))
        return;
    n = strtol(line + 2, &name, 10);
    if (n < 1 || n > INT_MAX || *name != ' ')
        return;
    f->name = apr_pstrdup(b->p, name + 1);
    f->line_number = (unsigned)n - 1;
}

/* One logical line. While it is taken, it is parms->err_directive: setters of EXEC_ON_READ look there for its name and
 * place, and an error in lines that it reads itself sets that to their own node. */
static const char *conf_take_line(conf_builder *b, const char *line)
{
    const ap_directive_t *saved = b->parms->err_directive;
    const char *args = line, *error;
    ap_directive_t *d;
    char *name;
    int done, is_section;

    if (*line == '#')
        conf_take_origin(b, line);
    if (*line == '#' || !*line)
        return NULL;
    name = ap_getword_conf(b->ptemp, &args);
    if (!*name)
        return NULL;
    is_section = name[0] == '<';
    if (is_section && name[1] != '/')
        args = conf_split_section(name, args);
    d = conf_node(b, name, ap_resolve_env(b->ptemp, args));
    b->parms->err_directive = d;
    if (is_section && name[1] == '/') {
        error = conf_close_section(b, name);
    } else {
        error = conf_execute_now(b, d, &done);
        if (!error && !done)
            conf_attach(b, d, is_section);
    }
    if (!error)
        b->parms->err_directive = saved;
    return error;
}

static const char *conf_read_error(conf_builder *b, apr_status_t rv)
{
    return APR_STATUS_IS_EOF(rv) ? NULL : ap_pcfg_strerror(b->p, b->parms->config_file, rv);
}

/* Read lines into b until the file ends, or until a line that is `until` ("</Name>") and nothing else. */
static const char *conf_take_lines(conf_builder *b, const char *until)
{
    conf_line line = {b->ptemp, NULL, 0, 0};
    apr_size_t max = conf_line_limit(b->p, b->ptemp);
    const ap_directive_t *outer = b->parent;
    apr_status_t rv;

    while ((rv = conf_read_line(&line, max, b->parms->config_file)) == APR_SUCCESS) {
        const char *error;

        if (until && b->parent == outer && !ap_cstr_casecmp(line.buf, until))
            return NULL;
        error = conf_take_line(b, line.buf);
        if (error)
            return error;
    }
    return conf_read_error(b, rv);
}

AP_DECLARE(const char *)
ap_build_cont_config(apr_pool_t *p, apr_pool_t *temp_pool, cmd_parms *parms,
                     ap_directive_t **current, ap_directive_t **curr_parent, char *orig_directive)
{
    conf_builder b = {p, temp_pool, parms, NULL, *current, *curr_parent};
    const char *until = apr_pstrcat(temp_pool, "</", orig_directive + 1, ">", NULL);
    const char *error = conf_take_lines(&b, until);

    /* Not closed, or with sections inside that are not: the end of the file closes all of them, as in Apache. */
    if (error)
        return error;
    /* Callers start with an empty tree and want its first node. */
    *current = b.first ? b.first : *current;
    *curr_parent = b.parent;
    return NULL;
}

/* Every section that is open, innermost first. */
static const char *conf_unclosed(conf_builder *b)
{
    const char *error = NULL;

    for (ap_directive_t *d = b->parent; d; d = d->parent) {
        error = apr_psprintf(b->p, "%s%s%s:%u: %s> was not closed.", error ? error : "",
                             error ? "\n" : "", d->filename, (unsigned)d->line_num, d->directive);
        b->parms->err_directive = d;
    }
    return error;
}

static ap_directive_t *conf_last(ap_directive_t *d)
{
    if (!d)
        return NULL;
    if (d->last)
        d = d->last;
    while (d->next)
        d = d->next;
    return d;
}

AP_DECLARE(const char *)
ap_build_config(cmd_parms *parms, apr_pool_t *conf_pool, apr_pool_t *temp_pool,
                ap_directive_t **conftree)
{
    conf_builder b = {conf_pool, temp_pool, parms, *conftree, conf_last(*conftree), NULL};
    const char *error = conf_take_lines(&b, NULL);

    if (!error)
        error = conf_unclosed(&b);
    *conftree = b.first;
    if (b.first && !b.parent)
        b.first->last = b.current;
    return error;
}
