/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a response before a version of HTTP gives it its form: header tables are merged and
 * completed, and fields that must not leave are found.
 */
#include "http_response.h"
#include "http_fields.h"
#include "http_text.h"
#include "request_context.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

APLOG_USE_MODULE(http);

static void response_add_token(apr_array_header_t *list, const char *token)
{
    char **have = (char **)list->elts;

    BRG_ASSERT(token && *token);
    for (int i = 0; i < list->nelts; i++)
        if (!strcasecmp(have[i], token))
            return;
    *(const char **)apr_array_push(list) = token;
}

static void response_add_tokens(apr_pool_t *p, apr_array_header_t *list, const char *value)
{
    char *state, *token = apr_strtok(apr_pstrdup(p, value), ", \t", &state);

    for (; token; token = apr_strtok(NULL, ", \t", &state))
        response_add_token(list, token);
}

static int response_collect(void *list, const char *key, const char *value)
{
    apr_array_header_t *tokens = list;

    response_add_tokens(tokens->pool, tokens, value);
    return 1;
}

/* Several modules name fields that the answer varies by: once each, in one field. */
static void response_fix_vary(request_rec *r)
{
    apr_array_header_t *tokens;

    if (apr_table_get(r->subprocess_env, "force-no-vary")) {
        apr_table_unset(r->headers_out, "Vary");
        r->proto_num = HTTP_VERSION(1, 0);
        apr_table_setn(r->subprocess_env, "force-response-1.0", "1");
        return;
    }
    if (!apr_table_get(r->headers_out, "Vary"))
        return;
    tokens = apr_array_make(r->pool, 5, sizeof(char *));
    apr_table_do(response_collect, tokens, r->headers_out, "Vary", NULL);
    if (tokens->nelts > 0)
        apr_table_setn(r->headers_out, "Vary", apr_array_pstrcat(r->pool, tokens, ','));
}

static void response_fix_languages(request_rec *r)
{
    const char *set, *token;
    apr_array_header_t *tokens;

    BRG_ASSERT(r->headers_out);
    if (apr_is_empty_array(r->content_languages))
        return;
    set = apr_table_get(r->headers_out, "Content-Language");
    tokens = apr_array_copy(r->pool, r->content_languages);
    while (set && (token = ap_get_list_item(r->pool, &set)) != NULL) /* in lower case */
        response_add_token(tokens, token);
    apr_table_setn(r->headers_out, "Content-Language", apr_array_pstrcat(r->pool, tokens, ','));
}

static int response_line_is_sound(const char *line)
{
    return apr_isdigit(line[0]) && apr_isdigit(line[1]) && apr_isdigit(line[2]) &&
           (line[3] == ' ' || !line[3]) && http_value_is_safe(line);
}

/* A status line that a module has set must begin with the status, or is replaced. One without a phrase gets that of the
 * status, or none if there is no such. */
void http_response_fix_status_line(request_rec *r)
{
    const char *line = r->status_line;

    if (!line)
        return;
    r->status_line = NULL;
    if (!response_line_is_sound(line) ||
        (line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0') != r->status)
        return;
    if (line[3])
        r->status_line = line;
    else if (ap_index_of_response(r->status) == ap_index_of_response(HTTP_INTERNAL_SERVER_ERROR) &&
             r->status != HTTP_INTERNAL_SERVER_ERROR)
        r->status_line = apr_pstrcat(r->pool, line, " ", NULL);
}

void http_response_merge(request_rec *r)
{
    BRG_ASSERT(r->headers_out && r->err_headers_out);
    if (!apr_is_empty_table(r->err_headers_out)) {
        if (apr_table_get(r->err_headers_out, "Content-Length"))
            request_mark_volatile(r, "http_core.c", "a module set a second Content-Length");
        r->headers_out = apr_table_overlay(r->pool, r->err_headers_out, r->headers_out);
    }
    http_response_fix_status_line(r);
    response_fix_vary(r);
}

int http_field_says(const apr_table_t *fields, const char *name, const char *value)
{
    const apr_array_header_t *all = apr_table_elts(fields);
    const apr_table_entry_t *e = (const apr_table_entry_t *)all->elts, *found = NULL;

    BRG_ASSERT(name && value);
    for (int i = 0; i < all->nelts; i++) {
        if (((e[i].key[0] ^ name[0]) & ~0x20) || strcasecmp(e[i].key, name) != 0)
            continue;
        if (found)
            return 0;
        found = &e[i];
    }
    return found && (found->val == value || !strcmp(found->val, value));
}

void http_response_fields(request_rec *r)
{
    const char *type, *length;

    BRG_ASSERT(r->headers_out && !r->assbackwards);
    if (AP_STATUS_IS_HEADER_ONLY(r->status)) {
        apr_table_unset(r->headers_out, "Content-Length");
        return;
    }
    /* A handler that skipped the body of a HEAD must not claim that the body is empty. */
    length = r->header_only ? apr_table_get(r->headers_out, "Content-Length") : NULL;
    if (length && strcmp(length, "0") == 0)
        apr_table_unset(r->headers_out, "Content-Length");
    if (r->no_cache && !apr_table_get(r->headers_out, "Expires")) {
        apr_table_setn(r->headers_out, "Expires",
                       apr_pstrmemdup(r->pool, http_date_now(r->request_time), HTTP_DATE_LEN));
    }
    type = ap_make_content_type(r, r->content_type);
    if (type && !http_field_says(r->headers_out, "Content-Type", type))
        apr_table_setn(r->headers_out, "Content-Type", type);
    if (r->content_encoding)
        apr_table_setn(r->headers_out, "Content-Encoding", r->content_encoding);
    response_fix_languages(r);
}

static void response_note(http_lengths *lengths, int *place, int i)
{
    lengths->more |= *place >= 0;
    if (*place < 0)
        *place = i;
}

static void response_measured(http_lengths *lengths, int i, const char *name, const http_measure *m)
{
    const char first = (char)(*name | 0x20);

    lengths->all += m->name + m->value;
    if (m->name == 4 && first == 'd' && !strcasecmp(name, "Date"))
        response_note(lengths, &lengths->date, i);
    else if (m->name == 6 && first == 's' && !strcasecmp(name, "Server"))
        response_note(lengths, &lengths->server, i);
    if (i >= HTTP_LENGTHS_KEPT)
        return;
    lengths->field[i].name = (uint32_t)m->name;
    lengths->field[i].value = (uint32_t)m->value;
}

static void response_measure_begins(http_lengths *lengths)
{
    lengths->all = 0;
    lengths->date = lengths->server = -1;
    lengths->more = 0;
}

void http_lengths_of(const apr_table_t *fields, http_lengths *lengths)
{
    const apr_array_header_t *all = apr_table_elts(fields);
    const apr_table_entry_t *e = (const apr_table_entry_t *)all->elts;

    BRG_ASSERT(all->nelts >= 0);
    response_measure_begins(lengths);
    for (int i = 0; i < all->nelts; i++) {
        const http_measure m = {.name = strlen(e[i].key), .value = strlen(e[i].val)};

        response_measured(lengths, i, e[i].key, &m);
    }
    lengths->n = all->nelts;
}

static void response_field_refused(request_rec *r, const apr_table_entry_t *e,
                                   const http_measure *m)
{
    BRG_ASSERT(!m->name_is_safe || !m->value_is_safe);
    if (!m->name)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02428) "Empty response header name, aborting request");
    else if (!m->name_is_safe)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02429) "Response header name '%s' contains invalid characters, "
                                     "aborting request",
                      e->key);
    else
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02430) "Response header '%s' value of '%s' contains invalid "
                                     "characters, aborting request",
                      e->key, e->val);
}

static int response_fields_are_safe(request_rec *r, http_lengths *lengths)
{
    const apr_array_header_t *fields = apr_table_elts(r->headers_out);
    const apr_table_entry_t *e = (const apr_table_entry_t *)fields->elts;

    BRG_ASSERT(r->headers_out);
    response_measure_begins(lengths);
    for (int i = 0; i < fields->nelts; i++) {
        http_measure m;

        http_field_measure(e[i].key, e[i].val, &m);
        if (!m.name_is_safe || !m.value_is_safe) {
            response_field_refused(r, &e[i], &m);
            return 0;
        }
        response_measured(lengths, i, e[i].key, &m);
    }
    lengths->n = fields->nelts;
    return 1;
}

/* A client does not take 1xx for the response: it would take the body as the response, and mix up
 * the next one. 101 is a response where a module that has taken over the connection sends it. */
static int response_is_interim(const request_rec *r)
{
    if (!ap_is_HTTP_INFO(r->status) || r->status == HTTP_SWITCHING_PROTOCOLS)
        return 0;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "Status %d is no final response, aborting request",
                  r->status);
    return 1;
}

int http_response_is_sendable(request_rec *r, http_lengths *lengths)
{
    return !response_is_interim(r) && response_fields_are_safe(r, lengths);
}
