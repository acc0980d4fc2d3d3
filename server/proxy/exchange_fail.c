/* SPDX-License-Identifier: Apache-2.0 */
/* A try that failed. The log and the client are told in the words of Apache's modules. Then comes another try: the same way, another
 * way, another member of the balancer; or the end. */
#include "exchange_private.h"
#include "proxy_origin.h"
#include "proxy_private.h"
#include "brigade/assert.h"
#include "http_connection.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(proxy);

#define EXCHANGE_AGAIN_MOST 3

/* The status line is there, and the head ends behind it. */
static int failure_is_within_head(const proxy_exchange *x)
{
    return x->cc && !x->codec->mux && upstream_in_size(x->cc) &&
           memchr(upstream_in(x->cc), '\n', upstream_in_size(x->cc));
}

static int failure_status(const proxy_exchange *x, proxy_failure why)
{
    switch (why) {
    case PROXY_FAILED_TIMEOUT:
        return HTTP_GATEWAY_TIME_OUT;
    case PROXY_FAILED_BROKEN:
        return x->codec->http_head && failure_is_within_head(x) ? HTTP_BAD_GATEWAY
                                                                : x->codec->broken;
    case PROXY_FAILED_RESOLVE:
    case PROXY_FAILED_SHAKE:
        return HTTP_INTERNAL_SERVER_ERROR;
    default:
        return HTTP_SERVICE_UNAVAILABLE;
    }
}

/* The sentence for the error page; those of scripts have none, as with Apache's modules. */
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

/* A client that has had answers on its connection may well ask again: as for a connection that closes between requests, it
 * gets no answer. @return 1: so it was told */
static int failure_is_clients_to_repeat(proxy_exchange *x, proxy_failure why, apr_status_t error)
{
    request_rec *r = x->r;
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;

    if (!x->codec->client_repeats || why != PROXY_FAILED_BROKEN ||
        r->proxyreq != PROXYREQ_REVERSE || !r->connection->keepalives ||
        failure_is_within_head(x) || x->answer.bad ||
        apr_table_get(r->notes, PROXY_ANSWERS_FAILURES))
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

    if (!reason || (x->codec->script && why != PROXY_FAILED_RESOLVE) || failure_is_within_head(x))
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
        if (x->codec->log_broken) {
            x->codec->log_broken(x, error, text ? text : "");
            return;
        }
        ap_log_rerror(APLOG_MARK, APLOG_ERR, error, x->r,
                      APLOGNO(01102) "error reading status line from remote server %s:%u%s%s",
                      failure_host(t), failure_port(t), text ? ": " : "", text ? text : "");
    }
}

/* 1 if the backend closed a kept connection at this moment: nothing is lost, and the worker is not at fault. */
static int failure_is_stale(proxy_exchange *x, proxy_failure why)
{
    if (x->attempt.untouched)
        return !x->body.lost && ++x->attempt.free_n <= EXCHANGE_AGAIN_MOST;
    return x->attempt.reused && !x->attempt.got && why == PROXY_FAILED_BROKEN && !x->answer.bad &&
           exchange_may_repeat(x) && (!x->codec->mux || ++x->attempt.free_n <= EXCHANGE_AGAIN_MOST);
}

static void exchange_try_again(proxy_exchange *x)
{
    BRG_ASSERT(!x->answer.passed &&
               x->state != EXCHANGE_DONE); /* the client has seen nothing of a try that failed */
    exchange_drop(x);
    apr_brigade_cleanup(x->out);
    x->out_n = 0;
    x->body.held = 0;
    x->script = NULL;
    x->attempt.sent = x->attempt.got = 0;
    x->attempt.reused = x->attempt.untouched = 0;
    x->answer.bad = NULL;
    x->told.received = 0;
    x->attempt.connect_at = 0;
    x->state = EXCHANGE_CONNECT;
}

/* Another member of the balancer. @return 0: no other */
static int exchange_try_other(proxy_exchange *x)
{
    int status;

    if (!exchange_may_repeat(x) || !proxy_may_retry(x->r, x->target, x->attempt.n))
        return 0;
    exchange_drop(x); /* by its codec: the other member may have another */
    exchange_release(x);
    x->attempt.n++;
    status = proxy_next_try(x);
    if (status != OK) {
        exchange_done(x, status);
        return 1;
    }
    x->attempt.fresh = 0;
    exchange_try_again(x);
    return 1;
}

/* A proxy on the way did not answer. Try the next that ProxyRemote names, then the direct way, as Apache does. @return 0: no other way */
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
    if (!x->r && !x->answer.passed) { /* the exchange of the request tells it */
        x->failed.known = 1;
        x->failed.why = why;
        x->failed.error = error;
        x->failed.text = text;
        exchange_done(x, EXCHANGE_NEEDS_REQUEST);
        return;
    }
    if (failure_is_stale(x, why)) {
        x->attempt.fresh =
            !x->codec
                 ->mux; /* where streams share connections another request may have opened a new one */
        x->told.tries++;
        exchange_try_again(x);
        return;
    }
    if (x->answer.passed) {
        exchange_log(
            APLOG_MARK, APLOG_ERR, error, x,
            APLOGNO(01110) "Network error reading response from %s:%u%s%s: the answer is cut off",
            x->target->host, (unsigned)x->target->port, text ? ": " : "", text ? text : "");
        exchange_drop(x);
        x->sink->cut(x);
        exchange_done(x, OK);
        return;
    }
    x->told.error = proxy_tell_error(why, error, x->answer.bad != NULL);
    x->told.received = 0;
    failure_log(x, why, error, text);
    if (why == PROXY_FAILED_CONNECT || why == PROXY_FAILED_RESOLVE)
        upstream_origin_doubt(x->origin);
    if (exchange_try_other_way(x, why))
        return;
    proxy_failed(x->r, x->target, why);
    if (why == PROXY_FAILED_CONNECT)
        ap_log_rerror(__FILE__, __LINE__, x->codec->module->module_index, APLOG_ERR, 0, x->r,
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
