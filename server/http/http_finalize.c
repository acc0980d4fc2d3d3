/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a request's output, its sub-requests' included, and the effect of an error bucket or
 * an early end on the connection.
 */
#include "http_field_traits.h"
#include "http_response.h"
#include "http_connection.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_core.h"
#include "request_context.h"
#include "util_filter.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(http);

/* A handler may say that all went well although the body could not be read, or was too large to be begun: mod_wsgi and
 * mod_lua do. The client must not take its body for stored. */
static int finalize_status(request_rec *r)
{
    const int status = request_body_status(r);

    if (r->main || r->sent_bodyct || ap_status_drops_connection(r->status))
        return OK;
    return status != OK || r->connection->keepalive == AP_CONN_CLOSE ? status
                                                                     : http_body_announced(r);
}

static void finalize_end(request_rec *r, int status)
{
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, alloc);

    if (status != OK)
        APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_error_create(status, NULL, r->pool, alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    ap_pass_brigade(r->output_filters, bb);
    apr_brigade_destroy(bb);
}

AP_DECLARE(void) ap_finalize_request_protocol(request_rec *r)
{
    /* A request that was redirected has eos_sent from its successor, unless that one
     * failed and r itself answers for it. */
    if (!r->eos_sent)
        finalize_end(r, finalize_status(r));
    /* The rest of the request's body stands before the next request. */
    if (!r->main && r->connection->keepalive == AP_CONN_KEEPALIVE &&
        ap_discard_request_body(r) != OK)
        r->connection->keepalive = AP_CONN_CLOSE;
}

/* Fields of its own, since modules change them (RequestHeader). The body belongs to the main request: a sub-request must
 * not meet its length and kind. */
static apr_table_t *subrequest_headers(apr_pool_t *p, const request_rec *r)
{
    const apr_array_header_t *fields = apr_table_elts(r->headers_in);
    const apr_table_entry_t *f = (const apr_table_entry_t *)(const void *)fields->elts;
    apr_table_t *headers;

    BRG_ASSERT(p && r->headers_in);
    if (!ap_request_has_body((request_rec *)r))
        return apr_table_copy(p, r->headers_in);
    headers = apr_table_make(p, fields->nelts);
    for (int i = 0; i < fields->nelts; i++)
        if (!(*f[i].key && http_field_traits_of(f[i].key, strlen(f[i].key), HTTP_FIELD_OF_BODY)))
            apr_table_addn(headers, f[i].key, f[i].val);
    return headers;
}

AP_DECLARE(void) ap_set_sub_req_protocol(request_rec *rnew, const request_rec *r)
{
    rnew->the_request = r->the_request; /* the client's bytes */
    rnew->assbackwards = 1;             /* no head of its own */
    rnew->no_local_copy = 1;            /* no conditions */
    rnew->method = "GET";
    rnew->method_number = M_GET;
    rnew->protocol = (char *)"INCLUDED";
    rnew->status = HTTP_OK;
    rnew->headers_in = subrequest_headers(rnew->pool, r);
    rnew->trailers_in = r->trailers_in;
    rnew->subprocess_env = apr_table_copy(rnew->pool, r->subprocess_env);
    rnew->headers_out = apr_table_make(rnew->pool, 5);
    rnew->trailers_out = apr_table_make(rnew->pool, 5);
    rnew->err_headers_out = apr_table_make(rnew->pool, 5);
    rnew->notes = apr_table_make(rnew->pool, 5);
    rnew->expecting_100 = r->expecting_100;
    rnew->read_length = r->read_length;
    rnew->read_body = REQUEST_NO_BODY;
    rnew->main = (request_rec *)r;
}

AP_DECLARE(void) ap_finalize_sub_req_protocol(request_rec *sub_r)
{
    if (!sub_r->eos_sent)
        finalize_end(sub_r, OK);
}

request_rec *http_original_request(request_rec *r)
{
    while (r->main)
        r = r->main;
    while (r->prev)
        r = r->prev;
    BRG_ASSERT(!r->main && !r->prev);
    return r;
}

/* ---- HTTP_OUTERROR: errors and ends of responses, and the connection ---- */

/* The target of f->ctx when EOS or EOC went by, and when the connection did not take all of the
 * response. request_finish.c asks whether there is anything. */
static char outerror_ended, outerror_failed;

/* Filters of the connection failed: the bytes that they lost are missing in the response. If the peer has
 * gone, c->aborted says so. */
static void outerror_cut(ap_filter_t *f, apr_status_t rv)
{
    if (f->ctx != &outerror_failed && !f->c->aborted)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, f->r,
                      "the response could not be sent whole: connection closed");
    f->ctx = &outerror_failed;
    f->c->keepalive = AP_CONN_CLOSE;
}

apr_status_t ap_http_outerror_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    const int had_ended = f->ctx != NULL;
    int ends = 0;
    apr_bucket *e, *next;
    apr_status_t rv;

    BRG_ASSERT(!f->ctx || f->ctx == &outerror_ended || f->ctx == &outerror_failed);
    for (e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb); e = next) {
        next = APR_BUCKET_NEXT(e);
        if (!APR_BUCKET_IS_METADATA(e)) {
            /* Bytes that a handler still writes after the answer was ended (by an error page) are not of
             * it. */
            if (had_ended)
                apr_bucket_delete(e);
            continue;
        }
        if (AP_BUCKET_IS_ERROR(e)) {
            f->c->keepalive = AP_CONN_CLOSE;
        } else if (AP_BUCKET_IS_EOC(e)) {
            f->c->keepalive = AP_CONN_CLOSE;
            ends = 1;
        } else if (APR_BUCKET_IS_EOS(e)) {
            ends = 1;
        }
    }
    if (ends)
        f->ctx = &outerror_ended;
    rv = ap_pass_brigade(f->next, bb);
    if (rv != APR_SUCCESS)
        outerror_cut(f, rv);
    return rv;
}
