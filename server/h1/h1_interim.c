/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages beside the response proper: interim responses (1xx), the end of a request's output, and
 * the two methods that the protocol itself answers, OPTIONS and TRACE.
 */
#include "h1_response.h"
#include "http_error.h"
#include "core_settings.h"
#include "h1_request.h"
#include "request_parts.h"
#include "http_config.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_core.h"
#include "httpd.h"
#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(http);

static int interim_field(void *bb, const char *name, const char *value)
{
    if (h1_header_is_safe(name, value))
        apr_brigade_putstrs(bb, NULL, NULL, name, ": ", value, "\r\n", NULL);
    return 1;
}

static request_rec *interim_original(request_rec *r)
{
    while (r->main)
        r = r->main;
    while (r->prev)
        r = r->prev;
    return r;
}

AP_DECLARE(void) ap_send_interim_response(request_rec *r, int send_headers)
{
    conn_rec *c = r->connection;
    request_rec *first = interim_original(r);
    apr_bucket_brigade *bb;
    const char *line;

    if (r->proto_num < HTTP_VERSION(1, 1))
        return;
    if (!ap_is_HTTP_INFO(r->status)) {
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      APLOGNO(00575) "Status is %d - not sending interim response", r->status);
        return;
    }
    if (r->status == HTTP_CONTINUE) {
        if (!first->expecting_100)
            return;
        first->expecting_100 = 0;
        r->expecting_100 = 0;
    }
    line = r->status_line && atoi(r->status_line) == r->status
               ? r->status_line
               : ap_get_status_line_ex(r->pool, r->status);
    bb = apr_brigade_create(r->pool, c->bucket_alloc);
    apr_brigade_putstrs(bb, NULL, NULL, AP_SERVER_PROTOCOL " ", line, "\r\n", NULL);
    if (send_headers) {
        apr_table_do(interim_field, bb, r->headers_out, NULL);
        apr_table_clear(r->headers_out);
    }
    apr_brigade_puts(bb, NULL, NULL, "\r\n");
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(c->bucket_alloc));
    ap_pass_brigade(c->output_filters, bb);
    apr_brigade_destroy(bb);
}

/* ---- the end of the output ---- */

AP_DECLARE(void) ap_finalize_request_protocol(request_rec *r)
{
    apr_bucket_brigade *bb;

    /* A request that was redirected has eos_sent from the one that took over, unless that one
     * failed and r itself answers for it. */
    if (!r->eos_sent) {
        bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(r->connection->bucket_alloc));
        ap_pass_brigade(r->output_filters, bb);
        apr_brigade_destroy(bb);
    }
    /* What is left of the request's body stands before the next request. */
    if (!r->main && r->connection->keepalive == AP_CONN_KEEPALIVE &&
        ap_discard_request_body(r) != OK)
        r->connection->keepalive = AP_CONN_CLOSE;
}

/* The body belongs to the main request: a sub-request must not meet its length and kind. */
static apr_table_t *subrequest_headers(apr_pool_t *p, const request_rec *r)
{
    static const char *const about_body[] = {
        "Content-Encoding", "Content-Language", "Content-Length", "Content-Location",
        "Content-MD5",      "Content-Range",    "Content-Type",   "Expires",
        "Last-Modified",    "Transfer-Encoding"};
    apr_table_t *headers;

    if (!ap_request_has_body((request_rec *)r))
        return r->headers_in;
    headers = apr_table_copy(p, r->headers_in);
    for (size_t i = 0; i < sizeof(about_body) / sizeof(about_body[0]); i++)
        apr_table_unset(headers, about_body[i]);
    return headers;
}

AP_DECLARE(void) ap_set_sub_req_protocol(request_rec *rnew, const request_rec *r)
{
    rnew->the_request = r->the_request; /* what the client sent */
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
    apr_bucket_brigade *bb;

    if (sub_r->eos_sent)
        return;
    bb = apr_brigade_create(sub_r->pool, sub_r->connection->bucket_alloc);
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(sub_r->connection->bucket_alloc));
    ap_pass_brigade(sub_r->output_filters, bb);
    apr_brigade_destroy(bb);
}

/* ---- OPTIONS and TRACE ---- */

AP_DECLARE(int) ap_send_http_options(request_rec *r)
{
    if (r->assbackwards)
        return DECLINED;
    apr_table_setn(r->headers_out, "Allow", http_make_allow(r));
    return OK;
}

static int trace_field(void *bb, const char *name, const char *value)
{
    apr_brigade_putstrs(bb, NULL, NULL, name, ": ", value, "\r\n", NULL);
    return 1;
}

/* TraceEnable extended: the body is part of the echo, up to a size that a test would send. */
#define TRACE_BODY_MAX 65536

static int trace_body(request_rec *r, apr_bucket_brigade *bb)
{
    char buf[4096];
    long n, total = 0;

    if (!ap_should_client_block(r))
        return OK;
    while ((n = ap_get_client_block(r, buf, sizeof(buf))) > 0) {
        if ((total += n) > TRACE_BODY_MAX) {
            apr_table_setn(r->notes, "error-notes",
                           "Extended TRACE request bodies cannot exceed 64k\n");
            return HTTP_REQUEST_ENTITY_TOO_LARGE;
        }
        apr_brigade_write(bb, NULL, NULL, buf, (apr_size_t)n);
    }
    return n < 0 ? HTTP_BAD_REQUEST : OK;
}

static int trace_allowed(request_rec *r, int *read_policy)
{
    const core_server_config *conf = core_server_conf_of(r->server);

    if (conf->trace_enable == AP_TRACE_EXTENDED) {
        *read_policy = REQUEST_CHUNKED_DECHUNK;
        return 1;
    }
    *read_policy = REQUEST_NO_BODY;
    return conf->trace_enable == AP_TRACE_ENABLE;
}

AP_DECLARE_NONSTD(int) ap_send_http_trace(request_rec *r)
{
    request_rec *first = interim_original(r);
    apr_bucket_brigade *bb;
    int rv, policy;

    if (!trace_allowed(r, &policy)) {
        apr_table_setn(r->notes, "error-notes", "TRACE denied by server configuration");
        return HTTP_METHOD_NOT_ALLOWED;
    }
    if ((rv = ap_setup_client_block(r, policy)) != OK)
        return rv;
    ap_set_content_type_ex(r, "message/http", 1);
    bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_brigade_putstrs(bb, NULL, NULL, first->the_request, "\r\n", NULL);
    apr_table_do(trace_field, bb, first->headers_in, NULL);
    apr_brigade_puts(bb, NULL, NULL, "\r\n");
    if (policy != REQUEST_NO_BODY && (rv = trace_body(r, bb)) != OK)
        return rv;
    ap_pass_brigade(r->output_filters, bb);
    return DONE;
}
