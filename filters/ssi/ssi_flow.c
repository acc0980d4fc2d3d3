/* SPDX-License-Identifier: Apache-2.0 */
/*
 * if, elif, else, endif; block and endblock.
 *
 * Within a branch that is skipped, only the nesting is counted. A condition that cannot be
 * evaluated leaves SSI_FLAG_COND_ERROR behind: its content is hidden, a later elif is still asked,
 * an else changes nothing.
 */
#include "ssi_private.h"
#include "apr_strings.h"

static int flow_evaluate(include_ctx_t *ctx, const ssi_directive *d, const char *text)
{
    return ctx->intern->conf->legacy_expr == 1 ? ssi_legacy_true(ctx, d, text)
                                               : ssi_expr_true(ctx, d, text);
}

static void flow_fail(include_ctx_t *ctx)
{
    ssi_error(ctx);
    ctx->flags = (ctx->flags & SSI_FLAG_CLEAR_PRINT_COND) | SSI_FLAG_COND_ERROR;
}

static void flow_take(include_ctx_t *ctx, const ssi_directive *d, const char *text)
{
    int yes = flow_evaluate(ctx, d, text);

    if (yes < 0)
        flow_fail(ctx);
    else if (yes)
        ctx->flags |= SSI_FLAG_PRINTING | SSI_FLAG_COND_TRUE;
    else
        ctx->flags &= SSI_FLAG_CLEAR_PRINT_COND;
}

/* 1: the element has another number of attributes than one. */
static int flow_not_one(include_ctx_t *ctx, int level, int elif)
{
    unsigned n = ctx->intern->directive->args_n;
    request_rec *r = ctx->r;

    if (n == 1)
        return 0;
    if (!n && elif)
        ap_log_rerror(APLOG_MARK, level, 0, r,
                      APLOGNO(01357) "missing expr argument for if element in %s", r->filename);
    else if (!n)
        ap_log_rerror(APLOG_MARK, level, 0, r,
                      APLOGNO(01353) "missing expr argument for if element in %s", r->filename);
    else if (elif)
        ap_log_rerror(APLOG_MARK, level, 0, r,
                      APLOGNO(01356) "too many arguments for if element in %s", r->filename);
    else
        ap_log_rerror(APLOG_MARK, level, 0, r,
                      APLOGNO(01352) "too many arguments for if element in %s", r->filename);
    return 1;
}

apr_status_t ssi_do_if(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = ctx->r;
    const ssi_arg *arg = ctx->intern->directive->args;
    int printing = ssi_printing(ctx);
    int wrong = flow_not_one(ctx, printing ? APLOG_ERR : APLOG_WARNING, 0);

    if (!printing) {
        ++ctx->if_nesting_level;
        return APR_SUCCESS;
    }
    if (wrong) {
        flow_fail(ctx);
    } else if (strcmp(arg->name, "expr")) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01354) "unknown parameter \"%s\" to tag if in %s", arg->name,
                      r->filename);
        flow_fail(ctx);
    } else if (!arg->value) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01355) "missing expr value for if element in %s", r->filename);
        flow_fail(ctx);
    } else {
        flow_take(ctx, ctx->intern->directive, arg->value);
    }
    return APR_SUCCESS;
}

apr_status_t ssi_do_elif(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = ctx->r;
    const ssi_arg *arg = ctx->intern->directive->args;
    int wrong = flow_not_one(ctx, ctx->if_nesting_level ? APLOG_WARNING : APLOG_ERR, 1);

    if (ctx->if_nesting_level)
        return APR_SUCCESS;
    if (wrong) {
        flow_fail(ctx);
    } else if (strcmp(arg->name, "expr")) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01358) "unknown parameter \"%s\" to tag if in %s", arg->name,
                      r->filename);
        flow_fail(ctx);
    } else if (!arg->value) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01359) "missing expr in elif statement: %s", r->filename);
        flow_fail(ctx);
    } else if (ctx->flags & SSI_FLAG_COND_TRUE) {
        ctx->flags &= SSI_FLAG_CLEAR_PRINTING;
    } else {
        flow_take(ctx, ctx->intern->directive, arg->value);
    }
    return APR_SUCCESS;
}

apr_status_t ssi_do_else(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    if (ctx->intern->directive->args_n) {
        ap_log_rerror(APLOG_MARK, ctx->if_nesting_level ? APLOG_WARNING : APLOG_ERR, 0, ctx->r,
                      APLOGNO(01360) "else directive does not take tags in %s", ctx->r->filename);
        if (ssi_printing(ctx))
            ssi_error(ctx);
        return APR_SUCCESS;
    }
    if (ctx->if_nesting_level || ctx->flags & SSI_FLAG_COND_ERROR)
        return APR_SUCCESS;
    if (ctx->flags & SSI_FLAG_COND_TRUE)
        ctx->flags &= SSI_FLAG_CLEAR_PRINTING;
    else
        ctx->flags |= SSI_FLAG_PRINTING | SSI_FLAG_COND_TRUE;
    return APR_SUCCESS;
}

apr_status_t ssi_do_endif(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    if (ctx->intern->directive->args_n) {
        ap_log_rerror(APLOG_MARK, ctx->if_nesting_level ? APLOG_WARNING : APLOG_ERR, 0, ctx->r,
                      APLOGNO(01361) "endif directive does not take tags in %s", ctx->r->filename);
        if (!ctx->if_nesting_level) {
            ssi_error(ctx);
            return APR_SUCCESS;
        }
    }
    if (ctx->if_nesting_level) {
        --ctx->if_nesting_level;
        return APR_SUCCESS;
    }
    ctx->flags = (ctx->flags & ~SSI_FLAG_COND_ERROR) | SSI_FLAG_PRINTING | SSI_FLAG_COND_TRUE;
    return APR_SUCCESS;
}

/* ---- blocks: what an include with stub= shows when it fails or is empty ---- */

apr_status_t ssi_do_block(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    ssi_state *s = ctx->intern;
    const ssi_directive *d = s->directive;

    if (!ssi_printing(ctx))
        return APR_SUCCESS;
    if (d->args_n != 1 || strcmp(d->args[0].name, "name") || !d->args[0].value || s->block_name) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      "block takes one attribute, name, and is not nested, in %s",
                      ctx->r->filename);
        ssi_error(ctx);
        return APR_SUCCESS;
    }
    s->block_name = apr_pstrdup(ctx->pool, ssi_expand(ctx, d->args[0].value, SSI_EXPAND_DROP_NAME));
    ssi_out_divert(&s->out, &s->block_memory, (apr_size_t)s->conf->value_bytes_most);
    return APR_SUCCESS;
}

apr_status_t ssi_do_endblock(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    ssi_state *s = ctx->intern;
    ssi_block *block;

    if (!ssi_printing(ctx))
        return APR_SUCCESS;
    if (!s->block_name || s->directive->args_n) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      "endblock without block, or with an attribute, in %s", ctx->r->filename);
        ssi_error(ctx);
        return APR_SUCCESS;
    }
    block = apr_palloc(ctx->pool, sizeof *block);
    block->name = s->block_name;
    block->text = ssi_out_restore(&s->out, &s->block_memory, ctx->pool);
    block->next = s->blocks;
    s->blocks = block;
    s->block_name = NULL;
    return APR_SUCCESS;
}

const char *ssi_block_text(include_ctx_t *ctx, const char *name)
{
    const ssi_block *block = ctx->intern->blocks;

    while (block && strcmp(block->name, name))
        block = block->next;
    return block ? block->text : NULL;
}
