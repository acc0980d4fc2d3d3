/* SPDX-License-Identifier: Apache-2.0 */
/* Response heads: a table of good and bad ones, each parsed whole, cut once at every byte, and byte by byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "h1_response_head.h"

static const h1_limits limits = {.line = 200, .field_size = 100, .fields = 10};
static const h1_limits lenient = {.line = 200, .field_size = 100, .fields = 10, .unsafe = 1};

typedef struct response_case {
    const char *text;
    int code; /* 0: refused */
    h1_body_end end;
    uint64_t length;
} response_case;

#define OK_LINE "HTTP/1.1 200 OK\r\n"
#define LONG_100                                           \
    "0123456789012345678901234567890123456789012345678901" \
    "0123456789012345678901234567890123456789012345678901"

static const response_case cases[] = {
    /* RFC 9112, 4 */
    {OK_LINE "\r\n", 200, H1_BODY_CLOSE, 0},
    {"HTTP/1.0 404 Not Found\r\n\r\n", 404, H1_BODY_CLOSE, 0},
    {"HTTP/1.1 200 \r\n\r\n", 200, H1_BODY_CLOSE, 0},
    {"HTTP/1.1 200\r\n\r\n", 200, H1_BODY_CLOSE, 0},
    {"HTTP/1.1 299 caf\xe9 \t x\r\n\r\n", 299, H1_BODY_CLOSE, 0},
    {"HTTP/1.9 200 OK\r\n\r\n", 200, H1_BODY_CLOSE, 0},
    {"HTTP/2.0 200 OK\r\n\r\n", 0, 0, 0},
    {"HTTP/1 200 OK\r\n\r\n", 0, 0, 0},
    {"http/1.1 200 OK\r\n\r\n", 0, 0, 0},
    {"HTTP/1.1  200 OK\r\n\r\n", 0, 0, 0},
    {"HTTP/1.1 20 OK\r\n\r\n", 0, 0, 0},
    {"HTTP/1.1 099 OK\r\n\r\n", 0, 0, 0},
    {"HTTP/1.1 2000 OK\r\n\r\n", 0, 0, 0},
    {"HTTP/1.1 2x0 OK\r\n\r\n", 0, 0, 0},
    {"HTTP/1.1 200 O\rK\r\n\r\n", 0, 0, 0},
    {"HTTP/1.1 200 \x01\r\n\r\n", 0, 0, 0},
    {"\r\n" OK_LINE "\r\n", 0, 0, 0},
    {"garbage", 0, 0, 0},
    {"HTTP/1.1\r\n\r\n", 0, 0, 0},
    {"<html>\r\n\r\n", 0, 0, 0},
    {"HTTP/1.1 200 " LONG_100 LONG_100 "\r\n\r\n", 0, 0, 0},
    /* 5 */
    {OK_LINE "A: b\r\nc:d\r\n\r\n", 200, H1_BODY_CLOSE, 0},
    {OK_LINE "A : b\r\n\r\n", 0, 0, 0},
    {OK_LINE " folded\r\n\r\n", 0, 0, 0},
    {OK_LINE "A: b\r\n c\r\n\r\n", 0, 0, 0},
    {OK_LINE "A\r\n\r\n", 0, 0, 0},
    {OK_LINE "A: " LONG_100 "\r\n\r\n", 0, 0, 0},
    {OK_LINE "a:1\r\na:2\r\na:3\r\na:4\r\na:5\r\na:6\r\na:7\r\na:8\r\na:9\r\na:0\r\na:1\r\n\r\n", 0,
     0, 0},
    /* 6.3 */
    {OK_LINE "Content-Length: 5\r\n\r\n", 200, H1_BODY_LENGTH, 5},
    {OK_LINE "Content-Length: 0\r\n\r\n", 200, H1_BODY_LENGTH, 0},
    {OK_LINE "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 200, H1_BODY_LENGTH, 5},
    {OK_LINE "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 0, 0, 0},
    {OK_LINE "Content-Length: 5, 5\r\n\r\n", 0, 0, 0},
    {OK_LINE "Content-Length: -1\r\n\r\n", 0, 0, 0},
    {OK_LINE "Content-Length: +1\r\n\r\n", 0, 0, 0},
    {OK_LINE "Content-Length: 99999999999999999999\r\n\r\n", 0, 0, 0},
    {OK_LINE "Content-Length:\r\n\r\n", 0, 0, 0},
    {OK_LINE "Transfer-Encoding: chunked\r\n\r\n", 200, H1_BODY_CHUNKED, 0},
    {OK_LINE "Transfer-Encoding: Chunked\r\n\r\n", 200, H1_BODY_CHUNKED, 0},
    {OK_LINE "Transfer-Encoding: gzip, chunked\r\n\r\n", 0, 0, 0},
    {OK_LINE "Transfer-Encoding: gzip\r\n\r\n", 0, 0, 0},
    {OK_LINE "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 0, 0},
    {OK_LINE "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 0, 0, 0},
    {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 0, 0},
    {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", 204, H1_BODY_NONE, 5},
    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, H1_BODY_NONE, 5},
    {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 103, H1_BODY_NONE, 0},
    {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", 101, H1_BODY_TUNNEL, 0},
};

/* The first n bytes, in memory of just that size. */
static h1_result parse_part(http_head *head, const char *text, size_t n, size_t *scanned,
                            char **memory)
{
    *memory = malloc(n ? n : 1);
    memcpy(*memory, text, n);
    return h1_parse_response(head, *memory, n, scanned, &limits);
}

static void check(const response_case *c, size_t first, size_t step)
{
    static http_head head;
    const size_t len = strlen(c->text);
    size_t scanned = 0;
    h1_result res = H1_MORE;
    char *memory = NULL;

    for (size_t n = first; res == H1_MORE; n = n + step < len ? n + step : len) {
        free(memory);
        res = parse_part(&head, c->text, n, &scanned, &memory);
        if (n == len)
            break;
    }
    if (!c->code) {
        assert_int_equal(res, H1_BAD);
        assert_int_equal(head.status, 502);
        assert_non_null(head.why);
    } else {
        assert_int_equal(res, H1_DONE);
        assert_int_equal(head.code, c->code);
        assert_int_equal(head.head_len, len);
        assert_int_equal(h1_response_body(&head, HTTP_METHOD_GET, 0), c->end);
        assert_int_equal(head.content_length, c->length);
    }
    free(memory);
}

static void test_cases(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t len = strlen(cases[i].text);

        check(&cases[i], len, len);
        check(&cases[i], 0, 1);
        for (size_t n = 0; n < len; n++)
            check(&cases[i], n, len);
    }
}

static http_head parsed;

static const http_head *parse(const char *text)
{
    size_t scanned = 0;

    assert_int_equal(h1_parse_response(&parsed, text, strlen(text), &scanned, &limits), H1_DONE);
    return &parsed;
}

static void test_fields_and_reason(void **state)
{
    const char *reason;
    const http_head *head =
        parse("HTTP/1.1 200 All right\r\nConnection: close\r\nX: y\r\n\r\nbody");

    assert_int_equal(h1_response_reason(head, &reason), 9);
    assert_memory_equal(reason, "All right", 9);
    assert_true(head->close);
    assert_int_equal(head->n_fields, 2);
    assert_memory_equal(head->field[1].value, "y", 1);
    assert_int_equal(h1_response_reason(parse("HTTP/1.1 200\r\n\r\n"), &reason), 0);
    assert_int_equal(h1_response_reason(parse("HTTP/1.1 200 \r\n\r\n"), &reason), 0);
}

static void test_methods(void **state)
{
    const http_head *head = parse(OK_LINE "Content-Length: 9\r\n\r\n");

    assert_int_equal(h1_response_body(head, HTTP_METHOD_HEAD, 0), H1_BODY_NONE);
    assert_int_equal(h1_response_body(head, HTTP_METHOD_OTHER, 1), H1_BODY_TUNNEL);
    head = parse("HTTP/1.1 403 No\r\nContent-Length: 9\r\n\r\n");
    assert_int_equal(h1_response_body(head, HTTP_METHOD_OTHER, 1), H1_BODY_LENGTH);
}

static void test_lenient_line_ends(void **state)
{
    static http_head head;
    static const char text[] = "HTTP/1.1 200 OK\nA: b\n\n";
    size_t scanned = 0;

    assert_int_equal(h1_parse_response(&head, text, strlen(text), &scanned, &lenient), H1_DONE);
    assert_int_equal(head.n_fields, 1);
    scanned = 0;
    assert_int_equal(h1_parse_response(&head, text, strlen(text), &scanned, &limits), H1_BAD);
}

/* As uwsgi has it: the version of the client's request. The rest is of HTTP/1.1. */
static void test_versions_of_others(void **state)
{
    static const h1_limits any = {.line = 200, .field_size = 100, .fields = 10, .any_major = 1};
    static const char *const good[] = {"HTTP/2.0 200 Fine\r\n\r\n", "HTTP/3.0 200 Fine\r\n\r\n",
                                       "HTTP/2 200 Fine\r\n\r\n", "HTTP/1.0 200 Fine\r\n\r\n"};
    static const char *const bad[] = {"HTTP/20 200 Fine\r\n\r\n", "HTTP/x.0 200 Fine\r\n\r\n",
                                      "HTTP/2. 200 Fine\r\n\r\n", "HTTP/x 200 Fine\r\n\r\n"};
    static http_head head;
    const char *reason;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        for (size_t n = 1; n < strlen(good[i]); n++) {
            size_t part = 0;

            assert_int_equal(h1_parse_response(&head, good[i], n, &part, &any), H1_MORE);
        }
        size_t scanned = 0;

        assert_int_equal(h1_parse_response(&head, good[i], strlen(good[i]), &scanned, &any),
                         H1_DONE);
        assert_int_equal(head.code, 200);
        assert_int_equal(head.major * 10 + head.minor, i == 3 ? 10 : 11);
        assert_int_equal(h1_response_reason(&head, &reason), 4);
        assert_memory_equal(reason, "Fine", 4);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t scanned = 0;

        assert_int_equal(h1_parse_response(&head, bad[i], strlen(bad[i]), &scanned, &any), H1_BAD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_fields_and_reason),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_lenient_line_ends),
        cmocka_unit_test(test_versions_of_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
