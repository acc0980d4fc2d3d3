/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a response that a running HTTP/2 stream sends. The first byte chooses the pieces in which it comes; the
 * field blocks and the data must be the same in one piece, and each block must be one that can be decoded.
 * Covers: server/streams/stream_answer.c
 */
#include "h2_private.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct outcome {
    http_streams session;
    http_stream stream;
    stream_pipe pipe;
    size_t blocks, bytes;
} outcome;

static void check(int right)
{
    if (!right)
        abort();
}

static void check_block(outcome *o, stream_block *b)
{
    static char text[1 << 20];
    static http_field field[4096];
    http_field_block list = {.text = text, .room = sizeof text, .field = field, .most = 4096};
    hpack_table t;

    hpack_table_init(&t, 4096);
    check(hpack_decode(&t, b->data, b->len, &list) == HPACK_OK && t.n == 0);
    hpack_table_free(&t);
    o->blocks += b->len + 1;
    shared_release(&b->ref);
}

static void run(outcome *o, const uint8_t *data, size_t size, size_t step)
{
    memset(o, 0, sizeof *o);
    o->session.protocol = &h2_protocol;
    o->session.terms.max_block = 1 << 20;
    o->stream.session = &o->session;
    o->stream.pipe = &o->pipe;
    o->pipe.blocks_tail = &o->pipe.blocks;
    o->pipe.out_most = 1 << 24;
    for (size_t at = 0; at < size && !o->pipe.answer.bad; at += step)
        stream_answer_take(&o->stream, (const char *)data + at,
                           step < size - at ? step : size - at);
    stream_answer_end(&o->stream);
    for (stream_block *b = o->pipe.blocks, *next; b; b = next) {
        next = b->next;
        check_block(o, b);
    }
    if (o->pipe.trailers)
        check_block(o, o->pipe.trailers);
    for (stream_chunk *c = o->pipe.out, *next; c; c = next) {
        next = c->next;
        o->bytes += c->len;
        shared_release(&c->ref);
    }
    check(o->bytes == o->pipe.out_bytes);
    stream_answer_free(&o->pipe.answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    outcome whole, parts;

    if (!size)
        return 0;
    run(&whole, data + 1, size - 1, size);
    run(&parts, data + 1, size - 1, (size_t)data[0] + 1);
    check(whole.bytes == parts.bytes && whole.blocks == parts.blocks);
    check(whole.pipe.answer.bad == parts.pipe.answer.bad);
    return 0;
}
