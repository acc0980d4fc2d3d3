/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparing, searching and changing the case of strings, independent of the locale.
 */
#include <string.h>
#include "httpd.h"
#include "apr_tables.h"
#include "util_char.h"

static inline int util_same(char a, char b, int fold)
{
    return fold ? util_lower(a) == util_lower(b) : a == b;
}

/*
 * Only the last star has to be tried again, since an earlier one can always give way to it: linear
 * memory and at most length times pattern steps, whatever the pattern.
 */
static int util_wildcard(const char *s, const char *pattern, int fold)
{
    const char *star = NULL, *retry = NULL;

    while (*s) {
        if (*pattern == '*') {
            star = ++pattern;
            retry = s;
        } else if (*pattern && (*pattern == '?' || util_same(*s, *pattern, fold))) {
            s++;
            pattern++;
        } else if (star) {
            pattern = star;
            s = ++retry;
        } else {
            return 1;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern != '\0';
}

AP_DECLARE(int) ap_strcmp_match(const char *str, const char *expected)
{
    return util_wildcard(str, expected, 0);
}

AP_DECLARE(int) ap_strcasecmp_match(const char *str, const char *expected)
{
    return util_wildcard(str, expected, 1);
}

AP_DECLARE(int) ap_is_matchexp(const char *str)
{
    return strpbrk(str, "*?") != NULL;
}

AP_DECLARE(int) ap_cstr_casecmp(const char *s1, const char *s2)
{
    for (;; s1++, s2++) {
        int a = (unsigned char)util_lower(*s1), b = (unsigned char)util_lower(*s2);

        if (a != b || a == 0)
            return a - b;
    }
}

AP_DECLARE(int) ap_cstr_casecmpn(const char *s1, const char *s2, apr_size_t n)
{
    for (; n > 0; n--, s1++, s2++) {
        int a = (unsigned char)util_lower(*s1), b = (unsigned char)util_lower(*s2);

        if (a != b || a == 0)
            return a - b;
    }
    return 0;
}

AP_DECLARE(char *) ap_strcasestr(const char *s1, const char *s2)
{
    size_t len = strlen(s2);

    if (len == 0)
        return (char *)s1;
    for (; *s1; s1++)
        if (util_same(*s1, *s2, 1) && ap_cstr_casecmpn(s1, s2, len) == 0)
            return (char *)s1;
    return NULL;
}

AP_DECLARE(const char *) ap_stripprefix(const char *bigstring, const char *prefix)
{
    size_t len = strlen(prefix);

    return strncmp(bigstring, prefix, len) == 0 ? bigstring + len : bigstring;
}

AP_DECLARE(void) ap_str_tolower(char *s)
{
    for (; *s; s++)
        *s = util_lower(*s);
}

AP_DECLARE(void) ap_str_toupper(char *s)
{
    for (; *s; s++)
        *s = util_upper(*s);
}

AP_DECLARE(void) ap_content_type_tolower(char *s)
{
    for (; *s && *s != ';'; s++)
        *s = util_lower(*s);
}

AP_DECLARE(int) ap_ind(const char *str, char c)
{
    const char *at = c ? strchr(str, c) : NULL;

    return at ? (int)(at - str) : -1;
}

AP_DECLARE(int) ap_rind(const char *str, char c)
{
    const char *at = c ? strrchr(str, c) : NULL;

    return at ? (int)(at - str) : -1;
}

/*
 * The comparisons below must take the same time wherever the difference is, so they fold all
 * differences into one value; volatile keeps the compiler from leaving early.
 */
AP_DECLARE(int) ap_memeq_timingsafe(const void *buf1, const void *buf2, apr_size_t n)
{
    const unsigned char *a = buf1, *b = buf2;
    volatile unsigned char diff = 0;
    apr_size_t i;

    for (i = 0; i < n; i++)
        diff |= (unsigned char)(a[i] ^ b[i]);
    return diff == 0;
}

AP_DECLARE(int) ap_strneq_timingsafe(const char *sec1, const char *str2, apr_size_t n)
{
    volatile unsigned char diff = 0;
    apr_size_t at = 0, i;

    /* past its end the secret is read at its NUL again and again */
    for (i = 0; i < n; i++) {
        diff |= (unsigned char)(sec1[at] ^ str2[i]);
        at += sec1[at] != '\0';
        if (str2[i] == '\0')
            break;
    }
    return diff == 0;
}

AP_DECLARE(int) ap_streq_timingsafe(const char *sec1, const char *str2)
{
    return ap_strneq_timingsafe(sec1, str2, APR_SIZE_MAX);
}

AP_DECLARE(int) ap_array_str_index(const apr_array_header_t *array, const char *s, int start)
{
    int i;

    if (start < 0)
        return -1;
    for (i = start; i < array->nelts; i++)
        if (strcmp(APR_ARRAY_IDX(array, i, const char *), s) == 0)
            return i;
    return -1;
}

AP_DECLARE(int) ap_array_str_contains(const apr_array_header_t *array, const char *s)
{
    return ap_array_str_index(array, s, 0) >= 0;
}

/* Functions of these names exist beside the macros, for modules that take their address. */
#undef ap_strchr
#undef ap_strchr_c
#undef ap_strrchr
#undef ap_strrchr_c
#undef ap_strstr
#undef ap_strstr_c

AP_DECLARE(char *) ap_strchr(char *s, int c)
{
    return strchr(s, c);
}

AP_DECLARE(const char *) ap_strchr_c(const char *s, int c)
{
    return strchr(s, c);
}

AP_DECLARE(char *) ap_strrchr(char *s, int c)
{
    return strrchr(s, c);
}

AP_DECLARE(const char *) ap_strrchr_c(const char *s, int c)
{
    return strrchr(s, c);
}

AP_DECLARE(char *) ap_strstr(char *s, const char *c)
{
    return strstr(s, c);
}

AP_DECLARE(const char *) ap_strstr_c(const char *s, const char *c)
{
    return strstr(s, c);
}
