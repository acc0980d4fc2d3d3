/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of one's own in expressions: a function and a variable.
 *
 *     brigade-apxs -c -i -a mod_sample_expr.c
 *
 *     Header set Sample-Name "expr=%{rot13:%{REQUEST_URI}}"
 *     <If "%{SAMPLE_WORKDAY} == 'yes'">
 *         Header set Sample-Open "today"
 *     </If>
 *
 * Expressions are compiled when the configuration is read: then a provider says which words are its
 * own, and hands out the function that is called for each request.
 */
#include "httpd.h"
#include "http_config.h"
#include "ap_expr.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "apr_time.h"

static const char *expr_rot13(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg)
{
    char *text = apr_pstrdup(ctx->p, arg);

    for (char *c = text; *c; c++) {
        if (apr_isalpha(*c))
            *c = (char)(apr_tolower(*c) < 'n' ? *c + 13 : *c - 13);
    }
    return text;
}

static const char *expr_workday(ap_expr_eval_ctx_t *ctx, const void *data)
{
    apr_time_exp_t now;

    apr_time_exp_lt(&now, ctx->r ? ctx->r->request_time : apr_time_now());
    return now.tm_wday >= 1 && now.tm_wday <= 5 ? "yes" : "no";
}

/* Is the word one of ours? OK, and what to call for it; DECLINED: ask the next. */
static int expr_lookup(ap_expr_lookup_parms *parms)
{
    if (parms->type == AP_EXPR_FUNC_STRING && !strcasecmp(parms->name, "rot13")) {
        *parms->func = (const void *)expr_rot13;
        *parms->data = NULL;
        return OK;
    }
    if (parms->type == AP_EXPR_FUNC_VAR && !strcasecmp(parms->name, "SAMPLE_WORKDAY")) {
        *parms->func = (const void *)expr_workday;
        *parms->data = NULL;
        return OK;
    }
    return DECLINED;
}

static void expr_register_hooks(apr_pool_t *p)
{
    ap_hook_expr_lookup(expr_lookup, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(sample_expr) = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL,
                                  expr_register_hooks,     0};
