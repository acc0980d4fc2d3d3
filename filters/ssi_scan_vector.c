/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start-tag search, many positions at a time.
 *
 * Each byte of the tag is compared with as many positions as a vector holds; a position where all of
 * them agree is a match. No candidate is ever verified one by one, so the worst that a page can do
 * is to make all comparisons happen in every block: with the usual tag of five bytes that is two and
 * a half times the work of prose, whatever the page. Comparisons begin with the bytes that tell most
 * ('#' and '!' of the usual tag) and end as soon as no position is left.
 *
 * A tag longer than SSI_VECTOR_BYTES is compared with memcmp after that many bytes agreed. To stay
 * linear on tags and pages made to agree everywhere, that work is counted, and when it grows beyond
 * the bytes searched, Knuth-Morris-Pratt takes over for the rest of the span.
 *
 * The vectors are those of the compiler, 64 bytes wide: it makes two or four instructions of each
 * operation, as the machine has them. The function is compiled once more for AVX2 and chosen when
 * the program runs.
 */
#include "ssi_scan.h"

#include <stdint.h>
#include <string.h>

#define SSI_VECTOR_WIDTH 64
#define SSI_VECTOR_BYTES 64
#define SSI_WORDS (SSI_VECTOR_WIDTH / 8)

typedef unsigned char ssi_vec __attribute__((vector_size(SSI_VECTOR_WIDTH)));
typedef uint64_t ssi_words __attribute__((vector_size(SSI_VECTOR_WIDTH)));

/* Roughly how frequent a byte is in pages; small numbers are rare. */
static int ssi_vector_frequency(unsigned char c)
{
    if ((c >= 'a' && c <= 'z') || c == ' ')
        return 4;
    if (c == '<' || c == '>' || c == '/' || c == '"' || c == '=' || c == '\n' || c == '.')
        return 3;
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '-')
        return 2;
    return c == '#' || c == ',' ? 1 : 0;
}

void ssi_vector_order(const char *tag, size_t len, size_t *order)
{
    size_t n = 0;

    for (int frequency = 0; frequency <= 4; frequency++)
        for (size_t i = 0; i < len; i++)
            if (ssi_vector_frequency((unsigned char)tag[i]) == frequency)
                order[n++] = i;
    /* Two equal bytes side by side say little together: put another one second. */
    for (size_t i = 1; i < len; i++) {
        if (tag[order[i]] != tag[order[0]]) {
            size_t other = order[i];
            memmove(order + 2, order + 1, (i - 1) * sizeof(*order));
            order[1] = other;
            break;
        }
    }
}

/* Index of the first byte that is set, or SSI_VECTOR_WIDTH. */
static inline size_t ssi_vector_first(const ssi_words *mask, size_t from)
{
    const unsigned char *bytes = (const unsigned char *)mask;

    while (from < SSI_VECTOR_WIDTH && !bytes[from])
        from++;
    return from;
}

static inline __attribute__((always_inline)) void ssi_vector_and(ssi_vec *mask, const char *at,
                                                                 unsigned char c)
{
    ssi_vec data;

    memcpy(&data, at, sizeof(data));
    *mask &= (ssi_vec)(data == c);
}

static inline __attribute__((always_inline)) int ssi_vector_any(const ssi_vec *mask)
{
    ssi_words w = (ssi_words)*mask;

    return (w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]) != 0;
}

/* The first match that begins in the 64 bytes from `at`, or SSI_VECTOR_WIDTH; adds to *work. */
static inline __attribute__((always_inline)) size_t ssi_vector_block(const ssi_pattern *pattern,
                                                                     const char *at, size_t *work)
{
    const size_t *order = pattern->order;
    size_t len = pattern->len < SSI_VECTOR_BYTES ? pattern->len : SSI_VECTOR_BYTES, i;
    ssi_vec mask = ~(ssi_vec){0};

    ssi_vector_and(&mask, at + order[0], (unsigned char)pattern->bytes[order[0]]);
    ssi_vector_and(&mask, at + order[len > 1], (unsigned char)pattern->bytes[order[len > 1]]);
    SSI_EXAMINED(2 * SSI_VECTOR_WIDTH);
    for (i = 2; ssi_vector_any(&mask); i++) {
        if (i >= len)
            break;
        ssi_vector_and(&mask, at + order[i], (unsigned char)pattern->bytes[order[i]]);
        SSI_EXAMINED(SSI_VECTOR_WIDTH);
    }
    if (!ssi_vector_any(&mask))
        return SSI_VECTOR_WIDTH;
    for (i = ssi_vector_first((ssi_words *)&mask, 0); i < SSI_VECTOR_WIDTH && len < pattern->len;
         i = ssi_vector_first((ssi_words *)&mask, i + 1)) {
        *work += pattern->len;
        SSI_EXAMINED(pattern->len);
        if (!memcmp(at + i, pattern->bytes, pattern->len))
            break;
    }
    return i;
}

static inline __attribute__((always_inline)) size_t ssi_vector_find(const ssi_pattern *pattern,
                                                                    const char *data, size_t len)
{
    size_t block = SSI_VECTOR_WIDTH - 1 + pattern->len, at = 0, work = 0, i;

    if (len < block)
        return ssi_find_horspool(pattern, data, len);
    for (;;) {
        i = ssi_vector_block(pattern, data + at, &work);
        if (i < SSI_VECTOR_WIDTH)
            return at + i;
        if (at == len - block)
            return len;
        at += SSI_VECTOR_WIDTH;
        /* The last block overlaps the one before, where nothing was. */
        if (at > len - block)
            at = len - block;
        if (work > 4 * (at + pattern->len))
            return at + ssi_find_kmp(pattern, data + at, len - at);
    }
}

size_t ssi_find_vector_base(const ssi_pattern *pattern, const char *data, size_t len)
{
    return ssi_vector_find(pattern, data, len);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) size_t ssi_find_vector_avx2(const ssi_pattern *pattern,
                                                            const char *data, size_t len)
{
    return ssi_vector_find(pattern, data, len);
}

int ssi_vector_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") != 0;
}
#else
size_t ssi_find_vector_avx2(const ssi_pattern *pattern, const char *data, size_t len)
{
    return ssi_vector_find(pattern, data, len);
}

int ssi_vector_has_avx2(void)
{
    return 0;
}
#endif

ssi_find_fn ssi_vector_best(void)
{
    return ssi_vector_has_avx2() ? ssi_find_vector_avx2 : ssi_find_vector_base;
}
