/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dependencies of an expression's value. A part that is not known to be harmless counts as a
 * dependency.
 */
#include "expr_private.h"
#include "brigade/assert.h"
#include "brigade/response_cache.h"

#define EXPR_DECLARED_MOST 16

/* Variables of modules that state their dependencies themselves. Main thread; read only afterwards. */
static ap_expr_var_func_t *expr_declared[EXPR_DECLARED_MOST];
static int expr_declared_n;

static apr_status_t expr_declared_forget(void *unused)
{
    expr_declared_n = 0;
    return APR_SUCCESS;
}

BRG_DECLARE(void) brg_cache_declare_variable(apr_pool_t *p, ap_expr_var_func_t *fn)
{
    BRG_ASSERT(fn != NULL);
    if (!expr_declared_n)
        apr_pool_cleanup_register(p, NULL, expr_declared_forget, apr_pool_cleanup_null);
    if (expr_declared_n < EXPR_DECLARED_MOST)
        expr_declared[expr_declared_n++] = fn;
}

int expr_is_declared(const ap_expr_t *node)
{
    for (int i = 0; i < expr_declared_n; i++)
        if (node->func == (const void *)expr_declared[i])
            return 1;
    return 0;
}

int expr_has(const ap_expr_t *node, expr_kind kind)
{
    int i;

    if (node->kind == kind)
        return 1;
    for (i = 0; i < node->n; i++)
        if (expr_has(node->part[i], kind))
            return 1;
    return 0;
}

static int expr_node_depends(const ap_expr_t *node)
{
    if (node->kind == EXPR_VAR && expr_is_declared(node))
        return 0;
    switch (node->kind) {
    case EXPR_VAR:
    case EXPR_CALL:
    case EXPR_UNARY:
    case EXPR_BINARY: {
        const expr_offer *offer = expr_core_offer_of(node);

        return !offer || !(offer->flags & EXPR_O_STATIC);
    }
    case EXPR_IN_CALL:
        return 1;
    default:
        return 0;
    }
}

static int expr_tree_depends(const ap_expr_t *node, int matched)
{
    int i;

    if (expr_node_depends(node) || (node->kind == EXPR_BACKREF && !matched))
        return 1;
    for (i = 0; i < node->n; i++)
        if (expr_tree_depends(node->part[i], matched))
            return 1;
    return 0;
}

int expr_depends(const ap_expr_info_t *info)
{
    if (!info || !info->root_node)
        return 1;
    return expr_tree_depends(info->root_node, expr_has(info->root_node, EXPR_MATCH));
}

static int expr_node_is_of_head(const ap_expr_t *node)
{
    const expr_offer *offer;

    switch (node->kind) {
    case EXPR_VAR: /* those of a request's target are not in its head */
        return (offer = expr_core_offer_of(node)) && offer->flags & EXPR_O_HEAD;
    case EXPR_CALL:
    case EXPR_UNARY:
    case EXPR_BINARY:
        return (offer = expr_core_offer_of(node)) && offer->flags & (EXPR_O_HEAD | EXPR_O_STATIC);
    case EXPR_IN_CALL:
        return 0;
    default:
        return 1;
    }
}

static int expr_tree_is_of_head(const ap_expr_t *node)
{
    if (!expr_node_is_of_head(node))
        return 0;
    for (int i = 0; i < node->n; i++)
        if (!expr_tree_is_of_head(node->part[i]))
            return 0;
    return 1;
}

int expr_is_constant(const ap_expr_info_t *info)
{
    static const expr_kind asking[] = {EXPR_VAR,   EXPR_CALL,   EXPR_BACKREF,
                                       EXPR_UNARY, EXPR_BINARY, EXPR_IN_CALL};

    if (!info || !info->root_node)
        return 0;
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++)
        if (expr_has(info->root_node, asking[i]))
            return 0;
    return 1;
}

int expr_is_of_head(const ap_expr_info_t *info)
{
    return info && info->root_node && expr_tree_is_of_head(info->root_node);
}
