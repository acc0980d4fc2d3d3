/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ap_get_client_block() and its companions, which read a request body block by block, and ap_discard_request_body().
 */
#include "http_response.h"
#include "core_settings.h"
#include "request_context.h"
#include "http_fields.h"
#include "http_config.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

APLOG_USE_MODULE(http);

static int block_setup_chunked(request_rec *r, const char *coding)
{
    BRG_ASSERT(coding && !r->read_chunked);
    if (!ap_is_chunked(r->pool, coding)) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, APLOGNO(01592) "Unknown Transfer-Encoding %s",
                      coding);
        return HTTP_BAD_REQUEST;
    }
    if (r->read_body == REQUEST_CHUNKED_ERROR) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      APLOGNO(01593) "chunked Transfer-Encoding forbidden: %s", r->uri);
        return r->read_body == REQUEST_NO_BODY ? HTTP_REQUEST_ENTITY_TOO_LARGE
                                               : HTTP_LENGTH_REQUIRED;
    }
    r->read_chunked = 1;
    return OK;
}

/* A body that is announced as too large need not be begun. */
static int block_check_limit(request_rec *r, apr_off_t announced, apr_off_t limit)
{
    BRG_ASSERT(announced >= 0);
    if (limit <= 0 || announced <= limit)
        return OK;
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  APLOGNO(01588) "Requested content-length of %" APR_OFF_T_FMT
                                 " is larger than the configured limit of %" APR_OFF_T_FMT,
                  announced, limit);
    return HTTP_REQUEST_ENTITY_TOO_LARGE;
}

apr_off_t http_body_limit(const request_rec *r)
{
    return r->proxyreq == PROXYREQ_NONE ? ap_get_limit_req_body(r) : 0;
}

int http_body_announced(request_rec *r)
{
    const char *length = apr_table_get(r->headers_in, "Content-Length");
    apr_off_t announced;

    if (!length || apr_table_get(r->headers_in, "Transfer-Encoding") ||
        !ap_parse_strict_length(&announced, length))
        return OK;
    return block_check_limit(r, announced, http_body_limit(r));
}

AP_DECLARE(int) ap_setup_client_block(request_rec *r, int read_policy)
{
    const char *coding = apr_table_get(r->headers_in, "Transfer-Encoding");
    const char *length = apr_table_get(r->headers_in, "Content-Length");
    uint64_t n = 0;
    int rv = OK;

    r->read_body = read_policy;
    r->read_chunked = 0;
    r->remaining = 0;
    if (coding) {
        rv = block_setup_chunked(r, coding);
    } else if (length) {
        if (http_parse_length(length, strlen(length), &n)) {
            ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                          APLOGNO(01594) "Invalid Content-Length '%s'", length);
            return HTTP_BAD_REQUEST;
        }
        r->remaining = (apr_off_t)n;
        rv = block_check_limit(r, r->remaining, ap_get_limit_req_body(r));
    }
    if (rv == OK && read_policy == REQUEST_NO_BODY && (r->read_chunked || r->remaining > 0)) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      APLOGNO(01595) "%s with body is not allowed for %s", r->method, r->uri);
        return HTTP_REQUEST_ENTITY_TOO_LARGE;
    }
    return rv;
}

AP_DECLARE(int) ap_should_client_block(request_rec *r)
{
    return !r->read_length && (r->read_chunked || r->remaining > 0);
}

/* The body could not be read: the answer becomes that error, whatever the handler makes of it. */
static long block_failed(request_rec *r, apr_bucket_brigade *bb, apr_status_t rv)
{
    BRG_ASSERT(rv != APR_SUCCESS);
    r->connection->keepalive = AP_CONN_CLOSE;
    apr_brigade_cleanup(bb);
    if (rv != AP_FILTER_ERROR) {
        const int status = ap_map_http_request_error(rv, HTTP_BAD_REQUEST);

        APR_BRIGADE_INSERT_TAIL(
            bb, ap_bucket_error_create(status, NULL, r->pool, r->connection->bucket_alloc));
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(r->connection->bucket_alloc));
        ap_pass_brigade(r->output_filters, bb);
        apr_brigade_cleanup(bb);
    }
    return -1;
}

/* As much of bb's front as fits; the rest stays in bb. 1 in *eos: the body is over. */
static apr_status_t block_copy(apr_bucket_brigade *bb, char *buffer, apr_size_t *size, int *eos)
{
    apr_size_t room = *size, got = 0;

    BRG_ASSERT(bb && *eos == 0);
    while (got < room && !APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *e = APR_BRIGADE_FIRST(bb);
        const char *data;
        apr_size_t len;
        apr_status_t rv;

        if (APR_BUCKET_IS_EOS(e)) {
            *eos = 1;
            break;
        }
        if (!APR_BUCKET_IS_METADATA(e)) {
            rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
            if (rv != APR_SUCCESS)
                return rv;
            if (len > room - got) {
                apr_bucket_split(e, room - got);
                len = room - got;
            }
            memcpy(buffer + got, data, len);
            got += len;
        }
        apr_bucket_delete(e);
    }
    BRG_ASSERT(got <= room);
    *size = got;
    return APR_SUCCESS;
}

AP_DECLARE(long) ap_get_client_block(request_rec *r, char *buffer, apr_size_t bufsiz)
{
    core_request_config *conf = core_request_conf_of(r);
    apr_bucket_brigade *bb = conf->bb;
    int eos = 0;

    if (!bb)
        bb = conf->bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    for (;;) {
        apr_size_t got = bufsiz;
        apr_status_t rv = block_copy(bb, buffer, &got, &eos);

        if (rv == APR_SUCCESS && got) {
            r->read_length += (apr_off_t)got;
            r->remaining -= r->remaining > (apr_off_t)got ? (apr_off_t)got : r->remaining;
            return (long)got;
        }
        if (rv == APR_SUCCESS && (eos || bufsiz == 0))
            return 0;
        if (rv == APR_SUCCESS) {
            rv = ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES, APR_BLOCK_READ,
                                (apr_off_t)bufsiz);
        }
        if (rv != APR_SUCCESS)
            return block_failed(r, bb, rv);
        if (APR_BRIGADE_EMPTY(bb))
            return block_failed(r, bb, APR_EGENERAL);
    }
}

/* ---- throwing away ---- */

/* 1: EOS seen. */
static int discard_brigade(apr_bucket_brigade *bb, apr_status_t *rv)
{
    int eos = 0;

    BRG_ASSERT(*rv == APR_SUCCESS);
    while (!APR_BRIGADE_EMPTY(bb) && !eos && *rv == APR_SUCCESS) {
        apr_bucket *e = APR_BRIGADE_FIRST(bb);
        const char *data;
        apr_size_t len;

        eos = APR_BUCKET_IS_EOS(e);
        if (!APR_BUCKET_IS_METADATA(e) && e->length == (apr_size_t)-1)
            *rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        apr_bucket_delete(e);
    }
    apr_brigade_cleanup(bb);
    return eos;
}

static apr_status_t discard_all(request_rec *r)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_status_t rv = APR_SUCCESS;
    int eos = 0;

    while (rv == APR_SUCCESS && !eos) {
        rv = ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES, APR_BLOCK_READ,
                            HUGE_STRING_LEN);
        if (rv == APR_SUCCESS && APR_BRIGADE_EMPTY(bb))
            rv = APR_EAGAIN;
        if (rv == APR_SUCCESS)
            eos = discard_brigade(bb, &rv);
    }
    apr_brigade_destroy(bb);
    return rv;
}

/* Not ap_request_has_body(), which says no for HEAD: a HEAD request may have a body all the same,
 * and read as the next request it would smuggle one (RFC 9112 section 6). */
int http_body_follows(const request_rec *r)
{
    const char *length;
    apr_off_t bytes;

    if (r->kept_body)
        return 1;
    if (request_is_bodyless(r))
        return 0;
    if (apr_table_get(r->headers_in, "Transfer-Encoding"))
        return 1;
    length = apr_table_get(r->headers_in, "Content-Length");
    return length && ap_parse_strict_length(&bytes, length) && bytes > 0;
}

AP_DECLARE(int) ap_discard_request_body(request_rec *r)
{
    apr_status_t rv;

    /* Sub-requests have none; where the connection ends anyway, or the client still waits for leave
     * to send, the body need not be waited for. */
    if (r->main)
        return OK;
    /* A filter of the request may want to see the body, or its absence, all the same: mod_deflate's
     * then takes Content-Encoding from the response, in Apache too. */
    if (r->input_filters == r->proto_input_filters) {
        if (!http_body_follows(r) || r->connection->keepalive == AP_CONN_CLOSE ||
            ap_status_drops_connection(r->status))
            return OK;
        if (r->expecting_100)
            return http_body_announced(r);
    }
    rv = discard_all(r);
    if (rv == APR_SUCCESS)
        return OK;
    r->connection->keepalive = AP_CONN_CLOSE;
    /* On an event loop nothing can be waited for: give up the connection instead. */
    if (APR_STATUS_IS_EAGAIN(rv))
        return OK;
    /* A body that a filter refused was answered there. */
    return rv == AP_FILTER_ERROR ? AP_FILTER_ERROR
                                 : ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
}
