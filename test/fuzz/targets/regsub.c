/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of an input: pattern, subject, replacement. The same result must come out of every way to
 * substitute.
 * Covers: server/base/regex_subst.c server/base/regex_pcre2.c server/base/regex_rxplus.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "httpd.h"
#include "http_config.h"
#include "ap_regex.h"
#include "apr_general.h"
#include "apr_strings.h"
#include "util_varbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void substitute(apr_pool_t *pool, const char *input, const char *subject,
                       ap_regmatch_t *groups)
{
    struct ap_varbuf vb;
    char *whole, *limited;

    if (ap_pregsub_ex(pool, &whole, input, subject, AP_MAX_REG_MATCH, groups, 0) != APR_SUCCESS)
        abort();
    ap_varbuf_init(pool, &vb, 0);
    if (ap_varbuf_regsub(&vb, input, subject, AP_MAX_REG_MATCH, groups, 0) != APR_SUCCESS ||
        strcmp(vb.buf, whole) != 0)
        abort();
    if ((ap_pregsub_ex(pool, &limited, input, subject, AP_MAX_REG_MATCH, groups, 8) ==
         APR_SUCCESS) != (strlen(whole) < 8))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *global;
    ap_regmatch_t groups[AP_MAX_REG_MATCH];
    apr_pool_t *pool;
    const char *line, *pattern, *subject;
    ap_regex_t *regex;
    ap_rxplus_t *plus;
    char *out = NULL;

    /* long patterns only measure the library's compiler */
    if (size > 2000)
        return 0;
    if (!global) {
        apr_initialize();
        apr_pool_create(&global, NULL);
    }
    apr_pool_create(&pool, global);
    line = apr_pstrmemdup(pool, (const char *)data, size);
    pattern = ap_getword_nulls(pool, &line, '\n');
    subject = ap_getword_nulls(pool, &line, '\n');
    regex = ap_pregcomp(pool, pattern, 0);
    if (regex && ap_regexec(regex, subject, AP_MAX_REG_MATCH, groups, 0) == 0)
        substitute(pool, line, subject, groups);
    plus = ap_rxplus_compile(pool, pattern);
    if (plus)
        ap_rxplus_exec(pool, plus, subject, &out);
    apr_pool_destroy(pool);
    return 0;
}
