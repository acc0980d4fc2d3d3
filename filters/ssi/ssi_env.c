/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a page: CGI variables and those of SSI, some forty. It is made when something
 * needs it as a whole: a sub-request, a command, printenv, an element of another module, a variable
 * that is not one of SSI's own. Until then the page keeps its own variables, and the few values
 * that pages ask for are made one by one. Where the configuration may ask for variables by name, in
 * a log format, say, it is made with the first one (brg_env_may_be_read()).
 */
#include "ssi_private.h"
#include "brigade/environment.h"
#include "http_core.h"
#include "util_script.h"
#include "apr_strings.h"

typedef struct ssi_env_set {
    const char *name, *value;
} ssi_env_set;

/* ---- as a whole ---- */

/* For an included page, too: its query is the current one, and stays so after it. */
void ssi_env_add_query(request_rec *r, ssi_top *top)
{
    apr_pool_t *p = top->r->pool;
    char *args;

    if (!r->args)
        return;
    args = apr_pstrdup(p, r->args);
    apr_table_setn(r->subprocess_env, "QUERY_STRING", apr_pstrdup(p, r->args));
    ap_unescape_url(args);
    apr_table_setn(r->subprocess_env, "QUERY_STRING_UNESCAPED", ap_escape_shell_cmd(p, args));
}

/* Variables have the order in which Apache puts them there, which printenv shows: those of the page come last. */
static void env_put_back(apr_table_t *env, const apr_table_t *before)
{
    const apr_array_header_t *list = apr_table_elts(before);

    apr_table_clear(env);
    for (int i = 0; i < list->nelts; i++) {
        const apr_table_entry_t *e = &APR_ARRAY_IDX(list, i, apr_table_entry_t);

        apr_table_addn(env, e->key, e->val);
    }
}

static void env_put_sets(apr_table_t *env, const ssi_top *top)
{
    for (int i = 0; top->env_sets && i < top->env_sets->nelts; i++) {
        const ssi_env_set *set = &APR_ARRAY_IDX(top->env_sets, i, ssi_env_set);

        apr_table_setn(env, set->name, set->value);
    }
}

static void env_put_dates(apr_table_t *env, const ssi_top *top)
{
    for (size_t i = 0; i < sizeof top->env_dates / sizeof *top->env_dates; i++)
        if (top->env_dates[i])
            apr_table_setn(env, ssi_date_names[i], top->env_dates[i]);
    if (top->env_dates_of)
        ssi_vars_dates(top->env_dates_of);
}

void ssi_env_make(request_rec *r, ssi_top *top)
{
    BRG_ASSERT_TAG(top, SSI_TOP_TAG);
    if (top->env_ready)
        return;
    BRG_ASSERT(!top->env_sets || top->env_before);
    top->env_ready = 1;
    if (top->env_before)
        env_put_back(r->subprocess_env, top->env_before);
    else if (top->may_rerun)
        top->env_before = apr_table_copy(r->pool, r->subprocess_env);
    ap_add_common_vars(r);
    ap_add_cgi_vars(r);
    ssi_vars_add(r);
    ssi_env_add_query(r, top);
    env_put_sets(r->subprocess_env, top);
    env_put_dates(r->subprocess_env, top);
}

void ssi_env_ready(include_ctx_t *ctx)
{
    ssi_env_make(ctx->r, ctx->intern->top);
}

/* ---- one by one ---- */

static int env_may_wait(const include_ctx_t *ctx)
{
    return !ctx->intern->top->env_ready && ctx->r == ctx->intern->top->r && !brg_env_may_be_read();
}

/* The last one counts. */
static const char *env_set_value(const ssi_top *top, const char *name)
{
    for (int i = top->env_sets ? top->env_sets->nelts : 0; i-- > 0;) {
        const ssi_env_set *set = &APR_ARRAY_IDX(top->env_sets, i, ssi_env_set);

        if (!strcasecmp(set->name, name))
            return set->value;
    }
    return NULL;
}

static int env_date_index(const char *name)
{
    for (int i = 0; i < (int)(sizeof ssi_date_names / sizeof *ssi_date_names); i++)
        if (!strcasecmp(name, ssi_date_names[i]))
            return i;
    return -1;
}

/* As ssi_vars_add() sets it. */
static const char *env_of_page(const request_rec *r, const char *name)
{
    const char *slash;

    if (strncasecmp(name, "DOCUMENT_", 9))
        return NULL;
    if (!strcasecmp(name + 9, "URI"))
        return r->uri;
    if (!strcasecmp(name + 9, "ARGS"))
        return r->args ? r->args : "";
    if (strcasecmp(name + 9, "NAME"))
        return NULL;
    slash = r->filename ? strrchr(r->filename, '/') : NULL;
    return slash ? slash + 1 : r->uri;
}

int ssi_env_early(include_ctx_t *ctx, const char *name, const char **value)
{
    ssi_top *top = ctx->intern->top;
    int date;

    if (!env_may_wait(ctx))
        return 0;
    if ((*value = env_set_value(top, name)) != NULL || (*value = env_of_page(ctx->r, name)) != NULL)
        return 1;
    date = env_date_index(name);
    if (date < 0)
        return 0;
    if (!top->env_dates[date])
        top->env_dates[date] = ssi_date(ctx, name);
    *value = top->env_dates[date];
    return 1;
}

int ssi_env_set_early(include_ctx_t *ctx, const char *name, const char *value)
{
    ssi_top *top = ctx->intern->top;
    apr_pool_t *p = top->r->pool;

    if (!env_may_wait(ctx) || env_date_index(name) >= 0)
        return 0;
    if (!top->env_before) {
        top->env_before = apr_table_copy(p, ctx->r->subprocess_env);
        top->env_sets = apr_array_make(p, 4, sizeof(ssi_env_set));
    }
    APR_ARRAY_PUSH(top->env_sets, ssi_env_set) = (ssi_env_set){name, value};
    apr_table_setn(ctx->r->subprocess_env, name, value);
    return 1;
}

int ssi_env_dates_early(include_ctx_t *ctx)
{
    ssi_top *top = ctx->intern->top;

    if (!env_may_wait(ctx))
        return 0;
    top->env_dates_of = ctx;
    memset(top->env_dates, 0, sizeof top->env_dates);
    return 1;
}
