/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions on PCRE2, just-in-time compiled where the system allows it.
 *
 * A match needs an ovector and, for compiled code, a stack. Both belong to the calling thread and
 * are made once, so that a match allocates nothing; a thread's set is freed when the thread ends.
 */
#include <limits.h>
#include <pthread.h>
#include <string.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include "httpd.h"
#include "apr_strings.h"
#include "apr_tables.h"
#include "ap_regex.h"
#include "util_char.h"

#define REGEX_PAIRS 32              /* groups that the first ovector of a thread holds */
#define REGEX_STACK_MIN (32 * 1024) /* bytes */
#define REGEX_STACK_MAX (512 * 1024)

typedef struct regex_thread {
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    uint32_t pairs;
} regex_thread;

static _Thread_local regex_thread *regex_self;
static pthread_key_t regex_key;

/* Changed by RegexDefaultOptions only, while no other thread runs. */
static int regex_default_cflags = AP_REG_DEFAULT;

static void regex_thread_free(void *data)
{
    regex_thread *self = data;

    pcre2_match_data_free(self->data);
    pcre2_match_context_free(self->context);
    pcre2_jit_stack_free(self->stack);
    free(self);
    regex_self = NULL;
}

static void regex_key_make(void)
{
    pthread_key_create(&regex_key, regex_thread_free);
}

static regex_thread *regex_thread_make(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    regex_thread *self = calloc(1, sizeof(*self));

    if (!self)
        return NULL;
    pthread_once(&once, regex_key_make);
    self->pairs = REGEX_PAIRS;
    self->data = pcre2_match_data_create(REGEX_PAIRS, NULL);
    self->context = pcre2_match_context_create(NULL);
    self->stack = pcre2_jit_stack_create(REGEX_STACK_MIN, REGEX_STACK_MAX, NULL);
    if (!self->data || !self->context) {
        regex_thread_free(self);
        return NULL;
    }
    /* without one, compiled code runs on 32 KiB of the thread's own stack */
    if (self->stack)
        pcre2_jit_stack_assign(self->context, NULL, self->stack);
    pthread_setspecific(regex_key, self);
    regex_self = self;
    return self;
}

/* The calling thread's set with room for that many groups, NULL without memory. */
static regex_thread *regex_thread_get(uint32_t pairs)
{
    regex_thread *self = regex_self ? regex_self : regex_thread_make();

    if (self && pairs > self->pairs) {
        pcre2_match_data *data = pcre2_match_data_create(pairs, NULL);

        if (!data)
            return NULL;
        pcre2_match_data_free(self->data);
        self->data = data;
        self->pairs = pairs;
    }
    return self;
}

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

AP_DECLARE(int) ap_regcomp(ap_regex_t *preg, const char *regex, int cflags)
{
    uint32_t options = PCRE2_DUPNAMES, groups = 0;
    PCRE2_SIZE offset = 0;
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
    preg->re_pcre =
        pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, options, &error, &offset, NULL);
    preg->re_erroffset = offset;
    if (!preg->re_pcre)
        return error == PCRE2_ERROR_HEAP_FAILED ? AP_REG_ESPACE : AP_REG_INVARG;
    pcre2_pattern_info(preg->re_pcre, PCRE2_INFO_CAPTURECOUNT, &groups);
    preg->re_nsub = (int)groups;
    preg->re_erroffset = (apr_size_t)-1;
    /* where code may not be generated, the interpreter does the same work */
    pcre2_jit_compile(preg->re_pcre, PCRE2_JIT_COMPLETE);
    return 0;
}

AP_DECLARE(void) ap_regfree(ap_regex_t *preg)
{
    pcre2_code_free(preg->re_pcre);
    preg->re_pcre = NULL;
}

static int regex_error(int rc)
{
    switch (rc) {
    case PCRE2_ERROR_NOMATCH:
        return AP_REG_NOMATCH;
    case PCRE2_ERROR_NULL:
    case PCRE2_ERROR_BADOPTION:
    case PCRE2_ERROR_BADOFFSET:
        return AP_REG_INVARG;
    case PCRE2_ERROR_NOMEMORY:
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
    case PCRE2_ERROR_HEAPLIMIT:
    case PCRE2_ERROR_JIT_STACKLIMIT:
        return AP_REG_ESPACE;
    default:
        return AP_REG_ASSERT;
    }
}

static void regex_copy_groups(const PCRE2_SIZE *ovector, uint32_t set, apr_size_t nmatch,
                              ap_regmatch_t *pmatch)
{
    apr_size_t i, n = set < nmatch ? set : nmatch;

    for (i = 0; i < n; i++) {
        int found = ovector[2 * i] != PCRE2_UNSET;

        pmatch[i].rm_so = found ? (int)ovector[2 * i] : -1;
        pmatch[i].rm_eo = found ? (int)ovector[2 * i + 1] : -1;
    }
    for (; i < nmatch; i++)
        pmatch[i].rm_so = pmatch[i].rm_eo = -1;
}

AP_DECLARE(int)
ap_regexec_len(const ap_regex_t *preg, const char *buff, apr_size_t len, apr_size_t nmatch,
               ap_regmatch_t *pmatch, int eflags)
{
    apr_size_t groups = (apr_size_t)preg->re_nsub + 1;
    uint32_t options = 0;
    regex_thread *self;
    int rc;

    if (len > INT_MAX)
        return AP_REG_INVARG;
    self = regex_thread_get((uint32_t)(groups < nmatch ? groups : nmatch));
    if (!self)
        return AP_REG_ESPACE;
    if (eflags & AP_REG_NOTBOL)
        options |= PCRE2_NOTBOL;
    if (eflags & AP_REG_NOTEOL)
        options |= PCRE2_NOTEOL;
    rc = pcre2_match(preg->re_pcre, (PCRE2_SPTR)buff, len, 0, options, self->data, self->context);
    if (rc < 0)
        return regex_error(rc);
    /* 0: more groups than the ovector holds, which is as full as it can be */
    regex_copy_groups(pcre2_get_ovector_pointer(self->data), rc ? (uint32_t)rc : self->pairs,
                      nmatch, pmatch);
    return 0;
}

AP_DECLARE(int)
ap_regexec(const ap_regex_t *preg, const char *string, apr_size_t nmatch, ap_regmatch_t *pmatch,
           int eflags)
{
    return ap_regexec_len(preg, string, strlen(string), nmatch, pmatch, eflags);
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
    uint32_t count = 0, size = 0, i;
    PCRE2_SPTR entry = NULL;

    pcre2_pattern_info(preg->re_pcre, PCRE2_INFO_NAMECOUNT, &count);
    pcre2_pattern_info(preg->re_pcre, PCRE2_INFO_NAMEENTRYSIZE, &size);
    pcre2_pattern_info(preg->re_pcre, PCRE2_INFO_NAMETABLE, &entry);
    for (i = 0; i < count; i++, entry += size) {
        /* two bytes of group number, then the name */
        int group = entry[0] << 8 | entry[1];
        char *name = apr_pstrcat(names->pool, prefix ? prefix : "", (const char *)entry + 2, NULL);

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
