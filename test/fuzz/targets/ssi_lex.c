/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages: the first byte chooses the tags, the second how the text of a directive is cut. The nodes
 * of the compiled page must be in order and within it, and each directive must come out the same
 * when the lexer gets it piece by piece.
 * Covers: filters/ssi/ssi_lex.c filters/ssi/ssi_scan.c filters/ssi/ssi_compile.c
 *     filters/ssi/ssi_encode.c
 */
#include "ssi_private.h"
#include "apr_general.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TAGS 5

static apr_pool_t *global;
static ssi_tags *tags[2 * TAGS];

static void check(int right)
{
    if (!right)
        abort();
}

static void setup(void)
{
    static const char *const pairs[TAGS][2] = {
        {NULL, NULL}, {"<%", "%>"}, {"{", "}"}, {"aab", "aa"}, {"<!--#", "----"}};

    apr_initialize();
    apr_pool_create(&global, NULL);
    for (size_t i = 0; i < 2 * TAGS; i++) {
        tags[i] = ssi_tags_make(global, pairs[i % TAGS][0], pairs[i % TAGS][1]);
        tags[i]->pass_unknown = i >= TAGS;
    }
}

static int same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static void compare(const ssi_directive *a, const ssi_directive *b)
{
    check(!strcmp(a->name, b->name) && a->element == b->element && a->args_n == b->args_n);
    check(same_text((const char *)a->mistakes, (const char *)b->mistakes));
    for (unsigned i = 0; i < a->args_n; i++) {
        check(!strcmp(a->args[i].name, b->args[i].name));
        check(same_text(a->args[i].value, b->args[i].value));
        check(same_text(a->args[i].decoded, b->args[i].decoded));
    }
}

static void lex_in_pieces(const ssi_page *page, const ssi_directive *d, size_t step)
{
    size_t from = d->off + page->tags->pattern->len, left = page->len - from, len = 0;
    const char *text = page->data + from;
    ssi_lexer lexer = {0};
    ssi_directive again = {0};
    int complete = 0;

    while (!complete && len < left) {
        len = len + step < left ? len + step : left;
        complete = ssi_lex(&lexer, page->tags, text, len, page->pool);
        check(lexer.pos <= len);
    }
    check(complete == !d->unfinished);
    if (complete)
        ssi_lex_take(&lexer, text, page->pool, &again);
    else
        ssi_lex_take_unfinished(&lexer, text, page->pool, &again);
    compare(d, &again);
}

static void check_nodes(const ssi_page *page, size_t step)
{
    size_t at = 0;

    for (unsigned i = 0; i < page->nodes_n; i++) {
        const ssi_node *node = &page->nodes[i];
        const ssi_directive *d = node->directive;

        check(node->next_flow > i && node->next_flow <= page->nodes_n);
        if (d) {
            check(d->off >= at && d->off + page->tags->pattern->len <= page->len);
            at = d->off + page->tags->pattern->len;
            lex_in_pieces(page, d, step);
        } else {
            check(node->len > 0 && node->off >= at && node->off + node->len <= page->len);
            at = node->off + node->len;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ssi_page page = {.tag = SSI_PAGE_TAG};

    if (!global)
        setup();
    if (size < 2)
        return 0;
    page.tags = tags[data[0] % (2 * TAGS)];
    page.len = size - 2;
    page.data = malloc(page.len + 1);
    memcpy(page.data, data + 2, page.len);
    page.data[page.len] = '\0';
    ssi_compile(&page);
    check_nodes(&page, 1 + data[1] % 16);
    if (page.pool)
        apr_pool_destroy(page.pool);
    free(page.nodes);
    free(page.data);
    return 0;
}
