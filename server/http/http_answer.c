/* SPDX-License-Identifier: Apache-2.0 */
#include "http_answer.h"
#include "http_error.h"
#include "request_context.h"
#include "http_core.h"
#include "http_protocol.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

static int answer_is_connection(const char *name)
{
    return !strcasecmp(name, "Connection") || !strcasecmp(name, "Keep-Alive");
}

/* Kept apart: see http_answer.server, http_answer.upgrade and http_stored_head.date_off. */
static int answer_leaves_out(const char *name)
{
    return !strcasecmp(name, "Date") || !strcasecmp(name, "Server") || !strcasecmp(name, "Upgrade");
}

static const char *answer_upgrade(const request_rec *r)
{
    return request_announces(r) ? http_upgrade_of(r) : NULL;
}

static char *answer_put(char **to, const char *text)
{
    size_t len = strlen(text) + 1;
    char *start = *to;

    memcpy(start, text, len);
    *to += len;
    return start;
}

static const char *answer_reason(const request_rec *r)
{
    return r->status_line ? r->status_line : ap_get_status_line_ex(r->pool, r->status);
}

/* A proxied response may have its own. */
static const char *answer_own(const request_rec *r, const char *name)
{
    return r->proxyreq != PROXYREQ_NONE ? apr_table_get(r->headers_out, name) : NULL;
}

static const char *answer_server(const request_rec *r)
{
    const char *own = answer_own(r, "Server");

    return own ? own : ap_get_server_banner();
}

static const char *answer_date(const request_rec *r)
{
    return answer_own(r, "Date");
}

static size_t answer_text_size(const request_rec *r, const apr_table_entry_t *e, int n,
                               const char *own, const char *dated_name)
{
    size_t size = strlen(answer_reason(r)) + strlen(answer_server(r)) + 2;

    BRG_ASSERT(n >= 0);
    for (int i = 0; i < n; i++)
        size += strlen(e[i].key) + strlen(e[i].val) + 2;
    size += answer_upgrade(r) ? strlen(answer_upgrade(r)) + 1 : 0;
    size += own ? strlen(own) + 1 : 0;
    size += answer_date(r) ? strlen(answer_date(r)) + 1 : 0;
    return size + (dated_name ? strlen(dated_name) + 1 : 0);
}

static void answer_note_field(http_answer *a, const char *name)
{
    if (!strcasecmp(name, "Content-Length"))
        a->length_at = a->n_fields;
    else if (!strcasecmp(name, "Content-Range"))
        a->range_at = a->n_fields;
}

http_answer *http_answer_of(const request_rec *r, const char *dated_name,
                            apr_interval_time_t dated_after)
{
    const apr_array_header_t *table = apr_table_elts(r->headers_out);
    const apr_table_entry_t *e = (const apr_table_entry_t *)(const void *)table->elts;
    int before;
    const char *own = request_connection(r, &before);
    size_t text = answer_text_size(r, e, table->nelts, own, dated_name);
    size_t fixed = sizeof(http_answer) + (size_t)table->nelts * sizeof(http_answer_field);
    http_answer *a;
    char *to;

    BRG_ASSERT(r->status >= 200 && !r->main);
    if (text > HTTP_HEAD_ROOM || !(a = calloc(1, fixed + text)))
        return NULL;
    to = (char *)a + fixed;
    a->bytes = (uint32_t)(fixed + text);
    a->status = r->status;
    a->reason = answer_put(&to, answer_reason(r));
    a->server = answer_put(&to, answer_server(r));
    a->own_server = answer_own(r, "Server") != NULL;
    a->date = answer_date(r) ? answer_put(&to, answer_date(r)) : NULL;
    a->upgrade = answer_upgrade(r) ? answer_put(&to, answer_upgrade(r)) : NULL;
    a->connection = own ? answer_put(&to, own) : NULL;
    a->dated_name = dated_name ? answer_put(&to, dated_name) : NULL;
    a->dated_after = dated_after;
    a->conn_at = a->own_at = a->length_at = a->range_at = HTTP_NO_FIELD;
    for (int i = 0; i < table->nelts; i++) {
        if (i == before)
            a->conn_at = a->n_fields;
        if (answer_is_connection(e[i].key)) {
            if (a->own_at == HTTP_NO_FIELD && !strcasecmp(e[i].key, "Connection"))
                a->own_at = a->n_fields;
        } else if (!answer_leaves_out(e[i].key)) {
            http_answer_field *f;

            answer_note_field(a, e[i].key);
            f = &a->field[a->n_fields++];
            f->name = answer_put(&to, e[i].key);
            f->value = answer_put(&to, e[i].val);
        }
    }
    BRG_ASSERT(to <= (char *)a + a->bytes && a->n_fields <= table->nelts);
    BRG_ASSERT(a->conn_at == HTTP_NO_FIELD || a->conn_at <= a->n_fields);
    return a;
}

http_stored_head *http_stored_head_new(size_t size)
{
    http_stored_head *head = malloc(sizeof *head + size);

    if (!head)
        return NULL;
    *head = (http_stored_head){.text = (char *)(head + 1), .dated_second = -1};
    return head;
}
