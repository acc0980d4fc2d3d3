/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: reading, look-ups, writing. */
#include "md_json.h"
#include "brigade/json.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

#define JSON_NUMBER_MOST (INT64_C(1) << 53)

typedef struct json_reader {
    apr_pool_t *p;
    const unsigned char *at, *end;
    int values;
} json_reader;

static md_json *json_value(json_reader *r, int depth);

static void json_blanks(json_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static int json_take(json_reader *r, char c)
{
    json_blanks(r);
    if (r->at >= r->end || *r->at != (unsigned char)c)
        return 0;
    r->at++;
    return 1;
}

/* ---- texts ---- */

/* @return -1: no four digits */
static int json_hex(const unsigned char *at, const unsigned char *end)
{
    int value = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const unsigned char c = at[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;

        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static char *json_put_character(char *to, unsigned long c)
{
    BRG_ASSERT(c > 0 && c < 0x110000);
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *to++ = (char)(0xe0 | c >> 12);
        } else {
            *to++ = (char)(0xf0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (c & 0x3f));
    return to;
}

/* Behind "\u". @return 0: no character, or one half of a pair, or NUL */
static unsigned long json_unicode(json_reader *r)
{
    const int high = json_hex(r->at, r->end);
    int low;

    if (high <= 0)
        return 0;
    r->at += 4;
    if (high < 0xd800 || high > 0xdfff)
        return (unsigned long)high;
    if (high > 0xdbff || r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
        return 0;
    low = json_hex(r->at + 2, r->end);
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    r->at += 6;
    return 0x10000 + ((unsigned long)(high - 0xd800) << 10) + (unsigned long)(low - 0xdc00);
}

/* Behind a backslash. @return where the next byte goes; NULL: no such escape */
static char *json_escape(json_reader *r, char *to)
{
    static const char from[] = "\"\\/bfnrt", as[] = "\"\\/\b\f\n\r\t";
    const char *known;
    unsigned long c;

    if (r->at >= r->end)
        return NULL;
    known = *r->at ? strchr(from, *r->at) : NULL;
    if (known) {
        r->at++;
        *to = as[known - from];
        return to + 1;
    }
    if (*r->at++ != 'u' || !(c = json_unicode(r)))
        return NULL;
    return json_put_character(to, c);
}

/* The result is never longer than the source. */
static const char *json_text(json_reader *r)
{
    const unsigned char *last = r->at < r->end && *r->at == '"' ? r->at + 1 : NULL;
    char *text, *to;
    unsigned n;

    if (!last)
        return NULL;
    for (r->at = last; last < r->end && *last != '"'; last++)
        last += *last == '\\';
    if (last >= r->end)
        return NULL;
    text = to = apr_palloc(r->p, (apr_size_t)(last - r->at) + 1);
    while (*r->at != '"') {
        if (*r->at == '\\') {
            r->at++;
            if (!(to = json_escape(r, to)))
                return NULL;
            continue;
        }
        if (*r->at < 0x20 || !(n = brg_utf8_character(r->at, (apr_size_t)(r->end - r->at))))
            return NULL;
        memcpy(to, r->at, n);
        to += n;
        r->at += n;
    }
    *to = '\0';
    r->at++;
    return text;
}

/* ---- numbers and words ---- */

static int json_digits(json_reader *r)
{
    const unsigned char *from = r->at;

    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    return r->at > from;
}

static const char *json_number(json_reader *r)
{
    const unsigned char *from = r->at;

    if (r->at < r->end && *r->at == '-')
        r->at++;
    if (r->at < r->end && *r->at == '0')
        r->at++;
    else if (!json_digits(r))
        return NULL;
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        if (!json_digits(r))
            return NULL;
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-'))
            r->at++;
        if (!json_digits(r))
            return NULL;
    }
    return apr_pstrmemdup(r->p, (const char *)from, (apr_size_t)(r->at - from));
}

static int json_word(json_reader *r, const char *word)
{
    const size_t len = strlen(word);

    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
        return 0;
    r->at += len;
    return 1;
}

static int json_scalar(json_reader *r, md_json *v)
{
    BRG_ASSERT(r->at < r->end);
    if (*r->at == '"') {
        v->kind = MD_JSON_TEXT;
        return (v->text = json_text(r)) != NULL;
    }
    if (*r->at == '-' || (*r->at >= '0' && *r->at <= '9')) {
        v->kind = MD_JSON_NUMBER;
        return (v->text = json_number(r)) != NULL;
    }
    v->kind = *r->at == 't' ? MD_JSON_TRUE : *r->at == 'f' ? MD_JSON_FALSE : MD_JSON_NULL;
    return json_word(r, v->kind == MD_JSON_TRUE    ? "true"
                        : v->kind == MD_JSON_FALSE ? "false"
                                                   : "null");
}

/* ---- arrays and objects ---- */

static const char *json_name(json_reader *r, const md_json *object)
{
    const char *name;

    json_blanks(r);
    name = json_text(r);
    if (!name || md_json_get(object, name) || !json_take(r, ':'))
        return NULL;
    return name;
}

static int json_members(json_reader *r, md_json *v, char end, int depth)
{
    md_json **last = &v->first;

    BRG_ASSERT(v->kind == MD_JSON_OBJECT || v->kind == MD_JSON_ARRAY);
    if (json_take(r, end))
        return 1;
    do {
        const char *name = v->kind == MD_JSON_OBJECT ? json_name(r, v) : NULL;

        if (v->kind == MD_JSON_OBJECT && !name)
            return 0;
        if (!(*last = json_value(r, depth + 1)))
            return 0;
        (*last)->name = name;
        last = &(*last)->next;
    } while (json_take(r, ','));
    return json_take(r, end);
}

static md_json *json_value(json_reader *r, int depth)
{
    md_json *v = apr_pcalloc(r->p, sizeof *v);
    int ok;

    json_blanks(r);
    if (r->at >= r->end || depth > MD_JSON_DEPTH || ++r->values > MD_JSON_VALUES)
        return NULL;
    if (*r->at == '{' || *r->at == '[') {
        v->kind = *r->at++ == '{' ? MD_JSON_OBJECT : MD_JSON_ARRAY;
        ok = json_members(r, v, v->kind == MD_JSON_OBJECT ? '}' : ']', depth);
    } else {
        ok = json_scalar(r, v);
    }
    return ok ? v : NULL;
}

md_json *md_json_read(apr_pool_t *p, const char *text, apr_size_t len)
{
    json_reader r = {
        .p = p, .at = (const unsigned char *)text, .end = (const unsigned char *)text + len};
    md_json *v = json_value(&r, 1);

    json_blanks(&r);
    return r.at == r.end ? v : NULL;
}

/* ---- access to members ---- */

const md_json *md_json_get(const md_json *object, const char *name)
{
    const md_json *v = object && object->kind == MD_JSON_OBJECT ? object->first : NULL;

    while (v && (!v->name || strcmp(v->name, name) != 0))
        v = v->next;
    return v;
}

const char *md_json_text(const md_json *object, const char *name)
{
    const md_json *v = md_json_get(object, name);

    return v && v->kind == MD_JSON_TEXT ? v->text : NULL;
}

apr_int64_t md_json_number(const md_json *object, const char *name, apr_int64_t fallback)
{
    const md_json *v = md_json_get(object, name);
    apr_int64_t n;
    char *end;

    if (!v || v->kind != MD_JSON_NUMBER || strlen(v->text) > 16)
        return fallback;
    n = apr_strtoi64(v->text, &end, 10);
    return *end || n < 0 || n > JSON_NUMBER_MOST ? fallback : n;
}

int md_json_is_true(const md_json *object, const char *name)
{
    const md_json *v = md_json_get(object, name);

    return v && v->kind == MD_JSON_TRUE;
}

const md_json *md_json_items(const md_json *array)
{
    return array && array->kind == MD_JSON_ARRAY ? array->first : NULL;
}

/* ---- writing ---- */

const char *md_json_quote(apr_pool_t *p, const char *text)
{
    const apr_size_t len = strlen(text), room = len * BRG_JSON_GROWTH;
    char *to = apr_palloc(p, room + 3);
    apr_size_t n = brg_json_escape(to + 1, room, text, len);

    to[0] = to[n + 1] = '"';
    to[n + 2] = '\0';
    return to;
}

const char *md_json_list(apr_pool_t *p, const apr_array_header_t *texts)
{
    const char *list = "";

    for (int i = 0; texts && i < texts->nelts; i++)
        list = apr_pstrcat(p, list, i ? "," : "",
                           md_json_quote(p, APR_ARRAY_IDX(texts, i, const char *)), NULL);
    return apr_pstrcat(p, "[", list, "]", NULL);
}
