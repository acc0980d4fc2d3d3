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
 * The request whose error is reported: an error document that fails itself is not tried again, and
 * the client is told of what happened first.
 */
static request_rec *die_first_failure(request_rec *r)
{
    request_rec *first = r;

    while (first->prev && first->prev->status != HTTP_OK)
        first = first->prev;
    if (first != r) {
        /* The chains were handed on by the redirect; the answer is sent on behalf of the first. */
        redirect_filters(first->proto_output_filters, r, first);
        redirect_filters(first->input_filters, r, first);
    }
    return first;
}

static void die_redirect(request_rec *r, const char *uri)
{
    const char *notes = apr_table_get(r->notes, "error-notes");

    r->no_local_copy = 1; /* never "not modified" */
    apr_table_setn(r->subprocess_env, "REQUEST_METHOD", r->method);
    if (notes)
        apr_table_setn(r->subprocess_env, "ERROR_NOTES", notes);
    r->method = "GET";
    r->method_number = M_GET;
    ap_internal_redirect(uri, r);
}

/* @return 1 if the response was sent by another request; else *recursive is what to send it with */
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

void request_die(int type, request_rec *r, int recursive)
{
    const char *custom = NULL;
    request_rec *first = r;

    if (type == OK || type == DONE) {
        ap_finalize_request_protocol(r);
        return;
    }
    if (!ap_is_HTTP_VALID_RESPONSE(type)) {
        if (!request_head_is_unsent(r))
            return; /* some of an answer went out; there can be no other */
        if (type != AP_FILTER_ERROR) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01579) "Invalid response status %d",
                          type);
        }
        type = HTTP_INTERNAL_SERVER_ERROR;
    }
    if (recursive != HTTP_OK) {
        first = die_first_failure(r);
    } else {
        custom = ap_response_code_string(r, ap_index_of_response(type));
        recursive = 0;
    }
    /* A filter may find the error while the handler runs on a loop. What a document of this server runs may wait, so a
     * worker answers: with this status, since the handler's work can not be done twice. */
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
