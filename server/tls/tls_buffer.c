/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a request whose client is asked for more (tls_renegotiate.c): it comes before the client's answer,
 * so it is read first, and handed out by a filter. */
#include "tls_renegotiate.h"
#include "conn.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_strings.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(ssl);

#define BUFFER_NAME "SSL/TLS Buffer"
#define BUFFER_DEFAULT (128 * 1024)
#define BUFFER_READ 8192

static int buffer_refused(request_rec *r, apr_size_t most)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  APLOGNO(02018) "request body exceeds maximum size (%" APR_SIZE_T_FMT
                                 ") for SSL buffer",
                  most);
    r->connection->keepalive = AP_CONN_CLOSE;
    return HTTP_REQUEST_ENTITY_TOO_LARGE;
}

/* Move read buckets behind the kept ones. @return OK or a status */
static int buffer_keep(request_rec *r, apr_bucket_brigade *kept, apr_bucket_brigade *bb,
                       apr_off_t *size)
{
    while (!APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *b = APR_BRIGADE_FIRST(bb);
        apr_size_t len;
        const char *data;

        if (!APR_BUCKET_IS_METADATA(b)) {
            if (apr_bucket_read(b, &data, &len, APR_BLOCK_READ) != APR_SUCCESS ||
                apr_bucket_setaside(b, r->pool) != APR_SUCCESS) {
                ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                              APLOGNO(02016) "could not read bucket for SSL buffer");
                return HTTP_INTERNAL_SERVER_ERROR;
            }
            *size += (apr_off_t)len;
        }
        APR_BUCKET_REMOVE(b);
        APR_BRIGADE_INSERT_TAIL(kept, b);
    }
    return OK;
}

static int buffer_fill(request_rec *r, apr_bucket_brigade *kept, apr_size_t most)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_off_t size = 0;
    int status = OK;

    BRG_ASSERT(!conn_on_loop() && APR_BRIGADE_EMPTY(kept)); /* it waits for the client */
    do {
        apr_status_t rv = ap_get_brigade(r->proto_input_filters, bb, AP_MODE_READBYTES,
                                         APR_BLOCK_READ, BUFFER_READ);

        if (rv != APR_SUCCESS) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                          APLOGNO(02015) "could not read request body for SSL buffer");
            return ap_map_http_request_error(rv, HTTP_INTERNAL_SERVER_ERROR);
        }
        status = buffer_keep(r, kept, bb, &size);
        if (status == OK && size > (apr_off_t)most)
            status = buffer_refused(r, most);
    } while (status == OK &&
             (APR_BRIGADE_EMPTY(kept) || !APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(kept))));
    apr_brigade_destroy(bb);
    return status;
}

/* In front of the filter that read the body, which tells of its end alone by now: of equal type it would come behind that. An
 * internal redirect keeps the filters of protocols. */
static void buffer_put_first(request_rec *r, apr_bucket_brigade *kept)
{
    ap_filter_t *reader = r->proto_input_filters, **at = &r->input_filters;
    ap_filter_t *f = ap_add_input_filter(BUFFER_NAME, kept, r, r->connection);

    if (r->proto_input_filters == f)
        return;
    for (ap_filter_t **own = &reader->next; *own; own = &(*own)->next)
        if (*own == f) {
            *own = f->next;
            break;
        }
    while (*at != reader)
        at = &(*at)->next;
    f->next = reader;
    *at = r->proto_input_filters = f;
}

int tls_buffer_body(request_rec *r, const tls_dir_conf *dc)
{
    apr_bucket_brigade *kept;
    int status;

    BRG_ASSERT(ap_request_has_body(r) && !r->expecting_100);
    kept = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    status =
        buffer_fill(r, kept, dc->buffer == TLS_UNSET ? BUFFER_DEFAULT : (apr_size_t)dc->buffer);
    if (status == OK)
        buffer_put_first(r, kept);
    return status;
}

static apr_status_t buffer_give(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                                apr_read_type_e block, apr_off_t bytes)
{
    apr_bucket_brigade *kept = f->ctx;
    apr_bucket *end;
    apr_status_t rv;

    if (mode != AP_MODE_READBYTES && mode != AP_MODE_GETLINE)
        return APR_ENOTIMPL;
    if (APR_BRIGADE_EMPTY(kept)) {
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(f->c->bucket_alloc));
        return APR_SUCCESS;
    }
    if (mode == AP_MODE_GETLINE)
        return apr_brigade_split_line(bb, kept, block, bytes);
    rv = apr_brigade_partition(kept, bytes, &end);
    if (rv != APR_SUCCESS && rv != APR_INCOMPLETE)
        return rv;
    while (APR_BRIGADE_FIRST(kept) != end) {
        apr_bucket *b = APR_BRIGADE_FIRST(kept);

        APR_BUCKET_REMOVE(b);
        APR_BRIGADE_INSERT_TAIL(bb, b);
    }
    if (end != APR_BRIGADE_SENTINEL(kept) && APR_BUCKET_IS_EOS(end)) {
        APR_BUCKET_REMOVE(end);
        APR_BRIGADE_INSERT_TAIL(bb, end);
    }
    return APR_SUCCESS;
}

void tls_buffer_filter(void)
{
    ap_register_input_filter(BUFFER_NAME, buffer_give, NULL, AP_FTYPE_PROTOCOL);
}
