/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field sections of HTTP/3. The first byte chooses the room of the list. What was decoded is encoded, and must be decoded to the
 * same.
 * Covers: server/h3/qpack_decode.c server/h3/qpack_encode.c
 */
#include "qpack.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIELDS 64

static char text[2][65536];
static uint8_t block[65536 + FIELDS * 32];

static void check(int right)
{
    if (!right)
        abort();
}

static void again(const http_field_block *was)
{
    http_field field[FIELDS];
    http_field_block list = {
        .text = text[1], .room = sizeof text[1], .field = field, .most = FIELDS};
    uint8_t *end = block + QPACK_PREFIX;

    for (uint32_t i = 0; i < was->n; i++) {
        const http_field *f = &was->field[i];
        uint8_t *begin = end;

        end = i & 1 && f->name_len
                  ? qpack_put_plain(end, f->name, f->name_len, f->value, f->value_len)
                  : qpack_put_line(end, f->name, f->name_len, f->value, f->value_len);
        check((size_t)(end - begin) <= (size_t)f->name_len + f->value_len + 16);
    }
    check(!qpack_decode(block, (size_t)(end - block), &list));
    check(list.n == was->n && !list.cut);
    for (uint32_t i = 0; i < was->n; i++) {
        const http_field *a = &was->field[i], *b = &field[i];

        check(a->name_len == b->name_len && a->value_len == b->value_len);
        check(!memcmp(a->name, b->name, a->name_len) && !memcmp(a->value, b->value, a->value_len));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    http_field field[FIELDS];
    http_field_block list = {.text = text[0], .field = field, .most = FIELDS};

    if (!size)
        return 0;
    list.room = data[0] ? (size_t)data[0] * 256 : 7;
    if (qpack_decode(data + 1, size - 1, &list))
        return 0;
    check(list.text <= text[0] + sizeof text[0] && list.n <= FIELDS);
    if (!list.cut)
        again(&list);
    return 0;
}
