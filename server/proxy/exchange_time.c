/* SPDX-License-Identifier: Apache-2.0 */
/* Timeouts of an exchange in each of its states, and their effect. */
#include "exchange_private.h"
#include "brigade/assert.h"

/* For a 100 of a backend that has sent none so far; then the body is sent. */
#define EXCHANGE_HOLD_US apr_time_from_sec(1)

/* A script writes its page in pieces of 8 KiB, of which the last comes with its end, some milliseconds behind the others as a rule. */
#define EXCHANGE_HELD_MS 10
#define EXCHANGE_HELD_ENOUGH 1 /* of answer.held: the piece goes now */

/* Never one of the values above. */
static uint32_t held_now(const proxy_exchange *x)
{
    return (uint32_t)apr_time_as_msec(exchange_now(x)) | 2;
}

int exchange_holds(proxy_exchange *x)
{
    BRG_ASSERT(!x->answer.complete);
    if (!x->loop || !x->sink->works(x) || x->answer.held == EXCHANGE_HELD_ENOUGH)
        return 0;
    if (!x->answer.held)
        x->answer.held = held_now(x);
    return 1;
}

static apr_interval_time_t held_left(const proxy_exchange *x)
{
    const uint32_t since = held_now(x) - x->answer.held;

    return since < EXCHANGE_HELD_MS ? apr_time_from_msec(EXCHANGE_HELD_MS - since) : 1;
}

static void held_goes(proxy_exchange *x)
{
    x->answer.held = EXCHANGE_HELD_ENOUGH;
    x->sink->pass(x);
    x->answer.held = 0;
}

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
        if (x->answer.held)
            return held_left(x);
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
        else if (x->answer.held)
            held_goes(x);
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
