/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file in memory becomes literal spans and directives. Done once for each version of a file;
 * nothing here depends on the request, so the result can be used for all.
 */
#include "ssi_private.h"
#include <stdlib.h>

typedef struct ssi_compiler {
    ssi_page *page;
    unsigned room;
    apr_pool_t *scratch; /* of the lexer */
} ssi_compiler;

static ssi_node *compile_node(ssi_compiler *c)
{
    ssi_page *page = c->page;

    BRG_ASSERT(page->nodes_n <= c->room);
    if (page->nodes_n == c->room) {
        unsigned room = c->room ? c->room * 2 : 4;
        ssi_node *nodes = realloc(page->nodes, room * sizeof *nodes);

        if (!nodes)
            ap_abort_on_oom();
        page->nodes = nodes;
        c->room = room;
    }
    memset(&page->nodes[page->nodes_n], 0, sizeof *page->nodes);
    return &page->nodes[page->nodes_n++];
}

static void compile_literal(ssi_compiler *c, apr_size_t off, apr_size_t len)
{
    ssi_node *node;

    if (!len)
        return;
    BRG_ASSERT(off <= c->page->len && len <= c->page->len - off);
    node = compile_node(c);
    node->off = off;
    node->len = len;
}

/* @a at: offset of the start tag. @return offset of the byte after the end tag, 0: no end tag */
static apr_size_t compile_directive(ssi_compiler *c, apr_size_t at)
{
    ssi_page *page = c->page;
    apr_size_t from = at + page->tags->pattern->len;
    ssi_lexer lexer = {0};
    ssi_directive *d;
    int complete;

    BRG_ASSERT(from <= page->len);
    if (!page->pool) {
        apr_pool_create(&page->pool, NULL);
        apr_pool_tag(page->pool, "ssi_page");
        apr_pool_create(&c->scratch, page->pool);
    }
    complete = ssi_lex(&lexer, page->tags, page->data + from, page->len - from, c->scratch);
    BRG_ASSERT(lexer.pos <= page->len - from);
    if (complete ? lexer.unknown : ssi_lex_is_text(&lexer, page->tags)) {
        apr_size_t end = complete ? from + lexer.pos : page->len;

        compile_literal(c, at, end - at);
        return end;
    }
    d = apr_pcalloc(page->pool, sizeof *d);
    d->off = at;
    if (complete) {
        ssi_lex_take(&lexer, page->data + from, page->pool, d);
    } else {
        ssi_lex_take_unfinished(&lexer, page->data + from, page->pool, d);
        page->unfinished = 1;
    }
    compile_node(c)->directive = d;
    if (d->element && d->element->fn == ssi_do_include)
        page->has_include = 1;
    if (d->element && d->element->fn == ssi_do_exec)
        page->has_exec = 1;
    if (d->element && !d->element->builtin)
        page->has_module_element = 1;
    apr_pool_clear(c->scratch);
    return complete ? from + lexer.pos : 0;
}

/* next_flow of all nodes: where a branch that is not shown ends. */
static void compile_link(ssi_page *page)
{
    unsigned next = page->nodes_n;

    for (unsigned i = page->nodes_n; i-- > 0;) {
        const ssi_directive *d = page->nodes[i].directive;

        BRG_ASSERT(next > i);
        page->nodes[i].next_flow = next;
        /* Mistakes and unknown names are logged in branches that are not shown, too. */
        if (d && (!d->element || d->element->when_hidden || d->mistakes))
            next = i;
    }
}

void ssi_compile(ssi_page *page)
{
    ssi_compiler c = {.page = page};
    apr_size_t at = 0;

    BRG_ASSERT_TAG(page, SSI_PAGE_TAG);
    BRG_ASSERT(page->tags && !page->nodes);
    while (at < page->len) {
        apr_size_t hit = at + ssi_scan_find(page->tags->pattern, page->data + at, page->len - at);

        BRG_ASSERT(hit >= at && hit <= page->len);
        compile_literal(&c, at, hit - at);
        if (hit >= page->len)
            break;
        at = compile_directive(&c, hit);
        if (!at)
            break;
    }
    if (c.scratch)
        apr_pool_destroy(c.scratch);
    compile_link(page);
}
