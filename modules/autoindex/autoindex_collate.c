/* SPDX-License-Identifier: Apache-2.0 */
/* The order of names for people, whatever the locale: a letter with a mark stands where it stands without, small and capital ones
 * are the same, and numbers count as numbers. Names are taken for UTF-8; other bytes come behind all letters. */
#include "autoindex_private.h"
#include "apr_lib.h"
#include <string.h>

/* Latin letters from U+00C0 on, without their marks. */
static const char collate_latin[] =
    "aaaaaaaceeeeiiiidnooooo*ouuuuytsaaaaaaaceeeeiiiidnooooo/ouuuuyty"
    "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkkllllllllll"
    "nnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

/* The code point at *s, which moves behind it; a byte that is no UTF-8 counts as 0x110000 and more. */
static unsigned collate_next(const char **s)
{
    const unsigned char *at = (const unsigned char *)*s;
    const int more = *at < 0xC2 ? 0 : *at < 0xE0 ? 1 : *at < 0xF0 ? 2 : *at < 0xF5 ? 3 : 0;
    unsigned code = more == 0 ? *at : *at & (0x3Fu >> more);

    for (int i = 1; i <= more; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            *s += 1;
            return 0x110000u + *at;
        }
        code = code << 6 | (at[i] & 0x3F);
    }
    *s += more + 1;
    return more == 0 && *at >= 0x80 ? 0x110000u + *at : code;
}

/* Its letter; 0 for marks that stand behind a letter. */
static unsigned collate_letter(unsigned code)
{
    if (code < 0x80)
        return (unsigned)apr_tolower((int)code);
    if (code >= 0xC0 && code < 0xC0 + sizeof(collate_latin) - 1)
        return (unsigned char)collate_latin[code - 0xC0];
    if (code >= 0x300 && code < 0x370)
        return 0;
    if ((code >= 0x391 && code <= 0x3A9) || (code >= 0x410 && code <= 0x42F))
        return code + 0x20; /* capital letters of Greek and Cyrillic */
    return code >= 0x400 && code <= 0x40F ? code + 0x50 : code;
}

static unsigned collate_key(const char **s)
{
    unsigned key = 0;

    while (**s && !(key = collate_letter(collate_next(s))))
        ;
    return key;
}

/* Numbers of any length: without zeros in front, the longer one is larger. */
static int collate_numbers(const char **a, const char **b)
{
    size_t a_len, b_len;
    int rv;

    *a += strspn(*a, "0");
    *b += strspn(*b, "0");
    a_len = strspn(*a, "0123456789");
    b_len = strspn(*b, "0123456789");
    rv = a_len != b_len ? (a_len < b_len ? -1 : 1) : memcmp(*a, *b, a_len);
    *a += a_len;
    *b += b_len;
    return rv;
}

int ai_collate(const char *a, const char *b)
{
    unsigned a_key, b_key;

    do {
        if (apr_isdigit(*a) && apr_isdigit(*b)) {
            const int rv = collate_numbers(&a, &b);

            if (rv)
                return rv;
        }
        a_key = collate_key(&a);
        b_key = collate_key(&b);
    } while (a_key && a_key == b_key);
    return a_key < b_key ? -1 : a_key > b_key;
}
