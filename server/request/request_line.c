/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request line of a parsed head: method, protocol version, and the target as a URI. The parts of
 * a refused line are filled in as far as they are known: access logs show them.
 */
#include "core_settings.h"
#include "request_line_private.h"
#include "request_parts.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(core);

/* An absolute path, maybe with a query: nearly all requests. apr_uri_parse() takes the others.
 * @param target  is taken apart */
static int request_origin_form(request_rec *r, char *target)
{
    char *query = strchr(target, '?');

    BRG_ASSERT(target[0] == '/');
    if (query)
        *query++ = '\0';
    r->parsed_uri.is_initialized = 1;
    r->parsed_uri.path = target;
    r->parsed_uri.query = query;
    return OK;
}

static int request_other_form(request_rec *r, const char *target)
{
    apr_status_t rv;

    if (r->method_number == M_CONNECT)
        rv = apr_uri_parse_hostinfo(r->pool, target, &r->parsed_uri);
    else
        rv = apr_uri_parse(r->pool, target, &r->parsed_uri);
    if (rv != APR_SUCCESS)
        return HTTP_BAD_REQUEST;
    /* The host of an absolute target outweighs the Host field. */
    if (r->parsed_uri.scheme && !strcasecmp(r->parsed_uri.scheme, ap_http_scheme(r)))
        r->hostname = r->parsed_uri.hostname;
    else if (r->method_number == M_CONNECT)
        r->hostname = r->parsed_uri.hostname;
    return OK;
}

static int request_is_origin_form(const request_rec *r, const char *uri)
{
    return uri[0] == '/' && !strchr(uri, '#') && r->method_number != M_CONNECT;
}

/* @param copy  the same once more, to be taken apart, or NULL */
static void request_set_uri(request_rec *r, char *uri, char *copy)
{
    int status = OK;

    BRG_ASSERT(r && uri && r->pool);
    r->unparsed_uri = uri;
    memset(&r->parsed_uri, 0, sizeof(r->parsed_uri));
    /* Several slashes at the start count as one, also with MergeSlashes Off, and never start an authority: sections
     * and rules are written for paths that start with one. */
    while (uri[0] == '/' && uri[1] == '/')
        uri++;
    if (!request_is_origin_form(r, uri))
        status = request_other_form(r, uri);
    else
        status = request_origin_form(r, copy ? copy + (uri - r->unparsed_uri)
                                             : apr_pstrdup(r->pool, uri));
    if (status != OK) {
        r->args = NULL;
        r->hostname = NULL;
        r->status = status;
        r->uri = apr_pstrdup(r->pool, uri);
        return;
    }
    r->args = r->parsed_uri.query;
    r->uri = r->parsed_uri.path ? r->parsed_uri.path : apr_pstrdup(r->pool, "/");
}

void request_parse_uri(request_rec *r, char *uri)
{
    request_set_uri(r, uri, NULL);
}

AP_CORE_DECLARE(void) ap_parse_uri(request_rec *r, const char *uri)
{
    request_parse_uri(r, apr_pstrdup(r->pool, uri));
}

static const char *request_method(request_rec *r, const http_head *head)
{
    switch (head->method_id) {
    case HTTP_METHOD_GET:
        return "GET";
    case HTTP_METHOD_HEAD:
        return "HEAD";
    case HTTP_METHOD_POST:
        return "POST";
    case HTTP_METHOD_OPTIONS:
        return "OPTIONS";
    case HTTP_METHOD_TRACE:
        return "TRACE";
    default:
        return head->method ? apr_pstrmemdup(r->pool, head->method, head->method_len) : "-";
    }
}

static void request_set_version(request_rec *r, const http_head *head)
{
    if (head->major == 1 && head->minor <= 1)
        r->protocol = (char *)(head->minor ? "HTTP/1.1" : "HTTP/1.0");
    else if (head->major == 2 && !head->minor)
        r->protocol = (char *)"HTTP/2.0";
    else if (head->protocol_len == 8)
        r->protocol = apr_pstrmemdup(r->pool, head->protocol, 8);
    else
        r->protocol = (char *)"HTTP/1.0";
    r->proto_num =
        head->major || head->minor ? HTTP_VERSION(head->major, head->minor) : HTTP_VERSION(1, 0);
    r->assbackwards = head->major == 0 && head->minor == 9;
}

/* An absolute path; "*", the server as a whole, for OPTIONS alone. */
static int request_path_ok(const request_rec *r)
{
    return r->uri[0] == '/' || r->method_number == M_CONNECT ||
           (r->method_number == M_OPTIONS && r->uri[0] == '*' && r->uri[1] == '\0');
}

/* The next word of a request line that may not be well formed, or @a none. */
static char *request_line_word(apr_pool_t *p, const char **at, const char *end, const char *none)
{
    const char *start;

    BRG_ASSERT(*at <= end);
    while (*at < end && apr_isspace(**at))
        (*at)++;
    for (start = *at; *at < end && !apr_isspace(**at);)
        (*at)++;
    return *at > start ? apr_pstrmemdup(p, start, (apr_size_t)(*at - start)) : apr_pstrdup(p, none);
}

/* Of a refused request line, the words in the places of method and target. Of a line that is too long, none.
 * @return the target */
static char *request_take_bad_line(request_rec *r, const http_head *head)
{
    const int whole = head->status != HTTP_REQUEST_URI_TOO_LARGE;
    const char *at = head->line, *end = at + (whole ? head->line_len : 0);

    r->method = request_line_word(r->pool, &at, end, "-");
    return request_line_word(r->pool, &at, end, whole ? "/" : "-");
}

/* Of a refused head, as much as is known: for access logs, and for modules that look at any request. */
static void request_take_refused(request_rec *r, const http_head *head)
{
    char *target;

    BRG_ASSERT(head->status != 0);
    r->assbackwards = 0;
    if (head->line)
        target = request_take_bad_line(r, head);
    else
        target = head->uri ? apr_pstrmemdup(r->pool, head->uri, head->uri_len)
                           : apr_pstrdup(r->pool, "-");
    request_parse_uri(r, target);
    r->hostname = NULL;
    r->status = HTTP_OK;
}

static void request_take_target(request_rec *r, const http_head *head, char *room)
{
    const size_t len = head->uri_len;

    BRG_ASSERT(room && head->uri);
    memcpy(room, head->uri, len);
    room[len] = '\0';
    request_set_uri(r, room, memcpy(room + len + 1, room, len + 1));
}

int request_take_line(request_rec *r, const http_head *head)
{
    return request_take_line_in(r, head, apr_palloc(r->pool, request_target_room(head)));
}

int request_take_line_in(request_rec *r, const http_head *head, char *room)
{
    BRG_ASSERT(r->connection && r->server);
    request_set_version(r, head);
    r->method = request_method(r, head);
    BRG_ASSERT(r->method != NULL);
    r->method_number = ap_method_number_of(r->method);
    r->header_only = r->method_number == M_GET && r->method[0] == 'H';
    if (head->status) {
        request_take_refused(r, head);
        return head->status;
    }
    request_take_target(r, head, room);
    if (r->status != HTTP_OK || !request_path_ok(r)) {
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      APLOGNO(03450) "HTTP Request Line; Unable to parse URI: '%s'",
                      r->unparsed_uri);
        return HTTP_BAD_REQUEST;
    }
    if (r->parsed_uri.user || r->parsed_uri.password) {
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      APLOGNO(02422) "HTTP Request Line; URI must not contain a "
                                     "username/password");
        return HTTP_BAD_REQUEST;
    }
    if (r->method_number == M_INVALID &&
        core_server_conf_of(r->server)->http_methods == AP_HTTP_METHODS_REGISTERED)
        return HTTP_NOT_IMPLEMENTED;
    return OK;
}
