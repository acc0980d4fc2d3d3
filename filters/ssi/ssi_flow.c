/* SPDX-License-Identifier: Apache-2.0 */
/*
 * if, elif, else, endif; block and endblock.
 *
 * In a branch that is not shown, only the nesting is counted. A condition that cannot be evaluated sets
 * SSI_FLAG_COND_ERROR: its branch is not shown, a later elif is still evaluated, an else shows nothing.
 */
#include "ssi_private.h"
#include "apr_strings.h"

static int flow_evaluate(include_ctx_t *ctx, const ssi_directive *d, const char *text)
{
    BRG_ASSERT(d && d->pool);
    return ctx->intern->conf->legacy_expr == 1 ? ssi_legacy_true(ctx, d, text)
                                               : ssi_expr_true(ctx, d, text);
}

/* The condition cannot be evaluated. */
static void flow_fail(include_ctx_t *ctx)
{
    ssi_error(ctx);
    ctx->flags = (ctx->flags & SSI_FLAG_CLEAR_PRINT_COND) | SSI_FLAG_COND_ERROR;
}

/* Choose the branch by its condition. */
static void flow_choose(include_ctx_t *ctx, const char *text)
{
    int yes = flow_evaluate(ctx, ctx->intern->directive, text);

    if (yes < 0)
        flow_fail(ctx);
    else if (yes)
        ctx->flags |= SSI_FLAG_PRINTING | SSI_FLAG_COND_TRUE;
    else
        ctx->flags &= SSI_FLAG_CLEAR_PRINT_COND;
}

/* @return 1 after a message: the element does not have exactly one attribute */
static int flow_not_one(include_ctx_t *ctx, int level, int elif)
{
    unsigned n = ctx->intern->directive->args_n;
    const char *what =
        elif ? APLOGNO(01356) "too many arguments" : APLOGNO(01352) "too many arguments";

    if (n == 1)
        return 0;
    if (!n)
        what =
            elif ? APLOGNO(01357) "missing expr argument" : APLOGNO(01353) "missing expr argument";
    ap_log_rerror(APLOG_MARK, level, 0, ctx->r, "%s for if element in %s", what, ctx->r->filename);
    return 1;
}

/* The text of the condition of if or elif; NULL after a message, which is Apache's. */
static const char *flow_condition(include_ctx_t *ctx, int elif)
{
    const ssi_arg *arg = ctx->intern->directive->args;
    request_rec *r = ctx->r;

    BRG_ASSERT(ctx->intern->directive->args_n == 1);
    if (strcmp(arg->name, "expr")) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "%sunknown parameter \"%s\" to tag if in %s",
                      elif ? APLOGNO(01358) : APLOGNO(01354), arg->name, r->filename);
        return NULL;
    }
    if (!arg->value)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "%s %s",
                      elif ? APLOGNO(01359) "missing expr in elif statement:"
                           : APLOGNO(01355) "missing expr value for if element in",
                      r->filename);
    return arg->value;
}

apr_status_t ssi_do_if(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    int printing = ssi_printing(ctx);
    int wrong = flow_not_one(ctx, printing ? APLOG_ERR : APLOG_WARNING, 0);
    const char *text;

    if (!printing) {
        ++ctx->if_nesting_level;
        return APR_SUCCESS;
    }
    text = wrong ? NULL : flow_condition(ctx, 0);
    if (text)
        flow_choose(ctx, text);
    else
        flow_fail(ctx);
    return APR_SUCCESS;
}

apr_status_t ssi_do_elif(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    int wrong = flow_not_one(ctx, ctx->if_nesting_level ? APLOG_WARNING : APLOG_ERR, 1);
    const char *text;

    if (ctx->if_nesting_level)
        return APR_SUCCESS;
    text = wrong ? NULL : flow_condition(ctx, 1);
    if (!text)
        flow_fail(ctx);
    else if (ctx->flags & SSI_FLAG_COND_TRUE)
        ctx->flags &= SSI_FLAG_CLEAR_PRINTING;
    else
        flow_choose(ctx, text);
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

/* ---- blocks: output of an include with stub= when it fails or is empty ---- */

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
    BRG_ASSERT(!s->out.memory);
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
    BRG_ASSERT(s->out.memory == &s->block_memory);
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
