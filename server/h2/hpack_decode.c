/* SPDX-License-Identifier: Apache-2.0 */
/* Field blocks of HPACK to fields (RFC 7541). */
#include "hpack_decode.h"

#include "field_string.h"

#include "brigade/assert.h"

#include <stdlib.h>
#include <string.h>

#define HPACK_INTEGER_BYTES 5 /* behind the prefix: 35 bits */

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
    field_list_add(list, list->text, name_len, value_len);
    return at;
}

/* Put name and value at out, which has room. -1: malformed. */
static int hpack_literal_put(const hpack_table *t, uint64_t index, const field_string *name,
                             const field_string *value, char *out, uint32_t *name_len,
                             uint32_t *value_len)
{
    char *behind = index ? hpack_table_name(t, index, out) : field_string_put(name, out);
    char *end = behind ? field_string_put(value, behind) : NULL;

    if (!end)
        return -1;
    *name_len = (uint32_t)(behind - out);
    *value_len = (uint32_t)(end - behind);
    return 0;
}

/* A literal for which the list has no room: the table follows all the same, by memory of its own.
 */
static hpack_result hpack_literal_cut(hpack_table *t, uint64_t index, const field_string *name,
                                      const field_string *value, size_t room, int indexed,
                                      http_field_block *list)
{
    hpack_result result = HPACK_MALFORMED;
    uint32_t name_len, value_len;
    char *text = malloc(room ? room : 1);

    list->cut = 1;
    if (!text)
        return HPACK_NO_MEMORY;
    if (!hpack_literal_put(t, index, name, value, text, &name_len, &value_len)) {
        field_list_add(list, text, name_len, value_len);
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
    field_string name = {NULL, 0, 0}, value;
    uint32_t name_len = 0, value_len;
    uint64_t index;
    size_t room;
    char *text = list->text;

    *at = hpack_integer(*at, end, bits, &index);
    if (*at && !index)
        *at = field_string_at(*at, end, 7, &name);
    if (*at)
        *at = field_string_at(*at, end, 7, &value);
    if (!*at || (index && hpack_table_size_of(t, index, &name_len, &value_len)))
        return HPACK_MALFORMED;
    room = (index ? name_len : field_string_room(&name)) + field_string_room(&value);
    if (list->cut || room > list->room)
        return hpack_literal_cut(t, index, &name, &value, room, indexed, list);
    if (hpack_literal_put(t, index, &name, &value, text, &name_len, &value_len))
        return HPACK_MALFORMED;
    field_list_add(list, text, name_len, value_len);
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
