/* SPDX-License-Identifier: Apache-2.0 */
/* FastCGI 1.0, role responder. PHP-FPM serves one exchange of a connection at a time and its children wait for a connection
 * that is kept, so none is kept unless enablereuse= asks for it. BEGIN, PARAMS and the first bytes of the body leave in one write; the
 * body is complete by then. */
#include "proxy_fcgi_private.h"
#include "exchange_private.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(proxy_fcgi);

static void fcgi_header(unsigned char *h, int type, apr_size_t len, int padding)
{
    h[0] = FCGI_VERSION_1;
    h[1] = (unsigned char)type;
    h[2] = 0;
    h[3] = FCGI_ID;
    h[4] = (unsigned char)(len >> 8);
    h[5] = (unsigned char)len;
    h[6] = (unsigned char)padding;
    h[7] = 0;
}

/* ---- variables ---- */

static unsigned char *fcgi_length_put(unsigned char *p, apr_size_t n)
{
    if (n < 128) {
        *p++ = (unsigned char)n;
        return p;
    }
    *p++ = (unsigned char)(0x80 | n >> 24);
    *p++ = (unsigned char)(n >> 16);
    *p++ = (unsigned char)(n >> 8);
    *p++ = (unsigned char)n;
    return p;
}

static const char *fcgi_length_get(const char *at, apr_size_t *n)
{
    const unsigned char *p = (const unsigned char *)at;

    *n = *p;
    if (!(*p & 0x80))
        return at + 1;
    *n = (apr_size_t)(p[0] & 0x7f) << 24 | (apr_size_t)p[1] << 16 | (apr_size_t)p[2] << 8 | p[3];
    return at + 4;
}

static unsigned char *fcgi_pair_put(unsigned char *p, const char *name, apr_size_t name_len,
                                    const char *value, apr_size_t value_len)
{
    p = fcgi_length_put(fcgi_length_put(p, name_len), value_len);
    return mempcpy(mempcpy(p, name, name_len), value, value_len);
}

static const char *fcgi_pair_get(const char *p, script_pair *pair)
{
    pair->name = fcgi_length_get(fcgi_length_get(p, &pair->name_len), &pair->value_len);
    pair->value = pair->name + pair->name_len;
    return pair->value + pair->value_len;
}

/* Bytes that become variables, and where they stand. */
typedef struct fcgi_params {
    unsigned char *buf;
    apr_size_t at, room;
} fcgi_params;

static void fcgi_params_grow(apr_pool_t *p, fcgi_params *out, apr_size_t more)
{
    unsigned char *bigger;

    while (out->room < out->at + more)
        out->room *= 2;
    bigger = apr_palloc(p, out->room);
    memcpy(bigger, out->buf, out->at);
    out->buf = bigger;
}

/* @param behind  room to leave behind all */
static void fcgi_params_put(apr_pool_t *pool, const apr_table_t *env, fcgi_params *out,
                            apr_size_t behind)
{
    const apr_array_header_t *all = apr_table_elts(env);
    const apr_table_entry_t *e = (const void *)all->elts, *end = e + all->nelts;

    for (; e < end; e++) {
        const apr_size_t key = strlen(e->key), val = strlen(e->val),
                         most = SCRIPT_PAIR_MORE + key + val + behind;

        if (out->room - out->at < most)
            fcgi_params_grow(pool, out, most);
        out->at =
            (apr_size_t)(fcgi_pair_put(out->buf + out->at, e->key, key, e->val, val) - out->buf);
    }
}

/* Split content into records, in place: there is room in front of it for the first header. The last records move first.
 * @return where they end, an empty record included */
static unsigned char *fcgi_stream_split(unsigned char *to, int type, apr_size_t len)
{
    const apr_size_t records = (len + FCGI_RECORD - 1) / FCGI_RECORD;
    const unsigned char *content = to + FCGI_HEADER;

    for (apr_size_t i = records; i-- > 0;) {
        const apr_size_t at = i * FCGI_RECORD, n = len - at < FCGI_RECORD ? len - at : FCGI_RECORD;
        unsigned char *record = to + i * (FCGI_HEADER + FCGI_RECORD);

        if (i)
            memmove(record + FCGI_HEADER, content + at, n);
        fcgi_header(record, type, n, 0);
    }
    to += records * FCGI_HEADER + len;
    fcgi_header(to, type, 0, 0);
    return to + FCGI_HEADER;
}

static unsigned char *fcgi_request_put(unsigned char *to, int keep)
{
    fcgi_header(to, FCGI_BEGIN_REQUEST, 8, 0);
    memset(to + FCGI_HEADER, 0, 8);
    to[FCGI_HEADER + 1] = FCGI_RESPONDER;
    to[FCGI_HEADER + 2] = keep ? FCGI_KEEP_CONN : 0;
    return to + 2 * FCGI_HEADER;
}

/* Headers behind n bytes of variables: of records beyond the first, of the empty one, and of an empty body. */
static apr_size_t fcgi_headers_behind(apr_size_t n)
{
    return (n / FCGI_RECORD + 2) * FCGI_HEADER;
}

/* Variables that fit into a record. */
static apr_size_t fcgi_request_frame(unsigned char *to, apr_size_t n, int keep, apr_size_t *at)
{
    unsigned char *p;

    BRG_ASSERT(n && n <= FCGI_RECORD);
    *at = 0;
    p = fcgi_stream_split(fcgi_request_put(to, keep), FCGI_PARAMS, n);
    fcgi_header(p, FCGI_STDIN, 0, 0);
    return (apr_size_t)(p + FCGI_HEADER - to);
}

static const script_format fcgi_format = {.before = 3 * FCGI_HEADER,
                                          .behind = 2 * FCGI_HEADER,
                                          .put = fcgi_pair_put,
                                          .get = fcgi_pair_get,
                                          .frame = fcgi_request_frame};

static fcgi_state *fcgi_state_of(proxy_exchange *x)
{
    _Static_assert(sizeof(fcgi_state) <= sizeof x->room, "it lies in the exchange");
    return x->script = memset(x->room, 0, sizeof(fcgi_state));
}

/* @return 0: its variables are made here */
static int fcgi_begin_ahead(proxy_exchange *x, fcgi_state *s)
{
    if (!x->sink->ahead)
        return 0;
    s->bodiless = 1;
    exchange_out(x, x->sink->request(x));
    return 1;
}

static int fcgi_begin(proxy_exchange *x)
{
    const int keep = upstream_origin_settings(x->origin)->reuse;
    fcgi_params out = {.at = 3 * FCGI_HEADER, .room = FCGI_PARAMS_ROOM};
    unsigned char *p;
    apr_size_t n;
    fcgi_state *s = fcgi_state_of(x);

    x->keep = (uint8_t)keep;
    if (fcgi_begin_ahead(x, s))
        return OK;
    out.buf = apr_palloc(x->pool, out.room);
    fcgi_params_put(x->pool, x->variables, &out, fcgi_headers_behind(0));
    n = out.at - 3 * FCGI_HEADER;
    if (out.room - out.at < fcgi_headers_behind(n))
        fcgi_params_grow(x->pool, &out, fcgi_headers_behind(n));
    p = fcgi_stream_split(fcgi_request_put(out.buf, keep), FCGI_PARAMS, n);
    if (x->body.over && !x->body.read) {
        fcgi_header(p, FCGI_STDIN, 0, 0);
        p += FCGI_HEADER;
        s->bodiless = 1;
    }
    BRG_ASSERT((apr_size_t)(p - out.buf) <= out.room);
    exchange_out(
        x, apr_bucket_pool_create((char *)out.buf, (apr_size_t)(p - out.buf), x->pool, x->alloc));
    return OK;
}

/* One record for the bytes at hand, and an empty one at the end. */
static void fcgi_body(proxy_exchange *x, apr_bucket_brigade *bb, int last)
{
    apr_bucket_alloc_t *alloc = x->alloc;
    unsigned char header[FCGI_HEADER];

    while (!APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *e = APR_BRIGADE_FIRST(bb);

        if (e->length > FCGI_RECORD)
            apr_bucket_split(e, FCGI_RECORD);
        APR_BUCKET_REMOVE(e);
        if (!e->length) {
            apr_bucket_destroy(e);
            continue;
        }
        fcgi_header(header, FCGI_STDIN, e->length, 0);
        exchange_out(x, apr_bucket_heap_create((char *)header, FCGI_HEADER, NULL, alloc));
        exchange_out(x, e);
    }
    if (!last || ((const fcgi_state *)x->script)->bodiless)
        return;
    fcgi_header(header, FCGI_STDIN, 0, 0);
    exchange_out(x, apr_bucket_heap_create((char *)header, FCGI_HEADER, NULL, alloc));
}

/* ---- answers ---- */

/* PHP writes messages there. */
static void fcgi_log_errors(proxy_exchange *x, fcgi_state *s)
{
    const char *script =
        x->variables ? apr_table_get(x->variables, "SCRIPT_FILENAME") : x->target->url;

    if (!s->errors_n)
        return;
    exchange_log(APLOG_MARK, APLOG_ERR, 0, x, APLOGNO(01071) "Got error '%.*s', script: %s",
                 (int)s->errors_n, s->errors, script ? script : x->uri);
    s->errors_n = 0;
}

static void fcgi_errors(proxy_exchange *x, fcgi_state *s, const char *data, apr_size_t len)
{
    if (!s->errors)
        s->errors = apr_palloc(exchange_pool(x), FCGI_STDERR_MOST);
    while (len) {
        apr_size_t n = FCGI_STDERR_MOST - s->errors_n;

        if (n > len)
            n = len;
        memcpy(s->errors + s->errors_n, data, n);
        s->errors_n = (uint16_t)(s->errors_n + n);
        data += n;
        len -= n;
        if (s->errors_n == FCGI_STDERR_MOST)
            fcgi_log_errors(x, s);
    }
}

/* Eight bytes, in whatever pieces. @return bytes taken */
static apr_size_t fcgi_take_header(proxy_exchange *x, fcgi_state *s, const char *data,
                                   apr_size_t len)
{
    apr_size_t n = FCGI_HEADER - s->header_n;

    BRG_ASSERT(s->header_n < FCGI_HEADER && !s->in_record);
    if (n > len)
        n = len;
    memcpy(s->header + s->header_n, data, n);
    s->header_n = (uint8_t)(s->header_n + n);
    if (s->header_n < FCGI_HEADER)
        return n;
    if (s->header[0] != FCGI_VERSION_1)
        x->answer.bad = "a record of another version of FastCGI";
    else if (s->header[2] != 0 || s->header[3] != FCGI_ID)
        x->answer.bad = "a record of another request";
    s->type = s->header[1];
    s->left = (uint16_t)(s->header[4] << 8 | s->header[5]);
    s->padding = s->header[6];
    s->in_record = 1;
    s->header_n = 0;
    return n;
}

void fcgi_record_ends(proxy_exchange *x, fcgi_state *s)
{
    if (s->left || s->padding)
        return;
    s->in_record = 0;
    if (s->type != FCGI_END_REQUEST)
        return;
    fcgi_log_errors(x, s);
    s->ended = 1;
    if (!x->answer.begun)
        x->answer.bad = "the request ended without an answer";
    x->answer.complete = 1;
}

/* Content of STDOUT: the head first. @param is_body [out] the bytes taken are the answer's body @return bytes taken */
static apr_size_t fcgi_take_output(proxy_exchange *x, fcgi_state *s, const char *data,
                                   apr_size_t len, int *is_body)
{
    apr_size_t n;
    int done;

    *is_body = x->answer.begun;
    if (x->answer.begun)
        return len;
    n = script_head_take(x, &s->head, data, len, &done);
    if (done && !x->answer.bad && script_head_read(x, &s->head) == APR_SUCCESS) {
        fcgi_log_errors(x, s);
        exchange_head_done(x);
    }
    return n;
}

/* @return bytes taken */
static apr_size_t fcgi_take_content(proxy_exchange *x, fcgi_state *s, const char *data,
                                    apr_size_t len, int *is_body)
{
    apr_size_t n = len < s->left ? len : s->left;

    if (!s->left) {
        n = len < s->padding ? len : s->padding;
        s->padding = (uint8_t)(s->padding - n);
        return n;
    }
    if (s->type == FCGI_STDOUT)
        n = fcgi_take_output(x, s, data, n, is_body);
    else if (s->type == FCGI_STDERR)
        fcgi_errors(x, s, data, n);
    s->left = (uint16_t)(s->left - n);
    return n;
}

static apr_size_t fcgi_take_some(proxy_exchange *x, fcgi_state *s, const char *data, apr_size_t len,
                                 int *is_body)
{
    apr_size_t n;

    *is_body = 0;
    if (!s->in_record) {
        n = fcgi_take_header(x, s, data, len);
        if (s->in_record && !x->answer.bad)
            fcgi_record_ends(x, s); /* an empty one */
        return n;
    }
    n = fcgi_take_content(x, s, data, len, is_body);
    fcgi_record_ends(x, s);
    return n;
}

/* Take n bytes that are no body from the front of a bucket, which is deleted if nothing is left. @return the next bucket */
static apr_bucket *fcgi_skip(apr_bucket *e, apr_size_t n, apr_size_t len)
{
    apr_bucket *next = APR_BUCKET_NEXT(e);

    BRG_ASSERT(n <= len && APR_BUCKET_IS_HEAP(e) && e->length == len);
    if (n == len) {
        apr_bucket_delete(e);
        return next;
    }
    e->start += (apr_off_t)n;
    e->length -= n;
    return e;
}

/* All bytes that came are one bucket; only content of the body stays in it. */
static apr_status_t fcgi_take(proxy_exchange *x)
{
    fcgi_state *s = x->script;
    apr_bucket *e;

    if (!upstream_in_size(x->cc))
        return APR_EAGAIN;
    if (x->sink->ahead && !x->answer.begun)
        return fcgi_take_ahead(x, s);
    e = upstream_in_bucket(x->cc, upstream_in_size(x->cc), x->alloc);
    APR_BRIGADE_INSERT_TAIL(x->in, e);
    while (e != APR_BRIGADE_SENTINEL(x->in) && !x->answer.bad) {
        const char *data;
        apr_size_t len, n;
        int is_body = 0;

        (void)apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        if (s->ended) /* the next request would not find its answer */
            x->keep = 0;
        n = s->ended ? len : fcgi_take_some(x, s, data, len, &is_body);
        if (!is_body) {
            e = fcgi_skip(e, x->answer.bad ? len : n, len);
            continue;
        }
        if (n < len && !x->answer.bad)
            apr_bucket_split(e, n);
        e = APR_BUCKET_NEXT(e);
    }
    return x->answer.bad ? APR_EGENERAL : APR_SUCCESS;
}

static apr_status_t fcgi_end(proxy_exchange *x)
{
    if (x->sink->ahead && !x->answer.begun && upstream_in_size(x->cc)) {
        exchange_done(x, EXCHANGE_NEEDS_REQUEST);
        return APR_EGENERAL;
    }
    fcgi_log_errors(x, x->script);
    return APR_EOF;
}

/* Its request was sent by a plan. */
static void fcgi_resume(proxy_exchange *x)
{
    (void)exchange_variables(x); /* there is no body, of which it may refuse one */
    fcgi_state_of(x)->bodiless = 1;
    x->keep = (uint8_t)upstream_origin_settings(x->origin)->reuse;
}

static const char *fcgi_path_field(const proxy_exchange *x)
{
    return x->conf.fcgi_redirect_field;
}

static void fcgi_log_broken(const proxy_exchange *x, apr_status_t error, const char *text)
{
    const proxy_target *t = x->target;

    exchange_log(APLOG_MARK, APLOG_ERR, error, x,
                 APLOGNO(01075) "Error dispatching request to %s: %s",
                 t->socket ? t->socket : t->host, text);
}

const proxy_codec proxy_fcgi_codec = {.name = "FCGI",
                                      .module = &proxy_fcgi_module,
                                      .broken = HTTP_SERVICE_UNAVAILABLE, /* as Apache's module */
                                      .any_length = 1,
                                      .script = 1,
                                      .format = &fcgi_format,
                                      .path_field = fcgi_path_field,
                                      .log_broken = fcgi_log_broken,
                                      .whole = 1,
                                      .close = 1,
                                      .begin = fcgi_begin,
                                      .resume = fcgi_resume,
                                      .body = fcgi_body,
                                      .take = fcgi_take,
                                      .end = fcgi_end};
