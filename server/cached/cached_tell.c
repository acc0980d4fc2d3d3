/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache did, for logs and for clients: variables of the environment, X-Cache and X-Cache-Detail. */
#include "cached_private.h"
#include "brigade/assert.h"
#include "mod_cache.h"
#include "apr_strings.h"

static const struct {
    const char *variable, *word;
} tell_words[] = {[CACHED_HIT] = {AP_CACHE_HIT_ENV, "HIT"},
                  [CACHED_REVALIDATE] = {AP_CACHE_REVALIDATE_ENV, "REVALIDATE"},
                  [CACHED_MISS] = {AP_CACHE_MISS_ENV, "MISS"},
                  [CACHED_INVALIDATE] = {AP_CACHE_INVALIDATE_ENV, "INVALIDATE"}};

/* Of the last request of internal redirects: that is what is logged, and sent. */
void cached_tell(request_rec *r, cached_status status, const char *reason)
{
    const cached_section *section = cached_section_of(r);

    BRG_ASSERT(status <= CACHED_INVALIDATE && reason);
    apr_table_setn(r->subprocess_env, tell_words[status].variable, reason);
    apr_table_setn(r->subprocess_env, AP_CACHE_STATUS_ENV, reason);
    if (status == CACHED_INVALIDATE)
        return; /* the fields of an answer that is not stored are the backend's */
    if (section->tell == CACHED_ON)
        apr_table_setn(r->headers_out, "X-Cache",
                       apr_psprintf(r->pool, "%s from %s", tell_words[status].word,
                                    r->server->server_hostname));
    if (section->detail == CACHED_ON)
        apr_table_setn(r->headers_out, "X-Cache-Detail",
                       apr_psprintf(r->pool, "\"%s\" from %s", reason, r->server->server_hostname));
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
