/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H3_QPACK_H
#define BRIGADE_H3_QPACK_H

/**
 * @file qpack.h
 * Field lines in the form of QPACK (RFC 9204) without its dynamic table: indexes of the static table, and literals. So a block
 * is right on every connection, and no stream waits for another one.
 *
 * Threads: any. Nothing here allocates or blocks. Names are in lower case.
 */
#include "http_field_block.h"
#include <stddef.h>
#include <stdint.h>

#define QPACK_STATIC_ENTRIES 99
/** bytes before the lines of a block: no insert is required, the base is 0 */
#define QPACK_PREFIX 2

/** A line of the static table. */
typedef struct qpack_line {
    const char *name, *value;
    uint8_t name_len, value_len;
} qpack_line;

/** @param index  below QPACK_STATIC_ENTRIES */
const qpack_line *qpack_static(unsigned index);

/** The first entry of that name; -1: no such entry. */
int qpack_static_of_name(const char *name, size_t len);

/** ":status". @param status  100 to 999 @return behind it */
uint8_t *qpack_put_status(uint8_t *out, int status);

/** A line. @return behind it, at most STREAM_LINE_ROOM() on */
uint8_t *qpack_put_line(uint8_t *out, const char *name, size_t name_len, const char *value,
                        size_t value_len);

/** A line whose value stands at its end as it is, so that it can be changed in place. @return behind it */
uint8_t *qpack_put_plain(uint8_t *out, const char *name, size_t name_len, const char *value,
                         size_t value_len);

/**
 * Decode a block.
 * @param list  gets its lines
 * @return 0; -1: it is malformed, or refers to a dynamic table, which there is not
 */
int qpack_decode(const uint8_t *block, size_t len, http_field_block *list);

#endif
