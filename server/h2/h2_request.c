/* SPDX-License-Identifier: Apache-2.0 */
/* Field blocks: a request head, with what makes it malformed (RFC 9113, 8), or the trailers of one.
 *
 * A request that memory answers is over here. Any other runs on a stream of its own. */
#include "h2_private.h"
#include "connection.h"
#include "h1_conn.h"
#include "h1_request.h"
#include "http_fields.h"
#include "http_log.h"
#include "http_scan.h"
#include "program_thread.h"
#include "response_cache.h"
#include "scores.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(http2);

#define REQUEST_FIELDS HTTP_HEAD_OWN_FIELDS

/* What a thread needs within a call. */
typedef struct request_scratch {
    http_head head;
    hpack_field field[REQUEST_FIELDS];
    size_t room;
    char text[]; /* strings of a block, then what is made of them */
} request_scratch;

/* Pseudo fields, and what is found on the way. */
typedef struct request_parts {
    const hpack_field *method, *scheme, *authority, *path;
    const hpack_field *priority;
    const char *why; /* it is malformed */
    size_t cookies;  /* bytes of all Cookie lines */
    int cookies_n;
    int host; /* index in the list, -1 */
} request_parts;

/* Of the loop's memory: one for all its connections. */
static request_scratch *request_scratch_of(const h2_session *h)
{
    static PROGRAM_THREAD_LOCAL request_scratch *scratch;
    static PROGRAM_THREAD_LOCAL const brg_loop *of;
    const size_t room = 3 * (size_t)h->conf.max_block + 16384;

    if (of == h->bc->loop && scratch->room >= room)
        return scratch;
    scratch = apr_palloc(h->bc->loop->pool, sizeof *scratch + room);
    scratch->room = room;
    of = h->bc->loop;
    return scratch;
}

static int field_is(const hpack_field *f, const char *lit, size_t len)
{
    return f->name_len == len && !memcmp(f->name, lit, len);
}

#define FIELD_IS(f, lit) field_is(f, lit, sizeof(lit) - 1)

/* ---- is it well-formed ---- */

static int field_name_is_bad(const hpack_field *f)
{
    if (!f->name_len)
        return 1;
    for (uint32_t i = 0; i < f->name_len; i++)
        if (!http_is(f->name[i], HTTP_C_TOKEN) || (f->name[i] >= 'A' && f->name[i] <= 'Z'))
            return 1;
    return 0;
}

static int field_value_is_bad(const hpack_field *f)
{
    const char *end = f->value + f->value_len;

    return http_scan_value(f->value, end) != end ||
           (f->value_len &&
            (f->value[0] == ' ' || f->value[0] == '\t' || end[-1] == ' ' || end[-1] == '\t'));
}

/* Fields that only HTTP/1 has: RFC 9113, 8.2.2. */
static int field_is_of_connection(const hpack_field *f)
{
    switch (f->name_len) {
    case 2:
        return FIELD_IS(f, "te") && !(f->value_len == 8 && !strncasecmp(f->value, "trailers", 8));
    case 7:
        return FIELD_IS(f, "upgrade");
    case 10:
        return FIELD_IS(f, "connection") || FIELD_IS(f, "keep-alive");
    case 16:
        return FIELD_IS(f, "proxy-connection");
    case 17:
        return FIELD_IS(f, "transfer-encoding");
    default:
        return 0;
    }
}

static const char *field_why(const hpack_field *f)
{
    if (field_name_is_bad(f))
        return "bad field name";
    if (field_value_is_bad(f))
        return "bad field value";
    return field_is_of_connection(f) ? "field of a connection of HTTP/1" : NULL;
}

static const hpack_field **parts_pseudo(request_parts *p, const hpack_field *f)
{
    return FIELD_IS(f, ":method")      ? &p->method
           : FIELD_IS(f, ":scheme")    ? &p->scheme
           : FIELD_IS(f, ":authority") ? &p->authority
           : FIELD_IS(f, ":path")      ? &p->path
                                       : NULL;
}

static void parts_take_pseudo(request_parts *p, const hpack_field *f, int late)
{
    const hpack_field **at = parts_pseudo(p, f);

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

static void parts_take(request_parts *p, const hpack_field *f, int index)
{
    p->why = field_why(f);
    if (FIELD_IS(f, "cookie")) {
        p->cookies += f->value_len + 2;
        p->cookies_n++;
    } else if (FIELD_IS(f, "host")) {
        if (p->host >= 0)
            p->why = "more than one Host";
        p->host = index;
    } else if (FIELD_IS(f, "priority")) {
        p->priority = f;
    }
}

static int path_is_bad(const hpack_field *path, const hpack_field *method)
{
    const char *end = path->value + path->value_len;

    if (http_scan_target(path->value, end) != end || !path->value_len)
        return 1;
    return path->value[0] != '/' &&
           !(path->value_len == 1 && path->value[0] == '*' && method->value_len == 7 &&
             !memcmp(method->value, "OPTIONS", 7));
}

static int method_is_bad(const hpack_field *f)
{
    for (uint32_t i = 0; i < f->value_len; i++)
        if (!http_is(f->value[i], HTTP_C_TOKEN))
            return 1;
    return !f->value_len;
}

static void parts_of(request_parts *p, const hpack_list *list)
{
    int late = 0;

    *p = (request_parts){.host = -1};
    for (uint32_t i = 0; i < list->n && !p->why; i++) {
        const hpack_field *f = &list->field[i];

        if (f->name_len && f->name[0] == ':') {
            parts_take_pseudo(p, f, late);
            continue;
        }
        late = 1;
        parts_take(p, f, (int)i);
    }
    if (p->why || list->cut)
        return;
    if (!p->method || !p->path || !p->scheme)
        p->why = "pseudo field missing";
    else if (method_is_bad(p->method) || path_is_bad(p->path, p->method))
        p->why = "bad method or path";
    else if (p->authority && p->host >= 0 &&
             (p->authority->value_len != list->field[p->host].value_len ||
              strncasecmp(p->authority->value, list->field[p->host].value,
                          p->authority->value_len)))
        p->why = "Host is not :authority";
}

/* ---- the head ---- */

static uint8_t method_id(const hpack_field *f)
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

static void head_add(http_head *head, const char *name, size_t name_len, const char *value,
                     size_t value_len)
{
    http_field *f = &head->field[head->n_fields];
    const http_field_id id = http_field_id_of(name, name_len);

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
static char *head_add_cookies(http_head *head, const hpack_list *list, char *to)
{
    char *begin = to;

    for (uint32_t i = 0; i < list->n; i++) {
        const hpack_field *f = &list->field[i];

        if (!FIELD_IS(f, "cookie"))
            continue;
        if (to > begin) {
            memcpy(to, "; ", 2);
            to += 2;
        }
        memcpy(to, f->value, f->value_len);
        to += f->value_len;
    }
    head_add(head, "cookie", 6, begin, (size_t)(to - begin));
    return to;
}

static void head_fill(http_head *head, const request_parts *p, const hpack_list *list, char *to)
{
    const hpack_field *host = p->authority && p->authority->value_len ? p->authority : NULL;

    head->major = 2;
    head->method = p->method->value;
    head->method_len = p->method->value_len;
    head->method_id = method_id(p->method);
    head->uri = p->path->value;
    head->uri_len = p->path->value_len;
    if (!host && p->host >= 0)
        host = &list->field[p->host];
    if (host)
        head_add(head, "Host", 4, host->value, host->value_len);
    for (uint32_t i = 0; i < list->n; i++) {
        const hpack_field *f = &list->field[i];

        if (f->name[0] == ':' || (int)i == p->host || (p->cookies_n > 1 && FIELD_IS(f, "cookie")))
            continue;
        head_add(head, f->name, f->name_len, f->value, f->value_len);
    }
    if (p->cookies_n > 1)
        head_add_cookies(head, list, to);
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

/* LimitRequest*: as for HTTP/1. */
static void head_judge(http_head *head, const hpack_list *list, const server_rec *s)
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
        head_refuse(head, HTTP_BAD_REQUEST,
                    APLOGNO(00564) "Number of request headers exceeds LimitRequestFields", NULL);
    for (f = head->field; f < head->field + head->n_fields; f++)
        if (f->name_len + f->value_len + 2 > limits.field_size)
            head_refuse(head, HTTP_BAD_REQUEST,
                        APLOGNO(00561) "Request header exceeds LimitRequestFieldSize: %.*s", f);
    if ((f = http_head_oversized(head, limits.field_size)) != NULL)
        head_refuse(
            head, HTTP_BAD_REQUEST,
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

static void head_begin(http_head *head)
{
    memset(head, 0, offsetof(http_head, own));
    memset(head->known, 0xff, sizeof head->known);
    head->field = head->own;
    head->protocol = "HTTP/2.0";
    head->protocol_len = 8;
}

/* ---- priority: RFC 9218, 4 ---- */

static void priority_parse(const char *value, size_t len, uint8_t *urgency, uint8_t *incremental)
{
    const char *p = value, *item;
    size_t n;

    while (http_list_next(&p, value + len, &item, &n))
        if (n == 3 && item[0] == 'u' && item[1] == '=' && item[2] >= '0' && item[2] <= '7')
            *urgency = (uint8_t)(item[2] - '0');
        else if (n >= 1 && item[0] == 'i' && (n == 1 || (n == 4 && !memcmp(item, "i=?1", 4))))
            *incremental = 1;
        else if (n == 4 && !memcmp(item, "i=?0", 4))
            *incremental = 0;
}

void h2_set_priority(h2_stream *s, const char *value, size_t len)
{
    uint8_t urgency = s->urgency, incremental = s->incremental;
    int was_ready = s->ready_prev != NULL;

    priority_parse(value, len, &urgency, &incremental);
    h2_stream_unready(s);
    s->urgency = urgency;
    s->incremental = incremental;
    if (was_ready)
        h2_stream_ready(s);
}

/* ---- running it ---- */

static void request_malformed(h2_session *h, uint32_t id, const char *why)
{
    ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, h->bc->base, "HTTP/2 stream %u: malformed request: %s",
                 (unsigned)id, why);
    h2_reset_id(h, id, H2_PROTOCOL_ERROR);
    h2_limit_fault(h, "malformed requests, again and again");
}

/* Of its own, with a conn_rec below the connection's. */
static void request_run(h2_session *h, h2_stream *s, http_head *head)
{
    brg_conn *bc = h->bc;
    const int chunked = !s->remote_closed && !s->has_length;

    if (chunked) { /* as modules know bodies without a length */
        head_add(head, "Transfer-Encoding", 17, "chunked", 7);
        head->chunked = 1;
    }
    head->has_body = !s->remote_closed;
    head->content_length = s->has_length ? s->expects : 0;
    if ((!bc->c && connection_attach(bc) != APR_SUCCESS) || h2_pipe_begin(s, chunked) ||
        connection_attach_stream(s->bc) != APR_SUCCESS) {
        h2_stream_reset(s, H2_INTERNAL_ERROR);
        return;
    }
    if (s->remote_closed)
        h2_pipe_body_over(s, NULL, 0);
    h1_stream_run(s->bc, head);
}

/* @return 1: it was answered from memory */
static int request_from_memory(h2_session *h, uint32_t id, unsigned flags, const http_head *head,
                               const h2_stream *as)
{
    char *out = h2_output_room(h);
    cache_reply reply;

    if (head->status || !(flags & H2_END_STREAM) ||
        !cache_reply_to(h->bc->loop->cache, h->bc, head, &h2_codec, out, &reply))
        return 0;
    h->bc->loop->ended_n++;
    h->bc->idle_until = h->bc->loop->monotonic + h->bc->base->keep_alive_timeout;
    loop_score_add(&h->bc->loop->score->accesses, 1);
    if (h2_output_stored(h, id, &reply, as->urgency, as->incremental))
        h2_reset_id(h, id, H2_INTERNAL_ERROR);
    return 1;
}

static void request_take(h2_session *h, uint32_t id, unsigned flags, request_scratch *t,
                         const hpack_list *list, const request_parts *p)
{
    h2_stream as = {.urgency = H2_URGENCY_DEFAULT}, *s;
    http_head *head = &t->head;
    int length;

    if (p->priority)
        priority_parse(p->priority->value, p->priority->value_len, &as.urgency, &as.incremental);
    head_begin(head);
    head->head_len = (uint32_t)list->size;
    if (!list->cut)
        head_fill(head, p, list, list->text);
    head_judge(head, list, h->bc->base);
    length = head->known[HTTP_F_CONTENT_LENGTH];
    if (length >= 0) {
        const http_field *f = &head->field[length];

        if (http_parse_length(f->value, f->value_len, &as.expects) ||
            (flags & H2_END_STREAM && as.expects)) {
            request_malformed(h, id, "Content-Length");
            return;
        }
    }
    h->requests++;
    h->bc->requests++;
    if (request_from_memory(h, id, flags, head, &as))
        return;
    if (!(s = h2_stream_open(h, id))) {
        h2_reset_id(h, id, H2_INTERNAL_ERROR);
        return;
    }
    s->urgency = as.urgency;
    s->incremental = as.incremental;
    s->is_head = head->method_id == HTTP_METHOD_HEAD;
    s->has_length = length >= 0;
    s->expects = as.expects;
    s->remote_closed = (flags & H2_END_STREAM) != 0;
    request_run(h, s, head);
}

/* ---- trailers ---- */

static void trailers_take(h2_stream *s, const hpack_list *list)
{
    size_t size = 0;
    char *text, *to;

    for (uint32_t i = 0; i < list->n; i++)
        size += list->field[i].name_len + list->field[i].value_len + 4U;
    text = to = size ? malloc(size) : NULL;
    for (uint32_t i = 0; text && i < list->n; i++) {
        const hpack_field *f = &list->field[i];

        memcpy(to, f->name, f->name_len);
        to += f->name_len;
        memcpy(to, ": ", 2);
        memcpy(to + 2, f->value, f->value_len);
        to += 2 + f->value_len;
        memcpy(to, "\r\n", 2);
        to += 2;
    }
    if (s->pipe) {
        h2_pipe_body_over(s, text, (size_t)(to - text));
        h2_pipe_go_on(s);
    } else {
        free(text);
    }
}

static void block_of_trailers(h2_session *h, h2_stream *s, unsigned flags, const hpack_list *list)
{
    const char *why = flags & H2_END_STREAM ? NULL : "a second head";

    for (uint32_t i = 0; i < list->n && !why; i++)
        why = field_why(&list->field[i]);
    if (!why && s->has_length && s->came != s->expects)
        why = "body shorter than Content-Length";
    if (why || list->cut) {
        ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, h->bc->base, "HTTP/2 stream %u: bad trailers: %s",
                     (unsigned)s->id, why ? why : "too long");
        h2_stream_reset(s, H2_PROTOCOL_ERROR);
        h2_limit_fault(h, "malformed requests, again and again");
        return;
    }
    s->remote_closed = 1;
    trailers_take(s, list);
}

/* ---- blocks ---- */

/* A block on a stream that there was. */
static void block_late(h2_session *h, uint32_t id, unsigned flags, const hpack_list *list)
{
    h2_stream *s = h2_stream_find(h, id);

    if (s && !s->local_closed && !s->remote_closed) {
        block_of_trailers(h, s, flags, list);
    } else if (s && !s->local_closed) {
        h2_stream_reset(s, H2_STREAM_CLOSED);
        h2_limit_fault(h, "HEADERS on streams that ended, again and again");
    } else if (!s && !h2_was_reset(h, id)) {
        h2_fail(h, H2_STREAM_CLOSED, "HEADERS on a stream that ended");
    }
}

static void block_of_request(h2_session *h, uint32_t id, unsigned flags, request_scratch *t,
                             hpack_list *list)
{
    request_parts parts;

    h->last_id = id;
    if (h2_limit_streams(h)) {
        h2_reset_id(h, id, H2_REFUSED_STREAM);
        h2_limit_waste(h, "more streams than H2MaxSessionStreams, again and again");
        return;
    }
    parts_of(&parts, list);
    if (parts.why)
        request_malformed(h, id, parts.why);
    else
        request_take(h, id, flags, t, list, &parts);
}

void h2_take_block(h2_session *h, uint32_t id, unsigned flags, const uint8_t *block, size_t len)
{
    request_scratch *t = request_scratch_of(h);
    hpack_list list;

    list = (hpack_list){.text = t->text,
                        .room = (size_t)h->conf.max_block + 4096,
                        .field = t->field,
                        .most = REQUEST_FIELDS};
    switch (hpack_decode(&h->decoder, block, len, &list)) {
    case HPACK_OK:
        break;
    case HPACK_NO_MEMORY:
        h2_fail(h, H2_INTERNAL_ERROR, "no memory");
        return;
    default:
        h2_fail(h, H2_COMPRESSION_ERROR, "field block that cannot be decoded");
        return;
    }
    if (id <= h->last_id)
        block_late(h, id, flags, &list);
    else if (!h->goaway_sent)
        block_of_request(h, id, flags, t, &list);
}
