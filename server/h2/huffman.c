/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code is canonical: codes of one length follow each other in the order of their symbols, and
 * shorter ones come first. So the lengths say it all, and a code is decoded by its length: left
 * aligned in 32 bits it is below the first code of the next length. Nearly all text consists of
 * codes of at most HUFFMAN_FAST_BITS bits; these are looked up in one step.
 */
#include "huffman.h"

#include <endian.h>
#include <string.h>

#define HUFFMAN_SYMBOLS 257
#define HUFFMAN_EOS 256
#define HUFFMAN_LEAST_BITS 5
#define HUFFMAN_MOST_BITS 30
#define HUFFMAN_FAST_BITS 10

/* Bits of each symbol's code: RFC 7541, appendix B. */
static const uint8_t huffman_bits[HUFFMAN_SYMBOLS] = {
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6,  10, 10, 12, 13, 6,  8,  11, 10, 10, 8,  11, 8,  6,  6,  6,
    5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8,  15, 6,  12, 10, 13, 6,  7,  7,  7,  7,  7,  7,
    7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8,  13, 19, 13, 14, 6,
    15, 5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,  6,  7,  6,  5,  5,  6,  7,  7,
    7,  7,  7,  15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
};

typedef struct huffman_fast {
    uint8_t symbol, bits; /* bits 0: the code is longer */
} huffman_fast;

static uint32_t huffman_code[HUFFMAN_SYMBOLS];   /* right aligned */
static uint16_t huffman_sorted[HUFFMAN_SYMBOLS]; /* symbols by code */
static uint32_t
    huffman_end[HUFFMAN_MOST_BITS + 1]; /* left aligned: the first code that is longer */
static uint32_t
    huffman_first[HUFFMAN_MOST_BITS + 1]; /* right aligned: the first code of a length */
static uint16_t huffman_first_at[HUFFMAN_MOST_BITS + 1]; /* where its symbol is in huffman_sorted */
static huffman_fast huffman_table[1 << HUFFMAN_FAST_BITS];

static void huffman_add_fast(unsigned symbol)
{
    unsigned bits = huffman_bits[symbol], free_bits = HUFFMAN_FAST_BITS - bits;

    for (uint32_t rest = 0; rest < 1u << free_bits; rest++)
        huffman_table[huffman_code[symbol] << free_bits | rest] =
            (huffman_fast){(uint8_t)symbol, (uint8_t)bits};
}

/* Before any thread is there. */
__attribute__((constructor)) static void huffman_make(void)
{
    uint32_t code = 0;
    uint16_t n = 0;

    for (unsigned bits = HUFFMAN_LEAST_BITS; bits <= HUFFMAN_MOST_BITS; bits++) {
        code <<= 1;
        huffman_first[bits] = code;
        huffman_first_at[bits] = n;
        for (unsigned symbol = 0; symbol < HUFFMAN_SYMBOLS; symbol++) {
            if (huffman_bits[symbol] != bits)
                continue;
            huffman_code[symbol] = code++;
            huffman_sorted[n++] = (uint16_t)symbol;
            if (bits <= HUFFMAN_FAST_BITS)
                huffman_add_fast(symbol);
        }
        huffman_end[bits] = (uint32_t)((uint64_t)code << (32 - bits)); /* 0 past the last code */
    }
}

size_t huffman_size(const char *text, size_t len)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < len; i++)
        bits += huffman_bits[(uint8_t)text[i]];
    return (size_t)((bits + 7) / 8);
}

uint8_t *huffman_encode(uint8_t *out, const char *text, size_t len)
{
    uint64_t held = 0;
    unsigned n = 0; /* bits in held, fewer than 32 between two symbols */

    for (size_t i = 0; i < len; i++) {
        const unsigned symbol = (uint8_t)text[i];

        held = held << huffman_bits[symbol] | huffman_code[symbol];
        n += huffman_bits[symbol];
        if (n >= 32) {
            const uint32_t word = htobe32((uint32_t)(held >> (n - 32)));

            memcpy(out, &word, sizeof word);
            out += sizeof word;
            n -= 32;
        }
    }
    for (; n >= 8; n -= 8)
        *out++ = (uint8_t)(held >> (n - 8));
    if (n) /* padded with the beginning of EOS: ones */
        *out++ = (uint8_t)(held << (8 - n) | 0xffu >> n);
    return out;
}

/* The symbol of a code of more than HUFFMAN_FAST_BITS bits at the left of word. */
static unsigned huffman_long(uint32_t word, unsigned *bits)
{
    unsigned b = HUFFMAN_FAST_BITS + 1;

    while (b < HUFFMAN_MOST_BITS && word >= huffman_end[b])
        b++;
    *bits = b;
    return huffman_sorted[huffman_first_at[b] + (word >> (32 - b)) - huffman_first[b]];
}

/* 1: n bits at the left of word are a padding that is allowed: less than a byte, all ones. */
static int huffman_is_padding(uint32_t word, unsigned n)
{
    return n < 8 && (n == 0 || word >> (32 - n) == (1u << n) - 1);
}

ptrdiff_t huffman_decode(char *out, const uint8_t *in, size_t len)
{
    const uint8_t *end = in + len;
    char *at = out;
    uint64_t held = 0; /* left aligned */
    unsigned n = 0;

    for (;;) {
        uint32_t word;
        unsigned bits, symbol;

        for (; n <= 56 && in < end; n += 8)
            held |= (uint64_t)*in++ << (56 - n);
        word = (uint32_t)(held >> 32);
        symbol = huffman_table[word >> (32 - HUFFMAN_FAST_BITS)].symbol;
        bits = huffman_table[word >> (32 - HUFFMAN_FAST_BITS)].bits;
        if (!bits)
            symbol = huffman_long(word, &bits);
        if (bits > n)
            return huffman_is_padding(word, n) ? at - out : -1;
        if (symbol == HUFFMAN_EOS)
            return -1;
        *at++ = (char)symbol;
        held <<= bits;
        n -= bits;
    }
}
