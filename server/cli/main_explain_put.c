/* SPDX-License-Identifier: Apache-2.0 */
/* Of --explain: the report as a list of lines, which is printed for people or, with --json, for programs. */
#include "main_explain_private.h"
#include "brigade/assert.h"
#include "brigade/json.h"
#include "apr_strings.h"

#include <stdlib.h>
#include <string.h>

static explain_item *put_item(apr_array_header_t *to, int indent, const char *text)
{
    explain_item *item = apr_array_push(to);

    BRG_ASSERT(indent >= 0);
    *item = (explain_item){.indent = indent, .heading = "", .text = text};
    return item;
}

explain_item *explain_head(apr_array_header_t *to, const char *name, const char *heading,
                           const char *text)
{
    explain_item *item = put_item(to, 0, text);

    item->name = name;
    item->heading = heading;
    return item;
}

explain_item *explain_text(apr_array_header_t *to, int indent, const char *text)
{
    return put_item(to, indent, apr_pstrdup(to->pool, text));
}

void explain_at(apr_array_header_t *to, int indent, const ap_directive_t *d, const char *behind)
{
    explain_item *item =
        put_item(to, indent,
                 apr_pstrcat(to->pool, d->directive, d->args && *d->args ? " " : "",
                             d->args ? d->args : "", behind, NULL));

    item->file = apr_pstrdup(to->pool, d->filename);
    item->line = d->line_num;
}

void explain_lines_of(apr_array_header_t *to, const char *text)
{
    char *state, *copy = apr_pstrdup(to->pool, text);

    for (char *line = apr_strtok(copy, "\n", &state); line; line = apr_strtok(NULL, "\n", &state)) {
        const int indent = (int)strspn(line, " ");

        put_item(to, indent, line + indent);
    }
}

/* ---- for people ---- */

static void put_text(FILE *out, const explain_item *item)
{
    fprintf(out, "%*s%s", item->indent, "", item->heading);
    if (item->file && item->indent)
        fprintf(out, "%s:%d: ", item->file, item->line);
    fputs(item->text, out);
    if (item->file && !item->indent)
        fprintf(out, " (%s:%d)", item->file, item->line);
    fputc('\n', out);
}

/* ---- for programs ---- */

static void put_string(FILE *out, const char *name, const char *value)
{
    const apr_size_t len = strlen(value), room = len * BRG_JSON_GROWTH + 1;
    char *text = malloc(room);

    if (!text)
        return;
    fprintf(out, "\"%s\":\"%.*s\"", name, (int)brg_json_escape(text, room, value, len), text);
    free(text);
}

/* The item at @a i with the items below it. @return the next one */
static int put_json(FILE *out, const apr_array_header_t *items, int i)
{
    const explain_item *item = &APR_ARRAY_IDX(items, i, explain_item);
    const char *comma = "{";

    if (item->name) {
        fputs(comma, out);
        put_string(out, "name", item->name);
        comma = ",";
    }
    if (item->file) {
        fputs(comma, out);
        put_string(out, "file", item->file);
        fprintf(out, ",\"line\":%d", item->line);
        comma = ",";
    }
    if (*item->text) {
        fputs(comma, out);
        put_string(out, "text", item->text);
        comma = ",";
    }
    for (i++; i < items->nelts && APR_ARRAY_IDX(items, i, explain_item).indent > item->indent;) {
        fputs(*comma == ']' ? "," : *comma == '{' ? "{\"lines\":[" : ",\"lines\":[", out);
        i = put_json(out, items, i);
        comma = "]";
    }
    fputs(*comma == ']' ? "]}" : *comma == '{' ? "{}" : "}", out);
    return i;
}

void explain_print(FILE *out, const apr_array_header_t *items, int json)
{
    if (json)
        fputs("{\"report\":[\n", out);
    for (int i = 0; i < items->nelts;) {
        if (json) {
            fputs(i ? ",\n" : "", out);
            i = put_json(out, items, i);
        } else {
            put_text(out, &APR_ARRAY_IDX(items, i++, explain_item));
        }
    }
    if (json)
        fputs("\n]}\n", out);
    fflush(out);
}
