/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_HPACK_DECODE_H
#define BRIGADE_H2_HPACK_DECODE_H

/**
 * @file hpack_decode.h
 * Field blocks of HTTP/2 (RFC 7541): from the bytes of HEADERS and CONTINUATION to field lines.
 *
 * All strings of a block are written into room of the caller's, so that they stay valid when the
 * dynamic table drops entries. A field beyond that room is read on, since the table has to follow,
 * and told: the stream is answered 431, the connection goes on.
 */
#include "hpack_table.h"
#include "http_field_block.h"

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
hpack_result hpack_decode(hpack_table *t, const uint8_t *block, size_t len, http_field_block *list);

/**
 * An integer with a prefix of @a bits bits (RFC 7541, 5.1).
 * @return behind it; NULL: it does not end, or is larger than any that HTTP/2 needs (2^32 - 1)
 */
const uint8_t *hpack_integer(const uint8_t *at, const uint8_t *end, unsigned bits, uint64_t *value);

#endif
