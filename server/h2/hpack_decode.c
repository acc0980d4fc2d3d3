/* SPDX-License-Identifier: Apache-2.0 */
#include "hpack_decode.h"

#include "huffman.h"

#include "brigade/assert.h"

#include <stdlib.h>
#include <string.h>

#define HPACK_INTEGER_BYTES 5 /* behind the prefix: 35 bits */

/* A string as the block has it. */
typedef struct hpack_string {
    const uint8_t *at;
    uint32_t len;
    int huffman;
} hpack_string;

const uint8_t *hpack_integer(const uint8_t *at, const uint8_t *end, unsigned bits, uint64_t *value)
{
    uint64_t most = (1u << bits) - 1, v;

    BRG_ASSERT_DEBUG(bits >= 1 && bits <= 8);
    if (at == end)
        return NULL;
    v = *at++ & most;
    for (unsigned shift = 0; v >= most || shift; shift += 7) {
        if (at == end || shift >= 7 * HPACK_INTEGER_BYTES)
            return NULL;
        v += (uint64_t)(*at & 0x7f) << shift;
        if (!(*at++ & 0x80))
            break;
    }
    *value = v;
    return v > UINT32_MAX ? NULL : at;
}

static const uint8_t *hpack_string_at(const uint8_t *at, const uint8_t *end, hpack_string *s)
{
    uint64_t len;

    if (at == end)
        return NULL;
    s->huffman = *at >> 7;
    at = hpack_integer(at, end, 7, &len);
    if (!at || len > (uint64_t)(end - at))
        return NULL;
    s->at = at;
    s->len = (uint32_t)len;
    return at + len;
}

/* Bytes of room that a string may need. */
static size_t hpack_string_room(const hpack_string *s)
{
    return s->huffman ? HUFFMAN_ROOM(s->len) : s->len;
}

/* NULL: malformed. */
static char *hpack_string_put(const hpack_string *s, char *out)
{
    ptrdiff_t n;

    if (!s->huffman) {
        memcpy(out, s->at, s->len);
        return out + s->len;
    }
    n = huffman_decode(out, s->at, s->len);
    return n < 0 ? NULL : out + n;
}

/* A line that was put at text. */
static void hpack_list_add(http_field_block *list, char *text, uint32_t name_len,
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

/* An indexed line: RFC 7541, 6.1. */
static const uint8_t *hpack_indexed(hpack_table *t, const uint8_t *at, const uint8_t *end,
                                    http_field_block *list)
{
    uint64_t index;
    uint32_t name_len, value_len;

    at = hpack_integer(at, end, 7, &index);
    if (!at || hpack_table_size_of(t, index, &name_len, &value_len))
        return NULL;
    if ((size_t)name_len + value_len > list->room)
        list->cut = 1;
    if (!list->cut)
        hpack_table_value(t, index, hpack_table_name(t, index, list->text));
    hpack_list_add(list, list->text, name_len, value_len);
    return at;
}

/* Put name and value at out, which has room. -1: malformed. */
static int hpack_literal_put(const hpack_table *t, uint64_t index, const hpack_string *name,
                             const hpack_string *value, char *out, uint32_t *name_len,
                             uint32_t *value_len)
{
    char *behind = index ? hpack_table_name(t, index, out) : hpack_string_put(name, out);
    char *end = behind ? hpack_string_put(value, behind) : NULL;

    if (!end)
        return -1;
    *name_len = (uint32_t)(behind - out);
    *value_len = (uint32_t)(end - behind);
    return 0;
}

/* One that the list has no room for: the table follows all the same, by memory of its own. */
static hpack_result hpack_literal_cut(hpack_table *t, uint64_t index, const hpack_string *name,
                                      const hpack_string *value, size_t room, int indexed,
                                      http_field_block *list)
{
    hpack_result result = HPACK_MALFORMED;
    uint32_t name_len, value_len;
    char *text = malloc(room ? room : 1);

    list->cut = 1;
    if (!text)
        return HPACK_NO_MEMORY;
    if (!hpack_literal_put(t, index, name, value, text, &name_len, &value_len)) {
        hpack_list_add(list, text, name_len, value_len);
        result = indexed && hpack_table_add(t, text, name_len, text + name_len, value_len)
                     ? HPACK_NO_MEMORY
                     : HPACK_OK;
    }
    free(text);
    return result;
}

/* A literal line: RFC 7541, 6.2. */
static hpack_result hpack_literal(hpack_table *t, const uint8_t **at, const uint8_t *end,
                                  unsigned bits, int indexed, http_field_block *list)
{
    hpack_string name = {NULL, 0, 0}, value;
    uint32_t name_len = 0, value_len;
    uint64_t index;
    size_t room;
    char *text = list->text;

    *at = hpack_integer(*at, end, bits, &index);
    if (*at && !index)
        *at = hpack_string_at(*at, end, &name);
    if (*at)
        *at = hpack_string_at(*at, end, &value);
    if (!*at || (index && hpack_table_size_of(t, index, &name_len, &value_len)))
        return HPACK_MALFORMED;
    room = (index ? name_len : hpack_string_room(&name)) + hpack_string_room(&value);
    if (list->cut || room > list->room)
        return hpack_literal_cut(t, index, &name, &value, room, indexed, list);
    if (hpack_literal_put(t, index, &name, &value, text, &name_len, &value_len))
        return HPACK_MALFORMED;
    hpack_list_add(list, text, name_len, value_len);
    if (indexed && hpack_table_add(t, text, name_len, text + name_len, value_len))
        return HPACK_NO_MEMORY;
    return HPACK_OK;
}

/* A change of the table's size, which only the beginning of a block may have: RFC 7541, 4.2. */
static const uint8_t *hpack_size_update(hpack_table *t, const uint8_t *at, const uint8_t *end)
{
    uint64_t size;

    at = hpack_integer(at, end, 5, &size);
    return at && !hpack_table_resize(t, size) ? at : NULL;
}

hpack_result hpack_decode(hpack_table *t, const uint8_t *block, size_t len, http_field_block *list)
{
    const uint8_t *at = block, *end = block + len;
    int fields = 0;

    while (at && at < end) {
        hpack_result result;

        if (*at & 0x80) {
            at = hpack_indexed(t, at, end, list);
            fields = 1;
            continue;
        }
        if ((*at & 0xe0) == 0x20) {
            at = fields ? NULL : hpack_size_update(t, at, end);
            continue;
        }
        fields = 1;
        result = *at & 0x40 ? hpack_literal(t, &at, end, 6, 1, list)
                            : hpack_literal(t, &at, end, 4, 0, list);
        if (result != HPACK_OK)
            return result;
    }
    return at ? HPACK_OK : HPACK_MALFORMED;
}
