/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 towards backends: the greeting, heads of requests, and their bodies as far as the backend's windows let. Nothing that is
 * sent uses the dynamic table. Source: RFC 9113, 3.4, 6.9, 8.3. */
#include "proxy_h2_private.h"
#include "hpack_encode.h"
#include "proxy_fields.h"
#include "brigade/assert.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

/* @return 0: no memory */
static int out_room(h2c_session *s, apr_size_t len)
{
    apr_size_t cap = s->out_cap ? s->out_cap : 1024;
    uint8_t *more;

    BRG_ASSERT(s->out_from <= s->out_to && s->out_to <= s->out_cap);
    if (s->out_from == s->out_to)
        s->out_from = s->out_to = 0;
    if (s->out_to + len <= s->out_cap)
        return 1;
    while (cap < s->out_to + len)
        cap *= 2;
    if (!(more = realloc(s->out, cap)))
        return 0;
    s->out = more;
    s->out_cap = cap;
    return 1;
}

void h2c_out(h2c_session *s, const uint8_t *data, apr_size_t len)
{
    if (s->bad || s->broken != APR_SUCCESS)
        return;
    if (!out_room(s, len)) {
        h2c_session_fault(s, "no memory");
        return;
    }
    memcpy(s->out + s->out_to, data, len);
    s->out_to += len;
}

void h2c_write(h2c_session *s)
{
    while (s->out_from < s->out_to && s->broken == APR_SUCCESS) {
        const struct iovec iov = {s->out + s->out_from, s->out_to - s->out_from};
        apr_size_t n;
        const apr_status_t rv = upstream_send(s->cc, &iov, 1, 0, &n);

        BRG_ASSERT(n <= iov.iov_len);
        s->out_from += n;
        if (rv == APR_EAGAIN)
            return;
        if (rv != APR_SUCCESS) { /* frames that it sent before it closed are read first */
            s->out_from = s->out_to;
            s->cc->rd_ready = 1;
            h2c_session_read(s);
            if (!s->bad && s->broken == APR_SUCCESS)
                h2c_session_broken(s, rv);
        }
    }
}

void h2c_put_number(h2c_session *s, h2_frame_type type, uint32_t stream, uint32_t value)
{
    uint8_t frame[H2_FRAME_HEAD + 4];

    h2_put32(h2_put_frame(frame, 4, type, 0, stream), value);
    h2c_out(s, frame, sizeof frame);
}

void h2c_greet(h2c_session *s)
{
    uint8_t text[H2_PREFACE_LEN + H2_FRAME_HEAD + 18], *p = text;

    memcpy(p, H2_PREFACE, H2_PREFACE_LEN);
    p = h2_put_frame(p + H2_PREFACE_LEN, 18, H2_SETTINGS, 0, 0);
    p = h2_put_setting(p, H2_SET_ENABLE_PUSH, 0);
    p = h2_put_setting(p, H2_SET_INITIAL_WINDOW_SIZE, H2C_WINDOW);
    p = h2_put_setting(p, H2_SET_MAX_HEADER_LIST_SIZE, H2C_HEAD_MOST);
    h2c_out(s, text, (apr_size_t)(p - text));
    h2c_put_number(s, H2_WINDOW_UPDATE, 0, H2C_WINDOW_ALL - H2_WINDOW_DEFAULT);
}

static uint8_t *h2c_put_field(uint8_t *p, apr_pool_t *pool, const proxy_line *l)
{
    char *name = apr_pstrmemdup(pool, l->name, l->name_len);
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
static void h2c_put_block(h2c_session *s, uint32_t id, const uint8_t *block, apr_size_t len,
                          int ends)
{
    uint8_t head[H2_FRAME_HEAD];
    h2_frame_type type = H2_HEADERS;
    unsigned flags = ends ? H2_END_STREAM : 0;

    do {
        const apr_size_t n = len < H2_FRAME_MAX ? len : H2_FRAME_MAX;

        h2_put_frame(head, n, type, flags | (n == len ? H2_END_HEADERS : 0), id);
        h2c_out(s, head, sizeof head);
        h2c_out(s, block, n);
        block += n;
        len -= n;
        type = H2_CONTINUATION;
        flags = 0;
    } while (len);
}

apr_size_t h2c_request(proxy_exchange *x, const h2c_stream *st)
{
    const proxy_line *lines;
    const char *host, *scheme = x->target->scheme == PROXY_SCHEME_H2 ? "https" : "http";
    const int n = proxy_request_lines(x, &lines, &host);
    apr_size_t room = STREAM_LINE_ROOM(8, strlen(x->method)) + STREAM_LINE_ROOM(8, 8) +
                      STREAM_LINE_ROOM(12, strlen(host)) +
                      STREAM_LINE_ROOM(6, strlen(x->target->path));
    uint8_t *block, *p;

    for (int i = 0; i < n; i++)
        room += STREAM_LINE_ROOM(lines[i].name_len, lines[i].value_len);
    p = block = apr_palloc(x->pool, room);
    p = h2c_put_pseudo(p, ":method", x->method);
    p = h2c_put_pseudo(p, ":scheme", scheme);
    p = h2c_put_pseudo(p, ":authority", host);
    p = h2c_put_pseudo(p, ":path", x->target->path);
    for (int i = 0; i < n; i++)
        p = h2c_put_field(p, x->pool, &lines[i]);
    BRG_ASSERT((apr_size_t)(p - block) <= room);
    h2c_put_block(st->s, st->id, block, (apr_size_t)(p - block), st->ended);
    return (apr_size_t)(p - block);
}

/* A stream that sends goes behind the others, so that each gets its share of a short window. */
static void send_last(h2c_session *s, h2c_stream *st)
{
    BRG_ASSERT(*st->prev == st);
    if (!st->next)
        return;
    *st->prev = st->next;
    st->next->prev = st->prev;
    st->next = NULL;
    st->prev = s->last;
    *s->last = st;
    s->last = &st->next;
}

/* @return 0: the body cannot be read */
static int send_copy(h2c_session *s, h2c_stream *st, apr_size_t n)
{
    while (n) {
        apr_bucket *e = APR_BRIGADE_FIRST(st->body);
        const char *data;
        apr_size_t len;

        if (apr_bucket_read(e, &data, &len, APR_BLOCK_READ) != APR_SUCCESS)
            return 0;
        if (len > n) {
            apr_bucket_split(e, n);
            len = n;
        }
        h2c_out(s, (const uint8_t *)data, len);
        apr_bucket_delete(e);
        n -= len;
    }
    return 1;
}

static void send_data(proxy_exchange *x, h2c_stream *st, apr_size_t n)
{
    h2c_session *s = st->s;
    const int ends = st->last && n == (apr_size_t)x->body.held;
    uint8_t head[H2_FRAME_HEAD];

    BRG_ASSERT(!st->ended && (apr_off_t)n <= x->body.held);
    h2_put_frame(head, n, H2_DATA, ends ? H2_END_STREAM : 0, st->id);
    h2c_out(s, head, sizeof head);
    if (!send_copy(s, st, n))
        h2c_session_fault(s, "the body of the request cannot be read"); /* the frame has begun */
    BRG_ASSERT((int64_t)n <= s->window || !n);                          /* h2c_flush() */
    s->window -= (int64_t)n;
    st->window -= (int64_t)n;
    x->body.held -= (apr_off_t)n;
    x->attempt.sent += (apr_off_t)n;
    st->ended |= (uint8_t)ends;
    s->control = 0;
}

int h2c_flush(proxy_exchange *x, h2c_stream *st)
{
    h2c_session *s = st->s;
    int any = 0;

    while (!st->ended && !s->bad && s->broken == APR_SUCCESS && x->body.held > 0 && s->window > 0 &&
           st->window > 0 && s->out_to - s->out_from < H2C_OUT) {
        int64_t n = x->body.held;

        if (n > s->window)
            n = s->window;
        if (n > st->window)
            n = st->window;
        send_data(x, st, (apr_size_t)(n > s->frame_most ? s->frame_most : n));
        any = 1;
    }
    if (any)
        send_last(s, st);
    if (st->last && !st->ended && !x->body.held) {
        send_data(x, st, 0);
        any = 1;
    }
    return any;
}

void h2c_body(proxy_exchange *x, apr_bucket_brigade *bb, int last)
{
    h2c_stream *st = x->script;
    apr_off_t n = 0;

    if (st->ended) {
        apr_brigade_cleanup(bb);
        return;
    }
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb), *next; e != APR_BRIGADE_SENTINEL(bb); e = next) {
        next = APR_BUCKET_NEXT(e);
        if (!e->length)
            apr_bucket_delete(e);
    }
    apr_brigade_length(bb, 1, &n);
    x->body.held += n;
    st->last |= (uint8_t)last;
    APR_BRIGADE_CONCAT(st->body, bb);
    if (st->s)
        (void)h2c_flush(x, st);
}
