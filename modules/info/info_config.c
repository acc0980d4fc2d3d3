/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of directives, as a page or as text. Sections stand with their content; empty ones are
 * left out. */
#include "info_private.h"
#include "brigade/assert.h"
#include "util_cfgtree.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include <string.h>

typedef struct info_writer {
    request_rec *r;   /* NULL: text */
    apr_file_t *out;  /* NULL: a page */
    const module *m;  /* whose directives; NULL: all */
    const char *file; /* that was named last */
} info_writer;

static void info_indent(const info_writer *w, int depth, const char *blank)
{
    BRG_ASSERT((w->r == NULL) != (w->out == NULL));
    for (int i = 0; i < depth; i++)
        if (w->r)
            ap_rputs(blank, w->r);
        else
            apr_file_puts(blank, w->out);
}

static void info_name_file(info_writer *w, const char *file)
{
    if (w->file && !strcmp(w->file, file))
        return;
    w->file = file;
    if (w->r)
        ap_rprintf(w->r, "<dd><tt><strong>In file: %s</strong></tt></dd>\n",
                   ap_escape_html(w->r->pool, file));
    else
        apr_file_printf(w->out, "# In file: %s\n", file);
}

/* The number of a line, in four places; 0: none. */
static void info_begin(const info_writer *w, int line, int depth)
{
    if (!w->r) {
        if (line) {
            info_indent(w, depth, "  ");
            apr_file_printf(w->out, "#%4d:\n", line);
        }
        info_indent(w, depth, "  ");
        return;
    }
    ap_rputs("<dd><tt>", w->r);
    info_indent(w, (line < 1) + (line < 10) + (line < 100) + (line < 1000), "&nbsp;");
    if (line)
        ap_rprintf(w->r, "%d", line);
    ap_rputs(":&nbsp;", w->r);
    info_indent(w, depth, "&nbsp;&nbsp;");
}

static void info_directive(info_writer *w, const ap_directive_t *d, int depth)
{
    info_name_file(w, d->filename);
    info_begin(w, d->line_num, depth);
    if (w->r)
        ap_rprintf(w->r, d->first_child ? "%s %s</tt></dd>\n" : "%s <i>%s</i></tt></dd>\n",
                   ap_escape_html(w->r->pool, d->directive), ap_escape_html(w->r->pool, d->args));
    else
        apr_file_printf(w->out, "%s %s\n", d->directive, d->args);
}

static void info_end_of_section(info_writer *w, const ap_directive_t *d, int depth)
{
    BRG_ASSERT(d->first_child != NULL);
    info_name_file(w, d->filename);
    info_begin(w, 0, depth);
    if (w->r)
        ap_rprintf(w->r, "&lt;/%s&gt;</tt></dd>", ap_escape_html(w->r->pool, d->directive + 1));
    else
        apr_file_printf(w->out, "</%s>\n", d->directive + 1);
}

static int info_is_wanted(const info_writer *w, const ap_directive_t *d)
{
    if (!w->m)
        return 1;
    for (const command_rec *cmd = w->m->cmds; cmd && cmd->name; cmd++)
        if (!strcasecmp(cmd->name, d->directive))
            return 1;
    return 0;
}

static int info_has_wanted(const info_writer *w, const ap_directive_t *d)
{
    for (; d; d = d->next)
        if (d->first_child ? info_has_wanted(w, d->first_child) : info_is_wanted(w, d))
            return 1;
    return 0;
}

static void info_level(info_writer *w, const ap_directive_t *d, int depth)
{
    BRG_ASSERT(depth >= 0);
    for (; d; d = d->next) {
        if (!d->first_child && info_is_wanted(w, d)) {
            info_directive(w, d, depth);
        } else if (d->first_child && info_has_wanted(w, d->first_child)) {
            info_directive(w, d, depth);
            info_level(w, d->first_child, depth + 1);
            info_end_of_section(w, d, depth);
        }
    }
}

void info_config(request_rec *r, const module *m)
{
    info_writer w = {.r = r, .m = m};

    info_level(&w, ap_conftree, 0);
}

void info_config_dump(apr_file_t *out)
{
    info_writer w = {.out = out};

    info_level(&w, ap_conftree, 0);
}
