/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluation of parsed expressions, and the functions that start one. An error anywhere (a file
 * that cannot be read, calls nested too deeply) ends it: later values do not count.
 */
#include <string.h>
#include <strings.h>
#include "expr_private.h"
#include "http_log.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

static const char *expr_backref(const ap_expr_eval_ctx_t *ctx, int group)
{
    const ap_regmatch_t *match;

    BRG_ASSERT(group >= 0);
    if (!ctx->re_source || !*ctx->re_source || (apr_size_t)group >= ctx->re_nmatch)
        return "";
    match = &ctx->re_pmatch[group];
    if (match->rm_so < 0 || match->rm_eo <= match->rm_so)
        return "";
    return apr_pstrmemdup(ctx->p, *ctx->re_source + match->rm_so,
                          (apr_size_t)(match->rm_eo - match->rm_so));
}

#define EXPR_NEAR 8 /* parts whose values fit into an array on the stack */

static const char *expr_concat(ap_expr_eval_ctx_t *ctx, const ap_expr_t *node)
{
    struct iovec near[EXPR_NEAR], *values = near;
    int i;

    BRG_ASSERT(node->kind == EXPR_CONCAT);
    if (node->n > EXPR_NEAR)
        values = apr_palloc(ctx->p, (apr_size_t)node->n * sizeof(*values));
    for (i = 0; i < node->n; i++) {
        const char *value = expr_eval_word(ctx, node->part[i]);

        if (*ctx->err)
            return "";
        values[i].iov_base = (char *)value;
        values[i].iov_len = strlen(value);
    }
    return apr_pstrcatv(ctx->p, values, (apr_size_t)node->n, NULL);
}

const char *expr_eval_word(ap_expr_eval_ctx_t *ctx, const ap_expr_t *node)
{
    const char *value = NULL, *arg;

    BRG_ASSERT(node && !*ctx->err);
    switch (node->kind) {
    case EXPR_TEXT:
        return node->text;
    case EXPR_BACKREF:
        return expr_backref(ctx, node->op);
    case EXPR_VAR:
        BRG_ASSERT(node->func);
        value = ((ap_expr_var_func_t *)node->func)(ctx, node->data);
        break;
    case EXPR_CONCAT:
        return expr_concat(ctx, node);
    case EXPR_CALL:
        BRG_ASSERT(node->func && node->n == 1);
        if (ctx->reclvl >= EXPR_MAX_CALLS) {
            *ctx->err = "Recursion limit reached";
            return "";
        }
        ctx->reclvl++;
        arg = expr_eval_word(ctx, node->part[0]);
        if (!*ctx->err)
            value = ((ap_expr_string_func_t *)node->func)(ctx, node->data, arg);
        ctx->reclvl--;
        break;
    default:
        *ctx->err = "Internal evaluation error: not a word";
        break;
    }
    return value ? value : "";
}

/* SSLRequire compared lengths first. */
static int expr_compare_lengths(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);

    if (a_len != b_len)
        return a_len > b_len ? 1 : -1;
    return memcmp(a, b, a_len);
}

static int expr_compare_numbers(const char *a, const char *b)
{
    apr_int64_t x = apr_atoi64(a), y = apr_atoi64(b);

    return (x > y) - (x < y);
}

static int expr_order_is(int op, int order)
{
    switch (op) {
    case EXPR_STR_EQ:
    case EXPR_INT_EQ:
        return order == 0;
    case EXPR_STR_NE:
    case EXPR_INT_NE:
        return order != 0;
    case EXPR_STR_LT:
    case EXPR_INT_LT:
        return order < 0;
    case EXPR_STR_LE:
    case EXPR_INT_LE:
        return order <= 0;
    case EXPR_STR_GT:
    case EXPR_INT_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

int expr_compare_holds(const ap_expr_t *node, const char *a, const char *b)
{
    return expr_order_is(node->op,
                         node->op >= EXPR_INT_EQ ? expr_compare_numbers(a, b) : strcmp(a, b));
}

static int expr_eval_compare(ap_expr_eval_ctx_t *ctx, const ap_expr_t *node)
{
    const char *a = expr_eval_word(ctx, node->part[0]), *b;

    BRG_ASSERT(node->n == 2 && node->op <= EXPR_INT_GE);
    if (*ctx->err)
        return 0;
    b = expr_eval_word(ctx, node->part[1]);
    if (*ctx->err)
        return 0;
    return ctx->info->flags & AP_EXPR_FLAG_SSL_EXPR_COMPAT
               ? expr_order_is(node->op, expr_compare_lengths(a, b))
               : expr_compare_holds(node, a, b);
}
static int expr_eval_match(ap_expr_eval_ctx_t *ctx, const ap_expr_t *node)
{
    const char *subject = expr_eval_word(ctx, node->part[0]);
    apr_size_t groups = node->regex->re_nsub ? ctx->re_nmatch : 0;
    int found;

    BRG_ASSERT(node->n == 1 && node->regex);
    if (*ctx->err)
        return 0;
    /* an expression without groups leaves those of an earlier match alone */
    found = ap_regexec(node->regex, subject, groups, ctx->re_pmatch, 0) == 0;
    if (found && groups && ctx->re_source)
        *ctx->re_source = subject;
    for (apr_size_t i = 0; !found && i < groups;
         i++) /* one with groups that does not match ends them */
        ctx->re_pmatch[i].rm_so = ctx->re_pmatch[i].rm_eo = -1;
    return found != node->op;
}

static int expr_eval_in(ap_expr_eval_ctx_t *ctx, const ap_expr_t *node)
{
    const char *needle = expr_eval_word(ctx, node->part[0]);
    int i;

    BRG_ASSERT(node->n >= 1);
    for (i = 1; i < node->n && !*ctx->err; i++)
        if (strcmp(needle, expr_eval_word(ctx, node->part[i])) == 0)
            return 1;
    return 0;
}

static int expr_eval_in_call(ap_expr_eval_ctx_t *ctx, const ap_expr_t *node)
{
    const char *needle = expr_eval_word(ctx, node->part[0]), *arg;
    const apr_array_header_t *list;

    BRG_ASSERT(node->n == 2 && node->func);
    if (*ctx->err)
        return 0;
    arg = expr_eval_word(ctx, node->part[1]);
    if (*ctx->err)
        return 0;
    list = ((ap_expr_list_func_t *)node->func)(ctx, node->data, arg);
    return list && ap_array_str_contains(list, needle);
}

static int expr_eval_op(ap_expr_eval_ctx_t *ctx, const ap_expr_t *node)
{
    const char *a = expr_eval_word(ctx, node->part[0]), *b;

    BRG_ASSERT(node->func && node->n == (node->kind == EXPR_UNARY ? 1 : 2));
    if (*ctx->err)
        return 0;
    if (node->kind == EXPR_UNARY)
        return ((ap_expr_op_unary_t *)node->func)(ctx, node->data, a) != 0;
    b = expr_eval_word(ctx, node->part[1]);
    if (*ctx->err)
        return 0;
    return ((ap_expr_op_binary_t *)node->func)(ctx, node->data, a, b) != 0;
}

/* @return 0 or 1; after an error, which is in *ctx->err, the value means nothing */
static int expr_eval_cond(ap_expr_eval_ctx_t *ctx, const ap_expr_t *node)
{
    int i, stop;

    switch (node->kind) {
    case EXPR_TRUE:
        return 1;
    case EXPR_FALSE:
        return 0;
    case EXPR_NOT:
        BRG_ASSERT(node->n == 1);
        return !expr_eval_cond(ctx, node->part[0]);
    case EXPR_AND:
    case EXPR_OR:
        stop = node->kind == EXPR_OR;
        for (i = 0; i < node->n; i++)
            if (expr_eval_cond(ctx, node->part[i]) == stop || *ctx->err)
                return stop;
        return !stop;
    case EXPR_COMPARE:
        return expr_eval_compare(ctx, node);
    case EXPR_MATCH:
        return expr_eval_match(ctx, node);
    case EXPR_IN:
        return expr_eval_in(ctx, node);
    case EXPR_IN_CALL:
        return expr_eval_in_call(ctx, node);
    case EXPR_UNARY:
    case EXPR_BINARY:
        return expr_eval_op(ctx, node);
    default:
        *ctx->err = "Internal evaluation error: not a condition";
        return 0;
    }
}

static void expr_log_error(const ap_expr_eval_ctx_t *ctx)
{
    const ap_expr_info_t *info = ctx->info;

    BRG_ASSERT(*ctx->err);
    if (ctx->r)
        ap_log_rerror(__FILE__, __LINE__, info->module_index, APLOG_ERR, 0, ctx->r,
                      "Evaluation of expression from %s:%d failed: %s", info->filename,
                      (int)info->line_number, *ctx->err);
    else if (ctx->s)
        ap_log_error(__FILE__, __LINE__, info->module_index, APLOG_ERR, 0, ctx->s,
                     "Evaluation of expression from %s:%d failed: %s", info->filename,
                     (int)info->line_number, *ctx->err);
}

static void expr_log_result(const ap_expr_eval_ctx_t *ctx, int rc)
{
    const ap_expr_info_t *info = ctx->info;
    int line = (int)info->line_number;

    if (info->flags & AP_EXPR_FLAG_STRING_RESULT)
        ap_log_rerror(__FILE__, __LINE__, info->module_index, APLOG_TRACE4, 0, ctx->r,
                      "Evaluation of string expression from %s:%d gave: %s", info->filename, line,
                      *ctx->result_string);
    else
        ap_log_rerror(__FILE__, __LINE__, info->module_index, APLOG_TRACE4, 0, ctx->r,
                      "Evaluation of expression from %s:%d gave: %d", info->filename, line, rc);
}

AP_DECLARE(int) ap_expr_exec_ctx(ap_expr_eval_ctx_t *ctx)
{
    int rc = 1;

    BRG_ASSERT(ctx->info->root_node);
    *ctx->err = NULL;
    if (ctx->info->flags & AP_EXPR_FLAG_STRING_RESULT)
        *ctx->result_string = expr_eval_word(ctx, ctx->info->root_node);
    else
        rc = expr_eval_cond(ctx, ctx->info->root_node);
    if (*ctx->err) {
        expr_log_error(ctx);
        return -1;
    }
    if (ctx->r && APLOG_R_MODULE_IS_LEVEL(ctx->r, ctx->info->module_index, APLOG_TRACE4))
        expr_log_result(ctx, rc);
    if (ctx->r && ctx->vary_this && *ctx->vary_this)
        apr_table_merge(ctx->r->headers_out, "Vary", *ctx->vary_this);
    return rc;
}

static void expr_ctx_init(ap_expr_eval_ctx_t *ctx, request_rec *r, const ap_expr_info_t *info,
                          const char **err)
{
    memset(ctx, 0, sizeof(*ctx));
    ctx->r = r;
    ctx->c = r->connection;
    ctx->s = r->server;
    ctx->p = r->pool;
    ctx->err = err;
    ctx->info = info;
}

AP_DECLARE(int)
ap_expr_exec_re(request_rec *r, const ap_expr_info_t *expr, apr_size_t nmatch,
                ap_regmatch_t *pmatch, const char **source, const char **err)
{
    ap_expr_eval_ctx_t ctx;
    const char *vary = NULL, *value = NULL;
    int rc;

    expr_ctx_init(&ctx, r, expr, err);
    ctx.re_nmatch = nmatch;
    ctx.re_pmatch = pmatch;
    ctx.re_source = source;
    ctx.vary_this = (expr->flags & AP_EXPR_FLAG_DONT_VARY) ? NULL : &vary;
    ctx.result_string = &value;
    rc = ap_expr_exec_ctx(&ctx);
    if (rc > 0 && (expr->flags & AP_EXPR_FLAG_STRING_RESULT))
        return *value != '\0';
    return rc;
}

AP_DECLARE(int) ap_expr_exec(request_rec *r, const ap_expr_info_t *expr, const char **err)
{
    ap_regmatch_t groups[AP_MAX_REG_MATCH];
    const char *source = NULL;

    return ap_expr_exec_re(r, expr, AP_MAX_REG_MATCH, groups, &source, err);
}

/* Strings end up in directives' values (headers, redirects) whose modules see to Vary themselves.
 */
AP_DECLARE(const char *)
ap_expr_str_exec_re(request_rec *r, const ap_expr_info_t *expr, apr_size_t nmatch,
                    ap_regmatch_t *pmatch, const char **source, const char **err)
{
    ap_expr_eval_ctx_t ctx;
    const char *value = NULL;

    expr_ctx_init(&ctx, r, expr, err);
    ctx.re_nmatch = nmatch;
    ctx.re_pmatch = pmatch;
    ctx.re_source = source;
    ctx.result_string = &value;
    return ap_expr_exec_ctx(&ctx) > 0 ? value : NULL;
}

AP_DECLARE(const char *)
ap_expr_str_exec(request_rec *r, const ap_expr_info_t *expr, const char **err)
{
    ap_regmatch_t groups[AP_MAX_REG_MATCH];
    const char *source = NULL;

    return ap_expr_str_exec_re(r, expr, AP_MAX_REG_MATCH, groups, &source, err);
}

/* ---- over heads ---- */

typedef struct expr_over_heads {
    ap_expr_eval_ctx_t ctx; /* first */
    const expr_subject *subject;
} expr_over_heads;

const expr_subject *expr_subject_of(const ap_expr_eval_ctx_t *ctx)
{
    /* A look-up of a variable by itself, as of %{NAME}s, has no expression. */
    return ctx->info && ctx->info->flags & EXPR_FLAG_HEADS
               ? ((const expr_over_heads *)(const void *)ctx)->subject
               : NULL;
}

/* @param value  [out] of a string expression */
static int subject_run(const expr_subject *subject, const ap_expr_info_t *info, const char **err,
                       const char **value)
{
    ap_regmatch_t groups[AP_MAX_REG_MATCH];
    const char *source = NULL;
    ap_expr_info_t over = *info;
    expr_over_heads e = {.ctx = {.s = subject->server,
                                 .p = subject->pool,
                                 .err = err,
                                 .info = &over,
                                 .re_nmatch = AP_MAX_REG_MATCH,
                                 .re_pmatch = groups,
                                 .re_source = &source,
                                 .result_string = value},
                         .subject = subject};

    over.flags |= EXPR_FLAG_HEADS;
    return ap_expr_exec_ctx(&e.ctx);
}

int expr_subject_exec(const expr_subject *subject, const ap_expr_info_t *info, const char **err)
{
    const char *value = NULL;
    const int rc = subject_run(subject, info, err, &value);

    return rc > 0 && info->flags & AP_EXPR_FLAG_STRING_RESULT ? *value != '\0' : rc;
}

const char *expr_subject_str(const expr_subject *subject, const ap_expr_info_t *info,
                             const char **err)
{
    const char *value = NULL;

    BRG_ASSERT(info->flags & AP_EXPR_FLAG_STRING_RESULT);
    return subject_run(subject, info, err, &value) > 0 ? value : NULL;
}

const char *expr_head_field(apr_pool_t *p, const http_head *head, const char *name)
{
    const size_t len = strlen(name);
    const char *value = NULL;

    for (int i = 0; head && i < head->n_fields; i++) {
        const http_field *f = &head->field[i];
        const char *line;

        if (f->name_len != len || strncasecmp(f->name, name, len) != 0)
            continue;
        line = apr_pstrmemdup(p, f->value, f->value_len);
        value = value ? apr_pstrcat(p, value, ", ", line, NULL) : line;
    }
    return value;
}

void expr_add_vary(ap_expr_eval_ctx_t *ctx, const char *name)
{
    if (!ctx->vary_this || ap_cstr_casecmp(name, "Host") == 0)
        return;
    if (*ctx->vary_this)
        *ctx->vary_this = apr_pstrcat(ctx->p, *ctx->vary_this, ", ", name, NULL);
    else
        *ctx->vary_this = name;
}
