/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type maps: records of fields, with empty lines between them. A field goes on in lines that begin
 * with a blank; Body names a word, and the text up to that word's next line is the variant itself.
 */
#include "neg_private.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_request.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(negotiation);

typedef struct neg_map {
    negotiation *n;
    char *at, *end, *begin;
} neg_map;

static int map_fails(const neg_map *m, const char *message)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, m->n->r, "%s", message);
    return HTTP_INTERNAL_SERVER_ERROR;
}

/* A line without its end; NULL: no more. */
static char *map_line(neg_map *m)
{
    char *line = m->at, *newline;

    BRG_ASSERT(m->begin <= m->at && m->at <= m->end);
    if (m->at >= m->end)
        return NULL;
    newline = memchr(m->at, '\n', (size_t)(m->end - m->at));
    m->at = newline ? newline + 1 : m->end;
    if (newline)
        *newline = '\0';
    newline = line + strlen(line);
    while (newline > line && apr_isspace(newline[-1]))
        *--newline = '\0';
    return line;
}

/* A field with its further lines; comments are passed over. @return NULL: no more; "": the record ends */
static char *map_field(neg_map *m)
{
    char *field;

    do
        field = map_line(m);
    while (field && *field == '#');
    while (field && *field && m->at < m->end && (*m->at == ' ' || *m->at == '\t')) {
        char *more = map_line(m);

        field = apr_pstrcat(m->n->r->pool, field, " ", more, NULL);
    }
    return field;
}

static void map_type(neg_variant *v, apr_pool_t *p, const char *value)
{
    const neg_range range = neg_range_at(p, &value);

    v->type = range.name;
    v->level = range.level;
    v->source_q = range.q;
    if (range.charset)
        v->charset = range.charset;
}

static int map_length(const neg_map *m, neg_variant *v, const char *value)
{
    char *end;

    if (apr_strtoff(&v->length, value, &end, 10) == APR_SUCCESS && !*end && v->length >= 0)
        return OK;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, m->n->r,
                  APLOGNO(00684) "Parse error in type map, Content-Length: '%s' in %s is invalid.",
                  value, m->n->r->filename);
    return HTTP_INTERNAL_SERVER_ERROR;
}

/* The word ends the body wherever it stands; the rest of its line is passed over. */
static int map_body(neg_map *m, neg_variant *v, const char *word)
{
    char *begin = m->at, *end = memmem(begin, (size_t)(m->end - begin), word, strlen(word));

    if (end) {
        m->at = end;
        (void)map_line(m);
        v->has_body = 1;
        v->body = begin - m->begin;
        v->length = end - begin;
        BRG_ASSERT(v->body >= 0 && v->length >= 0);
        return OK;
    }
    ap_log_rerror(
        APLOG_MARK, APLOG_ERR, 0, m->n->r,
        APLOGNO(00685) "Syntax error in type map, no end tag '%s' found in %s for Body: content.",
        word, m->n->r->filename);
    return HTTP_INTERNAL_SERVER_ERROR;
}

static int map_take(neg_map *m, neg_variant *v, const char *name, char *value)
{
    apr_pool_t *p = m->n->r->pool;

    if (!ap_cstr_casecmpn(name, "uri", 3))
        v->file = ap_getword_white(p, (const char **)&value);
    else if (!ap_cstr_casecmpn(name, "content-type", 12))
        map_type(v, p, value);
    else if (!ap_cstr_casecmpn(name, "content-length", 14))
        return map_length(m, v, value);
    else if (!ap_cstr_casecmpn(name, "content-language", 16))
        v->languages = neg_languages(p, value);
    else if (!ap_cstr_casecmpn(name, "content-encoding", 16)) {
        ap_str_tolower(value);
        v->encoding = ap_getword_white(p, (const char **)&value);
    } else if (!ap_cstr_casecmpn(name, "description", 11))
        v->description = ap_getword(p, (const char **)&value, '\n');
    else if (!ap_cstr_casecmpn(name, "body", 4))
        return map_body(m, v, value);
    return OK;
}

static int map_line_of(neg_map *m, neg_variant *v, char *field)
{
    char *colon = strchr(field, ':'), *value;

    if (!colon)
        return map_fails(m, apr_pstrcat(m->n->r->pool,
                                        APLOGNO(00681) "Syntax error in type map, no ':' in ",
                                        m->n->r->filename, " for header ", field, NULL));
    *colon = '\0';
    value = colon + 1 + strspn(colon + 1, " \t");
    if (!*value)
        return map_fails(
            m, apr_pstrcat(m->n->r->pool,
                           APLOGNO(00682) "Syntax error in type map --- no header body: ", field,
                           " for ", m->n->r->filename, NULL));
    return map_take(m, v, field, value);
}

static void map_clean(neg_variant *v)
{
    *v = (neg_variant){.length = -1, .source_q = 1.0F};
}

/* A record without a type does not count. */
static void map_add(negotiation *n, neg_variant *v)
{
    if (v->file || v->has_body) {
        if (v->has_body)
            n->transparent = 0;
        if (!v->file)
            v->file = strrchr(n->r->filename, '/') + 1;
        if (strchr(v->file, '/'))
            n->transparent = 0;
        if (v->type)
            APR_ARRAY_PUSH(n->variants, neg_variant) = *v;
    }
    map_clean(v);
}

void neg_find_length(const negotiation *n, neg_variant *v)
{
    request_rec *sub;

    if (v->length >= 0 || v->sub)
        return;
    BRG_ASSERT(v->file != NULL);
    sub = ap_sub_req_lookup_file(v->file, n->r, NULL);
    if (sub->status == HTTP_OK && sub->finfo.filetype == APR_REG)
        v->length = sub->finfo.size;
    ap_destroy_sub_req(sub);
}

int neg_read_map(negotiation *n, char *text, apr_size_t len)
{
    neg_map m = {.n = n, .at = text, .begin = text, .end = text + len};
    neg_variant v;
    char *field;

    BRG_ASSERT(text && !text[len]);
    map_clean(&v);
    while ((field = map_field(&m)) != NULL) {
        const int status = *field ? map_line_of(&m, &v, field) : OK;

        if (status != OK)
            return status;
        if (!*field)
            map_add(n, &v);
    }
    map_add(n, &v);
    return OK;
}
