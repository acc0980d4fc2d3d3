/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to a request that failed: built-in page or the ErrorDocument's text. (An ErrorDocument
 * that is a local path or a URL was dealt with before, as a redirect.)
 */
#include "http_error.h"
#include "core_settings.h"
#include "request_context.h"
#include "brigade/response_cache.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_core.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

APR_HOOK_STRUCT(APR_HOOK_LINK(insert_error_filter))
AP_IMPLEMENT_HOOK_VOID(insert_error_filter, (request_rec * r), (r))

AP_DECLARE(const char *) ap_psignature(const char *prefix, request_rec *r)
{
    const core_dir_config *conf = core_dir_conf_of(r);
    const char *name = ap_escape_html(r->pool, ap_get_server_name(r));
    char port[20];

    if (conf->server_signature == srv_sig_off || conf->server_signature == srv_sig_unset)
        return "";
    apr_snprintf(port, sizeof(port), "%u", (unsigned)ap_get_server_port(r));
    if (conf->server_signature == srv_sig_withmail) {
        name = apr_pstrcat(
            r->pool, "<a href=\"", ap_is_url(r->server->server_admin) ? "" : "mailto:",
            ap_escape_html(r->pool, r->server->server_admin), "\">", name, "</a>", NULL);
    }
    return apr_pstrcat(r->pool, prefix, "<address>", ap_get_server_banner(), " Server at ", name,
                       " Port ", port, "</address>\n", NULL);
}

/* Location as it may be sent: where a redirect or a creation points, or NULL. */
static const char *error_location(request_rec *r)
{
    const char *location = apr_table_get(r->headers_out, "Location");

    return location ? location : apr_table_get(r->err_headers_out, "Location");
}

/* The failed handler's preparations for a body that will not be sent. */
static void error_reset_headers(request_rec *r, int status, int wanted, const char *location)
{
    const int keeps_location = location && (ap_is_HTTP_REDIRECT(wanted) || wanted == HTTP_CREATED);
    apr_table_t *prepared = r->headers_out;

    BRG_ASSERT(!r->assbackwards);
    /* Fields for errors come behind those of the configuration from now on. */
    apr_table_clear(r->headers_out);
    r->headers_out = r->err_headers_out;
    r->err_headers_out = prepared;
    request_set_announces(r, 0);
    if (keeps_location) {
        if (*location)
            apr_table_setn(r->headers_out, "Location", location);
        else
            apr_table_unset(r->headers_out, "Location");
    }
    r->content_languages = NULL;
    r->content_encoding = NULL;
    r->clength = 0;
    if (status == HTTP_METHOD_NOT_ALLOWED || status == HTTP_NOT_IMPLEMENTED)
        apr_table_setn(r->headers_out, "Allow", http_make_allow(r));
}

static void error_set_type(request_rec *r, const char *type)
{
    if (apr_table_get(r->subprocess_env, "suppress-error-charset")) {
        core_request_conf_of(r)->suppress_charset = 1;
        type = ap_field_noparam(r->pool, type);
    }
    ap_set_content_type_ex(r, type, 1);
}

/* "404 Not Found", as a script or a backend may have worded it; a number alone has no reason that is known. */
static const char *error_title(request_rec *r, int status)
{
    const char *line = r->status_line;

    if (!line || !apr_isdigit(line[0]) || atoi(line) != r->status)
        return ap_get_status_line_ex(r->pool, status);
    if (strlen(line) <= strlen("404 "))
        r->status_line = line = apr_psprintf(r->pool, "%d Unknown Reason", r->status);
    return line;
}

/* The built-in page, in one piece so that it can be stored: Apache's. */
static const char *error_page(request_rec *r, int status, const char *title, int recursive_error,
                              const char *location)
{
    const char *also = "";

    if (recursive_error) {
        also = apr_pstrcat(
            r->pool, "<p>Additionally, a ", ap_get_status_line_ex(r->pool, recursive_error),
            "\nerror was encountered while trying to use an ErrorDocument to handle the "
            "request.</p>\n",
            NULL);
    }
    return apr_pstrcat(r->pool,
                       "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" "
                       "\"http://www.w3.org/TR/html4/strict.dtd\">\n"
                       "<html><head>\n<title>",
                       ap_escape_html(r->pool, title), "</title>\n</head><body>\n<h1>",
                       ap_escape_html(r->pool, title + 4), "</h1>\n",
                       http_canned_text(status, r, location), also, ap_psignature("<hr>\n", r),
                       "</body></html>\n", NULL);
}

/* A number without a text of its own, from us or from a script, is an internal error to clients. */
static int error_status(request_rec *r)
{
    const int internal = ap_index_of_response(HTTP_INTERNAL_SERVER_ERROR);

    if (!r->status_line && ap_index_of_response(r->status) == internal)
        r->status = HTTP_INTERNAL_SERVER_ERROR;
    return r->status;
}

AP_DECLARE(void) ap_send_error_response(request_rec *r, int recursive_error)
{
    const int wanted = r->status, status = error_status(r);
    const char *location = error_location(r);
    const char *custom = ap_response_code_string(r, ap_index_of_response(status)), *page;
    const brg_pages pages = brg_pages_of(r);
    int json;

    /* Buffers that filters of the failed content hold, a half-filled write buffer among them, are not part of
     * the answer. */
    r->eos_sent = 0;
    r->output_filters = r->proto_output_filters;
    ap_run_insert_error_filter(r);
    if (AP_STATUS_IS_HEADER_ONLY(status)) {
        ap_finalize_request_protocol(r);
        return;
    }
    /* HTTP/0.9 has no head to put any of this in. */
    if (!r->assbackwards)
        error_reset_headers(r, status, wanted, location);
    page = custom && custom[0] == '"' ? custom + 1 : NULL;
    json = !page && http_page_negotiate(r, status, pages);
    if (!r->assbackwards)
        error_set_type(r, json                                ? "application/problem+json"
                          : page || pages == BRG_PAGES_APACHE ? "text/html; charset=iso-8859-1"
                                                              : "text/html; charset=utf-8");
    if (r->header_only) {
        ap_finalize_request_protocol(r);
        return;
    }
    if (!page)
        page = pages == BRG_PAGES_APACHE
                   ? error_page(r, status, error_title(r, status), recursive_error, location)
                   : http_page(r, status, error_title(r, status), recursive_error, location, json);
    ap_rputs(page, r);
    if (!recursive_error && (pages == BRG_PAGES_APACHE || http_page_is_for_all(r, status)))
        brg_cache_offer_body(r, r->output_filters, page, strlen(page), NULL);
    ap_finalize_request_protocol(r);
}
