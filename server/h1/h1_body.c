/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP_IN filter: gives out the body of one request and then EOS, and no byte behind it.
 *
 *   NONE     no body: EOS
 *   LENGTH   Content-Length bytes
 *   CHUNKED  h1_chunked finds the data; trailers are kept
 *   STREAM   the length is not known, and the transport tells the end (HTTP/2)
 *   TO_EOF   a response that mod_proxy reads: until the origin closes
 *   ENDED    EOS was given out
 *
 * Framing bytes are fetched with GETLINE, which never returns bytes beyond a line end, data with
 * the mode that the caller asked for. 100 Continue is sent when the body is first asked for.
 */
#include "http_response.h"
#include "h1_chunked.h"
#include "h1_trailers.h"
#include "connection.h"
#include "core_settings.h"
#include "h1_request.h"
#include "request_context.h"
#include "transport.h"
#include "http_config.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_fields.h"
#include "mod_core.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>

APLOG_USE_MODULE(http);

/* Empty answers to a blocking call that are taken in a row. */
#define BODY_EMPTY_ANSWERS 100

typedef enum body_kind {
    BODY_NONE,
    BODY_LENGTH,
    BODY_CHUNKED,
    BODY_STREAM,
    BODY_TO_EOF,
    BODY_ENDED,
    BODY_BROKEN
} body_kind;

#define BODY_TAG 0x424f4459u /* "BODY" */

typedef struct body_ctx {
    uint32_t tag; /* BODY_TAG: f->ctx leads here */
    body_kind kind;
    apr_off_t left;         /* LENGTH: bytes to come */
    apr_off_t limit, taken; /* LimitRequestBody (0 = none) and the bytes counted against it */
    h1_chunked chunked;
    apr_bucket_brigade *bb; /* for framing lines */
    h1_trailers trailers;
    apr_status_t error; /* with BROKEN: result of every further call */
} body_ctx;

static apr_status_t body_break(ap_filter_t *f, body_ctx *ctx, apr_status_t rv)
{
    const int status = ap_map_http_request_error(rv, HTTP_BAD_REQUEST);

    BRG_ASSERT(rv != APR_SUCCESS && ctx->kind != BODY_BROKEN);
    ctx->kind = BODY_BROKEN;
    ctx->error = rv;
    f->r->connection->keepalive = AP_CONN_CLOSE;
    if (ap_is_HTTP_ERROR(status))
        request_body_failed(f->r, status);
    return rv;
}

static apr_status_t body_malformed(ap_filter_t *f, body_ctx *ctx, const char *what)
{
    ap_log_rerror(APLOG_MARK, APLOG_INFO, APR_EINVAL, f->r,
                  APLOGNO(01590) "Error reading/parsing chunk %s ", what);
    return body_break(f, ctx, APR_EGENERAL);
}

static apr_status_t body_overflow(ap_filter_t *f, body_ctx *ctx)
{
    ap_log_rerror(APLOG_MARK, APLOG_INFO, APR_ENOSPC, f->r,
                  APLOGNO(01590) "Error reading/parsing chunk %s ", "(overflow)");
    return body_break(f, ctx, APR_ENOSPC);
}

/* The stream that the body comes on; NULL: HTTP/1 frames it. */
static brg_conn *body_stream(const ap_filter_t *f)
{
    brg_conn *bc = connection_of(f->c);

    return bc && bc->master && transport_takes_parts(bc) ? bc : NULL;
}

/* Taken and announced, if that is a number that can be. */
static apr_off_t body_length_so_far(const body_ctx *ctx)
{
    apr_off_t sum;

    return __builtin_add_overflow(ctx->taken, ctx->chunked.left, &sum) ? INT64_MAX : sum;
}

static apr_status_t body_too_large(ap_filter_t *f, body_ctx *ctx)
{
    if (ctx->kind != BODY_LENGTH) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, f->r,
                      APLOGNO(01591) "Read content length of %" APR_OFF_T_FMT
                                     " is larger than the configured limit of %" APR_OFF_T_FMT,
                      body_length_so_far(ctx), ctx->limit);
    } else {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, f->r,
                      APLOGNO(01588) "Requested content-length of %" APR_OFF_T_FMT
                                     " is larger than the configured limit of %" APR_OFF_T_FMT,
                      ctx->left, ctx->limit);
    }
    return body_break(f, ctx, APR_ENOSPC);
}

static apr_status_t body_end(ap_filter_t *f, body_ctx *ctx, apr_bucket_brigade *out)
{
    BRG_ASSERT(ctx->kind != BODY_BROKEN);
    BRG_ASSERT(ctx->kind != BODY_LENGTH || ctx->left == 0);
    APR_BRIGADE_INSERT_TAIL(out, apr_bucket_eos_create(f->c->bucket_alloc));
    ctx->kind = BODY_ENDED;
    return APR_SUCCESS;
}

/* ---- the start ---- */

static apr_status_t body_start_length(ap_filter_t *f, body_ctx *ctx, const char *length)
{
    uint64_t n;

    BRG_ASSERT(ctx->kind == BODY_NONE);
    if (http_parse_length(length, strlen(length), &n)) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, f->r, APLOGNO(01587) "Invalid Content-Length");
        return body_break(f, ctx, APR_EGENERAL);
    }
    ctx->left = (apr_off_t)n;
    ctx->kind = n ? BODY_LENGTH : BODY_NONE;
    return ctx->limit && ctx->left > ctx->limit ? body_too_large(f, ctx) : APR_SUCCESS;
}

static apr_status_t body_start(ap_filter_t *f, body_ctx *ctx)
{
    request_rec *r = f->r;
    const char *coding = apr_table_get(r->headers_in, "Transfer-Encoding");
    const char *length = apr_table_get(r->headers_in, "Content-Length");
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(ctx->kind == BODY_NONE && !ctx->bb);
    ctx->limit = http_body_limit(r);
    if (coding && ap_is_chunked(r->pool, coding))
        ctx->kind = body_stream(f) ? BODY_STREAM : BODY_CHUNKED;
    else if (coding && r->proxyreq != PROXYREQ_RESPONSE)
        return body_break(f, ctx, APR_EGENERAL);
    else if (coding)
        ctx->kind = BODY_TO_EOF;
    else if (length)
        rv = body_start_length(f, ctx, length);
    else
        ctx->kind = r->proxyreq == PROXYREQ_RESPONSE ? BODY_TO_EOF : BODY_NONE;
    return rv;
}

/* A client that sent Expect: 100-continue waits for 100 before it sends its body. */
static void body_continue(request_rec *r)
{
    const int status = r->status;
    const char *line = r->status_line;

    if (!r->expecting_100 || r->eos_sent || r->bytes_sent)
        return;
    r->status = HTTP_CONTINUE;
    r->status_line = NULL;
    ap_send_interim_response(r, 0);
    r->status = status;
    r->status_line = line;
}

/* ---- chunked ---- */

static apr_status_t chunked_feed(ap_filter_t *f, body_ctx *ctx, const char *data, apr_size_t len,
                                 int *done)
{
    const char *why;

    if (ctx->chunked.state != H1_CHUNK_TRAILER) {
        const size_t taken = h1_chunked_feed(&ctx->chunked, data, len);

        if (ctx->chunked.state == H1_CHUNK_BAD)
            return ctx->chunked.too_large ? body_overflow(f, ctx) : body_malformed(f, ctx, "");
        data += taken;
        len -= taken;
    }
    if (!len)
        return APR_SUCCESS;
    /* GETLINE returns one line, so the rest can only be a line of the trailer section, unless a filter below returns too much. */
    if (ctx->chunked.state != H1_CHUNK_TRAILER)
        return body_malformed(f, ctx, "(data behind the line of a chunk size)");
    why = h1_trailers_feed(&ctx->trailers, f->r, data, len, done);
    return why ? body_malformed(f, ctx, why) : APR_SUCCESS;
}

/* Ask the filters below. Some of them (those of HTTP/2 streams) answer a blocking call with success
 * and nothing before more has come; they are asked again, but not without end. */
static apr_status_t body_ask(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                             apr_read_type_e block, apr_off_t most)
{
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; i < BODY_EMPTY_ANSWERS; i++) {
        rv = ap_get_brigade(f->next, bb, mode, block, most);
        if (rv != APR_SUCCESS || !APR_BRIGADE_EMPTY(bb))
            return rv;
        if (block == APR_NONBLOCK_READ)
            return APR_EAGAIN;
    }
    return APR_EOF;
}

/* Fetch one line, or the part of it that is there, and feed it. */
static apr_status_t chunked_line(ap_filter_t *f, body_ctx *ctx, apr_read_type_e block, int *done)
{
    apr_status_t rv;
    apr_size_t got = 0;

    if (!ctx->bb)
        ctx->bb = apr_brigade_create(f->r->pool, f->c->bucket_alloc);
    rv = body_ask(f, ctx->bb, AP_MODE_GETLINE, block, 0);
    if (rv != APR_SUCCESS)
        return rv;
    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(ctx->bb)) {
        apr_bucket *e = APR_BRIGADE_FIRST(ctx->bb);
        const char *data;
        apr_size_t len = 0;

        if (APR_BUCKET_IS_EOS(e)) /* it may come with the last line */
            rv = *done ? APR_SUCCESS : APR_INCOMPLETE;
        else if (!APR_BUCKET_IS_METADATA(e) &&
                 (rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ)) == APR_SUCCESS)
            rv = chunked_feed(f, ctx, data, len, done);
        got += len;
        apr_bucket_delete(e);
    }
    apr_brigade_cleanup(ctx->bb);
    if (rv == APR_SUCCESS && !got)
        return block == APR_NONBLOCK_READ ? APR_EAGAIN : APR_INCOMPLETE;
    return rv;
}

/* Framing up to the next data or the end. */
static apr_status_t chunked_framing(ap_filter_t *f, body_ctx *ctx, apr_read_type_e block, int *done)
{
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(ctx->kind == BODY_CHUNKED);
    *done = 0;
    while (rv == APR_SUCCESS && !*done && ctx->chunked.state != H1_CHUNK_DATA)
        rv = chunked_line(f, ctx, block, done);
    return rv;
}

/* ---- data ---- */

/* Bytes of the brigade. *over: the filters below say that nothing follows them. The filters of an
 * HTTP/2 stream pass EOS, alone or behind the last data; the core's input filter never does. */
static void body_count(apr_bucket_brigade *out, apr_off_t *n, int *over)
{
    apr_bucket *e = APR_BRIGADE_LAST(out);

    BRG_ASSERT(!APR_BRIGADE_EMPTY(out));
    *over = APR_BUCKET_IS_EOS(e);
    if (*over)
        apr_bucket_delete(e);
    apr_brigade_length(out, 1, n);
}

static apr_status_t body_fetch(ap_filter_t *f, apr_bucket_brigade *out, ap_input_mode_t mode,
                               apr_read_type_e block, apr_off_t most, apr_off_t *n, int *over)
{
    apr_status_t rv = body_ask(f, out, mode, block, most);

    *n = 0;
    *over = 0;
    if (rv == APR_SUCCESS)
        body_count(out, n, over);
    return rv;
}

static apr_status_t body_read_length(ap_filter_t *f, body_ctx *ctx, apr_bucket_brigade *out,
                                     ap_input_mode_t mode, apr_read_type_e block, apr_off_t most)
{
    apr_off_t n;
    int over;
    apr_status_t rv =
        body_fetch(f, out, mode, block, most < ctx->left ? most : ctx->left, &n, &over);

    BRG_ASSERT(ctx->left > 0);
    if (rv != APR_SUCCESS)
        return rv;
    /* GETLINE does not know of lengths: a line that runs into the next request was not the body's.
     */
    if (n > ctx->left)
        return body_break(f, ctx, APR_EGENERAL);
    ctx->left -= n;
    if (ctx->left)
        return over ? APR_INCOMPLETE : APR_SUCCESS;
    return body_end(f, ctx, out);
}

static apr_status_t body_read_chunked(ap_filter_t *f, body_ctx *ctx, apr_bucket_brigade *out,
                                      ap_input_mode_t mode, apr_read_type_e block, apr_off_t most)
{
    apr_off_t n;
    int done, over;
    apr_status_t rv = chunked_framing(f, ctx, block, &done);

    BRG_ASSERT(!ctx->limit || ctx->taken <= ctx->limit);
    if (rv != APR_SUCCESS)
        return rv;
    if (done)
        return body_end(f, ctx, out);
    BRG_ASSERT(ctx->chunked.state == H1_CHUNK_DATA && ctx->chunked.left > 0);
    /* Nothing of a chunk that goes beyond it. */
    if (ctx->limit && ctx->chunked.left > (uint64_t)(ctx->limit - ctx->taken))
        return body_too_large(f, ctx);
    if ((uint64_t)most > ctx->chunked.left)
        most = (apr_off_t)ctx->chunked.left;
    rv = body_fetch(f, out, mode, block, most, &n, &over);
    if (rv != APR_SUCCESS)
        return rv;
    if (over) /* the last chunk is missing */
        return APR_INCOMPLETE;
    if ((uint64_t)n > ctx->chunked.left)
        return body_break(f, ctx, APR_EGENERAL);
    ctx->taken += n;
    h1_chunked_took(&ctx->chunked, (uint64_t)n);
    return APR_SUCCESS;
}

static apr_status_t body_stream_over(ap_filter_t *f, body_ctx *ctx, apr_bucket_brigade *out)
{
    brg_conn *bc = body_stream(f);
    const http_field *field;
    const char *why;
    int n;

    if (!bc->read_eof || conn_in_size(bc))
        return APR_INCOMPLETE;
    field = bc->transport->trailers(bc, &n);
    why = h1_trailers_take(&ctx->trailers, f->r, field, n);
    return why ? body_malformed(f, ctx, why) : body_end(f, ctx, out);
}

/* Beyond the limit, one byte is asked for. */
static apr_status_t body_read_stream(ap_filter_t *f, body_ctx *ctx, apr_bucket_brigade *out,
                                     ap_input_mode_t mode, apr_read_type_e block, apr_off_t most)
{
    const apr_off_t may = ctx->limit ? ctx->limit - ctx->taken : INT64_MAX;
    apr_off_t n;
    int over;
    apr_status_t rv = body_fetch(f, out, mode, block, most <= may ? most : may + 1, &n, &over);

    BRG_ASSERT(may >= 0);
    if (APR_STATUS_IS_EOF(rv))
        return body_stream_over(f, ctx, out);
    if (rv != APR_SUCCESS)
        return rv;
    if (n > may) {
        apr_brigade_cleanup(out);
        ctx->chunked.left = (uint64_t)n; /* for the log */
        return body_too_large(f, ctx);
    }
    ctx->taken += n;
    return over ? body_stream_over(f, ctx, out) : APR_SUCCESS;
}

static apr_status_t body_read_to_eof(ap_filter_t *f, body_ctx *ctx, apr_bucket_brigade *out,
                                     ap_input_mode_t mode, apr_read_type_e block, apr_off_t most)
{
    apr_status_t rv = ap_get_brigade(f->next, out, mode, block, most);

    if (APR_STATUS_IS_EOF(rv))
        return body_end(f, ctx, out);
    if (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(out) && APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(out)))
        ctx->kind = BODY_ENDED;
    return rv;
}

static apr_status_t body_read(ap_filter_t *f, body_ctx *ctx, apr_bucket_brigade *out,
                              ap_input_mode_t mode, apr_read_type_e block, apr_off_t most)
{
    BRG_ASSERT_TAG(ctx, BODY_TAG);
    switch (ctx->kind) {
    case BODY_LENGTH:
        return body_read_length(f, ctx, out, mode, block, most);
    case BODY_CHUNKED:
        return body_read_chunked(f, ctx, out, mode, block, most);
    case BODY_STREAM:
        return body_read_stream(f, ctx, out, mode, block, most);
    case BODY_TO_EOF:
        return body_read_to_eof(f, ctx, out, mode, block, most);
    case BODY_BROKEN:
        return ctx->error;
    default:
        return body_end(f, ctx, out);
    }
}

apr_status_t ap_http_filter(ap_filter_t *f, apr_bucket_brigade *b, ap_input_mode_t mode,
                            apr_read_type_e block, apr_off_t readbytes)
{
    body_ctx *ctx = f->ctx;
    apr_status_t rv = APR_SUCCESS;

    /* Peeking and the like concern the connection. */
    if (mode != AP_MODE_READBYTES && mode != AP_MODE_GETLINE)
        return ap_get_brigade(f->next, b, mode, block, readbytes);
    if (!ctx) {
        ctx = f->ctx = apr_pcalloc(f->r->pool, sizeof(*ctx));
        ctx->tag = BODY_TAG;
        rv = body_start(f, ctx);
        if (rv != APR_SUCCESS)
            return rv;
        if (ctx->kind == BODY_LENGTH || ctx->kind == BODY_CHUNKED || ctx->kind == BODY_STREAM)
            body_continue(f->r);
    }
    rv = body_read(f, ctx, b, mode, block, readbytes > 0 ? readbytes : HUGE_STRING_LEN);
    if (rv == APR_SUCCESS || APR_STATUS_IS_EAGAIN(rv) || ctx->kind == BODY_BROKEN)
        return rv;
    return body_break(f, ctx, APR_STATUS_IS_EOF(rv) ? APR_INCOMPLETE : rv);
}

int h1_body_is_over(request_rec *r)
{
    const ap_filter_t *f = r->proto_input_filters;
    const body_ctx *ctx;

    if (!http_body_follows(r))
        return 1;
    while (f && f->frec != ap_http_input_filter_handle)
        f = f->next;
    ctx = f ? f->ctx : NULL;
    BRG_ASSERT(!ctx || ctx->tag == BODY_TAG);
    return ctx && ctx->kind == BODY_ENDED;
}
