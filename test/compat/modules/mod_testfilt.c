/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters and a handler for the cases of mod_filter. Built from the same source for Apache and for
 * Brigade.
 *
 * TA TB TI TM TP TN (resource) and TC (content set) write their name in brackets at the end of a
 * response. TI has an initialisation that shows, TM declares itself uncacheable in its own, TP and
 * TN are registered with protocol flags, TR leaves the chain at once, TBAD refuses to be
 * initialised.
 *
 * The handler "tf" answers with ten digits; the query is the content type, X-CC the Cache-Control,
 * X-St the status, X-Proxy pretends that the response is a proxy's. X-Saw-Range tells whether it
 * saw a Range header.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "apr_strings.h"

#include <stdlib.h>
#include <string.h>

module AP_MODULE_DECLARE_DATA testfilt_module;

static apr_status_t testfilt_mark(ap_filter_t *f, apr_bucket_brigade *bb, const char *name)
{
    apr_bucket *b;

    apr_table_unset(f->r->headers_out, "Content-Length");
    for (b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb); b = APR_BUCKET_NEXT(b)) {
        if (APR_BUCKET_IS_EOS(b)) {
            const char *mark =
                apr_pstrcat(f->r->pool, "[", name, f->ctx ? (const char *)f->ctx : "", "]", NULL);

            APR_BUCKET_INSERT_BEFORE(
                b, apr_bucket_transient_create(mark, strlen(mark), f->c->bucket_alloc));
            break;
        }
    }
    return ap_pass_brigade(f->next, bb);
}

#define TESTFILT_MARKER(name)                                                   \
    static apr_status_t testfilt_##name(ap_filter_t *f, apr_bucket_brigade *bb) \
    {                                                                           \
        return testfilt_mark(f, bb, #name);                                     \
    }

TESTFILT_MARKER(TA)
TESTFILT_MARKER(TB)
TESTFILT_MARKER(TC)
TESTFILT_MARKER(TI)
TESTFILT_MARKER(TM)
TESTFILT_MARKER(TN)
TESTFILT_MARKER(TP)

static apr_status_t testfilt_leave(ap_filter_t *f, apr_bucket_brigade *bb)
{
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

static int testfilt_init(ap_filter_t *f)
{
    static char note[] = "+init";

    f->ctx = note;
    return OK;
}

static int testfilt_init_protocol(ap_filter_t *f)
{
    ap_filter_protocol(f, AP_FILTER_PROTO_NO_CACHE);
    return OK;
}

static int testfilt_init_refuse(ap_filter_t *f)
{
    return HTTP_FORBIDDEN;
}

static int testfilt_handler(request_rec *r)
{
    const char *value;

    if (r->handler == NULL || strcmp(r->handler, "tf") != 0) {
        return DECLINED;
    }
    ap_set_content_type(r, r->args ? r->args : "text/html");
    apr_table_setn(r->headers_out, "ETag", "\"e\"");
    apr_table_setn(r->headers_out, "Content-MD5", "m");
    apr_table_setn(r->headers_out, "Last-Modified", "Thu, 02 Jan 2020 03:04:05 GMT");
    if ((value = apr_table_get(r->headers_in, "X-CC")) != NULL) {
        apr_table_setn(r->headers_out, "Cache-Control", value);
    }
    if (apr_table_get(r->headers_in, "X-Proxy")) {
        r->proxyreq = PROXYREQ_REVERSE;
    }
    if ((value = apr_table_get(r->headers_in, "X-St")) != NULL) {
        r->status = atoi(value);
    }
    ap_set_content_length(r, 10);
    apr_table_setn(r->headers_out, "X-Saw-Range",
                   apr_table_get(r->headers_in, "Range") ? "yes" : "no");
    ap_rputs("0123456789", r);
    return OK;
}

static void testfilt_register_hooks(apr_pool_t *p)
{
    ap_register_output_filter("TA", testfilt_TA, NULL, AP_FTYPE_RESOURCE);
    ap_register_output_filter("TB", testfilt_TB, NULL, AP_FTYPE_RESOURCE);
    ap_register_output_filter("TC", testfilt_TC, NULL, AP_FTYPE_CONTENT_SET);
    ap_register_output_filter("TI", testfilt_TI, testfilt_init, AP_FTYPE_RESOURCE);
    ap_register_output_filter("TM", testfilt_TM, testfilt_init_protocol, AP_FTYPE_RESOURCE);
    ap_register_output_filter("TR", testfilt_leave, NULL, AP_FTYPE_RESOURCE);
    ap_register_output_filter("TBAD", testfilt_TA, testfilt_init_refuse, AP_FTYPE_RESOURCE);
    ap_register_output_filter_protocol("TP", testfilt_TP, NULL, AP_FTYPE_RESOURCE,
                                       AP_FILTER_PROTO_CHANGE | AP_FILTER_PROTO_CHANGE_LENGTH |
                                           AP_FILTER_PROTO_NO_BYTERANGE);
    ap_register_output_filter_protocol("TN", testfilt_TN, NULL, AP_FTYPE_RESOURCE,
                                       AP_FILTER_PROTO_TRANSFORM | AP_FILTER_PROTO_NO_PROXY |
                                           AP_FILTER_PROTO_NO_CACHE);
    ap_hook_handler(testfilt_handler, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA testfilt_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, testfilt_register_hooks, 0,
};
