/* SPDX-License-Identifier: Apache-2.0 */
/* How long a response is fresh, how old it is, and how it may be used (sections 4.2, 5.2; RFC 5861, RFC 8246). */
#include "freshness.h"
#include "brigade/assert.h"

static uint32_t fresh_seconds(apr_time_t span)
{
    const int64_t s = apr_time_sec(span);

    return span <= 0 ? 0 : s > FRESH_SPAN_MOST ? FRESH_SPAN_MOST : (uint32_t)s;
}

/* Section 4.2.2: a share of the time since it was modified. Without such a time the configured
 * value. */
static uint32_t fresh_guess(const fresh_response *response, const fresh_policy *policy,
                            apr_time_t date)
{
    double guess = policy->default_expire;

    if (!fresh_status_is_heuristic(response->head.code) && !(response->cc.has & FRESH_CC_PUBLIC))
        return 0;
    if (response->modified)
        guess = response->modified < date
                    ? (double)apr_time_sec(date - response->modified) * policy->last_modified_factor
                    : 0;
    return guess > policy->max_expire ? policy->max_expire : (uint32_t)guess;
}

/* Section 4.2.1, in its order. */
static uint32_t fresh_lifetime(const fresh_response *response, const fresh_policy *policy,
                               apr_time_t date, int *guessed)
{
    const uint32_t has = response->cc.has;

    if ((has & FRESH_CC_WRONG) &&
        (policy->strict || !(has & (FRESH_CC_MAX_AGE | FRESH_CC_S_MAXAGE))))
        return 0;
    if (has & FRESH_CC_S_MAXAGE)
        return response->cc.s_maxage;
    if (has & FRESH_CC_MAX_AGE)
        return response->cc.max_age;
    if (response->has_expires && !response->targeted)
        return response->expires > date ? fresh_seconds(response->expires - date) : 0;
    *guessed = 1;
    return fresh_guess(response, policy, date);
}

static uint16_t fresh_terms_flags(const fresh_response *response, int guessed)
{
    const uint32_t has = response->cc.has;
    uint32_t flags = 0;

    if (has & FRESH_CC_NO_CACHE)
        flags |= FRESH_T_NO_CACHE;
    if (has & (FRESH_CC_MUST_REVALIDATE | FRESH_CC_PROXY_REVALIDATE | FRESH_CC_S_MAXAGE |
               FRESH_CC_NO_CACHE))
        flags |= FRESH_T_MUST_REVALIDATE;
    if (has & FRESH_CC_IMMUTABLE)
        flags |= FRESH_T_IMMUTABLE;
    if (has & FRESH_CC_SIE)
        flags |= FRESH_T_SIE;
    if (has & (FRESH_CC_PUBLIC | FRESH_CC_MUST_REVALIDATE | FRESH_CC_S_MAXAGE))
        flags |= FRESH_T_PUBLIC;
    if (guessed)
        flags |= FRESH_T_HEURISTIC;
    if (response->has_tag || response->modified)
        flags |= FRESH_T_VALIDATOR;
    if (response->has_vary)
        flags |= FRESH_T_VARY;
    if (response->partial)
        flags |= FRESH_T_PARTIAL;
    return (uint16_t)flags;
}

void fresh_terms_make(fresh_terms *terms, const fresh_response *response,
                      const fresh_policy *policy, apr_time_t asked, apr_time_t came)
{
    const apr_time_t date = response->date ? response->date : came;
    const uint32_t apparent = fresh_seconds(came - date);
    const uint64_t corrected = (uint64_t)response->age + fresh_seconds(came - asked);
    int guessed = 0;

    *terms = (fresh_terms){.stored = came, .code = response->head.code};
    BRG_ASSERT(response->head.code);
    terms->age = corrected > FRESH_SPAN_MOST ? FRESH_SPAN_MOST : (uint32_t)corrected;
    if (response->date && apparent > terms->age)
        terms->age = apparent;
    terms->lifetime = fresh_lifetime(response, policy, date, &guessed);
    if (terms->lifetime < policy->min_expire &&
        !(response->cc.has & (FRESH_CC_NO_CACHE | FRESH_CC_WRONG)) && guessed)
        terms->lifetime = policy->min_expire;
    terms->swr = response->cc.has & FRESH_CC_SWR ? response->cc.swr : 0;
    terms->sie = response->cc.has & FRESH_CC_SIE ? response->cc.sie : policy->stale_on_error;
    terms->flags = fresh_terms_flags(response, guessed);
}

int fresh_terms_are_sound(const fresh_terms *terms)
{
    return terms->stored >= 0 && terms->stored <= INT64_MAX / 2 && terms->age <= FRESH_SPAN_MOST &&
           terms->lifetime <= FRESH_SPAN_MOST && terms->swr <= FRESH_SPAN_MOST &&
           terms->sie <= FRESH_SPAN_MOST;
}

uint32_t fresh_age(const fresh_terms *terms, apr_time_t now)
{
    const uint64_t age = (uint64_t)terms->age + fresh_seconds(now - terms->stored);

    return age > FRESH_SPAN_MOST ? FRESH_SPAN_MOST : (uint32_t)age;
}

/* In microseconds, so that a second is not over after a tenth of it. */
static apr_time_t fresh_left_exactly(const fresh_terms *terms, apr_time_t now)
{
    const apr_time_t resident = now > terms->stored ? now - terms->stored : 0;

    return apr_time_from_sec((int64_t)terms->lifetime - (int64_t)terms->age) - resident;
}

int64_t fresh_left(const fresh_terms *terms, apr_time_t now)
{
    const apr_time_t left = fresh_left_exactly(terms, now);

    return left > 0 ? apr_time_sec(left + APR_USEC_PER_SEC - 1) : -apr_time_sec(-left);
}

apr_time_t fresh_until(const fresh_terms *terms)
{
    return terms->stored + apr_time_from_sec((int64_t)terms->lifetime - (int64_t)terms->age);
}

/* 1 if the request wants a fresher response than this one, which is fresh: section 5.2.1. */
static int fresh_request_objects(const fresh_terms *terms, const fresh_request *request,
                                 const fresh_policy *policy, apr_time_t left, uint32_t age)
{
    const fresh_cc *cc = &request->cc;

    if (policy->ignore_request)
        return 0;
    if (cc->has & FRESH_CC_NO_CACHE)
        return 1;
    if ((cc->has & FRESH_CC_MIN_FRESH) && left < apr_time_from_sec(cc->min_fresh))
        return 1;
    if (!(cc->has & FRESH_CC_MAX_AGE))
        return 0;
    if (terms->flags & FRESH_T_IMMUTABLE && !cc->max_age)
        return 0; /* a reload: RFC 8246, 2 */
    return age > cc->max_age || !cc->max_age;
}

static fresh_use fresh_use_stale(const fresh_terms *terms, const fresh_request *request,
                                 const fresh_policy *policy, apr_time_t late)
{
    const fresh_cc *cc = &request->cc;

    BRG_ASSERT(late >= 0);
    if (terms->flags & (FRESH_T_MUST_REVALIDATE | FRESH_T_NO_CACHE))
        return FRESH_VALIDATE;
    if (!policy->ignore_request && (cc->has & FRESH_CC_MAX_STALE) &&
        late <= apr_time_from_sec(cc->max_stale))
        return FRESH_SERVE_STALE;
    return late < apr_time_from_sec(terms->swr) ? FRESH_SERVE_REFRESH : FRESH_VALIDATE;
}

static fresh_use fresh_use_plainly(const fresh_terms *terms, const fresh_request *request,
                                   const fresh_policy *policy, apr_time_t now)
{
    const apr_time_t left = fresh_left_exactly(terms, now);
    const apr_time_t resident = now > terms->stored ? now - terms->stored : 0;
    const uint32_t age =
        terms->age + fresh_seconds(resident + APR_USEC_PER_SEC - 1); /* begun seconds count */

    if (request->authorized && !(terms->flags & FRESH_T_PUBLIC))
        return FRESH_FETCH; /* section 3.5 is about storing, but an answer stored for all may not be
                             * this user's */
    if (!policy->ignore_request && (request->cc.has & FRESH_CC_NO_STORE))
        return FRESH_FETCH;
    if ((terms->flags & FRESH_T_NO_CACHE) ||
        fresh_request_objects(terms, request, policy, left, age))
        return FRESH_VALIDATE;
    return left > 0 ? FRESH_SERVE : fresh_use_stale(terms, request, policy, -left);
}

fresh_use fresh_use_now(const fresh_terms *terms, const fresh_request *request,
                        const fresh_policy *policy, apr_time_t now)
{
    const int only = (request->cc.has & FRESH_CC_ONLY_IF_CACHED) != 0;
    fresh_use use = FRESH_FETCH;

    BRG_ASSERT(request->method < FRESH_SAFE);
    if (terms)
        use = fresh_use_plainly(terms, request, policy, now);
    return only && (use == FRESH_VALIDATE || use == FRESH_FETCH) ? FRESH_REFUSE : use;
}

int fresh_use_on_error(const fresh_terms *terms, const fresh_request *request,
                       const fresh_policy *policy, int code, apr_time_t now)
{
    const apr_time_t left = fresh_left_exactly(terms, now);
    uint32_t span = terms->sie;

    if (code && code != 500 && code != 502 && code != 503 && code != 504)
        return 0;
    if (terms->flags & (FRESH_T_MUST_REVALIDATE | FRESH_T_NO_CACHE))
        return 0;
    if (request->authorized && !(terms->flags & FRESH_T_PUBLIC))
        return 0;
    if (!policy->ignore_request && (request->cc.has & (FRESH_CC_NO_CACHE | FRESH_CC_NO_STORE)))
        return 0;
    if ((request->cc.has & FRESH_CC_SIE) && request->cc.sie > span)
        span = request->cc.sie;
    return left > 0 || -left <= apr_time_from_sec(span);
}
