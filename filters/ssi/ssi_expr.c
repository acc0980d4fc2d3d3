/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions in the server's expression language. They are parsed once per compiled page. While one is
 * parsed, the look-up function sees all names in it: all but a few make the page depend on something that
 * cannot be watched.
 */
#include "ssi_depends_private.h"
#include "apr_lib.h"
#include "apr_strings.h"

#define EXPR_FIELDS_MOST 4

struct ssi_expr {
    ap_expr_info_t info;
    const char *error; /* it could not be parsed */
    int is_volatile;
    const char *fields[EXPR_FIELDS_MOST + 1]; /* of the request, that it may look at */
};

/* Dependencies of the expression that this thread parses. */
static __thread int expr_seen_volatile;
static __thread const char *expr_seen_fields[EXPR_FIELDS_MOST];
static __thread int expr_seen_fields_n;

static const char *expr_var(ap_expr_eval_ctx_t *eval, const void *data, const char *arg)
{
    BRG_ASSERT_TAG(((include_ctx_t *)eval->data)->intern, SSI_STATE_TAG);
    return ssi_var_get(eval->data, arg);
}

/* env(): a note, a variable of the page, or one of the server's process. */
static const char *expr_env(ap_expr_eval_ctx_t *eval, const void *data, const char *arg)
{
    include_ctx_t *ctx = eval->data;
    const char *value = apr_table_get(ctx->r->notes, arg);

    BRG_ASSERT_TAG(ctx->intern, SSI_STATE_TAG);
    if (value)
        ssi_depends(ctx, SSI_DEPENDS_VOLATILE);
    else
        value = ssi_var_get(ctx, arg);
    return value ? value : getenv(arg);
}

/* http() and req() */
static const char *expr_field(ap_expr_eval_ctx_t *eval, const void *data, const char *arg)
{
    include_ctx_t *ctx = eval->data;

    BRG_ASSERT_TAG(ctx->intern, SSI_STATE_TAG);
    ssi_depends_field(ctx->intern->top, arg);
    if (eval->vary_this && strcasecmp(arg, "Host"))
        *eval->vary_this =
            *eval->vary_this ? apr_pstrcat(eval->p, *eval->vary_this, ", ", arg, NULL) : arg;
    return apr_table_get(ctx->r->headers_in, arg);
}

static int expr_is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (!strcasecmp(name, *list))
            return 1;
    return 0;
}

static const char *const expr_plain_functions[] = {
    "tolower", "toupper", "escape", "unescape", "base64", "unbase64", "md5", "sha1", NULL};
static const char *const expr_plain_vars[] = {"REQUEST_URI",
                                              "SCRIPT_FILENAME",
                                              "REQUEST_FILENAME",
                                              "DOCUMENT_ROOT",
                                              "QUERY_STRING",
                                              "PATH_INFO",
                                              "SERVER_NAME",
                                              "SERVER_ADMIN",
                                              "CONTEXT_DOCUMENT_ROOT",
                                              "CONTEXT_PREFIX",
                                              "SERVER_SOFTWARE",
                                              "API_VERSION",
                                              NULL};
static const char *const expr_plain_ops[] = {"n",          "z",        "strmatch", "strcmatch",
                                             "fnmatch",    "-n",       "-z",       "-strmatch",
                                             "-strcmatch", "-fnmatch", NULL};

static int expr_is_plain(const ap_expr_lookup_parms *parms)
{
    switch (parms->type) {
    case AP_EXPR_FUNC_STRING:
        return expr_is_one_of(parms->name, expr_plain_functions);
    case AP_EXPR_FUNC_VAR:
        return expr_is_one_of(parms->name, expr_plain_vars);
    case AP_EXPR_FUNC_OP_UNARY:
    case AP_EXPR_FUNC_OP_BINARY:
        return expr_is_one_of(parms->name, expr_plain_ops);
    default:
        return 0;
    }
}

/* Variables that are fields of the request. */
static const struct {
    const char *var, *field;
} expr_field_vars[] = {
    {"HTTP_COOKIE", "Cookie"},       {"HTTP_USER_AGENT", "User-Agent"}, {"HTTP_REFERER", "Referer"},
    {"HTTP_FORWARDED", "Forwarded"}, {"HTTP_ACCEPT", "Accept"},         {"HTTP_HOST", "Host"},
};

static int expr_is_field(const ap_expr_lookup_parms *parms)
{
    if (parms->type != AP_EXPR_FUNC_VAR)
        return 0;
    for (size_t i = 0; i < sizeof expr_field_vars / sizeof *expr_field_vars; i++)
        if (!strcasecmp(parms->name, expr_field_vars[i].var) &&
            expr_seen_fields_n < EXPR_FIELDS_MOST) {
            expr_seen_fields[expr_seen_fields_n++] = expr_field_vars[i].field;
            return 1;
        }
    return 0;
}

static int expr_lookup(ap_expr_lookup_parms *parms)
{
    ap_expr_string_func_t *fn = NULL;

    if (parms->type == AP_EXPR_FUNC_STRING) {
        if (!strcasecmp(parms->name, "v") || !strcasecmp(parms->name, "reqenv"))
            fn = expr_var;
        else if (!strcasecmp(parms->name, "env"))
            fn = expr_env;
        else if (!strcasecmp(parms->name, "http") || !strcasecmp(parms->name, "req"))
            fn = expr_field;
    }
    if (fn) {
        *parms->func = (const void *)(apr_uintptr_t)fn;
        *parms->data = parms->name;
        return OK;
    }
    if (!expr_is_plain(parms) && !expr_is_field(parms))
        expr_seen_volatile = 1;
    return ap_expr_lookup_default(parms);
}

static struct ssi_expr *expr_parse(include_ctx_t *ctx, apr_pool_t *p, const char *text)
{
    struct ssi_expr *expr = apr_pcalloc(p, sizeof *expr);

    expr->info.filename = apr_pstrdup(p, ctx->r->filename);
    expr->info.module_index = APLOG_MODULE_INDEX;
    expr->info.flags = AP_EXPR_FLAG_RESTRICTED;
    expr_seen_volatile = expr_seen_fields_n = 0;
    expr->error = ap_expr_parse(p, ssi_dpool(ctx), &expr->info, text, expr_lookup);
    if (expr->error)
        expr->error = apr_pstrdup(p, expr->error);
    expr->is_volatile = expr_seen_volatile;
    BRG_ASSERT(expr_seen_fields_n >= 0 && expr_seen_fields_n <= EXPR_FIELDS_MOST);
    memcpy(expr->fields, expr_seen_fields, (apr_size_t)expr_seen_fields_n * sizeof(char *));
    return expr;
}

/* Keep the text of $0: the subject of the match is in a pool that is cleared after the directive.
 */
static void expr_keep_match(include_ctx_t *ctx, const char *source)
{
    ssi_match *m = &ctx->intern->match;

    m->any = 1;
    m->matched = source != NULL;
    m->source = source ? apr_pstrdup(ctx->pool, source) : NULL;
    m->pattern = NULL;
    m->groups = 0; /* outside of the expression there is only $0, as in Apache */
}

int ssi_expr_true(include_ctx_t *ctx, const ssi_directive *d, const char *text)
{
    ssi_match *m = &ctx->intern->match;
    request_rec *r = ctx->r;
    struct ssi_expr *expr = d->expr;
    const char *error = NULL, *source = m->source, *before = source, *vary = NULL;
    ap_expr_eval_ctx_t eval = {.r = r,
                               .c = r->connection,
                               .s = r->server,
                               .err = &error,
                               .re_pmatch = m->at,
                               .re_nmatch = SSI_MATCHES,
                               .re_source = &source,
                               .vary_this = &vary,
                               .data = ctx};
    int yes;

    if (!expr)
        expr = ((ssi_directive *)(apr_uintptr_t)d)->expr = expr_parse(ctx, d->pool, text);
    if (expr->is_volatile)
        ssi_depends(ctx, SSI_DEPENDS_VOLATILE);
    for (const char **field = expr->fields; *field; field++)
        ssi_depends_field(ctx->intern->top, *field);
    if (expr->error) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01337) "Could not parse expr \"%s\" in %s: %s", text, r->filename,
                      expr->error);
        return -1;
    }
    BRG_ASSERT(expr->info.module_index == APLOG_MODULE_INDEX);
    eval.p = ssi_dpool(ctx);
    eval.info = &expr->info;
    yes = ap_expr_exec_ctx(&eval);
    if (source != before)
        expr_keep_match(ctx, source);
    if (yes < 0) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01338) "Could not evaluate expr \"%s\" in %s: %s", text, r->filename,
                      error);
        return -1;
    }
    return yes > 0;
}
