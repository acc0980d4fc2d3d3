/* SPDX-License-Identifier: Apache-2.0 */
#include "field_string.h"
#include "hpack_decode.h"
#include "huffman.h"
#include "brigade/assert.h"
#include <string.h>

const uint8_t *field_string_at(const uint8_t *at, const uint8_t *end, unsigned bits,
                               field_string *s)
{
    uint64_t len;

    if (at == end)
        return NULL;
    BRG_ASSERT_DEBUG(bits >= 1 && bits <= 7);
    s->huffman = *at >> bits & 1;
    at = hpack_integer(at, end, bits, &len);
    if (!at || len > (uint64_t)(end - at))
        return NULL;
    s->at = at;
    s->len = (uint32_t)len;
    return at + len;
}

size_t field_string_room(const field_string *s)
{
    return s->huffman ? HUFFMAN_ROOM(s->len) : s->len;
}

char *field_string_put(const field_string *s, char *out)
{
    ptrdiff_t n;

    if (!s->huffman) {
        memcpy(out, s->at, s->len);
        return out + s->len;
    }
    n = huffman_decode(out, s->at, s->len);
    return n < 0 ? NULL : out + n;
}

void field_list_add(http_field_block *list, char *text, uint32_t name_len, uint32_t value_len)
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
