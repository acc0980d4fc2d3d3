/* SPDX-License-Identifier: Apache-2.0 */
/* Text for HTML. */
#include "brigade/pages.h"
#include "brigade/assert.h"
#include "brigade/json.h"
#include <string.h>

#define HTML_GROWTH 6 /* the longest form of a byte: &quot; */

/* A character of @a n bytes (0: none) as it stands in a page. @return its length */
static unsigned html_character(char text[HTML_GROWTH], const unsigned char *s, unsigned n)
{
    const char *as = !n || *s < 0x20 || *s == 0x7f ? "\xef\xbf\xbd"
                     : *s == '<'                   ? "&lt;"
                     : *s == '>'                   ? "&gt;"
                     : *s == '&'                   ? "&amp;"
                     : *s == '"'                   ? "&quot;"
                     : *s == '\''                  ? "&#39;"
                                                   : NULL;

    BRG_ASSERT(n <= 4);
    if (as)
        n = (unsigned)strlen(as);
    memcpy(text, as ? as : (const char *)s, n);
    return n;
}

BRG_DECLARE(const char *) brg_html_text(apr_pool_t *p, const char *s)
{
    const unsigned char *at = (const unsigned char *)s, *end = at + strlen(s);
    char *to = apr_palloc(p, (apr_size_t)(end - at) * HTML_GROWTH + 1), *out = to;

    while (at < end) {
        const unsigned n = brg_utf8_character(at, (apr_size_t)(end - at));

        out += html_character(out, at, n);
        at += n ? n : 1;
    }
    *out = '\0';
    return to;
}
