/* SPDX-License-Identifier: Apache-2.0 */
/* Behind a 101, or a CONNECT that was granted: bytes go both ways until both sides have closed. On a loop each side is read only
 * while the other takes it. */
#include "exchange_private.h"
#include "connection.h"
#include "transport.h"
#include "net_block.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include <poll.h>

APLOG_USE_MODULE(proxy_wstunnel);

typedef struct exchange_tunnel {
    uint8_t client_ended, backend_ended; /* they send no more */
    uint8_t broken;                      /* the backend takes no more */
} exchange_tunnel;

/* The head is sent as an interim answer is, since the bytes behind it are not HTTP. */
static void tunnel_head(proxy_exchange *x)
{
    request_rec *r = x->r;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);

    if (r->status == HTTP_SWITCHING_PROTOCOLS) {
        ap_send_interim_response(r, 1);
        return;
    }
    apr_brigade_puts(bb, NULL, NULL, "HTTP/1.0 200 Connection Established\r\n");
    apr_brigade_putstrs(bb, NULL, NULL, "Proxy-agent: ", ap_get_server_banner(), "\r\n\r\n", NULL);
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(r->connection->bucket_alloc));
    ap_pass_brigade(r->connection->output_filters, bb);
}

void exchange_tunnel_begin(proxy_exchange *x)
{
    request_rec *r = x->r;

    BRG_ASSERT(x->answer.begun && x->state == EXCHANGE_TALK);
    x->script = apr_pcalloc(r->pool, sizeof(exchange_tunnel));
    x->answer.passed = 1;
    x->keep = 0;
    x->state = EXCHANGE_TUNNEL;
    r->connection->keepalive = AP_CONN_CLOSE;
    r->sent_bodyct = 1;
    r->eos_sent = 1;
    tunnel_head(x);
}

/* From the client. @return APR_SUCCESS: something came; APR_EAGAIN; else it ended */
static apr_status_t tunnel_read_client(proxy_exchange *x)
{
    conn_rec *c = x->r->connection;
    apr_bucket_brigade own, *bb = exchange_brigade(x, &own);
    apr_status_t rv =
        ap_get_brigade(c->input_filters, bb, AP_MODE_READBYTES, APR_NONBLOCK_READ, EXCHANGE_PIECE);
    apr_off_t n = 0;

    if (rv == APR_SUCCESS && APR_BRIGADE_EMPTY(bb))
        rv = APR_EAGAIN;
    if (rv == APR_SUCCESS) {
        for (apr_bucket *e = APR_BRIGADE_FIRST(bb), *next; e != APR_BRIGADE_SENTINEL(bb);
             e = next) {
            next = APR_BUCKET_NEXT(e);
            if (APR_BUCKET_IS_EOS(e))
                rv = APR_EOF;
            if (APR_BUCKET_IS_METADATA(e))
                apr_bucket_delete(e);
            else
                (void)apr_bucket_setaside(e, x->r->pool);
        }
        apr_brigade_length(bb, 1, &n);
        x->out_n += n;
        APR_BRIGADE_CONCAT(x->out, bb);
        if (n)
            rv = APR_SUCCESS;
    }
    apr_brigade_cleanup(bb);
    return rv;
}

static void tunnel_log(const proxy_exchange *x, apr_status_t error)
{
    ap_log_rerror(APLOG_MARK, APLOG_INFO, error, x->r, "the tunnel to %s:%u ends", x->target->host,
                  (unsigned)x->target->port);
}

void exchange_tunnel_broken(proxy_exchange *x, apr_status_t error)
{
    exchange_tunnel *t = x->script;

    BRG_ASSERT(x->state == EXCHANGE_TUNNEL && x->out_n);
    apr_brigade_cleanup(x->out);
    x->out_n = 0;
    t->client_ended = 2;
    t->broken = 1;
    x->cc->rd_ready = 1; /* bytes that it sent before it left are passed on */
    tunnel_log(x, error);
}

static int tunnel_to_backend(proxy_exchange *x, exchange_tunnel *t)
{
    int any = exchange_send(x);

    while (!t->client_ended && x->out_n < EXCHANGE_AHEAD) {
        apr_status_t rv = tunnel_read_client(x);

        if (rv == APR_EAGAIN)
            break;
        if (rv != APR_SUCCESS) {
            t->client_ended = 1;
            break;
        }
        any |= exchange_send(x);
    }
    if (t->client_ended == 1 && !x->out_n) {
        transport_shut(&x->cc->bc);
        t->client_ended = 2;
    }
    return any;
}

static void tunnel_pass(proxy_exchange *x)
{
    conn_rec *c = x->r->connection;
    apr_off_t n = 0;

    apr_brigade_length(x->in, 1, &n);
    x->r->bytes_sent += n;
    APR_BRIGADE_INSERT_TAIL(x->in, apr_bucket_flush_create(c->bucket_alloc));
    if (ap_pass_brigade(c->output_filters, x->in) != APR_SUCCESS)
        c->aborted = 1;
    apr_brigade_cleanup(x->in);
}

static int tunnel_to_client(proxy_exchange *x, exchange_tunnel *t)
{
    apr_status_t rv;
    int any = 0;

    while (!t->backend_ended) {
        x->wants_room = x->loop && brg_wait_output(x->r) > EXCHANGE_BEHIND;
        if (x->wants_room)
            return any;
        rv = upstream_in_size(x->cc) ? APR_SUCCESS : upstream_recv(x->cc, NET_BLOCK);
        if (rv == APR_EAGAIN)
            return any;
        if (rv != APR_SUCCESS) {
            if (!APR_STATUS_IS_EOF(rv))
                tunnel_log(x, rv);
            t->backend_ended = 1;
            return 1;
        }
        x->attempt.got += upstream_in_size(x->cc);
        APR_BRIGADE_INSERT_TAIL(x->in, upstream_in_bucket(x->cc, upstream_in_size(x->cc),
                                                          x->r->connection->bucket_alloc));
        tunnel_pass(x);
        any = 1;
    }
    return any;
}

static void tunnel_end(proxy_exchange *x)
{
    BRG_ASSERT(x->state == EXCHANGE_TUNNEL);
    x->keep = 0;
    exchange_give_back(x);
    exchange_done(x, OK);
}

/* A worker waits for both sockets here. */
static void tunnel_block(proxy_exchange *x)
{
    const brg_conn *bc = connection_of(x->r->connection);
    struct pollfd p[2] = {
        {.fd = x->cc->bc.fd, .events = (short)(POLLIN | (x->out_n ? POLLOUT : 0))},
        {.fd = bc ? bc->fd : -1, .events = POLLIN}};
    const int n = poll(p, bc ? 2 : 1, (int)(exchange_patience(x) / 1000));

    BRG_ASSERT(!x->loop);
    x->cc->rd_ready = x->cc->wr_ready = 1;
    if (n == 0)
        exchange_expired(x);
}

apr_status_t exchange_tunnel_go(proxy_exchange *x)
{
    exchange_tunnel *t = x->script;
    int any;

    BRG_ASSERT(x->state == EXCHANGE_TUNNEL && x->cc);
    do {
        any = tunnel_to_backend(x, t);
        any |= tunnel_to_client(x, t);
        if (x->r->connection->aborted || t->backend_ended ||
            (t->broken && !any && !x->wants_room)) {
            tunnel_end(x);
            return APR_SUCCESS;
        }
    } while (any);
    x->body.wanted = !t->client_ended && x->out_n < EXCHANGE_AHEAD;
    if (x->loop)
        return APR_EAGAIN;
    tunnel_block(x);
    return APR_SUCCESS;
}
