/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that change their target end its stored answers: RFC 9111, 4.4. */
#include "cached_named_private.h"
#include "cached_save_private.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(cache);

/* The origin and target of a key's text. */
static int invalidate_target(const cached_request *q, fresh_target *target)
{
    const char *text = apr_pstrmemdup(q->r->pool, q->key.text, q->key.text_len),
               *authority = strstr(text, "://"), *path;

    if (!authority || !(path = strchr(authority + 3, '/')))
        return 0;
    *target =
        (fresh_target){.scheme = apr_pstrmemdup(q->r->pool, text, (apr_size_t)(authority - text)),
                       .authority = authority + 3,
                       .authority_len = (size_t)(path - authority - 3),
                       .path = path,
                       .path_len = strlen(path)};
    return 1;
}

/* The targets of Location and Content-Location, of the same origin. */
static void invalidate_named(cached_request *q, const char *value)
{
    fresh_target target;
    fresh_text key = {0};
    char *room;

    if (!value || !invalidate_target(q, &target))
        return;
    room = apr_palloc(q->r->pool, target.path_len + strlen(value) + 2);
    target.path_len = fresh_invalidated_path(room, target.path_len + strlen(value) + 1, &target,
                                             value, strlen(value));
    if (!target.path_len)
        return;
    target.path = room;
    key.room = q->key.text_len + target.path_len + 64;
    key.at = apr_palloc(q->r->pool, key.room);
    fresh_key(&key, &target, &q->policy);
    if (!key.over)
        cached_purge(key.at, (uint32_t)key.len);
}

static void invalidate_now(cached_request *q)
{
    request_rec *r = q->r;

    BRG_ASSERT(q->key.text_len);
    if (!fresh_invalidates(FRESH_UNSAFE, r->status)) {
        ap_log_rerror(
            APLOG_MARK, APLOG_DEBUG, 0, r,
            APLOGNO(02466) "cache: response status to '%s' method is %d "
                           "(>=HTTP_MULTIPLE_CHOICES), not invalidating cached entity: %s",
            r->method, r->status, r->uri);
        return;
    }
    cached_purge(q->key.text, q->key.text_len);
    invalidate_named(q, apr_table_get(r->headers_out, "Location"));
    invalidate_named(q, apr_table_get(r->headers_out, "Content-Location"));
    cached_groups_end(q, apr_table_get(r->headers_out, "Cache-Group-Invalidation"));
    cached_tell(q, CACHED_INVALIDATED, apr_psprintf(r->pool, "cache invalidated by %s", r->method),
                0);
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                  APLOGNO(02467) "cache: Invalidating all cached entities in response to '%s' "
                                 "request for %s",
                  r->method, r->uri);
}

apr_status_t cached_invalidate(ap_filter_t *f, apr_bucket_brigade *in)
{
    cached_request *q = f->ctx;

    if (q && !q->save.decided) {
        q->save.decided = 1;
        q->r = f->r;
        invalidate_now(q);
    }
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, in);
}
