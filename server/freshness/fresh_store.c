/* SPDX-License-Identifier: Apache-2.0 */
/* May a response be stored, and which of its fields (sections 3, 3.1 and 3.5). */
#include "freshness.h"
#include "brigade/assert.h"
#include "fresh_range.h"
#include "http_field_traits.h"
#include "http_fields.h"

#include <string.h>
#include <strings.h>

int fresh_status_is_understood(int code)
{
    static const short understood[] = {200, 203, 204, 206, 300, 301, 302, 303, 304, 307,
                                       308, 404, 405, 410, 414, 421, 451, 400, 401, 403,
                                       406, 409, 411, 412, 413, 415, 416, 417, 422, 425,
                                       429, 431, 500, 501, 502, 503, 504, 505};

    for (size_t i = 0; i < sizeof understood / sizeof *understood; i++)
        if (understood[i] == code)
            return 1;
    return 0;
}

/* Not 405 and 501, though the standard names them: a client may bring these about, by a field that names another method. */
int fresh_status_is_heuristic(int code)
{
    switch (code) {
    case 200:
    case 203:
    case 204:
    case 206:
    case 300:
    case 301:
    case 308:
    case 404:
    case 410:
    case 414:
        return 1;
    default:
        return 0;
    }
}

static int fresh_is_explicit(const fresh_response *response)
{
    return (response->cc.has & (FRESH_CC_MAX_AGE | FRESH_CC_S_MAXAGE)) ||
           (response->has_expires && !response->targeted);
}

/* May it be stored by its status and its Content-Range? */
static fresh_why fresh_status_allows(const fresh_request *request, const fresh_response *response)
{
    const http_field *range = FRESH_FIND(&response->head, "content-range");
    const int code = response->head.code;
    fresh_range part;
    uint64_t total;

    if (code < 200 || code == 304 || code > 599)
        return FRESH_WHY_STATUS;
    if ((response->cc.has & FRESH_CC_MUST_UNDERSTAND) && !fresh_status_is_understood(code))
        return FRESH_WHY_UNKNOWN_STATUS;
    if (code == 206 && (!range || !request->range ||
                        fresh_content_range(range->value, range->value_len, &part, &total)))
        return FRESH_WHY_RANGE;
    return FRESH_STORE;
}

/* no-store does not count beside must-understand where the status is understood: section 5.2.2.3. */
static fresh_why fresh_cc_allows(const fresh_request *request, const fresh_response *response,
                                 const fresh_policy *policy)
{
    const uint32_t has = response->cc.has;

    if ((request->cc.has & FRESH_CC_NO_STORE) && !policy->store_no_store)
        return FRESH_WHY_REQUEST_NO_STORE;
    if ((has & FRESH_CC_NO_STORE) && !(has & FRESH_CC_MUST_UNDERSTAND) && !policy->store_no_store)
        return FRESH_WHY_NO_STORE;
    if ((has & FRESH_CC_PRIVATE) && !policy->store_private)
        return FRESH_WHY_PRIVATE;
    if (request->authorized &&
        !(has & (FRESH_CC_PUBLIC | FRESH_CC_MUST_REVALIDATE | FRESH_CC_S_MAXAGE)))
        return FRESH_WHY_AUTHORIZATION;
    /* Whoever sets a cookie for one client and says "public" knows that the rest is for all. */
    if (response->has_cookie && !(has & FRESH_CC_PUBLIC) &&
        !((policy->store_cookies || policy->keep_cookies) && fresh_is_explicit(response)))
        return FRESH_WHY_COOKIE;
    return response->vary_star ? FRESH_WHY_VARY_STAR : FRESH_STORE;
}

static fresh_why fresh_time_allows(const fresh_request *request, const fresh_response *response,
                                   const fresh_policy *policy)
{
    const int validator = response->has_tag || response->modified,
              explicitly = fresh_is_explicit(response);
    fresh_terms terms;

    if (!explicitly && !(response->cc.has & (FRESH_CC_NO_CACHE | FRESH_CC_PUBLIC))) {
        if (!fresh_status_is_heuristic(response->head.code))
            return FRESH_WHY_NO_FRESHNESS;
        if (!validator && !(policy->ignore_no_last_mod && policy->default_expire))
            return FRESH_WHY_NO_FRESHNESS;
    }
    if (!explicitly && request->has_query && policy->queries_need_expiry)
        return FRESH_WHY_QUERY;
    if (validator || policy->store_expired)
        return FRESH_STORE;
    fresh_terms_make(&terms, response, policy, apr_time_from_sec(1), apr_time_from_sec(1));
    if ((response->cc.has & FRESH_CC_NO_CACHE) || (!terms.lifetime && !terms.swr && !terms.sie))
        return FRESH_WHY_EXPIRED;
    return FRESH_STORE;
}

fresh_why fresh_may_store(const fresh_request *request, const fresh_response *response,
                          const fresh_policy *policy)
{
    fresh_why why;

    BRG_ASSERT(response->head.code && !request->head.code);
    /* A response to HEAD freshens the stored one, and is never stored by itself. */
    if (request->method != FRESH_GET && request->method != FRESH_QUERY)
        return FRESH_WHY_METHOD;
    why = fresh_status_allows(request, response);
    if (!why)
        why = fresh_cc_allows(request, response, policy);
    return why ? why : fresh_time_allows(request, response, policy);
}

/* An origin whose clock was ahead, and is set right, is not held to its Date: that is at most when the response came. */
int fresh_is_older(const fresh_response *response, const fresh_head *stored,
                   const fresh_terms *terms, apr_time_t now)
{
    const http_field *f = FRESH_FIND(stored, "date");
    apr_time_t date = f ? fresh_date(f->value, f->value_len, 0) : 0;

    if (!date || !response->date || (terms->flags & FRESH_T_NO_CACHE) ||
        fresh_left(terms, now) <= 0)
        return 0;
    if (date > terms->stored)
        date = apr_time_from_sec(apr_time_sec(terms->stored));
    return response->date < date;
}

const char *fresh_why_text(fresh_why why)
{
    static const char *const text[FRESH_WHYS] = {
        [FRESH_STORE] = "it may be stored",
        [FRESH_WHY_METHOD] = "responses to this method are not stored",
        [FRESH_WHY_STATUS] = "its status cannot be stored",
        [FRESH_WHY_UNKNOWN_STATUS] = "must-understand, and its status is not known",
        [FRESH_WHY_REQUEST_NO_STORE] = "the request says no-store",
        [FRESH_WHY_NO_STORE] = "the response says no-store",
        [FRESH_WHY_PRIVATE] = "the response says private",
        [FRESH_WHY_AUTHORIZATION] =
            "the request has Authorization and the response does not say public",
        [FRESH_WHY_COOKIE] = "the response sets a cookie",
        [FRESH_WHY_VARY_STAR] = "Vary is *, or names too many fields",
        [FRESH_WHY_NO_FRESHNESS] = "nothing says how long it is fresh",
        [FRESH_WHY_EXPIRED] = "it is stale already and has no validator",
        [FRESH_WHY_QUERY] = "the URL has a query and the response says no time",
        [FRESH_WHY_RANGE] = "its Content-Range is missing or wrong",
    };

    return why < FRESH_WHYS ? text[why] : "unknown";
}

/* 1 if a list of names, of a field or of a quoted argument, has this name. */
static int fresh_list_has(const char *list, size_t len, const char *name, size_t name_len)
{
    const char *p = list, *item;
    size_t n;

    while (http_list_next(&p, list + len, &item, &n))
        if (n == name_len && !strncasecmp(item, name, n))
            return 1;
    return 0;
}

/* Named by Connection, or as an argument of no-cache or private. */
static int fresh_is_named(const fresh_head *head, const http_field *field)
{
    for (uint32_t i = 0; i < head->n; i++) {
        const http_field *f = head->field + i;
        const char *p = f->value, *end = p + f->value_len, *name, *arg;
        size_t name_len, arg_len;
        int quoted;

        if (FRESH_FIND(&((fresh_head){.field = f, .n = 1}), "connection") &&
            fresh_list_has(f->value, f->value_len, field->name, field->name_len))
            return 1;
        if (!FRESH_FIND(&((fresh_head){.field = f, .n = 1}), "cache-control"))
            continue;
        while (fresh_cc_next(&p, end, &name, &name_len, &arg, &arg_len, &quoted))
            if (arg &&
                (fresh_name_is(name, name_len, "no-cache", 8) ||
                 fresh_name_is(name, name_len, "private", 7)) &&
                fresh_list_has(arg, arg_len, field->name, field->name_len))
                return 1;
    }
    return 0;
}

static int fresh_is_ignored(const http_field *f, const fresh_policy *policy)
{
    for (uint32_t i = 0; i < policy->ignored_fields.n; i++)
        if (f->name_len == strlen(policy->ignored_fields.name[i]) &&
            !strncasecmp(f->name, policy->ignored_fields.name[i], f->name_len))
            return 1;
    return 0;
}

uint32_t fresh_stored_fields(http_field *out, const fresh_response *response,
                             const fresh_policy *policy)
{
    const fresh_head *head = &response->head;
    const int cookies = !response->has_cookie || policy->keep_cookies;
    const int named = (response->cc.has & (FRESH_CC_NO_CACHE_FIELDS | FRESH_CC_PRIVATE_FIELDS)) ||
                      response->targeted || FRESH_FIND(head, "connection");
    uint32_t n = 0;

    for (uint32_t i = 0; i < head->n; i++) {
        const http_field *f = head->field + i;

        if (http_field_traits_of(f->name, f->name_len, HTTP_FIELD_NOT_STORED) ||
            fresh_is_ignored(f, policy) || (named && fresh_is_named(head, f)))
            continue;
        if (!cookies && (fresh_name_is(f->name, f->name_len, "set-cookie", 10) ||
                         fresh_name_is(f->name, f->name_len, "set-cookie2", 11)))
            continue;
        out[n++] = *f;
    }
    BRG_ASSERT(n <= head->n);
    return n;
}
