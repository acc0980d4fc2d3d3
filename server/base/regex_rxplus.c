/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perl-like pattern strings: text, /text/flags, m/text/flags and s/text/replacement/flags, with any
 * delimiter that is not a letter or a digit. A string without a closing delimiter is plain text.
 */
#include <string.h>
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "apr_strings.h"
#include "ap_regex.h"
#include "util_char.h"
#include "util_varbuf.h"

static apr_uint32_t regex_plus_flags(const char *flags)
{
    apr_uint32_t set = 0;

    for (; *flags; flags++) {
        switch (*flags) {
        case 'i':
            set |= AP_REG_ICASE;
            break;
        case 'm':
            set |= AP_REG_NEWLINE;
            break;
        case 'n':
            set |= AP_REG_NOMEM;
            break;
        case 'g':
            set |= AP_REG_MULTI;
            break;
        case 's':
            set |= AP_REG_DOTALL;
            break;
        case '^':
            set |= AP_REG_NOTBOL;
            break;
        case '$':
            set |= AP_REG_NOTEOL;
            break;
        default: /* Perl's x, e and the like have no meaning here */
            break;
        }
    }
    return set;
}

static apr_status_t regex_plus_cleanup(void *regex)
{
    ap_regfree(regex);
    return APR_SUCCESS;
}

AP_DECLARE(ap_rxplus_t *) ap_rxplus_compile(apr_pool_t *pool, const char *pattern)
{
    ap_rxplus_t *plus = apr_pcalloc(pool, sizeof(*plus));
    const char *start = pattern, *end = NULL, *last;
    int substitute = 0;
    char delimiter;

    if ((*pattern == 's' || *pattern == 'm') && pattern[1]) {
        substitute = *pattern == 's';
        start = pattern + 1;
    }
    delimiter = *start;
    if (delimiter && !util_is(delimiter, UTIL_C_ALNUM))
        end = strchr(start + 1, delimiter);
    if (!end) {
        plus->flags = AP_REG_NOMEM;
        if (ap_regcomp(&plus->rx, pattern, 0) != 0)
            return NULL;
        apr_pool_cleanup_register(pool, &plus->rx, regex_plus_cleanup, apr_pool_cleanup_null);
        return plus;
    }
    last = end;
    if (substitute) {
        last = strchr(end + 1, delimiter);
        if (!last)
            return NULL;
        plus->subs = apr_pstrmemdup(pool, end + 1, (apr_size_t)(last - end - 1));
    }
    plus->flags = regex_plus_flags(last + 1);
    start = apr_pstrmemdup(pool, start + 1, (apr_size_t)(end - start - 1));
    if (ap_regcomp(&plus->rx, start, (int)plus->flags) != 0)
        return NULL;
    apr_pool_cleanup_register(pool, &plus->rx, regex_plus_cleanup, apr_pool_cleanup_null);
    if (!(plus->flags & AP_REG_NOMEM)) {
        plus->nmatch = (apr_size_t)plus->rx.re_nsub + 1;
        plus->pmatch = apr_pcalloc(pool, plus->nmatch * sizeof(ap_regmatch_t));
    }
    return plus;
}

/* Append text up to the end of its first match, with the match replaced; returns the rest. */
static const char *regex_plus_replace(struct ap_varbuf *out, ap_rxplus_t *rx, const char *text,
                                      ap_regmatch_t *groups)
{
    BRG_ASSERT(groups[0].rm_so >= 0);
    ap_varbuf_strmemcat(out, text, groups[0].rm_so);
    ap_varbuf_regsub(out, rx->subs, text, rx->nmatch, groups, 0);
    return text + groups[0].rm_eo;
}

/* Each match is looked for behind the one before it; ^ matches there. */
static int regex_plus_all(ap_rxplus_t *rx, const char *text, struct ap_varbuf *out)
{
    int n = 0;

    while (ap_regexec(&rx->rx, text, rx->nmatch, rx->pmatch, (int)rx->flags) == 0) {
        int empty = rx->pmatch[0].rm_eo == rx->pmatch[0].rm_so;

        text = regex_plus_replace(out, rx, text, rx->pmatch);
        n++;
        /* an empty match would be found again at the same place */
        if (empty) {
            if (!*text)
                break;
            ap_varbuf_strmemcat(out, text++, 1);
        }
    }
    ap_varbuf_strmemcat(out, text, (int)strlen(text));
    return n;
}

AP_DECLARE(int)
ap_rxplus_exec(apr_pool_t *pool, ap_rxplus_t *rx, const char *pattern, char **newpattern)
{
    ap_regmatch_t whole, *groups = rx->pmatch ? rx->pmatch : &whole;
    struct ap_varbuf out;
    const char *rest;
    int n = 1;

    rx->match = NULL;
    if (rx->subs && (rx->flags & AP_REG_MULTI) && rx->nmatch) {
        ap_varbuf_init(pool, &out, strlen(pattern));
        n = regex_plus_all(rx, pattern, &out);
        if (n)
            *newpattern = out.buf;
        return n;
    }
    if (ap_regexec(&rx->rx, pattern, rx->nmatch ? rx->nmatch : 1, groups, (int)rx->flags) != 0)
        return 0;
    if (rx->subs) {
        ap_varbuf_init(pool, &out, strlen(pattern));
        rest = regex_plus_replace(&out, rx, pattern, groups);
        ap_varbuf_strmemcat(&out, rest, (int)strlen(rest));
        *newpattern = out.buf;
    }
    if (!(rx->flags & AP_REG_NOMEM))
        rx->match = pattern;
    return n;
}

AP_DECLARE(void) ap_rxplus_match(ap_rxplus_t *rx, int n, int *len, const char **match)
{
    if (!rx->match || n < 0 || (apr_size_t)n >= rx->nmatch || rx->pmatch[n].rm_so < 0) {
        *len = -1;
        *match = NULL;
        return;
    }
    *len = rx->pmatch[n].rm_eo - rx->pmatch[n].rm_so;
    *match = rx->match + rx->pmatch[n].rm_so;
}

AP_DECLARE(char *) ap_rxplus_pmatch(apr_pool_t *pool, ap_rxplus_t *rx, int n)
{
    int len;
    const char *match;

    ap_rxplus_match(rx, n, &len, &match);
    return match ? apr_pstrmemdup(pool, match, (apr_size_t)len) : NULL;
}
