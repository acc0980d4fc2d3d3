/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type maps. Each variant has a type and a file; one in the map lies within it. A map that was read may be answered from, so the
 * client's fields are what the first line of the input says.
 * Covers: modules/negotiation/neg_map.c modules/negotiation/neg_client.c modules/negotiation/neg_choose.c
 */
#include "neg_private.h"
#include "test_request.h"
#include "apr_general.h"
#include "apr_strings.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static void check_variants(negotiation *n, apr_size_t len)
{
    for (int i = 0; i < n->variants->nelts; i++) {
        neg_variant *v = &APR_ARRAY_IDX(n->variants, i, neg_variant);

        check(v->type && v->file && v->source_q >= 0 && v->source_q <= 1);
        check(v->length >= -1);
        if (v->has_body)
            check(v->body >= 0 && v->body <= (apr_off_t)len);
        if (v->length < 0)
            v->length = 0; /* else files would be looked for */
    }
    if (n->variants->nelts) {
        const neg_variant *best = neg_choose(n);

        check(!best || (best->type_q > 0 && best->language_q > 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const neg_conf conf;
    static apr_pool_t *root;
    apr_pool_t *p;
    negotiation n = {.conf = &conf, .transparent = 1};
    char *text, *newline;

    if (!root && (apr_initialize() || apr_pool_create(&root, NULL)))
        abort();
    apr_pool_create(&p, root);
    text = apr_pstrmemdup(p, (const char *)data, size);
    newline = memchr(text, '\n', size);
    n.r = test_request(p);
    n.r->filename = (char *)"/folder/map.var";
    n.variants = apr_array_make(p, 4, sizeof(neg_variant));
    if (newline) {
        *newline = '\0';
        apr_table_setn(n.r->headers_in, "Accept", text);
        apr_table_setn(n.r->headers_in, "Accept-Language", text);
        apr_table_setn(n.r->headers_in, "Accept-Encoding", text);
        neg_read_client(&n);
        size -= (size_t)(newline + 1 - text);
        if (neg_read_map(&n, newline + 1, size) == OK)
            check_variants(&n, size);
    }
    apr_pool_destroy(p);
    return 0;
}
