/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of a page that was not passed on yet: a brigade, and behind it a block into which short pieces
 * are copied. There is one allocation per SSI_OUT_BLOCK bytes; long spans of text are references.
 */
#include "ssi_depends_private.h"
#include "ssi_include_private.h"
#include "apr_strings.h"
#include "brigade/memory.h"

void ssi_out_init(ssi_out *out, ap_filter_t *f)
{
    BRG_ASSERT(f->r && f->c);
    memset(out, 0, sizeof *out);
    out->f = f;
    out->gather = SSI_OUT_GATHER;
    out->bb = apr_brigade_create(f->r->pool, f->c->bucket_alloc);
}

void ssi_out_end_block(ssi_out *out)
{
    apr_bucket *e;

    if (!out->buf)
        return;
    BRG_ASSERT(out->used > 0 && out->used <= SSI_OUT_BLOCK);
    e = apr_bucket_heap_create(out->buf, out->used, apr_bucket_free, out->f->c->bucket_alloc);
    APR_BRIGADE_INSERT_TAIL(out->bb, e);
    out->buf = NULL;
    out->used = 0;
}

/* Output of an included page goes to the page that includes it, not to the client. */
static int out_is_outermost(const ssi_out *out)
{
    const include_ctx_t *ctx = ssi_ctx_of(out->f);

    BRG_ASSERT(&ctx->intern->out == out);
    return ctx->intern->link->depth == 0;
}

apr_status_t ssi_out_pass(ssi_out *out)
{
    apr_status_t rv;

    ssi_out_end_block(out);
    if (APR_BRIGADE_EMPTY(out->bb))
        return out->status;
    /* A page whose output was sent cannot run again on a worker. */
    if (out_is_outermost(out) && ssi_about_to_wait(out->f->ctx)) {
        apr_brigade_cleanup(out->bb);
        return out->status;
    }
    if (out_is_outermost(out))
        ssi_digest_brigade(((include_ctx_t *)out->f->ctx)->intern->top, out->bb);
    out->passed = 1;
    out->held = 0;
    rv = out->status == APR_SUCCESS ? ap_pass_brigade(out->f->next, out->bb) : out->status;
    apr_brigade_cleanup(out->bb);
    if (out->status == APR_SUCCESS)
        out->status = rv;
    return out->status;
}

/* The first include that is not there yet, or NULL. */
static apr_bucket *out_first_missing(const ssi_out *out)
{
    const char *data;
    apr_size_t len;

    for (apr_bucket *e = APR_BRIGADE_FIRST(out->bb); e != APR_BRIGADE_SENTINEL(out->bb);
         e = APR_BUCKET_NEXT(e))
        if (SSI_BUCKET_IS_BESIDE(e) &&
            APR_STATUS_IS_EAGAIN(apr_bucket_read(e, &data, &len, APR_NONBLOCK_READ)))
            return e;
    return NULL;
}

static apr_size_t out_length(const apr_bucket_brigade *bb)
{
    apr_size_t len = 0;

    for (const apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e))
        len += e->length == (apr_size_t)-1 ? 0 : e->length;
    return len;
}

/* Output behind an include that is not there yet waits with it. An included page passes all on: the
 * page that includes it decides. */
static apr_status_t out_pass_some(ssi_out *out, int flush)
{
    apr_bucket *missing = NULL;
    apr_bucket_brigade *rest = NULL;

    ssi_out_end_block(out);
    if (ssi_ctx_of(out->f)->intern->top->besides && out_is_outermost(out))
        missing = out_first_missing(out);
    if (missing && missing == APR_BRIGADE_FIRST(out->bb))
        return out->status;
    if (missing)
        rest = apr_brigade_split(out->bb, missing);
    if (flush)
        APR_BRIGADE_INSERT_TAIL(out->bb, apr_bucket_flush_create(out->f->c->bucket_alloc));
    ssi_out_pass(out);
    if (rest) {
        APR_BRIGADE_CONCAT(out->bb, rest);
        out->held = out_length(out->bb);
    }
    return out->status;
}

apr_status_t ssi_out_pass_ready(ssi_out *out)
{
    return out_pass_some(out, 0);
}

apr_status_t ssi_out_flush(ssi_out *out)
{
    return out->memory ? out->status : out_pass_some(out, 1);
}

/* ---- memory ---- */

void ssi_out_divert(ssi_out *out, ssi_memory *memory, apr_size_t most)
{
    BRG_ASSERT(memory != out->memory);
    memset(memory, 0, sizeof *memory);
    memory->most = most;
    memory->outer = out->memory;
    out->memory = memory;
}

char *ssi_grow(apr_pool_t *p, char *data, apr_size_t len, apr_size_t more, apr_size_t *room)
{
    char *grown;

    BRG_ASSERT(len <= *room && (data || !len));
    if (more <= *room - len)
        return data;
    *room = (len + more) * 2 + 256;
    grown = apr_palloc(p, *room);
    if (len) {
        memcpy(grown, data, len);
        brg_buffer_grown(len);
    }
    return grown;
}

static void memory_add(ssi_memory *m, const char *data, apr_size_t len, apr_pool_t *p)
{
    BRG_ASSERT(m->len <= m->room && (!m->most || m->len <= m->most));
    if (!len)
        return;
    if (m->overflow || (m->most && len > m->most - m->len)) {
        m->overflow = 1;
        return;
    }
    m->data = ssi_grow(p, m->data, m->len, len, &m->room);
    memcpy(m->data + m->len, data, len);
    brg_buffer_copied(len);
    m->len += len;
}

char *ssi_out_restore(ssi_out *out, ssi_memory *memory, apr_pool_t *p)
{
    BRG_ASSERT(out->memory == memory); /* captures end in reverse order */
    out->memory = memory->outer;
    return apr_pstrmemdup(p, memory->data ? memory->data : "", memory->len);
}

/* ---- adding ---- */

int ssi_charge(ssi_top *top, const ssi_dir_conf *conf, const request_rec *r, apr_size_t len)
{
    if (top->stopped)
        return 0;
    top->bytes += (apr_off_t)len;
    if (!conf->bytes_most || top->bytes <= conf->bytes_most)
        return 1;
    top->stopped = 1;
    ssi_depends_top(top, SSI_DEPENDS_VOLATILE);
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                  "page has more than SSIMaxBytes (%" APR_INT64_T_FMT
                  ") bytes, the rest is cut: %s",
                  conf->bytes_most, r->filename);
    return 0;
}

/* For a page and everything that it includes. 0: it is exceeded, nothing is added. Output of an included page is counted when it
 * becomes that of the outermost one. */
static int out_charge(ssi_out *out, apr_size_t len)
{
    include_ctx_t *ctx = ssi_ctx_of(out->f);
    ssi_top *top = ctx->intern->top;

    if (top->stopped)
        return 0;
    if (ssi_charge(top, ctx->intern->conf, ctx->r, ctx->intern->link->depth == 0 ? len : 0))
        return 1;
    ssi_out_end_block(out);
    APR_BRIGADE_INSERT_TAIL(out->bb, apr_bucket_pool_create(ctx->error_str, strlen(ctx->error_str),
                                                            ctx->pool, out->f->c->bucket_alloc));
    return 0;
}

/* @a len more bytes are in bb and buf. */
static void out_gathered(ssi_out *out, apr_size_t len)
{
    out->held += len;
    if (out->held <= out->gather)
        return;
    ssi_out_pass_ready(out);
    if (out->held > out->gather)
        ssi_out_pass(out);
}

void ssi_out_bytes(ssi_out *out, const char *data, apr_size_t len)
{
    if (out->memory) {
        memory_add(out->memory, data, len, out->f->r->pool);
        return;
    }
    if (!len || !out_charge(out, len))
        return;
    brg_buffer_copied(len);
    BRG_ASSERT(out->buf || !out->used);
    for (apr_size_t left = len; left;) {
        apr_size_t n = SSI_OUT_BLOCK - out->used;

        if (!out->buf)
            out->buf = apr_bucket_alloc(SSI_OUT_BLOCK, out->f->c->bucket_alloc);
        if (n > left)
            n = left;
        memcpy(out->buf + out->used, data, n);
        out->used += n;
        data += n;
        left -= n;
        if (out->used == SSI_OUT_BLOCK)
            ssi_out_end_block(out);
    }
    out_gathered(out, len);
}

void ssi_out_text(ssi_out *out, const char *text)
{
    ssi_out_bytes(out, text, strlen(text));
}

void ssi_out_span(ssi_out *out, ssi_page *page, apr_size_t off, apr_size_t len)
{
    BRG_ASSERT(off <= page->len && len <= page->len - off);
    if (len <= SSI_OUT_COPY || out->memory) {
        ssi_out_bytes(out, page->data + off, len);
        return;
    }
    if (!out_charge(out, len))
        return;
    ssi_out_end_block(out);
    APR_BRIGADE_INSERT_TAIL(out->bb, ssi_span_create(page, off, len, out->f->c->bucket_alloc));
    out_gathered(out, len);
}

void ssi_out_bucket(ssi_out *out, apr_bucket *e)
{
    apr_size_t len = APR_BUCKET_IS_METADATA(e) || e->length == (apr_size_t)-1 ? 0 : e->length;

    if (len && !out_charge(out, len)) {
        apr_bucket_destroy(e);
        return;
    }
    ssi_out_end_block(out);
    APR_BRIGADE_INSERT_TAIL(out->bb, e);
    out_gathered(out, len);
}
