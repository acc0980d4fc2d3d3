/* SPDX-License-Identifier: Apache-2.0 */
/* Fields to field sections of QPACK, without the dynamic table. */
#include "qpack.h"
#include "hpack_encode.h"
#include "huffman.h"
#include "brigade/assert.h"
#include <string.h>

/* A line of the static table: RFC 9204, 4.5.2. */
static uint8_t *put_indexed(uint8_t *out, int index)
{
    return hpack_put_integer(out, 0xc0, 6, (uint64_t)index);
}

/* The beginning of a literal line: its name by the static table (4.5.4), or as it is (4.5.6). */
static uint8_t *put_name(uint8_t *out, int index, const char *name, size_t len)
{
    size_t coded;

    if (index >= 0)
        return hpack_put_integer(out, 0x50, 4, (uint64_t)index);
    coded = huffman_size(name, len);
    if (coded < len)
        return huffman_encode(hpack_put_integer(out, 0x28, 3, coded), name, len);
    out = hpack_put_integer(out, 0x20, 3, len);
    memcpy(out, name, len);
    return out + len;
}

/* The entry with name and value, from the first of that name on: those of one name follow each other, but for :status. -1: none */
static int find_line(int index, const char *name, size_t name_len, const char *value,
                     size_t value_len)
{
    for (int i = index; i >= 0 && i < QPACK_STATIC_ENTRIES; i++) {
        const qpack_line *l = qpack_static((unsigned)i);

        if (l->name_len != name_len || memcmp(l->name, name, name_len) != 0)
            return -1;
        if (l->value_len == value_len && !memcmp(l->value, value, value_len))
            return i;
    }
    return -1;
}

uint8_t *qpack_put_status(uint8_t *out, int status)
{
    static const uint8_t known[] = {24, 25, 26, 27, 28, 63, 64, 65, 66, 67, 68, 69, 70, 71};
    char text[3] = {(char)('0' + status / 100), (char)('0' + status / 10 % 10),
                    (char)('0' + status % 10)};

    BRG_ASSERT(status >= 100 && status <= 999);
    for (size_t i = 0; i < sizeof known; i++)
        if (!memcmp(qpack_static(known[i])->value, text, sizeof text))
            return put_indexed(out, known[i]);
    return qpack_put_plain(out, ":status", 7, text, sizeof text);
}

uint8_t *qpack_put_line(uint8_t *out, const char *name, size_t name_len, const char *value,
                        size_t value_len)
{
    const int index = qpack_static_of_name(name, name_len);
    const int line = find_line(index, name, name_len, value, value_len);

    if (line >= 0)
        return put_indexed(out, line);
    return hpack_put_string(put_name(out, index, name, name_len), value, value_len);
}

uint8_t *qpack_put_plain(uint8_t *out, const char *name, size_t name_len, const char *value,
                         size_t value_len)
{
    BRG_ASSERT_DEBUG(name_len > 0);
    out = put_name(out, qpack_static_of_name(name, name_len), name, name_len);
    out = hpack_put_integer(out, 0, 7, value_len);
    memcpy(out, value, value_len);
    return out + value_len;
}
