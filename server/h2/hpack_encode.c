/* SPDX-License-Identifier: Apache-2.0 */
/* Fields to field blocks of HPACK, without the dynamic table. */
#include "hpack_encode.h"

#include "hpack_table.h"
#include "huffman.h"

#include "brigade/assert.h"

#include <string.h>

#define HPACK_STATUS 8 /* ":status" in the static table: 200 and six others */
#define HPACK_STATUS_LAST 14

uint8_t *hpack_put_integer(uint8_t *out, uint8_t first, unsigned bits, uint64_t value)
{
    uint64_t most = (1u << bits) - 1;

    BRG_ASSERT_DEBUG(bits >= 1 && bits <= 8 && !(first & most));
    if (value < most) {
        *out++ = (uint8_t)(first | value);
        return out;
    }
    *out++ = (uint8_t)(first | most);
    for (value -= most; value >= 0x80; value >>= 7)
        *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

uint8_t *hpack_put_string(uint8_t *out, const char *text, size_t len)
{
    size_t coded = huffman_size(text, len);

    if (coded < len)
        return huffman_encode(hpack_put_integer(out, 0x80, 7, coded), text, len);
    out = hpack_put_integer(out, 0, 7, len);
    memcpy(out, text, len);
    return out + len;
}

uint8_t *hpack_put_status(uint8_t *out, int status)
{
    char text[3] = {(char)('0' + status / 100), (char)('0' + status / 10 % 10),
                    (char)('0' + status % 10)};
    uint8_t *value;

    BRG_ASSERT(status >= 100 && status <= 999);
    for (unsigned i = HPACK_STATUS; i <= HPACK_STATUS_LAST; i++)
        if (!memcmp(hpack_static(i)->value, text, sizeof text)) {
            *out = (uint8_t)(0x80 | i);
            return out + 1;
        }
    return hpack_put_plain(out, HPACK_STATUS, text, sizeof text, &value);
}

uint8_t *hpack_put_line(uint8_t *out, const char *name, size_t name_len, const char *value,
                        size_t value_len, int secret)
{
    unsigned index = hpack_static_of_name(name, name_len);

    out = hpack_put_integer(out, secret ? 0x10 : 0, 4, index);
    if (!index)
        out = hpack_put_string(out, name, name_len);
    return hpack_put_string(out, value, value_len);
}

uint8_t *hpack_put_plain(uint8_t *out, unsigned index, const char *text, size_t len,
                         uint8_t **value)
{
    out = hpack_put_integer(out, 0, 4, index);
    out = hpack_put_integer(out, 0, 7, len);
    *value = out;
    memcpy(out, text, len);
    return out + len;
}
