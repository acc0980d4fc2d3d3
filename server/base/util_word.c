/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking words off the front of a line: up to a character, up to white space, and with the quoting
 * rules of configuration files. Each function moves *line past the word and the separator behind
 * it.
 */
#include <string.h>
#include "httpd.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include "util_char.h"

static char *util_take(apr_pool_t *p, const char **line, const char *end)
{
    char *word;

    BRG_ASSERT(end >= *line);
    word = apr_pstrmemdup(p, *line, (apr_size_t)(end - *line));
    *line = end;
    return word;
}

AP_DECLARE(char *) ap_getword(apr_pool_t *p, const char **line, char stop)
{
    char *word = util_take(p, line, strchrnul(*line, stop));

    if (stop)
        while (**line == stop)
            ++*line;
    return word;
}

AP_DECLARE(char *) ap_getword_nc(apr_pool_t *p, char **line, char stop)
{
    return ap_getword(p, (const char **)line, stop);
}

AP_DECLARE(char *) ap_getword_white(apr_pool_t *p, const char **line)
{
    char *word = util_take(p, line, util_skip_to(*line, UTIL_C_SPACE));

    *line = util_skip(*line, UTIL_C_SPACE);
    return word;
}

AP_DECLARE(char *) ap_getword_white_nc(apr_pool_t *p, char **line)
{
    return ap_getword_white(p, (const char **)line);
}

AP_DECLARE(char *) ap_getword_nulls(apr_pool_t *p, const char **line, char stop)
{
    char *word = util_take(p, line, strchrnul(*line, stop));

    if (**line)
        ++*line;
    return word;
}

AP_DECLARE(char *) ap_getword_nulls_nc(apr_pool_t *p, char **line, char stop)
{
    return ap_getword_nulls(p, (const char **)line, stop);
}

/* The end of a quoted word that starts after the quote: at the closing quote or the end of the
 * string. */
static const char *util_quote_end(const char *s, char quote)
{
    while (*s && *s != quote) {
        if (*s == '\\' && (s[1] == '\\' || s[1] == quote))
            s++;
        s++;
    }
    return s;
}

/* Copy s..end without the backslashes before a backslash or a quote (NUL for a word without
 * quotes). */
static char *util_unquote(apr_pool_t *p, const char *s, const char *end, char quote)
{
    apr_size_t room = (apr_size_t)(end - s);
    char *word, *d;

    BRG_ASSERT(end >= s);
    word = d = apr_palloc(p, room + 1);
    while (s < end) {
        if (*s == '\\' && (s[1] == '\\' || (quote && s[1] == quote)))
            s++;
        *d++ = *s++;
    }
    BRG_ASSERT(d <= word + room);
    *d = '\0';
    return word;
}

static char *util_take_bare(apr_pool_t *p, const char **line)
{
    const char *start = *line;

    *line = util_skip_to(start, UTIL_C_SPACE);
    return util_unquote(p, start, *line, '\0');
}

static char *util_take_quoted(apr_pool_t *p, const char **line)
{
    const char *start = *line + 1, quote = **line, *end = util_quote_end(start, quote);

    *line = *end ? end + 1 : end;
    return util_unquote(p, start, end, quote);
}

AP_DECLARE(char *) ap_getword_conf(apr_pool_t *p, const char **line)
{
    char *word;

    *line = util_skip(*line, UTIL_C_SPACE);
    if (**line == '"' || **line == '\'')
        word = util_take_quoted(p, line);
    else
        word = util_take_bare(p, line);
    *line = util_skip(*line, UTIL_C_SPACE);
    return word;
}

AP_DECLARE(char *) ap_getword_conf_nc(apr_pool_t *p, char **line)
{
    return ap_getword_conf(p, (const char **)line);
}

/* A word in braces, which may hold balanced braces; the outer ones are dropped. */
static char *util_take_braced(apr_pool_t *p, const char **line)
{
    const char *start = *line + 1, *end = start;
    int depth = 1;
    char *word;

    for (; *end; end++)
        if (*end == '{')
            depth++;
        else if (*end == '}' && --depth == 0)
            break;
    word = util_unquote(p, start, end, '\0');
    *line = *end ? end + 1 : end;
    return word;
}

AP_DECLARE(char *) ap_getword_conf2(apr_pool_t *p, const char **line)
{
    const char *at;
    char *word;

    *line = at = util_skip(*line, UTIL_C_SPACE);
    if (*at != '{')
        return ap_getword_conf(p, line);
    word = util_take_braced(p, line);
    *line = util_skip(*line, UTIL_C_SPACE);
    return word;
}

AP_DECLARE(char *) ap_getword_conf2_nc(apr_pool_t *p, char **line)
{
    return ap_getword_conf2(p, (const char **)line);
}

AP_DECLARE(char *) ap_get_token(apr_pool_t *p, const char **accept_line, int accept_white)
{
    const char *end;
    char *token;

    *accept_line = end = util_skip(*accept_line, UTIL_C_SPACE);
    while (*end && *end != ';' && *end != ',' && (accept_white || !util_is(*end, UTIL_C_SPACE))) {
        if (*end++ == '"') {
            end = strchrnul(end, '"');
            end += *end == '"';
        }
    }
    token = util_take(p, accept_line, end);
    *accept_line = util_skip(end, UTIL_C_SPACE);
    return token;
}

AP_DECLARE(char *) ap_field_noparam(apr_pool_t *p, const char *intype)
{
    const char *end;

    if (!intype)
        return NULL;
    end = strchrnul(intype, ';');
    while (*end && end > intype && util_is(end[-1], UTIL_C_SPACE))
        end--;
    return apr_pstrmemdup(p, intype, (apr_size_t)(end - intype));
}
