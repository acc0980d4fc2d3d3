/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_HUFFMAN_H
#define BRIGADE_H2_HUFFMAN_H

/**
 * @file huffman.h
 * The Huffman code of HPACK (RFC 7541, 5.2 and appendix B).
 * Threads: any. Nothing here allocates or blocks.
 */
#include <stddef.h>
#include <stdint.h>

/** Bytes that huffman_decode() may write for @a len bytes of input: no code is shorter than 5 bits, and two symbols are written at once. */
#define HUFFMAN_ROOM(len) ((size_t)(len)*8 / 5 + 1)

/** Bytes of @a text when it is encoded. */
size_t huffman_size(const char *text, size_t len);

/**
 * Encode a text.
 * @param out  has room for huffman_size() bytes
 * @return behind the last byte
 */
uint8_t *huffman_encode(uint8_t *out, const char *text, size_t len);

/**
 * Decode a string.
 * @param out  has room for HUFFMAN_ROOM(len) bytes
 * @return bytes of the text; -1: RFC 7541 does not allow the code or the padding
 */
ptrdiff_t huffman_decode(char *out, const uint8_t *in, size_t len);

#endif
