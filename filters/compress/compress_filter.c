/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets through a compressor.
 *
 * Output is gathered in buffers that become buckets as they are, and passed on when a flush, the end, or
 * COMPRESS_PASS bytes have come. A compressor that fails in the middle ends the response where it is: the client sees
 * that it is not complete.
 */
#include "compress_private.h"
#include "http_log.h"
#include "http_request.h"
#include "apr_strings.h"

#define COMPRESS_TAG 0x434d5052u /* "CMPR" */
#define COMPRESS_PASS (64 * 1024)

typedef enum run_stage { RUN_DATA, RUN_OVER, RUN_FAILED } run_stage;

typedef struct compress_ctx {
    uint32_t tag;
    const compress_coder *coder;
    brg_coder *state;
    apr_bucket_brigade *out;
    char *buffer; /* NULL, or the buffer that is being filled */
    apr_size_t room, used;
    apr_size_t held; /* bytes in out */
    apr_off_t taken, given;
    run_stage stage;
} compress_ctx;

static apr_status_t run_end(void *data)
{
    compress_ctx *ctx = data;

    BRG_ASSERT_TAG(ctx, COMPRESS_TAG);
    if (ctx->state)
        brg_coder_end(ctx->state);
    ctx->state = NULL;
    if (ctx->buffer)
        apr_bucket_free(ctx->buffer);
    ctx->buffer = NULL;
    return APR_SUCCESS;
}

static void run_end_buffer(compress_ctx *ctx)
{
    if (!ctx->buffer)
        return;
    BRG_ASSERT(ctx->used <= ctx->room);
    if (ctx->used)
        APR_BRIGADE_INSERT_TAIL(ctx->out,
                                apr_bucket_heap_create(ctx->buffer, ctx->used, apr_bucket_free,
                                                       ctx->out->bucket_alloc));
    else
        apr_bucket_free(ctx->buffer);
    ctx->held += ctx->used;
    ctx->given += (apr_off_t)ctx->used;
    ctx->buffer = NULL;
    ctx->used = 0;
}

static apr_status_t run_pass(ap_filter_t *f, compress_ctx *ctx)
{
    apr_status_t rv = ap_pass_brigade(f->next, ctx->out);

    apr_brigade_cleanup(ctx->out);
    ctx->held = 0;
    return rv;
}

static apr_status_t run_failed(ap_filter_t *f, compress_ctx *ctx)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, APR_ENOMEM, f->r,
                  "%s: the response cannot be compressed, and is cut off", ctx->coder->filter);
    ctx->stage = RUN_FAILED;
    f->c->keepalive = AP_CONN_CLOSE;
    apr_brigade_cleanup(ctx->out);
    return APR_EGENERAL;
}

/* @a len bytes, or an operation without data, through the compressor. */
static apr_status_t run_step(ap_filter_t *f, compress_ctx *ctx, const char *data, apr_size_t len,
                             brg_coder_op op)
{
    brg_coder_io io = {.in = (const unsigned char *)data, .in_len = len};
    brg_coder_result result = BRG_CODER_MORE;

    while (result == BRG_CODER_MORE) {
        if (!ctx->buffer)
            ctx->buffer = apr_bucket_alloc(ctx->room, ctx->out->bucket_alloc);
        io.out = (unsigned char *)ctx->buffer + ctx->used;
        io.out_room = ctx->room - ctx->used;
        result = brg_coder_step(ctx->state, &io, op);
        if (result == BRG_CODER_FAILED)
            return run_failed(f, ctx);
        ctx->used = ctx->room - io.out_room;
        if (!io.out_room)
            run_end_buffer(ctx);
        if (ctx->held >= COMPRESS_PASS) {
            apr_status_t rv = run_pass(f, ctx);

            if (rv != APR_SUCCESS)
                return rv;
        }
    }
    BRG_ASSERT(!io.in_len);
    ctx->taken += (apr_off_t)len;
    return APR_SUCCESS;
}

static void run_note(request_rec *r, const char *name, apr_off_t value)
{
    if (name)
        apr_table_setn(r->notes, name, apr_off_t_toa(r->pool, value));
}

static void run_notes(request_rec *r, const compress_ctx *ctx)
{
    const compress_conf *conf = compress_conf_of(r, ctx->coder);
    const apr_off_t given = ctx->given - ctx->coder->frame;

    run_note(r, conf->note_input, ctx->taken);
    run_note(r, conf->note_output, given);
    if (conf->note_ratio && ctx->taken > 0)
        run_note(r, conf->note_ratio, given * 100 / ctx->taken);
    else if (conf->note_ratio)
        apr_table_setn(r->notes, conf->note_ratio, "-");
    ap_log_rerror(APLOG_MARK, APLOG_TRACE1, 0, r, "%s: %" APR_OFF_T_FMT " bytes to %" APR_OFF_T_FMT,
                  ctx->coder->filter, ctx->taken, ctx->given);
}

/* Metadata goes on in its place. */
static apr_status_t run_metadata(ap_filter_t *f, compress_ctx *ctx, apr_bucket *b)
{
    const int eos = APR_BUCKET_IS_EOS(b), flush = APR_BUCKET_IS_FLUSH(b);
    apr_status_t rv = APR_SUCCESS;

    if (eos || flush)
        rv = run_step(f, ctx, NULL, 0, eos ? BRG_CODER_FINISH : BRG_CODER_FLUSH);
    if (rv != APR_SUCCESS)
        return rv;
    if (eos || flush)
        run_end_buffer(ctx);
    if (eos) {
        run_notes(f->r, ctx);
        ctx->stage = RUN_OVER;
    }
    APR_BUCKET_REMOVE(b);
    APR_BRIGADE_INSERT_TAIL(ctx->out, b);
    return eos || flush ? run_pass(f, ctx) : APR_SUCCESS;
}

static apr_status_t run_bucket(ap_filter_t *f, compress_ctx *ctx, apr_bucket *b)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv;

    if (APR_BUCKET_IS_METADATA(b))
        return run_metadata(f, ctx, b);
    rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, f->r, "%s: the content cannot be read",
                      ctx->coder->filter);
        return rv;
    }
    if (len)
        rv = run_step(f, ctx, data, len, BRG_CODER_RUN);
    if (rv == APR_SUCCESS)
        apr_bucket_delete(b);
    return rv;
}

/* NULL: it goes on as it is. */
static compress_ctx *run_begin(ap_filter_t *f, apr_bucket_brigade *bb, const compress_coder *coder)
{
    const compress_conf *conf = compress_conf_of(f->r, coder);
    compress_source source;
    brg_coder_settings settings = {.coding = coder->coding};
    compress_ctx *ctx;

    if (!compress_decide(f, bb, coder, &source))
        return NULL;
    ctx = apr_pcalloc(f->r->pool, sizeof *ctx);
    ctx->tag = COMPRESS_TAG;
    ctx->coder = coder;
    ctx->room = (apr_size_t)compress_arg(conf, COMPRESS_ARG_BUFFER, COMPRESS_BUFFER);
    ctx->out = apr_brigade_create(f->r->pool, f->c->bucket_alloc);
    apr_pool_cleanup_register(f->r->pool, ctx, run_end, apr_pool_cleanup_null);
    /* Last: an allocation of the pool that fails ends the request, and nothing of the library's may be left. */
    coder->settings(conf, &source, &settings);
    BRG_ASSERT(settings.coding == coder->coding && (settings.length >= 0 || !settings.is_exact));
    if (!(ctx->state = brg_coder_begin(&settings))) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, APR_ENOMEM, f->r, "%s: sent without compression",
                      coder->filter);
        return NULL;
    }
    compress_head(f->r, coder);
    return ctx;
}

apr_status_t compress_run(ap_filter_t *f, apr_bucket_brigade *bb, const compress_coder *coder)
{
    compress_ctx *ctx = f->ctx;

    if (APR_BRIGADE_EMPTY(bb))
        return APR_SUCCESS;
    if (!ctx && !(ctx = f->ctx = run_begin(f, bb, coder))) {
        ap_remove_output_filter(f);
        return ap_pass_brigade(f->next, bb);
    }
    BRG_ASSERT_TAG(ctx, COMPRESS_TAG);
    while (!APR_BRIGADE_EMPTY(bb) && ctx->stage == RUN_DATA) {
        apr_status_t rv = run_bucket(f, ctx, APR_BRIGADE_FIRST(bb));

        if (rv != APR_SUCCESS)
            return rv;
    }
    if (ctx->stage == RUN_FAILED)
        return APR_EGENERAL;
    return APR_BRIGADE_EMPTY(bb) ? APR_SUCCESS : ap_pass_brigade(f->next, bb);
}
