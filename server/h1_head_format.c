/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a response head. Sizes first, then one walk with memcpy: the lengths are known, so
 * nothing is formatted through printf and nothing is copied twice.
 *
 * The order of fields is Apache's: Date, Server, then headers_out as it was filled.
 */
#include "h1_response.h"
#include "h1_scan.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include <string.h>

size_t h1_format_number(char *buf, apr_uint64_t n)
{
    char digits[20];
    size_t len = 0;

    do {
        digits[len++] = (char)('0' + n % 10);
    } while ((n /= 10) != 0);
    for (size_t i = 0; i < len; i++) {
        buf[i] = digits[len - 1 - i];
    }
    return len;
}

static char *h1_put(char *p, const void *data, size_t len)
{
    memcpy(p, data, len);
    return p + len;
}

#define H1_PUT(p, lit) h1_put(p, lit, sizeof(lit) - 1)

size_t h1_format_connection(char *buf, int close, int asked, long timeout_s, int left)
{
    char *p = buf;

    if (close) {
        return (size_t)(H1_PUT(p, "Connection: close\r\n") - buf);
    }
    if (!asked) {
        return 0;
    }
    p = H1_PUT(p, "Keep-Alive: timeout=");
    p += h1_format_number(p, (apr_uint64_t)(timeout_s < 0 ? 0 : timeout_s));
    if (left >= 0) {
        p = H1_PUT(p, ", max=");
        p += h1_format_number(p, (apr_uint64_t)left);
    }
    p = H1_PUT(p, "\r\nConnection: Keep-Alive\r\n");
    return (size_t)(p - buf);
}

int h1_header_is_safe(const char *name, const char *value)
{
    if (!*name) {
        return 0;
    }
    while (h1_is(*name, H1_C_TOKEN)) {
        name++;
    }
    while (h1_is(*value, H1_C_VALUE)) {
        value++;
    }
    return *name == '\0' && *value == '\0';
}

static int h1_is_connection(const char *name)
{
    switch (*name) {
    case 'C':
    case 'c':
        return strcasecmp(name, "Connection") == 0;
    case 'K':
    case 'k':
        return strcasecmp(name, "Keep-Alive") == 0;
    default:
        return 0;
    }
}

/* The fields that the HTTP_HEADER filter sets after Connection. */
static int h1_is_late(const char *name)
{
    return strcasecmp(name, "Transfer-Encoding") == 0 || strcasecmp(name, "Content-Type") == 0;
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

size_t h1_head_size(const request_rec *r)
{
    const apr_array_header_t *fields = apr_table_elts(r->headers_out);
    const apr_table_entry_t *e = (const apr_table_entry_t *)fields->elts;
    size_t size = sizeof("HTTP/1.1 \r\nDate: \r\nServer: \r\n\r\n") + H1_DATE_LEN;

    size += strlen(h1_status_text(r)) + strlen(ap_get_server_banner());
    for (int i = 0; i < fields->nelts; i++) {
        size += strlen(e[i].key) + strlen(e[i].val) + 4;
    }
    return size;
}

static char *h1_put_field(char *p, const char *name, const char *value)
{
    p = h1_put(p, name, strlen(name));
    p = H1_PUT(p, ": ");
    p = h1_put(p, value, strlen(value));
    return H1_PUT(p, "\r\n");
}

/* Status line, Date, Server. An origin behind us may have named its own. */
static char *h1_put_top(const request_rec *r, char *p, size_t *date_off)
{
    const char *start = p, *own = NULL, *text = h1_status_text(r);

    p = h1_put(p, h1_response_protocol(r), 8);
    *p++ = ' ';
    p = h1_put(p, text, strlen(text));
    p = H1_PUT(p, "\r\n");
    if (r->proxyreq != PROXYREQ_NONE) {
        own = apr_table_get(r->headers_out, "Date");
    }
    *date_off = 0;
    if (!own) {
        p = H1_PUT(p, "Date: ");
        *date_off = (size_t)(p - start);
        p = h1_put(p, h1_date_now(r->request_time), H1_DATE_LEN);
        p = H1_PUT(p, "\r\n");
    } else {
        p = h1_put_field(p, "Date", own);
    }
    own = r->proxyreq != PROXYREQ_NONE ? apr_table_get(r->headers_out, "Server") : NULL;
    if (!own) {
        own = ap_get_server_banner();
    }
    return *own ? h1_put_field(p, "Server", own) : p;
}

size_t h1_format_head(const request_rec *r, char *buf, size_t cap, h1_head_marks *marks)
{
    const apr_array_header_t *fields = apr_table_elts(r->headers_out);
    const apr_table_entry_t *e = (const apr_table_entry_t *)fields->elts;
    size_t date_off, conn_off = 0;
    char *p = buf;

    if (h1_head_size(r) > cap) {
        return 0;
    }
    p = h1_put_top(r, p, &date_off);
    for (int i = 0; i < fields->nelts; i++) {
        if (!strcasecmp(e[i].key, "Date") || !strcasecmp(e[i].key, "Server")) {
            continue;
        }
        if (marks && h1_is_connection(e[i].key)) {
            conn_off = conn_off ? conn_off : (size_t)(p - buf);
            continue;
        }
        if (marks && !conn_off && h1_is_late(e[i].key)) {
            conn_off = (size_t)(p - buf);
        }
        p = h1_put_field(p, e[i].key, e[i].val);
    }
    if (marks) {
        marks->date_off = date_off;
        marks->conn_off = conn_off ? conn_off : (size_t)(p - buf);
    }
    p = H1_PUT(p, "\r\n");
    return (size_t)(p - buf);
}
