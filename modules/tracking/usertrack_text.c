/* SPDX-License-Identifier: Apache-2.0 */
/* Cookies and periods of mod_usertrack: functions of texts. */
#include "usertrack_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

/* The value in a field of len bytes. @param n  [out] its bytes @return NULL: it is not there, or empty */
static const char *track_value(const char *field, size_t len, const char *name, size_t *n)
{
    const char *end = field + len, *p = field;
    const size_t name_len = strlen(name);

    while (p < end) {
        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
        const char *stop = p;
        while (stop < end && *stop != ';' && *stop != ',')
            stop++;
        if ((size_t)(stop - p) > name_len + 1 && !memcmp(p, name, name_len) && p[name_len] == '=') {
            *n = (size_t)(stop - p) - name_len - 1;
            return p + name_len + 1;
        }
        p = stop + 1;
    }
    return NULL;
}

int track_has(const char *field, apr_size_t len, const char *name)
{
    size_t n;

    return track_value(field, len, name, &n) != NULL;
}

const char *track_find(apr_pool_t *p, const char *field, const char *name)
{
    const char *value;
    size_t n;

    value = field ? track_value(field, strlen(field), name, &n) : NULL;
    return value ? apr_pstrmemdup(p, value, n) : NULL;
}

static int track_unit(const char *word)
{
    static const struct {
        const char *name;
        size_t least; /* letters that tell it apart */
        int seconds;
    } units[] = {
        {"years", 1, 60 * 60 * 24 * 365},
        {"months", 2, 60 * 60 * 24 * 30},
        {"weeks", 1, 60 * 60 * 24 * 7},
        {"days", 1, 60 * 60 * 24},
        {"hours", 1, 60 * 60},
        {"minutes", 2, 60},
        {"seconds", 1, 1},
    };

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!ap_cstr_casecmpn(word, units[i].name, units[i].least))
            return units[i].seconds;
    return 0;
}

const char *track_period(apr_pool_t *p, const char *arg, apr_int64_t *seconds)
{
    const char *word = ap_getword_conf(p, &arg);

    if (!ap_cstr_casecmpn(word, "plus", 1))
        word = ap_getword_conf(p, &arg);
    for (*seconds = 0; *word; word = ap_getword_conf(p, &arg)) {
        long number;
        int unit;

        if (!apr_isdigit(*word))
            return "bad expires code, numeric value expected.";
        number = strtol(word, NULL, 10);
        word = ap_getword_conf(p, &arg);
        if (!*word)
            return "bad expires code, missing <type>";
        if (!(unit = track_unit(word)))
            return "bad expires code, unrecognized type";
        *seconds += (number < APR_INT32_MAX ? number : APR_INT32_MAX) * (apr_int64_t)unit;
        if (*seconds > TRACK_LONGEST)
            *seconds = TRACK_LONGEST;
    }
    return NULL;
}
