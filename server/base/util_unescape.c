/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percent-decoding in place. One pass serves all public functions; they differ in the characters
 * that stay encoded and in those that make the path impossible.
 */
#include <string.h>
#include "httpd.h"
#include "brigade/assert.h"
#include "util_char.h"

#define UTIL_U_FORBID_SLASH 1u /* %2f: 404 */
#define UTIL_U_KEEP_SLASH 2u   /* %2f stays %2f */
#define UTIL_U_KEEP_UNRES 4u   /* unreserved characters stay escaped */
#define UTIL_U_PLUS 8u         /* + is a space */

/* Handle the %xx at s; writes one byte, or the three as they are, and sets *status if it is not
 * allowed. */
static char *util_decode_one(char *d, const char *s, unsigned flags, int *bad_path)
{
    char c = (char)(util_hex_value(s[1]) << 4 | util_hex_value(s[2]));

    if (c == '\0' || (c == '/' && (flags & UTIL_U_FORBID_SLASH))) {
        *bad_path = 1;
        *d++ = c;
    } else if ((c == '/' && (flags & UTIL_U_KEEP_SLASH)) ||
               ((flags & UTIL_U_KEEP_UNRES) && util_is(c, UTIL_C_UNRES))) {
        memmove(d, s, 3);
        d += 3;
    } else {
        *d++ = c;
    }
    return d;
}

static int util_unescape(char *url, unsigned flags)
{
    static const char stops[] = "%+";
    int bad_escape = 0, bad_path = 0;
    char *s = strpbrk(url, flags & UTIL_U_PLUS ? stops : "%"), *d = s;

    if (!s)
        return OK;
    while (*s) {
        if (*s == '+' && (flags & UTIL_U_PLUS)) {
            *d++ = ' ';
            s++;
        } else if (*s != '%') {
            *d++ = *s++;
        } else if (!util_is(s[1], UTIL_C_HEX) || !util_is(s[2], UTIL_C_HEX)) {
            bad_escape = 1;
            *d++ = *s++;
        } else {
            d = util_decode_one(d, s, flags, &bad_path);
            s += 3;
        }
    }
    BRG_ASSERT(d <= s); /* decoded text is never longer */
    *d = '\0';
    return bad_escape ? HTTP_BAD_REQUEST : bad_path ? HTTP_NOT_FOUND : OK;
}

AP_DECLARE(int) ap_unescape_all(char *url)
{
    return util_unescape(url, 0);
}

AP_DECLARE(int) ap_unescape_url(char *url)
{
    return util_unescape(url, UTIL_U_FORBID_SLASH);
}

AP_DECLARE(int) ap_unescape_url_keep2f(char *url, int decode_slashes)
{
    return util_unescape(url, decode_slashes ? 0 : UTIL_U_KEEP_SLASH);
}

AP_DECLARE(int) ap_unescape_url_ex(char *url, unsigned int flags)
{
    unsigned how = 0;

    if (flags & AP_UNESCAPE_URL_FORBID_SLASHES)
        how |= UTIL_U_FORBID_SLASH;
    if (flags & AP_UNESCAPE_URL_KEEP_SLASHES)
        how |= UTIL_U_KEEP_SLASH;
    if (flags & AP_UNESCAPE_URL_KEEP_UNRESERVED)
        how |= UTIL_U_KEEP_UNRES;
    return util_unescape(url, how);
}

AP_DECLARE(int) ap_unescape_urlencoded(char *query)
{
    return util_unescape(query, UTIL_U_PLUS);
}
