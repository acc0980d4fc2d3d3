/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a request that a handler did not answer itself: the error response, by ErrorDocument
 * where one is configured, and the built-in text otherwise.
 */
#include "memory_refusal.h"
#include "request_context.h"
#include "redirect_private.h"
#include "brigade/response_cache.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_core.h"
#include "util_filter.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(http);

/* While the filter that writes the head is on the chain, nothing was sent. */
int request_head_is_unsent(const request_rec *r)
{
    const ap_filter_t *f = r->output_filters;

    while (f && f->frec != ap_http_header_filter_handle)
        f = f->next;
    return f != NULL;
}

/*
 * The request whose error is reported: if an error document fails itself, the response is about the first
 * error.
 */
static request_rec *die_first_failure(request_rec *r)
{
    request_rec *first = r;

    while (first->prev && first->prev->status != HTTP_OK)
        first = first->prev;
    BRG_ASSERT(first->connection == r->connection);
    if (first != r) {
        /* The redirect gave the filters to the last request; the response is sent for the first. */
        redirect_filters(first->proto_output_filters, r, first);
        redirect_filters(first->input_filters, r, first);
    }
    return first;
}

static void die_redirect(request_rec *r, const char *uri)
{
    const char *notes = apr_table_get(r->notes, "error-notes");

    BRG_ASSERT(uri[0] == '/');
    r->no_local_copy = 1; /* never "not modified" */
    apr_table_setn(r->subprocess_env, "REQUEST_METHOD", r->method);
    if (notes)
        apr_table_setn(r->subprocess_env, "ERROR_NOTES", notes);
    r->method = "GET";
    r->method_number = M_GET;
    ap_internal_redirect(uri, r);
}

/* ErrorDocument. @return 1 if another request sent the response; else *recursive is for
 * ap_send_error_response() */
static int die_custom(request_rec *r, const char *custom, int *recursive)
{
    if (!custom || custom[0] == '"')
        return 0; /* text: ap_send_error_response knows it */
    if (ap_is_url(custom)) {
        r->status = HTTP_MOVED_TEMPORARILY;
        apr_table_setn(r->headers_out, "Location", custom);
        return 0;
    }
    if (custom[0] == '/') {
        die_redirect(r, custom);
        return 1;
    }
    *recursive = HTTP_INTERNAL_SERVER_ERROR;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  APLOGNO(01580) "Invalid error redirection directive: %s", custom);
    return 0;
}

/* Whether a head went out, for the request or for another of its chain of redirects, and its body
 * has not ended. */
static int die_is_under_way(const request_rec *r)
{
    while (r->next)
        r = r->next;
    if (r->eos_sent)
        return 0;
    for (; r; r = r->prev)
        if (r->sent_bodyct)
            return 1;
    return 0;
}

/* The head was sent, so there can be no other response, and this one must not look complete: it ends without a last
 * chunk or short of its length, and the connection ends. Content filters are left out, as for an error page. */
static void die_cut_off(request_rec *r, int type)
{
    conn_rec *c = r->connection;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, c->bucket_alloc);
    const int status = ap_is_HTTP_VALID_RESPONSE(type) ? type : HTTP_INTERNAL_SERVER_ERROR;

    while (r->next)
        r = r->next;
    BRG_ASSERT(!r->eos_sent);
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  "an error (%d) ends the response, whose head was sent: it is cut off", status);
    if (ap_is_HTTP_VALID_RESPONSE(type))
        r->status = type;
    c->keepalive = AP_CONN_CLOSE;
    APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_error_create(status, NULL, r->pool, c->bucket_alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(c->bucket_alloc));
    ap_pass_brigade(r->proto_output_filters, bb);
    apr_brigade_cleanup(bb);
}

void request_die(int type, request_rec *r, int recursive)
{
    const char *custom = NULL;
    request_rec *first = r;

    if (type == OK || type == DONE) {
        ap_finalize_request_protocol(r);
        return;
    }
    if (die_is_under_way(r)) {
        die_cut_off(r, type);
        return;
    }
    if (!ap_is_HTTP_VALID_RESPONSE(type)) {
        if (!request_head_is_unsent(r))
            return; /* the response is complete; there can be no other */
        if (type != AP_FILTER_ERROR) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01579) "Invalid response status %d",
                          type);
        }
        type = HTTP_INTERNAL_SERVER_ERROR;
    }
    BRG_ASSERT(ap_is_HTTP_VALID_RESPONSE(type));
    if (recursive != HTTP_OK) {
        first = die_first_failure(r);
    } else {
        custom = ap_response_code_string(r, ap_index_of_response(type));
        recursive = 0;
    }
    /* A filter may report the error while the handler runs on a loop. An error document of this server may wait, so a
     * worker sends it, with this status: the handler is not called again. */
    if (custom && custom[0] == '/' && brg_request_rerun_on_worker(r)) {
        request_rerun_fails(r, type);
        return;
    }
    r->status = type;
    if (type == HTTP_UNAUTHORIZED && r->proxyreq == PROXYREQ_PROXY)
        r->status = HTTP_PROXY_AUTHENTICATION_REQUIRED;
    if (ap_status_drops_connection(r->status) && !memory_refusal_keeps(r))
        r->connection->keepalive = AP_CONN_CLOSE;
    if (!die_custom(r, custom, &recursive))
        ap_send_error_response(first, recursive);
}

AP_DECLARE(void) ap_die(int type, request_rec *r)
{
    request_die(type, r, r->status);
}
