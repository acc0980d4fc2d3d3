/* SPDX-License-Identifier: Apache-2.0 */
/* Running a page: text goes to the output, directives are called. */
#include "ssi_depends_private.h"
#include "ssi_include_private.h"
#include "http_core.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/memory.h"

static void run_log_mistakes(include_ctx_t *ctx, const ssi_directive *d)
{
    request_rec *r = ctx->r;

    for (const unsigned char *m = d->mistakes; *m; m++) {
        if (*m == SSI_LEX_NO_NAME)
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(01368) "missing directive name in parsed document %s",
                          r->filename);
        else if (*m == SSI_LEX_NO_ARG_BEFORE_QUOTE)
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(01369) "missing argument name for value to tag %s in %s", d->name,
                          r->filename);
        else
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                          APLOGNO(01370) "missing argument name for value to tag %s in %s", d->name,
                          r->filename);
    }
}

static void run_unknown(include_ctx_t *ctx, const ssi_directive *d)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                  APLOGNO(01371) "unknown directive \"%s\" in parsed doc %s", d->name,
                  ctx->r->filename);
    if (ssi_printing(ctx))
        ssi_error(ctx);
}

static unsigned run_line(const ssi_state *s, const ssi_directive *d)
{
    unsigned line = 1;
    const char *end = s->page->data + d->off;

    BRG_ASSERT(d->off <= s->page->len);
    for (const char *c = s->page->data; (c = memchr(c, '\n', (apr_size_t)(end - c))) != NULL; c++)
        line++;
    return line;
}

/* SSITrace: where output comes from. Input that is streamed has no lines, but offsets. */
static void run_trace(include_ctx_t *ctx, const ssi_directive *d, const char *what)
{
    ssi_state *s = ctx->intern;
    apr_pool_t *p = ssi_dpool(ctx);
    const char *at = s->page ? apr_psprintf(p, ":%u", run_line(s, d))
                             : apr_psprintf(p, "@%" APR_SIZE_T_FMT, d->off);

    ssi_out_text(&s->out, apr_pstrcat(p, "<!-- ssi ", what, " ", ap_escape_html(p, d->name), " ",
                                      ap_escape_html(p, ctx->r->uri), at, " -->", NULL));
}

/* An element of another module: it gets a brigade and may pass it on by itself. */
static void run_module_element(include_ctx_t *ctx, const ssi_directive *d)
{
    ssi_state *s = ctx->intern;
    apr_bucket_brigade *bb = s->out.bb;
    apr_status_t rv;

    BRG_ASSERT(!d->element->builtin);
    ssi_depends(ctx, SSI_DEPENDS_VOLATILE);
    if (ssi_about_to_wait(ctx))
        return;
    ssi_env_ready(ctx);
    ssi_out_end_block(&s->out);
    BRG_ASSERT(!s->out.buf);
    s->dpool_used = 1;
    s->out.passed = 1;
    rv = d->element->fn(ctx, s->f, bb);
    if (rv != APR_SUCCESS && s->out.status == APR_SUCCESS)
        s->out.status = rv;
    if (ctx->flush_now) {
        ctx->flush_now = 0;
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(s->f->c->bucket_alloc));
    }
    ssi_out_pass(&s->out);
}

void ssi_run(include_ctx_t *ctx, const ssi_directive *d)
{
    ssi_state *s = ctx->intern;
    int trace = s->conf->trace && ssi_printing(ctx);

    BRG_ASSERT_TAG(s, SSI_STATE_TAG);
    /* A page that sets one long value after the other uses memory without any output that would be
     * stopped. */
    if (__builtin_expect(brg_pool_refused(ctx->r->pool) == BRG_POOL_RESERVE_LOW, 0)) {
        s->out.status = APR_ENOMEM;
        return;
    }
    if (d->mistakes || d->unfinished) {
        if (d->mistakes)
            run_log_mistakes(ctx, d);
        if (ssi_printing(ctx) && !d->unfinished)
            ssi_error(ctx);
        return;
    }
    if (!d->element) {
        run_unknown(ctx, d);
        return;
    }
    if (!ssi_printing(ctx) && !d->element->when_hidden)
        return;
    BRG_ASSERT(d->pool && (d->args || !d->args_n));
    s->directive = d;
    s->arg_next = 0;
    ctx->argc = d->args_n;
    if (trace && !d->element->when_hidden)
        run_trace(ctx, d, "begin");
    if (d->element->builtin)
        d->element->fn(ctx, s->f, s->out.bb);
    else
        run_module_element(ctx, d);
    if (trace)
        run_trace(ctx, d, d->element->when_hidden ? "at" : "end");
    s->directive = NULL;
    if (s->dpool_used) {
        apr_pool_clear(ctx->dpool);
        s->dpool_used = 0;
    }
}

void ssi_render(include_ctx_t *ctx, ssi_page *page)
{
    ssi_state *s = ctx->intern;
    unsigned i = 0;

    BRG_ASSERT_TAG(page, SSI_PAGE_TAG);
    BRG_ASSERT(!s->page && page->tags == s->tags);
    s->page = page;
    ssi_lookups_begin(ctx, page);
    while (i < page->nodes_n && s->out.status == APR_SUCCESS && !s->top->stopped) {
        const ssi_node *node = &page->nodes[i++];

        if (node->directive)
            ssi_run(ctx, node->directive);
        else if (ssi_printing(ctx))
            ssi_out_span(&s->out, page, node->off, node->len);
        if (!ssi_printing(ctx))
            i = page->nodes[i - 1].next_flow;
    }
    BRG_ASSERT(i <= page->nodes_n);
    s->page = NULL;
    s->lookups = 0;
    if (s->link->depth == 0 && !s->top->rerun)
        ssi_thread_hint(page, s->top->waits || s->out.passed);
    ssi_finish(ctx, page->unfinished);
}

static void finish_block(include_ctx_t *ctx)
{
    ssi_state *s = ctx->intern;

    if (!s->block_name)
        return;
    ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, ctx->r,
                  "missing endblock directive in parsed document %s", ctx->r->filename);
    ssi_out_restore(&s->out, &s->block_memory, ctx->pool);
    BRG_ASSERT(!s->out.memory);
    s->block_name = NULL;
}

void ssi_finish(include_ctx_t *ctx, int unfinished)
{
    ssi_state *s = ctx->intern;

    BRG_ASSERT(!s->page && !s->capture_link);
    if (s->top->rerun)
        return;
    finish_block(ctx);
    if (unfinished) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      APLOGNO(01372) "SSI directive was not properly finished at the end of parsed "
                                     "document %s",
                      ctx->r->filename);
        if (ssi_printing(ctx))
            ssi_error(ctx);
    }
    if (!ssi_printing(ctx))
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, ctx->r,
                      APLOGNO(01373) "missing closing endif directive in parsed document %s",
                      ctx->r->filename);
}
