/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_HPACK_DECODE_H
#define BRIGADE_H2_HPACK_DECODE_H

/**
 * @file hpack_decode.h
 * Field blocks of HTTP/2 (RFC 7541): from the bytes of HEADERS and CONTINUATION to field lines.
 *
 * All strings of a block are written one behind the other into room of the caller's, so that they
 * stay valid when the dynamic table drops entries. What does not fit is read on, since the table has
 * to follow, and told: the stream is answered 431, the connection goes on.
 */
#include "hpack_table.h"

/** A decoded line. Strings lie in the room of the list. */
typedef struct hpack_field {
    const char *name, *value;
    uint32_t name_len, value_len;
} hpack_field;

/** What a block is decoded into. */
typedef struct hpack_list {
    char *text;  /**< room for strings; hpack_decode() advances it */
    size_t room; /**< bytes left of it */
    hpack_field *field;
    uint32_t n, most; /**< fields, and room for them */
    uint64_t size;    /**< of all lines, with HPACK_ENTRY_OVERHEAD each: RFC 9113, 6.5.2 */
    int cut;          /**< 1: lines are missing, there was no room for them */
} hpack_list;

/** Why a block was refused. */
typedef enum hpack_result {
    HPACK_OK,
    HPACK_MALFORMED, /**< connection error COMPRESSION_ERROR */
    HPACK_NO_MEMORY  /**< the table cannot follow: the connection has to end */
} hpack_result;

/**
 * Decode a whole field block.
 * @param t     of the connection
 * @param list  is appended to
 * Threads: the owner of the connection. Allocates once per connection, for the table.
 */
hpack_result hpack_decode(hpack_table *t, const uint8_t *block, size_t len, hpack_list *list);

/**
 * An integer with a prefix of @a bits bits (RFC 7541, 5.1).
 * @return behind it; NULL: it does not end, or is larger than any that HTTP/2 needs (2^32 - 1)
 */
const uint8_t *hpack_integer(const uint8_t *at, const uint8_t *end, unsigned bits, uint64_t *value);

#endif
