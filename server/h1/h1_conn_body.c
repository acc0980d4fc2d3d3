/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request bodies on the event loop, so that a client that sends slowly holds no worker.
 *
 *   discard   a body that the handler throws away is read to its end, and only then the handler runs
 *   wait      the beginning of a body that a worker is to read is waited for: once that much is
 *             here, or the client is late or gone, the worker gets the connection
 *
 * Both keep RequestReadTimeout and Timeout, as a worker does.
 */
#include "http_fields.h"
#include "connection.h"
#include "h1_conn_private.h"
#include "h1_fields.h"
#include "h1_request.h"
#include "loop.h"
#include "placement.h"
#include "request_context.h"
#include "request_parts.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include <string.h>

APLOG_USE_MODULE(core);

/* Bytes of a body that are waited for; each such connection may hold so much memory. */
#define H1_BODY_WAIT (16 * 1024)
#define H1_BODY_BLOCK 8192

/* ---- whose body ---- */

/* The handler of plain files and folders answers, which throws a body away. Others are known by the
 * name that the configuration gave them, or by a type that stands for a program. */
static int body_handler_discards(const request_rec *r)
{
    const char *handler = r->handler;

    if (!handler && AP_REQUEST_IS_TRUSTED_CT(r) && r->content_type)
        return strncmp(r->content_type, "application/x-", 14) != 0;
    return !handler || !strcmp(handler, AP_DEFAULT_HANDLER_NAME) ||
           !strcmp(handler, DIR_MAGIC_TYPE);
}

int h1_body_is_unwanted(request_rec *r)
{
    return ap_request_has_body(r) && !h1_body_is_over(r) && !r->expecting_100 &&
           (r->method_number == M_GET || r->method_number == M_POST) &&
           r->input_filters == r->proto_input_filters && body_handler_discards(r);
}

uint32_t h1_body_to_wait_for(const brg_conn *bc, const request_rec *r)
{
    const char *length =
        request_is_bodyless(r) ? NULL : apr_table_get(r->headers_in, "Content-Length");
    uint64_t n;

    if (!length || r->expecting_100 || bc->read_eof ||
        apr_table_get(r->headers_in, "Transfer-Encoding") ||
        http_parse_length(length, strlen(length), &n))
        return 0;
    if (n > H1_BODY_WAIT)
        n = H1_BODY_WAIT;
    return conn_in_size(bc) < n ? (uint32_t)n : 0;
}

/* ---- time ---- */

static apr_time_t body_due(const brg_conn *bc)
{
    const brg_read_timeout *t = &h1_read_timeouts(h1_conn_server(bc))->body;
    uint64_t came = bc->input.consumed - bc->body.from + conn_in_size(bc);

    return h1_conn_read_due(bc, t, came);
}

/* ---- reading ---- */

/* Throw the received bytes away. APR_EAGAIN: there is more to come; APR_SUCCESS: that was all. */
static apr_status_t body_drop(brg_conn *bc, request_rec *r)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, bc->c->bucket_alloc);
    apr_status_t rv = APR_SUCCESS;
    int eos = 0;

    while (rv == APR_SUCCESS && !eos) {
        rv = ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES, APR_NONBLOCK_READ,
                            H1_BODY_BLOCK);
        if (rv == APR_SUCCESS && APR_BRIGADE_EMPTY(bb))
            rv = APR_EAGAIN;
        eos = rv == APR_SUCCESS && APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(bb));
        apr_brigade_cleanup(bb);
    }
    apr_brigade_destroy(bb);
    return rv;
}

/* The status with which the request goes on, or H1_BODY_MORE. */
static int body_step(brg_conn *bc, request_rec *r)
{
    apr_status_t rv;

    if (!bc->body.discard)
        return conn_in_size(bc) >= bc->body.wanted || bc->read_eof ? H1_TO_WORKER : H1_BODY_MORE;
    rv = body_drop(bc, r);
    if (APR_STATUS_IS_EAGAIN(rv))
        return H1_BODY_MORE;
    if (rv == APR_SUCCESS)
        return phases_may_run_inline() && request_handler_may_run_inline(r) ? OK : H1_TO_WORKER;
    bc->c->keepalive = AP_CONN_CLOSE;
    return ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
}

static int body_end(brg_conn *bc, int status)
{
    conn_enter(bc, CONN_REQUEST);
    wheel_cancel(&bc->loop->wheel, &bc->timer);
    return h1_conn_handle_waiting(bc, status);
}

int h1_body_go_on(brg_conn *bc)
{
    int status;

    BRG_ASSERT(bc->state == CONN_BODY && bc->held.r && loop_self() == bc->loop);
    status = body_step(bc, bc->held.r);
    if (status != H1_BODY_MORE)
        return body_end(bc, status);
    if (bc->rd_ready)
        loop_again(bc->loop, bc);
    h1_conn_wait(bc, body_due(bc));
    return 0;
}

int h1_body_begin(brg_conn *bc, request_rec *r, uint32_t wait_for)
{
    BRG_ASSERT(bc->state == CONN_REQUEST && !bc->held.r && loop_self() == bc->loop);
    bc->held.r = r;
    bc->body.discard = wait_for == 0;
    bc->body.wanted = wait_for;
    bc->input.began = bc->loop->monotonic;
    bc->body.from = bc->input.consumed;
    conn_enter(bc, CONN_BODY);
    return h1_body_go_on(bc);
}

void h1_body_expired(brg_conn *bc)
{
    BRG_ASSERT(bc->state == CONN_BODY && bc->held.r);
    connection_log_late(bc, "body");
    bc->c->keepalive = AP_CONN_CLOSE;
    body_end(bc, HTTP_REQUEST_TIME_OUT);
}

void h1_body_abandon(brg_conn *bc)
{
    request_rec *r = bc->held.r;

    BRG_ASSERT((bc->state == CONN_BODY || bc->state == CONN_REQUEST) && r);
    bc->held.r = NULL;
    bc->c->aborted = 1;
    request_end_with_error(r, HTTP_REQUEST_TIME_OUT,
                           0); /* nothing is sent: it is logged, and ends */
}
