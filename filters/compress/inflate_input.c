/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input filter DEFLATE: a request body in gzip becomes a plain one.
 *
 * A call makes little more than it was asked for, whatever the ratio: input that is not needed yet
 * waits. A body is bounded by a number of bytes and by its ratio (DeflateInflateLimitRequestBody
 * and its like).
 */
#include "inflate_private.h"
#include "brigade/directive.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "brigade/response_cache.h"
#include "apr_lib.h"
#include "apr_strings.h"

extern module AP_MODULE_DECLARE_DATA deflate_module;
APLOG_USE_MODULE(deflate);

#define INPUT_TAG 0x49494e50u /* "IINP" */
#define INPUT_BUFFER 8096
#define INPUT_RATIO 200
#define INPUT_BURST 3
#define INFLATE_LOOP_MOST (16 * 1024) /* gzip that a loop reads by itself */

typedef struct input_ctx {
    uint32_t tag;
    inflate_stream *stream;
    apr_bucket_brigade *in, *out;
    apr_off_t taken, given;
    const char *rest;    /* of Content-Encoding, until something was read */
    int full;            /* the stream has more output, without input */
    int ended;           /* EOS is in out, or was given */
    int over_ratio;      /* how often */
    apr_status_t status; /* why it failed, for good */
    char buffer[INPUT_BUFFER];
} input_ctx;

static ap_filter_rec_t *inflate_handle; /* the output filter */

/* ---- directives ---- */

const char *inflate_set_limit(cmd_parms *cmd, void *dir, const char *arg)
{
    compress_dir_conf *conf = dir;
    char *end;

    if (apr_strtoff(&conf->inflate_limit, arg, &end, 10) != APR_SUCCESS || *end || end == arg ||
        conf->inflate_limit < 0)
        return "DeflateInflateLimitRequestBody is not parsable.";
    return NULL;
}

static const char *input_set_number(const cmd_parms *cmd, int *to, const char *arg,
                                    const char *mistake)
{
    const apr_int64_t value = brg_argument_number(cmd, arg);

    if (value <= 0 || value > APR_INT32_MAX)
        return mistake;
    *to = (int)value;
    return NULL;
}

const char *inflate_set_ratio(cmd_parms *cmd, void *dir, const char *arg)
{
    return input_set_number(cmd, &((compress_dir_conf *)dir)->inflate_ratio, arg,
                            "DeflateInflateRatioLimit must be a positive integer");
}

const char *inflate_set_burst(cmd_parms *cmd, void *dir, const char *arg)
{
    return input_set_number(cmd, &((compress_dir_conf *)dir)->inflate_burst, arg,
                            "DeflateInflateRatioBurst must be a positive integer");
}

static const compress_dir_conf *input_conf(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &deflate_module);
}

/* ---- bounds ---- */

static apr_status_t input_fail(ap_filter_t *f, input_ctx *ctx, apr_status_t status, const char *why)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, f->r, "DEFLATE: request body: %s", why);
    apr_brigade_cleanup(ctx->in);
    apr_brigade_cleanup(ctx->out);
    return ctx->status = status;
}

static int input_or(int value, int standard)
{
    return value == COMPRESS_UNSET ? standard : value;
}

static apr_status_t input_check(ap_filter_t *f, input_ctx *ctx)
{
    const compress_dir_conf *conf = input_conf(f->r);

    if (conf->inflate_limit > 0 && ctx->given > conf->inflate_limit)
        return input_fail(f, ctx, APR_ENOSPC,
                          "it becomes larger than DeflateInflateLimitRequestBody");
    if (ctx->taken > 0 && ctx->given / ctx->taken > input_or(conf->inflate_ratio, INPUT_RATIO) &&
        ++ctx->over_ratio > input_or(conf->inflate_burst, INPUT_BURST))
        return input_fail(f, ctx, APR_ENOSPC, "it grows more than DeflateInflateRatioLimit allows");
    return APR_SUCCESS;
}

/* ---- data ---- */

/* At most one buffer of output, from @a len bytes of @a data. It is copied: a client may send its body in chunks of a
 * byte. @return bytes that were used; -1: ctx->status says why not */
static apr_ssize_t input_inflate(ap_filter_t *f, input_ctx *ctx, const char *data, apr_size_t len)
{
    brg_coder_io io = {(const unsigned char *)data, len, (unsigned char *)ctx->buffer,
                       INPUT_BUFFER};
    const inflate_result result = inflate_step(ctx->stream, &io);
    const apr_size_t made = INPUT_BUFFER - io.out_room;

    if (made)
        ctx->status = apr_brigade_write(ctx->out, NULL, NULL, ctx->buffer, made);
    ctx->taken += (apr_off_t)(len - io.in_len);
    ctx->given += (apr_off_t)made;
    ctx->full = !io.out_room;
    if (result == INFLATE_BAD || result == INFLATE_MEMORY)
        (void)input_fail(f, ctx, result == INFLATE_BAD ? APR_EGENERAL : APR_ENOMEM,
                         result == INFLATE_BAD ? "it is no gzip, or damaged" : "no memory");
    else if (made)
        (void)input_check(f, ctx);
    if (ctx->status != APR_SUCCESS)
        return -1;
    if (result == INFLATE_GARBAGE)
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, f->r,
                      "DEFLATE: request body: something follows its end");
    return (apr_ssize_t)(result == INFLATE_GARBAGE ? len : len - io.in_len);
}

static apr_status_t input_end(ap_filter_t *f, input_ctx *ctx)
{
    if (!inflate_is_complete(ctx->stream))
        return input_fail(f, ctx, APR_EGENERAL, "its end is missing");
    ctx->ended = 1;
    return APR_SUCCESS;
}

/* Of the first bucket of ctx->in, as much as makes a buffer. */
static apr_status_t input_bucket(ap_filter_t *f, input_ctx *ctx)
{
    apr_bucket *b = APR_BRIGADE_FIRST(ctx->in);
    const char *data;
    apr_size_t len;
    apr_ssize_t used = 0;
    apr_status_t rv;

    if (APR_BUCKET_IS_METADATA(b)) {
        if (APR_BUCKET_IS_EOS(b) && (rv = input_end(f, ctx)) != APR_SUCCESS)
            return rv;
        APR_BUCKET_REMOVE(b);
        APR_BRIGADE_INSERT_TAIL(ctx->out, b);
        return APR_SUCCESS;
    }
    rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);
    if (rv != APR_SUCCESS)
        return rv;
    if (len && (used = input_inflate(f, ctx, data, len)) < 0)
        return ctx->status;
    if (len && (apr_size_t)used < len &&
        (rv = apr_bucket_split(b, (apr_size_t)used)) != APR_SUCCESS)
        return rv;
    apr_bucket_delete(b);
    return APR_SUCCESS;
}

/* The body that is read is another one than the head describes. Only now: the reader of the message
 * looks there for its length when it is first asked. */
static void input_change_head(request_rec *r, input_ctx *ctx)
{
    if (*ctx->rest)
        apr_table_setn(r->headers_in, "Content-Encoding", ctx->rest);
    else
        apr_table_unset(r->headers_in, "Content-Encoding");
    apr_table_unset(r->headers_in, "Content-Length");
    apr_table_unset(r->headers_in, "Content-MD5");
    ctx->rest = NULL;
}

static apr_status_t input_read(ap_filter_t *f, input_ctx *ctx, ap_input_mode_t mode,
                               apr_read_type_e block, apr_off_t readbytes)
{
    apr_status_t rv = ap_get_brigade(f->next, ctx->in, mode, block,
                                     readbytes > INPUT_BUFFER ? readbytes : INPUT_BUFFER);

    if (ctx->rest)
        input_change_head(f->r, ctx);
    return rv;
}

/* Something into ctx->out, at most one read from below once there is something. */
static apr_status_t input_fill(ap_filter_t *f, input_ctx *ctx, ap_input_mode_t mode,
                               apr_read_type_e block, apr_off_t readbytes)
{
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && !ctx->ended) {
        apr_off_t there = 0;

        (void)apr_brigade_length(ctx->out, 1, &there);
        if (there >= readbytes)
            break;
        if (ctx->full)
            (void)input_inflate(f, ctx, "", 0);
        else if (!APR_BRIGADE_EMPTY(ctx->in))
            rv = input_bucket(f, ctx);
        else if (there || (rv = input_read(f, ctx, mode, block, readbytes)) != APR_SUCCESS ||
                 APR_BRIGADE_EMPTY(ctx->in))
            break;
        if (ctx->status != APR_SUCCESS)
            rv = ctx->status;
    }
    return rv;
}

/* Unused input must outlive the call. */
static apr_status_t input_keep(ap_filter_t *f, input_ctx *ctx)
{
    for (apr_bucket *b = APR_BRIGADE_FIRST(ctx->in); b != APR_BRIGADE_SENTINEL(ctx->in);
         b = APR_BUCKET_NEXT(b)) {
        apr_status_t rv = apr_bucket_setaside(b, f->r->pool);

        if (rv != APR_SUCCESS && rv != APR_ENOTIMPL)
            return rv;
    }
    return APR_SUCCESS;
}

/* ---- the filter ---- */

static input_ctx *input_begin(ap_filter_t *f)
{
    request_rec *r = f->r;
    const char *rest = inflate_rest_of(r->pool, apr_table_get(r->headers_in, "Content-Encoding"));
    input_ctx *ctx;

    if (!ap_is_initial_req(r) || !rest)
        return NULL;
    ctx = apr_pcalloc(r->pool, sizeof *ctx);
    ctx->rest = rest;
    ctx->tag = INPUT_TAG;
    ctx->in = apr_brigade_create(r->pool, f->c->bucket_alloc);
    ctx->out = apr_brigade_create(r->pool, f->c->bucket_alloc);
    if (!(ctx->stream = inflate_open(r->pool)))
        (void)input_fail(f, ctx, APR_ENOMEM, "no memory");
    return ctx;
}

static apr_status_t inflate_input(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                                  apr_read_type_e block, apr_off_t readbytes)
{
    input_ctx *ctx = f->ctx;
    apr_bucket *after;
    apr_status_t rv;

    if (mode != AP_MODE_READBYTES)
        return ap_get_brigade(f->next, bb, mode, block, readbytes);
    if (!ctx && !(ctx = f->ctx = input_begin(f))) {
        ap_remove_input_filter(f);
        return ap_get_brigade(f->next, bb, mode, block, readbytes);
    }
    BRG_ASSERT_TAG(ctx, INPUT_TAG);
    if (ctx->status != APR_SUCCESS)
        return ctx->status;
    if (ctx->ended && APR_BRIGADE_EMPTY(ctx->out)) /* asked again, behind the end */
        return ap_get_brigade(f->next, bb, mode, block, readbytes);
    rv = input_fill(f, ctx, mode, block, readbytes);
    if (ctx->status != APR_SUCCESS || (rv != APR_SUCCESS && APR_BRIGADE_EMPTY(ctx->out)))
        return rv;
    rv = input_keep(f, ctx);
    if (rv != APR_SUCCESS)
        return rv;
    rv = apr_brigade_partition(ctx->out, readbytes, &after);
    if (rv != APR_SUCCESS && rv != APR_INCOMPLETE)
        return rv;
    if (rv == APR_INCOMPLETE)
        after = APR_BRIGADE_SENTINEL(ctx->out);
    while (APR_BRIGADE_FIRST(ctx->out) != after) {
        apr_bucket *b = APR_BRIGADE_FIRST(ctx->out);

        APR_BUCKET_REMOVE(b);
        APR_BRIGADE_INSERT_TAIL(bb, b);
    }
    return APR_SUCCESS;
}

/* Of an output of unknown size, or a large one, a loop keeps off. */
static void inflate_choose_thread(request_rec *r)
{
    if (r->output_filters == r->proto_output_filters || /* none that handles content */
        (r->finfo.filetype == APR_REG && r->finfo.size <= INFLATE_LOOP_MOST))
        return;
    for (const ap_filter_t *f = r->output_filters; f; f = f->next)
        if (f->frec == inflate_handle)
            brg_request_needs_worker(r);
}

void inflate_register(apr_pool_t *p)
{
    inflate_handle =
        ap_register_output_filter("INFLATE", inflate_output, NULL, AP_FTYPE_CONTENT_SET - 1);
    (void)ap_register_input_filter("DEFLATE", inflate_input, NULL, AP_FTYPE_CONTENT_SET);
    ap_hook_insert_filter(inflate_choose_thread, NULL, NULL, APR_HOOK_LAST);
}
