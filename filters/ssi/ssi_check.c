/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brigade --check-ssi: mistakes in pages that can be seen without a request. One line for each:
 * FILE:LINE:COLUMN: message.
 */
#include "ssi_private.h"
#include "ssi_legacy.h"
#include "apr_strings.h"
#include <stdio.h>

#define CHECK_DEEP 64 /* levels of nested conditions of which the place of the if is known */

typedef struct check_state {
    const ssi_page *page;
    const char *path;
    apr_pool_t *p;
    int problems, depth, has_else[CHECK_DEEP];
    apr_size_t opened[CHECK_DEEP];
    int in_block;
    apr_size_t block_at;
} check_state;

static void check_report(check_state *c, apr_size_t off, const char *what, const char *name)
{
    unsigned line = 1, column = 1;

    BRG_ASSERT(off <= c->page->len);
    for (apr_size_t i = 0; i < off; i++) {
        column = c->page->data[i] == '\n' ? 1 : column + 1;
        line += c->page->data[i] == '\n';
    }
    printf("%s:%u:%u: %s%s%s\n", c->path, line, column, what, name ? ": " : "", name ? name : "");
    c->problems++;
}

/* ---- attributes ---- */

static const struct {
    const char *element, *args; /* allowed names, with a space behind each; NULL: any */
    int least;
} check_elements[] = {
    {"include", "file virtual onerror stub set wait ", 1},
    {"echo", "var encoding decoding default ", 1},
    {"set", "var value encoding decoding ", 2},
    {"config", "errmsg echomsg timefmt sizefmt ", 1},
    {"fsize", "file virtual ", 1},
    {"flastmod", "file virtual ", 1},
    {"exec", "cmd cgi ", 1},
    {"printenv", "", 0},
    {"if", "expr ", 1},
    {"elif", "expr ", 1},
    {"else", "", 0},
    {"endif", "", 0},
    {"block", "name ", 1},
    {"endblock", "", 0},
};

static int check_allowed(const char *list, const char *name)
{
    apr_size_t len = strlen(name);

    while (*list) {
        apr_size_t n = strcspn(list, " ");

        if (n == len && !memcmp(list, name, n))
            return 1;
        list += n + 1;
    }
    return 0;
}

static void check_args(check_state *c, const ssi_directive *d)
{
    for (size_t i = 0; i < sizeof check_elements / sizeof *check_elements; i++) {
        if (strcmp(check_elements[i].element, d->name))
            continue;
        if (d->args_n < (unsigned)check_elements[i].least)
            check_report(c, d->off, "missing attribute", d->name);
        for (unsigned k = 0; k < d->args_n; k++) {
            if (!check_allowed(check_elements[i].args, d->args[k].name))
                check_report(c, d->off, "unknown attribute",
                             apr_pstrcat(c->p, d->args[k].name, " of ", d->name, NULL));
            else if (!d->args[k].value)
                check_report(c, d->off, "attribute without a value",
                             apr_pstrcat(c->p, d->args[k].name, " of ", d->name, NULL));
        }
        return;
    }
}

/* ---- conditions ---- */

static int check_expr_lookup(ap_expr_lookup_parms *parms)
{
    static const char found[] = "";

    *parms->func = found;
    *parms->data = found;
    return OK;
}

/* In the language of 2.4; syntax of 2.2 alone is named as such. */
static void check_condition(check_state *c, const ssi_directive *d)
{
    ap_expr_info_t info = {.flags = AP_EXPR_FLAG_RESTRICTED, .filename = c->path};
    const char *text = d->args_n ? d->args[0].value : NULL, *error, *legacy_error;

    if (!text)
        return;
    error = ap_expr_parse(c->p, c->p, &info, text, check_expr_lookup);
    if (!error)
        return;
    if (legacy_parse(c->p, text, &legacy_error))
        check_report(c, d->off, "deprecated expression, needs SSILegacyExprParser On", text);
    else
        check_report(c, d->off, "invalid expression", apr_pstrcat(c->p, text, ": ", error, NULL));
}

static void check_flow(check_state *c, const ssi_directive *d)
{
    int top = c->depth - 1;

    BRG_ASSERT(c->depth >= 0);
    if (!strcmp(d->name, "if")) {
        check_condition(c, d);
        if (c->depth < CHECK_DEEP) {
            c->opened[c->depth] = d->off;
            c->has_else[c->depth] = 0;
        }
        c->depth++;
        return;
    }
    if (!c->depth) {
        check_report(c, d->off, "without an if", d->name);
        return;
    }
    if (!strcmp(d->name, "endif")) {
        c->depth--;
        return;
    }
    if (!strcmp(d->name, "elif"))
        check_condition(c, d);
    if (top < CHECK_DEEP && c->has_else[top])
        check_report(c, d->off, "after else", d->name);
    if (top < CHECK_DEEP && !strcmp(d->name, "else"))
        c->has_else[top] = 1;
}

static void check_block(check_state *c, const ssi_directive *d, int begins)
{
    if (begins == c->in_block)
        check_report(c, d->off, begins ? "block within a block" : "endblock without a block", NULL);
    c->in_block = begins;
    c->block_at = d->off;
}

/* ---- pages ---- */

static void check_mistakes(check_state *c, const ssi_directive *d)
{
    for (const unsigned char *m = d->mistakes; m && *m; m++)
        check_report(c, d->off,
                     *m == SSI_LEX_NO_NAME ? "missing directive name"
                                           : "value without an attribute's name",
                     d->name && *d->name ? d->name : NULL);
}

static void check_directive(check_state *c, const ssi_directive *d)
{
    check_mistakes(c, d);
    if (d->unfinished) {
        check_report(c, d->off, "directive does not end", d->name);
    } else if (d->mistakes) {
        return;
    } else if (!d->element) {
        check_report(c, d->off, "unknown directive", d->name);
    } else {
        include_handler_fn_t *fn = d->element->fn;

        check_args(c, d);
        if (fn == ssi_do_if || fn == ssi_do_elif || fn == ssi_do_else || fn == ssi_do_endif)
            check_flow(c, d);
        else if (fn == ssi_do_block || fn == ssi_do_endblock)
            check_block(c, d, fn == ssi_do_block);
    }
}

static int check_page(apr_pool_t *p, const ssi_page *page, const char *path)
{
    check_state c = {.page = page, .path = path, .p = p};

    BRG_ASSERT_TAG(page, SSI_PAGE_TAG);
    for (unsigned i = 0; i < page->nodes_n; i++)
        if (page->nodes[i].directive)
            check_directive(&c, page->nodes[i].directive);
    while (c.depth-- > 0)
        check_report(&c, c.depth < CHECK_DEEP ? c.opened[c.depth] : 0, "if without endif", NULL);
    if (c.in_block)
        check_report(&c, c.block_at, "block without endblock", NULL);
    return c.problems;
}

int ssi_check_files(apr_pool_t *p, int n, const char *const *files)
{
    const ssi_tags *tags = ssi_tags_make(p, NULL, NULL);
    int problems = 0;

    for (int i = 0; i < n; i++) {
        ssi_page *page = ssi_page_read(files[i], tags, p);

        if (!page) {
            printf("%s: cannot be read\n", files[i]);
            problems++;
            continue;
        }
        problems += check_page(p, page, files[i]);
        ssi_page_release(page);
    }
    return problems;
}
