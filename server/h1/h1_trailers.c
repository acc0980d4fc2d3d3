/* SPDX-License-Identifier: Apache-2.0 */
/* Trailer sections of request bodies. */
#include "h1_trailers.h"
#include "core_settings.h"
#include "h1_fields.h"
#include "h1_request.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include <string.h>

/* All lines of a trailer section together may be as long as so many fields. */
#define H1_TRAILER_SIZES 8

/* A trailer may not change how the message is read, its destination or its sender. */
static int trailer_may_merge(const char *name)
{
    return http_field_id_of(name, strlen(name)) == HTTP_F_OTHER;
}

static const char *trailers_over(const h1_trailers *t, const h1_limits *limits)
{
    const uint32_t most = limits->fields ? limits->fields : HTTP_HEAD_MAX_FIELDS;

    if (t->lines > (int)most)
        return "too many trailers";
    return t->bytes > (apr_size_t)H1_TRAILER_SIZES * limits->field_size
               ? "trailers exceed " APR_STRINGIFY(H1_TRAILER_SIZES) " times LimitRequestFieldSize"
               : NULL;
}

static const char *trailers_add(h1_trailers *t, request_rec *r, const http_field *field,
                                apr_size_t len, const h1_limits *limits)
{
    const char *why;

    t->lines++;
    t->bytes += len;
    if ((why = trailers_over(t, limits)) != NULL)
        return why;
    if (!t->fields)
        t->fields = apr_table_make(r->pool, 5);
    apr_table_addn(t->fields, apr_pstrmemdup(r->pool, field->name, field->name_len),
                   apr_pstrmemdup(r->pool, field->value, field->value_len));
    return NULL;
}

/* A complete line, without its end. */
static const char *trailers_line(h1_trailers *t, request_rec *r, const char *line, apr_size_t len)
{
    h1_limits limits;
    http_field field;
    const char *why;

    BRG_ASSERT(len > 0);
    h1_limits_of(r->server, &limits);
    why = h1_parse_field(&field, line, len, &limits);
    return why ? why : trailers_add(t, r, &field, len, &limits);
}

/* As the values of a head: those of one name are one value, which has a limit as well. */
static int trailer_value_fits(void *limit, const char *name, const char *value)
{
    return strlen(value) <= *(const apr_size_t *)limit;
}

static int trailer_merge(void *headers, const char *name, const char *value)
{
    if (trailer_may_merge(name))
        apr_table_mergen(headers, name, value);
    return 1;
}

/* Fields of one name become one in a single pass: one by one, this would take memory with the square of their
 * number. */
static const char *trailers_end(h1_trailers *t, request_rec *r)
{
    h1_limits limits;
    apr_size_t most;

    BRG_ASSERT(t->line_len == 0);
    if (!t->fields)
        return NULL;
    h1_limits_of(r->server, &limits);
    most = limits.field_size;
    apr_table_compress(t->fields, APR_OVERLAP_TABLES_MERGE);
    if (!apr_table_do(trailer_value_fits, &most, t->fields, NULL))
        return "(trailer exceeds LimitRequestFieldSize after merging)";
    apr_table_overlap(r->trailers_in, t->fields, APR_OVERLAP_TABLES_MERGE);
    if (core_server_conf_of(r->server)->merge_trailers == AP_MERGE_TRAILERS_ENABLE)
        apr_table_do(trailer_merge, r->headers_in, t->fields, NULL);
    t->fields = NULL;
    return NULL;
}

static const char *trailers_append(h1_trailers *t, request_rec *r, const char *data, apr_size_t len)
{
    const apr_size_t most = (apr_size_t)r->server->limit_req_fieldsize + 2;

    BRG_ASSERT(t->line_len <= t->line_cap);
    if (len > most || t->line_len > most - len)
        return "(trailer line too long)";
    if (t->line_len + len > t->line_cap) {
        const apr_size_t cap = 2 * (t->line_len + len) + 64;
        char *bigger = apr_palloc(r->pool, cap);

        if (t->line_len) {
            memcpy(bigger, t->line, t->line_len);
            brg_buffer_grown(t->line_len);
        }
        t->line = bigger;
        t->line_cap = cap;
    }
    memcpy(t->line + t->line_len, data, len);
    brg_buffer_copied(len);
    t->line_len += len;
    return NULL;
}

const char *h1_trailers_feed(h1_trailers *t, request_rec *r, const char *data, apr_size_t len,
                             int *done)
{
    const char *why = trailers_append(t, r, data, len);

    if (why || t->line_len == 0 || t->line[t->line_len - 1] != '\n')
        return why;
    len = t->line_len;
    t->line_len = 0;
    if (len < 2 || t->line[len - 2] != '\r')
        return "(bare LF in the trailers)";
    *done = len == 2;
    return *done ? trailers_end(t, r) : trailers_line(t, r, t->line, len - 2);
}

const char *h1_trailers_take(h1_trailers *t, request_rec *r, const http_field *field, int n)
{
    const char *why = NULL;
    h1_limits limits;

    BRG_ASSERT(!t->lines && !t->line_len);
    if (!n)
        return NULL;
    h1_limits_of(r->server, &limits);
    for (int i = 0; i < n && !why; i++) {
        const apr_size_t len = (apr_size_t)field[i].name_len + 2 + field[i].value_len;

        why = len > limits.field_size ? "(trailer line too long)"
                                      : trailers_add(t, r, &field[i], len, &limits);
    }
    return why ? why : trailers_end(t, r);
}
