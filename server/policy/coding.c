/* SPDX-License-Identifier: Apache-2.0 */
/* Content codings that filters make where a client asks for them. */
#include "coding.h"
#include "brigade/assert.h"
#include "httpd.h"
#include <string.h>

/* The filters of mod_deflate and mod_brotli, or those that AddOutputFilterByType puts before them. */
int coding_of_filter(const ap_filter_rec_t *frec)
{
    const char *name = frec->name;

    BRG_ASSERT(name != NULL);
    if (!strncasecmp(name, "bytype:", 7))
        name += 7;
    if (!ap_cstr_casecmp(name, "deflate"))
        return CODING_GZIP;
    return !ap_cstr_casecmp(name, "brotli_compress") ? CODING_BROTLI : 0;
}

/* ---- content codings ---- */

static int coding_bit(const char *word, size_t len)
{
    if (len == 4 && !strncasecmp(word, "gzip", 4))
        return CODING_GZIP;
    return len == 2 && !strncasecmp(word, "br", 2) ? CODING_BROTLI : 0;
}

/* Of a list of bare words. What a weight does is not the same in all filters. */
int coding_accepted(const void *data, const char *value, apr_size_t len)
{
    int codings = 0;
    size_t i = 0;

    BRG_ASSERT(((intptr_t)data & ~(CODING_GZIP | CODING_BROTLI)) == 0);
    while (value && i < len) {
        size_t start;

        while (i < len && (value[i] == ' ' || value[i] == '\t' || value[i] == ','))
            i++;
        start = i;
        while (i < len && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-", value[i]))
            i++;
        codings |= coding_bit(value + start, i - start);
        while (i < len && (value[i] == ' ' || value[i] == '\t'))
            i++;
        if (i < len && value[i] != ',')
            return -1;
    }
    return codings & (int)(intptr_t)data;
}
