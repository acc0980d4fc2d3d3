/* SPDX-License-Identifier: Apache-2.0 */
/* A stored response on its way to a client. */
#include "cached_composed_private.h"
#include "cached_litespeed_private.h"
#include "cached_part_private.h"
#include "cached_save_private.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_date.h"
#include "apr_strings.h"
#include <strings.h>

APLOG_USE_MODULE(cache);

/* Fields of the request's own that the stored ones replace go first, since some of these come more than once. */
static void serve_fields(request_rec *r, const fresh_head *head)
{
    for (uint32_t i = 0; i < head->n && !apr_is_empty_table(r->headers_out); i++)
        apr_table_unset(r->headers_out, head->field[i].name);
    for (uint32_t i = 0; i < head->n && !apr_is_empty_table(r->err_headers_out); i++)
        apr_table_unset(r->err_headers_out, head->field[i].name); /* scripts' are there */
    for (uint32_t i = 0; i < head->n; i++)
        apr_table_addn(r->headers_out, head->field[i].name, head->field[i].value);
}

/* The date for If-Modified-Since, where nothing says when it was modified: RFC 9111, 4.3.2. */
static apr_time_t serve_date(const cached_request *q)
{
    const char *date = apr_table_get(q->r->headers_out, "Date");
    const apr_time_t t = date ? apr_date_parse_http(date) : APR_DATE_BAD;

    return t == APR_DATE_BAD ? q->found.terms.stored : t;
}

/* Fields that request_rec has members for. */
static void serve_known(cached_request *q)
{
    request_rec *r = q->r;
    const char *type = apr_table_get(r->headers_out, "Content-Type"),
               *coding = apr_table_get(r->headers_out, "Content-Encoding"),
               *modified = apr_table_get(r->headers_out, "Last-Modified");

    if (type)
        ap_set_content_type(r, type);
    apr_table_unset(r->headers_out, "Content-Type");
    r->content_encoding = coding;
    if (modified) {
        const apr_time_t t = apr_date_parse_http(modified);

        r->mtime = 0;
        if (t != APR_DATE_BAD)
            ap_update_mtime(r, t);
    }
}

/* Without Last-Modified the client's date is compared with Date, as if that were it; the client does not see this. */
static int serve_conditions(cached_request *q)
{
    request_rec *r = q->r;
    const int dated =
        q->request.if_modified_since && !apr_table_get(r->headers_out, "Last-Modified");
    char *date = dated ? apr_palloc(r->pool, APR_RFC822_DATE_LEN) : NULL;
    int status;

    if (dated && apr_rfc822_date(date, serve_date(q)) == APR_SUCCESS)
        apr_table_setn(r->headers_out, "Last-Modified", date);
    status = ap_meets_conditions(r);
    if (dated)
        apr_table_unset(r->headers_out, "Last-Modified");
    return status;
}

void cached_head_apply(cached_request *q, int age)
{
    request_rec *r = q->r;

    BRG_ASSERT(q->found.stored.head.code >= 200);
    r->status = q->found.stored.head.code;
    r->status_line = q->found.stored.line;
    serve_fields(r, &q->found.stored.head);
    serve_known(q);
    if (age)
        apr_table_setn(r->headers_out, "Age",
                       apr_ltoa(r->pool, (long)fresh_age(&q->found.terms, brg_now())));
}

ap_filter_t *cached_filters_behind(request_rec *r)
{
    const cached_request *q = cached_of(r);

    if (q && q->ls && cached_ls_has_blocks(q))
        return r->output_filters;
    for (ap_filter_t *f = r->output_filters; f; f = f->next)
        if (f->frec == cached_place_filter || f->frec == cached_save_filter ||
            f->frec == cached_part_filter)
            return f->next;
    for (ap_filter_t *f = r->output_filters; f; f = f->next)
        if (f->frec->ftype > AP_FTYPE_CONTENT_SET || f->frec == ap_subreq_core_filter_handle)
            return f;
    return r->output_filters;
}

void cached_head_is_stored(request_rec *r)
{
    if (r->proxyreq == PROXYREQ_NONE)
        r->proxyreq = PROXYREQ_REVERSE;
}

/* The body, or the end alone where a condition of the client says so. */
static apr_bucket_brigade *serve_body(cached_request *q, uint64_t begin, uint64_t length)
{
    request_rec *r = q->r;
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, alloc);

    if (r->status != HTTP_NOT_MODIFIED && !AP_STATUS_IS_HEADER_ONLY(r->status)) {
        ap_set_content_length(r, (apr_off_t)length);
        if (length && !r->header_only)
            APR_BRIGADE_INSERT_TAIL(bb, cached_bucket(&q->found.view, begin, length, alloc));
    }
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    return bb;
}

static cached_outcome serve_outcome(const cached_request *q, int revalidated)
{
    if (revalidated)
        return CACHED_REVALIDATED;
    if (q->follow.flight)
        return CACHED_COLLAPSED;
    return fresh_left(&q->found.terms, brg_now()) <= 0 ? CACHED_STALE : CACHED_FROM_STORE;
}

static int serve_from_store(cached_request *q, ap_filter_t *to, const char *reason, int revalidated)
{
    request_rec *r = q->r;
    uint64_t length, begin = 0;
    int status;

    if (store_view_state(&q->found.view, &length) != STORE_COMPLETE)
        return DECLINED;
    cached_head_apply(q, !revalidated);
    if (q->found.part.serves)
        length = cached_part_apply(q, &begin);
    cached_tell(q, serve_outcome(q, revalidated), reason, revalidated ? HTTP_NOT_MODIFIED : 0);
    if (q->ls)
        cached_ls_say(q, 1);
    if (r->status == HTTP_OK && !(q->ls && cached_ls_has_blocks(q)) &&
        (status = serve_conditions(q)) != OK) {
        r->status_line = NULL;
        if (status != HTTP_NOT_MODIFIED && !revalidated)
            return status;
        r->status = status;
    }
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                  revalidated ? APLOGNO(02971) "cache: serving %s (revalidated)"
                              : APLOGNO(00764) "cache: serving %s",
                  r->uri);
    cached_head_is_stored(r);
    if (!q->found.part.serves)
        cached_offer(q);
    if (r->main)
        cached_composed_serve(q);
    (void)ap_pass_brigade(to, serve_body(q, begin, length));
    return OK;
}

/* Conditions and ranges of a QUERY are answered as those of a GET: RFC 10008. */
int cached_serve(cached_request *q, ap_filter_t *to, const char *reason, int revalidated)
{
    const int method = q->r->method_number;
    int status;

    if (q->request.method == FRESH_QUERY)
        q->r->method_number = M_GET;
    status = serve_from_store(q, to, reason, revalidated);
    q->r->method_number = method;
    return status;
}

apr_status_t cached_send_stale(cached_request *q, ap_filter_t *f, int code)
{
    request_rec *r = q->r;
    uint64_t length;

    BRG_ASSERT(q->found.view.reader);
    if (store_view_state(&q->found.view, &length) != STORE_COMPLETE)
        length = 0;
    apr_table_clear(r->headers_out);
    apr_table_setn(r->headers_out, "Warning", "111 Revalidation failed");
    cached_head_apply(q, 0);
    cached_tell(q, CACHED_STALE,
                apr_psprintf(r->pool, "cache hit: %d status; stale content returned", code), code);
    if (r->status == HTTP_OK && serve_conditions(q) == HTTP_NOT_MODIFIED) {
        r->status = HTTP_NOT_MODIFIED;
        r->status_line = NULL;
    }
    cached_head_is_stored(r);
    return ap_pass_brigade(f->next, serve_body(q, 0, length));
}
