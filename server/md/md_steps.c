/* SPDX-License-Identifier: Apache-2.0 */
/* The next step of an order, and when a domain is due again: decided from state and time alone. */
#include "md_steps.h"
#include "brigade/assert.h"
#include <string.h>

#define ORDER_WAIT (APR_USEC_PER_SEC / 4)
#define ORDER_WAIT_MOST (10 * APR_USEC_PER_SEC)
#define ORDER_ASKED_MOST (60 * APR_USEC_PER_SEC)
/* an authority that always advises it gets no more orders */
#define ADVICE_AGAIN (3600 * APR_USEC_PER_SEC)
#define RETRY_MOST (24 * 3600 * APR_USEC_PER_SEC)

md_status md_status_of(const char *word)
{
    static const char *const words[] = {"pending", "ready", "processing", "valid"};

    for (int i = 0; word && i < 4; i++)
        if (!strcmp(word, words[i]))
            return (md_status)i;
    return MD_INVALID;
}

/* ---- orders ---- */

static md_step order_pending(const md_order *order, int *which)
{
    const md_authz *all = (const md_authz *)order->authzs->elts;
    const int n = order->authzs->nelts;

    BRG_ASSERT(order->authzs != NULL);
    for (int i = 0; i < n; i++)
        if (all[i].status != MD_VALID && all[i].status != MD_PENDING) {
            *which = i;
            return MD_STEP_FAIL;
        }
    for (int i = 0; i < n; i++)
        if (all[i].status == MD_PENDING && !all[i].answered) {
            *which = i;
            return MD_STEP_ANSWER;
        }
    for (int i = 0; i < n; i++)
        if (all[i].status == MD_PENDING) {
            *which = i;
            return MD_STEP_LOOK;
        }
    return MD_STEP_POLL;
}

md_step md_order_next(const md_order *order, apr_time_t now, int *which)
{
    BRG_ASSERT(order->deadline > 0);
    *which = -1;
    if (now >= order->deadline || order->status == MD_INVALID)
        return MD_STEP_FAIL;
    switch (order->status) {
    case MD_VALID:
        /* An order that is valid without our request has a certificate for a key that is not here. */
        return order->certificate && order->finalized ? MD_STEP_DOWNLOAD : MD_STEP_FAIL;
    case MD_READY:
        return order->finalized ? MD_STEP_POLL : MD_STEP_FINALIZE;
    case MD_PROCESSING:
        return MD_STEP_POLL;
    default:
        return order_pending(order, which);
    }
}

apr_interval_time_t md_order_wait(const md_order *order, apr_interval_time_t asked)
{
    apr_interval_time_t wait = ORDER_WAIT;

    BRG_ASSERT(order->looks >= 0);
    if (asked > 0)
        return asked < ORDER_ASKED_MOST ? asked : ORDER_ASKED_MOST;
    for (int i = 0; i < order->looks && wait < ORDER_WAIT_MOST; i++)
        wait *= 2;
    return wait < ORDER_WAIT_MOST ? wait : ORDER_WAIT_MOST;
}

const char *md_challenge_choose(const apr_array_header_t *wanted, const apr_array_header_t *offered)
{
    BRG_ASSERT(wanted && offered);
    for (int i = 0; i < wanted->nelts; i++)
        for (int k = 0; k < offered->nelts; k++)
            if (!strcmp(APR_ARRAY_IDX(wanted, i, const char *),
                        APR_ARRAY_IDX(offered, k, const char *)))
                return APR_ARRAY_IDX(wanted, i, const char *);
    return NULL;
}

/* ---- managed domains ---- */

apr_interval_time_t md_window_of(const md_window *window, apr_time_t from, apr_time_t until)
{
    const apr_interval_time_t life = until > from ? until - from : 0;

    BRG_ASSERT(window->percent >= 0 && window->percent < 100);
    if (window->percent)
        return life / 100 * window->percent;
    return window->length < life ? window->length : life / 3;
}

static apr_time_t plan_renewal(const md_state *s)
{
    const apr_time_t own = s->until - md_window_of(&s->window, s->from, s->until);
    apr_time_t advised;

    BRG_ASSERT(s->complete && s->chance >= 0 && s->chance <= 1);
    if (!s->ari_from || s->ari_until <= s->ari_from)
        return own;
    advised = s->ari_from + (apr_time_t)((double)(s->ari_until - s->ari_from) * s->chance);
    if (advised < s->last_run + ADVICE_AGAIN)
        advised = s->last_run + ADVICE_AGAIN;
    return advised < own ? advised : own; /* advice never makes it later than MDRenewWindow */
}

apr_time_t md_renew_at(const md_state *s, apr_time_t now)
{
    apr_time_t at;

    if (s->mode == MD_MANUAL || (s->mode == MD_AUTO && !s->used))
        return 0;
    at = s->complete ? plan_renewal(s) : now;
    return at < s->next_try ? s->next_try : at;
}

apr_interval_time_t md_retry_after(apr_interval_time_t delay, int errors, double chance)
{
    apr_interval_time_t wait = delay > 0 ? delay : APR_USEC_PER_SEC;

    BRG_ASSERT(errors >= 0 && chance >= 0 && chance <= 1);
    for (int i = 1; i < errors && wait < RETRY_MOST; i++)
        wait *= 2;
    wait = wait < RETRY_MOST ? wait : RETRY_MOST;
    return wait + (apr_interval_time_t)((double)wait * chance / 2);
}
