/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CHUNK filter (RFC 9112 section 7.1): each brigade becomes one chunk around its buckets, whose
 * data is neither copied nor, where the length is known, read; EOS becomes the last chunk.
 *
 * A body that was cut short by an error must not look complete, so after an error bucket no last
 * chunk is sent.
 */
#include "h1_response.h"
#include "http_error.h"
#include "h1_request.h"
#include "request_parts.h"
#include "http_connection.h"
#include "http_log.h"
#include "http_protocol.h"
#include "mod_core.h"
#include "apr_strings.h"

APLOG_USE_MODULE(http);

typedef struct chunk_ctx {
    const apr_bucket *head; /* response head in front of the first brigade */
    int broken;
} chunk_ctx;

void h1_chunk_insert(request_rec *r, const apr_bucket *head)
{
    chunk_ctx *ctx = apr_pcalloc(r->pool, sizeof(*ctx));

    ctx->head = head;
    ap_add_output_filter_handle(ap_chunk_filter_handle, ctx, r, r->connection);
}

/* "hex CRLF" as a bucket. */
static apr_bucket *chunk_size_bucket(apr_off_t size, apr_bucket_alloc_t *alloc)
{
    static const char digits[] = "0123456789abcdef";
    char text[20], *end = text + sizeof(text), *p = end;

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

    APR_BUCKET_INSERT_BEFORE(from, e);
    e = apr_bucket_immortal_create("\r\n", 2, alloc);
    APR_BUCKET_INSERT_BEFORE(upto, e);
}

static void chunk_last(apr_bucket *eos, apr_bucket_alloc_t *alloc)
{
    apr_bucket *e = apr_bucket_immortal_create("0\r\n\r\n", 5, alloc);

    APR_BUCKET_INSERT_BEFORE(eos, e);
}

/*
 * A bucket whose length is not known: take what it has at hand and stop there if more would mean
 * waiting with data in hand. 1: stop after this bucket.
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
        ctx = f->ctx = apr_pcalloc(f->r->pool, sizeof(*ctx));
    do {
        rv = chunk_find(ctx, bb, &span);
        if (rv != APR_SUCCESS)
            return rv;
        if (span.blocked) {
            rest = apr_brigade_split_ex(bb, span.upto, rest);
            span.upto = APR_BRIGADE_SENTINEL(bb);
        }
        if (span.from)
            chunk_wrap(span.from, span.upto, span.size, alloc);
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

/* ---- HTTP_OUTERROR: what an error or the end of a response means for the connection ---- */

/* What f->ctx points to when EOS or EOC went by, and when the connection did not take all of the
 * response. request_finish.c asks whether there is anything. */
static char outerror_ended, outerror_failed;

/* Filters of the connection failed: what they lost is missing in the response. Where it is the
 * peer that went, c->aborted says so. */
static void outerror_cut(ap_filter_t *f, apr_status_t rv)
{
    if (f->ctx != &outerror_failed && !f->c->aborted)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, f->r,
                      "the response could not be sent whole: connection closed");
    f->ctx = &outerror_failed;
    f->c->keepalive = AP_CONN_CLOSE;
}

apr_status_t ap_http_outerror_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    const int had_ended = f->ctx != NULL;
    int ends = 0;
    apr_bucket *e, *next;
    apr_status_t rv;

    for (e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb); e = next) {
        next = APR_BUCKET_NEXT(e);
        if (!APR_BUCKET_IS_METADATA(e)) {
            /* What a handler still writes after the answer was ended (by an error page) is not of
             * it. */
            if (had_ended)
                apr_bucket_delete(e);
            continue;
        }
        if (AP_BUCKET_IS_ERROR(e)) {
            f->c->keepalive = AP_CONN_CLOSE;
        } else if (AP_BUCKET_IS_EOC(e)) {
            f->c->keepalive = AP_CONN_CLOSE;
            ends = 1;
        } else if (APR_BUCKET_IS_EOS(e)) {
            ends = 1;
        }
    }
    if (ends)
        f->ctx = &outerror_ended;
    rv = ap_pass_brigade(f->next, bb);
    if (rv != APR_SUCCESS)
        outerror_cut(f, rv);
    return rv;
}
