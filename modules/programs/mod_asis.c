/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_asis: a file that begins with the fields of its own response (handler send-as-is). They are read as the output of a
 * CGI program is.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_script.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include <string.h>

extern module asis_module;
APLOG_USE_MODULE(asis);

static int asis_is_for(const request_rec *r)
{
    return brg_handler_is(r, "httpd/send-as-is") || brg_handler_is(r, "send-as-is");
}

/* A path of this server is answered in place of the file. */
static int asis_redirects(request_rec *r)
{
    const char *location = apr_table_get(r->headers_out, "Location");

    if (!location || *location != '/' || (r->status != HTTP_OK && !ap_is_HTTP_REDIRECT(r->status)))
        return 0;
    r->status = HTTP_OK;
    r->method = "GET";
    r->method_number = M_GET;
    ap_internal_redirect_handler(location, r);
    return 1;
}

static int asis_send(request_rec *r, apr_file_t *file)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_off_t from = 0;
    apr_status_t rv = apr_file_seek(file, APR_CUR, &from);

    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(01235) "mod_asis: failed to find end-of-headers position for %s",
                      r->filename);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    apr_brigade_insert_file(bb, file, from, r->finfo.size - from, r->pool);
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(r->connection->bucket_alloc));
    rv = ap_pass_brigade(r->output_filters, bb);
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(01236) "mod_asis: ap_pass_brigade failed for file %s", r->filename);
        return AP_FILTER_ERROR;
    }
    return OK;
}

static int asis_handler(request_rec *r)
{
    apr_file_t *file;
    apr_status_t rv;

    if (!asis_is_for(r))
        return DECLINED;
    r->allowed |= AP_METHOD_BIT << M_GET;
    if (r->method_number != M_GET)
        return DECLINED;
    if (r->finfo.filetype == APR_NOFILE) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01233) "File does not exist: %s",
                      r->filename);
        return HTTP_NOT_FOUND;
    }
    rv = apr_file_open(&file, r->filename, APR_READ | APR_BUFFERED, APR_OS_DEFAULT, r->pool);
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(01234) "file permissions deny server access: %s", r->filename);
        return HTTP_FORBIDDEN;
    }
    ap_scan_script_header_err_ex(r, file, NULL, APLOG_MODULE_INDEX);
    if (asis_redirects(r))
        return OK;
    return r->header_only ? OK : asis_send(r, file);
}

/* The file is read with waiting. */
static int asis_fixup(request_rec *r)
{
    if (asis_is_for(r))
        brg_request_needs_worker(r);
    return DECLINED;
}

static int asis_depends(request_rec *r)
{
    return asis_is_for(r) ? BRG_CACHE_VOLATILE : BRG_CACHE_STATIC;
}

static void asis_register_hooks(apr_pool_t *p)
{
    ap_hook_fixups(asis_fixup, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_handler(asis_handler, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&asis_module, asis_depends);
    brg_handlers_are_for(&asis_module, "httpd/send-as-is send-as-is");
    brg_cache_leaves_query(&asis_module);
}

module AP_MODULE_DECLARE_DATA asis_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, asis_register_hooks, 0,
};
