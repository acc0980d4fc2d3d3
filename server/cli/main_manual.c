/* SPDX-License-Identifier: Apache-2.0 */
/* -L NAME: the manual's text on a directive, on all directives of a module, or a guide. */
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/directive.h"
#include "configuration.h"
#include "module_rows.h"
#include "main_parts.h"
#include "manual.h"
#include <stdio.h>
#include <string.h>

static void manual_print(const char *entry, const char *from)
{
    const char *end = manual_next_line(entry);

    BRG_ASSERT(entry[0] == '=' && from[0] == '#');
    printf("%.*s (%.*s)\n", (int)strcspn(entry + 2, "\n"), entry + 2, (int)strcspn(from + 2, "\n"),
           from + 2);
    while (*end && strncmp(end, "= ", 2) != 0 && strncmp(end, "# ", 2) != 0) {
        const char *next = manual_next_line(end);

        if (strncmp(end, "    (in ", 8) != 0)
            fwrite(end, 1, (size_t)(next - end), stdout);
        end = next;
    }
}

/* The modules that offer a directive of this name, or names near to it. */
static void manual_tell_missing(apr_pool_t *p, const char *name)
{
    const char *from = module_rows_directive(name);
    brg_nearest nearest = {.word = name};
    size_t len;

    for (const char *line = manual_text(); *line; line = manual_next_line(line)) {
        const char *other = manual_name(line, &len);

        if (len)
            brg_nearest_offer(&nearest, apr_pstrmemdup(p, other, len));
    }
    if (from)
        fprintf(stderr, "No built-in module has a directive %s; Apache has it in %s.\n", name,
                from);
    else
        fprintf(stderr, "No directive, module or guide has the name %s%s\n", name,
                nearest.name ? brg_nearest_question(p, &nearest) : ".");
}

/* "mod_alias" or "mod_alias.c" of "# mod_alias.c". */
static int manual_is_module(const char *line, const char *name)
{
    size_t len = strcspn(line, "\n"), want = strlen(name);

    if (want > 2 && !strcmp(name + want - 2, ".c"))
        want -= 2;
    return len == want + 4 && !strncmp(line, "# ", 2) && !strncmp(line + 2, name, want);
}

/* The purpose of the module whose part begins at @a from, and all its entries. */
static void manual_print_module(const char *from)
{
    size_t len;

    for (const char *line = from, *next; *line && *line != '='; line = next) {
        next = manual_next_line(line);
        if (line != from && line[0] == '#')
            return;
        fwrite(line, 1, (size_t)(next - line), stdout);
    }
    fputc('\n', stdout);

    for (const char *line = manual_next_line(from); *line && strncmp(line, "# ", 2) != 0;
         line = manual_next_line(line))
        if (manual_name(line, &len)) {
            manual_print(line, from);
            fputc('\n', stdout);
        }
}

static const char *manual_find_module(const char *name)
{
    for (const char *line = manual_text(); *line; line = manual_next_line(line))
        if (manual_is_module(line, name))
            return line;
    return NULL;
}

int main_print_manual(apr_pool_t *p, const char *name)
{
    const char *part = manual_find_module(name), *from, *entry;

    if (part)
        manual_print_module(part);
    else if ((entry = manual_find(name, &from)) != NULL)
        manual_print(entry, from);
    else if (!main_print_guide(p, name)) {
        const int question = strchr(name, ' ') != NULL;

        if (!question)
            manual_tell_missing(p, name + (*name == '<'));
        fflush(stderr);
        return main_search_manual(p, name) && question;
    }
    return 1;
}
