/* SPDX-License-Identifier: Apache-2.0 */
/* Whether another request has come already: blank lines before it count for nothing. */
#include "httpd.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"

/* Look at the next byte without taking it. @return APR_SUCCESS with *byte set, or the chain's error
 */
static apr_status_t pipeline_peek(conn_rec *c, apr_bucket_brigade *bb, char *byte)
{
    apr_status_t rv;
    const char *data;
    apr_size_t len;

    apr_brigade_cleanup(bb);
    rv = ap_get_brigade(c->input_filters, bb, AP_MODE_SPECULATIVE, APR_NONBLOCK_READ, 1);
    if (rv != APR_SUCCESS)
        return rv;
    if (APR_BRIGADE_EMPTY(bb))
        return APR_EAGAIN;
    rv = apr_bucket_read(APR_BRIGADE_FIRST(bb), &data, &len, APR_NONBLOCK_READ);
    if (rv == APR_SUCCESS && !len)
        return APR_BUCKET_IS_EOS(APR_BRIGADE_FIRST(bb)) ? APR_EOF : APR_EAGAIN;
    if (rv == APR_SUCCESS)
        *byte = *data;
    return rv;
}

static apr_status_t pipeline_drop(conn_rec *c, apr_bucket_brigade *bb)
{
    apr_status_t rv;

    apr_brigade_cleanup(bb);
    rv = ap_get_brigade(c->input_filters, bb, AP_MODE_READBYTES, APR_NONBLOCK_READ, 1);
    apr_brigade_cleanup(bb);
    return rv;
}

AP_DECLARE(apr_status_t)
ap_check_pipeline(conn_rec *c, apr_bucket_brigade *bb, unsigned int max_blank_lines)
{
    unsigned blank_lines = 0;
    int after_cr = 0;

    /* Of connections to other servers it is not known: mod_proxy asks whether they are alive. */
    if (c->keepalive == AP_CONN_CLOSE || c->aborted)
        return APR_EOF; /* whatever comes is no request */
    for (;;) {
        char byte = 0;
        apr_status_t rv = pipeline_peek(c, bb, &byte);

        apr_brigade_cleanup(bb);
        if (rv != APR_SUCCESS || !max_blank_lines)
            return rv;
        if (byte != LF && (byte != CR || after_cr))
            return APR_SUCCESS;
        if (byte == LF && ++blank_lines > max_blank_lines)
            return APR_NOTFOUND;
        after_cr = byte == CR;
        if ((rv = pipeline_drop(c, bb)) != APR_SUCCESS)
            return rv;
    }
}
