/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escaping for URLs, HTML, logs and shells. Every function that allocates first measures, so that
 * each result is one allocation of the right size and a string with nothing to escape is one copy.
 */
#include <string.h>
#include "httpd.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include "util_char.h"

/* Number of bytes of s in the classes; *len gets the length of s. */
static size_t util_count(const char *s, unsigned set, size_t *len)
{
    const char *at = s;
    size_t n = 0;

    for (; *at; at++)
        n += (size_t)util_is(*at, set);
    *len = (size_t)(at - s);
    return n;
}

static char *util_put_percent(char *d, const char *s, unsigned set)
{
    for (; *s; s++) {
        if (util_is(*s, set)) {
            *d++ = '%';
            d = util_put_hex(d, (unsigned char)*s);
        } else {
            *d++ = *s;
        }
    }
    *d = '\0';
    return d;
}

static char *util_percent(apr_pool_t *p, const char *s, unsigned set)
{
    size_t len, extra = util_count(s, set, &len);
    char *out, *end;

    if (extra == 0)
        return apr_pstrmemdup(p, s, len);
    out = apr_palloc(p, len + 2 * extra + 1);
    end = util_put_percent(out, s, set);
    BRG_ASSERT(end == out + len + 2 * extra);
    return out;
}

AP_DECLARE(char *) ap_escape_path_segment_buffer(char *c, const char *s)
{
    util_put_percent(c, s, UTIL_C_SEGMENT);
    return c;
}

AP_DECLARE(char *) ap_escape_path_segment(apr_pool_t *p, const char *s)
{
    return util_percent(p, s, UTIL_C_SEGMENT);
}

AP_DECLARE(char *) ap_os_escape_path(apr_pool_t *p, const char *path, int partial)
{
    size_t len, extra = util_count(path, UTIL_C_PATH, &len);
    char *out = apr_palloc(p, len + 2 * extra + 3), *d = out;

    /* "a:b" would read as a scheme */
    if (!partial) {
        const char *colon = strchr(path, ':');
        const char *slash = strchr(path, '/');

        if (colon && (!slash || colon < slash)) {
            *d++ = '.';
            *d++ = '/';
        }
    }
    d = util_put_percent(d, path, UTIL_C_PATH);
    BRG_ASSERT(d <= out + len + 2 * extra + 2);
    return out;
}

AP_DECLARE(char *) ap_escape_urlencoded_buffer(char *c, const char *s)
{
    char *d = c;

    for (; *s; s++) {
        if (*s == ' ') {
            *d++ = '+';
        } else if (util_is(*s, UTIL_C_FORM)) {
            *d++ = '%';
            d = util_put_hex(d, (unsigned char)*s);
        } else {
            *d++ = *s;
        }
    }
    *d = '\0';
    return c;
}

AP_DECLARE(char *) ap_escape_urlencoded(apr_pool_t *p, const char *s)
{
    size_t len, extra = util_count(s, UTIL_C_FORM, &len);

    return ap_escape_urlencoded_buffer(apr_palloc(p, len + 2 * extra + 1), s);
}

/* "&#255;" is the longest that any byte becomes. */
#define UTIL_HTML_MAX 6

static char *util_put_html(char *d, unsigned char c)
{
    const char *name = c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : "&quot;";
    size_t len;

    BRG_ASSERT_DEBUG(c >= 0x80 || util_is((char)c, UTIL_C_HTML));
    if (c >= 0x80) {
        d[0] = '&';
        d[1] = '#';
        d[2] = (char)('0' + c / 100);
        d[3] = (char)('0' + c / 10 % 10);
        d[4] = (char)('0' + c % 10);
        d[5] = ';';
        return d + UTIL_HTML_MAX;
    }
    len = strlen(name);
    memcpy(d, name, len);
    return d + len;
}

AP_DECLARE(char *) ap_escape_html2(apr_pool_t *p, const char *s, int toasc)
{
    size_t len, n = util_count(s, UTIL_C_HTML, &len);
    const char *at;
    char *out, *d;

    if (toasc)
        for (at = s; *at; at++)
            n += (unsigned char)*at >> 7;
    if (n == 0)
        return apr_pstrmemdup(p, s, len);
    d = out = apr_palloc(p, len + (UTIL_HTML_MAX - 1) * n + 1);
    for (; *s; s++)
        if (util_is(*s, UTIL_C_HTML) || (toasc && (unsigned char)*s >= 0x80))
            d = util_put_html(d, (unsigned char)*s);
        else
            *d++ = *s;
    BRG_ASSERT(d <= out + len + (UTIL_HTML_MAX - 1) * n);
    *d = '\0';
    return out;
}

/* The letter that follows the backslash, or 0 where \xHH is to be written. */
static char util_log_letter(char c)
{
    switch (c) {
    case '\b':
        return 'b';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    case '\v':
        return 'v';
    case '\\':
    case '"':
        return c;
    default:
        return '\0';
    }
}

/* At most 4 bytes. */
static char *util_put_log(char *d, char c)
{
    char letter = util_log_letter(c);

    BRG_ASSERT_DEBUG(util_is(c, UTIL_C_LOG));
    *d++ = '\\';
    if (letter) {
        *d++ = letter;
        return d;
    }
    *d++ = 'x';
    return util_put_hex(d, (unsigned char)c);
}

AP_DECLARE(char *) ap_escape_logitem(apr_pool_t *p, const char *str)
{
    size_t len, n;
    char *out, *d;

    if (!str)
        return NULL;
    n = util_count(str, UTIL_C_LOG, &len);
    if (n == 0)
        return apr_pstrmemdup(p, str, len);
    d = out = apr_palloc(p, len + 3 * n + 1);
    for (; *str; str++)
        if (util_is(*str, UTIL_C_LOG))
            d = util_put_log(d, *str);
        else
            *d++ = *str;
    BRG_ASSERT(d <= out + len + 3 * n);
    *d = '\0';
    return out;
}

#define ESCAPE_BYTES (~UINT64_C(0) / 255) /* 1 in each byte */

/* The high bit of each byte of x that is @a c. */
static uint64_t errorlog_bytes_that_are(uint64_t x, unsigned char c)
{
    x ^= ESCAPE_BYTES * c;
    return (x - ESCAPE_BYTES) & ~x;
}

/* Bytes from the first one on that need no escape. Quotes are harmless in the error log, which does not quote its items. */
static size_t errorlog_plain(const char *source, size_t len)
{
    size_t n = 0;
    uint64_t x;

    for (; n + sizeof x <= len; n += sizeof x) {
        memcpy(&x, source + n, sizeof x);
        if ((x | ((x - ESCAPE_BYTES * ' ') & ~x) | errorlog_bytes_that_are(x, '\\') |
             errorlog_bytes_that_are(x, 0x7f)) &
            (ESCAPE_BYTES << 7))
            break;
    }
    while (n < len && (source[n] == '"' || !util_is(source[n], UTIL_C_LOG)))
        n++;
    return n;
}

size_t util_escape_errorlog(char *dest, size_t room, const char *source, size_t len)
{
    const char *source_end = source + len;
    char *d = dest, *end = dest + room - 1;

    BRG_ASSERT(room > 0);
    while (d < end) {
        size_t n = errorlog_plain(source, (size_t)(source_end - source));
        char item[4];

        if (n > (size_t)(end - d))
            n = (size_t)(end - d);
        d = mempcpy(d, source, n);
        source += n;
        if (source == source_end || d == end)
            break;
        n = (size_t)(util_put_log(item, *source++) - item);
        BRG_ASSERT(n <= sizeof item);
        if (n > (size_t)(end - d))
            break;
        d = mempcpy(d, item, n);
    }
    *d = '\0';
    return (size_t)(d - dest);
}

AP_DECLARE(apr_size_t)
ap_escape_errorlog_item(char *dest, const char *source, apr_size_t buflen)
{
    return buflen ? util_escape_errorlog(dest, buflen, source, strlen(source)) : 0;
}

AP_DECLARE(char *) ap_escape_shell_cmd(apr_pool_t *p, const char *s)
{
    size_t len, n = util_count(s, UTIL_C_SHELL, &len);
    char *out = apr_palloc(p, len + n + 1), *d = out;

    for (; *s; s++) {
        if (util_is(*s, UTIL_C_SHELL))
            *d++ = '\\';
        *d++ = *s;
    }
    BRG_ASSERT(d == out + len + n);
    *d = '\0';
    return out;
}

AP_DECLARE(char *) ap_escape_quotes(apr_pool_t *p, const char *instring)
{
    size_t len = strlen(instring), quotes = 0;
    const char *at;
    char *out, *d;

    for (at = instring; *at; at++)
        quotes += *at == '"';
    d = out = apr_palloc(p, len + quotes + 1);
    for (at = instring; *at; at++) {
        if (*at == '\\' && at[1])
            *d++ = *at++; /* a pair with a backslash is escaped already */
        else if (*at == '"')
            *d++ = '\\';
        *d++ = *at;
    }
    BRG_ASSERT(d <= out + len + quotes);
    *d = '\0';
    return out;
}
