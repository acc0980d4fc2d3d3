/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a macro: names of arguments are replaced, and the lines are read as a file. */
#include "brigade/assert.h"
#include "httpd.h"
#include "http_config.h"
#include "apr_strings.h"
#include "macro_private.h"
#include <string.h>

apr_array_header_t *macro_words(apr_pool_t *p, const char *text)
{
    apr_array_header_t *words = apr_array_make(p, 4, sizeof(const char *));

    while (*text)
        APR_ARRAY_PUSH(words, const char *) = ap_getword_conf(p, &text);
    return words;
}

/* The argument whose name is at @a at, the longest one; -1: none. */
static int macro_name_at(const char *at, const apr_array_header_t *names, size_t *len)
{
    int found = -1;

    *len = 0;
    for (int i = 0; i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, const char *);
        const size_t n = strlen(name);

        if (n > *len && !strncmp(at, name, n)) {
            found = i;
            *len = n;
        }
    }
    return found;
}

/* The value of "@name" is put in quotes, unless it is that name itself. */
static int macro_is_quoted(const char *name, const char *value)
{
    return *name == '@' && strcmp(name, value) != 0;
}

static size_t macro_value_length(const char *value, int quoted)
{
    size_t n = strlen(value);

    for (const char *c = value; quoted && *c; c++)
        n += *c == '"' || *c == '\\';
    return quoted ? n + 2 : n;
}

static char *macro_put_value(char *out, const char *value, int quoted)
{
    if (quoted)
        *out++ = '"';
    for (; *value; value++) {
        if (quoted && (*value == '"' || *value == '\\'))
            *out++ = '\\';
        *out++ = *value;
    }
    if (quoted)
        *out++ = '"';
    return out;
}

const char *macro_replace(const char *line, const apr_array_header_t *names,
                          const apr_array_header_t *values, char *out, char *used)
{
    size_t total = strlen(line);

    while (*line) {
        size_t len;
        const int i = macro_name_at(line, names, &len);
        const char *value;
        int quoted;

        if (i < 0) {
            *out++ = *line++;
            continue;
        }
        BRG_ASSERT(i < values->nelts);
        value = APR_ARRAY_IDX(values, i, const char *);
        quoted = macro_is_quoted(APR_ARRAY_IDX(names, i, const char *), value);
        /* the rest of the line counts with it, as if the replacement were made in place */
        total = total - len + macro_value_length(value, quoted);
        if (total + 2 > MACRO_LINE)
            return "cannot substitute, buffer size too small";
        out = macro_put_value(out, value, quoted);
        line += len;
        if (used)
            used[i] = 1;
    }
    *out = '\0';
    return NULL;
}

const char *macro_expand(apr_pool_t *p, const macro_definition *macro,
                         const apr_array_header_t *values, apr_array_header_t **lines)
{
    char out[MACRO_LINE];

    BRG_ASSERT(values->nelts == macro->arguments->nelts);
    *lines = apr_array_make(p, macro->lines->nelts + 1, sizeof(const char *));
    for (int i = 0; i < macro->lines->nelts; i++) {
        const char *error = macro_replace(APR_ARRAY_IDX(macro->lines, i, const char *),
                                          macro->arguments, values, out, NULL);

        if (error)
            return apr_psprintf(p, "while processing line %d of %s %s", i + 1, macro->whole, error);
        APR_ARRAY_PUSH(*lines, const char *) = apr_pstrdup(p, out);
    }
    return NULL;
}

/* ---- a file of lines ---- */

typedef struct macro_source {
    const apr_array_header_t *lines;
    int next;  /* index of the line */
    size_t at; /* in that line */
} macro_source;

static apr_status_t macro_getch(char *ch, void *param)
{
    macro_source *src = param;
    const char *line;

    if (src->next >= src->lines->nelts)
        return APR_EOF;
    line = APR_ARRAY_IDX(src->lines, src->next, const char *);
    BRG_ASSERT_DEBUG(src->at <= strlen(line));
    *ch = line[src->at] ? line[src->at] : '\n';
    if (line[src->at]) {
        src->at++;
    } else {
        src->next++;
        src->at = 0;
    }
    return APR_SUCCESS;
}

/* As fgets() does. */
static apr_status_t macro_getstr(void *buf, apr_size_t size, void *param)
{
    char *out = buf, *end = out + size - 1;

    BRG_ASSERT(size > 0);
    while (out < end) {
        if (macro_getch(out, param) != APR_SUCCESS)
            break;
        if (*out++ == '\n')
            break;
    }
    *out = '\0';
    return out == (char *)buf ? APR_EOF : APR_SUCCESS;
}

static apr_status_t macro_close(void *param)
{
    return APR_SUCCESS;
}

ap_configfile_t *macro_open(apr_pool_t *p, const char *name, const apr_array_header_t *lines)
{
    macro_source *src = apr_pcalloc(p, sizeof *src);

    src->lines = lines;
    return ap_pcfg_open_custom(p, name, src, macro_getch, macro_getstr, macro_close);
}
