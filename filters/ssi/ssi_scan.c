/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start-tag search: preparing a pattern, the plain variants, and tags that cross spans.
 *
 * The awkward part is a tag that is cut by the end of a span, when the tag overlaps itself: after
 * "aab" was looked for and "aaa" seen, two bytes are still a beginning, not none and not three. The
 * border table (Knuth, Morris, Pratt) answers that exactly, but is slow; so it runs only for the
 * bytes around an edge, at most one tag's length on each side, and `find` does the rest.
 */
#include "ssi_scan.h"

#include <string.h>

#include "apr_strings.h"

#ifdef SSI_SCAN_COUNT
unsigned long long ssi_scan_examined;
#endif

static void ssi_pattern_borders(ssi_pattern *pattern)
{
    size_t k = 0;

    pattern->border[0] = 0;
    for (size_t i = 1; i < pattern->len; i++) {
        while (k > 0 && pattern->bytes[i] != pattern->bytes[k])
            k = pattern->border[k - 1];
        if (pattern->bytes[i] == pattern->bytes[k])
            k++;
        pattern->border[i] = k;
    }
}

static void ssi_pattern_skips(ssi_pattern *pattern)
{
    for (size_t c = 0; c < 256; c++)
        pattern->skip[c] = pattern->len;
    for (size_t i = 0; i + 1 < pattern->len; i++)
        pattern->skip[(unsigned char)pattern->bytes[i]] = pattern->len - 1 - i;
}

ssi_pattern *ssi_pattern_make(apr_pool_t *pool, const char *tag, size_t len)
{
    ssi_pattern *pattern = apr_palloc(pool, sizeof(*pattern));

    pattern->bytes = apr_pstrmemdup(pool, tag, len);
    pattern->len = len;
    pattern->find = ssi_vector_variants[ssi_vector_usable() - 1].find;
    pattern->border = apr_palloc(pool, len * sizeof(*pattern->border));
    pattern->order = apr_palloc(pool, len * sizeof(*pattern->order));
    ssi_pattern_borders(pattern);
    ssi_pattern_skips(pattern);
    pattern->ranked = apr_palloc(pool, len);
    ssi_vector_order(pattern->bytes, len, pattern->order);
    for (size_t k = 0; k < len; k++)
        pattern->ranked[k] = (unsigned char)pattern->bytes[pattern->order[k]];
    return pattern;
}

/* The length of the longest beginning of the tag that ends with c, given that `held` bytes did. */
static inline size_t ssi_scan_step(const ssi_pattern *pattern, size_t held, char c)
{
    SSI_EXAMINED(1);
    while (held > 0 && pattern->bytes[held] != c)
        held = pattern->border[held - 1];
    return pattern->bytes[held] == c ? held + 1 : held;
}

size_t ssi_find_naive(const ssi_pattern *pattern, const char *data, size_t len)
{
    size_t k;

    for (size_t i = 0; i + pattern->len <= len; i++) {
        for (k = 0; k < pattern->len && data[i + k] == pattern->bytes[k]; k++)
            SSI_EXAMINED(1);
        if (k == pattern->len)
            return i;
        SSI_EXAMINED(1);
    }
    return len;
}

size_t ssi_find_kmp(const ssi_pattern *pattern, const char *data, size_t len)
{
    size_t held = 0;

    for (size_t i = 0; i < len; i++) {
        held = ssi_scan_step(pattern, held, data[i]);
        if (held == pattern->len)
            return i + 1 - held;
    }
    return len;
}

size_t ssi_find_horspool(const ssi_pattern *pattern, const char *data, size_t len)
{
    size_t last = pattern->len - 1;
    char final = pattern->bytes[last];

    for (size_t i = last; i < len; i += pattern->skip[(unsigned char)data[i]]) {
        SSI_EXAMINED(1);
        if (data[i] != final)
            continue;
        SSI_EXAMINED(last);
        if (!memcmp(data + i - last, pattern->bytes, last))
            return i - last;
    }
    return len;
}

size_t ssi_find_memmem(const ssi_pattern *pattern, const char *data, size_t len)
{
    const char *at = memmem(data, len, pattern->bytes, pattern->len);

    return at ? (size_t)(at - data) : len;
}

int ssi_scan_feed(const ssi_pattern *pattern, ssi_scan_state *state, const char *data, size_t len,
                  ssi_scan_hit *hit)
{
    size_t held = state->held, at = 0, from;

    /* As long as the possible beginning lies before this span. */
    while (held > at && at < len) {
        held = ssi_scan_step(pattern, held, data[at++]);
        if (held == pattern->len) {
            *hit = (ssi_scan_hit){.before = held > at ? held - at : 0, .end = at};
            state->held = 0;
            return 1;
        }
    }
    if (held > at) {
        state->held = held;
        return 0;
    }
    from = at - held;
    at = from + ssi_scan_find(pattern, data + from, len - from);
    if (at < len) {
        *hit = (ssi_scan_hit){.start = at, .end = at + pattern->len};
        state->held = 0;
        return 1;
    }
    if (len - from >= pattern->len)
        from = len - (pattern->len - 1);
    for (held = 0; from < len; from++)
        held = ssi_scan_step(pattern, held, data[from]);
    state->held = held;
    return 0;
}

size_t ssi_scan_variants(ssi_scan_variant variants[SSI_SCAN_VARIANTS])
{
    static const ssi_scan_variant plain[] = {{"naive", ssi_find_naive},
                                             {"kmp", ssi_find_kmp},
                                             {"horspool", ssi_find_horspool},
                                             {"memmem", ssi_find_memmem}};
    size_t n = sizeof(plain) / sizeof(*plain), usable = ssi_vector_usable();

    memcpy(variants, plain, sizeof(plain));
    memcpy(variants + n, ssi_vector_variants, usable * sizeof(*variants));
    variants[n + usable] = (ssi_scan_variant){NULL, NULL};
    return n + usable;
}
