/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes: their texts, their dense numbering (ErrorDocument's arrays are indexed by it), the body that
 * I/O errors of request bodies map to, and which ErrorDocument answers one.
 */
#include "httpd.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "mod_core.h"
#include "http_error.h"
#include "expr_depends.h"
#include "request_context.h"
#include "ap_expr.h"
#include "apr_strings.h"
#include "apr_hash.h"
#include "brigade/assert.h"
#include <string.h>

APLOG_USE_MODULE(http);

/* Each class in a row of its own, so that the dense index of a code is the base of its row plus the
 * rest. NULL: a number inside the row that no text belongs to. */
#define STATUS_BASE_100 0
#define STATUS_BASE_200 4
#define STATUS_BASE_300 31
#define STATUS_BASE_400 40
#define STATUS_BASE_500 92

static const char *const status_lines[RESPONSE_CODES] = {
    [STATUS_BASE_100 + 0] = "100 Continue",
    [STATUS_BASE_100 + 1] = "101 Switching Protocols",
    [STATUS_BASE_100 + 2] = "102 Processing",
    [STATUS_BASE_100 + 3] = "103 Early Hints",
    [STATUS_BASE_200 + 0] = "200 OK",
    [STATUS_BASE_200 + 1] = "201 Created",
    [STATUS_BASE_200 + 2] = "202 Accepted",
    [STATUS_BASE_200 + 3] = "203 Non-Authoritative Information",
    [STATUS_BASE_200 + 4] = "204 No Content",
    [STATUS_BASE_200 + 5] = "205 Reset Content",
    [STATUS_BASE_200 + 6] = "206 Partial Content",
    [STATUS_BASE_200 + 7] = "207 Multi-Status",
    [STATUS_BASE_200 + 8] = "208 Already Reported",
    [STATUS_BASE_200 + 26] = "226 IM Used",
    [STATUS_BASE_300 + 0] = "300 Multiple Choices",
    [STATUS_BASE_300 + 1] = "301 Moved Permanently",
    [STATUS_BASE_300 + 2] = "302 Found",
    [STATUS_BASE_300 + 3] = "303 See Other",
    [STATUS_BASE_300 + 4] = "304 Not Modified",
    [STATUS_BASE_300 + 5] = "305 Use Proxy",
    [STATUS_BASE_300 + 7] = "307 Temporary Redirect",
    [STATUS_BASE_300 + 8] = "308 Permanent Redirect",
    [STATUS_BASE_400 + 0] = "400 Bad Request",
    [STATUS_BASE_400 + 1] = "401 Unauthorized",
    [STATUS_BASE_400 + 2] = "402 Payment Required",
    [STATUS_BASE_400 + 3] = "403 Forbidden",
    [STATUS_BASE_400 + 4] = "404 Not Found",
    [STATUS_BASE_400 + 5] = "405 Method Not Allowed",
    [STATUS_BASE_400 + 6] = "406 Not Acceptable",
    [STATUS_BASE_400 + 7] = "407 Proxy Authentication Required",
    [STATUS_BASE_400 + 8] = "408 Request Timeout",
    [STATUS_BASE_400 + 9] = "409 Conflict",
    [STATUS_BASE_400 + 10] = "410 Gone",
    [STATUS_BASE_400 + 11] = "411 Length Required",
    [STATUS_BASE_400 + 12] = "412 Precondition Failed",
    [STATUS_BASE_400 + 13] = "413 Request Entity Too Large",
    [STATUS_BASE_400 + 14] = "414 Request-URI Too Long",
    [STATUS_BASE_400 + 15] = "415 Unsupported Media Type",
    [STATUS_BASE_400 + 16] = "416 Requested Range Not Satisfiable",
    [STATUS_BASE_400 + 17] = "417 Expectation Failed",
    [STATUS_BASE_400 + 21] = "421 Misdirected Request",
    [STATUS_BASE_400 + 22] = "422 Unprocessable Entity",
    [STATUS_BASE_400 + 23] = "423 Locked",
    [STATUS_BASE_400 + 24] = "424 Failed Dependency",
    [STATUS_BASE_400 + 26] = "426 Upgrade Required",
    [STATUS_BASE_400 + 28] = "428 Precondition Required",
    [STATUS_BASE_400 + 29] = "429 Too Many Requests",
    [STATUS_BASE_400 + 31] = "431 Request Header Fields Too Large",
    [STATUS_BASE_400 + 51] = "451 Unavailable For Legal Reasons",
    [STATUS_BASE_500 + 0] = "500 Internal Server Error",
    [STATUS_BASE_500 + 1] = "501 Not Implemented",
    [STATUS_BASE_500 + 2] = "502 Bad Gateway",
    [STATUS_BASE_500 + 3] = "503 Service Unavailable",
    [STATUS_BASE_500 + 4] = "504 Gateway Timeout",
    [STATUS_BASE_500 + 5] = "505 HTTP Version Not Supported",
    [STATUS_BASE_500 + 6] = "506 Variant Also Negotiates",
    [STATUS_BASE_500 + 7] = "507 Insufficient Storage",
    [STATUS_BASE_500 + 8] = "508 Loop Detected",
    [STATUS_BASE_500 + 10] = "510 Not Extended",
    [STATUS_BASE_500 + 11] = "511 Network Authentication Required",
};

_Static_assert(STATUS_BASE_500 + 12 == RESPONSE_CODES, "a row was added or lost");

AP_DECLARE(int) ap_index_of_response(int status)
{
    static const int base[] = {STATUS_BASE_100, STATUS_BASE_200, STATUS_BASE_300,
                               STATUS_BASE_400, STATUS_BASE_500, RESPONSE_CODES};
    const int row = status / 100 - 1;
    int index;

    if (status < 100 || row > 4)
        return STATUS_BASE_500;
    index = base[row] + status % 100;
    return index < base[row + 1] && status_lines[index] ? index : STATUS_BASE_500;
}

AP_DECLARE(const char *) ap_get_status_line(int status)
{
    return status_lines[ap_index_of_response(status)];
}

AP_DECLARE(const char *) ap_get_status_line_ex(apr_pool_t *p, int status)
{
    const int index = ap_index_of_response(status);

    if (index != STATUS_BASE_500 || status == HTTP_INTERNAL_SERVER_ERROR || status < 100)
        return status_lines[index];
    return apr_psprintf(p, "%i Status %i", status, status);
}

AP_DECLARE(int) ap_map_http_request_error(apr_status_t rv, int status)
{
    switch (rv) {
    case AP_FILTER_ERROR:
        return AP_FILTER_ERROR;
    case APR_EGENERAL:
        return HTTP_BAD_REQUEST;
    case APR_ENOSPC:
        return HTTP_REQUEST_ENTITY_TOO_LARGE;
    case APR_ENOTIMPL:
        return HTTP_NOT_IMPLEMENTED;
    case APR_TIMEUP:
    case APR_ETIMEDOUT:
        return HTTP_REQUEST_TIME_OUT;
    case APR_ENOMEM: /* no fault of the client's */
        return HTTP_INTERNAL_SERVER_ERROR;
    default:
        return status;
    }
}

ap_expr_info_t status_default_document;

/* The configuration's expression; NULL = none. */
static char *status_expr_string(request_rec *r, const core_dir_config *conf, int index)
{
    const char *err = NULL, *text;
    ap_expr_info_t *expr;

    BRG_ASSERT(index >= 0 && index < RESPONSE_CODES);
    if (!conf->response_code_exprs)
        return NULL;
    expr = apr_hash_get(conf->response_code_exprs, &index, sizeof(index));
    if (!expr)
        return NULL;
    if (expr == &status_default_document)
        return NULL;
    if (expr_name_all(r, expr))
        request_mark_volatile(r, "core.c", "the expression of ErrorDocument looks at the request");
    text = ap_expr_str_exec(r, expr, &err);
    if (err) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02841) "core: ErrorDocument: can't evaluate require expression: %s",
                      err);
        return NULL;
    }
    return (char *)text;
}

char *ap_response_code_string(request_rec *r, int error_index)
{
    const core_request_config *req = ap_get_core_module_config(r->request_config);

    if (req->response_code_strings && req->response_code_strings[error_index])
        return req->response_code_strings[error_index];
    return status_expr_string(r, ap_get_core_module_config(r->per_dir_config), error_index);
}
