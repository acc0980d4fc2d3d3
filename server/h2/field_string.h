/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_FIELD_STRING_H
#define BRIGADE_H2_FIELD_STRING_H

/**
 * @file field_string.h
 * Strings of field blocks, in the form that HPACK and QPACK have in common (RFC 7541, 5.2; RFC 9204, 4.1.2).
 * Threads: any. Nothing here allocates or blocks.
 */
#include "http_field_block.h"
#include <stddef.h>
#include <stdint.h>

/** A string as the block has it. */
typedef struct field_string {
    const uint8_t *at;
    uint32_t len;
    int huffman;
} field_string;

/** Read one whose length has a prefix of @a bits bits, behind the bit of the Huffman code. @return behind it; NULL: malformed */
const uint8_t *field_string_at(const uint8_t *at, const uint8_t *end, unsigned bits,
                               field_string *s);

/** Bytes of room that it may need. */
size_t field_string_room(const field_string *s);

/** Write it as text. @return behind it; NULL: malformed */
char *field_string_put(const field_string *s, char *out);

/** Add a line that was put at list->text. */
void field_list_add(http_field_block *list, char *text, uint32_t name_len, uint32_t value_len);

#endif
