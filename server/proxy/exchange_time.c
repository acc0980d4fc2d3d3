/* SPDX-License-Identifier: Apache-2.0 */
/* Timeouts of an exchange in each of its states, and their effect. */
#include "exchange_private.h"

/* For a 100 of a backend that has sent none so far; then the body is sent. */
#define EXCHANGE_HOLD_US apr_time_from_sec(1)

/* The time to connect is that of all waits together: a full backlog is tried again and again. */
static apr_interval_time_t exchange_left(const proxy_exchange *x, apr_interval_time_t all)
{
    const apr_interval_time_t left = all - (exchange_now(x) - x->attempt.connect_at);

    if (!x->attempt.connect_at) /* it goes to its loop first */
        return all;
    return left > 0 ? left : 1;
}

apr_interval_time_t exchange_patience(const proxy_exchange *x)
{
    const proxy_worker *w = x->target->worker;
    server_rec *s = x->server;

    switch (x->state) {
    case EXCHANGE_CHOOSE:
        return exchange_choose_pause(x);
    case EXCHANGE_BODY:
        return s->timeout;
    case EXCHANGE_CONNECT:
        return !x->cc && w->params.set & PROXY_PARAM_ACQUIRE
                   ? w->params.acquire
                   : exchange_left(x, proxy_connect_timeout(w, s));
    case EXCHANGE_TALK:
        if (x->wants_room && !x->answer.spools)
            return EXCHANGE_PATIENCE_US - x->answer.behind_us;
        return x->body.holds && !atomic_load_explicit(&w->says_100, memory_order_relaxed)
                   ? EXCHANGE_HOLD_US
                   : proxy_timeout(w, s);
    default:
        return proxy_timeout(w, s);
    }
}

void exchange_expired(proxy_exchange *x)
{
    switch (x->state) {
    case EXCHANGE_CHOOSE:
        exchange_choose_again(x);
        break;
    case EXCHANGE_BODY:
        exchange_done(x,
                      exchange_spool_is_busy(x) ? HTTP_SERVICE_UNAVAILABLE : HTTP_REQUEST_TIME_OUT);
        break;
    case EXCHANGE_CONNECT:
        exchange_fail(x, x->cc ? PROXY_FAILED_CONNECT : PROXY_FAILED_BUSY, APR_TIMEUP, NULL);
        break;
    case EXCHANGE_TALK:
        if (x->body.holds)
            x->body.holds = 0;
        else if (x->wants_room && !x->answer.spools)
            x->answer.spools = 1;
        else if (x->body.wanted && !x->answer.begun)
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
