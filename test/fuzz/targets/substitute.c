/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of Substitute: the first line has some, with tabs between them, and the others are what they change. The limit holds.
 * Covers: filters/substitute/substitute_rule.c filters/substitute/substitute_line.c
 */
#include "substitute_private.h"
#include "test_request.h"
#include "apr_general.h"
#include "apr_strings.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MOST 500

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static void apply(apr_pool_t *p, const apr_array_header_t *rules, const char *line, size_t len)
{
    apr_array_header_t *pieces = apr_array_make(p, 1, sizeof(subst_piece));

    APR_ARRAY_PUSH(pieces, subst_piece) = (subst_piece){line, len};
    if (subst_line(test_request(p), p, rules, LINE_MOST, &pieces) != APR_SUCCESS)
        return;
    for (int i = 0; i < pieces->nelts; i++) {
        const subst_piece *piece = &APR_ARRAY_IDX(pieces, i, subst_piece);

        /* what no rule touched, behind what it may have added */
        check(piece->len > 0 && piece->len <= len + (size_t)rules->nelts * LINE_MOST);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *root;
    apr_array_header_t *rules;
    apr_pool_t *p;
    char *rest, *head;

    if (!root && (apr_initialize() || apr_pool_create(&root, NULL)))
        abort();
    if (size > 2000)
        return 0;
    apr_pool_create(&p, root);
    rest = apr_pstrmemdup(p, (const char *)data, size);
    head = strsep(&rest, "\n");
    rules = apr_array_make(p, 4, sizeof(subst_rule));
    while (head && rules->nelts < 4) {
        subst_rule rule;

        if (!subst_parse(p, strsep(&head, "\t"), &rule))
            APR_ARRAY_PUSH(rules, subst_rule) = rule;
    }
    while (rest && rules->nelts) {
        const char *line = strsep(&rest, "\n");

        apply(p, rules, line, strlen(line) + (rest != NULL));
    }
    apr_pool_destroy(p);
    return 0;
}
