/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an expression's value depends on. Whatever is not known to be harmless counts as a
 * dependency.
 */
#include "expr_private.h"
#include "brigade/assert.h"

/* Does the tree hold a match, whose groups a back reference can mean? */
static int expr_has_match(const ap_expr_t *node)
{
    int i;

    BRG_ASSERT(node);
    if (node->kind == EXPR_MATCH)
        return 1;
    for (i = 0; i < node->n; i++)
        if (expr_has_match(node->part[i]))
            return 1;
    return 0;
}

static int expr_node_depends(const ap_expr_t *node)
{
    BRG_ASSERT(node);
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

    BRG_ASSERT(node);
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
    return expr_tree_depends(info->root_node, expr_has_match(info->root_node));
}
