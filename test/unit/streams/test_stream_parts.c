/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Responses in parts: heads and trailers as fields, data between them, and the end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "test_stream.h"

/* "Name: value|Name: value" as fields, or NULL: no such part. */
typedef struct parts_case {
    int interim;
    int status;
    int whole;
    const char *head, *data;
    const char *end; /* NULL: the body breaks off */
    int is_head;
    /* what comes of it: */
    const char *blocks, *out, *trailers;
    int bad, over_at_head;
} parts_case;

static const parts_case cases[] = {
    {0, 200, 0, "Content-Length: 3|X-A: b", "abc", "", 0, ":status=200 content-length=3 x-a=b ",
     "abc", "", 0, 0},
    {0, 200, 0, "Content-Length: 3", "abcdef", "", 0, ":status=200 content-length=3 ", "abc", "", 0,
     0},
    {0, 200, 0, "@AZ[`az{~-09MIXED_Case\xc1\xda!: V", "a", "", 0,
     ":status=200 @az[`az{~-09mixed_case\xc1\xda!=V ", "a", "", 0, 0},
    {0, 200, 0, "Content-Length: 3", "ab", "", 0, ":status=200 content-length=3 ", "ab", "", 1, 0},
    {0, 200, 0, "Content-Length: 0", "", "", 0, ":status=200 content-length=0 ", "", "", 0, 0},
    {0, 200, 0, "Content-Length: 0", "", "X-End: 1", 0, ":status=200 content-length=0 ", "",
     "x-end=1 ", 0, 0},
    {0, 200, 0, "Content-Length: 3", "abc", "", 1, ":status=200 content-length=3 ", "", "", 0, 1},
    {0, 200, 1, "Content-Length: 3", "abc", "", 0, ":status=200 content-length=3 ", "", "", 0, 1},
    {0, 200, 0, "Content-Length: x", "abc", "", 0, ":status=200 content-length=x ", "abc", "", 0,
     0},
    {0, 304, 0, "ETag: \"x\"", "", "", 0, ":status=304 etag=\"x\" ", "", "", 0, 1},
    {0, 204, 0, "", "abc", "", 0, ":status=204 ", "", "", 0, 1},
    {0, 418, 0, "", "abc", "", 0, ":status=418 ", "abc", "", 0, 0},
    {100, 200, 0, "", "x", "", 0, ":status=100 :status=200 ", "x", "", 0, 0},
    {103, 200, 0, "", "x", "", 0, ":status=200 ", "x", "", 0, 0},
    {0, 200, 0,
     "Connection: close|Keep-Alive: x|Upgrade: h2|Transfer-Encoding: chunked|Proxy-Connection: "
     "x|TE: x",
     "abcde", "", 0, ":status=200 te=x ", "abcde", "", 0, 0},
    {0, 200, 0, "", "a", "X-End: 1", 0, ":status=200 ", "a", "x-end=1 ", 0, 0},
    {0, 200, 0, "Content-Length: 2", "a", "X-End: 1", 0, ":status=200 content-length=2 ", "a", "",
     1, 0},
    {0, 200, 0, "", "a", "Connection: x", 0, ":status=200 ", "a", "", 0, 0},
    {0, 200, 0, "", "abc", NULL, 0, ":status=200 ", "abc", "", 1, 0},
    {0, 200, 0, "Content-Length: 3", "abc", NULL, 0, ":status=200 content-length=3 ", "abc", "", 1,
     0},
    {0, 0, 0, NULL, "", "", 0, "", "", "", 1, 0},
};

static shared_ref *encode(fixture *f, int status, int whole, const char *text)
{
    http_field field[16];
    stream_fields fields = {.status = status, .is_whole = whole, .field = field};
    shared_ref *part;

    while (*text) {
        const size_t name = strcspn(text, ":"), value = strcspn(text + name + 2, "|");

        field[fields.n++] = (http_field){.name = text,
                                         .name_len = (uint32_t)name,
                                         .value = text + name + 2,
                                         .value_len = (uint32_t)value};
        text += name + 2 + value;
        text += *text == '|';
    }
    assert_non_null(part = stream_parts_encode(&f->bc, &fields));
    return part;
}

static void fixture_end(fixture *f, const parts_case *c)
{
    const size_t out_bytes = f->pipe.out_bytes;
    fixture_text t;

    stream_answer_end(&f->stream);
    for (const stream_block *b = f->pipe.blocks; b; b = b->next)
        assert_int_equal(b->last, !b->next && c->over_at_head);
    fixture_take(f, &t);
    assert_int_equal(strlen(t.data), out_bytes);
    assert_string_equal(t.blocks, c->blocks);
    assert_string_equal(t.data, c->out);
    assert_string_equal(t.trailers, c->trailers);
    assert_int_equal(f->pipe.answer.bad, c->bad);
    assert_int_equal(f->pipe.over, !c->bad);
}

/* @param way  how the data comes: copied; a byte at a time; as a chunk of its own */
static void send_data(fixture *f, const char *data, int way)
{
    const size_t len = strlen(data);
    stream_chunk *c;
    void *given;

    if (way == 2 && len && f->pipe.answer.state == STREAM_ANSWER_PARTS) {
        assert_non_null(given = strdup(data));
        assert_non_null(c = stream_chunk_of(given, free, given, len));
        assert_int_equal(stream_answer_add(&f->stream, c), len);
        return;
    }
    for (size_t at = 0; at < len; at += way ? 1 : len)
        assert_int_equal(stream_answer_take(&f->stream, data + at, way ? 1 : len), way ? 1 : len);
}

static void every_case(void **state)
{
    for (size_t i = 0; i < 3 * (sizeof cases / sizeof *cases); i++) {
        const parts_case *c = &cases[i / 3];
        fixture f;

        fixture_begin(&f, c->is_head);
        if (c->interim)
            assert_true(stream_parts_put(&f.stream, encode(&f, c->interim, 0, "")) >= 0);
        if (c->head)
            assert_true(stream_parts_put(&f.stream, encode(&f, c->status, c->whole, c->head)) > 0);
        send_data(&f, c->data, (int)(i % 3));
        if (c->end)
            stream_parts_put(&f.stream, *c->end ? encode(&f, 0, 0, c->end) : NULL);
        fixture_end(&f, c);
    }
}

/* Text that a module wrote before a head, a second head, and a head that is too long are no response. */
static void wrong_order(void **state)
{
    fixture f;

    fixture_begin(&f, 0);
    stream_answer_take(&f.stream, "HTTP/1.1 200", 12);
    assert_int_equal(stream_parts_put(&f.stream, encode(&f, 200, 0, "")), -1);
    assert_true(f.pipe.answer.bad);
    stream_answer_free(&f.pipe.answer);

    fixture_begin(&f, 0);
    assert_true(stream_parts_put(&f.stream, encode(&f, 200, 0, "")) > 0);
    assert_int_equal(stream_parts_put(&f.stream, encode(&f, 200, 0, "")), -1);
    assert_true(f.pipe.answer.bad);
    shared_release(&f.pipe.blocks->ref);

    fixture_begin(&f, 0);
    f.session.terms.max_block = 10;
    assert_int_equal(stream_parts_put(&f.stream, encode(&f, 200, 0, "X-Long: 0123456789")), -1);
    assert_true(f.pipe.answer.bad && !f.pipe.blocks);
}

/* A little goes behind what is there, much gets a chunk of its own, and a full queue takes nothing. */
static void room(void **state)
{
    fixture f;
    int own;

    fixture_begin(&f, 0);
    assert_true(stream_parts_put(&f.stream, encode(&f, 200, 0, "")) > 0);
    assert_int_equal(stream_answer_room(&f.stream, 100, &own), 100);
    assert_true(own);
    assert_int_equal(stream_answer_take(&f.stream, "abc", 3), 3);
    assert_int_equal(stream_answer_room(&f.stream, 100, &own), 100);
    assert_false(own);
    assert_int_equal(stream_answer_room(&f.stream, 1 << 20, &own), STREAM_CHUNK);
    assert_true(own);
    f.pipe.out_most = 3;
    assert_int_equal(stream_answer_room(&f.stream, 100, &own), 0);
    shared_release(&f.pipe.blocks->ref);
    shared_release(&f.pipe.out->ref);
}

/* A chunk that was sent whole, and was kept to be filled further, is not before the next one. */
static void behind_what_was_sent(void **state)
{
    fixture f;

    fixture_begin(&f, 0);
    assert_true(stream_parts_put(&f.stream, encode(&f, 200, 0, "")) > 0);
    assert_int_equal(stream_answer_take(&f.stream, "abc", 3), 3);
    f.pipe.out->off = f.pipe.out->len; /* as the output does */
    f.pipe.out_bytes = f.session.out_bytes = 0;
    send_data(&f, "defghi", 2);
    assert_int_equal(f.pipe.out->len, 6);
    assert_ptr_equal(f.pipe.out, f.pipe.out_last);
    assert_int_equal(f.pipe.out_bytes, 6);
    shared_release(&f.pipe.blocks->ref);
    shared_release(&f.pipe.out->ref);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case), cmocka_unit_test(wrong_order),
                                       cmocka_unit_test(room),
                                       cmocka_unit_test(behind_what_was_sent)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
