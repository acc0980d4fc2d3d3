/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_FIELD_STRING_H
#define BRIGADE_H2_FIELD_STRING_H

/**
 * @file field_string.h
 * Strings of field blocks, in the form that HPACK and QPACK have in common (RFC 7541, 5.2; RFC 9204, 4.1.2).
 * In line: a call for each of a request's strings would cost a twentieth of an answer from memory.
 * Threads: any. Nothing here allocates or blocks.
 */
#include "hpack_decode.h"
#include "huffman.h"
#include "http_field_block.h"
#include "brigade/assert.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** A string as the block has it. */
typedef struct field_string {
    const uint8_t *at;
    uint32_t len;
    int huffman;
} field_string;

/** Read one whose length has a prefix of @a bits bits, behind the bit of the Huffman code. @return behind it; NULL: malformed */
static inline const uint8_t *field_string_at(const uint8_t *at, const uint8_t *end, unsigned bits,
                                             field_string *s)
{
    uint64_t len;

    BRG_ASSERT_DEBUG(bits >= 1 && bits <= 7);
    if (at == end)
        return NULL;
    s->huffman = *at >> bits & 1;
    at = hpack_integer(at, end, bits, &len);
    if (!at || len > (uint64_t)(end - at))
        return NULL;
    s->at = at;
    s->len = (uint32_t)len;
    return at + len;
}

/** Bytes of room that it may need. */
static inline size_t field_string_room(const field_string *s)
{
    return s->huffman ? HUFFMAN_ROOM(s->len) : s->len;
}

/** Write it as text. @return behind it; NULL: malformed */
static inline char *field_string_put(const field_string *s, char *out)
{
    ptrdiff_t n;

    if (!s->huffman) {
        memcpy(out, s->at, s->len);
        return out + s->len;
    }
    n = huffman_decode(out, s->at, s->len);
    return n < 0 ? NULL : out + n;
}

/** Add a line that was put at list->text. */
static inline void field_list_add(http_field_block *list, char *text, uint32_t name_len,
                                  uint32_t value_len)
{
    list->size += (uint64_t)name_len + value_len + HPACK_ENTRY_OVERHEAD;
    if (list->cut)
        return;
    if (list->n == list->most) {
        list->cut = 1;
        return;
    }
    BRG_ASSERT(text == list->text && (size_t)name_len + value_len <= list->room);
    list->field[list->n++] = (http_field){text, text + name_len, name_len, value_len, HTTP_F_OTHER};
    list->text += name_len + value_len;
    list->room -= (size_t)name_len + value_len;
}

#endif
