/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of pools, added up by name, for looks at a running server.
 *
 * A pool is looked into by the thread that uses it, or under the lock of the allocator that it shares with the pool of all pools. Of
 * others below that one only the sum is read that they told last (pool_tell()), since nothing guards the rest.
 */
#include "memory_out.h"
#include "pool_private.h"
#include "brigade/assert.h"
#include "brigade/memory_tree.h"
#include <string.h>

static const char *tree_name(const apr_pool_t *p)
{
    return p->tag != NULL ? p->tag : "without a name";
}

static int tree_is(const brg_pool_node *node, int above, const apr_pool_t *p, const char *system)
{
    return node->above == above && node->scope == (int)p->scope &&
           strncmp(node->name, tree_name(p), sizeof(node->name) - 1) == 0 &&
           strncmp(node->system, system, sizeof(node->system) - 1) == 0;
}

static void tree_put(char *to, apr_size_t n, const char *text)
{
    const apr_size_t len = strnlen(text, n - 1);

    memcpy(to, text, len);
    to[len] = '\0';
}

/* The node for pools of this name below a node. @return its number; -1: there is no room */
static int tree_node(brg_pool_tree *t, int above, const apr_pool_t *p)
{
    const char *system = memory_stack_spec(p->allocator->stack);
    brg_pool_node *node;
    int i;

    for (i = above + 1; i < t->n; i++)
        if (tree_is(&t->node[i], above, p, system))
            return i;
    if (t->n == BRG_POOL_NODES)
        return -1;
    node = &t->node[t->n];
    memset(node, 0, sizeof(*node));
    node->above = above;
    node->scope = (int)p->scope;
    tree_put(node->name, sizeof(node->name), tree_name(p));
    tree_put(node->system, sizeof(node->system), system);
    return t->n++;
}

static uint64_t tree_held(const apr_pool_t *p)
{
    const apr_memnode_t *chunk;
    const pool_records *page;
    uint64_t held = 0;
    apr_size_t i;

    for (chunk = p->per_block ? NULL : p->first; chunk != NULL; chunk = chunk->next)
        held += node_bytes(chunk);
    for (page = p->records; page != NULL; page = page->next)
        for (i = 0; i < page->n; i++)
            held += page->record[i].bytes >> 1;
    return held;
}

static void tree_count(brg_pool_node *node, uint64_t bytes, uint64_t held)
{
    node->pools++;
    node->bytes += bytes;
    node->held += held;
    if (bytes > node->largest)
        node->largest = bytes;
}

/* @return the node; -1: it is left out */
static int tree_add_one(brg_pool_tree *t, const apr_pool_t *p, int above)
{
    const int at = tree_node(t, above, p);

    if (at < 0)
        t->left_out++;
    else
        tree_count(&t->node[at], p->told_bytes + pool_bytes(p), tree_held(p));
    return at;
}

/* Of a pool that another thread may use. */
static void tree_add_told(brg_pool_tree *t, const apr_pool_t *p, int above)
{
    const int at = tree_node(t, above, p);

    if (at < 0)
        t->left_out++;
    else
        tree_count(&t->node[at], __atomic_load_n(&p->told_bytes, __ATOMIC_RELAXED), 0);
}

/* A pool and those below it that its thread, or the lock, has. @param allocator  NULL: all */
static void tree_add(brg_pool_tree *t, const apr_pool_t *top, const apr_allocator_t *allocator)
{
    int at[BRG_POOL_DEPTH], depth = 0;
    const apr_pool_t *p = top;

    at[0] = tree_add_one(t, top, -1);
    while (p != NULL) {
        if (p->child != NULL && depth + 1 < BRG_POOL_DEPTH && at[depth] >= 0 &&
            (allocator == NULL || p->allocator == allocator)) {
            p = p->child;
            depth++;
        } else {
            while (p != top && p->sibling == NULL) {
                p = p->parent;
                depth--;
            }
            if (p == top)
                return;
            p = p->sibling;
        }
        BRG_ASSERT(depth > 0);
        if ((allocator != NULL && p->allocator != allocator) ||
            p->begins_scope == POOL_SCOPE_APART) {
            if (p->scope != BRG_SCOPE_CONNECTION) /* loops look at these */
                tree_add_told(t, p, at[depth - 1]);
            at[depth] = -1;
        } else
            at[depth] = tree_add_one(t, p, at[depth - 1]);
    }
}

BRG_DECLARE(void) brg_pool_tree_add(brg_pool_tree *t, const apr_pool_t *pool)
{
    tree_add(t, pool, NULL);
}

void pool_tree_of_process(brg_pool_tree *t)
{
    apr_thread_mutex_t *mutex = pool_root != NULL ? pool_root->allocator->mutex : NULL;

    if (mutex == NULL)
        return;
    apr_thread_mutex_lock(mutex);
    tree_add(t, pool_root, pool_root->allocator);
    apr_thread_mutex_unlock(mutex);
}
