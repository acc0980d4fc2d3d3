/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H1_H1_CHUNKED_H
#define BRIGADE_H1_H1_CHUNKED_H

/**
 * @file h1_chunked.h
 * Framing of a chunked request body (RFC 9112 section 7.1): a machine that is fed the bytes between
 * the data and says how much data follows. It keeps nothing but numbers, so bytes may come in any
 * pieces.
 */
#include <stddef.h>
#include <stdint.h>

typedef enum h1_chunk_state {
    H1_CHUNK_SIZE,    /**< first digit of a size */
    H1_CHUNK_DIGITS,  /**< more digits, or their end */
    H1_CHUNK_BLANK,   /**< blanks after the size */
    H1_CHUNK_EXT,     /**< in an extension */
    H1_CHUNK_SIZE_LF, /**< CR seen */
    H1_CHUNK_DATA,    /**< "left" bytes of data come */
    H1_CHUNK_DATA_CR, /**< after the data */
    H1_CHUNK_DATA_LF,
    H1_CHUNK_TRAILER, /**< after the last chunk: trailer lines, not this machine's */
    H1_CHUNK_BAD
} h1_chunk_state;

typedef struct h1_chunked {
    uint64_t left;     /**< DATA: bytes of data still to come */
    uint32_t overhead; /**< bytes of the size line so far */
    uint8_t state;     /**< h1_chunk_state */
    /** with BAD: the size or its line is beyond all limits, rather than malformed */
    uint8_t too_large;
} h1_chunked;

#define H1_CHUNK_LINE_MAX 8192 /**< bytes of one size line with its extensions */

/**
 * Take framing bytes.
 * @return how many were taken: all, or up to where the state became DATA, TRAILER or BAD
 * Threads: any. Blocking: no.
 */
size_t h1_chunked_feed(h1_chunked *m, const char *data, size_t len);

/** @a n bytes of data were taken; at the last of them the machine goes on. */
void h1_chunked_took(h1_chunked *m, uint64_t n);

#endif
