/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CHUNK filter (RFC 9112 section 7.1): each brigade becomes one chunk around its buckets, whose
 * data is neither copied nor, where the length is known, read; EOS becomes the last chunk.
 *
 * A body that was cut short by an error must not look complete, so after an error bucket no last
 * chunk is sent.
 *
 * Trailers (r->trailers_out) are sent in streams alone (h1_stream.c), as by Apache: an HTTP/1
 * client would have to say that it takes them, and a proxy in between may drop them.
 */
#include "h1_response.h"
#include "http_connection.h"
#include "http_protocol.h"
#include "mod_core.h"
#include "brigade/assert.h"
#include <string.h>

#define CHUNK_TAG 0x43484e4bu /* "CHNK" */

typedef struct chunk_ctx {
    uint32_t tag;           /* CHUNK_TAG: f->ctx leads here */
    const apr_bucket *head; /* response head in front of the first brigade */
    int broken;
} chunk_ctx;

static chunk_ctx *chunk_ctx_make(request_rec *r)
{
    chunk_ctx *ctx = apr_pcalloc(r->pool, sizeof(*ctx));

    ctx->tag = CHUNK_TAG;
    return ctx;
}

void h1_chunk_insert(request_rec *r, const apr_bucket *head)
{
    chunk_ctx *ctx = chunk_ctx_make(r);

    ctx->head = head;
    ap_add_output_filter_handle(ap_chunk_filter_handle, ctx, r, r->connection);
}

/* "hex CRLF" as a bucket. */
static apr_bucket *chunk_size_bucket(apr_off_t size, apr_bucket_alloc_t *alloc)
{
    static const char digits[] = "0123456789abcdef";
    char text[20], *end = text + sizeof(text), *p = end;

    BRG_ASSERT(size > 0);
    *--p = '\n';
    *--p = '\r';
    do {
        *--p = digits[size & 0xf];
    } while ((size >>= 4) != 0);
    return apr_bucket_heap_create(p, (apr_size_t)(end - p), NULL, alloc);
}

/* Wrap [from, upto) of @a size bytes. */
static void chunk_wrap(apr_bucket *from, apr_bucket *upto, apr_off_t size,
                       apr_bucket_alloc_t *alloc)
{
    apr_bucket *e = chunk_size_bucket(size, alloc);

    BRG_ASSERT(from != upto && size > 0);
    APR_BUCKET_INSERT_BEFORE(from, e);
    e = apr_bucket_immortal_create("\r\n", 2, alloc);
    APR_BUCKET_INSERT_BEFORE(upto, e);
}

static void chunk_last(apr_bucket *eos, apr_bucket_alloc_t *alloc)
{
    apr_bucket *e = apr_bucket_immortal_create("0\r\n\r\n", 5, alloc);

    BRG_ASSERT(APR_BUCKET_IS_EOS(eos));
    APR_BUCKET_INSERT_BEFORE(eos, e);
}

/*
 * A bucket of unknown length: take its bytes at hand and stop there if more would mean waiting with
 * data in hand. 1: stop after this bucket.
 */
static apr_status_t chunk_measure(apr_bucket *e, apr_off_t have, int *stop)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = apr_bucket_read(e, &data, &len, have ? APR_NONBLOCK_READ : APR_BLOCK_READ);

    *stop = APR_STATUS_IS_EAGAIN(rv);
    return *stop ? APR_SUCCESS : rv;
}

typedef struct chunk_span {
    apr_bucket *from; /* first data bucket, NULL = none */
    /* behind the last data bucket: a FLUSH that follows takes the end of the chunk along */
    apr_bucket *end;
    apr_bucket *upto; /* where the span ends: EOS, the bucket that would block, or the sentinel */
    apr_off_t size;
    int eos, blocked;
} chunk_span;

static apr_status_t chunk_find(chunk_ctx *ctx, apr_bucket_brigade *bb, chunk_span *span)
{
    apr_bucket *e = APR_BRIGADE_FIRST(bb);

    *span = (chunk_span){.upto = APR_BRIGADE_SENTINEL(bb)};
    for (; e != APR_BRIGADE_SENTINEL(bb); e = APR_BUCKET_NEXT(e)) {
        if (e == ctx->head) {
            ctx->head = NULL;
            continue;
        }
        if (APR_BUCKET_IS_EOS(e)) {
            span->upto = e;
            span->eos = 1;
            return APR_SUCCESS;
        }
        if (AP_BUCKET_IS_ERROR(e))
            ctx->broken = 1;
        if (APR_BUCKET_IS_METADATA(e))
            continue;
        if (e->length == (apr_size_t)-1) {
            apr_status_t rv = chunk_measure(e, span->size, &span->blocked);

            if (rv != APR_SUCCESS)
                return rv;
            if (span->blocked) {
                span->upto = e;
                return APR_SUCCESS;
            }
        }
        if (e->length && !span->from)
            span->from = e;
        span->size += (apr_off_t)e->length;
        if (e->length)
            span->end = APR_BUCKET_NEXT(e);
    }
    return APR_SUCCESS;
}

apr_status_t ap_http_chunk_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    chunk_ctx *ctx = f->ctx;
    apr_bucket_alloc_t *alloc = f->c->bucket_alloc;
    apr_bucket_brigade *rest = NULL;
    chunk_span span;
    apr_status_t rv;

    if (!ctx)
        f->ctx = ctx = chunk_ctx_make(f->r);
    BRG_ASSERT_TAG(ctx, CHUNK_TAG);
    do {
        rv = chunk_find(ctx, bb, &span);
        if (rv != APR_SUCCESS)
            return rv;
        if (span.blocked) {
            rest = apr_brigade_split_ex(bb, span.upto, rest);
            span.upto = APR_BRIGADE_SENTINEL(bb);
        }
        BRG_ASSERT(!span.from == !span.size);
        if (span.from)
            chunk_wrap(span.from, span.end, span.size, alloc);
        if (span.eos && !ctx->broken)
            chunk_last(span.upto, alloc);
        if (span.blocked)
            APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(alloc));
        rv = ap_pass_brigade(f->next, bb);
        if (rv != APR_SUCCESS || !span.blocked)
            return rv;
        apr_brigade_cleanup(bb);
        APR_BRIGADE_CONCAT(bb, rest);
    } while (!APR_BRIGADE_EMPTY(bb));
    return APR_SUCCESS;
}
