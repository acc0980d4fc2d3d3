/* SPDX-License-Identifier: Apache-2.0 */
/* The error bucket: metadata by which a filter asks the protocol to answer with an error instead.
 */
#include "httpd.h"
#include "http_protocol.h"
#include "apr_strings.h"

static apr_status_t error_bucket_read(apr_bucket *b, const char **str, apr_size_t *len,
                                      apr_read_type_e block)
{
    *str = NULL;
    *len = 0;
    return APR_SUCCESS;
}

static void error_bucket_destroy(void *data)
{
    if (apr_bucket_shared_destroy(data))
        apr_bucket_free(data);
}

/* The text is in the pool that the bucket was made with, which need not live as long as the new
 * one. */
static apr_status_t error_bucket_setaside(apr_bucket *b, apr_pool_t *p)
{
    ap_bucket_error *h = b->data;

    h->data = apr_pstrdup(p, h->data);
    return APR_SUCCESS;
}

AP_DECLARE(apr_bucket *)
ap_bucket_error_make(apr_bucket *b, int error, const char *buf, apr_pool_t *p)
{
    ap_bucket_error *h = apr_bucket_alloc(sizeof *h, b->list);

    b = apr_bucket_shared_make(b, h, 0, 0);
    b->type = &ap_bucket_type_error;
    h->status = error;
    h->data = buf ? apr_pstrdup(p, buf) : NULL;
    return b;
}

AP_DECLARE(apr_bucket *)
ap_bucket_error_create(int error, const char *buf, apr_pool_t *p, apr_bucket_alloc_t *list)
{
    apr_bucket *b = apr_bucket_alloc(sizeof *b, list);

    APR_BUCKET_INIT(b);
    b->free = apr_bucket_free;
    b->list = list;
    return ap_bucket_error_make(b, error, buf, p);
}

AP_DECLARE_DATA const apr_bucket_type_t ap_bucket_type_error = {
    "ERROR",
    5,
    APR_BUCKET_METADATA,
    error_bucket_destroy,
    error_bucket_read,
    error_bucket_setaside,
    apr_bucket_split_notimpl,
    apr_bucket_shared_copy,
};
