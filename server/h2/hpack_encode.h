/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_HPACK_ENCODE_H
#define BRIGADE_H2_HPACK_ENCODE_H

/**
 * @file hpack_encode.h
 * Field lines in the form of HPACK (RFC 7541) that needs no state of the connection: indexes of the
 * static table, and literals that enter no table. So a block is right on every connection, and can be
 * kept beside a stored response.
 *
 * Threads: any. Nothing here allocates or blocks. Names are in lower case.
 */
#include "streams.h"
#include <stddef.h>
#include <stdint.h>

/** An integer with a prefix of @a bits bits, below the bits of @a first. @return behind it */
uint8_t *hpack_put_integer(uint8_t *out, uint8_t first, unsigned bits, uint64_t value);

/** A string, in the Huffman code where that is shorter. @return behind it */
uint8_t *hpack_put_string(uint8_t *out, const char *text, size_t len);

/** ":status". @param status  100 to 999 @return behind it */
uint8_t *hpack_put_status(uint8_t *out, int status);

/**
 * A line.
 * @param secret  1: no proxy may put it into a table either (never indexed: RFC 7541, 6.2.3)
 * @return behind it
 */
uint8_t *hpack_put_line(uint8_t *out, const char *name, size_t name_len, const char *value,
                        size_t value_len, int secret);

/** A line whose name is entry @a index of the static table and whose value stands there as it is,
 * so that it can be changed in place. @param value  where the value is @return behind it */
uint8_t *hpack_put_plain(uint8_t *out, unsigned index, const char *text, size_t len,
                         uint8_t **value);

#endif
