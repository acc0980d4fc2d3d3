/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TESTCUT gives the content of a response to the filters in pieces. Built from the same source for
 * Apache and for Brigade.
 *
 * It comes first in the chain of every request, sub-requests too, whose X-Cut header is
 *
 *     N        buckets of N bytes
 *     @N       one cut after N bytes
 *
 * followed by any of these letters:
 *
 *     p        every piece is passed in a brigade of its own
 *     f        a FLUSH bucket after every piece
 *     z        an empty bucket before and after every piece
 *     t        the pieces are transient: their bytes are overwritten after each pass (implies p)
 */
#include "httpd.h"
#include "http_config.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_strings.h"

#include <stdlib.h>
#include <string.h>

module AP_MODULE_DECLARE_DATA testcut_module;

typedef struct testcut_ctx {
    apr_size_t every, at, seen;
    int pass, flush, empty, transient;
    apr_bucket_brigade *out;
    char *scratch;
} testcut_ctx;

/* What the header asks for, or NULL. */
static testcut_ctx *testcut_parse(request_rec *r)
{
    const char *cut = apr_table_get(r->headers_in, "X-Cut");
    testcut_ctx *ctx;
    char *rest;

    if (!cut)
        return NULL;
    ctx = apr_pcalloc(r->pool, sizeof(*ctx));
    if (*cut == '@')
        ctx->at = strtoul(cut + 1, &rest, 10);
    else
        ctx->every = strtoul(cut, &rest, 10);
    ctx->transient = strchr(rest, 't') != NULL;
    ctx->pass = ctx->transient || strchr(rest, 'p');
    ctx->flush = strchr(rest, 'f') != NULL;
    ctx->empty = strchr(rest, 'z') != NULL;
    return ctx;
}

static void testcut_add_empty(testcut_ctx *ctx, apr_bucket_alloc_t *alloc)
{
    if (ctx->empty)
        APR_BRIGADE_INSERT_TAIL(ctx->out, apr_bucket_immortal_create("", 0, alloc));
}

static apr_status_t testcut_add(ap_filter_t *f, testcut_ctx *ctx, const char *data, apr_size_t len)
{
    apr_bucket_alloc_t *alloc = f->c->bucket_alloc;
    apr_bucket *b;
    apr_status_t rv = APR_SUCCESS;

    if (ctx->transient) {
        ctx->scratch = memcpy(malloc(len), data, len);
        b = apr_bucket_transient_create(ctx->scratch, len, alloc);
    } else {
        b = apr_bucket_heap_create(data, len, NULL, alloc);
    }
    testcut_add_empty(ctx, alloc);
    APR_BRIGADE_INSERT_TAIL(ctx->out, b);
    testcut_add_empty(ctx, alloc);
    if (ctx->flush)
        APR_BRIGADE_INSERT_TAIL(ctx->out, apr_bucket_flush_create(alloc));
    if (ctx->pass) {
        rv = ap_pass_brigade(f->next, ctx->out);
        apr_brigade_cleanup(ctx->out);
    }
    if (ctx->transient) {
        memset(ctx->scratch, '?', len);
        free(ctx->scratch);
    }
    return rv;
}

/* How many of the next bytes go into one piece. */
static apr_size_t testcut_piece(const testcut_ctx *ctx, apr_size_t len)
{
    apr_size_t piece = len;

    if (ctx->every)
        piece = ctx->every;
    else if (ctx->seen < ctx->at)
        piece = ctx->at - ctx->seen;
    return piece < len ? piece : len;
}

static apr_status_t testcut_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    testcut_ctx *ctx = f->ctx;
    apr_status_t rv = APR_SUCCESS;
    const char *data;
    apr_size_t len, piece;
    apr_bucket *b;

    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb)) {
        b = APR_BRIGADE_FIRST(bb);
        if (APR_BUCKET_IS_METADATA(b)) {
            APR_BUCKET_REMOVE(b);
            APR_BRIGADE_INSERT_TAIL(ctx->out, b);
            continue;
        }
        rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);
        for (; rv == APR_SUCCESS && len; data += piece, len -= piece) {
            piece = testcut_piece(ctx, len);
            rv = testcut_add(f, ctx, data, piece);
            ctx->seen += piece;
        }
        apr_bucket_delete(b);
    }
    if (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(ctx->out)) {
        rv = ap_pass_brigade(f->next, ctx->out);
        apr_brigade_cleanup(ctx->out);
    }
    return rv;
}

static void testcut_insert(request_rec *r)
{
    testcut_ctx *ctx = testcut_parse(r);

    if (ctx) {
        ctx->out = apr_brigade_create(r->pool, r->connection->bucket_alloc);
        ap_add_output_filter("TESTCUT", ctx, r, r->connection);
    }
}

static void testcut_hooks(apr_pool_t *pool)
{
    ap_register_output_filter("TESTCUT", testcut_filter, NULL, AP_FTYPE_RESOURCE - 1);
    ap_hook_insert_filter(testcut_insert, NULL, NULL, APR_HOOK_LAST);
}

AP_DECLARE_MODULE(testcut) = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, testcut_hooks};
