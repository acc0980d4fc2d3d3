/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 towards backends (h2:// over TLS, h2c:// with prior knowledge): one stream after the other on a connection that is kept,
 * so each request has the connection's windows for itself. What this side sends uses no dynamic table; that of the backend
 * lives as long as the connection. Source: RFC 9113. */
#include "proxy_h2_private.h"
#include "brigade/assert.h"
#include "http_log.h"
#include <stdlib.h>
#include <string.h>
#if BRIGADE_TLS
#include "tls_client.h"
#endif

APLOG_USE_MODULE(proxy_http2);

static void h2c_session_end(void *baton)
{
    h2c_session *s = baton;

    BRG_ASSERT(s->next & 1); /* streams of a client are odd */
    hpack_table_free(&s->table);
    free(s);
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

/* ---- what comes ---- */

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
