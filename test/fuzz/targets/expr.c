/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions: the first byte chooses the flags, the rest is the text. What parses is evaluated.
 * Covers: server/expr/expr_lex.c server/expr/expr_parse.c server/expr/expr_eval.c
 *     server/expr/expr_ops.c server/expr/expr_funcs.c server/expr/expr_vars.c
 *     server/expr/expr_text.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "httpd.h"
#include "ap_expr.h"
#include "apr_general.h"
#include "apr_hooks.h"
#include "apr_strings.h"
#include "expr_private.h"
#include "http_log.h"
#include "test_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Names that would need a whole server; files of the machine stay out of it too. */
static int needs_server(const ap_expr_lookup_parms *parms)
{
    static const char *const names[] = {
        "U",
        "A",
        "F",
        "REQUEST_SCHEME",
        "REMOTE_HOST",
        "SERVER_NAME",
        "SERVER_PORT",
        "DOCUMENT_ROOT",
        "REMOTE_IDENT",
        "CONTEXT_PREFIX",
        "CONTEXT_DOCUMENT_ROOT",
        "SERVER_SOFTWARE",
        "HTTPS",
    };
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (ap_cstr_casecmp(parms->name, names[i]) == 0)
            return 1;
    return 0;
}

static int lookup(ap_expr_lookup_parms *parms)
{
    return needs_server(parms) ? DECLINED : ap_expr_lookup_default(parms);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ap_expr_info_t info = {.filename = "fuzz", .module_index = APLOG_NO_MODULE};
    const char *err, *text;
    apr_pool_t *pool;

    if (size < 1)
        return 0;
    apr_pool_create(&pool, fuzz_pool());
    info.flags = (data[0] & 0x1f) | AP_EXPR_FLAG_RESTRICTED;
    text = apr_pstrmemdup(pool, (const char *)data + 1, size - 1);
    err = ap_expr_parse(pool, pool, &info, text, lookup);
    if ((err == NULL) != (info.root_node != NULL))
        abort();
    if (!err) {
        request_rec *r = test_request(pool);

        expr_depends(&info);
        if (info.flags & AP_EXPR_FLAG_STRING_RESULT) {
            if (!ap_expr_str_exec(r, &info, &err) != (err != NULL))
                abort();
        } else if ((ap_expr_exec(r, &info, &err) < 0) != (err != NULL)) {
            abort();
        }
    }
    apr_pool_destroy(pool);
    return 0;
}
