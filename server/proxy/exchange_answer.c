/* SPDX-License-Identifier: Apache-2.0 */
/* The backend's answer on its way to the client: its fields into r, its pieces into the output filters. */
#include "exchange_private.h"
#include "connection.h"
#include "proxy_fields.h"
#include "http_field_traits.h"
#include "http_fields.h"
#include "request_context.h"
#include "brigade/assert.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy_http);

/* Named by the backend's Connection field. */
static int answer_is_named(request_rec *r, const char *connection, const char *name)
{
    return connection && ap_find_token(r->pool, connection, name);
}

/* Those of a forward proxy go as they are. */
static const char *answer_reversed(proxy_exchange *x, proxy_answer_rule rule, const char *value)
{
    proxy_reversal v;

    if (x->r->proxyreq != PROXYREQ_REVERSE)
        return value;
    v = proxy_reversal_of(x->r);
    return rule == PROXY_ANSWER_URL ? proxy_reverse_url(&v, x->pool, value)
                                    : proxy_reverse_cookie(&v, x->pool, value);
}

static void answer_field(proxy_exchange *x, const char *name, apr_size_t len, const char *value)
{
    const proxy_answer_rule rule = proxy_answer_rule_of(name, len);

    if (rule == PROXY_ANSWER_STAYS)
        return;
    if (rule != PROXY_ANSWER_GOES)
        value = answer_reversed(x, rule, value);
    apr_table_addn(x->r->headers_out, name, value);
}

void exchange_field(proxy_exchange *x, const char *name, const char *value)
{
    answer_field(x, name, strlen(name), value);
}

/* The head in one piece, in the request's pool, with NULs behind names and values. */
static char *answer_copy(request_rec *r, const http_head *head, const char *end)
{
    const apr_size_t len = (apr_size_t)(end - head->line);
    char *copy = apr_pstrmemdup(r->pool, head->line, len);

    for (int i = 0; i < head->n_fields; i++) {
        const http_field *f = &head->field[i];

        copy[f->name + f->name_len - head->line] = '\0';
        copy[f->value + f->value_len - head->line] = '\0';
    }
    return copy;
}

static const char *answer_head_end(const http_head *head)
{
    const http_field *last = head->n_fields ? &head->field[head->n_fields - 1] : NULL;

    return last ? last->value + last->value_len : head->line + head->line_len;
}

/* @return the first Content-Type, or NULL */
static const char *answer_fields(proxy_exchange *x, const http_head *head)
{
    request_rec *r = x->r;
    const char *end = answer_head_end(head), *connection = NULL, *type = NULL;
    char *copy = answer_copy(r, head, end);
    const int at = head->known[HTTP_F_CONNECTION];

    if (at >= 0)
        connection = copy + (head->field[at].value - head->line);
    for (int i = 0; i < head->n_fields; i++) {
        const http_field *f = &head->field[i];
        const char *name = copy + (f->name - head->line), *value = copy + (f->value - head->line);

        if (answer_is_named(r, connection, name))
            continue;
        answer_field(x, name, f->name_len, value);
        if (f->name_len == 12 && !type && !strcasecmp(name, "Content-Type"))
            type = value;
    }
    return type;
}

static void answer_via(proxy_exchange *x)
{
    request_rec *r = x->r;
    const proxy_server_settings *conf = proxy_settings_of(r->server);

    if (conf->via == PROXY_VIA_BLOCK)
        apr_table_unset(r->headers_out, "Via");
    if (conf->via != PROXY_VIA_ON && conf->via != PROXY_VIA_FULL)
        return;
    apr_table_mergen(r->headers_out, "Via", proxy_via_value(r, conf->via));
}

static const char *answer_line(apr_pool_t *p, int code, const char *reason, apr_size_t len)
{
    char *line = apr_palloc(p, len + sizeof "200 ");

    BRG_ASSERT(code >= 100 && code <= 999);
    line[0] = (char)('0' + code / 100);
    line[1] = (char)('0' + code / 10 % 10);
    line[2] = (char)('0' + code % 10);
    line[3] = ' ';
    memcpy(line + 4, reason, len);
    line[len + 4] = '\0';
    return line;
}

void exchange_status(proxy_exchange *x, int code, const char *reason, apr_size_t len)
{
    request_rec *r = x->r;

    if (!x->codec->beside_own || code < 200)
        r->headers_out = apr_table_make(r->pool, 16);
    r->status = x->answer.code = code;
    r->status_line = reason ? answer_line(r->pool, code, reason, len) : NULL;
}

static void answer_fields_done(proxy_exchange *x, const char *type)
{
    answer_via(x);
    if (type)
        ap_set_content_type(x->r, type);
}

void exchange_fields_done(proxy_exchange *x)
{
    answer_fields_done(x, apr_table_get(x->r->headers_out, "Content-Type"));
}

/* The new protocol is said once more: both fields are of one connection. */
static void answer_switches(request_rec *r, const http_head *head)
{
    const int at = head->known[HTTP_F_UPGRADE];
    const http_field *f = at >= 0 ? &head->field[at] : NULL;

    if (f)
        apr_table_setn(r->headers_out, "Upgrade", apr_pstrmemdup(r->pool, f->value, f->value_len));
    apr_table_setn(r->headers_out, "Connection", "Upgrade");
}

void exchange_head(proxy_exchange *x, const http_head *head)
{
    const char *reason;
    const apr_size_t len = h1_response_reason(head, &reason);

    exchange_status(x, head->code, reason, len);
    answer_fields_done(x, answer_fields(x, head));
    if (head->code == HTTP_SWITCHING_PROTOCOLS)
        answer_switches(x->r, head);
}

static int request_head(proxy_exchange *x, http_head *head)
{
    exchange_head(x, head);
    return 1;
}

static void request_trailer(proxy_exchange *x, const http_field *f)
{
    apr_table_addn(x->r->trailers_out, apr_pstrmemdup(x->pool, f->name, f->name_len),
                   apr_pstrmemdup(x->pool, f->value, f->value_len));
}

void exchange_log(const char *file, int line, int module_index, int level, apr_status_t error,
                  const proxy_exchange *x, const char *fmt, ...)
{
    char text[MAX_STRING_LEN];
    va_list args;

    va_start(args, fmt);
    (void)apr_vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (x->r)
        ap_log_rerror(file, line, module_index, level, error, x->r, "%s", text);
    else
        ap_log_cerror(file, line, module_index, level, error, x->client, "%s", text);
}

void exchange_interim_begin(proxy_exchange *x, int code)
{
    request_rec *r = x->r;

    BRG_ASSERT(!x->answer.begun && code < 200);
    x->interim.status = r->status;
    x->interim.line = r->status_line;
    x->interim.fields = r->headers_out;
    if (++x->answer.interims > EXCHANGE_INTERIM_MOST)
        x->answer.bad = "too many interim answers";
    x->body.holds = 0;
    if (code == HTTP_CONTINUE)
        atomic_store_explicit(&x->target->worker->says_100, 1, memory_order_relaxed);
    exchange_status(x, code, NULL, 0);
}

void exchange_interim_end(proxy_exchange *x)
{
    request_rec *r = x->r;

    apr_table_unset(r->headers_out, "Content-Length"); /* RFC 9110, 8.6 */
    if (!x->answer.bad)
        ap_send_interim_response(r, 1);
    r->status = x->interim.status;
    r->status_line = x->interim.line;
    r->headers_out = x->interim.fields;
}

void exchange_head_done(proxy_exchange *x)
{
    BRG_ASSERT(!x->answer.begun && !x->answer.passed);
    x->answer.begun = 1;
    x->told.waited = exchange_now(x) - x->attempt.chosen_at;
    x->sink->answered(x);
}

static void request_answered(proxy_exchange *x)
{
    request_rec *r = x->r;

    BRG_ASSERT(r->status >= 101);
    x->told.received = (uint16_t)r->status;
    x->told.error = NULL;
    proxy_answered(r, x->target, r->status, x->told.waited);
    x->status = OK;
    if (r->status != HTTP_SWITCHING_PROTOCOLS && proxy_overrides(r, r->status)) {
        x->answer.swallow = 1;
        x->status = r->status;
        r->status = HTTP_OK;
        apr_table_setn(r->subprocess_env, "proxy-error-override", "1");
    }
    if (x->codec->path_field)
        exchange_look_here(x);
    if (x->conf.status_field)
        proxy_tell_field(r, &x->told, x->answer.swallow);
}

/* Pieces go at once where nothing more is here: the client of a slow or endless answer waits for each. */
static int answer_flushes(const proxy_exchange *x)
{
    return !x->answer.complete && !exchange_has_more(x);
}

void exchange_client_left(proxy_exchange *x)
{
    apr_brigade_cleanup(x->in);
    if (x->state == EXCHANGE_DONE)
        return;
    x->keep = 0;
    exchange_give_back(x);
    exchange_done(x, OK);
}

static void request_pass(proxy_exchange *x)
{
    request_rec *r = x->r;
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;

    if (x->answer.swallow) {
        apr_brigade_cleanup(x->in);
        return;
    }
    /* Trailers stand behind a body whose length is not told (but by the backend), as with Apache. */
    if (x->answer.complete && !APR_BRIGADE_EMPTY(x->in) && !apr_is_empty_table(r->trailers_out)) {
        if (ap_pass_brigade(r->output_filters, x->in) != APR_SUCCESS)
            r->connection->aborted = 1;
        apr_brigade_cleanup(x->in);
    }
    if (answer_flushes(x))
        APR_BRIGADE_INSERT_TAIL(x->in, apr_bucket_flush_create(alloc));
    if (x->answer.complete)
        APR_BRIGADE_INSERT_TAIL(x->in, apr_bucket_eos_create(alloc));
    x->answer.passed = 1;
    if (ap_pass_brigade(r->output_filters, x->in) != APR_SUCCESS || r->connection->aborted) {
        exchange_client_left(x);
        return;
    }
    apr_brigade_cleanup(x->in);
}

/* The answer cannot be completed: its client must see that. */
static void request_cut(proxy_exchange *x)
{
    request_rec *r = x->r;
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;

    BRG_ASSERT(x->answer.passed && !x->answer.complete);
    r->connection->keepalive = AP_CONN_CLOSE;
    apr_brigade_cleanup(x->in);
    APR_BRIGADE_INSERT_TAIL(x->in, ap_bucket_error_create(HTTP_BAD_GATEWAY, NULL, r->pool, alloc));
    APR_BRIGADE_INSERT_TAIL(x->in, ap_bucket_eoc_create(alloc));
    APR_BRIGADE_INSERT_TAIL(x->in, apr_bucket_eos_create(alloc));
    (void)ap_pass_brigade(r->output_filters, x->in);
    apr_brigade_cleanup(x->in);
}

static const request_sink *request_stores(proxy_exchange *x)
{
    return request_sink_of(x->r);
}

static int request_works(const proxy_exchange *x)
{
    return !brg_output_is_plain(x->r);
}

static int request_is_behind(proxy_exchange *x)
{
    return exchange_is_behind(x, connection_of(x->client));
}

const proxy_sink proxy_sink_request = {.interims = 1,
                                       .request = proxy_request_head,
                                       .head = request_head,
                                       .answered = request_answered,
                                       .trailer = request_trailer,
                                       .pass = request_pass,
                                       .stores = request_stores,
                                       .cut = request_cut,
                                       .works = request_works,
                                       .is_behind = request_is_behind};
