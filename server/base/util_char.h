/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_UTIL_CHAR_H
#define BRIGADE_BASE_UTIL_CHAR_H

/**
 * @file util_char.h
 * Character classes of the escaping, unescaping and header scanning functions: one table, computed
 * at compile time, one bit per class. Independent of the locale.
 */
#include <stddef.h>
#include <stdint.h>

#define UTIL_C_SHELL 0x0001u   /**< ap_escape_shell_cmd puts a backslash before it */
#define UTIL_C_SEGMENT 0x0002u /**< ap_escape_path_segment writes %xx */
#define UTIL_C_PATH 0x0004u    /**< ap_os_escape_path writes %xx */
#define UTIL_C_FORM 0x0008u    /**< ap_escape_urlencoded writes %xx, or + for a space */
#define UTIL_C_LOG 0x0010u     /**< needs escaping in a log line */
#define UTIL_C_HTML 0x0020u    /**< < > & " */
#define UTIL_C_TOKEN 0x0040u   /**< tchar, RFC 9110 section 5.6.2 */
#define UTIL_C_VISIBLE 0x0080u /**< VCHAR or obs-text */
#define UTIL_C_FIELD 0x0100u   /**< VCHAR, obs-text, SP or HTAB */
#define UTIL_C_UNRES 0x0200u   /**< unreserved, RFC 3986 section 2.3 */
#define UTIL_C_SPACE 0x0400u   /**< isspace() in the C locale */
#define UTIL_C_HEX 0x0800u     /**< hexadecimal digit */
#define UTIL_C_ALNUM 0x1000u
#define UTIL_C_UPPER 0x2000u
#define UTIL_C_LOWER 0x4000u
#define UTIL_C_DIGIT 0x8000u

extern const uint16_t util_char_table[256];

/** Hexadecimal digits as all %xx and hash texts use them. */
extern const char util_hex_digits[17];

/** Is @a c in one of the classes @a set (UTIL_C_*)? */
static inline int util_is(char c, unsigned set)
{
    return (util_char_table[(unsigned char)c] & set) != 0;
}

static inline char util_lower(char c)
{
    return (char)(c | (util_is(c, UTIL_C_UPPER) ? 0x20 : 0));
}

static inline char util_upper(char c)
{
    return (char)(c & (util_is(c, UTIL_C_LOWER) ? ~0x20 : ~0));
}

/** Value of a hexadecimal digit; the caller has tested for UTIL_C_HEX. */
static inline int util_hex_value(char c)
{
    return (c & 0x0f) + (c > '9' ? 9 : 0);
}

/** Write byte @a c as two hexadecimal digits to @a d; returns the place after them. */
static inline char *util_put_hex(char *d, unsigned char c)
{
    d[0] = util_hex_digits[c >> 4];
    d[1] = util_hex_digits[c & 15];
    return d + 2;
}

/** As ap_escape_errorlog_item(), for @a len bytes of @a source. @param room  of @a dest, 1 at least, NUL included @return bytes written
 * before that */
size_t util_escape_errorlog(char *dest, size_t room, const char *source, size_t len);

/** First byte of @a s that is outside of (or, NUL apart, inside) the classes. */
static inline const char *util_skip(const char *s, unsigned set)
{
    while (util_is(*s, set))
        s++;
    return s;
}

static inline const char *util_skip_to(const char *s, unsigned set)
{
    while (*s && !util_is(*s, set))
        s++;
    return s;
}

#endif
