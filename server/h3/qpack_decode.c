/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of clients that were told of a dynamic table of 0 bytes. */
#include "qpack.h"
#include "field_string.h"
#include "hpack_decode.h"
#include "brigade/assert.h"
#include <string.h>

/* A line whose name and value the static table has: RFC 9204, 4.5.2. */
static const uint8_t *decode_indexed(const uint8_t *at, const uint8_t *end, http_field_block *list)
{
    const qpack_line *l;
    uint64_t index;

    if (!(*at & 0x40) || !(at = hpack_integer(at, end, 6, &index)) || index >= QPACK_STATIC_ENTRIES)
        return NULL;
    l = qpack_static((unsigned)index);
    if ((size_t)l->name_len + l->value_len > list->room)
        list->cut = 1;
    if (!list->cut) {
        memcpy(list->text, l->name, l->name_len);
        memcpy(list->text + l->name_len, l->value, l->value_len);
    }
    field_list_add(list, list->text, l->name_len, l->value_len);
    return at;
}

/* A literal for which the list has no room: its size counts, and it must be well-formed as far as
 * it is seen. */
static const uint8_t *literal_cut(const uint8_t *at, size_t name_len, const field_string *value,
                                  http_field_block *list)
{
    BRG_ASSERT(name_len <= UINT32_MAX);
    list->cut = 1;
    field_list_add(list, list->text, (uint32_t)name_len, (uint32_t)field_string_room(value));
    return at;
}

/* @param l  the name, of the static table; NULL: @a name is it */
static const uint8_t *decode_literal(const uint8_t *at, const uint8_t *end, const qpack_line *l,
                                     const field_string *name, http_field_block *list)
{
    field_string value;
    char *text = list->text, *behind, *last;
    size_t name_room = l ? l->name_len : field_string_room(name);

    if (!(at = field_string_at(at, end, 7, &value)))
        return NULL;
    if (list->cut || name_room + field_string_room(&value) > list->room)
        return literal_cut(at, name_room, &value, list);
    if (l) {
        memcpy(text, l->name, l->name_len);
        behind = text + l->name_len;
    } else if (!(behind = field_string_put(name, text))) {
        return NULL;
    }
    if (!(last = field_string_put(&value, behind)))
        return NULL;
    field_list_add(list, text, (uint32_t)(behind - text), (uint32_t)(last - behind));
    return at;
}

/* 4.5.4 */
static const uint8_t *decode_named(const uint8_t *at, const uint8_t *end, http_field_block *list)
{
    uint64_t index;

    if (!(*at & 0x10) || !(at = hpack_integer(at, end, 4, &index)) || index >= QPACK_STATIC_ENTRIES)
        return NULL;
    return decode_literal(at, end, qpack_static((unsigned)index), NULL, list);
}

/* 4.5.6 */
static const uint8_t *decode_plain(const uint8_t *at, const uint8_t *end, http_field_block *list)
{
    field_string name;

    at = field_string_at(at, end, 3, &name);
    return at ? decode_literal(at, end, NULL, &name, list) : NULL;
}

/* 4.5.1: neither a required insert nor a base. */
static const uint8_t *decode_prefix(const uint8_t *at, const uint8_t *end)
{
    uint64_t required, base;

    at = hpack_integer(at, end, 8, &required);
    if (!at || required || at == end || *at & 0x80)
        return NULL;
    return hpack_integer(at, end, 7, &base);
}

int qpack_decode(const uint8_t *block, size_t len, http_field_block *list)
{
    const uint8_t *const end = block + len, *at = decode_prefix(block, end);

    while (at && at < end)
        if (*at & 0x80)
            at = decode_indexed(at, end, list);
        else if (*at & 0x40)
            at = decode_named(at, end, list);
        else if (*at & 0x20)
            at = decode_plain(at, end, list);
        else
            return -1; /* behind the base of a dynamic table */
    return at ? 0 : -1;
}
