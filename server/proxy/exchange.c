/* SPDX-License-Identifier: Apache-2.0 */
/* The exchange: states, tries, and the two directions of its connection (proxy_exchange.h). */
#include "exchange_private.h"
#include "proxy_origin.h"
#include "proxy_private.h"
#include "clock.h"
#include "loop.h"
#include "brigade/assert.h"
#include "http_connection.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(proxy);

#define EXCHANGE_IOV 32
#define EXCHANGE_AGAIN_MOST 3
#define EXCHANGE_HOLD_US apr_time_from_sec(1) /* for a 100 of the backend; then the body is sent */

apr_time_t exchange_now(const proxy_exchange *x)
{
    return x->loop ? x->loop->monotonic : clock_monotonic();
}

void exchange_done(proxy_exchange *x, int status)
{
    x->state = EXCHANGE_DONE;
    x->status = status;
    x->wants_body = x->wants_room = 0;
}

static void exchange_drop(proxy_exchange *x)
{
    if (x->cc)
        client_close(x->cc);
    x->cc = NULL;
}

void exchange_give_back(proxy_exchange *x)
{
    client_conn *cc = x->cc;

    if (!cc)
        return;
    BRG_ASSERT(cc->baton == x); /* nobody else has it */
    x->cc = NULL;
    if (x->keep && x->complete && x->body_ended && !x->out_n && !x->held_n)
        client_keep(cc);
    else
        client_close(cc);
}

static void exchange_release(proxy_exchange *x)
{
    if (x->target->chosen)
        proxy_release(x->r, x->target, x->sent, x->got);
}

void exchange_end(proxy_exchange *x)
{
    client_ticket_leave(&x->ticket);
    exchange_drop(x);
    exchange_release(x);
    x->state = EXCHANGE_DONE;
}

/* ---- failures ---- */

static int failure_status(const proxy_exchange *x, proxy_failure why)
{
    switch (why) {
    case PROXY_FAILED_TIMEOUT:
        return HTTP_GATEWAY_TIME_OUT;
    case PROXY_FAILED_BROKEN: /* as Apache's modules have it */
        return x->codec == &proxy_fcgi_codec ? HTTP_SERVICE_UNAVAILABLE : HTTP_BAD_GATEWAY;
    case PROXY_FAILED_RESOLVE:
    case PROXY_FAILED_SHAKE:
        return HTTP_INTERNAL_SERVER_ERROR;
    default:
        return HTTP_SERVICE_UNAVAILABLE;
    }
}

/* What the page says of it. */
static const char *failure_reason(const proxy_exchange *x, proxy_failure why)
{
    switch (why) {
    case PROXY_FAILED_RESOLVE:
        return apr_pstrcat(x->r->pool, "DNS lookup failure for: ", x->target->host, NULL);
    case PROXY_FAILED_TIMEOUT:
    case PROXY_FAILED_BROKEN:
        return "Error reading from remote server";
    case PROXY_FAILED_SHAKE:
        return "Error during SSL Handshake with remote server";
    default:
        return NULL;
    }
}

/* The status line is there, and the head ends behind it. */
static int failure_is_within_head(const proxy_exchange *x)
{
    return x->cc && client_in_size(x->cc) && memchr(client_in(x->cc), '\n', client_in_size(x->cc));
}

/* A client that has had answers on its connection may well ask again: as for a connection that closes between requests, it
 * gets no answer. @return 1: so it was told */
static int failure_is_clients_to_repeat(proxy_exchange *x, proxy_failure why, apr_status_t error)
{
    request_rec *r = x->r;
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;

    if (x->codec != &proxy_http_codec || why != PROXY_FAILED_BROKEN ||
        r->proxyreq != PROXYREQ_REVERSE || !r->connection->keepalives ||
        failure_is_within_head(x) || x->bad)
        return 0;
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, error, r,
                  APLOGNO(01103) "Closing connection to client because reading from backend server "
                                 "%s:%u failed. Number "
                                 "of keepalives %i",
                  x->target->host, (unsigned)x->target->port, r->connection->keepalives);
    APR_BRIGADE_INSERT_TAIL(x->in, ap_bucket_error_create(HTTP_BAD_GATEWAY, NULL, r->pool, alloc));
    APR_BRIGADE_INSERT_TAIL(x->in, ap_bucket_eoc_create(alloc));
    APR_BRIGADE_INSERT_TAIL(x->in, apr_bucket_eos_create(alloc));
    r->connection->keepalive = AP_CONN_CLOSE;
    (void)ap_pass_brigade(r->output_filters, x->in);
    apr_brigade_cleanup(x->in);
    return 1;
}

static int failure_page(proxy_exchange *x, proxy_failure why)
{
    const char *reason = failure_reason(x, why);
    const int status = failure_status(x, why);

    if (!reason || failure_is_within_head(x))
        return status;
    return proxy_error(x->r, status, reason);
}

/* Whom the connection leads to: the target, or a proxy on the way. */
static const char *failure_host(const proxy_target *t)
{
    return t->remotes_n ? t->remotes[0].host : t->host;
}

static unsigned failure_port(const proxy_target *t)
{
    return t->remotes_n ? t->remotes[0].port : t->port;
}

/* Apache finds out while it sends a request. */
static void failure_log_shake(const proxy_exchange *x, apr_status_t error, const char *peer)
{
    const request_rec *r = x->r;
    const proxy_target *t = x->target;

    ap_log_rerror(APLOG_MARK, APLOG_ERR, error, r,
                  APLOGNO(01084) "pass request body failed to %s:%u (%s)", peer, failure_port(t),
                  failure_host(t));
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  APLOGNO(01097) "pass request body failed to %s:%u (%s) from %s (%s)", peer,
                  failure_port(t), failure_host(t), r->useragent_ip,
                  r->connection->remote_host ? r->connection->remote_host : "");
}

/* The module that speaks the protocol. */
static int failure_module(const proxy_exchange *x)
{
    if (x->codec == &proxy_fcgi_codec)
        return proxy_fcgi_module.module_index;
    if (x->codec == &proxy_scgi_codec)
        return proxy_scgi_module.module_index;
    if (x->codec == &proxy_uwsgi_codec)
        return proxy_uwsgi_module.module_index;
    return x->codec == &proxy_h2_codec ? proxy_http2_module.module_index
                                       : proxy_http_module.module_index;
}

static void failure_log_connect(const proxy_exchange *x, apr_status_t error, const char *peer,
                                const char *text)
{
    const proxy_target *t = x->target;
    const char *why = text ? text : "", *mark = text ? ": " : "";

    if (t->socket)
        ap_log_error(
            APLOG_MARK, APLOG_ERR, error, x->r->server,
            APLOGNO(02454) "%s: attempt to connect to Unix domain socket %s (%s:%u) failed%s%s",
            t->scheme_name, t->socket, failure_host(t), failure_port(t), mark, why);
    else
        ap_log_error(APLOG_MARK, APLOG_ERR, error, x->r->server,
                     APLOGNO(00957) "%s: attempt to connect to %s:%u (%s:%u) failed%s%s",
                     t->scheme_name, failure_host(t), failure_port(t), peer, failure_port(t), mark,
                     why);
}

static void failure_log(proxy_exchange *x, proxy_failure why, apr_status_t error, const char *text)
{
    const proxy_target *t = x->target;
    const char *peer = x->cc ? x->cc->peer : "";

    switch (why) {
    case PROXY_FAILED_RESOLVE: /* proxy_error() says it */
        break;
    case PROXY_FAILED_CONNECT:
        failure_log_connect(x, error, peer, text);
        break;
    case PROXY_FAILED_SHAKE:
        failure_log_shake(x, error, peer);
        break;
    case PROXY_FAILED_BUSY:
        ap_log_rerror(APLOG_MARK, APLOG_ERR, error, x->r,
                      APLOGNO(00941) "%s: failed to acquire connection for (%s:%u)", t->scheme_name,
                      failure_host(t), failure_port(t));
        break;
    default:
        if (x->codec == &proxy_fcgi_codec) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, error, x->r,
                          APLOGNO(01075) "Error dispatching request to %s: %s",
                          t->socket ? t->socket : failure_host(t), text ? text : "");
            return;
        }
        ap_log_rerror(APLOG_MARK, APLOG_ERR, error, x->r,
                      APLOGNO(01102) "error reading status line from remote server %s:%u%s%s",
                      failure_host(t), failure_port(t), text ? ": " : "", text ? text : "");
    }
}

/* A kept connection that its backend closed in this moment: nothing was lost, and it is no fault. */
static int failure_is_stale(proxy_exchange *x, proxy_failure why)
{
    if (x->untouched)
        return !x->body_lost && ++x->again_n <= EXCHANGE_AGAIN_MOST;
    return x->reused && !x->got && why == PROXY_FAILED_BROKEN && !x->bad && exchange_may_repeat(x);
}

static void exchange_try_again(proxy_exchange *x)
{
    BRG_ASSERT(!x->passed &&
               x->state != EXCHANGE_DONE); /* the client has seen nothing of a try that failed */
    exchange_drop(x);
    apr_brigade_cleanup(x->out);
    x->out_n = 0;
    x->held_n = 0;
    x->sent = x->got = 0;
    x->reused = x->untouched = 0;
    x->bad = NULL;
    x->told.received = 0;
    x->state = EXCHANGE_CONNECT;
}

/* Another member of the balancer. @return 0: there is none */
static int exchange_try_other(proxy_exchange *x)
{
    int status;

    if (!exchange_may_repeat(x) || !proxy_may_retry(x->r, x->target, x->attempt))
        return 0;
    exchange_release(x);
    x->attempt++;
    status = proxy_next_try(x);
    if (status != OK) {
        exchange_drop(x);
        exchange_done(x, status);
        return 1;
    }
    x->fresh = 0;
    exchange_try_again(x);
    return 1;
}

/* A proxy on the way gave no answer: the next one that ProxyRemote names, then none, as Apache does. @return 0: no other way */
static int exchange_try_other_way(proxy_exchange *x, proxy_failure why)
{
    proxy_target *t = x->target;

    if (!t->remotes_n || why != PROXY_FAILED_BROKEN || !exchange_may_repeat(x))
        return 0;
    t->remotes++;
    t->remotes_n--;
    exchange_drop(x);
    x->origin = proxy_origin_of(x->r, t);
    if (!x->origin) {
        exchange_done(x, HTTP_INTERNAL_SERVER_ERROR);
        return 1;
    }
    x->told.tries++;
    exchange_try_again(x);
    return 1;
}

/* Before the answer's head: another try, or a page. */
void exchange_fail(proxy_exchange *x, proxy_failure why, apr_status_t error, const char *text)
{
    if (failure_is_stale(x, why)) {
        x->fresh = 1;
        x->told.tries++;
        exchange_try_again(x);
        return;
    }
    if (x->passed) {
        ap_log_rerror(
            APLOG_MARK, APLOG_ERR, error, x->r,
            APLOGNO(01110) "Network error reading response from %s:%u%s%s: the answer is cut off",
            x->target->host, (unsigned)x->target->port, text ? ": " : "", text ? text : "");
        exchange_drop(x);
        exchange_cut(x);
        exchange_done(x, OK);
        return;
    }
    x->told.error = proxy_tell_error(why, error, x->bad != NULL);
    x->told.received = 0;
    failure_log(x, why, error, text);
    if (why == PROXY_FAILED_CONNECT || why == PROXY_FAILED_RESOLVE)
        client_origin_doubt(x->origin);
    if (exchange_try_other_way(x, why))
        return;
    proxy_failed(x->r, x->target, why);
    if (why == PROXY_FAILED_CONNECT)
        ap_log_rerror(__FILE__, __LINE__, failure_module(x), APLOG_ERR, 0, x->r,
                      APLOGNO(01114) "%s: failed to make connection to backend: %s", x->codec->name,
                      x->target->socket ? x->target->socket : failure_host(x->target));
    if (why != PROXY_FAILED_SHAKE && exchange_try_other(x))
        return;
    if (failure_is_clients_to_repeat(x, why, error))
        exchange_done(x, OK);
    else {
        if (x->conf.status_field)
            proxy_tell_field(x->r, &x->told, 1);
        exchange_done(x, failure_page(x, why));
    }
    exchange_drop(x);
}

/* ---- connecting ---- */

static void exchange_told(void *baton)
{
    proxy_exchange *x = baton;

    x->ticket.notify(x->ticket.baton);
}

/* Of this request: connections that served nobody else (proxy-initial-not-pooled). */
static int exchange_wants_fresh(const proxy_exchange *x)
{
    const request_rec *r = x->r;

    return x->fresh || (!r->connection->keepalives &&
                        apr_table_get(r->subprocess_env, "proxy-initial-not-pooled"));
}

static apr_status_t exchange_connect(proxy_exchange *x)
{
    apr_status_t rv;

    if (!x->cc) {
        client_ticket_leave(&x->ticket);
        x->cc = exchange_wants_fresh(x) ? NULL : client_take(x->origin, x->loop);
        x->reused = x->cc != NULL;
    }
    if (!x->cc) {
        rv = client_open(x->origin, x->loop, &x->ticket, &x->cc);
        if (rv == APR_NOTFOUND)
            exchange_fail(x, PROXY_FAILED_RESOLVE, 0, NULL);
        else if (rv != APR_SUCCESS && rv != APR_EAGAIN)
            exchange_fail(x, PROXY_FAILED_CONNECT, rv, NULL);
        if (rv != APR_SUCCESS)
            return rv;
    }
    x->cc->notify = exchange_told;
    x->cc->baton = x;
    rv = client_go(x->cc);
    if (rv != APR_EAGAIN)
        proxy_tell_peer(&x->told, x->cc->peer);
    if (rv != APR_SUCCESS && rv != APR_EAGAIN)
        exchange_fail(
            x, x->cc->failure == CLIENT_NO_HANDSHAKE ? PROXY_FAILED_SHAKE : PROXY_FAILED_CONNECT,
            rv, x->cc->why);
    return rv;
}

/* What a small body has of itself may be told by its length (Apache reads 16 KiB ahead for the same). */
static apr_status_t exchange_begin(proxy_exchange *x)
{
    int status;

    BRG_ASSERT(x->cc && x->state == EXCHANGE_CONNECT && !x->out_n);
    x->answered = x->complete = x->keep = x->swallow = 0;
    x->bad = NULL;
    x->body_ended = x->body_over;
    if (x->target->scheme == PROXY_SCHEME_CONNECT && !x->target->remotes_n) {
        x->r->status = HTTP_OK;
        x->state = EXCHANGE_TALK;
        exchange_head_done(x);
        exchange_tunnel_begin(x);
        return APR_SUCCESS;
    }
    if ((status = x->codec->begin(x)) != OK) {
        exchange_drop(x);
        exchange_done(x, status);
        return APR_EGENERAL;
    }
    exchange_body_begin(x);
    x->state = EXCHANGE_TALK;
    return APR_SUCCESS;
}

/* ---- talking ---- */

static int talk_gather(proxy_exchange *x, struct iovec *iov)
{
    int n = 0;

    for (apr_bucket *e = APR_BRIGADE_FIRST(x->out);
         e != APR_BRIGADE_SENTINEL(x->out) && n < EXCHANGE_IOV; e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        if (apr_bucket_read(e, &data, &len, APR_BLOCK_READ) != APR_SUCCESS || !len)
            continue;
        iov[n].iov_base = (void *)(uintptr_t)data;
        iov[n++].iov_len = len;
    }
    return n;
}

static void talk_sent(proxy_exchange *x, apr_size_t n)
{
    BRG_ASSERT((apr_off_t)n <= x->out_n);
    x->sent += (apr_off_t)n;
    x->out_n -= (apr_off_t)n;
    while (!APR_BRIGADE_EMPTY(x->out)) {
        apr_bucket *e = APR_BRIGADE_FIRST(x->out);

        if (e->length > n) {
            if (n) {
                apr_bucket_split(e, n);
                apr_bucket_delete(e);
            }
            return;
        }
        n -= e->length;
        apr_bucket_delete(e);
    }
}

/* A backend that answers and closes before it has read all is heard all the same. */
static void talk_send_failed(proxy_exchange *x)
{
    BRG_ASSERT(x->cc && x->state != EXCHANGE_DONE);
    apr_brigade_cleanup(x->out);
    x->out_n = 0;
    x->body_lost = 1;
    x->body_ended = 0;
    x->body_over = 1;
    x->cc->rd_ready = 1;
}

/* @return 1: something was sent */
int exchange_send(proxy_exchange *x)
{
    struct iovec iov[EXCHANGE_IOV];
    apr_size_t n;
    int any = 0;

    while (x->out_n) {
        apr_status_t rv = client_send(x->cc, iov, talk_gather(x, iov), 0, &n);

        if (rv == APR_EAGAIN)
            return any;
        if (rv != APR_SUCCESS) {
            talk_send_failed(x);
            return any;
        }
        talk_sent(x, n);
        any = 1;
    }
    return any;
}

static uint32_t talk_head_most(const proxy_exchange *x)
{
    const apr_size_t size = x->target->worker->params.field_size;

    return size > EXCHANGE_HEAD_MOST / 2 ? (uint32_t)size * 2 : EXCHANGE_HEAD_MOST;
}

static apr_status_t talk_take(proxy_exchange *x)
{
    apr_status_t rv;

    do
        rv = x->codec->take(x);
    while (rv == APR_SUCCESS && !x->complete && x->state == EXCHANGE_TALK && client_in_size(x->cc));
    return rv == APR_EAGAIN ? APR_SUCCESS : rv;
}

static void talk_broken(proxy_exchange *x, apr_status_t rv)
{
    exchange_fail(x, PROXY_FAILED_BROKEN, APR_STATUS_IS_EOF(rv) ? 0 : rv, x->bad);
}

/* One read. @return APR_SUCCESS: go on; APR_EAGAIN: nothing is there; else it is over */
static apr_status_t talk_receive(proxy_exchange *x)
{
    const uint32_t before = client_in_size(x->cc);
    apr_status_t rv = client_recv(x->cc, talk_head_most(x));

    if (rv == APR_SUCCESS) {
        x->got += client_in_size(x->cc) - before;
        rv = talk_take(x);
    } else if (rv == APR_EAGAIN) {
        return rv;
    } else if (x->answered && APR_STATUS_IS_EOF(rv)) {
        rv = x->codec->end(x);
    } else if (rv == APR_ENOSPC) {
        x->bad = "the head is too large";
    }
    if (rv != APR_SUCCESS)
        talk_broken(x, rv);
    return rv;
}

/* The last piece goes to the client after the connection went to the next request. */
static void talk_finish(proxy_exchange *x)
{
    BRG_ASSERT(x->answered && x->complete);
    exchange_give_back(x);
    exchange_release(x);
    exchange_done(x, x->status);
    exchange_pass(x);
}

static int talk_is_behind(proxy_exchange *x)
{
    x->wants_room = x->loop && x->passed && brg_wait_output(x->r) > EXCHANGE_BEHIND;
    return x->wants_room;
}

/* Until the client has no more, or the backend takes no more. @return 0: the body cannot be read */
static int talk_forward(proxy_exchange *x)
{
    int any;

    do {
        if (exchange_body_pump(x) != APR_SUCCESS) {
            exchange_drop(x);
            exchange_done(x, x->status);
            return 0;
        }
        any = exchange_send(x);
    } while (any && !x->body_over && !x->holds);
    return 1;
}

static apr_status_t exchange_talk(proxy_exchange *x)
{
    apr_status_t rv;

    if (!talk_forward(x))
        return APR_EGENERAL;
    for (;;) {
        if (talk_is_behind(x))
            return APR_EAGAIN;
        rv = talk_receive(x);
        if (x->state != EXCHANGE_TALK)
            return APR_SUCCESS;
        if (rv == APR_EAGAIN)
            return rv;
        if (x->complete) {
            talk_finish(x);
            return APR_SUCCESS;
        }
        if (x->out_n) /* what the codec answers to what came */
            (void)exchange_send(x);
        if (!APR_BRIGADE_EMPTY(x->in))
            exchange_pass(x);
        if (x->state != EXCHANGE_TALK)
            return APR_SUCCESS;
        if (!x->holds && !x->body_ended && x->loop)
            return exchange_talk(x); /* a 100 came, or room: the body goes on */
    }
}

/* ---- all of it ---- */

apr_status_t exchange_go(proxy_exchange *x)
{
    apr_status_t rv;

    for (;;) {
        switch (x->state) {
        case EXCHANGE_BODY:
            rv = exchange_body_whole(x);
            if (rv == APR_EAGAIN)
                return rv;
            if (rv == APR_SUCCESS)
                x->state = EXCHANGE_CONNECT;
            else
                exchange_done(x, x->status);
            break;
        case EXCHANGE_CONNECT:
            x->wants_body = 0;
            rv = exchange_connect(x);
            if (rv == APR_EAGAIN)
                return rv;
            if (rv == APR_SUCCESS)
                exchange_begin(x);
            break;
        case EXCHANGE_TALK:
            rv = exchange_talk(x);
            if (rv == APR_EAGAIN)
                return rv;
            break;
        case EXCHANGE_TUNNEL:
            rv = exchange_tunnel_go(x);
            if (rv == APR_EAGAIN)
                return rv;
            break;
        case EXCHANGE_DONE:
            return APR_SUCCESS;
        }
    }
}

/* ---- time ---- */

apr_interval_time_t exchange_patience(const proxy_exchange *x)
{
    const proxy_worker *w = x->target->worker;
    server_rec *s = x->r->server;

    switch (x->state) {
    case EXCHANGE_BODY:
        return s->timeout;
    case EXCHANGE_CONNECT:
        return !x->cc && w->params.set & PROXY_PARAM_ACQUIRE ? w->params.acquire
                                                             : proxy_connect_timeout(w, s);
    case EXCHANGE_TALK:
        return x->holds ? EXCHANGE_HOLD_US : proxy_timeout(w, s);
    default:
        return proxy_timeout(w, s);
    }
}

void exchange_expired(proxy_exchange *x)
{
    switch (x->state) {
    case EXCHANGE_BODY:
        exchange_done(x, HTTP_REQUEST_TIME_OUT);
        break;
    case EXCHANGE_CONNECT:
        exchange_fail(x, x->cc ? PROXY_FAILED_CONNECT : PROXY_FAILED_BUSY, APR_TIMEUP, NULL);
        break;
    case EXCHANGE_TALK:
        if (x->holds)
            x->holds = 0;
        else if (x->wants_body && !x->answered)
            exchange_done(x, HTTP_REQUEST_TIME_OUT);
        else
            exchange_fail(x, PROXY_FAILED_TIMEOUT, APR_TIMEUP, NULL);
        break;
    case EXCHANGE_TUNNEL:
        exchange_done(x, OK);
        break;
    case EXCHANGE_DONE:
        break;
    }
}
