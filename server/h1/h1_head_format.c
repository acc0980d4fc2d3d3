/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a response head. Sizes first, then one walk with memcpy: the lengths are known, so
 * nothing is formatted through printf and nothing is copied twice.
 *
 * The order of fields is Apache's: Date, Server, then headers_out as it was filled.
 */
#include "h1_response.h"
#include "conn.h"
#include "http_scan.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

static char *h1_put(char *p, const void *data, size_t len)
{
    memcpy(p, data, len);
    return p + len;
}

#define H1_PUT(p, lit) h1_put(p, lit, sizeof(lit) - 1)

static char *h1_put_keep_alive(char *p, apr_interval_time_t timeout, int left)
{
    p = H1_PUT(p, "Keep-Alive: timeout=");
    p += http_put_number(p, (apr_uint64_t)(timeout < 0 ? 0 : apr_time_sec(timeout)));
    if (left >= 0) {
        p = H1_PUT(p, ", max=");
        p += http_put_number(p, (apr_uint64_t)left);
    }
    return H1_PUT(p, "\r\n");
}

size_t h1_format_connection(char *buf, int close, int asked, apr_interval_time_t timeout, int left)
{
    char *p = buf;

    if (close)
        return (size_t)(H1_PUT(p, "Connection: close\r\n") - buf);
    if (!asked)
        return 0;
    p = h1_put_keep_alive(p, timeout, left);
    return (size_t)(H1_PUT(p, "Connection: Keep-Alive\r\n") - buf);
}

/* Apache has one name for the version that it speaks; a request may ask to be treated as 1.0. */
static const char *h1_response_protocol(const request_rec *r)
{
    return r->proto_num == HTTP_VERSION(1, 0) &&
                   apr_table_get(r->subprocess_env, "force-response-1.0")
               ? "HTTP/1.0"
               : AP_SERVER_PROTOCOL;
}

static const char *h1_status_text(const request_rec *r)
{
    return r->status_line ? r->status_line : ap_get_status_line_ex(r->pool, r->status);
}

/* @return fields of r->headers_out, which are measured */
static int h1_measure(const request_rec *r, h1_head_lengths *lengths)
{
    const int n = apr_table_elts(r->headers_out)->nelts;

    if (lengths->fields.n != n)
        http_lengths_of(r->headers_out, &lengths->fields);
    BRG_ASSERT(lengths->fields.n == n);
    return n;
}

size_t h1_head_size(const request_rec *r, h1_head_lengths *lengths)
{
    const int n = h1_measure(r, lengths);

    lengths->status = h1_status_text(r);
    lengths->status_len = strlen(lengths->status);
    return sizeof("HTTP/1.1 \r\nDate: \r\nServer: \r\n\r\n") + HTTP_DATE_LEN + lengths->status_len +
           strlen(ap_get_server_banner()) + lengths->fields.all + (size_t)n * 4;
}

static char *h1_put_measured(char *p, const char *name, size_t name_len, const char *value,
                             size_t value_len)
{
    p = h1_put(p, name, name_len);
    p = H1_PUT(p, ": ");
    p = h1_put(p, value, value_len);
    return H1_PUT(p, "\r\n");
}

static char *h1_put_field(char *p, const char *name, const char *value)
{
    return h1_put_measured(p, name, strlen(name), value, strlen(value));
}

/* The value of a field that was measured, or NULL. A proxied response may have its own Date and Server. */
static const char *h1_measured_own(const request_rec *r, const h1_head_lengths *lengths, int at,
                                   size_t *len)
{
    const apr_array_header_t *fields = apr_table_elts(r->headers_out);
    const char *value;

    if (at < 0 || r->proxyreq == PROXYREQ_NONE)
        return NULL;
    BRG_ASSERT(at < fields->nelts);
    value = ((const apr_table_entry_t *)fields->elts)[at].val;
    *len = at < HTTP_LENGTHS_KEPT ? lengths->fields.field[at].value : strlen(value);
    return value;
}

char *h1_format_top(char *p, const char *protocol, const h1_top *top)
{
    const char *server = top->server;
    size_t len = top->server_len;

    p = h1_put(p, protocol, 8);
    *p++ = ' ';
    p = h1_put(p, top->status, top->status_len);
    p = H1_PUT(p, "\r\nDate: ");
    p = h1_put(p, top->date, top->date_len);
    p = H1_PUT(p, "\r\n");
    if (!server) {
        server = ap_get_server_banner();
        len = strlen(server);
    }
    return len ? h1_put_measured(p, "Server", sizeof "Server" - 1, server, len) : p;
}

/* Status line, Date, Server. */
static char *h1_put_top(const request_rec *r, char *p, const h1_head_lengths *lengths)
{
    h1_top top = {
        .status = lengths->status, .status_len = lengths->status_len, .date_len = HTTP_DATE_LEN};

    top.date = h1_measured_own(r, lengths, lengths->fields.date, &top.date_len);
    if (!top.date)
        top.date = http_date_now(r->request_time);
    top.server = h1_measured_own(r, lengths, lengths->fields.server, &top.server_len);
    return h1_format_top(p, h1_response_protocol(r), &top);
}

/* The fields that h1_put_top() has written. */
static int h1_is_of_top(const char *name)
{
    const char first = (char)(*name | 0x20);

    return (first == 'd' && !strcasecmp(name, "Date")) ||
           (first == 's' && !strcasecmp(name, "Server"));
}

size_t h1_format_head(const request_rec *r, const h1_head_lengths *lengths, char *buf)
{
    const apr_array_header_t *fields = apr_table_elts(r->headers_out);
    const apr_table_entry_t *e = (const apr_table_entry_t *)fields->elts;
    char *p = buf;

    p = h1_put_top(r, p, lengths);
    for (int i = 0; i < fields->nelts; i++) {
        if (i == lengths->fields.date || i == lengths->fields.server ||
            (lengths->fields.more && h1_is_of_top(e[i].key)))
            continue;
        if (i < HTTP_LENGTHS_KEPT)
            p = h1_put_measured(p, e[i].key, lengths->fields.field[i].name, e[i].val,
                                lengths->fields.field[i].value);
        else
            p = h1_put_field(p, e[i].key, e[i].val);
    }
    p = H1_PUT(p, "\r\n");
    return (size_t)(p - buf);
}

/* ---- heads of streams ---- */

static void h1_list_field(http_field *f, const char *name, size_t name_len, const char *value,
                          size_t value_len)
{
    *f = (http_field){.name = name,
                      .value = value,
                      .name_len = (uint32_t)name_len,
                      .value_len = (uint32_t)value_len};
}

static int h1_list_top(const request_rec *r, const h1_head_lengths *lengths, http_field *field)
{
    size_t len = HTTP_DATE_LEN;
    const char *own = h1_measured_own(r, lengths, lengths->fields.date, &len);
    int n = 0;

    h1_list_field(&field[n++], "Date", 4, own ? own : http_date_now(r->request_time), len);
    own = h1_measured_own(r, lengths, lengths->fields.server, &len);
    if (!own) {
        own = ap_get_server_banner();
        len = strlen(own);
    }
    if (*own)
        h1_list_field(&field[n++], "Server", 6, own, len);
    return n;
}

int h1_list_head(const request_rec *r, h1_head_lengths *lengths, http_field *field)
{
    const apr_array_header_t *fields = apr_table_elts(r->headers_out);
    const apr_table_entry_t *e = (const apr_table_entry_t *)fields->elts;
    int n;

    (void)h1_measure(r, lengths);
    n = h1_list_top(r, lengths, field);
    for (int i = 0; i < fields->nelts; i++) {
        if (i == lengths->fields.date || i == lengths->fields.server ||
            (lengths->fields.more && h1_is_of_top(e[i].key)))
            continue;
        if (i < HTTP_LENGTHS_KEPT)
            h1_list_field(&field[n++], e[i].key, lengths->fields.field[i].name, e[i].val,
                          lengths->fields.field[i].value);
        else
            h1_list_field(&field[n++], e[i].key, strlen(e[i].key), e[i].val, strlen(e[i].val));
    }
    BRG_ASSERT(n <= fields->nelts + H1_TOP_FIELDS);
    return n;
}

int h1_list_table(const apr_table_t *table, http_field *field)
{
    const apr_array_header_t *fields = apr_table_elts(table);
    const apr_table_entry_t *e = (const apr_table_entry_t *)fields->elts;

    for (int i = 0; i < fields->nelts; i++)
        h1_list_field(&field[i], e[i].key, strlen(e[i].key), e[i].val, strlen(e[i].val));
    return fields->nelts;
}

/* ---- stored heads ---- */

static size_t h1_stored_size(const http_answer *a)
{
    size_t size = sizeof("HTTP/1.1 \r\nDate: \r\nServer: \r\n\r\n") + HTTP_DATE_LEN +
                  strlen(a->reason) + strlen(a->server) + (a->date ? strlen(a->date) : 0);

    for (int i = 0; i < a->n_fields; i++)
        size += a->field[i].name_len + a->field[i].value_len + 4;
    return size + (a->connection ? sizeof "Connection: \r\n" + strlen(a->connection) : 0);
}

/* The additions to a stored head. */
static size_t h1_more_size(const http_answer *a)
{
    return H1_CONNECTION_MAX + HTTP_PART_ROOM +
           (a->upgrade
                ? sizeof "Upgrade: \r\nConnection: Upgrade, Keep-Alive\r\n" + strlen(a->upgrade)
                : 0);
}

/* Status line, room for Date, Server. */
static char *h1_put_stored_top(const http_answer *a, char *p, http_stored_head *out)
{
    BRG_ASSERT(p == out->text);
    p = H1_PUT(p, AP_SERVER_PROTOCOL " ");
    p = h1_put(p, a->reason, strlen(a->reason));
    p = H1_PUT(p, "\r\nDate: ");
    out->date_off = (uint32_t)(p - out->text);
    if (a->date) {
        p = h1_put(p, a->date, strlen(a->date));
    } else {
        memset(p, ' ', HTTP_DATE_LEN);
        p += HTTP_DATE_LEN;
    }
    p = H1_PUT(p, "\r\n");
    return *a->server ? h1_put_field(p, "Server", a->server) : p;
}

static char *h1_put_own(const http_answer *a, char *p, http_stored_head *out)
{
    p = h1_put_field(p, "Connection", a->connection);
    out->own_off = (uint32_t)(p - out->text - 2);
    return p;
}

static http_stored_head *h1_serialise(const http_answer *a, http_stored_head *room)
{
    size_t size = h1_stored_size(a);
    http_stored_head *out;
    uint32_t value_off;
    char *p;

    BRG_ASSERT(a->status >= 200);
    if (size + h1_more_size(a) > HTTP_HEAD_ROOM || !(out = http_stored_head_new(room, size)))
        return NULL;
    p = h1_put_stored_top(a, out->text, out);
    out->first_off = (uint32_t)(p - out->text);
    for (int i = 0; i < a->n_fields; i++) {
        const http_answer_field *f = &a->field[i];

        if (a->connection && i == a->own_at)
            p = h1_put_own(a, p, out);
        if (!out->conn_off && i == a->conn_at)
            out->conn_off = (uint32_t)(p - out->text);
        value_off = (uint32_t)(p - out->text) + f->name_len + 2;
        if (a->dated_name && !strcmp(f->name, a->dated_name) && f->value_len == HTTP_DATE_LEN)
            out->dated_off = value_off;
        if (i == a->length_at)
            out->length_off = value_off;
        if (i == a->range_at)
            out->range_off = value_off;
        p = h1_put_measured(p, f->name, f->name_len, f->value, f->value_len);
    }
    if (a->connection && !out->own_off)
        p = h1_put_own(a, p, out);
    if (!out->conn_off)
        out->conn_off = (uint32_t)(p - out->text);
    p = H1_PUT(p, "\r\n");
    out->len = (uint32_t)(p - out->text);
    BRG_ASSERT(out->len <= size && out->conn_off < out->len && out->date_off < out->conn_off);
    if (a->date) /* h1_put_stored() writes the time there, and then the rest over it */
        out->date_off = out->conn_off;
    return out;
}

/* A field whose value goes with Date. */
static void h1_set_dated(http_stored_head *head, const http_answer *a, apr_time_t now)
{
    char date[APR_RFC822_DATE_LEN];

    BRG_ASSERT(head->dated_off + HTTP_DATE_LEN <= head->len);
    if (apr_time_sec(now) == head->dated_second)
        return;
    head->dated_second = apr_time_sec(now);
    http_put_date(date, now + a->dated_after);
    memcpy(head->text + head->dated_off, date, HTTP_DATE_LEN);
}

/* The replacement for a stretch of the stored text. */
typedef struct h1_patch {
    uint32_t off, skip;
    const char *text;
    size_t len;
} h1_patch;

static size_t h1_put_patched(char *out, const http_stored_head *head, h1_patch *patch, int n)
{
    uint32_t from = 0;
    char *p = out;

    for (int i = 1; i < n; i++) /* four at most: by place */
        for (int k = i; k > 0 && patch[k].off < patch[k - 1].off; k--) {
            const h1_patch later = patch[k - 1];

            patch[k - 1] = patch[k];
            patch[k] = later;
        }
    for (int i = 0; i < n; from = patch[i].off + patch[i].skip, i++) {
        BRG_ASSERT(from <= patch[i].off && patch[i].off + patch[i].skip <= head->len);
        p = h1_put(p, head->text + from, patch[i].off - from);
        p = h1_put(p, patch[i].text, patch[i].len);
    }
    return (size_t)(h1_put(p, head->text + from, head->len - from) - out);
}

/* The first response of a connection offers the other protocols. Connection stands where the full
 * way would have put it. */
static size_t h1_put_first(char *out, const http_answer *a, const http_answer_terms *t)
{
    char *p = h1_put_field(out, "Upgrade", a->upgrade);

    p = H1_PUT(p, "Connection: Upgrade");
    if (t->close)
        p = H1_PUT(p, ", close");
    else if (t->asked)
        p = H1_PUT(p, ", Keep-Alive");
    return (size_t)(H1_PUT(p, "\r\n") - out);
}

/* The tokens that ap_set_keepalive() would add to a Connection that modules set. @return how many
 * patches */
static int h1_patch_own(h1_patch *patch, char *conn, const http_stored_head *head,
                        const http_answer_terms *t)
{
    patch[0] = (h1_patch){.off = head->own_off, .text = ", close", .len = sizeof ", close" - 1};
    if (t->close)
        return 1;
    if (!t->asked)
        return 0;
    patch[0].text = ", Keep-Alive";
    patch[0].len = sizeof ", Keep-Alive" - 1;
    patch[1] = (h1_patch){.off = head->conn_off,
                          .text = conn,
                          .len = (size_t)(h1_put_keep_alive(conn, t->keep_alive, t->left) - conn)};
    return 2;
}

/* @return how many patches */
static int h1_patch_connection(h1_patch *patch, char *first, char *conn,
                               const http_stored_head *head, const http_answer *a,
                               const http_answer_terms *t)
{
    if (a->connection)
        return h1_patch_own(patch, conn, head, t);
    if (!t->first || !a->upgrade) {
        patch[0] = (h1_patch){
            .off = head->conn_off,
            .text = conn,
            .len = h1_format_connection(conn, t->close, t->asked, t->keep_alive, t->left)};
        return 1;
    }
    patch[0] = (h1_patch){.off = head->first_off, .text = first, .len = h1_put_first(first, a, t)};
    if (t->close || !t->asked)
        return 1;
    patch[1] = (h1_patch){.off = head->conn_off,
                          .text = conn,
                          .len = (size_t)(h1_put_keep_alive(conn, t->keep_alive, t->left) - conn)};
    return 2;
}

/* @param bytes  for Content-Length; -1: as stored */
static size_t __attribute__((noinline))
h1_put_changed(char *out, http_stored_head *head, const http_answer *a, const http_answer_terms *t,
               const http_part *part, apr_off_t bytes)
{
    char range[HTTP_PART_ROOM], length[24], conn[H1_CONNECTION_MAX], first[HTTP_HEAD_ROOM];
    h1_patch patch[4];
    int n = h1_patch_connection(patch, first, conn, head, a, t);

    BRG_ASSERT(a->date || head->date_off < head->first_off);
    BRG_ASSERT(head->first_off <= head->conn_off);
    if (bytes >= 0)
        patch[n++] = (h1_patch){.off = head->length_off,
                                .skip = a->field[a->length_at].value_len,
                                .text = length,
                                .len = http_put_number(length, (apr_uint64_t)bytes)};
    if (part)
        patch[n++] = (h1_patch){.off = head->range_off,
                                .skip = a->field[a->range_at].value_len,
                                .text = range,
                                .len = http_part_text(range, part)};
    if (head->dated_off)
        h1_set_dated(head, a, t->now);
    if (!a->date)
        memcpy(head->text + head->date_off, http_date_now(t->now), HTTP_DATE_LEN);
    return h1_put_patched(out, head, patch, n);
}

static size_t h1_put_stored(char *out, http_stored_head *head, const http_answer *a,
                            const http_answer_terms *t)
{
    size_t n = head->conn_off, rest = head->len - head->conn_off;

    if (a->connection || (t->first && a->upgrade))
        return h1_put_changed(out, head, a, t, NULL, -1);
    if (head->dated_off)
        h1_set_dated(head, a, t->now);
    memcpy(out, head->text, n);
    memcpy(out + head->date_off, http_date_now(t->now), HTTP_DATE_LEN);
    BRG_ASSERT(head->conn_off <= head->len && head->len + H1_CONNECTION_MAX <= HTTP_HEAD_ROOM);
    n += h1_format_connection(out + n, t->close, t->asked, t->keep_alive, t->left);
    memcpy(out + n, head->text + head->conn_off, rest);
    return n + rest;
}

static size_t h1_put_part(char *out, http_stored_head *head, const http_answer *a,
                          const http_answer_terms *t, const http_part *part, apr_off_t bytes)
{
    BRG_ASSERT(head->length_off && bytes >= 0);
    BRG_ASSERT((part != NULL) == (head->range_off != 0));
    return h1_put_changed(out, head, a, t, part, bytes);
}

const http_codec h1_codec = {.protocol = CONN_HTTP1,
                             .serialise = h1_serialise,
                             .put = h1_put_stored,
                             .put_part = h1_put_part};
