/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The INCLUDES filter. Input that is a whole compiled page, from ssi_handler.c, is rendered at once. Any
 * other input is parsed as it comes: text stays in the buckets that it came in, and a directive is copied
 * together until its end tag, wherever buckets and brigades are cut.
 *
 * Bytes at the end of a bucket that may be the start of a start tag are held back. Only their number is
 * kept (s->scan.held): they are the first so many bytes of the tag.
 */
#include "ssi_depends_private.h"
#include "ssi_include_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"

ap_filter_rec_t *ssi_includes_handle, *ssi_capture_handle;

/* ---- text ---- */

/*
 * Output of the first @a len of the @a left bytes that remain of the bucket. Where that is cheaper than a
 * copy, the bucket itself, or its first part, is passed on.
 * @return the remaining bucket, NULL: all is passed on
 */
static apr_bucket *stream_literal(include_ctx_t *ctx, apr_bucket *e, const char *data,
                                  apr_size_t len, apr_size_t left)
{
    ssi_out *out = &ctx->intern->out;
    apr_bucket *rest = NULL;

    BRG_ASSERT(len > 0 && len <= left);
    if (!ssi_printing(ctx))
        return e;
    if (len <= SSI_OUT_COPY || out->memory || e->length != left ||
        (len < left && apr_bucket_split(e, len) != APR_SUCCESS)) {
        ssi_out_bytes(out, data, len);
        return e;
    }
    if (len < left)
        rest = APR_BUCKET_NEXT(e);
    APR_BUCKET_REMOVE(e);
    ssi_out_bucket(out, e);
    return rest;
}

/* The first @a n bytes that were held back turned out not to be a start tag. */
static void stream_held(include_ctx_t *ctx, apr_size_t n)
{
    BRG_ASSERT(n < ctx->intern->tags->pattern->len);
    if (n && ssi_printing(ctx))
        ssi_out_bytes(&ctx->intern->out, ctx->intern->tags->pattern->bytes, n);
}

/* ---- directives ---- */

static void stream_begin_directive(ssi_state *s)
{
    s->in_directive = 1;
    s->text_len = 0;
    memset(&s->lexer, 0, sizeof s->lexer);
}

static void stream_gather(ssi_state *s, const char *data, apr_size_t len)
{
    BRG_ASSERT(s->in_directive && s->text_len <= s->text_room);
    s->text = ssi_grow(s->f->r->pool, s->text, s->text_len, len, &s->text_room);
    memcpy(s->text + s->text_len, data, len);
    brg_buffer_copied(len);
    s->text_len += len;
}

static void stream_run(include_ctx_t *ctx)
{
    ssi_state *s = ctx->intern;
    ssi_directive d = {.off = s->seen};
    apr_pool_t *p;

    apr_pool_create(&p, ctx->pool);
    ssi_lex_take(&s->lexer, s->text, p, &d);
    s->in_directive = 0;
    ssi_run(ctx, &d);
    apr_pool_destroy(p);
}

/* An apparent directive is text. */
static void stream_text(include_ctx_t *ctx, apr_size_t len)
{
    ssi_state *s = ctx->intern;

    BRG_ASSERT(s->in_directive && len <= s->text_len);
    s->in_directive = 0;
    if (!ssi_printing(ctx))
        return;
    ssi_out_text(&s->out, s->tags->start);
    ssi_out_bytes(&s->out, s->text, len);
}

/* Bytes of a directive came. @return how many of them belong to it */
static apr_size_t stream_directive(include_ctx_t *ctx, const char *data, apr_size_t len)
{
    ssi_state *s = ctx->intern;
    apr_size_t before = s->text_len, used;

    stream_gather(s, data, len);
    if (!ssi_lex(&s->lexer, s->tags, s->text, s->text_len, ctx->pool))
        return len;
    BRG_ASSERT(s->lexer.pos > before && s->lexer.pos <= s->text_len);
    used = s->lexer.pos - before;
    if (s->lexer.unknown)
        stream_text(ctx, s->lexer.pos);
    else
        stream_run(ctx);
    s->seen += s->lexer.pos;
    return used;
}

/* ---- buckets ---- */

/* One step through a data bucket: up to the next start tag, or through a directive. *skip: how many of the
 * remaining bytes are done with. */
static apr_bucket *stream_step(include_ctx_t *ctx, apr_bucket *e, const char **data,
                               apr_size_t *len, apr_size_t *skip)
{
    ssi_state *s = ctx->intern;
    apr_size_t held = s->scan.held, plain;
    ssi_scan_hit hit;

    *skip = 0;
    if (s->in_directive) {
        *skip = stream_directive(ctx, *data, *len);
        return e;
    }
    if (ssi_scan_feed(s->tags->pattern, &s->scan, *data, *len, &hit)) {
        stream_held(ctx, held - hit.before);
        plain = hit.start;
        *skip = hit.end;
        s->seen += hit.end;
        stream_begin_directive(s);
    } else {
        apr_size_t done = held + *len - s->scan.held;

        stream_held(ctx, done < held ? done : held);
        plain = done < held ? 0 : done - held;
        *skip = *len;
        s->seen += *len;
    }
    if (plain) {
        apr_bucket *rest = stream_literal(ctx, e, *data, plain, *len);

        if (rest != e) { /* the bucket with the text was passed on */
            BRG_ASSERT(*skip >= plain && *len >= plain);
            *data += plain;
            *len -= plain;
            *skip -= plain;
        }
        return rest;
    }
    return e;
}

static apr_status_t stream_data(include_ctx_t *ctx, apr_bucket *e)
{
    ssi_state *s = ctx->intern;
    const char *data;
    apr_size_t len, skip;
    apr_status_t rv = apr_bucket_read(e, &data, &len, APR_NONBLOCK_READ);

    if (APR_STATUS_IS_EAGAIN(rv)) {
        ssi_out_flush(&s->out);
        rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
    }
    while (rv == APR_SUCCESS && e && len) {
        e = stream_step(ctx, e, &data, &len, &skip);
        BRG_ASSERT(skip <= len);
        /* Split off the finished part, so that the bucket begins where data does. */
        if (skip && skip < len && e->length == len && apr_bucket_split(e, skip) == APR_SUCCESS) {
            apr_bucket *rest = APR_BUCKET_NEXT(e);

            apr_bucket_delete(e);
            e = rest;
        }
        data += skip;
        len -= skip;
        rv = s->out.status;
    }
    if (e)
        apr_bucket_delete(e);
    return rv;
}

static void stream_finish(include_ctx_t *ctx)
{
    ssi_state *s = ctx->intern;

    if (!s->begun)
        return;
    s->begun = 0;
    stream_held(ctx, s->scan.held);
    s->scan.held = 0;
    if (s->in_directive && ssi_lex_is_text(&s->lexer, s->tags))
        stream_text(ctx, s->text_len);
    if (s->in_directive) {
        ssi_directive d = {.off = s->seen};

        ssi_lex_take_unfinished(&s->lexer, s->text ? s->text : "", ctx->pool, &d);
        ssi_run(ctx, &d);
    }
    ssi_finish(ctx, s->in_directive);
    s->in_directive = 0;
}

/* ---- the filter ---- */

static apr_status_t filter_end(include_ctx_t *ctx, apr_bucket *eos)
{
    ssi_state *s = ctx->intern;
    int status;

    BRG_ASSERT(APR_BUCKET_IS_EOS(eos));
    stream_finish(ctx);
    if (s->top->rerun) {
        ssi_out_end_block(&s->out);
        apr_brigade_cleanup(s->out.bb);
        apr_bucket_delete(eos);
        return APR_SUCCESS;
    }
    if (s->link->depth == 0)
        s->top->may_rerun = 0; /* the page is complete */
    status = ssi_complete(ctx);
    if (status == HTTP_NOT_MODIFIED)
        s->f->r->status = status;
    if (status != OK)
        apr_brigade_cleanup(s->out.bb);
    if (status != OK && status != HTTP_NOT_MODIFIED)
        APR_BRIGADE_INSERT_TAIL(
            s->out.bb, ap_bucket_error_create(status, NULL, s->f->r->pool, s->f->c->bucket_alloc));
    APR_BUCKET_REMOVE(eos);
    ssi_out_end_block(&s->out);
    APR_BRIGADE_INSERT_TAIL(s->out.bb, eos);
    return ssi_out_pass(&s->out);
}

static int filter_is_page(const include_ctx_t *ctx, const apr_bucket *e)
{
    const ssi_page *page;

    if (ctx->intern->begun || !SSI_BUCKET_IS_SPAN(e))
        return 0;
    page = ssi_span_page(e);
    return page->tags == ctx->intern->tags && e->start == 0 && e->length == page->len;
}

static apr_status_t filter_bucket(include_ctx_t *ctx, apr_bucket *e)
{
    ssi_state *s = ctx->intern;

    if (APR_BUCKET_IS_EOS(e))
        return filter_end(ctx, e);
    if (APR_BUCKET_IS_METADATA(e)) {
        if (APR_BUCKET_IS_FLUSH(e)) {
            apr_bucket_delete(e);
            return ssi_out_flush(&s->out);
        }
        APR_BUCKET_REMOVE(e);
        ssi_out_bucket(&s->out, e);
        return s->out.status;
    }
    if (filter_is_page(ctx, e)) {
        ssi_render(ctx, ssi_span_page(e));
        apr_bucket_delete(e);
        return s->out.status;
    }
    if (!s->begun) {
        s->begun = 1;
        ssi_depends(ctx, SSI_DEPENDS_VOLATILE);
    }
    return stream_data(ctx, e);
}

static apr_status_t filter_includes(ap_filter_t *f, apr_bucket_brigade *bb)
{
    include_ctx_t *ctx = f->ctx ? ssi_ctx_of(f) : NULL;
    apr_status_t rv = APR_SUCCESS;

    BRG_ASSERT(!ctx || ctx->intern->f == f);
    if (APR_BRIGADE_EMPTY(bb))
        return APR_SUCCESS;
    if (!ctx) {
        if (!(ap_allow_options(f->r) & OPT_INCLUDES)) {
            ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, f->r,
                          APLOGNO(01374) "mod_include: Options +Includes (or IncludesNoExec) "
                                         "wasn't set, INCLUDES filter removed: %s",
                          f->r->uri);
            ap_remove_output_filter(f);
            return ap_pass_brigade(f->next, bb);
        }
        ctx = ssi_context_create(f);
        if (!ctx->intern->top->announced_tag)
            ssi_headers_prepare(f->r, ctx->intern->conf);
    }
    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb))
        rv = filter_bucket(ctx, APR_BRIGADE_FIRST(bb));
    apr_brigade_cleanup(bb);
    if (rv == APR_SUCCESS)
        return ssi_out_pass_ready(&ctx->intern->out);
    ssi_out_end_block(&ctx->intern->out); /* the brigade frees it when the request ends */
    return rv;
}

void ssi_filters_register(void)
{
    ssi_includes_handle =
        ap_register_output_filter("INCLUDES", filter_includes, ssi_filter_init, AP_FTYPE_RESOURCE);
    ssi_capture_handle =
        ap_register_output_filter("SSI_CAPTURE", ssi_capture, NULL, AP_FTYPE_CONTENT_SET);
    ssi_beside_handle =
        ap_register_output_filter("SSI_BESIDE", ssi_beside_output, NULL, AP_FTYPE_CONTENT_SET);
}
