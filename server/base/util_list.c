/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header fields that are lists (RFC 9110 section 5.6.1): items, tokens and entity tags. Quoted
 * strings, comments and backslashes hide commas, so every function goes through the same small
 * scanner.
 */
#include <string.h>
#include "httpd.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include "apr_tables.h"
#include "util_char.h"

/* Where the scan of a list stands. */
typedef struct util_scan {
    int comment; /* depth of parentheses */
    int quoted;  /* inside of "..." */
    int escaped; /* after a backslash */
} util_scan;

/* Is the next character part of a quoted string, a comment or an escape? */
static int util_scan_hidden(const util_scan *at)
{
    return at->quoted || at->comment || at->escaped;
}

static void util_scan_step(util_scan *at, char c)
{
    if (at->escaped)
        at->escaped = 0;
    else if (c == '\\')
        at->escaped = 1;
    else if (c == '"' && !at->comment)
        at->quoted = !at->quoted;
    else if (c == '(' && !at->quoted)
        at->comment++;
    else if (c == ')' && !at->quoted && at->comment)
        at->comment--;
}

static const char *util_list_skip(const char *s)
{
    while (*s == ',' || util_is(*s, UTIL_C_SPACE))
        s++;
    return s;
}

AP_DECLARE(const char *) ap_size_list_item(const char **field, int *len)
{
    const char *item = util_list_skip(*field), *s = item;
    util_scan at = {0, 0, 0};

    if (!*s) {
        *field = s;
        *len = 0;
        return NULL;
    }
    for (; *s && (*s != ',' || util_scan_hidden(&at)); s++)
        util_scan_step(&at, *s);
    *len = (int)(s - item);
    BRG_ASSERT(s > item);
    *field = util_list_skip(s);
    return item;
}

/* No white space remains beside these. */
static int util_is_joiner(char c)
{
    return c == ';' || c == '=' || c == '/';
}

/*
 * Copy item[0..len) to d: lower case and with at most one space between words, quoted strings and
 * comments as they are. d may be as long as the item. Returns the end, which is terminated.
 */
static char *util_list_canonical(char *d, const char *item, size_t len)
{
    util_scan at = {0, 0, 0};
    const char *s = item, *end = item + len;
    int space = 0, joined = 1;

    for (; s < end; s++) {
        int hidden = util_scan_hidden(&at);

        util_scan_step(&at, *s);
        if (!hidden && (*s == ' ' || *s == '\t')) {
            space = 1;
            continue;
        }
        if (space && (hidden || !(joined || util_is_joiner(*s) || *s == ')')))
            *d++ = ' ';
        space = 0;
        joined = !hidden && util_is_joiner(*s);
        *d++ = hidden ? *s : util_lower(*s);
    }
    *d = '\0';
    return d;
}

AP_DECLARE(char *) ap_get_list_item(apr_pool_t *p, const char **field)
{
    int len;
    const char *item = ap_size_list_item(field, &len);
    char *out, *end;

    if (!item)
        return NULL;
    out = apr_palloc(p, (apr_size_t)len + 1);
    end = util_list_canonical(out, item, (size_t)len);
    BRG_ASSERT(end <= out + len);
    return out;
}

AP_DECLARE(int) ap_find_list_item(apr_pool_t *p, const char *line, const char *tok)
{
    const char *item;
    char *wanted, *have;
    size_t want;
    int len;

    if (!line || !tok)
        return 0;
    want = strlen(tok);
    wanted = apr_palloc(p, want + 1);
    want = (size_t)(util_list_canonical(wanted, tok, want) - wanted);
    BRG_ASSERT(want <= strlen(tok));
    have = apr_palloc(p, strlen(line) + 1);
    while ((item = ap_size_list_item(&line, &len)) != NULL)
        if ((size_t)(util_list_canonical(have, item, (size_t)len) - have) == want &&
            memcmp(have, wanted, want) == 0)
            return 1;
    return 0;
}

/* Entity tags hold no white space outside of quotes, so they are compared in place. */
static int util_find_etag(const char *line, const char *tok, int strong)
{
    size_t want;
    const char *item;
    int len;

    if (!line || !tok)
        return 0;
    if (tok[0] == 'W' && tok[1] == '/') {
        if (strong)
            return 0;
        tok += 2;
    }
    want = strlen(tok);
    if (tok[0] != '"')
        return 0;
    while ((item = ap_size_list_item(&line, &len)) != NULL) {
        size_t have = (size_t)len;

        while (have && util_is(item[have - 1], UTIL_C_SPACE))
            have--;
        if (!strong && have > 2 && item[0] == 'W' && item[1] == '/') {
            item += 2;
            have -= 2;
        }
        if (have == want && memcmp(item, tok, want) == 0)
            return 1;
        /* a list with something else in it is not trusted */
        if (item[0] == 'W' && have > 2 && item[1] == '/') {
            item += 2;
            have -= 2;
        }
        if (have < 2 || item[0] != '"' || item[have - 1] != '"')
            return 0;
    }
    return 0;
}

AP_DECLARE(int) ap_find_etag_weak(apr_pool_t *p, const char *line, const char *tok)
{
    return util_find_etag(line, tok, 0);
}

AP_DECLARE(int) ap_find_etag_strong(apr_pool_t *p, const char *line, const char *tok)
{
    return util_find_etag(line, tok, 1);
}

AP_DECLARE(const char *) ap_scan_http_field_content(const char *ptr)
{
    return util_skip(ptr, UTIL_C_FIELD);
}

AP_DECLARE(const char *) ap_scan_http_token(const char *ptr)
{
    return util_skip(ptr, UTIL_C_TOKEN);
}

AP_DECLARE(const char *) ap_scan_vchar_obstext(const char *ptr)
{
    return util_skip(ptr, UTIL_C_VISIBLE);
}

/* Returns the error of the separator, or NULL. */
static const char *util_token_error(apr_pool_t *p, char c)
{
    char text[] = "Encountered illegal separator '\\x00'";

    util_put_hex(text + sizeof(text) - 4, (unsigned char)c);
    return apr_pstrmemdup(p, text, sizeof(text) - 1);
}

AP_DECLARE(const char *)
ap_parse_token_list_strict(apr_pool_t *p, const char *tok, apr_array_header_t **tokens,
                           int skip_invalid)
{
    while (*tok) {
        const char *start = tok, *end;

        while (*start == ' ' || *start == '\t')
            start++;
        end = tok = util_skip(start, UTIL_C_TOKEN);
        while (*tok == ' ' || *tok == '\t')
            tok++;
        if (*tok && *tok != ',') {
            if (tok > end && end > start && util_is(*tok, UTIL_C_TOKEN))
                return "Encountered illegal whitespace in token";
            if (!skip_invalid)
                return util_token_error(p, *tok);
            tok = strchrnul(tok, ',');
            end = start;
        }
        if (end > start) {
            if (!*tokens)
                *tokens = apr_array_make(p, 4, sizeof(char *));
            APR_ARRAY_PUSH(*tokens, char *) = apr_pstrmemdup(p, start, (apr_size_t)(end - start));
        }
        if (*tok == ',')
            tok++;
    }
    return NULL;
}

AP_DECLARE(int) ap_find_token(apr_pool_t *p, const char *line, const char *tok)
{
    size_t want;

    if (!line || !tok)
        return 0;
    want = strlen(tok);
    while (*line) {
        const char *start = line;

        while (*start && !util_is(*start, UTIL_C_TOKEN))
            start++;
        if (!*start)
            return 0;
        line = util_skip(start, UTIL_C_TOKEN);
        if ((size_t)(line - start) == want && ap_cstr_casecmpn(start, tok, want) == 0)
            return 1;
    }
    return 0;
}

AP_DECLARE(int) ap_find_last_token(apr_pool_t *p, const char *line, const char *tok)
{
    size_t have, want;
    const char *last;

    if (!line || !tok)
        return 0;
    have = strlen(line);
    want = strlen(tok);
    if (have < want)
        return 0;
    last = line + (have - want);
    if (last > line && last[-1] != ',' && !util_is(last[-1], UTIL_C_SPACE))
        return 0;
    return ap_cstr_casecmpn(last, tok, want) == 0;
}

AP_DECLARE(int) ap_is_chunked(apr_pool_t *p, const char *line)
{
    const char *last;

    if (!line)
        return 0;
    last = strrchr(line, ',');
    last = util_skip(last ? last + 1 : line, UTIL_C_SPACE);
    return ap_cstr_casecmp(last, "chunked") == 0;
}
