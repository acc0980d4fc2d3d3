/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Media types with parameters (RFC 2045 section 5.1) in canonical form.
 *
 * Nearly all types are plain "a/b", which is canonical already: they are recognised without being
 * taken apart. The tolerance towards malformed types is Apache's.
 */
#include "mime_private.h"
#include "http_log.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"

#include <string.h>

APLOG_USE_MODULE(mime);

typedef struct mime_span {
    const char *at;
    apr_size_t len;
} mime_span;

static const char *mime_skip_space(const char *s)
{
    while (apr_isspace(*s))
        s++;
    return s;
}

static int mime_is_special(char c)
{
    return c != '\0' && strchr("()<>@,;:\\\"/[]?=", c) != NULL;
}

static mime_span mime_span_until(const char *start, const char *end)
{
    mime_span span = {start, (apr_size_t)(end - start)};

    BRG_ASSERT(start <= end);
    return span;
}

static int mime_is_plain(const char *type)
{
    const char *slash = strchr(type, '/');

    return slash && slash > type && slash[1] && type[strcspn(type, "; \t\r\n\f\v")] == '\0';
}

/* "type/subtype"; *rest: the text behind. NULL, or the message to log. */
static const char *mime_parse_major(const char *s, mime_span *type, mime_span *subtype,
                                    const char **rest)
{
    const char *start;

    start = s = mime_skip_space(s);
    while (*s && *s != ';' && *s != '/' && !apr_isspace(*s))
        s++;
    *type = mime_span_until(start, s);
    if (apr_isspace(*s)) {
        s = mime_skip_space(s);
        if (*s != '/')
            return APLOGNO(01600) "mod_mime: analyze_ct: cannot get media type from '%s'";
    }
    if (*s != '/' || type->len == 0)
        return APLOGNO(01599) "Cannot get media type from '%s'";
    start = s = mime_skip_space(s + 1);
    while (*s && *s != ';' && !apr_isspace(*s))
        s++;
    *subtype = mime_span_until(start, s);
    if (subtype->len == 0)
        return APLOGNO(01601) "Cannot get media subtype.";
    *rest = mime_skip_space(s);
    return NULL;
}

/* A parameter's value: a quoted string, kept as it is, or a token. *at is left at ';' or the end.
 */
static const char *mime_parse_value(const char **at, mime_span *value)
{
    const char *start = mime_skip_space(*at), *s = start;

    if (*s == '\0')
        return APLOGNO(01604) "Cannot get media parameter.";
    if (*s == '"') {
        for (s++; *s && *s != '"'; s++)
            s += *s == '\\' && s[1];
        s += *s == '"';
        *value = mime_span_until(start, s);
        s = mime_skip_space(s);
    } else {
        while (*s && *s != ';' && !mime_is_special(*s) && !apr_isspace(*s))
            s++;
        *value = mime_span_until(start, s);
    }
    if (*s && *s != ';')
        return APLOGNO(01608) "Cannot get media parameter.";
    *at = s;
    return NULL;
}

/* One parameter. An attribute without '=' at the end leaves name->len 0 and is dropped. */
static const char *mime_parse_parameter(const char **at, mime_span *name, mime_span *value)
{
    const char *start = mime_skip_space(*at), *s = start;

    name->len = 0;
    if (*s == '\0')
        return APLOGNO(01602) "Cannot get media parameter.";
    while (*s && *s != '=' && !mime_is_special(*s))
        s++;
    if (*s == '\0') {
        *at = s;
        return NULL;
    }
    if (*s != '=')
        return APLOGNO(01605) "Cannot get media parameter.";
    *at = s + 1;
    while (s > start && apr_isspace(s[-1]))
        s--;
    if (s == start)
        return APLOGNO(01603) "Cannot get media parameter.";
    *name = mime_span_until(start, s);
    return mime_parse_value(at, value);
}

static const char *mime_canonical(request_rec *r, const char *text, const char *charset,
                                  const char **message)
{
    mime_span type, subtype, name, value;
    const char *out, *rest;
    int replaced = 0;

    if ((*message = mime_parse_major(text, &type, &subtype, &rest)) != NULL)
        return text;
    out = apr_pstrcat(r->pool, apr_pstrmemdup(r->pool, type.at, type.len), "/",
                      apr_pstrmemdup(r->pool, subtype.at, subtype.len), NULL);
    while (*rest) {
        rest++;
        if ((*message = mime_parse_parameter(&rest, &name, &value)) != NULL)
            return text;
        if (name.len == 0)
            break;
        if (charset && name.len == 7 && memcmp(name.at, "charset", 7) == 0) {
            if (!replaced) {
                out = apr_pstrcat(r->pool, out, "; charset=", charset, NULL);
                replaced = 1;
            }
            continue;
        }
        out = apr_pstrcat(r->pool, out, "; ", apr_pstrmemdup(r->pool, name.at, name.len), "=",
                          apr_pstrmemdup(r->pool, value.at, value.len), NULL);
    }
    return charset && !replaced ? apr_pstrcat(r->pool, out, "; charset=", charset, NULL) : out;
}

const char *mime_content_type(request_rec *r, const char *type, const char *charset)
{
    const char *message = NULL, *canonical;

    if (mime_is_plain(type))
        return charset ? apr_pstrcat(r->pool, type, "; charset=", charset, NULL) : type;
    canonical = mime_canonical(r, type, charset, &message);
    if (message)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, r->server, message, type);
    return canonical;
}
