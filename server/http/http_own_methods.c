/* SPDX-License-Identifier: Apache-2.0 */
/* The two methods that the protocol itself answers: OPTIONS and TRACE. */
#include "core_settings.h"
#include "http_error.h"
#include "http_response.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_core.h"
#include "brigade/assert.h"

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

    BRG_ASSERT(bb != NULL);
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
    request_rec *first = http_original_request(r);
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
