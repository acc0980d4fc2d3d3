/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_STREAM_H
#define BRIGADE_TEST_STREAM_H

/**
 * @file test_stream.h
 * A stream without a connection, of a protocol that writes a field block as the text ":status=200 name=value ".
 *
 * Include after cmocka.h.
 */
#include "streams.h"
#include <stdio.h>
#include <string.h>

static uint8_t *text_put_status(uint8_t *out, int status)
{
    return out + sprintf((char *)out, ":status=%d ", status);
}

static uint8_t *text_put_line(uint8_t *out, const char *name, size_t name_len, const char *value,
                              size_t value_len)
{
    return out + sprintf((char *)out, "%.*s=%.*s ", (int)name_len, name, (int)value_len, value);
}

static const stream_protocol text_protocol = {.put_status = text_put_status,
                                              .put_line = text_put_line};

typedef struct fixture {
    http_streams session;
    http_stream stream;
    stream_pipe pipe;
    brg_conn bc;
} fixture;

static inline void fixture_begin(fixture *f, int is_head)
{
    memset(f, 0, sizeof *f);
    f->session.protocol = &text_protocol;
    f->session.terms.max_block = 65536;
    f->stream.session = &f->session;
    f->stream.pipe = &f->pipe;
    f->stream.is_head = (uint8_t)is_head;
    f->bc.below = &f->stream;
    f->pipe.blocks_tail = &f->pipe.blocks;
    f->pipe.out_most = 1 << 20;
}

/** The text of its field blocks, data and trailers, which are freed. */
typedef struct fixture_text {
    char blocks[2048], data[2048], trailers[1024];
} fixture_text;

static inline void fixture_take(fixture *f, fixture_text *t)
{
    memset(t, 0, sizeof *t);
    for (stream_block *b = f->pipe.blocks, *next; b; b = next) {
        next = b->next;
        strncat(t->blocks, (char *)b->data, b->len);
        shared_release(&b->ref);
    }
    for (stream_chunk *k = f->pipe.out, *next; k; k = next) {
        next = k->next;
        strncat(t->data, (char *)k->data, k->len);
        shared_release(&k->ref);
    }
    if (f->pipe.trailers) {
        strncat(t->trailers, (char *)f->pipe.trailers->data, f->pipe.trailers->len);
        shared_release(&f->pipe.trailers->ref);
    }
    stream_answer_free(&f->pipe.answer);
}

#endif
