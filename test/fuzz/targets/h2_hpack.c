/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field blocks of HTTP/2. The first byte chooses the room of the list, the second where the input is cut into
 * two blocks of one connection. What was decoded is encoded, and must be decoded to the same.
 * Covers: server/h2/hpack_decode.c server/h2/hpack_encode.c server/h2/hpack_table.c
 *     server/h2/huffman.c
 */
#include "hpack_decode.h"
#include "hpack_encode.h"
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
    http_field_block list = {.text = text[1], .room = sizeof text[1], .field = field, .most = FIELDS};
    hpack_table t;
    uint8_t *end = block;

    for (uint32_t i = 0; i < was->n; i++) {
        const http_field *f = &was->field[i];

        end = hpack_put_line(end, f->name, f->name_len, f->value, f->value_len, (int)i & 1);
    }
    hpack_table_init(&t, 4096);
    check(hpack_decode(&t, block, (size_t)(end - block), &list) == HPACK_OK);
    check(list.n == was->n && !list.cut && t.n == 0);
    for (uint32_t i = 0; i < was->n; i++) {
        const http_field *a = &was->field[i], *b = &field[i];

        check(a->name_len == b->name_len && a->value_len == b->value_len);
        check(!memcmp(a->name, b->name, a->name_len) && !memcmp(a->value, b->value, a->value_len));
    }
    hpack_table_free(&t);
}

static hpack_result one(hpack_table *t, const uint8_t *data, size_t size, size_t room)
{
    http_field field[FIELDS];
    http_field_block list = {.text = text[0], .room = room, .field = field, .most = FIELDS};
    hpack_result result = hpack_decode(t, data, size, &list);

    check(t->size <= t->max_size && t->max_size <= t->limit);
    check(list.text >= text[0] && list.text <= text[0] + room && list.n <= FIELDS);
    if (result == HPACK_OK && !list.cut)
        again(&list);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hpack_table t;
    size_t room, cut;

    if (size < 2)
        return 0;
    room = data[0] ? (size_t)data[0] * 256 : 7;
    cut = (size_t)data[1] * (size - 2) / 255;
    data += 2;
    size -= 2;
    hpack_table_init(&t, 4096);
    if (one(&t, data, cut, room) == HPACK_OK)
        one(&t, data + cut, size - cut, room);
    hpack_table_free(&t);
    return 0;
}
