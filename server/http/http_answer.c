/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of stored responses by fields, made from a request_rec. */
#include "http_answer.h"
#include "http_error.h"
#include "request_context.h"
#include "http_core.h"
#include "http_protocol.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

/* Most names differ in their first letter. */
static int answer_is(const char *name, const char *other)
{
    return !((name[0] ^ other[0]) & ~0x20) && !strcasecmp(name, other);
}

static int answer_is_connection(const char *name)
{
    return answer_is(name, "Connection") || answer_is(name, "Keep-Alive");
}

/* Kept apart: see http_answer.server, http_answer.upgrade and http_stored_head.date_off. */
static int answer_leaves_out(const char *name)
{
    return answer_is(name, "Date") || answer_is(name, "Server") || answer_is(name, "Upgrade");
}

static char *answer_put_len(char **to, const char *text, size_t len)
{
    char *start = *to;

    memcpy(start, text, len);
    start[len] = '\0';
    *to += len + 1;
    return start;
}

static char *answer_put(char **to, const char *text)
{
    return answer_put_len(to, text, strlen(text));
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

static size_t answer_text_size(const http_answer_says *says)
{
    const char *const text[] = {says->reason,  says->server,     says->date,
                                says->upgrade, says->connection, says->dated_name};
    size_t size = 0;

    BRG_ASSERT(says->n >= 0 && says->reason && says->server);
    for (int i = 0; i < says->n; i++)
        size += says->field[i].name_len + says->field[i].value_len + 2;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        size += text[i] ? strlen(text[i]) + 1 : 0;
    return size;
}

static void answer_note_field(http_answer *a, const char *name)
{
    if (answer_is(name, "Content-Length"))
        a->length_at = a->n_fields;
    else if (answer_is(name, "Content-Range"))
        a->range_at = a->n_fields;
}

static void answer_put_field(http_answer *a, char **to, const http_answer_field *from)
{
    if (answer_is_connection(from->name)) {
        if (a->own_at == HTTP_NO_FIELD && answer_is(from->name, "Connection"))
            a->own_at = a->n_fields;
        return;
    }
    if (answer_leaves_out(from->name))
        return;
    answer_note_field(a, from->name);
    a->field[a->n_fields].name = answer_put_len(to, from->name, from->name_len);
    a->field[a->n_fields].value = answer_put_len(to, from->value, from->value_len);
    a->field[a->n_fields].name_len = from->name_len;
    a->field[a->n_fields++].value_len = from->value_len;
}

http_answer *http_answer_make(const http_answer_says *says)
{
    const size_t text = answer_text_size(says);
    const size_t fixed = sizeof(http_answer) + (size_t)says->n * sizeof(http_answer_field);
    http_answer *a;
    char *to;

    if (text > HTTP_HEAD_ROOM || !(a = malloc(fixed + text)))
        return NULL;
    memset(a, 0, sizeof *a);
    to = (char *)a + fixed;
    a->bytes = (uint32_t)(fixed + text);
    a->status = says->status;
    a->reason = answer_put(&to, says->reason);
    a->server = answer_put(&to, says->server);
    a->own_server = says->own_server != 0;
    a->date = says->date ? answer_put(&to, says->date) : NULL;
    a->upgrade = says->upgrade ? answer_put(&to, says->upgrade) : NULL;
    a->connection = says->connection ? answer_put(&to, says->connection) : NULL;
    a->dated_name = says->dated_name ? answer_put(&to, says->dated_name) : NULL;
    a->dated_after = says->dated_after;
    a->conn_at = a->own_at = a->length_at = a->range_at = HTTP_NO_FIELD;
    for (int i = 0; i < says->n; i++) {
        if (i == says->before)
            a->conn_at = a->n_fields;
        answer_put_field(a, &to, &says->field[i]);
    }
    BRG_ASSERT(to <= (char *)a + a->bytes && a->n_fields <= says->n);
    BRG_ASSERT(a->conn_at == HTTP_NO_FIELD || a->conn_at <= a->n_fields);
    return a;
}

http_answer *http_answer_of(const request_rec *r, const char *dated_name,
                            apr_interval_time_t dated_after)
{
    const apr_array_header_t *table = apr_table_elts(r->headers_out);
    const apr_table_entry_t *e = (const apr_table_entry_t *)(const void *)table->elts;
    http_answer_field *field = apr_palloc(r->pool, ((size_t)table->nelts + 1) * sizeof *field);
    http_answer_says says = {.status = r->status,
                             .reason = answer_reason(r),
                             .server = answer_server(r),
                             .own_server = answer_own(r, "Server") != NULL,
                             .date = answer_own(r, "Date"),
                             .upgrade = request_announces(r) ? http_upgrade_of(r) : NULL,
                             .dated_name = dated_name,
                             .dated_after = dated_after,
                             .field = field,
                             .n = table->nelts};

    BRG_ASSERT(r->status >= 200 && !r->main);
    says.connection = request_connection(r, &says.before);
    for (int i = 0; i < table->nelts; i++)
        field[i] = (http_answer_field){e[i].key, e[i].val, (uint32_t)strlen(e[i].key),
                                       (uint32_t)strlen(e[i].val)};
    return http_answer_make(&says);
}

http_stored_head *http_stored_head_new(http_stored_head *room, size_t size)
{
    http_stored_head *head = room ? room : malloc(sizeof *head + size);

    if (!head)
        return NULL;
    *head = (http_stored_head){.text = (char *)(head + 1), .dated_second = -1};
    return head;
}
