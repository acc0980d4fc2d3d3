/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1 towards backends. Framing is judged by h1_response_head.h: an answer that could be read in
 * two ways is refused, and no connection is used again with an unexpected byte on it. */
#include "exchange_private.h"
#include "net_block.h"
#include "request_context.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(proxy_http);

#define HTTP_TRAILERS_MOST 16384 /* bytes of a trailer section */

static int http_begin(proxy_exchange *x)
{
    apr_bucket *head;

    x->h1.left = 0;
    x->h1.chunked = (h1_chunked){0};
    if (x->body.exists && !x->body.holds && !x->body.over && !x->body.read)
        (void)exchange_body_ahead(x);
    head = x->sink->request(x);
    if (!head)
        return HTTP_BAD_REQUEST;
    exchange_out(x, head);
    if (x->target->scheme == PROXY_SCHEME_CONNECT)
        x->body.over = x->body.ended = 1;
    return OK;
}

static void http_body(proxy_exchange *x, apr_bucket_brigade *bb, int last)
{
    apr_bucket_alloc_t *alloc = x->alloc;
    apr_off_t n = 0;
    char line[24];
    int len;

    apr_brigade_length(bb, 1, &n);
    if (!x->body.chunked) {
        x->out_n += n;
        APR_BRIGADE_CONCAT(x->out, bb);
        return;
    }
    if (n > 0) {
        len = apr_snprintf(line, sizeof line, "%" APR_UINT64_T_HEX_FMT "\r\n", (apr_uint64_t)n);
        exchange_out(x, apr_bucket_heap_create(line, (apr_size_t)len, NULL, alloc));
        x->out_n += n;
        APR_BRIGADE_CONCAT(x->out, bb);
        exchange_out(x, apr_bucket_immortal_create("\r\n", 2, alloc));
    }
    if (last)
        exchange_out(x, apr_bucket_immortal_create("0\r\n\r\n", 5, alloc));
}

/* ---- heads ---- */

/* 1xx: on to the client, where it can take it; a 100 lets the body go. */
static apr_status_t http_interim(proxy_exchange *x, const http_head *head)
{
    exchange_interim_begin(x, head->code);
    exchange_head(x, head);
    exchange_interim_end(x);
    return x->answer.bad ? APR_EGENERAL : APR_SUCCESS;
}

static const char *http_bad(proxy_exchange *x, const http_head *head)
{
    return apr_psprintf(exchange_pool(x), head->why ? head->why : "malformed head",
                        (int)head->bad_len, head->bad ? head->bad : "", "");
}

/* RFC 9112, 9.3: the wishes of both sides about the connection. */
static int http_may_keep(const proxy_exchange *x, const http_head *head)
{
    return x->h1.end != H1_BODY_CLOSE && x->h1.end != H1_BODY_TUNNEL && !x->no_keep &&
           h1_response_keeps(head);
}

static void http_framed(proxy_exchange *x, const http_head *head)
{
    x->keep = (uint8_t)http_may_keep(x, head);
    x->h1.left = head->content_length;
    if (x->h1.end == H1_BODY_NONE || (x->h1.end == H1_BODY_LENGTH && !x->h1.left))
        x->answer.complete = 1;
}

/* The received bytes stay for an exchange that has the request. */
static apr_status_t http_refused(proxy_exchange *x)
{
    exchange_done(x, EXCHANGE_NEEDS_REQUEST);
    return APR_EGENERAL;
}

/* A protocol that was not asked for. */
static int http_is_uncalled(const proxy_exchange *x, const http_head *head)
{
    return head->code == HTTP_SWITCHING_PROTOCOLS && !x->upgrade;
}

static apr_status_t http_head_taken(proxy_exchange *x, http_head *head)
{
    const int connect = x->target->scheme == PROXY_SCHEME_CONNECT && !x->target->remotes_n;

    if (http_is_uncalled(x, head)) {
        x->answer.bad = "101 was not asked for";
        return APR_EGENERAL;
    }
    if (head->code < 200 && head->code != HTTP_SWITCHING_PROTOCOLS)
        return x->sink->interims ? http_interim(x, head) : http_refused(x);
    if (x->body.holds) /* it is answered without its body, which the client need not send */
        x->body.over = 1;
    x->body.holds = 0;
    x->h1.end = h1_response_body(head, x->is_head ? HTTP_METHOD_HEAD : HTTP_METHOD_GET, connect);
    if (!x->sink->head(x, head))
        return http_refused(x);
    http_framed(x, head);
    return APR_SUCCESS;
}

/* ---- bodies ---- */

/* A small answer that is whole lies in the request's pool. */
static void http_take_small(proxy_exchange *x, uint32_t n)
{
    const char *copy = apr_pmemdup(x->pool, upstream_in(x->cc), n);

    BRG_ASSERT(n <= UPSTREAM_COPIED && n <= upstream_in_size(x->cc));
    APR_BRIGADE_INSERT_TAIL(x->in, apr_bucket_pool_create(copy, n, x->pool, x->alloc));
    upstream_in_take(x->cc, n);
}

static void http_take_bytes(proxy_exchange *x, uint32_t n)
{
    APR_BRIGADE_INSERT_TAIL(x->in, upstream_in_bucket(x->cc, n, x->alloc));
}

static apr_status_t http_take_length(proxy_exchange *x)
{
    uint32_t n = upstream_in_size(x->cc);

    BRG_ASSERT(n && x->h1.left && !x->answer.complete);
    if (n > x->h1.left)
        n = (uint32_t)x->h1.left;
    if (n == x->h1.left && x->sink->lends)
        x->answer.lent = n;
    else if (n == x->h1.left && n <= UPSTREAM_COPIED && !x->answer.passed)
        http_take_small(x, n);
    else
        http_take_bytes(x, n);
    x->h1.left -= n;
    x->answer.complete = !x->h1.left;
    return APR_SUCCESS;
}

/* A line of the trailer section, in pieces. They go on as trailers, never as fields (RFC 9110, 6.5). */
typedef struct http_trailers {
    apr_size_t all;
    apr_size_t len;
    char line[2048];
} http_trailers;

static const char *http_trailer(proxy_exchange *x, http_trailers *t)
{
    static const h1_limits limits = {.line = PROXY_FIELD_SIZE, .field_size = PROXY_FIELD_SIZE};
    http_field f;
    const char *bad;

    if (t->len && t->line[t->len - 1] == '\r')
        t->len--;
    if (!t->len) {
        x->answer.complete = 1;
        return NULL;
    }
    bad = h1_parse_field(&f, t->line, t->len, &limits);
    if (!bad) /* clients of HTTP/2 get them, those of HTTP/1 do not, as from Apache */
        x->sink->trailer(x, &f);
    t->len = 0;
    return bad;
}

/* @return bytes taken */
static apr_size_t http_take_trailers(proxy_exchange *x, const char *data, apr_size_t len)
{
    http_trailers *t = x->script;
    apr_size_t i = 0;

    if (!t && len >= 2 && data[0] == '\r' && data[1] == '\n') { /* there are none */
        x->answer.complete = 1;
        return 2;
    }
    if (!t)
        x->script = t = apr_pcalloc(exchange_pool(x), sizeof *t);
    while (i < len && !x->answer.complete && !x->answer.bad) {
        const char c = data[i++];

        if (++t->all > HTTP_TRAILERS_MOST || (c != '\n' && t->len == sizeof t->line))
            x->answer.bad = "the trailers are too large";
        else if (c == '\n')
            x->answer.bad = http_trailer(x, t);
        else
            t->line[t->len++] = c;
    }
    return i;
}

static apr_size_t http_take_framing(proxy_exchange *x, const char *data, apr_size_t len)
{
    apr_size_t n = 0;

    if (x->h1.chunked.state != H1_CHUNK_TRAILER)
        n = h1_chunked_feed(&x->h1.chunked, data, len);
    if (x->h1.chunked.state == H1_CHUNK_BAD)
        x->answer.bad = "malformed chunk";
    else if (x->h1.chunked.state == H1_CHUNK_TRAILER && n < len)
        n += http_take_trailers(x, data + n, len - n);
    return n;
}

/* All that came is one bucket, of which framing is cut out: pieces of a block share it. */
static apr_status_t http_take_chunked(proxy_exchange *x)
{
    apr_bucket *e = upstream_in_bucket(x->cc, upstream_in_size(x->cc), x->alloc), *next;

    APR_BRIGADE_INSERT_TAIL(x->in, e);
    while (e != APR_BRIGADE_SENTINEL(x->in) && !x->answer.bad) {
        const char *data;
        apr_size_t len, n;
        int is_data = x->h1.chunked.state == H1_CHUNK_DATA;

        (void)apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        if (x->answer.complete) { /* bytes that nobody asked for */
            x->keep = 0;
            is_data = 0;
            n = len;
        } else if (is_data) {
            n = len < x->h1.chunked.left ? len : (apr_size_t)x->h1.chunked.left;
            h1_chunked_took(&x->h1.chunked, n);
        } else {
            n = http_take_framing(x, data, len);
        }
        if (n < len)
            apr_bucket_split(e, n);
        next = APR_BUCKET_NEXT(e);
        if (!is_data)
            apr_bucket_delete(e);
        e = next;
    }
    return x->answer.bad ? APR_EGENERAL : APR_SUCCESS;
}

static apr_status_t http_take_body(proxy_exchange *x)
{
    if (!upstream_in_size(x->cc))
        return APR_EAGAIN;
    switch (x->h1.end) {
    case H1_BODY_LENGTH:
        return http_take_length(x);
    case H1_BODY_CHUNKED:
        return http_take_chunked(x);
    default:
        http_take_bytes(x, upstream_in_size(x->cc));
        return APR_SUCCESS;
    }
}

static apr_status_t http_take_head(proxy_exchange *x)
{
    const apr_size_t size = x->target->worker->params.field_size;
    const h1_limits limits = {.line = (uint32_t)(size ? size : PROXY_FIELD_SIZE),
                              .field_size = (uint32_t)(size ? size : PROXY_FIELD_SIZE),
                              .unsafe = 1};
    http_head head;
    size_t scanned = 0;
    apr_status_t rv;

    switch (
        h1_parse_response(&head, upstream_in(x->cc), upstream_in_size(x->cc), &scanned, &limits)) {
    case H1_MORE:
        return APR_EAGAIN;
    case H1_BAD:
        x->answer.bad = http_bad(x, &head);
        return APR_EGENERAL;
    default:
        break;
    }
    rv = http_head_taken(x, &head);
    if (x->state == EXCHANGE_DONE)
        return rv;
    upstream_in_take(x->cc, head.head_len);
    if (rv != APR_SUCCESS || (head.code < 200 && head.code != HTTP_SWITCHING_PROTOCOLS))
        return rv;
    exchange_head_done(x);
    if (x->h1.end == H1_BODY_TUNNEL)
        exchange_tunnel_begin(x);
    else if (!x->answer.complete && upstream_in_size(x->cc))
        return http_take_body(x);
    return APR_SUCCESS;
}

static apr_status_t http_take(proxy_exchange *x)
{
    return x->answer.begun ? http_take_body(x) : http_take_head(x);
}

/* Bytes behind the answer are nobody's. */
static void http_cut_excess(proxy_exchange *x, apr_size_t excess)
{
    x->keep = 0;
    while (excess) {
        apr_bucket *e = APR_BRIGADE_LAST(x->in);
        const apr_size_t n = e->length < excess ? e->length : excess;

        if (n < e->length)
            apr_bucket_split(e, e->length - n);
        apr_bucket_delete(APR_BRIGADE_LAST(x->in));
        excess -= n;
    }
}

/* Where a filter stores the body it is read into the memory of that. @return as http_receive() */
static apr_status_t http_receive_into(proxy_exchange *x)
{
    const request_sink *sink =
        x->answer.passed && x->sink->stores && APR_BRIGADE_EMPTY(x->in) ? x->sink->stores(x) : NULL;
    apr_size_t room, got, excess;
    apr_status_t rv;
    char *at;

    if (!sink || !(room = sink->room(sink->baton, &at)))
        return APR_ENOTIMPL;
    if (room > UPSTREAM_BLOCKS * NET_BLOCK)
        room = UPSTREAM_BLOCKS * NET_BLOCK;
    if (room > x->h1.left)
        room = (apr_size_t)x->h1.left;
    rv = upstream_recv_into(x->cc, at, room, x->h1.left, &got, &excess);
    if (rv != APR_SUCCESS)
        return rv;
    if (excess)
        x->keep = 0;
    APR_BRIGADE_INSERT_TAIL(x->in, sink->take(sink->baton, got, x->alloc));
    x->attempt.got += (apr_off_t)(got + excess);
    x->h1.left -= got;
    x->answer.complete = !x->h1.left;
    return APR_SUCCESS;
}

/* A long body whose length is known goes from the socket into buckets, several blocks at once. */
static apr_status_t http_receive(proxy_exchange *x)
{
    upstream_blocks b;
    apr_status_t rv;
    apr_size_t got;

    if (!x->answer.begun || x->h1.end != H1_BODY_LENGTH || upstream_in_size(x->cc))
        return APR_ENOTIMPL;
    if ((rv = http_receive_into(x)) != APR_ENOTIMPL || x->h1.left < NET_BLOCK)
        return rv;
    if (!upstream_can_recv_blocks(x->cc))
        return APR_ENOTIMPL;
    rv = upstream_recv_blocks(x->cc, &b, x->h1.left);
    if (rv != APR_SUCCESS)
        return rv;
    got = b.len;
    upstream_blocks_pass(&b, x->in);
    x->attempt.got += (apr_off_t)got;
    if (got > x->h1.left) {
        http_cut_excess(x, (apr_size_t)(got - x->h1.left));
        got = (apr_size_t)x->h1.left;
    }
    x->h1.left -= got;
    x->answer.complete = !x->h1.left;
    return APR_SUCCESS;
}

static apr_status_t http_end(proxy_exchange *x)
{
    if (x->h1.end != H1_BODY_CLOSE)
        return APR_EOF;
    x->answer.complete = 1;
    x->keep = 0;
    return APR_SUCCESS;
}

const proxy_codec proxy_http_codec = {.name = "HTTP",
                                      .protocol = "http/1.1",
                                      .module = &proxy_http_module,
                                      .broken = HTTP_BAD_GATEWAY,
                                      .plans = 1,
                                      .client_repeats = 1,
                                      .expects = 1,
                                      .begin = http_begin,
                                      .body = http_body,
                                      .take = http_take,
                                      .receive = http_receive,
                                      .end = http_end};
