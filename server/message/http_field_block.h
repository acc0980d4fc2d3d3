/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MESSAGE_HTTP_FIELD_BLOCK_H
#define BRIGADE_MESSAGE_HTTP_FIELD_BLOCK_H

/**
 * @file http_field_block.h
 * The lines of a decoded field block, as HTTP/2 has them (hpack_decode.h).
 *
 * The strings of a block lie one behind the other in room of the caller's. Lines that do not fit are missing.
 */
#include "http_head.h"
#include <stddef.h>

/** The target of a decoded block. The decoder leaves http_field.id at HTTP_F_OTHER. */
typedef struct http_field_block {
    char *text;  /**< room for strings; the decoder advances it */
    size_t room; /**< bytes left of it */
    http_field *field;
    uint32_t n, most; /**< fields, and room for them */
    uint64_t size;    /**< of all lines, with 32 bytes for each: RFC 9113, 6.5.2 */
    int cut;          /**< 1: lines are missing, there was no room for them */
} http_field_block;

#endif
