/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The character class table. Each entry is a constant expression over the character code, so the
 * compiler computes the table and no start-up step or generated file is needed.
 */
#include "util_char.h"

#define IN(c, lo, hi) ((c) >= (lo) && (c) <= (hi))
#define UPPER(c) IN(c, 'A', 'Z')
#define LOWER(c) IN(c, 'a', 'z')
#define DIGIT(c) IN(c, '0', '9')
#define ALNUM(c) (UPPER(c) || LOWER(c) || DIGIT(c))
#define HEX(c) (DIGIT(c) || IN(c, 'A', 'F') || IN(c, 'a', 'f'))
#define VISIBLE(c) (IN(c, 0x21, 0x7e) || (c) >= 0x80)

#define SHELL(c)                                                                               \
    ((c) == '\n' || (c) == '"' || (c) == '$' || IN(c, '&', '*') || (c) == ';' || (c) == '<' || \
     (c) == '>' || (c) == '?' || IN(c, '[', '^') || (c) == '`' || IN(c, '{', '~'))
#define SEGMENT_SAFE(c)                                                                     \
    (ALNUM(c) || (c) == '!' || (c) == '$' || IN(c, '&', '.') || (c) == ':' || (c) == '=' || \
     (c) == '@' || (c) == '_' || (c) == '~')
#define PATH_SAFE(c) (SEGMENT_SAFE(c) || (c) == '/' || (c) == ';')
#define FORM_SAFE(c) (ALNUM(c) || (c) == '*' || (c) == '-' || (c) == '.' || (c) == '_')
#define LOG_SAFE(c) (IN(c, 0x20, 0x7e) && (c) != '"' && (c) != '\\')
#define HTML(c) ((c) == '<' || (c) == '>' || (c) == '&' || (c) == '"')
#define TOKEN(c)                                                                             \
    (ALNUM(c) || (c) == '!' || IN(c, '#', '\'') || (c) == '*' || (c) == '+' || (c) == '-' || \
     (c) == '.' || IN(c, '^', '`') || (c) == '|' || (c) == '~')
#define UNRES(c) (ALNUM(c) || (c) == '-' || (c) == '.' || (c) == '_' || (c) == '~')

#define BIT(test, bit) ((test) ? (bit) : 0u)
#define ENTRY(c)                                                                                 \
    (uint16_t)(BIT(SHELL(c), UTIL_C_SHELL) | BIT((c) && !SEGMENT_SAFE(c), UTIL_C_SEGMENT) |      \
               BIT((c) && !PATH_SAFE(c), UTIL_C_PATH) | BIT((c) && !FORM_SAFE(c), UTIL_C_FORM) | \
               BIT((c) && !LOG_SAFE(c), UTIL_C_LOG) | BIT(HTML(c), UTIL_C_HTML) |                \
               BIT(TOKEN(c), UTIL_C_TOKEN) | BIT(VISIBLE(c), UTIL_C_VISIBLE) |                   \
               BIT(VISIBLE(c) || (c) == ' ' || (c) == '\t', UTIL_C_FIELD) |                      \
               BIT(UNRES(c), UTIL_C_UNRES) | BIT((c) == ' ' || IN(c, 9, 13), UTIL_C_SPACE) |     \
               BIT(HEX(c), UTIL_C_HEX) | BIT(ALNUM(c), UTIL_C_ALNUM) |                           \
               BIT(UPPER(c), UTIL_C_UPPER) | BIT(LOWER(c), UTIL_C_LOWER) |                       \
               BIT(DIGIT(c), UTIL_C_DIGIT))

#define ROW4(c) ENTRY(c), ENTRY((c) + 1), ENTRY((c) + 2), ENTRY((c) + 3)
#define ROW16(c) ROW4(c), ROW4((c) + 4), ROW4((c) + 8), ROW4((c) + 12)
#define ROW64(c) ROW16(c), ROW16((c) + 16), ROW16((c) + 32), ROW16((c) + 48)

const uint16_t util_char_table[256] = {ROW64(0), ROW64(64), ROW64(128), ROW64(192)};

const char util_hex_digits[17] = "0123456789abcdef";
