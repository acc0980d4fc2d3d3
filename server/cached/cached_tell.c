/* SPDX-License-Identifier: Apache-2.0 */
/* The work of the cache, for logs and for clients: variables of the environment, X-Cache, X-Cache-Detail, Cache-Status. */
#include "cached_private.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "mod_cache.h"
#include "apr_strings.h"

#define TELL_HIT AP_CACHE_HIT_ENV, "HIT"
#define TELL_MISS AP_CACHE_MISS_ENV, "MISS"

static const struct {
    const char *variable, *word;
} tell_words[CACHED_OUTCOMES] = {[CACHED_PASSED] = {TELL_MISS},
                                 [CACHED_STORED] = {TELL_MISS},
                                 [CACHED_FROM_STORE] = {TELL_HIT},
                                 [CACHED_STALE] = {TELL_HIT},
                                 [CACHED_COLLAPSED] = {TELL_HIT},
                                 [CACHED_REVALIDATED] = {AP_CACHE_REVALIDATE_ENV, "REVALIDATE"},
                                 [CACHED_INVALIDATED] = {AP_CACHE_INVALIDATE_ENV, "INVALIDATE"}};

/* A member for Cache-Status, behind those of caches that are nearer to the origin: RFC 9211, 2. */
static void tell_standard(const cached_request *q, const char *reason, int code)
{
    request_rec *r = q->r;
    const int asked = q->outcome == CACHED_PASSED || q->outcome == CACHED_STORED ||
                      q->outcome == CACHED_COLLAPSED || code;
    const char *before = apr_table_get(r->headers_out, "Cache-Status");
    fresh_text text = {.room = strlen(r->server->server_hostname) * 2 + strlen(reason) * 2 + 256};
    const fresh_status status = {.name = r->server->server_hostname,
                                 .fwd = asked ? q->ask.forward : FRESH_FWD_NONE,
                                 .fwd_status = (uint16_t)code,
                                 .has_ttl = q->outcome != CACHED_PASSED,
                                 .ttl = fresh_left(&q->found.terms, brg_now()),
                                 .stored = q->outcome == CACHED_STORED,
                                 .collapsed = q->outcome == CACHED_COLLAPSED,
                                 .detail = q->outcome == CACHED_PASSED ? reason : NULL};

    text.at = apr_palloc(r->pool, text.room + 1);
    fresh_status_text(&text, &status);
    if (text.over)
        return;
    text.at[text.len] = '\0';
    apr_table_setn(r->headers_out, "Cache-Status",
                   before ? apr_pstrcat(r->pool, before, ", ", text.at, NULL) : text.at);
}

/* In Squid's words, for logs: cases that the variables of mod_cache do not tell apart. NULL: they do */
static const char *tell_kind(const cached_request *q, int code)
{
    if (q->outcome == CACHED_STALE)
        return code ? "TCP_REF_FAIL_HIT" : "TCP_STALE_HIT";
    if (q->outcome != CACHED_PASSED && q->outcome != CACHED_STORED)
        return NULL;
    return q->ask.forward == FRESH_FWD_STALE     ? "TCP_REFRESH_MISS"
           : q->ask.forward == FRESH_FWD_REQUEST ? "TCP_CLIENT_REFRESH_MISS"
                                                 : NULL;
}

/* q->r is the last request of internal redirects, which is sent and logged. */
void cached_tell(cached_request *q, cached_outcome outcome, const char *reason, int code)
{
    request_rec *r = q->r;
    const cached_section *section = cached_section_of(q->first);
    const char *kind;

    BRG_ASSERT(outcome < CACHED_OUTCOMES && reason);
    q->outcome = (uint8_t)outcome;
    kind = tell_kind(q, code);
    if (kind)
        apr_table_setn(r->subprocess_env, "cache-kind", kind);
    apr_table_setn(r->subprocess_env, tell_words[outcome].variable, reason);
    apr_table_setn(r->subprocess_env, AP_CACHE_STATUS_ENV, reason);
    if (outcome == CACHED_INVALIDATED)
        return; /* the fields of an answer that is not stored are the backend's */
    if (section->tell == CACHED_ON)
        apr_table_setn(r->headers_out, "X-Cache",
                       apr_psprintf(r->pool, "%s from %s", tell_words[outcome].word,
                                    r->server->server_hostname));
    if (section->detail == CACHED_ON)
        apr_table_setn(r->headers_out, "X-Cache-Detail",
                       apr_psprintf(r->pool, "\"%s\" from %s", reason, r->server->server_hostname));
    if (section->standard == CACHED_ON)
        tell_standard(q, reason, code);
}

const char *cached_why(const cached_request *q, fresh_why why, int code)
{
    switch (why) {
    case FRESH_WHY_STATUS:
        return code == HTTP_NOT_MODIFIED ? "HTTP Status 304 Not Modified"
                                         : apr_psprintf(q->r->pool, "Response status %d", code);
    case FRESH_WHY_NO_STORE:
    case FRESH_WHY_REQUEST_NO_STORE:
        return "Cache-Control: no-store present";
    case FRESH_WHY_PRIVATE:
        return "Cache-Control: private present";
    case FRESH_WHY_AUTHORIZATION:
        return "Authorization required";
    case FRESH_WHY_VARY_STAR:
        return "Vary header contains '*'";
    case FRESH_WHY_QUERY:
        return "Query string present but no explicit expiration time";
    case FRESH_WHY_EXPIRED:
        return "Expires header already expired; not cacheable";
    case FRESH_WHY_NO_FRESHNESS:
        if (code != HTTP_OK && code != HTTP_NON_AUTHORITATIVE && code != HTTP_MULTIPLE_CHOICES &&
            code != HTTP_MOVED_PERMANENTLY && code != HTTP_GONE)
            return apr_psprintf(q->r->pool, "Response status %d", code);
        return "No Last-Modified; Etag; Expires; Cache-Control:max-age or Cache-Control:s-maxage "
               "headers";
    default:
        return fresh_why_text(why);
    }
}
