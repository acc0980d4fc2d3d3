/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 towards backends (h2:// over TLS, h2c:// with prior knowledge): exchanges, each a stream
 * of a connection that its loop shares. This side sends without a dynamic table; that of the
 * backend lives as long as the connection. Source: RFC 9113. */
#include "proxy_h2_private.h"
#include "brigade/assert.h"
#include "http_log.h"
#include <string.h>
#if BRIGADE_TLS
#include "tls_client.h"
#endif

APLOG_USE_MODULE(proxy_http2);

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
    h2c_session *s;
    h2c_stream *st;

    BRG_ASSERT(x->cc && x->codec == &proxy_h2_codec);
    if (!x->cc->session && !h2c_speaks(x)) {
        exchange_log(APLOG_MARK, APLOG_ERR, 0, x,
                     "%s does not speak HTTP/2: its handshake chose no h2", x->target->url);
        return HTTP_BAD_GATEWAY;
    }
    if (!(s = h2c_session_get(x->cc)))
        return HTTP_SERVICE_UNAVAILABLE;
    if (x->body.exists && !x->body.over && !x->body.read)
        (void)exchange_body_ahead(x);
    st = h2c_stream_open(s, x);
    st->ended = x->body.over && !x->body.read;
    x->script = st;
    x->body.held = 0;
    x->attempt.sent += (apr_off_t)h2c_request(x, st);
    return OK;
}

static apr_status_t h2c_demux_and_take(proxy_exchange *x)
{
    h2c_stream *st = x->script;

    if (st->s)
        h2c_demux(st->s);
    return h2c_take(x, st);
}

static apr_status_t h2c_end(proxy_exchange *x)
{
    return APR_EOF;
}

/* ---- shared connections ---- */

static apr_status_t h2c_join(proxy_exchange *x)
{
    upstream_conn *cc;

    if (!upstream_origin_settings(x->origin)->shared)
        return APR_NOTFOUND;
    for (cc = upstream_shared(x->origin, x->loop); cc; cc = cc->next)
        if (h2c_session_has_room(cc->session)) {
            x->cc = cc;
            cc->uses++;
            return APR_SUCCESS;
        }
    return upstream_awaits_shared(x->origin, x->loop, &x->ticket) ? APR_EAGAIN : APR_NOTFOUND;
}

/* On a worker the caller waits for room in the socket. */
static void h2c_tell_waiting(proxy_exchange *x, const h2c_session *s)
{
    if (!x->loop)
        x->out_n = (apr_off_t)(s->out_to - s->out_from);
}

static int h2c_send(proxy_exchange *x)
{
    h2c_stream *st = x->script;
    int any = 0;

    if (!st->s)
        return 0;
    /* Frames that wait leave first, and a body goes on until the socket is full: only then does an event tell that there is room. */
    h2c_write(st->s);
    while (h2c_flush(x, st)) {
        any = 1;
        h2c_write(st->s);
    }
    h2c_tell_waiting(x, st->s);
    return any;
}

static apr_status_t h2c_receive(proxy_exchange *x)
{
    h2c_stream *st = x->script;
    h2c_session *s = st->s;
    apr_status_t rv;

    if (s && !st->blocks && !st->data_n && !st->stored_n && !st->over && !st->bad &&
        s->cc->rd_ready)
        h2c_session_read(s);
    rv = h2c_take(x, st);
    if (!s)
        return rv;
    h2c_write(s);
    if (rv == APR_EAGAIN && (s->bad || s->broken != APR_SUCCESS)) /* just now */
        rv = h2c_take(x, st);
    h2c_tell_waiting(x, s);
    return rv;
}

/* The connection is the session's from the first stream on. */
static void h2c_leave(proxy_exchange *x)
{
    h2c_stream *st = x->script;
    upstream_conn *cc = x->cc;

    x->script = NULL;
    x->cc = NULL;
    x->out_n = 0;
    if (st)
        h2c_stream_leave(st);
    else if (cc && !cc->shared)
        upstream_close(cc);
}

static const proxy_mux h2c_mux = {
    .join = h2c_join, .send = h2c_send, .receive = h2c_receive, .leave = h2c_leave};

const proxy_codec proxy_h2_codec = {.name = "H2",
                                    .module = &proxy_http2_module,
                                    .broken = HTTP_BAD_GATEWAY,
                                    .beside_own = 1, /* as with Apache's module */
                                    .protocol = "h2",
                                    .mux = &h2c_mux,
                                    .begin = h2c_begin,
                                    .body = h2c_body,
                                    .take = h2c_demux_and_take,
                                    .end = h2c_end};
