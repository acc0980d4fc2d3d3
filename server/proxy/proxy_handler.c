/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of requests that another server answers. It chooses a backend, lets the exchange run,
 * and tries another one where that is allowed.
 *
 * On a loop the exchange waits by brg_wait(): its backend's socket is in the poll set of the loop all the time, so a wait costs
 * no system call. A request whose handler runs on a worker goes back to its loop, unless it cannot wait there: a sub-request, or
 * one with filters that may block. Then the worker polls.
 */
#include "exchange_private.h"
#include "proxy_origin.h"
#include "proxy_plan.h"
#include "proxy_private.h"
#include "connection.h"
#include "loop.h"
#include "request_wait.h"
#include "clock.h"
#include "brigade/assert.h"
#include "brigade/response_cache.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_core.h"
#include "apr_strings.h"
#include <poll.h>

APLOG_USE_MODULE(proxy);

static int proxy_run(proxy_exchange *x);

static int proxy_go_on(request_rec *r, void *baton, int came)
{
    proxy_exchange *x = baton;

    BRG_ASSERT(x->r == r);
    x->waiting = NULL;
    x->came |= (uint8_t)came;
    if (!x->loop) { /* it began on a worker */
        x->loop = loop_self();
        proxy_ahead_take(x);
    }
    if (came == BRG_WAIT_TIMEOUT)
        exchange_expired(x);
    return proxy_run(x);
}

static void proxy_gone(request_rec *r, void *baton)
{
    proxy_exchange *x = baton;

    x->waiting = NULL;
    exchange_end(x);
}

/* An event of the backend's socket, or the turn of the request in a queue. */
static void proxy_notified(void *baton)
{
    proxy_exchange *x = baton;

    if (x->waiting)
        request_wait_came(x->waiting);
}

static int proxy_wait(proxy_exchange *x)
{
    const brg_wait_for wanted = {.fd = -1,
                                 .timeout = exchange_patience(x),
                                 .body = x->body.wanted,
                                 .room = x->wants_room,
                                 .waiting = &x->waiting};
    int status;

    x->came = 0;
    status = brg_wait(x->r, &wanted, proxy_go_on, proxy_gone, x);
    if (x->yields && x->waiting)
        brg_wait_resume(x->waiting);
    x->yields = 0;
    return status;
}

/* On a worker: wait here. */
static void proxy_poll(proxy_exchange *x)
{
    apr_status_t rv;

    if (exchange_brings_body(x))
        return;
    if (x->state == EXCHANGE_CHOOSE) {
        apr_sleep(exchange_patience(x));
        rv = APR_TIMEUP;
    } else if (!x->cc) /* as many connections are open as may be; one of them ends soon */
        rv = APR_TIMEUP;
    else
        rv = upstream_wait(x->cc, (short)(upstream_wants(x->cc) | (x->out_n ? POLLOUT : 0)),
                           exchange_patience(x));
    if (APR_STATUS_IS_TIMEUP(rv))
        exchange_expired(x);
}

static int proxy_run(proxy_exchange *x)
{
    int status;

    while (exchange_go(x) == APR_EAGAIN) {
        if (x->loop)
            return proxy_wait(x);
        proxy_poll(x);
    }
    status = exchange_answer_local(x);
    if (x->plan.may && x->answer.complete && status == OK)
        proxy_plan_offer(x);
    exchange_end(x);
    return status;
}

static apr_status_t proxy_pool_ends(void *baton)
{
    proxy_exchange *x = baton;

    exchange_end(x);
    for (int i = 0; i < 3; i++)
        apr_brigade_cleanup(&x->own[i]);
    return APR_SUCCESS;
}

/* Without the module of a scheme there is no handler for it. */
static int proxy_scheme_is_offered(proxy_scheme scheme)
{
    switch (scheme) {
    case PROXY_SCHEME_HTTP:
    case PROXY_SCHEME_HTTPS:
        return proxy_http_module.module_index != -1;
    case PROXY_SCHEME_WS:
    case PROXY_SCHEME_WSS:
        return proxy_wstunnel_module.module_index != -1 || proxy_http_module.module_index != -1;
    case PROXY_SCHEME_CONNECT:
        return proxy_connect_module.module_index != -1;
    case PROXY_SCHEME_H2:
    case PROXY_SCHEME_H2C:
        return proxy_http2_module.module_index != -1;
    case PROXY_SCHEME_FCGI:
        return proxy_fcgi_module.module_index != -1;
    case PROXY_SCHEME_SCGI:
        return proxy_scgi_module.module_index != -1;
    case PROXY_SCHEME_UWSGI:
        return proxy_uwsgi_module.module_index != -1;
    default:
        return 0;
    }
}

const proxy_codec *proxy_codec_of(proxy_scheme scheme)
{
    if (!proxy_scheme_is_offered(scheme))
        return NULL;
    switch (scheme) {
    case PROXY_SCHEME_HTTP:
    case PROXY_SCHEME_HTTPS:
    case PROXY_SCHEME_WS:
    case PROXY_SCHEME_WSS:
    case PROXY_SCHEME_CONNECT:
        return &proxy_http_codec;
    case PROXY_SCHEME_H2:
    case PROXY_SCHEME_H2C:
        return &proxy_h2_codec;
    case PROXY_SCHEME_FCGI:
        return &proxy_fcgi_codec;
    case PROXY_SCHEME_SCGI:
        return &proxy_scgi_codec;
    case PROXY_SCHEME_UWSGI:
        return &proxy_uwsgi_codec;
    default:
        return NULL;
    }
}

/* No member may be asked. After a failure that failure is told. */
static void proxy_no_backend(proxy_exchange *x)
{
    if (!x->told.error)
        x->told.error = "destination_unavailable";
    if (x->conf.status_field)
        proxy_tell_field(x->r, &x->told, 1);
}

/* The backend of the next try. @return OK or a status */
int proxy_next_try(proxy_exchange *x)
{
    request_rec *r = x->r;
    int status = proxy_choose(r, x->target, x->attempt.n);

    if (status != OK) {
        if (!x->target->quiet)
            proxy_no_backend(x);
        return status;
    }
    x->target->quiet = 0;
    x->attempt.chosen_at = exchange_now(x);
    x->codec = proxy_codec_of(x->target->scheme);
    x->told.tries++;
    x->told.protocol = x->codec ? x->codec->protocol : NULL;
    if (!x->codec) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                      APLOGNO(01144) "No protocol handler was valid for the URL %s "
                                     "(scheme '%s'). If you are using a DSO version of mod_proxy, "
                                     "make sure the proxy submodules are included in the "
                                     "configuration using LoadModule.",
                      r->uri, x->target->scheme_name);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    x->origin = proxy_origin_of(r, x->target);
    return x->origin ? OK : HTTP_INTERNAL_SERVER_ERROR; /* TLS that is not enabled */
}

/* The request has gone as far as it may (RFC 9110, 7.6.2). */
static int proxy_goes_no_further(request_rec *r)
{
    int status;

    switch (r->method_number) {
    case M_TRACE:
        r->proxyreq = PROXYREQ_NONE;
        status = ap_send_http_trace(r);
        break;
    case M_OPTIONS:
        status = ap_send_http_options(r);
        break;
    default:
        return proxy_error(r, HTTP_BAD_REQUEST, "Max-Forwards has reached zero - proxy loop?");
    }
    return status == DONE ? OK : status;
}

/* Max-Forwards of the client, or ProxyMaxForwards. @return DECLINED: it goes on */
static int proxy_max_forwards(request_rec *r)
{
    const char *text = apr_table_get(r->headers_in, "Max-Forwards");
    apr_off_t n = proxy_settings_of(r->server)->max_forwards;
    char *end;

    if (text) {
        if (apr_strtoff(&n, text, &end, 10) != APR_SUCCESS || *end || n < 0)
            return proxy_error(r, HTTP_BAD_REQUEST,
                               "Max-Forwards request header could not be parsed");
        if (n == 0)
            return proxy_goes_no_further(r);
        n--;
    }
    if (n >= 0)
        apr_table_setn(r->headers_in, "Max-Forwards", apr_psprintf(r->pool, "%" APR_OFF_T_FMT, n));
    return DECLINED;
}

/* TraceEnable Off holds for others, too. */
static int proxy_trace_is_denied(request_rec *r)
{
    const core_server_config *conf = ap_get_core_module_config(r->server->module_config);

    if (r->method_number != M_TRACE || conf->trace_enable != AP_TRACE_DISABLE)
        return 0;
    apr_table_setn(r->notes, "error-notes", "TRACE denied by server configuration");
    return 1;
}

static proxy_exchange *proxy_exchange_make(request_rec *r, proxy_target *target)
{
    proxy_exchange *x = apr_pcalloc(r->pool, sizeof *x);

    exchange_of_request(x, r);
    x->target = target;
    x->loop = loop_self();
    x->ticket.notify = proxy_notified;
    x->ticket.baton = x;
    x->body.exists = (uint8_t)(ap_request_has_body(r) != 0);
    x->body.over = !x->body.exists;
    if (!x->body.exists) /* there is nothing to wait for (RFC 9110, 10.1.1) */
        r->expecting_100 = 0;
    proxy_tell_begin(r, &x->told);
    apr_pool_cleanup_register(r->pool, x, proxy_pool_ends, apr_pool_cleanup_null);
    return x;
}

/* 1: this thread is a worker, and the request may wait on its loop. */
static int proxy_goes_to_loop(request_rec *r)
{
    return !conn_on_loop() && brg_wait_possible(r) && !brg_request_may_wait(r);
}

int proxy_handler(request_rec *r)
{
    proxy_exchange *x;
    proxy_target *target;
    int status = exchange_redirect_local(r, DECLINED);

    if (status != DECLINED)
        return status;
    if ((status = proxy_resolve(r, &target)) != OK)
        return status;
    if ((status = proxy_max_forwards(r)) != DECLINED)
        return status;
    if (proxy_trace_is_denied(r))
        return HTTP_METHOD_NOT_ALLOWED;
    x = proxy_exchange_make(r, target);
    if ((status = exchange_choose(x)) != OK) {
        exchange_end(x);
        return status;
    }
    proxy_plan_look(x);
    if (x->loop)
        proxy_ahead_take(x);
    if (proxy_goes_to_loop(r)) {
        status = proxy_wait(x);
        if (status == SUSPENDED)
            brg_wait_resume(x->waiting);
        return status;
    }
    if (x->loop && !brg_wait_possible(r)) { /* the hook that keeps it off the loop was passed by */
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "proxy: %s cannot be asked for from here: the request may not wait",
                      target->url);
        exchange_end(x);
        return HTTP_SERVICE_UNAVAILABLE;
    }
    return proxy_run(x);
}
