/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CONTENT_LENGTH filter: counts the body for the log and, if all of it is in the first brigade, sets
 * Content-Length. A bucket of unknown length is read; before it would be waited for, the data so far is
 * passed on.
 */
#include "httpd.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "apr_buckets.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

/* f->ctx when data went on already: the head may be out. */
static char length_passed;

/* A script that writes as fast as it is read from never makes the filter wait: it would read all of it into memory. */
#define LENGTH_AHEAD (128 * 1024)

typedef struct length_scan {
    apr_bucket *stop; /* the first one that has not left, or NULL */
    int blocked;      /* it would block */
    int eos;
    apr_off_t bytes;
    apr_off_t read; /* of these, from buckets that had no length */
} length_scan;

/* A bucket without a length has it once it was read; it may have grown a successor with the rest.
 */
static apr_status_t length_read(apr_bucket *e, length_scan *scan)
{
    const char *data;
    apr_size_t len = 0;
    apr_status_t rv;

    if (scan->read >= LENGTH_AHEAD) {
        scan->stop = e;
        return APR_SUCCESS;
    }
    rv = apr_bucket_read(e, &data, &len, APR_NONBLOCK_READ);
    if (APR_STATUS_IS_EAGAIN(rv) && scan->bytes) {
        scan->stop = e;
        scan->blocked = 1;
        return APR_SUCCESS;
    }
    if (APR_STATUS_IS_EAGAIN(rv))
        rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
    scan->read += (apr_off_t)len;
    return rv;
}

static apr_status_t length_run(apr_bucket_brigade *bb, length_scan *scan)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        if (APR_BUCKET_IS_EOS(e)) {
            scan->eos = 1;
            return APR_SUCCESS;
        }
        if (APR_BUCKET_IS_METADATA(e))
            continue;
        if (e->length == (apr_size_t)-1) {
            apr_status_t rv = length_read(e, scan);

            if (rv != APR_SUCCESS || scan->stop)
                return rv;
        }
        scan->bytes += (apr_off_t)e->length;
    }
    return APR_SUCCESS;
}

/* Send the counted buckets on, keep the rest in bb. */
static apr_status_t length_pass_front(ap_filter_t *f, apr_bucket_brigade *bb, length_scan *scan)
{
    apr_bucket_brigade *rest = apr_brigade_split(bb, scan->stop);
    apr_status_t rv;

    BRG_ASSERT(scan->stop && scan->bytes > 0);
    if (scan->blocked)
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(f->c->bucket_alloc));
    f->r->bytes_sent += scan->bytes;
    rv = ap_pass_brigade(f->next, bb);
    apr_brigade_cleanup(bb);
    APR_BRIGADE_CONCAT(bb, rest);
    apr_brigade_destroy(rest);
    return rv;
}

/* Everything is here and nothing is out. The answer to HEAD whose handler made no body says nothing
 * of its length. */
static void length_tell(request_rec *r)
{
    BRG_ASSERT(r->bytes_sent >= 0);
    if (r->header_only && r->bytes_sent == 0 && apr_table_get(r->headers_out, "Content-Length")) {
        if (r->clength > 0) /* the handler's value, whatever other modules set */
            ap_set_content_length(r, r->clength);
        return;
    }
    ap_set_content_length(r, r->bytes_sent);
}

AP_DECLARE_NONSTD(apr_status_t) ap_content_length_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    length_scan scan;
    apr_status_t rv;

    BRG_ASSERT(!f->ctx || f->ctx == &length_passed);
    for (;;) {
        scan = (length_scan){0};
        rv = length_run(bb, &scan);
        if (rv != APR_SUCCESS) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                          APLOGNO(00574) "ap_content_length_filter: apr_bucket_read() failed");
            return rv;
        }
        if (!scan.stop)
            break;
        f->ctx = &length_passed;
        rv = length_pass_front(f, bb, &scan);
        if (rv != APR_SUCCESS)
            return rv;
    }
    r->bytes_sent += scan.bytes;
    if (scan.eos && !f->ctx)
        length_tell(r);
    f->ctx = &length_passed;
    return ap_pass_brigade(f->next, bb);
}
