/* SPDX-License-Identifier: Apache-2.0 */
/* Text for JSON. */
#include "brigade/json.h"
#include "brigade/assert.h"
#include <string.h>

BRG_DECLARE(unsigned) brg_utf8_character(const unsigned char *s, apr_size_t len)
{
    const unsigned char c = len ? *s : 0xff;
    const unsigned n = c < 0x80                 ? 1
                       : c >= 0xc2 && c <= 0xdf ? 2
                       : (c & 0xf0) == 0xe0     ? 3
                       : c >= 0xf0 && c <= 0xf4 ? 4
                                                : 0;

    if (!n || n > len)
        return 0;
    for (unsigned i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f) || (c == 0xf0 && s[1] < 0x90) ||
        (c == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

/* One character at @a s of @a n bytes (0: none), as it stands in a string. @return its length */
static unsigned json_character(char text[BRG_JSON_GROWTH], const unsigned char *s, unsigned n)
{
    static const char hex[] = "0123456789abcdef";

    BRG_ASSERT(n <= 4);
    if (!n) {
        memcpy(text, "\\ufffd", 6);
        return 6;
    }
    if (*s < 0x20 || *s == 0x7f) {
        memcpy(text, "\\u00", 4);
        text[4] = hex[*s >> 4];
        text[5] = hex[*s & 15];
        return 6;
    }
    if (*s == '"' || *s == '\\') {
        text[0] = '\\';
        text[1] = (char)*s;
        return 2;
    }
    memcpy(text, s, n);
    return n;
}

BRG_DECLARE(apr_size_t)
brg_json_escape(char *to, apr_size_t room, const char *s, apr_size_t len)
{
    const unsigned char *at = (const unsigned char *)s, *end = at + len;
    char *out = to, text[BRG_JSON_GROWTH];

    while (at < end) {
        const unsigned n = brg_utf8_character(at, (apr_size_t)(end - at));
        const unsigned wide = json_character(text, at, n);

        if (wide > room - (apr_size_t)(out - to))
            break;
        memcpy(out, text, wide);
        out += wide;
        at += n ? n : 1;
    }
    BRG_ASSERT((apr_size_t)(out - to) <= room);
    return (apr_size_t)(out - to);
}
