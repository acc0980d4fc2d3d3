/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start-tag search, many positions at a time.
 *
 * Each byte of the tag is compared with as many positions as a block of vectors holds; a position
 * where all of them agree is a match. No candidate is verified one by one, so the worst that a page
 * can do is to make all comparisons happen in every block: with the usual tag of five bytes that is
 * two and a half times the work of prose, whatever the page. Comparisons begin with the bytes that
 * tell most ('!' and '#' of the usual tag) and end as soon as no position is left.
 *
 * A tag longer than SSI_VECTOR_BYTES is compared with memcmp after that many bytes agreed. To stay
 * linear on tags and pages made to agree everywhere, that work is counted, and when it grows beyond
 * the bytes searched, Knuth-Morris-Pratt takes over for the rest of the span.
 *
 * The vectors are those of the compiler, so every machine has them; on x86-64 the same search is
 * made once more for AVX2, and chosen when the program runs.
 */
#include "ssi_scan.h"

#include <stdint.h>
#include <string.h>

#define SSI_VECTOR_BYTES 64

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
    /* Two equal bytes say little together: make another one the second. */
    for (size_t i = 1; i < len; i++) {
        if (tag[order[i]] != tag[order[0]]) {
            size_t other = order[i];
            memmove(order + 2, order + 1, (i - 1) * sizeof(*order));
            order[1] = other;
            break;
        }
    }
}

#if defined(__x86_64__)

#define SSI_V(name) ssi_##name##_vector_sse2
#define SSI_V_WIDTH 16
#define SSI_V_TARGET
#define SSI_V_ANY(mask) __builtin_ia32_pmovmskb128((ssi_char16)(mask))
#define SSI_V_SHORTER ssi_find_horspool
typedef char ssi_char16 __attribute__((vector_size(16)));
#include "ssi_scan_vector.h"

#define SSI_V(name) ssi_##name##_vector_avx2
#define SSI_V_WIDTH 32
#define SSI_V_TARGET __attribute__((target("avx2")))
#define SSI_V_ANY(mask) __builtin_ia32_pmovmskb256((ssi_char32)(mask))
#define SSI_V_SHORTER ssi_find_vector_sse2
typedef char ssi_char32 __attribute__((vector_size(32)));
#include "ssi_scan_vector.h"

const ssi_scan_variant ssi_vector_variants[] = {
    {"vector-sse2", ssi_find_vector_sse2}, {"vector-avx2", ssi_find_vector_avx2}, {NULL, NULL}};

size_t ssi_vector_usable(void)
{
    return __builtin_cpu_supports("avx2") ? 2 : 1;
}

#else

#define SSI_V(name) ssi_##name##_vector
#define SSI_V_WIDTH 16
#define SSI_V_TARGET
#define SSI_V_ANY(mask) (((ssi_word2)(mask))[0] | ((ssi_word2)(mask))[1])
#define SSI_V_SHORTER ssi_find_horspool
typedef uint64_t ssi_word2 __attribute__((vector_size(16)));
#include "ssi_scan_vector.h"

const ssi_scan_variant ssi_vector_variants[] = {{"vector", ssi_find_vector}, {NULL, NULL}};

size_t ssi_vector_usable(void)
{
    return 1;
}

#endif
