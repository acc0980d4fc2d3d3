/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HTTP_HTTP_SCAN_H
#define BRIGADE_HTTP_HTTP_SCAN_H

/**
 * @file http_scan.h
 * Byte classes of RFC 9110 and the two searches in which a head's bytes are spent: to the end of a
 * field value and to the end of a request target. Both validate while they search, 32 or 16 bytes
 * at a time where the target has the instructions, and never read at or past @a end.
 */
#include <stddef.h>
#include <stdint.h>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#define HTTP_C_TOKEN 1  /**< tchar */
#define HTTP_C_VALUE 2  /**< may stand in a field value: VCHAR, obs-text, SP, HTAB */
#define HTTP_C_TARGET 4 /**< may stand in a request target: VCHAR and obs-text but "#" */
#define HTTP_C_DIGIT 8
/** may stand in a host name of a Host field, as Apache sees it, beside "." */
#define HTTP_C_HOST 16
#define HTTP_C_HEX 32

extern const uint8_t http_class[256];

static inline int http_is(char c, int classes)
{
    return http_class[(uint8_t)c] & classes;
}

#if defined(__SSE2__)
/** A bit for each of the 16 bytes at @a p that may not stand in a field value. */
static inline uint32_t http_value_bad(const char *p)
{
    const __m128i low = _mm_set1_epi8(0x1f), tab = _mm_set1_epi8('\t'), del = _mm_set1_epi8(0x7f);
    const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);

    return (uint32_t)_mm_movemask_epi8(_mm_or_si128(
        _mm_andnot_si128(_mm_cmpeq_epi8(x, tab), _mm_cmpeq_epi8(_mm_min_epu8(x, low), x)),
        _mm_cmpeq_epi8(x, del)));
}
#endif

/** First byte in [p, end) that may not stand in a field value; end if all may. */
static inline const char *http_scan_value(const char *p, const char *end)
{
#if defined(__AVX2__)
    const __m256i low2 = _mm256_set1_epi8(0x1f), tab2 = _mm256_set1_epi8('\t');
    const __m256i del2 = _mm256_set1_epi8(0x7f);
    while (end - p >= 32) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)p);
        const __m256i bad =
            _mm256_or_si256(_mm256_andnot_si256(_mm256_cmpeq_epi8(x, tab2),
                                                _mm256_cmpeq_epi8(_mm256_min_epu8(x, low2), x)),
                            _mm256_cmpeq_epi8(x, del2));
        const uint32_t mask = (uint32_t)_mm256_movemask_epi8(bad);
        if (mask)
            return p + __builtin_ctz(mask);
        p += 32;
    }
#elif defined(__SSE2__)
    while (end - p >= 16) {
        const uint32_t mask = http_value_bad(p);
        if (mask)
            return p + __builtin_ctz(mask);
        p += 16;
    }
#endif
    while (p < end && http_is(*p, HTTP_C_VALUE))
        p++;
    return p;
}

/** The same. Bytes from @a before on may be read as well: those at the end are looked at as the last of 16. */
static inline const char *http_scan_value_behind(const char *before, const char *p, const char *end)
{
#if defined(__SSE2__)
    if (end - before >= 16) {
        while (end - p >= 16) {
            const uint32_t mask = http_value_bad(p);
            if (mask)
                return p + __builtin_ctz(mask);
            p += 16;
        }
        const uint32_t mask = http_value_bad(end - 16) >> (16 - (end - p));
        return mask ? p + __builtin_ctz(mask) : end;
    }
#endif
    return http_scan_value(p, end);
}

/** First byte in [p, end) that may not stand in a request target; end if all may. */
static inline const char *http_scan_target(const char *p, const char *end)
{
#if defined(__AVX2__) || defined(__SSE2__)
    const __m128i low = _mm_set1_epi8(0x20), del = _mm_set1_epi8(0x7f), frag = _mm_set1_epi8('#');
    while (end - p >= 16) {
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
        const __m128i bad = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(x, low), x), _mm_cmpeq_epi8(x, del)),
            _mm_cmpeq_epi8(x, frag));
        const uint32_t mask = (uint32_t)_mm_movemask_epi8(bad);
        if (mask)
            return p + __builtin_ctz(mask);
        p += 16;
    }
#endif
    while (p < end && http_is(*p, HTTP_C_TARGET))
        p++;
    return p;
}

/** First byte in [p, end) that is not a token character. */
static inline const char *h1_scan_token(const char *p, const char *end)
{
#if defined(__SSE2__)
    /* Names are of letters and "-", but for a few bytes that the table tells. */
    const __m128i fold = _mm_set1_epi8(0x20), a = _mm_set1_epi8('a'),
                  last = _mm_set1_epi8('z' - 'a');
    const __m128i dash = _mm_set1_epi8('-');
    while (end - p >= 16) {
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
        const __m128i letter = _mm_sub_epi8(_mm_or_si128(x, fold), a);
        const __m128i good = _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(letter, last), letter),
                                          _mm_cmpeq_epi8(x, dash));
        const uint32_t mask = (uint32_t)_mm_movemask_epi8(good) ^ 0xffff;
        if (!mask) {
            p += 16;
            continue;
        }
        p += __builtin_ctz(mask);
        if (!http_is(*p, HTTP_C_TOKEN))
            return p;
        p++;
    }
#endif
    while (p < end && http_is(*p, HTTP_C_TOKEN))
        p++;
    return p;
}

/** 1 if each of the @a n bytes may stand in a field value. Of short strings whose length is known: the last bytes are looked at
 * twice rather than one by one. */
static inline int http_is_value(const char *p, size_t n)
{
#if defined(__SSE2__)
    const __m128i low = _mm_set1_epi8(0x1f), tab = _mm_set1_epi8('\t'), del = _mm_set1_epi8(0x7f);

    if (n >= 8) {
        const char *last = p + n - (n >= 16 ? 16 : 8);
        __m128i x, bad = _mm_setzero_si128();

        for (int more = 1; more;) {
            if (n < 16) {
                x = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)(const void *)p),
                                       _mm_loadl_epi64((const __m128i *)(const void *)last));
                more = 0;
            } else {
                more = p < last;
                x = _mm_loadu_si128((const __m128i *)(const void *)(more ? p : last));
                p += 16;
            }
            bad = _mm_or_si128(
                bad, _mm_or_si128(_mm_andnot_si128(_mm_cmpeq_epi8(x, tab),
                                                   _mm_cmpeq_epi8(_mm_min_epu8(x, low), x)),
                                  _mm_cmpeq_epi8(x, del)));
        }
        return !_mm_movemask_epi8(bad);
    }
#endif
    return http_scan_value(p, p + n) == p + n;
}

/** 1 if the @a n bytes, at least one, are a token. */
static inline int http_is_token(const char *p, size_t n)
{
#if defined(__SSE2__)
    const __m128i fold = _mm_set1_epi8(0x20), a = _mm_set1_epi8('a'),
                  last = _mm_set1_epi8('z' - 'a');

    if (n >= 8 && n <= 16) { /* two halves that overlap; of letters and "-" mostly */
        const __m128i x =
            _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)(const void *)p),
                               _mm_loadl_epi64((const __m128i *)(const void *)(p + n - 8)));
        const __m128i letter = _mm_sub_epi8(_mm_or_si128(x, fold), a);

        if (_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(letter, last), letter),
                                           _mm_cmpeq_epi8(x, _mm_set1_epi8('-')))) == 0xffff)
            return 1;
    }
#endif
    return n && h1_scan_token(p, p + n) == p + n;
}

/** 1 if the n bytes at p, in any case, are the lower-case @a lit. n is a constant wherever it
 * matters. */
static inline __attribute__((always_inline)) int http_same(const char *p, const char *lit, size_t n)
{
    if (n >= 4 && n <= 8) { /* two words that overlap */
        const uint32_t fold = 0x20202020u;
        uint32_t a, b, c, d;

        __builtin_memcpy(&a, p, 4);
        __builtin_memcpy(&b, lit, 4);
        __builtin_memcpy(&c, p + n - 4, 4);
        __builtin_memcpy(&d, lit + n - 4, 4);
        return (((a | fold) ^ b) | ((c | fold) ^ d)) == 0;
    }
    for (size_t i = 0; i < n; i++)
        if ((char)(p[i] | 0x20) != lit[i])
            return 0;
    return 1;
}

/** As http_same for n >= 8: two or more overlapping words instead of n bytes. */
static inline __attribute__((always_inline)) int http_same_wide(const char *p, const char *lit,
                                                                size_t n)
{
    const uint64_t fold = 0x2020202020202020ull;
    uint64_t a, b, diff = 0;
    size_t i;

    for (i = 0; i + 8 <= n; i += 8) {
        __builtin_memcpy(&a, p + i, 8);
        __builtin_memcpy(&b, lit + i, 8);
        diff |= (a | fold) ^ b;
    }
    if (i < n) {
        __builtin_memcpy(&a, p + n - 8, 8);
        __builtin_memcpy(&b, lit + n - 8, 8);
        diff |= (a | fold) ^ b;
    }
    return diff == 0;
}

#endif
