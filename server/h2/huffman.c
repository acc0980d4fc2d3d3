/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code is canonical: codes of one length follow each other in the order of their symbols, and
 * shorter ones come first. So the lengths say it all, and a code is decoded by its length: left
 * aligned in 32 bits it is below the first code of the next length. Nearly all text consists of
 * codes of at most HUFFMAN_FAST_BITS bits; these are looked up in one step, two together where
 * both fit.
 */
#include "huffman.h"
#include "brigade/assert.h"

#include <endian.h>
#include <string.h>

#define HUFFMAN_SYMBOLS 257
#define HUFFMAN_EOS 256
#define HUFFMAN_LEAST_BITS 5
#define HUFFMAN_MOST_BITS 30
#define HUFFMAN_FAST_BITS 12

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

/* What the next HUFFMAN_FAST_BITS bits begin with. */
typedef struct huffman_fast {
    uint8_t symbol[2];
    uint8_t bits; /* of the code, or of both */
    uint8_t n;    /* symbols; 0: the code is longer */
} huffman_fast;

/* Input that is not decoded yet. */
typedef struct huffman_rest {
    const uint8_t *begin, *in, *end;
    uint64_t held; /* left aligned; behind the n bits may be some of those at in */
    unsigned n;
} huffman_rest;

static uint32_t huffman_code[HUFFMAN_SYMBOLS];   /* right aligned */
static uint16_t huffman_sorted[HUFFMAN_SYMBOLS]; /* symbols by code */
/* left aligned: the first code that is longer */
static uint32_t huffman_end[HUFFMAN_MOST_BITS + 1];
/* right aligned: the first code of a length */
static uint32_t huffman_first[HUFFMAN_MOST_BITS + 1];
static uint16_t huffman_first_at[HUFFMAN_MOST_BITS + 1]; /* where its symbol is in huffman_sorted */
static huffman_fast huffman_table[1 << HUFFMAN_FAST_BITS];

static void huffman_add_fast(unsigned symbol)
{
    unsigned bits = huffman_bits[symbol], free_bits = HUFFMAN_FAST_BITS - bits;

    for (uint32_t rest = 0; rest < 1u << free_bits; rest++)
        huffman_table[huffman_code[symbol] << free_bits | rest] =
            (huffman_fast){{(uint8_t)symbol, 0}, (uint8_t)bits, 1};
}

/* Second codes, where they are whole. Entries behind, which have their own already, keep their first symbol. */
static void huffman_add_second(void)
{
    for (uint32_t i = 0; i < 1u << HUFFMAN_FAST_BITS; i++) {
        huffman_fast *f = &huffman_table[i];
        const huffman_fast *next = &huffman_table[i << f->bits & ((1u << HUFFMAN_FAST_BITS) - 1)];
        const unsigned bits = f->bits + huffman_bits[next->symbol[0]];

        if (f->n && next->n && bits <= HUFFMAN_FAST_BITS)
            *f = (huffman_fast){{f->symbol[0], next->symbol[0]}, (uint8_t)bits, 2};
    }
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
    huffman_add_second();
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

/* 1: all that is left is a padding that is allowed: less than a byte, all ones. */
static int huffman_is_padding(const huffman_rest *rest)
{
    return rest->n < 8 && (rest->n == 0 || rest->held >> (64 - rest->n) == (1u << rest->n) - 1);
}

/* The next 8 bytes, 0 behind the input's end. */
static uint64_t huffman_word(const huffman_rest *rest)
{
    const size_t len = (size_t)(rest->end - rest->in);
    uint64_t word = 0;

    if (len >= sizeof word) {
        memcpy(&word, rest->in, sizeof word);
        return be64toh(word);
    }
    if (rest->end - rest->begin >= (ptrdiff_t)sizeof word) {
        memcpy(&word, rest->end - sizeof word, sizeof word);
        return be64toh(word) << (64 - 8 * len);
    }
    for (size_t i = 0; i < len; i++)
        word |= (uint64_t)rest->in[i] << (56 - 8 * i);
    return word;
}

/* Hold 56 bits and more, or all. */
static void huffman_fill(huffman_rest *rest)
{
    const size_t len = (size_t)(rest->end - rest->in), room = (63 - rest->n) >> 3;

    BRG_ASSERT_DEBUG(len);
    rest->held |= huffman_word(rest) >> rest->n;
    rest->n += 8 * (unsigned)(len < room ? len : room);
    rest->in += len < room ? len : room;
}

/* Symbols of the table, as far as their codes are held whole. @return behind them */
static char *huffman_put(huffman_rest *rest, char *at)
{
    for (;;) {
        const huffman_fast f = huffman_table[rest->held >> (64 - HUFFMAN_FAST_BITS)];

        if (f.bits > rest->n || !f.n)
            return at;
        memcpy(at, f.symbol, sizeof f.symbol);
        at += f.n;
        rest->held <<= f.bits;
        rest->n -= f.bits;
    }
}

/* One symbol, whatever its length. @return behind it; NULL: there is none */
static char *huffman_put_one(huffman_rest *rest, char *at)
{
    const uint32_t word = (uint32_t)(rest->held >> 32);
    const huffman_fast *f = &huffman_table[word >> (32 - HUFFMAN_FAST_BITS)];
    unsigned bits = huffman_bits[f->symbol[0]], symbol = f->symbol[0];

    if (!f->n)
        symbol = huffman_long(word, &bits);
    if (bits > rest->n || symbol == HUFFMAN_EOS)
        return NULL;
    *at = (char)symbol;
    rest->held <<= bits;
    rest->n -= bits;
    return at + 1;
}

ptrdiff_t huffman_decode(char *out, const uint8_t *in, size_t len)
{
    huffman_rest rest = {in, in, in + len, 0, 0};
    char *at = out;

    for (;;) {
        char *next;

        if (rest.in < rest.end)
            huffman_fill(&rest);
        at = huffman_put(&rest, at);
        if (rest.in < rest.end && rest.n < HUFFMAN_MOST_BITS)
            continue;
        if (!(next = huffman_put_one(&rest, at)))
            return huffman_is_padding(&rest) ? at - out : -1;
        at = next;
    }
}
