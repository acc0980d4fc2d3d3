/* SPDX-License-Identifier: Apache-2.0 */
/* The elements for variables and formats: comment, config, echo, set, printenv; and functions that
 * all elements share. */
#include "ssi_depends_private.h"
#include "apr_strings.h"

void ssi_attributes(include_ctx_t *ctx, const char *ah, unsigned least, ssi_attribute_fn *fn,
                    void *state)
{
    const ssi_directive *d = ctx->intern->directive;

    BRG_ASSERT_TAG(ctx->intern, SSI_STATE_TAG);
    BRG_ASSERT(d && d->element && !d->mistakes);
    if (d->args_n < least) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r, "%smissing argument for %s element in %s",
                      ah, d->name, ctx->r->filename);
        ssi_error(ctx);
        return;
    }
    for (unsigned i = 0; i < d->args_n && d->args[i].value; i++) {
        BRG_ASSERT(d->args[i].name && d->args[i].decoded);
        if (!fn(ctx, state, &d->args[i])) {
            ssi_error(ctx);
            return;
        }
    }
}

apr_status_t ssi_do_comment(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    return APR_SUCCESS;
}

/* ---- config ---- */

/* The values of a page's format strings last as long as the page. */
static const char *config_value(include_ctx_t *ctx, const char *raw, int leave_name)
{
    return apr_pstrdup(ctx->pool, ssi_expand(ctx, raw, leave_name));
}

static int config_size(include_ctx_t *ctx, const char *raw)
{
    const char *value = ssi_expand(ctx, raw, SSI_EXPAND_DROP_NAME);

    if (!strcmp(value, "bytes")) {
        ctx->flags |= SSI_FLAG_SIZE_IN_BYTES;
    } else if (!strcmp(value, "abbrev")) {
        ctx->flags &= SSI_FLAG_SIZE_ABBREV;
    } else {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      APLOGNO(01348) "unknown value \"%s\" to parameter \"sizefmt\" of tag config "
                                     "in %s",
                      value, ctx->r->filename);
        return 0;
    }
    return 1;
}

static int config_one(include_ctx_t *ctx, void *unused, const ssi_arg *arg)
{
    if (!strcmp(arg->name, "errmsg")) {
        ctx->error_str = config_value(ctx, arg->value, SSI_EXPAND_DROP_NAME);
    } else if (!strcmp(arg->name, "echomsg")) {
        ctx->intern->undefined_echo = config_value(ctx, arg->value, SSI_EXPAND_DROP_NAME);
    } else if (!strcmp(arg->name, "timefmt")) {
        ctx->time_str = config_value(ctx, arg->value, SSI_EXPAND_DROP_NAME);
        ssi_vars_dates(ctx);
    } else if (!strcmp(arg->name, "sizefmt")) {
        return config_size(ctx, arg->value);
    } else {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      APLOGNO(01349) "unknown parameter \"%s\" to tag config in %s", arg->name,
                      ctx->r->filename);
        return 0;
    }
    return 1;
}

apr_status_t ssi_do_config(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    ssi_attributes(ctx, APLOGNO(01347), 1, config_one, NULL);
    return APR_SUCCESS;
}

/* ---- echo ---- */

typedef struct echo_state {
    const char *decoding, *encoding; /* NULL: none. Encoding starts as entity. */
    int entity;                      /* encoding is entity alone, as in most pages */
    const char *otherwise;           /* default="..." of this element; NULL: SSIUndefinedEcho */
} echo_state;

/* The usual case, without a copy of the value. */
static void echo_entity(ssi_out *out, const char *value)
{
    while (*value) {
        apr_size_t n = strcspn(value, "<>&\"");

        ssi_out_bytes(out, value, n);
        value += n;
        if (!*value)
            break;
        if (*value == '<')
            ssi_out_bytes(out, "&lt;", 4);
        else if (*value == '>')
            ssi_out_bytes(out, "&gt;", 4);
        else if (*value == '&')
            ssi_out_bytes(out, "&amp;", 5);
        else
            ssi_out_bytes(out, "&quot;", 6);
        value++;
    }
}

static int echo_encoded(include_ctx_t *ctx, const echo_state *echo, const char *value)
{
    const char *bad = NULL, *which = "decoding";
    apr_pool_t *p = ssi_dpool(ctx);

    BRG_ASSERT(value != NULL);
    value = ssi_decode(p, echo->decoding, value, &bad);
    if (value) {
        which = "encoding";
        value = ssi_encode(p, echo->encoding, value, &bad);
    }
    if (value) {
        ssi_out_text(&ctx->intern->out, value);
        return 1;
    }
    if (*which == 'd')
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      APLOGNO(01344) "unknown value \"%s\" to parameter \"decoding\" of tag echo "
                                     "in %s",
                      bad, ctx->r->filename);
    else
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      APLOGNO(01345) "unknown value \"%s\" to parameter \"encoding\" of tag echo "
                                     "in %s",
                      bad, ctx->r->filename);
    return 0;
}

static int echo_var(include_ctx_t *ctx, const echo_state *echo, const char *name)
{
    const char *value = ssi_var_get(ctx, ssi_expand(ctx, name, SSI_EXPAND_DROP_NAME));

    if (!value) {
        ssi_out_text(&ctx->intern->out, echo->otherwise
                                            ? ssi_expand(ctx, echo->otherwise, SSI_EXPAND_DROP_NAME)
                                            : ctx->intern->undefined_echo);
        return 1;
    }
    if (echo->entity && !echo->decoding) {
        echo_entity(&ctx->intern->out, value);
        return 1;
    }
    return echo_encoded(ctx, echo, value);
}

static int echo_one(include_ctx_t *ctx, void *state, const ssi_arg *arg)
{
    echo_state *echo = state;

    if (!strcmp(arg->name, "var"))
        return echo_var(ctx, echo, arg->decoded);
    if (!strcmp(arg->name, "decoding")) {
        echo->decoding = arg->decoded;
    } else if (!strcmp(arg->name, "encoding")) {
        echo->encoding = arg->decoded;
        echo->entity = !strcasecmp(arg->decoded, "entity");
    } else if (strcmp(arg->name, "default")) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      APLOGNO(01346) "unknown parameter \"%s\" in tag echo of %s", arg->name,
                      ctx->r->filename);
        return 0;
    }
    return 1;
}

apr_status_t ssi_do_echo(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    const ssi_directive *d = ctx->intern->directive;
    echo_state echo = {.encoding = "entity", .entity = 1};

    /* nginx's default= may stand behind the variable that it is for. */
    for (unsigned i = 0; i < d->args_n; i++)
        if (d->args[i].decoded && !strcmp(d->args[i].name, "default"))
            echo.otherwise = d->args[i].decoded;
    ssi_attributes(ctx, APLOGNO(01343), 1, echo_one, &echo);
    return APR_SUCCESS;
}

/* ---- set ---- */

typedef struct set_state {
    const char *name, *decoding, *encoding;
} set_state;

static int set_value(include_ctx_t *ctx, const set_state *set, const char *raw)
{
    const char *value, *bad = NULL;
    apr_pool_t *p = ssi_dpool(ctx);

    if (!set->name) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      APLOGNO(01363) "variable must precede value in set directive in %s",
                      ctx->r->filename);
        return 0;
    }
    value = ssi_decode(p, set->decoding, ssi_expand(ctx, raw, SSI_EXPAND_DROP_NAME), &bad);
    if (!value) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      APLOGNO(01364) "unknown value \"%s\" to parameter \"decoding\" of tag set in "
                                     "%s",
                      bad, ctx->r->filename);
        return 0;
    }
    value = ssi_encode(p, set->encoding, value, &bad);
    if (!value) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      APLOGNO(01365) "unknown value \"%s\" to parameter \"encoding\" of tag set in "
                                     "%s",
                      bad, ctx->r->filename);
        return 0;
    }
    ssi_var_set(ctx, set->name, value);
    return 1;
}

static int set_one(include_ctx_t *ctx, void *state, const ssi_arg *arg)
{
    set_state *set = state;

    if (!strcmp(arg->name, "var"))
        set->name = ssi_expand(ctx, arg->value, SSI_EXPAND_DROP_NAME);
    else if (!strcmp(arg->name, "value"))
        return set_value(ctx, set, arg->value);
    else if (!strcmp(arg->name, "decoding"))
        set->decoding = arg->value;
    else if (!strcmp(arg->name, "encoding"))
        set->encoding = arg->value;
    else {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      APLOGNO(01366) "Invalid tag for set directive in %s", ctx->r->filename);
        return 0;
    }
    return 1;
}

apr_status_t ssi_do_set(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    set_state set = {NULL, NULL, NULL};

    ssi_attributes(ctx, APLOGNO(01362), 2, set_one, &set);
    return APR_SUCCESS;
}

/* ---- printenv ---- */

apr_status_t ssi_do_printenv(include_ctx_t *ctx, ap_filter_t *f, apr_bucket_brigade *bb)
{
    ssi_out *out = &ctx->intern->out;
    const apr_array_header_t *env;
    const apr_table_entry_t *e;

    if (ctx->intern->directive->args_n) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ctx->r,
                      APLOGNO(01367) "printenv directive does not take tags in %s",
                      ctx->r->filename);
        ssi_error(ctx);
        return APR_SUCCESS;
    }
    ssi_depends(ctx, SSI_DEPENDS_VOLATILE);
    ssi_vars_resolve(ctx);
    env = apr_table_elts(ctx->r->subprocess_env);
    e = (const apr_table_entry_t *)(const void *)env->elts;
    for (int i = 0; i < env->nelts; i++) {
        echo_entity(out, e[i].key);
        ssi_out_bytes(out, "=", 1);
        echo_entity(out, e[i].val);
        ssi_out_bytes(out, "\n", 1);
    }
    return APR_SUCCESS;
}
