/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hook by which names in expressions find their functions, and the core's place in it.
 */
#include <string.h>
#include "expr_private.h"
#include "apr_hooks.h"
#include "apr_strings.h"

APR_HOOK_STRUCT(APR_HOOK_LINK(expr_lookup))

AP_IMPLEMENT_HOOK_RUN_FIRST(int, expr_lookup, (ap_expr_lookup_parms * parms), (parms), DECLINED)

AP_DECLARE_NONSTD(int) ap_expr_lookup_default(ap_expr_lookup_parms *parms)
{
    return ap_run_expr_lookup(parms);
}

static const expr_offer *const expr_offers[] = {
    [AP_EXPR_FUNC_VAR] = expr_core_vars,
    [AP_EXPR_FUNC_STRING] = expr_core_funcs,
    [AP_EXPR_FUNC_OP_UNARY] = expr_core_unary,
    [AP_EXPR_FUNC_OP_BINARY] = expr_core_binary,
};

/* Names of unary operators are case-sensitive, all others are not. */
static const expr_offer *expr_core_find(int type, const char *name)
{
    const expr_offer *offer = NULL;

    if (type >= 0 && type < (int)(sizeof(expr_offers) / sizeof(expr_offers[0])))
        offer = expr_offers[type];
    if (!offer)
        return NULL;
    for (; offer->name; offer++)
        if (type == AP_EXPR_FUNC_OP_UNARY ? strcmp(offer->name, name) == 0
                                          : ap_cstr_casecmp(offer->name, name) == 0)
            return offer;
    return NULL;
}

static int expr_core_forbidden(const ap_expr_lookup_parms *parms, const expr_offer *offer)
{
    return ((parms->flags & AP_EXPR_FLAG_RESTRICTED) && (offer->flags & EXPR_O_RESTRICTED)) ||
           ((parms->flags & AP_EXPR_FLAG_RESTRICTED_FILE_FUNC) && (offer->flags & EXPR_O_FILE));
}

static int expr_core_lookup(ap_expr_lookup_parms *parms)
{
    const expr_offer *offer = expr_core_find(parms->type, parms->name);

    if (!offer)
        return DECLINED;
    if (expr_core_forbidden(parms, offer)) {
        *parms->err = apr_psprintf(parms->ptemp, "%s%s not available in restricted context",
                                   parms->type == AP_EXPR_FUNC_OP_UNARY ? "-" : "", offer->name);
        return !OK;
    }
    *parms->func = offer->func;
    *parms->data = offer;
    return offer->prepare ? offer->prepare(parms) : OK;
}

/* Found by its function: operators that prepare their argument have other data. */
const expr_offer *expr_core_offer_of(const ap_expr_t *node)
{
    size_t i;

    for (i = 0; i < sizeof(expr_offers) / sizeof(expr_offers[0]); i++) {
        const expr_offer *offer = expr_offers[i];

        for (; offer && offer->name; offer++)
            if (offer->func == node->func && (offer->prepare || node->data == offer))
                return offer;
    }
    return NULL;
}

void ap_expr_init(apr_pool_t *pool)
{
    ap_hook_expr_lookup(expr_core_lookup, NULL, NULL, APR_HOOK_MIDDLE);
}
