/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_ratelimit: RATE_LIMIT sends a response in pieces, one each 200 ms. The variables rate-limit and rate-initial-burst
 * say how much, in KiB.
 *
 * The filter waits on its thread between pieces. So the module does not declare itself: requests with the filter run on
 * workers, and other requests do not notice it.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "util_filter.h"
#include "apr_strings.h"
#include <stdlib.h>

#define RATE_INTERVAL_MS 200

extern module ratelimit_module;
APLOG_USE_MODULE(ratelimit);

typedef struct rate_ctx {
    apr_size_t piece; /* bytes in an interval */
    apr_size_t burst; /* bytes that may be sent besides */
    int waits;        /* a piece was passed: the next one has to wait */
    apr_bucket_brigade *held, *out;
} rate_ctx;

/* A variable in KiB as bytes; 0: no valid value. As in Apache it is 32 bits that have to be
 * positive, whatever was lost of a larger number. */
static apr_size_t rate_bytes(const request_rec *r, const char *value, const char *message)
{
    apr_int32_t bytes;

    if (!value)
        return 0;
    bytes = (apr_int32_t)((apr_uint32_t)strtol(value, NULL, 10) * 1024);
    if (bytes > 0)
        return (apr_size_t)bytes;
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, message, value);
    return 0;
}

static rate_ctx *rate_begin(ap_filter_t *f)
{
    request_rec *r = f->r;
    const apr_size_t limit =
        rate_bytes(r, apr_table_get(r->subprocess_env, "rate-limit"),
                   APLOGNO(03488) "rl: disabling: rate-limit = %s (too high?)");
    rate_ctx *ctx;

    if (!limit)
        return NULL;
    ctx = apr_pcalloc(r->pool, sizeof *ctx);
    ctx->piece = limit / (1000 / RATE_INTERVAL_MS);
    ctx->burst =
        rate_bytes(r, apr_table_get(r->subprocess_env, "rate-initial-burst"),
                   APLOGNO(03489) "rl: disabling burst: rate-initial-burst = %s (too high?)");
    ctx->held = apr_brigade_create(r->pool, f->c->bucket_alloc);
    ctx->out = apr_brigade_create(r->pool, f->c->bucket_alloc);
    return ctx;
}

/* The end of a piece. */
typedef enum rate_end { RATE_MORE, RATE_FULL, RATE_FLUSH, RATE_EOS } rate_end;

static apr_status_t rate_length(apr_bucket *b)
{
    const char *data;
    apr_size_t len;

    return b->length == (apr_size_t)-1 ? apr_bucket_read(b, &data, &len, APR_BLOCK_READ)
                                       : APR_SUCCESS;
}

/* A bucket that only part of which belongs to the piece. */
static apr_status_t rate_split(apr_bucket *b, apr_size_t at)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = apr_bucket_split(b, at);

    if (rv != APR_ENOTIMPL)
        return rv;
    rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);
    if (rv != APR_SUCCESS || len <= at)
        return rv;
    return apr_bucket_split(b, at);
}

/* Move the next piece from held to out. */
static apr_status_t rate_cut(rate_ctx *ctx, apr_size_t *len, rate_end *end)
{
    const apr_size_t most = ctx->piece + ctx->burst;

    *len = 0;
    *end = RATE_MORE;
    while (*end == RATE_MORE && !APR_BRIGADE_EMPTY(ctx->held)) {
        apr_bucket *b = APR_BRIGADE_FIRST(ctx->held);
        apr_status_t rv = rate_length(b);

        if (rv == APR_SUCCESS && b->length > most - *len) {
            *end = RATE_FULL;
            if (*len == most)
                break;
            rv = rate_split(b, most - *len);
        }
        if (rv != APR_SUCCESS)
            return rv;
        if (APR_BUCKET_IS_EOS(b))
            *end = RATE_EOS;
        else if (APR_BUCKET_IS_FLUSH(b))
            *end = RATE_FLUSH;
        *len += b->length;
        APR_BUCKET_REMOVE(b);
        APR_BRIGADE_INSERT_TAIL(ctx->out, b);
    }
    return APR_SUCCESS;
}

/* Each look at data takes of the burst, also where it waits for more. */
static void rate_take_burst(const request_rec *r, rate_ctx *ctx, apr_size_t len)
{
    if (!ctx->burst)
        return;
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, APLOGNO(03485) "rl: burst %d; len %ld",
                  (int)ctx->burst, (long)len);
    ctx->burst -= len < ctx->burst ? len : ctx->burst;
}

static apr_status_t rate_pass(ap_filter_t *f, rate_ctx *ctx, rate_end end)
{
    apr_status_t rv;

    if (ctx->waits)
        apr_sleep(RATE_INTERVAL_MS * APR_TIME_C(1000));
    ctx->waits = 1;
    if (end == RATE_FULL)
        APR_BRIGADE_INSERT_TAIL(ctx->out, apr_bucket_flush_create(f->c->bucket_alloc));
    rv = ap_pass_brigade(f->next, ctx->out);
    apr_brigade_cleanup(ctx->out);
    if (rv != APR_SUCCESS)
        ap_log_rerror(APLOG_MARK, APLOG_TRACE1, rv, f->r,
                      APLOGNO(01457) "rl: brigade pass failed.");
    return rv;
}

static apr_status_t rate_hold(ap_filter_t *f, rate_ctx *ctx)
{
    return ap_save_brigade(f, &ctx->held, &ctx->out, f->r->pool);
}

static apr_status_t rate_pass_all(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_status_t rv;

    ap_remove_output_filter(f);
    rv = ap_pass_brigade(f->next, bb);
    if (rv != APR_SUCCESS)
        ap_log_rerror(APLOG_MARK, APLOG_TRACE1, rv, f->r,
                      APLOGNO(01455) "rl: full speed brigade pass failed.");
    return rv;
}

static apr_status_t rate_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    rate_ctx *ctx = f->ctx;
    apr_status_t rv;

    if (!ctx && !(ctx = f->ctx = rate_begin(f)))
        return rate_pass_all(f, bb);
    APR_BRIGADE_CONCAT(ctx->held, bb);
    while (!APR_BRIGADE_EMPTY(ctx->held)) {
        apr_size_t len;
        rate_end end;

        rv = rate_cut(ctx, &len, &end);
        if (rv != APR_SUCCESS) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, f->r, APLOGNO(01456) "rl: partition failed.");
            return rv;
        }
        rate_take_burst(f->r, ctx, len);
        if (end == RATE_MORE)
            return rate_hold(f, ctx);
        rv = rate_pass(f, ctx, end);
        if (rv != APR_SUCCESS) {
            apr_brigade_cleanup(ctx->held);
            return rv;
        }
        if (end == RATE_EOS)
            return rate_pass_all(f, ctx->held);
    }
    return APR_SUCCESS;
}

static void rate_register_hooks(apr_pool_t *p)
{
    ap_register_output_filter("RATE_LIMIT", rate_filter, NULL, AP_FTYPE_CONNECTION - 1);
}

module AP_MODULE_DECLARE_DATA ratelimit_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, rate_register_hooks, 0,
};
