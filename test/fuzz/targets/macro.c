/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of macros, and their use: the first line has the names, the second the values, the others are the macro.
 * Covers: modules/macro/macro_text.c modules/macro/macro_define.c
 */
#include "macro_private.h"
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

static void define_and_use(apr_pool_t *p, const char *names, const char *values,
                           apr_array_header_t *text)
{
    cmd_parms cmd = {.pool = p, .temp_pool = p, .config_file = macro_open(p, "a file", text)};
    macro_definition macro = {.whole = "macro 'a' (defined on line 1)"};
    apr_array_header_t *given = macro_words(p, values), *lines;

    if (macro_set_arguments(&cmd, p, &macro, names) || macro_read_lines(&cmd, p, &macro, 0))
        return;
    while (given->nelts < macro.arguments->nelts)
        APR_ARRAY_PUSH(given, const char *) = "v";
    if (macro_expand(p, &macro, given, &lines))
        return;
    check(lines->nelts == macro.lines->nelts);
    for (int i = 0; i < lines->nelts; i++)
        check(strlen(APR_ARRAY_IDX(lines, i, const char *)) < MACRO_LINE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *root;
    apr_array_header_t *text;
    apr_pool_t *p;
    char *rest, *names, *values;

    if (!root && (apr_initialize() || apr_pool_create(&root, NULL)))
        abort();
    apr_pool_create(&p, root);
    rest = apr_pstrmemdup(p, (const char *)data, size);
    names = strsep(&rest, "\n");
    values = rest ? strsep(&rest, "\n") : NULL;
    text = apr_array_make(p, 8, sizeof(const char *));
    while (rest)
        APR_ARRAY_PUSH(text, const char *) = strsep(&rest, "\n");
    if (values)
        define_and_use(p, names, values, text);
    apr_pool_destroy(p);
    return 0;
}
