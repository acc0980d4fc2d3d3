/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of pools (brigade/memory_tree.h) become one. */
#include "brigade/memory_tree.h"
#include <string.h>

static int merge_is(const brg_pool_node *a, const brg_pool_node *b, int above)
{
    return a->above == above && a->scope == b->scope && strcmp(a->name, b->name) == 0 &&
           strcmp(a->system, b->system) == 0;
}

/* The node of @a to below @a above that is as @a one. @return -1: there is no room, or none above */
static int merge_node(brg_pool_tree *to, const brg_pool_node *one, int above)
{
    int i;

    if (one->above >= 0 && above < 0)
        return -1;
    for (i = 0; i < to->n; i++)
        if (merge_is(&to->node[i], one, above))
            return i;
    if (to->n == BRG_POOL_NODES)
        return -1;
    to->node[to->n] = *one;
    to->node[to->n].above = above;
    to->node[to->n].pools = to->node[to->n].bytes = to->node[to->n].held = 0;
    return to->n++;
}

BRG_DECLARE(void) brg_pool_tree_merge(brg_pool_tree *to, const brg_pool_tree *from)
{
    int at[BRG_POOL_NODES], i;

    for (i = 0; i < from->n; i++) {
        const brg_pool_node *one = &from->node[i];
        brg_pool_node *sum;

        at[i] = merge_node(to, one, one->above < 0 ? -1 : at[one->above]);
        if (at[i] < 0) {
            to->left_out += one->pools;
            continue;
        }
        sum = &to->node[at[i]];
        sum->pools += one->pools;
        sum->bytes += one->bytes;
        sum->held += one->held;
        if (one->largest > sum->largest)
            sum->largest = one->largest;
    }
    to->left_out += from->left_out;
    to->at_workers += from->at_workers;
}
