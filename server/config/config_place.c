/* SPDX-License-Identifier: Apache-2.0 */
/* Where a directive stands, for messages about its effect. */
#include "brigade/directive.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include "httpd.h"

static const char *const place_sections[] = {
    "<Directory", "<DirectoryMatch", "<Location", "<LocationMatch", "<Files",      "<FilesMatch",
    "<If",        "<ElseIf",         "<Else",     "<Proxy",         "<ProxyMatch", "<VirtualHost"};

/* The section that decides which requests a directive is for. */
static const ap_directive_t *place_section_of(const ap_directive_t *d)
{
    for (d = d->parent; d; d = d->parent)
        for (size_t i = 0; i < sizeof place_sections / sizeof *place_sections; i++)
            if (!ap_cstr_casecmp(d->directive, place_sections[i]))
                return d;
    return NULL;
}

BRG_DECLARE(const char *) brg_directive_place(apr_pool_t *p, const ap_directive_t *d)
{
    const ap_directive_t *section = place_section_of(d);
    const char *args = d->args ? d->args : "";
    const char *line = apr_pstrcat(p, d->filename, ":", apr_itoa(p, d->line_num), ": ",
                                   d->directive, *args ? " " : "", args, NULL);
    const char *file;

    BRG_ASSERT(d->filename != NULL);
    if (!section)
        return line;
    args = section->args ? section->args : ">";
    file = strcmp(section->filename, d->filename) ? apr_pstrcat(p, section->filename, ":", NULL)
                                                  : "line ";
    return apr_psprintf(p, "%s, in %s%s%s of %s%d", line, section->directive,
                        *args == '>' ? "" : " ", args, file, section->line_num);
}
