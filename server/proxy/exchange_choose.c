/* SPDX-License-Identifier: Apache-2.0 */
/* A request waits for a member of its balancer that may be asked: timeout= of the balancer. */
#include "exchange_private.h"
#include "proxy_private.h"
#include "brigade/assert.h"
#include <stdatomic.h>

#define EXCHANGE_CHOOSE_US 10000 /* between two looks at the members, at least */

static apr_interval_time_t choose_patience(const proxy_balancer *b)
{
    return atomic_load(&b->state->timeout);
}

int exchange_choose(proxy_exchange *x)
{
    proxy_target *t = x->target;
    const apr_interval_time_t patience = t->balancer ? choose_patience(t->balancer) : 0;
    int status;

    BRG_ASSERT(!x->attempt.n && !x->cc);
    t->quiet = patience > 0;
    x->attempt.choose_until = exchange_now(x) + patience;
    status = proxy_next_try(x);
    if (status == HTTP_SERVICE_UNAVAILABLE && t->quiet && !t->chosen) {
        x->state = EXCHANGE_CHOOSE;
        return OK;
    }
    if (status == OK)
        x->state = x->codec->whole ? EXCHANGE_BODY : EXCHANGE_CONNECT;
    return status;
}

/* A hundred looks at the members, as in Apache. */
apr_interval_time_t exchange_choose_pause(const proxy_exchange *x)
{
    const apr_interval_time_t pause = choose_patience(x->target->balancer) / 100;

    return pause > EXCHANGE_CHOOSE_US ? pause : EXCHANGE_CHOOSE_US;
}

void exchange_choose_again(proxy_exchange *x)
{
    proxy_target *t = x->target;
    int status;

    BRG_ASSERT(t->balancer && !t->chosen);
    t->quiet = exchange_now(x) < x->attempt.choose_until;
    status = proxy_next_try(x);
    if (status == OK)
        x->state = x->codec->whole ? EXCHANGE_BODY : EXCHANGE_CONNECT;
    else if (!t->quiet || t->chosen)
        exchange_done(x, status);
}
