/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FRESHNESS_FRESHNESS_H
#define BRIGADE_FRESHNESS_FRESHNESS_H

/**
 * @file freshness.h
 * The rules of a shared HTTP cache as functions of heads and a clock: may a response be stored, for how long is it
 * fresh, may it be served now, how is it validated, and which stored responses does a request end.
 *
 * Order of use: fresh_request_read() for each request; for a response fresh_response_read(), fresh_may_store(),
 * fresh_stored_fields() and fresh_terms_make(), of which the terms are kept beside the stored head; fresh_use_now()
 * for each later request; fresh_condition() when that says that the response has to be validated, fresh_merge()
 * for the 304 to it, fresh_use_on_error() if the origin fails.
 *
 * Nothing is copied or owned: results point into the heads. Times are apr_time_t (microseconds), spans are seconds.
 * Threads: any. Blocking: no. Source: RFC 9111, unless a function names another one.
 */
#include "fresh_fields.h"
#include "http_head.h"
#include "apr_time.h"

/** Fields of a head and its first line, of whoever has them: a parser's head, or a stored one. */
typedef struct fresh_head {
    const http_field *field;
    uint32_t n;
    uint16_t code;      /**< of a response; 0: a request */
    const char *method; /**< of a request */
    uint32_t method_len;
} fresh_head;

/** A list of field names from the configuration. */
typedef struct fresh_names {
    const char *const *name; /**< end with NUL, any case */
    uint32_t n;
} fresh_names;

/** The rules of a part of the site. fresh_policy_default() has mod_cache's defaults. */
typedef struct fresh_policy {
    /** fields that come before Cache-Control, the first that is there counts. RFC 9213 */
    fresh_names targeted;
    fresh_names ignored_fields;  /**< CacheIgnoreHeaders: not stored */
    double last_modified_factor; /**< CacheLastModifiedFactor */
    /** CacheDefaultExpire: seconds, for responses that say nothing; 0: these are not stored */
    uint32_t default_expire;
    /** CacheMaxExpire for heuristics, CacheMinExpire: seconds */
    uint32_t max_expire, min_expire;
    uint32_t keep; /**< CacheKeep: seconds that a stale response is kept for validation */
    /** seconds, where the response says nothing of it (CacheStaleOnError); 0: none */
    uint32_t stale_on_error;
    /** CacheIgnoreCacheControl: no-cache, max-age=0 and the like of requests */
    uint8_t ignore_request;
    uint8_t store_expired;  /**< CacheStoreExpired */
    uint8_t store_no_store; /**< CacheStoreNoStore */
    uint8_t store_private;  /**< CacheStorePrivate */
    /** responses with Set-Cookie are stored if they are explicitly fresh, without that field */
    uint8_t store_cookies;
    uint8_t keep_cookies; /**< CacheStoreCookies: the same, with that field */
    uint8_t ignore_query; /**< CacheIgnoreQueryString */
    /** CacheIgnoreNoLastMod: default_expire without a validator, too */
    uint8_t ignore_no_last_mod;
    uint8_t queries_need_expiry; /**< targets with a query: only with explicit freshness */
    /** directives with a wrong form make a response stale; else such a directive is ignored */
    uint8_t strict;
} fresh_policy;

/** mod_cache's defaults, with CDN-Cache-Control as targeted field. */
void fresh_policy_default(fresh_policy *policy);

/** The kinds of methods. */
typedef enum fresh_method {
    FRESH_GET,
    FRESH_HEAD,
    FRESH_QUERY, /**< safe, with a body that counts for the key. RFC 10008 */
    FRESH_SAFE,  /**< OPTIONS, TRACE, PROPFIND, REPORT, SEARCH: neither stored nor invalidating */
    FRESH_UNSAFE /**< all others, unknown ones included: section 4.4 */
} fresh_method;

fresh_method fresh_method_of(const char *name, size_t len);

/** A request, as far as a cache looks at it. */
typedef struct fresh_request {
    fresh_head head;
    fresh_cc cc;        /**< of Cache-Control, or Pragma where that is absent (section 5.4) */
    uint8_t method;     /**< fresh_method */
    uint8_t authorized; /**< has Authorization: section 3.5 */
    uint8_t has_query;  /**< set by the caller: the target has a query */
    const http_field *range, *if_range, *if_none_match, *if_modified_since, *if_match,
        *if_unmodified_since;
} fresh_request;

void fresh_request_read(fresh_request *request, const fresh_head *head);

/** The stored object answers it as it answers a GET: conditions and ranges mean the same. RFC 10008
 */
static inline int fresh_is_get(const fresh_request *request)
{
    return request->method == FRESH_GET || request->method == FRESH_QUERY;
}

/** A response, as far as a cache looks at it. */
typedef struct fresh_response {
    fresh_head head;
    fresh_cc cc;         /**< of the targeted field if there is one, else of Cache-Control */
    apr_time_t date;     /**< of Date; 0: none, or no date */
    apr_time_t expires;  /**< of Expires; 0: a wrong form, which is the past */
    apr_time_t modified; /**< of Last-Modified; 0: none */
    uint32_t age;        /**< of Age, seconds */
    uint8_t has_expires, targeted, has_cookie, has_vary, vary_star, has_tag, partial;
} fresh_response;

void fresh_response_read(fresh_response *response, const fresh_head *head,
                         const fresh_policy *policy);

/** Why a response is not stored. FRESH_STORE: it may be. fresh_why_text() says it in words. */
typedef enum fresh_why {
    FRESH_STORE,
    FRESH_WHY_METHOD,
    FRESH_WHY_STATUS,         /**< no final status, or 206 or 304 that cannot be used */
    FRESH_WHY_UNKNOWN_STATUS, /**< must-understand with a status that is not understood */
    FRESH_WHY_REQUEST_NO_STORE,
    FRESH_WHY_NO_STORE,
    FRESH_WHY_PRIVATE,
    FRESH_WHY_AUTHORIZATION,
    FRESH_WHY_COOKIE,
    FRESH_WHY_VARY_STAR,
    FRESH_WHY_NO_FRESHNESS, /**< nothing says how long it is fresh, and its status allows no guess */
    FRESH_WHY_EXPIRED,      /**< stale from the start, and without a validator */
    FRESH_WHY_QUERY,
    FRESH_WHY_RANGE, /**< a Content-Range that cannot be understood */
    FRESH_WHYS
} fresh_why;

/** One sentence in lower case without a full stop, constant. */
const char *fresh_why_text(fresh_why why);

/** May the response to this request be stored? Section 3. */
fresh_why fresh_may_store(const fresh_request *request, const fresh_response *response,
                          const fresh_policy *policy);

/** 1 if this status is one whose meaning the server knows: of must-understand, section 5.2.2.3. */
int fresh_status_is_understood(int code);

/** 1 if a response of this status may be stored by a guess. RFC 9110, 15.1 */
int fresh_status_is_heuristic(int code);

#define FRESH_T_NO_CACHE 1 /**< validated before each use */
/** never stale: must-revalidate, proxy-revalidate, s-maxage. Sections 4.2.4, 5.2.2 */
#define FRESH_T_MUST_REVALIDATE 2
#define FRESH_T_IMMUTABLE 4  /**< RFC 8246 */
#define FRESH_T_HEURISTIC 8  /**< the lifetime is a guess */
#define FRESH_T_VALIDATOR 16 /**< has ETag or Last-Modified */
#define FRESH_T_VARY 32
#define FRESH_T_SIE 64      /**< the response said stale-if-error itself */
#define FRESH_T_PARTIAL 128 /**< a 206 */
#define FRESH_T_PUBLIC 256  /**< may answer requests with Authorization: section 3.5 */
/** a page with parts that are stored: it is made anew, not validated */
#define FRESH_T_COMPOSED 512

/** How long a stored response may be used, and how: kept beside its head, by value. */
typedef struct fresh_terms {
    apr_time_t stored; /**< when the response came */
    uint32_t age;      /**< corrected_initial_age: seconds that it was old then. Section 4.2.3 */
    uint32_t lifetime; /**< freshness_lifetime: seconds */
    /** stale-while-revalidate, stale-if-error: seconds after lifetime. RFC 5861 */
    uint32_t swr, sie;
    uint16_t flags;    /**< FRESH_T_* */
    uint16_t code;     /**< its status */
    uint32_t reserved; /**< 0 */
} fresh_terms;

/** 1 if fresh_terms_make() may have made them: they can be reckoned with. For terms that others wrote. */
int fresh_terms_are_sound(const fresh_terms *terms);

/**
 * The terms of a response.
 * @param asked, came  when the request was sent, and the head came. Section 4.2.3
 */
void fresh_terms_make(fresh_terms *terms, const fresh_response *response,
                      const fresh_policy *policy, apr_time_t asked, apr_time_t came);

/** Its age in seconds at @a now: current_age of section 4.2.3, and the value of the Age field. */
uint32_t fresh_age(const fresh_terms *terms, apr_time_t now);

/** Seconds that it stays fresh; negative: for so long it has been stale. */
int64_t fresh_left(const fresh_terms *terms, apr_time_t now);

/**
 * 1 if the response was made before a fresh stored one, by Date: of two usable ones the latest is
 * used. Section 4
 * @param stored, terms  the head that would be replaced, and its terms
 */
int fresh_is_older(const fresh_response *response, const fresh_head *stored,
                   const fresh_terms *terms, apr_time_t now);

/** When it ends to be fresh. */
apr_time_t fresh_until(const fresh_terms *terms);

/** How a stored response may be used for a request. */
typedef enum fresh_use {
    FRESH_SERVE,       /**< fresh */
    FRESH_SERVE_STALE, /**< stale, which the request allows (max-stale) */
    FRESH_SERVE_REFRESH, /**< stale within stale-while-revalidate: serve it, and validate it in the background */
    FRESH_VALIDATE, /**< ask the origin first, with fresh_condition() */
    FRESH_FETCH,    /**< ask the origin anew: the stored response is not for this request */
    FRESH_REFUSE    /**< only-if-cached, and it cannot be used: 504. Section 5.2.1.7 */
} fresh_use;

/** Section 4, request directives of 5.2.1 included. @param terms  NULL: nothing is stored */
fresh_use fresh_use_now(const fresh_terms *terms, const fresh_request *request,
                        const fresh_policy *policy, apr_time_t now);

/**
 * The origin failed: may the stale response be served? RFC 5861, 4; section 4.2.4
 * @param code  of its answer: 500, 502, 503 and 504 count; 0: it did not answer
 */
int fresh_use_on_error(const fresh_terms *terms, const fresh_request *request,
                       const fresh_policy *policy, int code, apr_time_t now);

/** Fields to add to a request that validates; a length of 0: without that field. Section 4.3.1 */
typedef struct fresh_validators {
    const char *tag, *modified;
    uint32_t tag_len, modified_len;
} fresh_validators;

/** @return 0: the stored response has no validator, so it is fetched anew */
int fresh_condition(fresh_validators *validators, const fresh_head *stored);

/** 1 if this 304 is about the stored response. Section 4.3.4 */
int fresh_304_selects(const fresh_head *stored, const fresh_head *answer);

/**
 * The head of a stored response after a 304 (or a HEAD) freshened it. Section 3.2
 * @param out  room for stored->n + answer->n fields
 * @return how many were written
 */
uint32_t fresh_merge(http_field *out, const fresh_head *stored, const fresh_head *answer,
                     const fresh_policy *policy);

/**
 * Fields to store: without those of the connection, those that Connection, no-cache="" and
 * private="" name, Age, and those of the configuration. Section 3.1
 * @param out  room for response->head.n fields
 */
uint32_t fresh_stored_fields(http_field *out, const fresh_response *response,
                             const fresh_policy *policy);

/** The first field of this name, in lower case; NULL: no such field. */
const http_field *fresh_find(const fresh_head *head, const char *name, size_t len);
#define FRESH_FIND(head, literal) fresh_find(head, literal, sizeof(literal) - 1)

#endif
