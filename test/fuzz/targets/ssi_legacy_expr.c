/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions in the language of Apache 2.2: the tree must have the form that its evaluation relies
 * on, and no more nodes than the text has bytes.
 * Covers: filters/ssi/ssi_legacy_expr.c filters/ssi/ssi_legacy_parse.c
 */
#include "ssi_legacy.h"
#include "apr_general.h"
#include "apr_strings.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

/* How many nodes; *regex: one of them is a regex. */
static size_t walk(const legacy_node *node, int *regex)
{
    int left = 0, right = 0;
    size_t n = 1;

    if (!node)
        return 0;
    check(node->kind > LEGACY_END && node->kind <= LEGACY_GE);
    check(node->kind != LEGACY_CLOSE);
    if (node->kind == LEGACY_STRING || node->kind == LEGACY_REGEX) {
        check(node->text && !node->left && !node->right);
        left = node->kind == LEGACY_REGEX;
    }
    n += walk(node->left, &left);
    n += walk(node->right, &right);
    check(!(left || right) || node->has_regex);
    *regex |= left || right;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *global;
    const char *error = NULL, *text;
    legacy_node *tree;
    apr_pool_t *pool;
    int regex = 0;

    if (!global) {
        apr_initialize();
        apr_pool_create(&global, NULL);
    }
    apr_pool_create(&pool, global);
    text = apr_pstrmemdup(pool, (const char *)data, size);
    tree = legacy_parse(pool, text, &error);
    check(!(tree && error));
    check(!error || error == LEGACY_E_INVALID || error == LEGACY_E_OPEN || error == LEGACY_E_CLOSE);
    check(walk(tree, &regex) <= 2 * size);
    apr_pool_destroy(pool);
    return 0;
}
