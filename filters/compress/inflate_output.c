/* SPDX-License-Identifier: Apache-2.0 */
/* The output filter INFLATE: a response in gzip becomes a plain one, for filters that read it, or for clients that
 * do not take gzip. */
#include "inflate_private.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"

extern module AP_MODULE_DECLARE_DATA deflate_module;
APLOG_USE_MODULE(deflate);

#define INFLATE_TAG 0x494e464cu /* "INFL" */
#define INFLATE_BUFFER 8096
#define INFLATE_PASS (64 * 1024)

typedef enum inflate_stage { INFLATE_DATA, INFLATE_OVER, INFLATE_FAILED } inflate_stage;

typedef struct inflate_ctx {
    uint32_t tag;
    inflate_stream *stream;
    apr_bucket_brigade *out;
    apr_size_t held; /* bytes in out */
    inflate_stage stage;
    char buffer[INFLATE_BUFFER];
} inflate_ctx;

/* @return the table with the field whose last coding is gzip; *rest: the other codings. NULL: no
 *   such field */
static apr_table_t *output_find(request_rec *r, const char **rest)
{
    if ((*rest = inflate_rest_of(r->pool, apr_table_get(r->headers_out, "Content-Encoding"))) !=
        NULL)
        return r->headers_out;
    if ((*rest = inflate_rest_of(r->pool, apr_table_get(r->err_headers_out, "Content-Encoding"))) !=
        NULL)
        return r->err_headers_out;
    return NULL;
}

/* 1 if it is in gzip; the head says then that it is not. */
static int output_take_head(request_rec *r)
{
    const char *rest;
    apr_table_t *fields = output_find(r, &rest);

    if (fields && *rest)
        apr_table_setn(fields, "Content-Encoding", rest);
    else if (fields)
        apr_table_unset(fields, "Content-Encoding");
    if (!fields && !(rest = inflate_rest_of(r->pool, r->content_encoding)))
        return 0;
    if (inflate_rest_of(r->pool, r->content_encoding))
        r->content_encoding = *rest ? rest : NULL;
    apr_table_unset(r->headers_out, "Content-Length");
    apr_table_unset(r->headers_out, "Content-MD5");
    if (apr_table_get(r->headers_out, "ETag"))
        apr_table_setn(
            r->headers_out, "ETag",
            compress_tag_with(r->pool, apr_table_get(r->headers_out, "ETag"), "-gunzip"));
    return 1;
}

static inflate_ctx *output_begin(ap_filter_t *f)
{
    request_rec *r = f->r;
    inflate_ctx *ctx;
    inflate_stream *stream;

    if (r->status == HTTP_NO_CONTENT || r->status == HTTP_NOT_MODIFIED ||
        apr_table_get(r->headers_out, "Content-Range"))
        return NULL;
    if (!(stream = inflate_open(r->pool))) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, APR_ENOMEM, r,
                      "INFLATE: the response stays compressed");
        return NULL;
    }
    if (!output_take_head(r))
        return NULL;
    ctx = apr_palloc(r->pool, sizeof *ctx);
    ctx->tag = INFLATE_TAG;
    ctx->stream = stream;
    ctx->held = 0;
    ctx->stage = INFLATE_DATA;
    ctx->out = apr_brigade_create(r->pool, f->c->bucket_alloc);
    return ctx;
}

static apr_status_t output_failed(ap_filter_t *f, inflate_ctx *ctx, const char *why)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, f->r, "INFLATE: %s: the response is cut off", why);
    ctx->stage = INFLATE_FAILED;
    f->c->keepalive = AP_CONN_CLOSE;
    apr_brigade_cleanup(ctx->out);
    return APR_EGENERAL;
}

static apr_status_t output_pass(ap_filter_t *f, inflate_ctx *ctx)
{
    apr_status_t rv = ap_pass_brigade(f->next, ctx->out);

    apr_brigade_cleanup(ctx->out);
    ctx->held = 0;
    return rv;
}

/* Copied: input may come in small pieces, and a buffer for each of them would hold much more than it has. */
static apr_status_t output_data(ap_filter_t *f, inflate_ctx *ctx, const char *data, apr_size_t len)
{
    brg_coder_io io = {.in = (const unsigned char *)data, .in_len = len};
    inflate_result result = INFLATE_MORE;
    apr_status_t rv = APR_SUCCESS;
    int full = 0;

    while (rv == APR_SUCCESS && result == INFLATE_MORE && (io.in_len || full)) {
        apr_size_t got;

        io.out = (unsigned char *)ctx->buffer;
        io.out_room = INFLATE_BUFFER;
        result = inflate_step(ctx->stream, &io);
        got = INFLATE_BUFFER - io.out_room;
        full = !io.out_room;
        if (got)
            rv = apr_brigade_write(ctx->out, NULL, NULL, ctx->buffer, got);
        ctx->held += got;
        if (rv == APR_SUCCESS && ctx->held >= INFLATE_PASS)
            rv = output_pass(f, ctx);
    }
    if (result == INFLATE_BAD)
        return output_failed(f, ctx, "it is no gzip, or damaged");
    return result == INFLATE_MEMORY ? output_failed(f, ctx, "no memory") : rv;
}

static apr_status_t output_metadata(ap_filter_t *f, inflate_ctx *ctx, apr_bucket *b)
{
    if (APR_BUCKET_IS_EOS(b)) {
        if (!inflate_is_complete(ctx->stream) && !f->r->header_only)
            return output_failed(f, ctx, "its end is missing");
        ctx->stage = INFLATE_OVER;
    }
    APR_BUCKET_REMOVE(b);
    APR_BRIGADE_INSERT_TAIL(ctx->out, b);
    return APR_BUCKET_IS_EOS(b) || APR_BUCKET_IS_FLUSH(b) ? output_pass(f, ctx) : APR_SUCCESS;
}

static apr_status_t output_bucket(ap_filter_t *f, inflate_ctx *ctx, apr_bucket *b)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv;

    if (APR_BUCKET_IS_METADATA(b))
        return output_metadata(f, ctx, b);
    rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, f->r, "INFLATE: the content cannot be read");
        return rv;
    }
    if ((rv = output_data(f, ctx, data, len)) == APR_SUCCESS)
        apr_bucket_delete(b);
    return rv;
}

apr_status_t inflate_output(ap_filter_t *f, apr_bucket_brigade *bb)
{
    inflate_ctx *ctx = f->ctx;

    if (APR_BRIGADE_EMPTY(bb))
        return APR_SUCCESS;
    if (!ctx && !(ctx = f->ctx = output_begin(f))) {
        ap_remove_output_filter(f);
        return ap_pass_brigade(f->next, bb);
    }
    BRG_ASSERT_TAG(ctx, INFLATE_TAG);
    while (!APR_BRIGADE_EMPTY(bb) && ctx->stage == INFLATE_DATA) {
        apr_status_t rv = output_bucket(f, ctx, APR_BRIGADE_FIRST(bb));

        if (rv != APR_SUCCESS)
            return rv;
    }
    if (ctx->stage == INFLATE_FAILED)
        return APR_EGENERAL;
    return APR_BRIGADE_EMPTY(bb) ? APR_SUCCESS : ap_pass_brigade(f->next, bb);
}
