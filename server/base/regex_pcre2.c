/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions on PCRE2, just-in-time compiled where the system allows it: compilation and
 * questions about the result. regex_match.c matches.
 */
#include "regex_private.h"

#include "httpd.h"
#include "apr_strings.h"
#include "apr_tables.h"
#include "brigade/assert.h"
#include "conf_position.h"

#include <stdlib.h>
#include <string.h>

/* Changed by RegexDefaultOptions only, while no other thread runs. */
static int regex_default_cflags = AP_REG_DEFAULT;

AP_DECLARE(const char *) ap_pcre_version_string(int which)
{
    static char loaded[64];

    if (which == AP_REG_PCRE_COMPILED)
        return APR_STRINGIFY(PCRE2_MAJOR) "." APR_STRINGIFY(PCRE2_MINOR) " " APR_STRINGIFY(
            PCRE2_DATE);
    if (which != AP_REG_PCRE_LOADED)
        return "Unknown";
    pcre2_config(PCRE2_CONFIG_VERSION, loaded);
    return loaded;
}

AP_DECLARE(int) ap_regcomp_get_default_cflags(void)
{
    return regex_default_cflags;
}

AP_DECLARE(void) ap_regcomp_set_default_cflags(int cflags)
{
    regex_default_cflags = cflags;
}

AP_DECLARE(int) ap_regcomp_default_cflag_by_name(const char *name)
{
    static const struct {
        const char *name;
        int flag;
    } flags[] = {
        {"ICASE", AP_REG_ICASE},
        {"EXTENDED", AP_REG_EXTENDED},
        {"DOTALL", AP_REG_DOTALL},
        {"DOLLAR_ENDONLY", AP_REG_DOLLAR_ENDONLY},
    };
    size_t i;

    for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (ap_cstr_casecmp(name, flags[i].name) == 0)
            return flags[i].flag;
    return 0;
}

/* @return NULL without memory */
static regex_code *regex_code_make(pcre2_code *pcre, const char *pattern, int cflags)
{
    conf_position position = conf_position_now();
    size_t size = strlen(pattern) + (position.file ? strlen(position.file) : 0) + 64;
    regex_code *code = malloc(sizeof(*code) + size + strlen(pattern));

    BRG_ASSERT(pcre != NULL);
    if (!code)
        return NULL;
    code->tag = REGEX_CODE_TAG;
    code->pcre = pcre;
    regex_literal_find(&code->literal, code->text + size, pattern, cflags);
    if (position.file)
        apr_snprintf(code->text, size, "\"%s\" (line %d of %s)", pattern, position.line,
                     position.file);
    else
        apr_snprintf(code->text, size, "\"%s\"", pattern);
    return code;
}

AP_DECLARE(int) ap_regcomp(ap_regex_t *preg, const char *regex, int cflags)
{
    uint32_t options = PCRE2_DUPNAMES | PCRE2_USE_OFFSET_LIMIT, groups = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code *pcre;
    int error = 0;

    if (!(cflags & AP_REG_NO_DEFAULT))
        cflags |= regex_default_cflags;
    if (cflags & AP_REG_ICASE)
        options |= PCRE2_CASELESS;
    if (cflags & AP_REG_NEWLINE)
        options |= PCRE2_MULTILINE;
    if (cflags & AP_REG_DOTALL)
        options |= PCRE2_DOTALL;
    if (cflags & AP_REG_DOLLAR_ENDONLY)
        options |= PCRE2_DOLLAR_ENDONLY;

    preg->re_nsub = 0;
    preg->re_pcre = NULL;
    pcre = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, options, &error, &offset, NULL);
    preg->re_erroffset = offset;
    if (!pcre)
        return error == PCRE2_ERROR_HEAP_FAILED ? AP_REG_ESPACE : AP_REG_INVARG;
    preg->re_pcre = regex_code_make(pcre, regex, cflags);
    if (!preg->re_pcre) {
        pcre2_code_free(pcre);
        return AP_REG_ESPACE;
    }
    pcre2_pattern_info(pcre, PCRE2_INFO_CAPTURECOUNT, &groups);
    preg->re_nsub = (int)groups;
    preg->re_erroffset = (apr_size_t)-1;
    /* where code may not be generated, the interpreter does the same work */
    pcre2_jit_compile(pcre, PCRE2_JIT_COMPLETE);
    return 0;
}

AP_DECLARE(void) ap_regfree(ap_regex_t *preg)
{
    regex_code *code = preg->re_pcre;

    if (!code)
        return;
    BRG_ASSERT_TAG(code, REGEX_CODE_TAG);
    pcre2_code_free(code->pcre);
    code->tag = 0;
    free(code);
    preg->re_pcre = NULL;
}

AP_DECLARE(apr_size_t)
ap_regerror(int errcode, const ap_regex_t *preg, char *errbuf, apr_size_t errbuf_size)
{
    static const char *const texts[] = {
        "no error", "internal error", "failed to get memory", "bad argument", "match failed",
    };
    const char *text = "unknown error code";
    char whole[64];

    if (errcode >= 0 && errcode < (int)(sizeof(texts) / sizeof(texts[0])))
        text = texts[errcode];
    if (preg && preg->re_erroffset != (apr_size_t)-1)
        apr_snprintf(whole, sizeof(whole), "%s at offset %" APR_SIZE_T_FMT, text,
                     preg->re_erroffset);
    else
        apr_cpystrn(whole, text, sizeof(whole));
    if (errbuf_size > 0)
        apr_cpystrn(errbuf, whole, errbuf_size);
    return strlen(whole) + 1;
}

AP_DECLARE(int)
ap_regname(const ap_regex_t *preg, apr_array_header_t *names, const char *prefix, int upper)
{
    const regex_code *code = preg->re_pcre;
    uint32_t count = 0, size = 0, i;
    PCRE2_SPTR entry = NULL;

    BRG_ASSERT_TAG(code, REGEX_CODE_TAG);
    pcre2_pattern_info(code->pcre, PCRE2_INFO_NAMECOUNT, &count);
    pcre2_pattern_info(code->pcre, PCRE2_INFO_NAMEENTRYSIZE, &size);
    pcre2_pattern_info(code->pcre, PCRE2_INFO_NAMETABLE, &entry);
    for (i = 0; i < count; i++, entry += size) {
        /* two bytes of group number, then the name */
        int group = entry[0] << 8 | entry[1];
        char *name = apr_pstrcat(names->pool, prefix ? prefix : "", (const char *)entry + 2, NULL);

        BRG_ASSERT(group > 0);
        if (upper)
            ap_str_toupper(name);
        while (names->nelts <= group)
            APR_ARRAY_PUSH(names, const char *) = NULL;
        APR_ARRAY_IDX(names, group, const char *) = name;
    }
    return (int)count;
}

static apr_status_t regex_cleanup(void *preg)
{
    ap_regfree(preg);
    return APR_SUCCESS;
}

AP_DECLARE(ap_regex_t *) ap_pregcomp(apr_pool_t *p, const char *pattern, int cflags)
{
    ap_regex_t *preg = apr_palloc(p, sizeof(*preg));

    if (ap_regcomp(preg, pattern, cflags) != 0)
        return NULL;
    apr_pool_cleanup_register(p, preg, regex_cleanup, apr_pool_cleanup_null);
    return preg;
}

AP_DECLARE(void) ap_pregfree(apr_pool_t *p, ap_regex_t *reg)
{
    apr_pool_cleanup_run(p, reg, regex_cleanup);
}
