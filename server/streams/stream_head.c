/* SPDX-License-Identifier: Apache-2.0 */
/* A request head of field lines: its errors (RFC 9113, 8; RFC 9114, 4), and the http_head made of
 * it. */
#include "streams.h"
#include "h1_request.h"
#include "http_field_traits.h"
#include "http_fields.h"
#include "http_log.h"
#include "http_scan.h"
#include "brigade/assert.h"
#include "apr_base64.h"
#include <string.h>

static int field_is(const http_field *f, const char *lit, size_t len)
{
    return f->name_len == len && !memcmp(f->name, lit, len);
}

#define FIELD_IS(f, lit) field_is(f, lit, sizeof(lit) - 1)

/* ---- is it well-formed ---- */

static int field_name_is_bad(const http_field *f)
{
    if (!f->name_len)
        return 1;
    for (uint32_t i = 0; i < f->name_len; i++)
        if (!http_is(f->name[i], HTTP_C_TOKEN) || (f->name[i] >= 'A' && f->name[i] <= 'Z'))
            return 1;
    return 0;
}

static int field_value_is_bad(const http_field *f)
{
    const char *end = f->value + f->value_len;

    return http_scan_value(f->value, end) != end ||
           (f->value_len &&
            (f->value[0] == ' ' || f->value[0] == '\t' || end[-1] == ' ' || end[-1] == '\t'));
}

/* TE may say that trailers are welcome: RFC 9113, 8.2.2. */
static int field_is_of_connection(const http_field *f)
{
    return http_field_traits_of(f->name, f->name_len, HTTP_FIELD_OF_CONNECTION) ||
           (FIELD_IS(f, "te") && !(f->value_len == 8 && !strncasecmp(f->value, "trailers", 8)));
}

const char *stream_field_why(const http_field *f)
{
    if (field_name_is_bad(f))
        return "bad field name";
    if (field_value_is_bad(f))
        return "bad field value";
    return field_is_of_connection(f) ? "field of a connection of HTTP/1" : NULL;
}

static const http_field **parts_pseudo(stream_request *p, const http_field *f)
{
    return FIELD_IS(f, ":method")      ? &p->method
           : FIELD_IS(f, ":scheme")    ? &p->scheme
           : FIELD_IS(f, ":authority") ? &p->authority
           : FIELD_IS(f, ":path")      ? &p->path
           : FIELD_IS(f, ":protocol")  ? &p->protocol
                                       : NULL;
}

static void parts_take_pseudo(stream_request *p, const http_field *f, int late)
{
    const http_field **at = parts_pseudo(p, f);

    if (late)
        p->why = "pseudo field behind others";
    else if (!at)
        p->why = "unknown pseudo field";
    else if (*at)
        p->why = "pseudo field that comes twice";
    else if (http_scan_value(f->value, f->value + f->value_len) != f->value + f->value_len)
        p->why = "bad value of a pseudo field";
    else
        *at = f;
}

static void parts_take(stream_request *p, const http_field *f, int index)
{
    p->why = stream_field_why(f);
    switch (f->name_len) {
    case 4:
        if (!FIELD_IS(f, "host"))
            break;
        if (p->host >= 0)
            p->why = "more than one Host";
        p->host = index;
        break;
    case 6:
        if (!FIELD_IS(f, "cookie"))
            break;
        p->cookies += f->value_len + 2;
        p->cookies_n++;
        break;
    case 8:
        if (FIELD_IS(f, "priority"))
            p->priority = f;
        break;
    case 14:
        if (FIELD_IS(f, "content-length") && p->lengths_n++)
            p->why = "more than one Content-Length";
        break;
    default:
        break;
    }
}

static int path_is_bad(const http_field *path, const http_field *method)
{
    const char *end = path->value + path->value_len;

    if (http_scan_target(path->value, end) != end || !path->value_len)
        return 1;
    return path->value[0] != '/' &&
           !(path->value_len == 1 && path->value[0] == '*' && method->value_len == 7 &&
             !memcmp(method->value, "OPTIONS", 7));
}

static int method_is_bad(const http_field *f)
{
    for (uint32_t i = 0; i < f->value_len; i++)
        if (!http_is(f->value[i], HTTP_C_TOKEN))
            return 1;
    return !f->value_len;
}

/* Of another protocol than WebSocket nothing is known here. */
static int protocol_is_bad(const stream_request *p, int tunnels)
{
    return !tunnels || p->method->value_len != 7 || memcmp(p->method->value, "CONNECT", 7) ||
           !p->authority || p->protocol->value_len != 9 ||
           strncasecmp(p->protocol->value, "websocket", 9);
}

void stream_parts_of(stream_request *p, const http_field_block *list, int tunnels)
{
    int late = 0;

    *p = (stream_request){.host = -1};
    for (uint32_t i = 0; i < list->n && !p->why; i++) {
        const http_field *f = &list->field[i];

        if (f->name_len && f->name[0] == ':') {
            parts_take_pseudo(p, f, late);
            continue;
        }
        late = 1;
        parts_take(p, f, (int)i);
    }
    if (p->why || list->cut)
        return;
    if (!p->method || !p->path || !p->scheme || !p->scheme->value_len)
        p->why = "pseudo field missing";
    else if (method_is_bad(p->method) || path_is_bad(p->path, p->method))
        p->why = "bad method or path";
    else if (p->protocol && protocol_is_bad(p, tunnels))
        p->why = "bad :protocol";
    else if (p->authority && p->host >= 0 &&
             (p->authority->value_len != list->field[p->host].value_len ||
              strncasecmp(p->authority->value, list->field[p->host].value,
                          p->authority->value_len)))
        p->why = "Host is not :authority";
}

/* ---- the head ---- */

static uint8_t method_id(const http_field *f)
{
    static const struct {
        const char *name;
        uint8_t id;
    } known[] = {{"GET", HTTP_METHOD_GET},
                 {"HEAD", HTTP_METHOD_HEAD},
                 {"POST", HTTP_METHOD_POST},
                 {"OPTIONS", HTTP_METHOD_OPTIONS},
                 {"TRACE", HTTP_METHOD_TRACE}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == f->value_len && !memcmp(known[i].name, f->value, f->value_len))
            return known[i].id;
    return HTTP_METHOD_OTHER;
}

void stream_head_add(http_head *head, const char *name, size_t name_len, const char *value,
                     size_t value_len)
{
    http_field *f = &head->field[head->n_fields];
    const http_field_id id = http_field_id_of(name, name_len);

    BRG_ASSERT_DEBUG(head->field == head->own); /* stream_head_begin() */
    if (head->n_fields >= HTTP_HEAD_OWN_FIELDS)
        return;
    *f = (http_field){name, value, (uint32_t)name_len, (uint32_t)value_len, (uint8_t)id};
    if (id != HTTP_F_OTHER) {
        if (head->known[id] >= 0)
            head->repeated = 1;
        else
            head->known[id] = (int16_t)head->n_fields;
    }
    head->n_fields++;
}

/* Cookie lines are one again: RFC 9113, 8.2.3. @return behind it */
static char *head_add_cookies(http_head *head, const http_field_block *list, char *to)
{
    char *begin = to;

    BRG_ASSERT_DEBUG(!list->cut); /* their values are there, and room behind them */
    for (uint32_t i = 0; i < list->n; i++) {
        const http_field *f = &list->field[i];

        if (!FIELD_IS(f, "cookie"))
            continue;
        if (to > begin) {
            memcpy(to, "; ", 2);
            to += 2;
        }
        memcpy(to, f->value, f->value_len);
        to += f->value_len;
    }
    stream_head_add(head, "Cookie", 6, begin, (size_t)(to - begin));
    return to;
}

static void head_refuse(http_head *head, int status, const char *why, const http_field *f)
{
    if (head->status)
        return;
    head->status = status;
    head->why = why;
    head->bad = f ? f->name : NULL;
    head->bad_len = f ? f->name_len : 0;
    head->bad_is_field = f != NULL;
    head->bad_is_long = status != 400;
}

/* Only a forward proxy may be asked for others. */
static int scheme_is_of_http(const http_field *f)
{
    if (f->value_len == 4)
        return !memcmp(f->value, "http", 4) || !strncasecmp(f->value, "http", 4);
    return f->value_len == 5 &&
           (!memcmp(f->value, "https", 5) || !strncasecmp(f->value, "https", 5));
}

/* As WebSocket over HTTP/1 begins: so modules and backends know it. The nonce is no secret (RFC
 * 6455, 10.3), and its answer goes no further than to the proxy. @return behind the text */
static char *head_of_tunnel(http_head *head, char *to)
{
    unsigned char nonce[16];
    const int len = apr_base64_encode_len(sizeof nonce) - 1;

    head->method = "GET";
    head->method_len = 3;
    head->method_id = HTTP_METHOD_GET;
    head->upgrade = 1;
    ap_random_insecure_bytes(nonce, sizeof nonce);
    apr_base64_encode_binary(to, nonce, sizeof nonce);
    stream_head_add(head, "Upgrade", 7, "websocket", 9);
    stream_head_add(head, "Connection", 10, "Upgrade", 7);
    stream_head_add(head, "Sec-WebSocket-Key", 17, to, (size_t)len);
    return to + len + 1;
}

void stream_head_fill(http_head *head, const stream_request *p, const http_field_block *list,
                      char *to)
{
    const http_field *host = p->authority && p->authority->value_len ? p->authority : NULL;

    head->method = p->method->value;
    head->method_len = p->method->value_len;
    head->method_id = method_id(p->method);
    head->uri = p->path->value;
    head->uri_len = p->path->value_len;
    if (!host && p->host >= 0)
        host = &list->field[p->host];
    if (host)
        stream_head_add(head, "Host", 4, host->value, host->value_len);
    for (uint32_t i = 0; i < list->n; i++) {
        const http_field *f = &list->field[i];

        if (f->name[0] == ':' || (int)i == p->host || (p->cookies_n > 1 && FIELD_IS(f, "cookie")))
            continue;
        if (p->protocol && (FIELD_IS(f, "sec-websocket-key") || FIELD_IS(f, "content-length")))
            continue;
        stream_head_add(head, f->name, f->name_len, f->value, f->value_len);
    }
    if (p->protocol)
        to = head_of_tunnel(head, to);
    if (p->cookies_n > 1)
        head_add_cookies(head, list, to);
    if (!scheme_is_of_http(p->scheme))
        head_refuse(head, HTTP_BAD_REQUEST, "client asked for another scheme than http and https",
                    NULL);
}

/* Modules compare some names as HTTP/1 writes them (Header echo). */
void stream_head_spell(http_head *head, char *text, size_t size)
{
    for (http_field *f = head->field; f < head->field + head->n_fields; f++) {
        char *name = (char *)(uintptr_t)f->name;
        int begins = 1;

        if (name < text || name >= text + size)
            continue;
        for (size_t i = 0; i < f->name_len; i++) {
            if (begins && name[i] >= 'a' && name[i] <= 'z')
                name[i] = (char)(name[i] - ('a' - 'A'));
            begins = name[i] == '-';
        }
    }
}

/* LimitRequest*: as for HTTP/1, but a head that is too large has the status for that. */
void stream_head_judge(http_head *head, const http_field_block *list, const server_rec *s)
{
    const http_field *f;
    h1_limits limits;

    h1_limits_of(s, &limits);
    if (list->cut) {
        head_refuse(head, HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
                    "request head larger than the server keeps", NULL);
        return;
    }
    if (head->uri_len > limits.line)
        head_refuse(head, HTTP_REQUEST_URI_TOO_LARGE, "", NULL);
    if (limits.fields && head->n_fields > limits.fields)
        head_refuse(head, HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
                    APLOGNO(00564) "Number of request headers exceeds LimitRequestFields", NULL);
    for (f = head->field; f < head->field + head->n_fields; f++)
        if (f->name_len + f->value_len + 2 > limits.field_size)
            head_refuse(head, HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
                        APLOGNO(00561) "Request header exceeds LimitRequestFieldSize: %.*s", f);
    if ((f = http_head_oversized(head, limits.field_size)) != NULL)
        head_refuse(
            head, HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
            APLOGNO(00560) "Request header exceeds LimitRequestFieldSize after merging: %.*s", f);
    if (head->known[HTTP_F_HOST] >= 0) {
        f = &head->field[head->known[HTTP_F_HOST]];
        if (!http_host_is_valid(f->value, f->value_len))
            head_refuse(head, HTTP_BAD_REQUEST,
                        APLOGNO(00550) "Client sent malformed Host header: %.*s", f);
    } else {
        head_refuse(head, HTTP_BAD_REQUEST, "client sent a request without a host", NULL);
        head->no_host = 1;
    }
}

void stream_head_begin(http_head *head, const stream_protocol *protocol)
{
    memset(head, 0, offsetof(http_head, own));
    memset(head->known, 0xff, sizeof head->known);
    head->field = head->own;
    head->protocol = protocol->name;
    head->protocol_len = protocol->name_len;
    head->major = protocol->major;
}
