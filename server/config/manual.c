/* SPDX-License-Identifier: Apache-2.0 */
/* The manual of directives: see manual.h. Its source is in the program as it stands in docs/manual/directives. */
#include "manual.h"
#include "http_config.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

static const char manual_begin[] = {
#include "directives.inc"
};

const char *manual_text(void)
{
    BRG_ASSERT(manual_begin[sizeof manual_begin - 1] == '\0');
    return manual_begin;
}

const char *manual_next_line(const char *line)
{
    return line + strcspn(line, "\n") + (strchr(line, '\n') != NULL);
}

const char *manual_name(const char *line, size_t *len)
{
    *len = 0;
    if (strncmp(line, "= ", 2) != 0)
        return NULL;
    line += 2 + (line[2] == '<');
    *len = strcspn(line, ">\n");
    return line;
}

const char *manual_find(const char *name, const char **from)
{
    const char *bare = name + (*name == '<');
    const size_t want = strcspn(bare, ">");
    size_t len;

    *from = NULL;
    for (const char *line = manual_text(); *line; line = manual_next_line(line)) {
        const char *other = manual_name(line, &len);

        if (line[0] == '#' && line[1] == ' ')
            *from = line;
        if (want && len == want && !ap_cstr_casecmpn(other, bare, len)) {
            BRG_ASSERT(*from);
            return line;
        }
    }
    return NULL;
}

static int manual_is_built_in(const char *file, size_t len)
{
    for (module **m = ap_prelinked_modules; *m; m++)
        if (!strncmp((*m)->name, file, len) && !(*m)->name[len])
            return 1;
    return 0;
}

const char *manual_why_missing(apr_pool_t *p, const char *directive)
{
    const char *file;
    size_t len;

    if (!manual_find(directive, &file))
        return "";
    file += 2;
    len = strcspn(file, "\n");
    BRG_ASSERT(len > 2);
    return apr_psprintf(p, ": it is a directive of %.*s, which %s", (int)len - 2, file,
                        manual_is_built_in(file, len)
                            ? "is not active here (BuiltinModule, LoadModule)"
                            : "this program was built without (brigade -l lists what it has)");
}
