/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 towards backends (h2:// over TLS, h2c:// with prior knowledge): one stream after the other on a connection that is kept,
 * so each request has the connection's windows for itself. What this side sends uses no dynamic table; that of the backend
 * lives as long as the connection. Source: RFC 9113. */
#include "exchange_private.h"
#include "h2_frame.h"
#include "hpack_decode.h"
#include "hpack_encode.h"
#include "proxy_fields.h"
#include "http_scan.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>
#if BRIGADE_TLS
#include "tls_client.h"
#endif

APLOG_USE_MODULE(proxy_http2);

#define H2C_WINDOW (1 << 20)       /* of a stream, that the backend may fill */
#define H2C_WINDOW_ALL (16 << 20)  /* of the connection */
#define H2C_HEAD_MOST (256 * 1024) /* bytes of a field block, packed and unpacked */
#define H2C_FIELDS_MOST 1000
#define H2C_CONTROL_MOST 10000 /* frames in an exchange that carry nothing of it: a flood beyond */

/* Of a connection, as long as that. */
typedef struct h2c_session {
    hpack_table table;
    uint32_t next;       /* stream that is opened next */
    int64_t window;      /* bytes that may be sent on the connection */
    uint32_t initial;    /* SETTINGS_INITIAL_WINDOW_SIZE of the backend */
    uint32_t frame_most; /* and its SETTINGS_MAX_FRAME_SIZE */
    uint64_t taken;      /* bytes of DATA that were read and not given back by WINDOW_UPDATE */
} h2c_session;

/* Of an exchange. */
typedef struct h2c_stream {
    uint32_t id;
    int64_t window; /* bytes that may be sent on it */
    uint64_t taken;
    apr_bucket_brigade *body; /* waits for a window */
    uint8_t last;             /* the body ends with what waits */
    uint8_t ended;            /* END_STREAM was sent */
    uint32_t data_left;       /* of a DATA frame that arrives in pieces */
    uint32_t padding;         /* behind it */
    uint8_t data_ends;        /* and it ends the stream */
    uint8_t *block;           /* a field block that arrives in pieces */
    apr_size_t block_n;
    uint8_t block_open, block_ends;
    unsigned control;
    int64_t length; /* Content-Length of the answer; -1: it has none */
    int64_t came;   /* bytes of its body */
} h2c_stream;

static h2c_session *h2c_session_of(const proxy_exchange *x)
{
    return x->cc->session;
}

static void h2c_session_end(void *baton)
{
    h2c_session *s = baton;

    BRG_ASSERT(s->next & 1); /* streams of a client are odd */
    hpack_table_free(&s->table);
    free(s);
}

/* ---- what is sent ---- */

static void h2c_out(proxy_exchange *x, const uint8_t *data, apr_size_t len)
{
    exchange_out(
        x, apr_bucket_heap_create((const char *)data, len, NULL, x->r->connection->bucket_alloc));
}

static void h2c_put_number(proxy_exchange *x, h2_frame_type type, uint32_t stream, uint32_t value)
{
    uint8_t frame[H2_FRAME_HEAD + 4];

    h2_put32(h2_put_frame(frame, 4, type, 0, stream), value);
    h2c_out(x, frame, sizeof frame);
}

static uint8_t *h2c_put_setting(uint8_t *p, h2_setting name, uint32_t value)
{
    *p++ = 0;
    *p++ = (uint8_t)name;
    return h2_put32(p, value);
}

static void h2c_greet(proxy_exchange *x)
{
    uint8_t text[H2_PREFACE_LEN + H2_FRAME_HEAD + 18], *p = text;

    memcpy(p, H2_PREFACE, H2_PREFACE_LEN);
    p = h2_put_frame(p + H2_PREFACE_LEN, 18, H2_SETTINGS, 0, 0);
    p = h2c_put_setting(p, H2_SET_ENABLE_PUSH, 0);
    p = h2c_put_setting(p, H2_SET_INITIAL_WINDOW_SIZE, H2C_WINDOW);
    p = h2c_put_setting(p, H2_SET_MAX_HEADER_LIST_SIZE, H2C_HEAD_MOST);
    h2c_out(x, text, (apr_size_t)(p - text));
    h2c_put_number(x, H2_WINDOW_UPDATE, 0, H2C_WINDOW_ALL - H2_WINDOW_DEFAULT);
}

/* @return 0: no memory */
static int h2c_session_begin(proxy_exchange *x)
{
    h2c_session *s;

    if (x->cc->session)
        return 1;
    s = calloc(1, sizeof *s);
    if (!s)
        return 0;
    hpack_table_init(&s->table, HPACK_DEFAULT_TABLE_SIZE);
    s->next = 1;
    s->window = H2_WINDOW_DEFAULT;
    s->initial = H2_WINDOW_DEFAULT;
    s->frame_most = H2_FRAME_MAX;
    x->cc->session = s;
    x->cc->session_end = h2c_session_end;
    h2c_greet(x);
    return 1;
}

static uint8_t *h2c_put_field(uint8_t *p, request_rec *r, const proxy_line *l)
{
    char *name = apr_pstrmemdup(r->pool, l->name, l->name_len);
    const int secret = !strcasecmp(l->name, "Authorization") || !strcasecmp(l->name, "Cookie");

    for (char *c = name; *c; c++)
        *c = apr_tolower(*c);
    return hpack_put_line(p, name, l->name_len, l->value, l->value_len, secret);
}

static uint8_t *h2c_put_pseudo(uint8_t *p, const char *name, const char *value)
{
    return hpack_put_line(p, name, strlen(name), value, strlen(value), 0);
}

/* A block as HEADERS and as many CONTINUATIONs as it needs. */
static void h2c_put_block(proxy_exchange *x, uint32_t id, const uint8_t *block, apr_size_t len,
                          int ends)
{
    uint8_t head[H2_FRAME_HEAD];
    h2_frame_type type = H2_HEADERS;
    unsigned flags = ends ? H2_END_STREAM : 0;

    do {
        const apr_size_t n = len < H2_FRAME_MAX ? len : H2_FRAME_MAX;

        h2_put_frame(head, n, type, flags | (n == len ? H2_END_HEADERS : 0), id);
        h2c_out(x, head, sizeof head);
        h2c_out(x, block, n);
        block += n;
        len -= n;
        type = H2_CONTINUATION;
        flags = 0;
    } while (len);
}

static void h2c_request(proxy_exchange *x, const h2c_stream *st)
{
    request_rec *r = x->r;
    const proxy_line *lines;
    const char *host, *scheme = x->target->scheme == PROXY_SCHEME_H2 ? "https" : "http";
    const int n = proxy_request_lines(x, &lines, &host);
    apr_size_t room = HPACK_LINE_ROOM(8, strlen(r->method)) + HPACK_LINE_ROOM(8, 8) +
                      HPACK_LINE_ROOM(12, strlen(host)) +
                      HPACK_LINE_ROOM(6, strlen(x->target->path));
    uint8_t *block, *p;

    for (int i = 0; i < n; i++)
        room += HPACK_LINE_ROOM(lines[i].name_len, lines[i].value_len);
    p = block = apr_palloc(r->pool, room);
    p = h2c_put_pseudo(p, ":method", r->method);
    p = h2c_put_pseudo(p, ":scheme", scheme);
    p = h2c_put_pseudo(p, ":authority", host);
    p = h2c_put_pseudo(p, ":path", x->target->path);
    for (int i = 0; i < n; i++)
        p = h2c_put_field(p, r, &lines[i]);
    BRG_ASSERT((apr_size_t)(p - block) <= room);
    h2c_put_block(x, st->id, block, (apr_size_t)(p - block), st->ended);
}

static int h2c_speaks(const proxy_exchange *x)
{
#if BRIGADE_TLS
    if (x->target->scheme == PROXY_SCHEME_H2)
        return !strcmp(tls_client_protocol(&x->cc->bc), "h2");
#endif
    return x->target->scheme == PROXY_SCHEME_H2C;
}

static int h2c_begin(proxy_exchange *x)
{
    request_rec *r = x->r;
    h2c_stream *st = apr_pcalloc(r->pool, sizeof *st);
    h2c_session *s;

    if (!h2c_speaks(x)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "%s does not speak HTTP/2: its handshake chose no h2", x->target->url);
        return HTTP_BAD_GATEWAY;
    }
    if (!h2c_session_begin(x))
        return HTTP_SERVICE_UNAVAILABLE;
    if (x->has_body && !x->body_over && !x->body_n)
        (void)exchange_body_ahead(x);
    s = h2c_session_of(x);
    st->id = s->next;
    s->next += 2;
    st->window = s->initial;
    st->body = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    st->ended = x->body_over && !x->body_n;
    st->length = -1;
    x->script = st;
    x->held_n = 0;
    x->keep = s->next < H2_STREAM_MAX - 2;
    h2c_request(x, st);
    return OK;
}

static void h2c_put_data(proxy_exchange *x, h2c_stream *st, apr_size_t n)
{
    h2c_session *s = h2c_session_of(x);
    const int ends = st->last && n == (apr_size_t)x->held_n;
    uint8_t head[H2_FRAME_HEAD];
    apr_bucket *e;

    BRG_ASSERT(!st->ended && (apr_off_t)n <= x->held_n);
    h2_put_frame(head, n, H2_DATA, ends ? H2_END_STREAM : 0, st->id);
    h2c_out(x, head, sizeof head);
    s->window -= (int64_t)n;
    st->window -= (int64_t)n;
    x->held_n -= (apr_off_t)n;
    st->ended |= (uint8_t)ends;
    while (n) {
        e = APR_BRIGADE_FIRST(st->body);
        if (e->length > n)
            apr_bucket_split(e, n);
        n -= e->length;
        APR_BUCKET_REMOVE(e);
        exchange_out(x, e);
    }
}

/* As much as the windows let. */
static void h2c_flush(proxy_exchange *x, h2c_stream *st)
{
    const h2c_session *s = h2c_session_of(x);

    while (x->held_n > 0 && s->window > 0 && st->window > 0) {
        int64_t n = x->held_n;

        if (n > s->window)
            n = s->window;
        if (n > st->window)
            n = st->window;
        h2c_put_data(x, st, (apr_size_t)(n > s->frame_most ? s->frame_most : n));
    }
    if (st->last && !st->ended && !x->held_n)
        h2c_put_data(x, st, 0);
}

static void h2c_body(proxy_exchange *x, apr_bucket_brigade *bb, int last)
{
    h2c_stream *st = x->script;
    apr_off_t n = 0;

    if (st->ended)
        return;
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb), *next; e != APR_BRIGADE_SENTINEL(bb); e = next) {
        next = APR_BUCKET_NEXT(e);
        if (!e->length)
            apr_bucket_delete(e);
    }
    apr_brigade_length(bb, 1, &n);
    x->held_n += n;
    st->last |= (uint8_t)last;
    APR_BRIGADE_CONCAT(st->body, bb);
    h2c_flush(x, st);
}

/* ---- what comes ---- */

static apr_status_t h2c_bad(proxy_exchange *x, const char *why)
{
    x->bad = why;
    return APR_EGENERAL;
}

static apr_status_t h2c_settings(proxy_exchange *x, h2c_stream *st, const h2_frame *f,
                                 const uint8_t *p)
{
    h2c_session *s = h2c_session_of(x);
    uint8_t ack[H2_FRAME_HEAD];

    if (f->flags & H2_ACK)
        return APR_SUCCESS;
    if (f->stream || f->len % 6)
        return h2c_bad(x, "malformed SETTINGS");
    for (const uint8_t *end = p + f->len; p < end; p += 6) {
        const uint32_t value = h2_get32(p + 2);

        if (p[1] == H2_SET_INITIAL_WINDOW_SIZE && !p[0]) {
            if (value > H2_WINDOW_MAX)
                return h2c_bad(x, "a window that is too large");
            st->window += (int64_t)value - s->initial;
            s->initial = value;
        } else if (p[1] == H2_SET_MAX_FRAME_SIZE && !p[0]) {
            if (value < H2_FRAME_MAX || value > 0xffffff)
                return h2c_bad(x, "malformed SETTINGS");
            s->frame_most = value < 65536 ? value : 65536;
        }
    }
    h2_put_frame(ack, 0, H2_SETTINGS, H2_ACK, 0);
    h2c_out(x, ack, sizeof ack);
    h2c_flush(x, st);
    return APR_SUCCESS;
}

static apr_status_t h2c_ping(proxy_exchange *x, const h2_frame *f, const uint8_t *p)
{
    uint8_t pong[H2_FRAME_HEAD + 8];

    if (f->len != 8 || f->stream)
        return h2c_bad(x, "malformed PING");
    if (f->flags & H2_ACK)
        return APR_SUCCESS;
    memcpy(h2_put_frame(pong, 8, H2_PING, H2_ACK, 0), p, 8);
    h2c_out(x, pong, sizeof pong);
    return APR_SUCCESS;
}

static apr_status_t h2c_window(proxy_exchange *x, h2c_stream *st, const h2_frame *f,
                               const uint8_t *p)
{
    h2c_session *s = h2c_session_of(x);
    uint32_t n;

    if (f->len != 4)
        return h2c_bad(x, "malformed WINDOW_UPDATE");
    n = h2_get32(p) & H2_WINDOW_MAX;
    if (f->stream == 0)
        s->window += n;
    else if (f->stream == st->id)
        st->window += n;
    if (s->window > H2_WINDOW_MAX || st->window > H2_WINDOW_MAX)
        return h2c_bad(x, "a window that is too large");
    h2c_flush(x, st);
    return APR_SUCCESS;
}

/* The backend has not looked at the request: it is sent again at no charge (RFC 9113, 8.7). */
static apr_status_t h2c_untouched(proxy_exchange *x)
{
    x->untouched = 1;
    return h2c_bad(x, "the backend refused the stream");
}

static apr_status_t h2c_reset(proxy_exchange *x, const h2c_stream *st, const h2_frame *f,
                              const uint8_t *p)
{
    if (f->len != 4)
        return h2c_bad(x, "malformed RST_STREAM");
    if (f->stream != st->id || x->complete)
        return APR_SUCCESS;
    return h2_get32(p) == H2_REFUSED_STREAM && !x->answered
               ? h2c_untouched(x)
               : h2c_bad(x, "the backend reset the stream");
}

static apr_status_t h2c_goaway(proxy_exchange *x, const h2c_stream *st, const h2_frame *f,
                               const uint8_t *p)
{
    if (f->len < 8)
        return h2c_bad(x, "malformed GOAWAY");
    x->keep = 0;
    if ((h2_get32(p) & H2_STREAM_MAX) < st->id && !x->answered)
        return h2c_untouched(x);
    return APR_SUCCESS;
}

/* ---- heads ---- */

static int h2c_status(const hpack_list *list)
{
    int status = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        const hpack_field *f = &list->field[i];

        if (f->name_len != 7 || memcmp(f->name, ":status", 7) != 0)
            continue;
        if (status || f->value_len != 3)
            return -1;
        for (int k = 0; k < 3; k++) {
            if (!apr_isdigit(f->value[k]))
                return -1;
            status = status * 10 + f->value[k] - '0';
        }
    }
    return status;
}

/* What could be taken for something else once it is a line of HTTP/1 (RFC 9113, 8.2.1). */
static int h2c_field_is_bad(const hpack_field *f)
{
    const char *name_end = f->name + f->name_len, *end = f->value + f->value_len;

    for (uint32_t i = 0; i < f->name_len; i++)
        if (apr_isupper(f->name[i]))
            return 1;
    return !f->name_len || h1_scan_token(f->name, name_end) != name_end ||
           http_scan_value(f->value, end) != end;
}

/* @return 0: there is another length, or it is none */
static int h2c_length(h2c_stream *st, const hpack_field *f)
{
    int64_t n = 0;

    if (!f->value_len || f->value_len > 18)
        return 0;
    for (uint32_t i = 0; i < f->value_len; i++) {
        if (!apr_isdigit(f->value[i]))
            return 0;
        n = n * 10 + f->value[i] - '0';
    }
    if (st->length >= 0 && st->length != n)
        return 0;
    st->length = n;
    return 1;
}

/* @param st  NULL: of an interim answer */
static const char *h2c_fields(proxy_exchange *x, h2c_stream *st, const hpack_list *list)
{
    request_rec *r = x->r;

    for (uint32_t i = 0; i < list->n; i++) {
        const hpack_field *f = &list->field[i];
        const int is_length = f->name_len == 14 && !memcmp(f->name, "content-length", 14);

        if (f->name_len == 7 && !memcmp(f->name, ":status", 7))
            continue;
        if (h2c_field_is_bad(f))
            return "a malformed field";
        if (is_length && st && st->length >= 0 && h2c_length(st, f))
            continue; /* once more the same */
        if (is_length && st && !h2c_length(st, f))
            return "a wrong Content-Length";
        exchange_field(x, apr_pstrmemdup(r->pool, f->name, f->name_len),
                       apr_pstrmemdup(r->pool, f->value, f->value_len));
    }
    return NULL;
}

static apr_status_t h2c_answer(proxy_exchange *x, h2c_stream *st, const hpack_list *list)
{
    const int status = h2c_status(list);
    const char *bad;

    if (status < 100 || status == HTTP_SWITCHING_PROTOCOLS)
        return h2c_bad(x, "a head without a status");
    if (status < 200) {
        exchange_interim_begin(x, status);
        bad = h2c_fields(x, NULL, list);
        exchange_interim_end(x);
        return bad || x->bad ? h2c_bad(x, bad ? bad : x->bad) : APR_SUCCESS;
    }
    exchange_status(x, status, NULL, 0);
    if ((bad = h2c_fields(x, st, list)) != NULL)
        return h2c_bad(x, bad);
    exchange_fields_done(x);
    exchange_head_done(x);
    return APR_SUCCESS;
}

static apr_status_t h2c_trailers(proxy_exchange *x, const h2c_stream *st, const hpack_list *list)
{
    request_rec *r = x->r;

    if (!st->block_ends)
        return h2c_bad(x, "trailers that end nothing");
    for (uint32_t i = 0; i < list->n; i++) {
        const hpack_field *f = &list->field[i];

        if (h2c_field_is_bad(f))
            return h2c_bad(x, "a malformed trailer");
        apr_table_addn(r->trailers_out, apr_pstrmemdup(r->pool, f->name, f->name_len),
                       apr_pstrmemdup(r->pool, f->value, f->value_len));
    }
    return APR_SUCCESS;
}

/* An answer to HEAD, 204 and 304 have none, whatever their Content-Length. */
static int h2c_has_no_body(const proxy_exchange *x)
{
    return x->r->header_only || x->r->status == HTTP_NO_CONTENT ||
           x->r->status == HTTP_NOT_MODIFIED;
}

/* The stream ended: as much came as was told (RFC 9113, 8.1.1). */
static apr_status_t h2c_complete(proxy_exchange *x, const h2c_stream *st)
{
    if (st->length >= 0 && st->came != st->length && !h2c_has_no_body(x))
        return h2c_bad(x, "a body of another length than was told");
    x->complete = 1;
    return APR_SUCCESS;
}

static apr_status_t h2c_block_done(proxy_exchange *x, h2c_stream *st)
{
    hpack_list list = {.text = apr_palloc(x->r->pool, H2C_HEAD_MOST),
                       .room = H2C_HEAD_MOST,
                       .field = apr_palloc(x->r->pool, sizeof(hpack_field) * H2C_FIELDS_MOST),
                       .most = H2C_FIELDS_MOST};
    apr_status_t rv;

    st->block_open = 0;
    if (hpack_decode(&h2c_session_of(x)->table, st->block, st->block_n, &list) != HPACK_OK ||
        list.cut)
        return h2c_bad(x, list.cut ? "the head is too large" : "a malformed field block");
    st->block_n = 0;
    rv = x->answered ? h2c_trailers(x, st, &list) : h2c_answer(x, st, &list);
    if (rv == APR_SUCCESS && st->block_ends && !x->answered)
        return h2c_bad(x, "the stream ended without an answer");
    return rv == APR_SUCCESS && st->block_ends ? h2c_complete(x, st) : rv;
}

static apr_status_t h2c_block_part(proxy_exchange *x, h2c_stream *st, const h2_frame *f,
                                   const uint8_t *p, apr_size_t n)
{
    if (st->block_n + n > H2C_HEAD_MOST)
        return h2c_bad(x, "the head is too large");
    if (!st->block)
        st->block = apr_palloc(x->r->pool, H2C_HEAD_MOST);
    memcpy(st->block + st->block_n, p, n);
    st->block_n += n;
    st->block_open = 1;
    return f->flags & H2_END_HEADERS ? h2c_block_done(x, st) : APR_SUCCESS;
}

static apr_status_t h2c_headers(proxy_exchange *x, h2c_stream *st, const h2_frame *f,
                                const uint8_t *p)
{
    apr_size_t n = f->len, padding = 0;

    if (f->stream != st->id)
        return h2c_bad(x, "HEADERS of a stream that was not asked for");
    if (f->flags & H2_PADDED) {
        if (n < 1)
            return h2c_bad(x, "malformed HEADERS");
        padding = *p++;
        n--;
    }
    if (f->flags & H2_HAS_PRIORITY) {
        if (n < 5)
            return h2c_bad(x, "malformed HEADERS");
        p += 5;
        n -= 5;
    }
    if (padding > n)
        return h2c_bad(x, "malformed HEADERS");
    st->block_ends = (f->flags & H2_END_STREAM) != 0;
    st->block_n = 0;
    return h2c_block_part(x, st, f, p, n - padding);
}

/* ---- bodies ---- */

/* Give the room back once half of it is used. */
static void h2c_credit(proxy_exchange *x, h2c_stream *st, apr_size_t n)
{
    h2c_session *s = h2c_session_of(x);

    s->taken += n;
    st->taken += n;
    if (s->taken >= H2C_WINDOW_ALL / 2) {
        h2c_put_number(x, H2_WINDOW_UPDATE, 0, (uint32_t)s->taken);
        s->taken = 0;
    }
    if (st->taken >= H2C_WINDOW / 2) {
        h2c_put_number(x, H2_WINDOW_UPDATE, st->id, (uint32_t)st->taken);
        st->taken = 0;
    }
}

static apr_status_t h2c_data_done(proxy_exchange *x, h2c_stream *st)
{
    if (st->data_left || st->padding || !st->data_ends)
        return APR_SUCCESS;
    st->data_ends = 0;
    return h2c_complete(x, st);
}

static apr_status_t h2c_take_data(proxy_exchange *x, h2c_stream *st)
{
    uint32_t n = client_in_size(x->cc);

    if (st->data_left) {
        n = n < st->data_left ? n : st->data_left;
        APR_BRIGADE_INSERT_TAIL(x->in, client_in_bucket(x->cc, n, x->r->connection->bucket_alloc));
        st->data_left -= n;
    } else {
        n = n < st->padding ? n : st->padding;
        client_in_take(x->cc, n);
        st->padding -= n;
    }
    h2c_credit(x, st, n);
    return h2c_data_done(x, st);
}

static apr_status_t h2c_data_begin(proxy_exchange *x, h2c_stream *st, const h2_frame *f)
{
    uint32_t n = f->len, head = H2_FRAME_HEAD;

    if (f->stream != st->id || !x->answered)
        return h2c_bad(x, "DATA that was not asked for");
    st->padding = 0;
    if (f->flags & H2_PADDED) {
        if (client_in_size(x->cc) < H2_FRAME_HEAD + 1)
            return APR_EAGAIN;
        st->padding = (uint8_t)client_in(x->cc)[H2_FRAME_HEAD];
        head++;
        if (!n || st->padding > n - 1)
            return h2c_bad(x, "malformed DATA");
        n -= st->padding + 1;
        h2c_credit(x, st, 1);
    }
    client_in_take(x->cc, head);
    st->came += n;
    if (n && (h2c_has_no_body(x) || (st->length >= 0 && st->came > st->length)))
        return h2c_bad(x, "more of a body than was told");
    if (!n && ++st->control > H2C_CONTROL_MOST)
        return h2c_bad(x, "a flood of frames");
    st->data_left = n;
    st->data_ends = (f->flags & H2_END_STREAM) != 0;
    return h2c_data_done(x, st);
}

/* ---- frames ---- */

static apr_status_t h2c_frame(proxy_exchange *x, h2c_stream *st, const h2_frame *f,
                              const uint8_t *p)
{
    if (st->block_open && (f->type != H2_CONTINUATION || f->stream != st->id))
        return h2c_bad(x, "a field block that does not end");
    if (f->type != H2_HEADERS && ++st->control > H2C_CONTROL_MOST)
        return h2c_bad(x, "a flood of frames");
    switch (f->type) {
    case H2_HEADERS:
        return h2c_headers(x, st, f, p);
    case H2_CONTINUATION:
        return st->block_open ? h2c_block_part(x, st, f, p, f->len)
                              : h2c_bad(x, "CONTINUATION of nothing");
    case H2_SETTINGS:
        return h2c_settings(x, st, f, p);
    case H2_PING:
        return h2c_ping(x, f, p);
    case H2_WINDOW_UPDATE:
        return h2c_window(x, st, f, p);
    case H2_RST_STREAM:
        return h2c_reset(x, st, f, p);
    case H2_GOAWAY:
        return h2c_goaway(x, st, f, p);
    case H2_PUSH_PROMISE:
        return h2c_bad(x, "PUSH_PROMISE, which was forbidden");
    default:
        return APR_SUCCESS;
    }
}

static apr_status_t h2c_take(proxy_exchange *x)
{
    h2c_stream *st = x->script;
    h2_frame f;
    apr_status_t rv;

    if (st->data_left || st->padding)
        return client_in_size(x->cc) ? h2c_take_data(x, st) : APR_EAGAIN;
    if (client_in_size(x->cc) < H2_FRAME_HEAD)
        return APR_EAGAIN;
    f = h2_get_frame((const uint8_t *)client_in(x->cc));
    if (f.len > H2_FRAME_MAX)
        return h2c_bad(x, "a frame that is too large");
    if (f.type == H2_DATA && !st->block_open)
        return h2c_data_begin(x, st, &f);
    if (client_in_size(x->cc) < H2_FRAME_HEAD + f.len)
        return APR_EAGAIN;
    rv = h2c_frame(x, st, &f, (const uint8_t *)client_in(x->cc) + H2_FRAME_HEAD);
    client_in_take(x->cc, H2_FRAME_HEAD + f.len);
    return rv;
}

static apr_status_t h2c_end(proxy_exchange *x)
{
    return APR_EOF;
}

const proxy_codec proxy_h2_codec = {.name = "H2",
                                    .protocol = "h2",
                                    .begin = h2c_begin,
                                    .body = h2c_body,
                                    .take = h2c_take,
                                    .end = h2c_end};
