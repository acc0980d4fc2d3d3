/* SPDX-License-Identifier: Apache-2.0 */
/* An exchange gets its connection, an idle one or a new one, and its codec begins on it. */
#include "exchange_private.h"
#include "brigade/assert.h"

void exchange_told(void *baton)
{
    proxy_exchange *x = baton;

    x->ticket.notify(x->ticket.baton);
}

/* Of this request: connections that served nobody else (proxy-initial-not-pooled). */
static int exchange_wants_fresh(const proxy_exchange *x)
{
    const request_rec *r = x->r;

    return x->attempt.fresh || (r && !r->connection->keepalives &&
                                apr_table_get(r->subprocess_env, "proxy-initial-not-pooled"));
}

/* A connection that is there. @return APR_SUCCESS: x->cc is set; APR_NOTFOUND; APR_EAGAIN: the exchange is told */
static apr_status_t connect_known(proxy_exchange *x)
{
    apr_status_t rv = APR_NOTFOUND;

    BRG_ASSERT(!x->cc);

    if (!x->attempt.connect_at)
        x->attempt.connect_at = exchange_now(x);
    upstream_ticket_leave(&x->ticket);
    if (!exchange_wants_fresh(x)) {
        if (x->codec->mux && x->loop)
            rv = x->codec->mux->join(x);
        if (rv == APR_NOTFOUND && (x->cc = upstream_take(x->origin, x->loop)) != NULL)
            rv = APR_SUCCESS;
    }
    x->attempt.reused = rv == APR_SUCCESS;
    return rv;
}

apr_status_t exchange_connect(proxy_exchange *x)
{
    apr_status_t rv;
    int status;

    BRG_ASSERT(x->state == EXCHANGE_CONNECT);
    if (!x->cc && connect_known(x) == APR_EAGAIN)
        return APR_EAGAIN;
    if (!x->cc) {
        rv = upstream_open(x->origin, x->loop, &x->ticket, &x->cc);
        if (rv == APR_EACCES && x->r) {
            status = proxy_error(x->r, HTTP_FORBIDDEN, "Connect to remote machine blocked");
            exchange_done(x, status);
        } else if (rv == APR_NOTFOUND)
            exchange_fail(x, PROXY_FAILED_RESOLVE, 0, NULL);
        else if (rv != APR_SUCCESS && rv != APR_EAGAIN)
            exchange_fail(x, PROXY_FAILED_CONNECT, rv, NULL);
        if (rv != APR_SUCCESS)
            return rv;
    }
    if (!x->cc->session) { /* which has its events itself */
        x->cc->notify = exchange_told;
        x->cc->baton = x;
    }
    rv = upstream_go(x->cc);
    if (rv != APR_EAGAIN)
        proxy_tell_peer(&x->told, x->cc->peer, upstream_origin_settings(x->origin)->port);
    if (rv != APR_SUCCESS && rv != APR_EAGAIN)
        exchange_fail(
            x, x->cc->failure == UPSTREAM_NO_HANDSHAKE ? PROXY_FAILED_SHAKE : PROXY_FAILED_CONNECT,
            rv, x->cc->why);
    return rv;
}

/* A small body may be told by its length (Apache reads 16 KiB ahead for the same). */
apr_status_t exchange_begin(proxy_exchange *x)
{
    int status;

    BRG_ASSERT(x->cc && x->state == EXCHANGE_CONNECT && !x->out_n);
    x->answer.begun = x->answer.complete = x->keep = x->answer.swallow = 0;
    x->answer.bad = NULL;
    x->attempt.send_error = 0;
    x->body.ended = x->body.over;
    if (x->target->scheme == PROXY_SCHEME_CONNECT && !x->target->remotes_n) {
        x->r->status = HTTP_OK;
        x->state = EXCHANGE_TALK;
        exchange_head_done(x);
        exchange_tunnel_begin(x);
        return APR_SUCCESS;
    }
    x->body.holds = x->codec->expects && x->body.exists && !x->body.read && x->r->expecting_100 &&
                    x->conf.pass_continue && !x->body.over;
    x->no_keep =
        x->r && x->codec->plans && apr_table_get(x->r->subprocess_env, "proxy-nokeepalive") != NULL;
    status = x->codec->script && x->r ? exchange_variables(x) : OK;
    if (status != OK || (status = x->codec->begin(x)) != OK) {
        exchange_drop(x);
        exchange_done(x, status);
        return APR_EGENERAL;
    }
    exchange_body_begin(x);
    x->state = EXCHANGE_TALK;
    return APR_SUCCESS;
}
