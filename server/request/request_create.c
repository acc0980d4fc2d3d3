/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a parsed head of any version of HTTP to a request_rec.
 *
 * The head's bytes are copied once into the request's pool; the_request, the target and all fields
 * are strings inside that copy, made so by writing NULs over the delimiters. A head whose fields do
 * not lie in one piece has them copied one by one.
 */
#include "core_settings.h"
#include "regex_limits.h"
#include "request_parts.h"
#include "brigade/loop.h"
#include "http_config.h"
#include "http_log.h"
#include "http_main.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_vhost.h"
#include "mod_core.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/memory.h"
#include "memory_settings.h"
#include <string.h>

APLOG_USE_MODULE(core);

AP_DECLARE(request_rec *) ap_create_request(conn_rec *c)
{
    apr_pool_t *p;
    request_rec *r;

    brg_pool_create_scoped(&p, c->pool, BRG_SCOPE_REQUEST);
    apr_pool_tag(p, "request");
    r = apr_pcalloc(p, sizeof(*r));
    r->pool = p;
    r->connection = c;
    r->server = c->base_server;
    r->allowed_methods = ap_make_method_list(p, 2);
    r->headers_in = apr_table_make(p, 25);
    r->trailers_in = apr_table_make(p, 5);
    r->subprocess_env = apr_table_make(p, 25);
    r->headers_out = apr_table_make(p, 12);
    r->err_headers_out = apr_table_make(p, 5);
    r->trailers_out = apr_table_make(p, 5);
    r->notes = apr_table_make(p, 5);
    r->request_config = ap_create_request_config(p);
    r->per_dir_config = r->server->lookup_defaults;
    r->proto_output_filters = c->output_filters;
    r->output_filters = r->proto_output_filters;
    r->proto_input_filters = c->input_filters;
    r->input_filters = r->proto_input_filters;
    r->read_body = REQUEST_NO_BODY;
    r->status = HTTP_OK;
    r->used_path_info = AP_REQ_DEFAULT_PATH_INFO;
    r->useragent_addr = c->client_addr;
    r->useragent_ip = c->client_ip;
    r->request_time = brg_now();
    ap_run_create_request(r);
    return r;
}

/* ---- the request line ---- */

/* An absolute path, optionally with a query: nearly all requests. The rest is apr_uri_parse's. */
static int request_origin_form(request_rec *r, const char *target)
{
    const char *query = strchr(target, '?');

    r->parsed_uri.is_initialized = 1;
    r->parsed_uri.path = query ? apr_pstrmemdup(r->pool, target, (apr_size_t)(query - target))
                               : apr_pstrdup(r->pool, target);
    r->parsed_uri.query = query ? apr_pstrdup(r->pool, query + 1) : NULL;
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
    /* http and https are ours under any spelling; the host of an absolute target outweighs the Host
     * field. */
    if (r->parsed_uri.scheme && !strcasecmp(r->parsed_uri.scheme, ap_http_scheme(r)))
        r->hostname = r->parsed_uri.hostname;
    else if (r->method_number == M_CONNECT)
        r->hostname = r->parsed_uri.hostname;
    return OK;
}

/* As ap_parse_uri(), of a text that is in r's pool and stays as it is. */
static void request_parse_uri(request_rec *r, char *uri)
{
    int status = OK;

    r->unparsed_uri = uri;
    memset(&r->parsed_uri, 0, sizeof(r->parsed_uri));
    /* Several slashes at the start are one, also with MergeSlashes Off, and never the start of an authority: sections
     * and rules are written for paths that begin with one. */
    while (uri[0] == '/' && uri[1] == '/')
        uri++;
    status = uri[0] == '/' && !strchr(uri, '#') && r->method_number != M_CONNECT
                 ? request_origin_form(r, uri)
                 : request_other_form(r, uri);
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
    else if (head->protocol_len == 8)
        r->protocol = apr_pstrmemdup(r->pool, head->protocol, 8);
    else
        r->protocol = (char *)"HTTP/1.0";
    r->proto_num =
        head->major || head->minor ? HTTP_VERSION(head->major, head->minor) : HTTP_VERSION(1, 0);
    r->assbackwards = head->major == 0 && head->minor == 9;
}

/* An absolute path; the server as a whole has options and nothing else. */
static int request_path_ok(const request_rec *r)
{
    return r->uri[0] == '/' || r->method_number == M_CONNECT ||
           (r->method_number == M_OPTIONS && r->uri[0] == '*' && r->uri[1] == '\0');
}

/* The next word of a request line that may not be well formed, or @a none. */
static char *request_line_word(apr_pool_t *p, const char **at, const char *end, const char *none)
{
    const char *start;

    while (*at < end && apr_isspace(**at))
        (*at)++;
    for (start = *at; *at < end && !apr_isspace(**at);)
        (*at)++;
    return *at > start ? apr_pstrmemdup(p, start, (apr_size_t)(*at - start)) : apr_pstrdup(p, none);
}

/* Of a refused request line, what stands where its method and target should be. No part of a line that is too long
 * counts. @return the target */
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

int request_take_line(request_rec *r, const http_head *head)
{
    request_set_version(r, head);
    r->method = request_method(r, head);
    r->method_number = ap_method_number_of(r->method);
    r->header_only = r->method_number == M_GET && r->method[0] == 'H';
    if (head->status) {
        request_take_refused(r, head);
        return head->status;
    }
    request_parse_uri(r, apr_pstrmemdup(r->pool, head->uri, head->uri_len));
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

/* ---- fields ---- */

static unsigned request_name_bit(const char *name, size_t len)
{
    return (unsigned)(len * 7 + (unsigned)(name[0] | 0x20) + 3 * (unsigned)(name[len - 1] | 0x20)) &
           63;
}

/* @a copy is the pool's copy of the bytes from head->line on. */
static void request_take_fields(request_rec *r, const http_head *head, char *copy)
{
    uint64_t seen = 0;
    int maybe_twice = 0;

    for (int i = 0; i < head->n_fields; i++) {
        const http_field *f = &head->field[i];
        char *name = copy + (f->name - head->line), *value = copy + (f->value - head->line);
        const uint64_t bit = (uint64_t)1 << request_name_bit(f->name, f->name_len);

        name[f->name_len] = '\0';
        value[f->value_len] = '\0';
        apr_table_addn(r->headers_in, name, value);
        maybe_twice |= (seen & bit) != 0;
        seen |= bit;
    }
    /* Several lines of one name become one value, as handlers expect. */
    if (maybe_twice)
        apr_table_compress(r->headers_in, APR_OVERLAP_TABLES_MERGE);
}

/* Fields that do not lie in one piece. */
static void request_copy_fields(request_rec *r, const http_head *head)
{
    for (int i = 0; i < head->n_fields; i++) {
        const http_field *f = &head->field[i];

        apr_table_addn(r->headers_in, apr_pstrmemdup(r->pool, f->name, f->name_len),
                       apr_pstrmemdup(r->pool, f->value, f->value_len));
    }
    apr_table_compress(r->headers_in, APR_OVERLAP_TABLES_MERGE);
}

/* A host that was named beside the fields stands for Host (RFC 9113 section 8.3.1). */
static void request_take_authority(request_rec *r, const http_head *head)
{
    if (head->authority)
        apr_table_setn(r->headers_in, "Host",
                       apr_pstrmemdup(r->pool, head->authority, head->authority_len));
}

/* The request line that HTTP/1 would have sent: logs and modules show it. */
static char *request_line_of(request_rec *r, const http_head *head)
{
    return apr_psprintf(r->pool, "%.*s %.*s %.*s", (int)head->method_len, head->method,
                        (int)head->uri_len, head->uri, (int)head->protocol_len, head->protocol);
}

static void request_copy_head(request_rec *r, const http_head *head, const char *buf_end)
{
    const size_t len =
        head->n_fields && !head->status ? (size_t)(buf_end - head->line) : head->line_len;
    char *copy = apr_palloc(r->pool, len + 1);

    memcpy(copy, head->line, len);
    copy[len] = '\0';
    copy[head->line_len] = '\0';
    r->the_request = copy;
    if (!head->status)
        request_take_fields(r, head, copy);
}

/* End of the last field value, within the head: the copy needs nothing behind it. */
static const char *request_head_end(const http_head *head)
{
    const http_field *last;

    if (!head->n_fields)
        return head->line + head->line_len;
    last = &head->field[head->n_fields - 1];
    return last->value + last->value_len;
}

static int request_expectation(request_rec *r, const http_head *head)
{
    const char *expect;

    if (head->known[HTTP_F_EXPECT] < 0)
        return OK;
    expect = apr_table_get(r->headers_in, "Expect");
    if (!expect || !*expect)
        return OK;
    if (strcasecmp(expect, "100-continue") != 0) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      APLOGNO(00570) "client sent an unrecognized expectation value of "
                                     "Expect: %s",
                      expect);
        return HTTP_EXPECTATION_FAILED;
    }
    r->expecting_100 = r->proto_num >= HTTP_VERSION(1, 1);
    return OK;
}

static void request_refuse(request_rec *r, int status)
{
    r->status = status;
    r->connection->keepalive = AP_CONN_CLOSE;
}

static void request_log_bad(request_rec *r, const http_head *head)
{
    const int level = head->bad_is_long ? APLOG_INFO : APLOG_DEBUG;

    if (head->status == HTTP_REQUEST_URI_TOO_LARGE) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      APLOGNO(00565) "request failed: client's request-line exceeds "
                                     "LimitRequestLine (longer than %d)",
                      r->server->limit_req_line);
    } else {
        /* The bytes are a stranger's: the log escapes them. */
        ap_log_rerror(APLOG_MARK, level, 0, r, head->why, (int)head->bad_len,
                      head->bad ? head->bad : "", r->unparsed_uri);
    }
    if (head->bad_is_field) {
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      APLOGNO(00567) "request failed: error reading the headers");
    }
    if (head->note)
        apr_table_setn(r->notes, "error-notes", head->note);
}

/* An absolute target names a server even if Host does not: that one's error page it is. */
static void request_server_of_target(request_rec *r, const http_head *head)
{
    if (!head->no_host || head->uri[0] == '/')
        return;
    request_parse_uri(r, apr_pstrmemdup(r->pool, head->uri, head->uri_len));
    if (r->status == HTTP_OK && r->hostname) {
        ap_update_vhost_from_headers(r);
        memory_request_settle(r);
        r->per_dir_config = r->server->lookup_defaults;
    }
    r->status = HTTP_OK;
}

request_rec *request_create(conn_rec *c, const http_head *head)
{
    request_rec *r = ap_create_request(c);
    int status;

    ap_run_pre_read_request(r, c);
    if (head->line) {
        request_copy_head(r, head, request_head_end(head));
    } else if (head->method && head->uri) {
        r->the_request = request_line_of(r, head);
        request_copy_fields(r, head);
    } else {
        r->the_request = apr_pstrdup(r->pool, "");
    }
    request_take_authority(r, head);
    status = request_take_line(r, head);
    ap_add_input_filter_handle(ap_http_input_filter_handle, NULL, r, c);
    if (r->assbackwards)
        c->keepalive = AP_CONN_CLOSE;
    if (status != OK) {
        if (head->status) {
            request_server_of_target(r, head);
            request_log_bad(r, head);
        }
        request_refuse(r, status);
        return r;
    }
    ap_update_vhost_from_headers(r);
    memory_request_settle(r);
    r->per_dir_config = r->server->lookup_defaults;
    if (r->status != HTTP_OK) {
        request_refuse(r, r->status);
        return r;
    }
    /* Whether the client sends the body that it announced is not known, nor where its next request begins. */
    status = request_expectation(r, head);
    if (status != OK)
        request_refuse(r, status);
    return r;
}

AP_DECLARE(int) ap_check_request_header(request_rec *r)
{
    const char *host;

    ap_update_vhost_from_headers(r);
    r->per_dir_config = r->server->lookup_defaults;
    if (r->status != HTTP_OK)
        return 0;
    host = apr_table_get(r->headers_in, "Host");
    if ((!r->hostname && r->proto_num >= HTTP_VERSION(1, 1)) ||
        (r->proto_num == HTTP_VERSION(1, 1) && !host)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00569) "client sent HTTP/1.1 request without hostname (see RFC2616 "
                                     "section 14.23): %s",
                      r->uri);
        r->status = HTTP_BAD_REQUEST;
        return 0;
    }
    return 1;
}

AP_DECLARE(int) ap_post_read_request(request_rec *r)
{
    const char *scheme = r->parsed_uri.scheme;
    const unsigned failures = regex_failures();
    const int status = ap_run_post_read_request(r);

    if (regex_failures() != failures)
        return HTTP_INTERNAL_SERVER_ERROR; /* see request_internal() */
    if (status != OK && status != DECLINED)
        return status;
    /* Only a forward proxy may be asked for what is not of http. */
    if (!r->proxyreq && scheme && strcasecmp(scheme, "http") && strcasecmp(scheme, "https")) {
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, "invalid scheme in URI: %s", r->unparsed_uri);
        return HTTP_BAD_REQUEST;
    }
    return OK;
}
