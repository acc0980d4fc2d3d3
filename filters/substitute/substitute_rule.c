/* SPDX-License-Identifier: Apache-2.0 */
/* The argument of Substitute: s/from/to/flags with any byte in place of the slash. */
#include "substitute_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <string.h>

typedef struct subst_flags {
    int string, no_case, flatten;
} subst_flags;

static const char *subst_parse_flags(const char *text, subst_flags *flags)
{
    for (; *text; text++) {
        switch (apr_tolower(*text)) {
        case 'i':
            flags->no_case = 1;
            break;
        case 'n':
            flags->string = 1;
            break;
        case 'f':
            flags->flatten = 1;
            break;
        case 'q':
            flags->flatten = 0;
            break;
        default:
            return "Bad Substitute flag, only s///[infq] are supported";
        }
    }
    return NULL;
}

/* Lines have their ends: a dot does not match them, whatever RegexDefaultOptions says. */
static int subst_regex_flags(const subst_flags *flags)
{
    return AP_REG_NO_DEFAULT | (ap_regcomp_get_default_cflags() & AP_REG_DOLLAR_ENDONLY) |
           (flags->no_case ? AP_REG_ICASE : 0);
}

const char *subst_parse(apr_pool_t *p, const char *line, subst_rule *rule)
{
    static const char incomplete[] = "Bad Substitute format, must be a complete s/// pattern";
    subst_flags flags = {.flatten = 1};
    char *from, *to, *end;
    const char *error;

    if (apr_tolower(*line) != 's')
        return "Bad Substitute format, must be an s/// pattern";
    if (!line[1] || !line[2] || line[2] == line[1])
        return incomplete;
    from = apr_pstrdup(p, line + 2);
    to = strchr(from, line[1]);
    if (!to)
        return incomplete;
    *to++ = '\0';
    end = strchr(to, line[1]);
    if (end) {
        *end++ = '\0';
        if ((error = subst_parse_flags(end, &flags)))
            return error;
    }
    *rule = (subst_rule){.from = from, .to = to, .to_len = strlen(to), .flatten = flags.flatten};
    if (flags.string)
        rule->string = apr_strmatch_precompile(p, from, !flags.no_case);
    else
        rule->regex = ap_pregcomp(p, from, subst_regex_flags(&flags));
    return rule->string || rule->regex ? NULL : "Substitute could not compile regex";
}
