/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a parsed head of any version of HTTP to a request_rec. request_line.c takes the request line,
 * this file everything else.
 *
 * The head's bytes are copied once into the request's pool; the_request and all fields are strings
 * inside that copy, made so by writing NULs over the delimiters. Behind it, in the same allocation,
 * the target has two copies: unparsed_uri stays as it was sent, uri and args are decoded and changed
 * in their places by modules, and neither may end or change the_request. A head whose parts do not lie
 * in one piece is joined in the same way.
 */
#include "core_settings.h"
#include "regex_limits.h"
#include "request_context.h"
#include "request_line_private.h"
#include "request_parts.h"
#include "http_fields.h"
#include "brigade/loop.h"
#include "http_config.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_vhost.h"
#include "mod_core.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/memory.h"
#include "memory_settings.h"
#include "brigade/assert.h"
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

/* ---- fields ---- */

/* @a copy: the bytes from head->line on, in r->pool. */
static void request_take_fields(request_rec *r, const http_head *head, char *copy)
{
    uint64_t seen = 0;
    int maybe_twice = 0;

    for (int i = 0; i < head->n_fields; i++) {
        const http_field *f = &head->field[i];
        char *name = copy + (f->name - head->line), *value = copy + (f->value - head->line);
        const uint64_t bit = (uint64_t)1 << http_name_bit(f->name, f->name_len);

        BRG_ASSERT_DEBUG(f->name >= head->line && f->value >= f->name + f->name_len);
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

/* A string of its own at *to, which moves behind it. */
static char *request_put(char **to, const char *text, size_t len)
{
    char *made = *to;

    memcpy(made, text, len);
    made[len] = '\0';
    *to = made + len + 1;
    return made;
}

/* Fields that do not lie in one piece. */
static void request_copy_each(request_rec *r, const http_head *head, char *to)
{
    for (int i = 0; i < head->n_fields; i++) {
        const http_field *f = &head->field[i];
        const char *name = request_put(&to, f->name, f->name_len);

        apr_table_addn(r->headers_in, name, request_put(&to, f->value, f->value_len));
    }
    apr_table_compress(r->headers_in, APR_OVERLAP_TABLES_MERGE);
}

static size_t request_fields_size(const http_head *head)
{
    size_t size = 0;

    for (int i = 0; i < head->n_fields; i++)
        size += (size_t)head->field[i].name_len + head->field[i].value_len + 2;
    return size;
}

/* A host outside of the fields replaces Host (RFC 9113 section 8.3.1). */
static void request_take_authority(request_rec *r, const http_head *head)
{
    if (head->authority)
        apr_table_setn(r->headers_in, "Host",
                       apr_pstrmemdup(r->pool, head->authority, head->authority_len));
}

/* The end of the last field value: bytes behind it are not copied. */
static const char *request_head_end(const http_head *head)
{
    const http_field *last;

    if (!head->n_fields || head->status)
        return head->line + head->line_len;
    last = &head->field[head->n_fields - 1];
    return last->value + last->value_len;
}

/* @return the room for the target's copies, behind the head's */
static char *request_copy_head(request_rec *r, const http_head *head)
{
    const size_t len = (size_t)(request_head_end(head) - head->line);
    char *copy = apr_palloc(r->pool, len + 1 + request_target_room(head));

    BRG_ASSERT(len >= head->line_len);
    memcpy(copy, head->line, len);
    brg_buffer_copied(len);
    copy[len] = '\0';
    copy[head->line_len] = '\0';
    r->the_request = copy;
    if (!head->status)
        request_take_fields(r, head, copy);
    return copy + len + 1;
}

/* The request line that HTTP/1 would have sent: logs and modules show it. */
static void request_line_of(const http_head *head, char *to)
{
    BRG_ASSERT(head->method && head->uri);
    to = mempcpy(to, head->method, head->method_len);
    *to++ = ' ';
    to = mempcpy(to, head->uri, head->uri_len);
    *to++ = ' ';
    to = mempcpy(to, head->protocol, head->protocol_len);
    *to = '\0';
}

/* As request_copy_head(), of a head whose parts lie apart. */
static char *request_join_head(request_rec *r, const http_head *head)
{
    const size_t line = (size_t)head->method_len + head->uri_len + head->protocol_len + 3,
                 fields = request_fields_size(head);
    char *copy = apr_palloc(r->pool, line + fields + request_target_room(head));

    request_line_of(head, copy);
    r->the_request = copy;
    request_copy_each(r, head, copy + line);
    return copy + line + fields;
}

static int request_expectation(request_rec *r, const http_head *head)
{
    const char *expect;

    if (head->known[HTTP_F_EXPECT] < 0)
        return OK;
    BRG_ASSERT(head->known[HTTP_F_EXPECT] < head->n_fields);
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
    BRG_ASSERT(status != OK && status != HTTP_OK);
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
        /* The client's bytes are escaped by the log. */
        BRG_ASSERT(head->why != NULL);
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

/* A refused request without Host, but with an absolute target: the error page is that of the target's server. */
static void request_server_of_target(request_rec *r, const http_head *head)
{
    if (!head->no_host || head->uri[0] == '/')
        return;
    request_parse_uri(r, apr_pstrmemdup(r->pool, head->uri, head->uri_len));
    if (r->status == HTTP_OK && r->hostname) {
        ap_update_vhost_from_headers(r);
        memory_request_use_server(r);
        r->per_dir_config = r->server->lookup_defaults;
    }
    r->status = HTTP_OK;
}

request_rec *request_create(conn_rec *c, const http_head *head)
{
    request_rec *r = ap_create_request(c);
    char *room = NULL;
    int status;

    BRG_ASSERT(!r->main && !r->prev);
    ap_run_pre_read_request(r, c);
    if (head->line)
        room = request_copy_head(r, head);
    else if (head->method && head->uri)
        room = request_join_head(r, head);
    else
        r->the_request = apr_pstrdup(r->pool, "");
    request_take_authority(r, head);
    if (!head->has_body && head->known[HTTP_F_CONTENT_LENGTH] < 0 &&
        head->known[HTTP_F_TRANSFER_ENCODING] < 0 && !head->status)
        request_mark_bodyless(r);
    status = request_take_line_in(r, head, room);
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
    memory_request_use_server(r);
    r->per_dir_config = r->server->lookup_defaults;
    if (r->status != HTTP_OK) {
        request_refuse(r, r->status);
        return r;
    }
    /* After a refused Expect it is not known whether the client sends its body, so the connection ends. */
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
    /* Only a forward proxy may be asked for other schemes than http's. */
    if (!r->proxyreq && scheme && strcasecmp(scheme, "http") && strcasecmp(scheme, "https")) {
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, "invalid scheme in URI: %s", r->unparsed_uri);
        return HTTP_BAD_REQUEST;
    }
    return OK;
}
