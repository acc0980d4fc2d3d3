/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ap_r* calls: handlers that write like to a stream. Small writes gather in the OLD_WRITE
 * filter instance of the request, which the first of them puts on its chain; it prepends its bytes
 * to any brigade that passes.
 */
#include "http_config.h"
#include "http_log.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/memory.h"
#include "brigade/assert.h"
#include <limits.h>
#include <stdarg.h>
#include <string.h>

APLOG_USE_MODULE(core);

AP_DECLARE_DATA ap_filter_rec_t *ap_old_write_func;

typedef struct old_write_ctx {
    apr_bucket_brigade *bb;
} old_write_ctx;

AP_DECLARE_NONSTD(apr_status_t) ap_old_write_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    old_write_ctx *ctx = f->ctx;

    if (ctx && ctx->bb)
        APR_BRIGADE_PREPEND(bb, ctx->bb);
    return ap_pass_brigade(f->next, bb);
}

static ap_filter_t *write_find(request_rec *r)
{
    ap_filter_t *f = r->output_filters;

    while (f && !(f->frec == ap_old_write_func && f->r == r))
        f = f->next;
    return f;
}

static ap_filter_t *write_filter(request_rec *r)
{
    ap_filter_t *f = write_find(r);
    old_write_ctx *ctx;

    if (!f) {
        ctx = apr_pcalloc(r->pool, sizeof(*ctx));
        ap_add_output_filter_handle(ap_old_write_func, ctx, r, r->connection);
        f = write_find(r);
    }
    return f;
}

static apr_status_t write_pass_bucket(request_rec *r, apr_bucket *e)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_status_t rv;

    APR_BRIGADE_INSERT_TAIL(bb, e);
    rv = ap_pass_brigade(r->output_filters, bb);
    apr_brigade_destroy(bb);
    return rv;
}

static apr_status_t write_buffer(request_rec *r, const char *data, apr_size_t len)
{
    ap_filter_t *f;
    old_write_ctx *ctx;
    apr_status_t rv;

    BRG_ASSERT(data || len == 0);
    if (len == 0)
        return APR_SUCCESS;
    f = write_filter(r);
    /* Another filter stands above: it must see the data first, so nothing may be held back below
     * it. */
    if (f != r->output_filters) {
        return write_pass_bucket(
            r, apr_bucket_transient_create(data, len, r->connection->bucket_alloc));
    }
    ctx = f->ctx;
    if (!ctx->bb)
        ctx->bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    rv = apr_brigade_write(ctx->bb, ap_filter_flush, f->next, data, len);
    if (!APR_BRIGADE_EMPTY(ctx->bb)) /* else it was passed on as it lay there */
        brg_buffer_copied(len);
    return rv;
}

AP_DECLARE(int) ap_rputc(int c, request_rec *r)
{
    const char byte = (char)c;

    if (r->connection->aborted)
        return -1;
    return write_buffer(r, &byte, 1) == APR_SUCCESS ? c : -1;
}

AP_DECLARE(int) ap_rwrite(const void *buf, int nbyte, request_rec *r)
{
    if (nbyte < 0 || r->connection->aborted)
        return -1;
    return write_buffer(r, buf, (apr_size_t)nbyte) == APR_SUCCESS ? nbyte : -1;
}

AP_DECLARE_NONSTD(int) ap_rvputs(request_rec *r, ...)
{
    va_list args;
    const char *text;
    apr_size_t written = 0;
    int ok = !r->connection->aborted;

    va_start(args, r);
    while (ok && (text = va_arg(args, const char *))) {
        const apr_size_t len = strlen(text);

        ok = write_buffer(r, text, len) == APR_SUCCESS;
        written += len;
    }
    va_end(args);
    return ok ? (int)written : -1;
}

/* apr_vformatter's buffer and the action when it is full. vb is first: the callback gets its
 * address. */
typedef struct write_formatter {
    apr_vformatter_buff_t vb;
    request_rec *r;
    char buf[AP_IOBUFSIZE];
} write_formatter;

static int write_format_flush(apr_vformatter_buff_t *vb)
{
    write_formatter *wf = (write_formatter *)vb;

    if (write_buffer(wf->r, wf->buf, (apr_size_t)(vb->curpos - wf->buf)) != APR_SUCCESS)
        return -1;
    vb->curpos = wf->buf;
    return 0;
}

AP_DECLARE(int) ap_vrprintf(request_rec *r, const char *fmt, va_list vlist)
{
    write_formatter wf;
    int written;

    if (r->connection->aborted)
        return -1;
    wf.r = r;
    wf.vb.curpos = wf.buf;
    wf.vb.endpos = wf.buf + sizeof(wf.buf);
    written = apr_vformatter(write_format_flush, &wf.vb, fmt, vlist);
    if (written < 0 || write_format_flush(&wf.vb))
        return -1;
    return written;
}

AP_DECLARE_NONSTD(int) ap_rprintf(request_rec *r, const char *fmt, ...)
{
    va_list args;
    int written;

    va_start(args, fmt);
    written = ap_vrprintf(r, fmt, args);
    va_end(args);
    return written;
}

AP_DECLARE(int) ap_rflush(request_rec *r)
{
    return write_pass_bucket(r, apr_bucket_flush_create(r->connection->bucket_alloc)) == APR_SUCCESS
               ? 0
               : -1;
}

AP_DECLARE(apr_status_t)
ap_send_fd(apr_file_t *fd, request_rec *r, apr_off_t offset, apr_size_t length, apr_size_t *nbytes)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_status_t rv;

    apr_brigade_insert_file(bb, fd, offset, (apr_off_t)length, r->pool);
    rv = ap_pass_brigade(r->output_filters, bb);
    *nbytes = rv == APR_SUCCESS ? length : 0;
    return rv;
}

#if APR_HAS_MMAP
AP_DECLARE(apr_size_t)
ap_send_mmap(apr_mmap_t *mm, request_rec *r, apr_size_t offset, apr_size_t length)
{
    apr_bucket *e =
        apr_bucket_mmap_create(mm, (apr_off_t)offset, length, r->connection->bucket_alloc);

    /* Apache's callers count on the length whether or not the client is still there. */
    write_pass_bucket(r, e);
    return length;
}
#endif
