/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the text of an HTTP/1 response to field blocks and data: each response as a whole, cut once at every byte, and
 * byte by byte; the outcome must be the same.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "test_stream.h"

typedef struct answer_case {
    const char *text, *fields, *data, *trailers;
    int is_head, bad;
} answer_case;

#define OK200 "HTTP/1.1 200 OK\r\n"

static const answer_case cases[] = {
    {OK200 "Content-Length: 3\r\nX-A:  b \r\n\r\nabc", ":status=200 content-length=3 x-a=b ", "abc",
     NULL, 0, 0},
    {OK200 "Content-Length: 3\r\n\r\nabcdef", ":status=200 content-length=3 ", "abc", NULL, 0, 0},
    {OK200 "Content-Length: 3\r\n\r\nab", ":status=200 content-length=3 ", "ab", NULL, 0, 1},
    {OK200 "Content-Length: 0\r\n\r\n", ":status=200 content-length=0 ", "", NULL, 0, 0},
    {OK200 "Content-Length: 3\r\n\r\nabc", ":status=200 content-length=3 ", "", NULL, 1, 0},
    {OK200 "\r\nabc", ":status=200 ", "abc", NULL, 0, 0},
    {"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n", ":status=304 etag=\"x\" ", "", NULL, 0, 0},
    {"HTTP/1.1 204 No Content\r\n\r\n", ":status=204 ", "", NULL, 0, 0},
    {"HTTP/1.1 100 Continue\r\n\r\n" OK200 "Content-Length: 1\r\n\r\nx",
     ":status=100 :status=200 content-length=1 ", "x", NULL, 0, 0},
    {"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" OK200 "Content-Length: 1\r\n\r\nx",
     ":status=200 content-length=1 ", "x", NULL, 0, 0},
    {OK200 "Connection: close\r\nKeep-Alive: x\r\nUpgrade: h2\r\nTransfer-Encoding: chunked\r\n\r\n"
           "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
     ":status=200 ", "abcde", NULL, 0, 0},
    {OK200 "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-End: 1\r\n\r\n", ":status=200 ", "a",
     "x-end=1 ", 0, 0},
    {OK200 "Content-Length: 3\r\nTransfer-Encoding: "
           "chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nX-End: 1\r\n\r\n",
     "", "", NULL, 0, 1},
    {OK200 "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", "", "", NULL, 0, 1},
    {OK200 "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "", "", NULL, 0, 1},
    {OK200 "X-A\r\n\r\nabc", "", "", NULL, 0, 1},
    {"HTTP/1.0 200\nX-A: b\n\nabc", ":status=200 x-a=b ", "abc", NULL, 0, 0},
    {OK200 "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nConnection: x\r\n\r\n", ":status=200 ",
     "a", NULL, 0, 0},
    {OK200 "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", ":status=200 ", "abc", NULL, 0, 1},
    {OK200 "Transfer-Encoding: chunked\r\n\r\n0\r\n", ":status=200 ", "", NULL, 0, 1},
    {OK200 "Transfer-Encoding: chunked\r\n\r\nzz\r\n", ":status=200 ", "", NULL, 0, 1},
    {OK200 "X-A: b\r\n", "", "", NULL, 0, 1},
    {"nonsense\r\n\r\n", "", "", NULL, 0, 1},
    {"HTTP/1.1 99 x\r\n\r\n", "", "", NULL, 0, 1},
    {"", "", "", NULL, 0, 1},
};

/* Look at what came, and free it. */
static void fixture_end(fixture *f, const answer_case *c)
{
    fixture_text t;

    stream_answer_end(&f->stream);
    fixture_take(f, &t);
    assert_string_equal(t.blocks, c->fields);
    assert_string_equal(t.data, c->data);
    assert_string_equal(t.trailers, c->trailers ? c->trailers : "");
    assert_int_equal(f->pipe.answer.bad, c->bad);
}

static void feed(const answer_case *c, size_t cut, size_t step)
{
    const size_t len = strlen(c->text);
    fixture f;

    fixture_begin(&f, c->is_head);
    for (size_t at = 0; at < len && !f.pipe.answer.bad;) {
        size_t n = at < cut ? cut - at : step;

        n = n < len - at ? n : len - at;
        stream_answer_take(&f.stream, c->text + at, n);
        at += n;
    }
    fixture_end(&f, c);
}

static void every_cut(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t cut = 0; cut <= strlen(cases[i].text); cut++)
            feed(&cases[i], cut, (size_t)-1);
        feed(&cases[i], 0, 1);
    }
}

/* What the queue does not take is left to the caller. */
static void full_queue(void **state)
{
    static const char head[] = OK200 "Content-Length: 100000\r\n\r\n";
    static char body[100000];
    size_t done = 0, n;
    fixture f;

    fixture_begin(&f, 0);
    f.pipe.out_most = 40000;
    assert_int_equal(stream_answer_take(&f.stream, head, sizeof head - 1), sizeof head - 1);
    while ((n = stream_answer_take(&f.stream, body + done, sizeof body - done)) > 0)
        done += n;
    assert_true(done >= 40000 && done <= 40000 + STREAM_CHUNK && f.pipe.out_bytes == done);
    assert_false(f.pipe.over);
    shared_release(&f.pipe.blocks->ref);
    for (stream_chunk *k = f.pipe.out, *next; k; k = next) {
        next = k->next;
        shared_release(&k->ref);
    }
}

/* A head that is kept says which server it is of, or nothing where that has no name. */
static void name_of_the_server(void **state)
{
    http_answer a = {.status = 200, .server = "S", .date = "D"};
    http_stored_head *head = stream_codec_serialise(&text_protocol, &a, NULL);

    assert_int_equal(head->len, strlen(":status=200 date=D server=S "));
    assert_memory_equal(head->text, ":status=200 date=D server=S ", head->len);
    free(head);
    a.server = "";
    head = stream_codec_serialise(&text_protocol, &a, NULL);
    assert_int_equal(head->len, strlen(":status=200 date=D "));
    assert_memory_equal(head->text, ":status=200 date=D ", head->len);
    free(head);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_cut), cmocka_unit_test(full_queue),
                                       cmocka_unit_test(name_of_the_server)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
