/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading an XML request body, of at most LimitXMLRequestBody bytes, into APR's document tree.
 */
#include "httpd.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "util_xml.h"
#include "apr_buckets.h"

APLOG_USE_MODULE(core);

#define UTIL_XML_READ 2048 /* bytes asked for at once */

/* Feed one brigade to the parser. Returns OK, DONE at the end of the body, or the status to refuse
 * with. */
static int util_xml_feed(request_rec *r, apr_xml_parser *parser, apr_bucket_brigade *bb,
                         apr_size_t limit, apr_size_t *total)
{
    apr_bucket *b;

    for (b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb); b = APR_BUCKET_NEXT(b)) {
        const char *data;
        apr_size_t len;

        if (APR_BUCKET_IS_EOS(b))
            return DONE;
        if (APR_BUCKET_IS_METADATA(b))
            continue;
        if (apr_bucket_read(b, &data, &len, APR_BLOCK_READ) != APR_SUCCESS)
            return HTTP_BAD_REQUEST;
        if (limit && len > limit - *total) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(00539) "XML request body is larger than the configured limit "
                                         "of %lu",
                          (unsigned long)limit);
            return HTTP_REQUEST_ENTITY_TOO_LARGE;
        }
        *total += len;
        if (apr_xml_parser_feed(parser, data, len) != APR_SUCCESS)
            return HTTP_BAD_REQUEST;
    }
    return OK;
}

static int util_xml_read(request_rec *r, apr_xml_parser *parser, apr_size_t *total)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_size_t limit = ap_get_limit_xml_body(r);
    int rc = OK;

    while (rc == OK) {
        apr_status_t rv =
            ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES, APR_BLOCK_READ, UTIL_XML_READ);

        if (rv != APR_SUCCESS)
            rc = ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
        else
            rc = util_xml_feed(r, parser, bb, limit, total);
        apr_brigade_cleanup(bb);
    }
    apr_brigade_destroy(bb);
    return rc == DONE ? OK : rc;
}

static void util_xml_log(request_rec *r, apr_xml_parser *parser)
{
    char text[120];

    apr_xml_parser_geterror(parser, text, sizeof(text));
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(00541) "XML Parser Error: %s", text);
}

AP_DECLARE(int) ap_xml_parse_input(request_rec *r, apr_xml_doc **pdoc)
{
    apr_xml_parser *parser = apr_xml_parser_create(r->pool);
    apr_size_t total = 0;
    int rc;

    *pdoc = NULL;
    if (!parser)
        return HTTP_INTERNAL_SERVER_ERROR;
    rc = util_xml_read(r, parser, &total);
    if (rc == OK && total == 0) {
        apr_xml_parser_done(parser, NULL);
        return OK;
    }
    if (rc != OK) {
        if (rc == HTTP_BAD_REQUEST)
            util_xml_log(r, parser);
        apr_xml_parser_done(parser, NULL);
        return rc;
    }
    if (apr_xml_parser_done(parser, pdoc) == APR_SUCCESS)
        return OK;
    util_xml_log(r, parser);
    *pdoc = NULL;
    return HTTP_BAD_REQUEST;
}
