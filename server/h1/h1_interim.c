/* SPDX-License-Identifier: Apache-2.0 */
/* Interim responses (1xx), which go out before the response proper. */
#include "h1_response.h"
#include "http_fields.h"
#include "http_response.h"
#include "http_config.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_core.h"
#include "httpd.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

APLOG_USE_MODULE(http);

static int interim_field(void *bb, const char *name, const char *value)
{
    if (http_field_is_safe(name, value))
        apr_brigade_putstrs(bb, NULL, NULL, name, ": ", value, "\r\n", NULL);
    return 1;
}

static void interim_of_stream(request_rec *r, int send_headers)
{
    conn_rec *c = r->connection;
    apr_bucket *head = h1_stream_interim(r, send_headers);
    apr_bucket_brigade *bb;

    if (send_headers)
        apr_table_clear(r->headers_out);
    if (!head) /* no memory: a client has to do without it */
        return;
    bb = apr_brigade_create(r->pool, c->bucket_alloc);
    APR_BRIGADE_INSERT_TAIL(bb, head);
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(c->bucket_alloc));
    ap_pass_brigade(c->output_filters, bb);
    apr_brigade_destroy(bb);
}

AP_DECLARE(void) ap_send_interim_response(request_rec *r, int send_headers)
{
    conn_rec *c = r->connection;
    request_rec *first = http_original_request(r);
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
    BRG_ASSERT(ap_is_HTTP_INFO(r->status));
    if (h1_stream_is(r)) {
        interim_of_stream(r, send_headers);
        return;
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
