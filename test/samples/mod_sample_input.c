/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input filter: takes carriage returns out of request bodies, and refuses bodies that hold a
 * NUL.
 *
 *     brigade-apxs -c -i -a mod_sample_input.c
 *
 *     <Location "/upload">
 *         SetInputFilter UNIXTEXT
 *     </Location>
 *
 *     brigade-filter-test --input mod_sample_input.so UNIXTEXT < upload.txt
 *
 * An input filter is asked for data and asks the next one. It shows the modes that it may be asked
 * in, why less than was asked for is right, and how a request is refused while its body is read.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "apr_buckets.h"

#include <string.h>

AP_DECLARE_MODULE(sample_input); /* here already: log lines know their module by it */

/* The data without carriage returns, in the place of the bucket. */
static apr_status_t unixtext_bucket(ap_filter_t *f, apr_bucket *b)
{
    const char *data;
    apr_size_t len, n = 0;
    char *copy;
    apr_status_t rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);

    if (rv != APR_SUCCESS || !len)
        return rv;
    if (memchr(data, '\0', len))
        return APR_EINVAL;
    copy = apr_bucket_alloc(len, f->c->bucket_alloc);
    for (apr_size_t i = 0; i < len; i++) {
        if (data[i] != '\r')
            copy[n++] = data[i];
    }
    APR_BUCKET_INSERT_BEFORE(b,
                             apr_bucket_heap_create(copy, n, apr_bucket_free, f->c->bucket_alloc));
    return APR_SUCCESS;
}

static apr_status_t unixtext_refuse(ap_filter_t *f, apr_bucket_brigade *bb)
{
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, f->r, "a body with a NUL was refused");
    apr_brigade_cleanup(bb);
    APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_error_create(HTTP_UNPROCESSABLE_ENTITY, NULL, f->r->pool,
                                                       f->c->bucket_alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(f->c->bucket_alloc));
    return APR_EINVAL; /* who reads the body answers with an error */
}

static apr_status_t unixtext_filter(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                                    apr_read_type_e block, apr_off_t readbytes)
{
    apr_status_t rv = ap_get_brigade(f->next, bb, mode, block, readbytes);
    apr_bucket *b = APR_BRIGADE_FIRST(bb);

    /* Bodies are read in these modes. Others (a line, a look ahead) are for the head. */
    if (rv != APR_SUCCESS || (mode != AP_MODE_READBYTES && mode != AP_MODE_EXHAUSTIVE))
        return rv;
    while (b != APR_BRIGADE_SENTINEL(bb)) {
        apr_bucket *done = b;

        if (!APR_BUCKET_IS_METADATA(b)) {
            rv = unixtext_bucket(f, b);
            if (rv != APR_SUCCESS)
                return APR_STATUS_IS_EINVAL(rv) ? unixtext_refuse(f, bb) : rv;
        }
        b = APR_BUCKET_NEXT(b);
        if (!APR_BUCKET_IS_METADATA(done))
            apr_bucket_delete(done);
    }
    return APR_SUCCESS; /* perhaps with less than was asked for, even with nothing: the caller asks
                           again */
}

static void unixtext_register_hooks(apr_pool_t *p)
{
    ap_register_input_filter("UNIXTEXT", unixtext_filter, NULL, AP_FTYPE_RESOURCE);
}

module AP_MODULE_DECLARE_DATA sample_input_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, unixtext_register_hooks, 0};
