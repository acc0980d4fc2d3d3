/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions that share the captures of a match, as the callers of ap_expr_exec_re() keep them from
 * one expression to the next. The first byte says how many captures there are; then each line is an
 * expression, or a string behind "=". The first byte of a line says what happened to the subject of
 * the last match: '-' the caller has forgotten it, anything else it was moved to other memory, just
 * as large. What an evaluation allocates ends with it. Captures must always lie within the subject,
 * and without one they are empty.
 * Covers: server/expr/expr_core.c server/expr/expr_eval.c server/expr/expr_ops.c
 *     server/expr/expr_text.c
 */
#include "test_request.h"
#include "ap_expr.h"
#include "expr_private.h"
#include "http_log.h"
#include "apr_general.h"
#include "apr_hooks.h"
#include "apr_strings.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct captures {
    ap_regmatch_t group[AP_MAX_REG_MATCH];
    apr_size_t n;
    char *subject; /* on the heap, in a block of its size */
} captures;

static void check(int right)
{
    if (!right)
        abort();
}

/* No names that need a server, no files. */
static int lookup(ap_expr_lookup_parms *parms)
{
    static const char *const names[] = {
        "REQUEST_URI", "QUERY_STRING", "REQUEST_METHOD", "req",    "tolower",
        "toupper",     "escape",       "unescape",       "base64", "n",
        "z",           "strmatch",     "strcmatch",      "note",   "env",
        "sub",         "join",         "split"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(parms->name, names[i]) == 0)
            return ap_expr_lookup_default(parms);
    return DECLINED;
}

static apr_pool_t *fuzz_pool(void)
{
    static apr_pool_t *pool;

    if (!pool) {
        apr_initialize();
        apr_pool_create(&pool, NULL);
        apr_hook_global_pool = pool;
        ap_expr_init(pool);
    }
    return pool;
}

static void move_subject(captures *c, const char *from)
{
    char *copy = from ? malloc(strlen(from) + 1) : NULL;

    if (copy)
        strcpy(copy, from);
    free(c->subject);
    c->subject = copy;
}

static void check_captures(const captures *c, const char *subject)
{
    for (apr_size_t i = 0; subject && i < c->n; i++) {
        const ap_regmatch_t *m = &c->group[i];

        check(m->rm_so < 0 || (m->rm_so <= m->rm_eo && (apr_size_t)m->rm_eo <= strlen(subject)));
    }
}

static void evaluate(captures *c, const char *text)
{
    ap_expr_info_t info = {.filename = "fuzz", .module_index = APLOG_NO_MODULE};
    const char *err, *subject = c->subject;
    apr_pool_t *pool;
    request_rec *r;

    apr_pool_create(&pool, fuzz_pool());
    info.flags = *text == '=' ? AP_EXPR_FLAG_STRING_RESULT : 0;
    err = ap_expr_parse(pool, pool, &info, apr_pstrdup(pool, text + (*text == '=')), lookup);
    if (!err) {
        r = test_request(pool);
        r->uri = r->unparsed_uri = (char *)"/some/where/else.html";
        r->args = (char *)"a=b&c=d";
        apr_table_setn(r->headers_in, "Host", "host.example");
        if (info.flags)
            ap_expr_str_exec_re(r, &info, c->n, c->group, &subject, &err);
        else
            ap_expr_exec_re(r, &info, c->n, c->group, &subject, &err);
    }
    check_captures(c, subject);
    move_subject(c, subject);
    apr_pool_destroy(pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    captures c = {.n = 0};
    char *text, *line, *last;

    if (size < 2 || size > 4000)
        return 0;
    for (int i = 0; i < AP_MAX_REG_MATCH; i++)
        c.group[i].rm_so = c.group[i].rm_eo = -1;
    c.n = data[0] % (AP_MAX_REG_MATCH + 1);
    text = strndup((const char *)data + 1, size - 1);
    for (line = strtok_r(text, "\n", &last); line; line = strtok_r(NULL, "\n", &last)) {
        if (*line == '-')
            move_subject(&c, NULL);
        evaluate(&c, line + 1);
    }
    free(text);
    free(c.subject);
    return 0;
}
