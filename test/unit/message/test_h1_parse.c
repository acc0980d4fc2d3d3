/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request heads: a table of good and bad ones. Each is parsed whole, cut once at every byte, and
 * byte by byte; the outcome must be the same.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "h1_parse.h"

static const h1_limits strict = {.line = 8190, .field_size = 8190, .fields = 100, .allow_09 = 1};
static const h1_limits unsafe = {
    .line = 8190, .field_size = 8190, .fields = 100, .allow_09 = 1, .unsafe = 1};
static const h1_limits tight = {.line = 50, .field_size = 30, .fields = 3};

typedef struct head_case {
    const char *text;
    int strict_status, unsafe_status; /* 0 = taken */
} head_case;

#define H "Host: x\r\n"
#define G "GET / HTTP/1.1\r\n"

static const head_case cases[] = {
    {G H "\r\n", 0, 0},
    {"\r\n" G H "\r\n", 0, 0},
    {"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n" G H "\r\n", 0, 0},
    {"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n" G H "\r\n", 400, 400},
    {"\n" G H "\r\n", 400, 0},
    {"\r" G H "\r\n", 400, 400},
    {"GET / HTTP/1.1\nHost: x\n\n", 400, 0},
    {G "Host: x\n\r\n", 400, 0},
    {G H "\n", 400, 0},
    {"GET  / HTTP/1.1\r\n" H "\r\n", 400, 0},
    {"GET /  HTTP/1.1\r\n" H "\r\n", 400, 0},
    {"GET / HTTP/1.1 \r\n" H "\r\n", 400, 0},
    {" GET / HTTP/1.1\r\n" H "\r\n", 400, 400},
    {"GET\t/ HTTP/1.1\r\n" H "\r\n", 400, 400},
    {"GET / x HTTP/1.1\r\n" H "\r\n", 400, 400},
    {"G@T / HTTP/1.1\r\n" H "\r\n", 400, 0},
    {"FOO / HTTP/1.1\r\n" H "\r\n", 0, 0},
    {"GET /a#b HTTP/1.1\r\n" H "\r\n", 400, 0},
    {"GET /\x01 HTTP/1.1\r\n" H "\r\n", 400, 400},
    {"GET /\x7f HTTP/1.1\r\n" H "\r\n", 400, 400},
    {"GET /\x80\xff HTTP/1.1\r\n" H "\r\n", 0, 0},
    {"GET /\"<>^`{|}\\ HTTP/1.1\r\n" H "\r\n", 0, 0},
    {"GET / HTTP/2.0\r\n" H "\r\n", 505, 505},
    {"GET / HTTP/1.2\r\n" H "\r\n", 0, 0},
    {"GET / HTTP/0.9\r\n" H "\r\n", 400, 400},
    {"GET / HTTP/1.10\r\n" H "\r\n", 400, 400},
    {"GET / HTTP/11\r\n" H "\r\n", 400, 400},
    {"GET / HTTP/1\r\n" H "\r\n", 400, 400},
    {"GET / HTTP/3\r\n" H "\r\n", 400, 400},
    {"GET / http/1.1\r\n" H "\r\n", 400, 0},
    {"GET / FTP/1.1\r\n" H "\r\n", 400, 400},
    {"GET / HTTP/1.1\r\r\n" H "\r\n", 400, 400},
    {"GET /\r\n", 0, 0},
    {"GET / \r\n", 0, 0},
    {"GET /\rX\r\n", 400, 400},
    {"POST /\r\n", 400, 0},
    {"GET HTTP/1.1\r\n\r\n", 400, 400},
    {"GET\r\n\r\n", 400, 400},
    {"GET \r\n\r\n", 400, 400},
    {"/\r\n\r\n", 400, 400},
    {"GET / HTTP/1.1\r\n\r\n", 400, 400},
    {"GET / HTTP/1.0\r\n\r\n", 0, 0},
    {G "Host:\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding: chunked,\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding: chunked ,\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding: , chunked\r\n\r\n", 0, 0},
    {G H "Transfer-Encoding: chunked;q=1\r\n\r\n", 400, 400},
    {"GET /a#b#c HTTP/1.1\r\n" H "\r\n", 400, 0},
    {G "Host: a\r\nHost: a\r\n\r\n", 400, 0},
    {"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400, 0},
    {G "Host: a b\r\n\r\n", 400, 0},
    {G "Host: a:xx\r\n\r\n", 400, 0},
    {G "Host: a:\r\n\r\n", 400, 0},
    {G "Host: a:0\r\n\r\n", 400, 0},
    {G "Host: a:65535\r\n\r\n", 0, 0},
    {G "Host: a:65536\r\n\r\n", 400, 0},
    {G "Host: a:99999999999999\r\n\r\n", 400, 0},
    {G "Host: a,b\r\n\r\n", 400, 0},
    {G "Host: a_b.c-d.E\r\n\r\n", 0, 0},
    {G "Host: a..b\r\n\r\n", 400, 0},
    {G "Host: a.\r\n\r\n", 0, 0},
    {G "Host: a/b\r\n\r\n", 400, 0},
    {G "Host: a@b\r\n\r\n", 400, 0},
    {G "Host: [::1]\r\n\r\n", 0, 0},
    {G "Host: [::1]:80\r\n\r\n", 0, 0},
    {G "Host: [::1]:\r\n\r\n", 400, 0},
    {G "Host: [::1\r\n\r\n", 400, 0},
    {G "Host: [::1]x\r\n\r\n", 400, 0},
    {G "Host: []\r\n\r\n", 400, 0},
    {G H "A: b\r\n c\r\n\r\n", 400, 400},
    {G H "A: b\r\n\tc: d\r\n\r\n", 400, 400},
    {G " A: b\r\n" H "\r\n", 400, 400},
    {G H "A : b\r\n\r\n", 400, 400},
    {G H "A\t: b\r\n\r\n", 400, 400},
    {G H ": b\r\n\r\n", 400, 400},
    {G H "Abc\r\n\r\n", 400, 400},
    {G H "A@: c\r\n\r\n", 400, 0},
    {G H "A B: c\r\n\r\n", 400, 400},
    {G H "A: b\x01"
         "c\r\n\r\n",
     400, 0},
    {G H "A: b\x7f"
         "c\r\n\r\n",
     400, 0},
    {G H "A: b\x80"
         "c\r\n\r\n",
     0, 0},
    {G H "A: b\tc\r\n\r\n", 0, 0},
    {G H "A: b\rc\r\n\r\n", 400, 400},
    {G H "A\r: b\r\n\r\n", 400, 400},
    {G H "A: 0123456789012345678901234567890123456789\x02\r\n\r\n", 400, 0},
    {G H "Content-Length: 0\r\n\r\n", 0, 0},
    {G H "Content-Length: 5 \r\n\r\n", 0, 0},
    {G H "Content-Length: +5\r\n\r\n", 400, 400},
    {G H "Content-Length: -1\r\n\r\n", 400, 400},
    {G H "Content-Length: 0x5\r\n\r\n", 400, 400},
    {G H "Content-Length: 5 5\r\n\r\n", 400, 400},
    {G H "Content-Length: \r\n\r\n", 400, 400},
    {G H "Content-Length: 9223372036854775799\r\n\r\n", 0, 0},
    {G H "Content-Length: 99999999999999999999\r\n\r\n", 400, 400},
    {G H "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400, 400},
    {G H "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400, 400},
    {G H "Content-Length: 5, 5\r\n\r\n", 400, 400},
    {G H "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400, 400},
    {"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding: gzip\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding: gzip, chunked\r\n\r\n", 501, 501},
    {G H "Transfer-Encoding: chunked, gzip\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding: chunked, chunked\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding: identity\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding:\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding: ChunKed\r\n\r\n", 0, 0},
    {G H "Transfer-Encoding: , chunked ,\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding: ,chunked\r\n\r\n", 0, 0},
    {G H "Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding: ,\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding: xchunked\r\n\r\n", 400, 400},
    {G H "Transfer-Encoding : chunked\r\n\r\n", 400, 400},
};

static int outcome(http_head *head, const char *text, size_t len, size_t *scanned,
                   const h1_limits *limits)
{
    /* A buffer of its own exact size, so that a read past its end shows under ASan. */
    char *copy = malloc(len ? len : 1);
    h1_result res;
    int out;

    memcpy(copy, text, len);
    res = h1_parse(head, copy, len, scanned, limits);
    out = res == H1_MORE ? -1 : head->status;
    if (res == H1_BAD) {
        assert_true(head->status >= 400);
        assert_non_null(head->why);
    }
    free(copy);
    return out;
}

static void check_case(const char *text, size_t len, const h1_limits *limits, int want)
{
    http_head *head = malloc(sizeof(*head));
    size_t scanned = 0;
    int got = outcome(head, text, len, &scanned, limits);

    if (got != want)
        print_error("whole: got %d, want %d: %s\n", got, want, text);
    assert_int_equal(got, want);
    for (size_t cut = 1; cut < len; cut++) {
        scanned = 0;
        got = outcome(head, text, cut, &scanned, limits);
        if (got == -1)
            got = outcome(head, text, len, &scanned, limits);
        if (got != want)
            print_error("cut at %zu: got %d, want %d: %s\n", cut, got, want, text);
        assert_int_equal(got, want);
    }
    scanned = 0;
    got = -1;
    for (size_t n = 1; n <= len && got == -1; n++)
        got = outcome(head, text, n, &scanned, limits);
    if (got != want)
        print_error("byte by byte: got %d, want %d: %s\n", got, want, text);
    assert_int_equal(got, want);
    free(head);
}

/* Handlers find the word alone, whatever empty elements came before it. */
static void test_coding_is_kept_as_a_word(void **state)
{
    static const char text[] = G H "Transfer-Encoding: , ,\tChunked \r\n\r\n";
    http_head *head = malloc(sizeof(*head));
    const http_field *field;
    size_t scanned = 0;

    assert_int_equal(h1_parse(head, text, sizeof(text) - 1, &scanned, &strict), H1_DONE);
    assert_true(head->chunked);
    field = &head->field[head->known[HTTP_F_TRANSFER_ENCODING]];
    assert_int_equal(field->value_len, 7);
    assert_memory_equal(field->value, "Chunked", 7);
    free(head);
}

static void test_table(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_case(cases[i].text, strlen(cases[i].text), &strict, cases[i].strict_status);
        check_case(cases[i].text, strlen(cases[i].text), &unsafe, cases[i].unsafe_status);
    }
}

static void test_nul(void **state)
{
    static const char in_value[] = G H "A: b\0c\r\n\r\n";
    static const char in_name[] = G H "A\0: b\r\n\r\n";
    static const char in_method[] = "GE\0T / HTTP/1.1\r\n" H "\r\n";
    static const char in_target[] = "GET /\0a HTTP/1.1\r\n" H "\r\n";

    check_case(in_method, sizeof(in_method) - 1, &strict, 400);
    check_case(in_method, sizeof(in_method) - 1, &unsafe, 400);
    check_case(in_value, sizeof(in_value) - 1, &strict, 400);
    check_case(in_value, sizeof(in_value) - 1, &unsafe, 400);
    check_case(in_name, sizeof(in_name) - 1, &strict, 400);
    check_case(in_name, sizeof(in_name) - 1, &unsafe, 400);
    check_case(in_target, sizeof(in_target) - 1, &strict, 400);
    check_case(in_target, sizeof(in_target) - 1, &unsafe, 400);
}

static void test_limits(void **state)
{
    /* The binary that we follow takes one byte more than the limit. */
    check_case("GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\n" H "\r\n", 51 + 2 + 9 + 2,
               &tight, 0);
    check_case("GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\n" H "\r\n", 52 + 2 + 9 + 2,
               &tight, 414);
    check_case("GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 71,
               &tight, 414);
    check_case(G H "A:bbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n\r\n", 16 + 9 + 33 + 2, &tight, 0);
    check_case(G H "A:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n\r\n", 16 + 9 + 34 + 2, &tight, 400);
    check_case(G H "A:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 65, &tight, 400);
    check_case(G H "abbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 65, &tight, 400);
    check_case(G H "a:b\r\na:b\r\n\r\n", 16 + 9 + 10 + 2, &tight, 0);
    check_case(G H "a:b\r\na:b\r\na:b\r\n\r\n", 16 + 9 + 15 + 2, &tight, 400);
    check_case("GET /\r\n", 7, &tight, 400); /* 0.9 not allowed there */
}

static void test_too_many_without_end(void **state)
{
    http_head *head = malloc(sizeof(*head));
    char text[16 + 5 * 2000];
    size_t scanned = 0, len = 16;
    int got = -1;

    memcpy(text, G, 16);
    while (got == -1 && len + 5 <= sizeof(text)) {
        memcpy(text + len, "a: b\n", 5);
        len += 5;
        got = outcome(head, text, len, &scanned, &unsafe);
    }
    assert_int_equal(got, 400);
    assert_true(len <= 2048);
    free(head);
}

/* LimitRequestFields beyond what a head holds itself, with and without room for them. */
static void test_room(void **state)
{
    static const struct {
        uint32_t fields, sent;
        int room, want;
    } rows[] = {{256, 256, 0, 0},     {256, 257, 0, 400},     {0, 257, 0, 400}, {0, 257, 1, 0},
                {300, 300, 1, 0},     {300, 301, 1, 400},     {0, 32767, 1, 0}, {0, 32768, 1, 400},
                {50000, 32767, 1, 0}, {50000, 32768, 1, 400}, {100, 100, 1, 0}, {100, 101, 1, 400}};
    http_head *head = malloc(sizeof(*head));
    char *text = malloc(64 + 4 * 40000);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        h1_limits limits = strict;
        size_t scanned = 0, len = 16;

        memcpy(text, "GET / HTTP/1.0\r\n", 17);
        for (uint32_t n = 0; n < rows[i].sent; n++, len += 4)
            memcpy(text + len, "a:\r\n", 4);
        memcpy(text + len, "\r\n", 2);
        limits.fields = rows[i].fields;
        limits.field_size = 200000; /* for all values joined */
        if (rows[i].room)
            h1_fields_room(&limits);
        assert_int_equal(outcome(head, text, len + 2, &scanned, &limits), rows[i].want);
        if (!rows[i].want) {
            assert_int_equal(head->n_fields, rows[i].sent);
            assert_int_equal(head->field[rows[i].sent - 1].name_len, 1);
        }
    }
    free(text);
    free(head);
}

static int text_is(const char *p, size_t len, const char *want)
{
    return len == strlen(want) && memcmp(p, want, len) == 0;
}

static void test_result(void **state)
{
    static const char text[] =
        "\r\nHEAD /a?b HTTP/1.1\r\nHost: a.b:80\r\nCONNECTION: foo, Close ,keep-alive\r\n"
        "If-Unmodified-Since:\t x y\t \r\nX: \r\nconnection: Upgrade\r\n"
        "Content-Length: 12\r\n\r\nGET ";
    http_head *head = malloc(sizeof(*head));
    size_t scanned = 0;
    const http_field *field;

    assert_int_equal(h1_parse(head, text, sizeof(text) - 1, &scanned, &strict), H1_DONE);
    assert_int_equal(head->head_len, sizeof(text) - 1 - 4);
    assert_true(text_is(head->line, head->line_len, "HEAD /a?b HTTP/1.1"));
    assert_true(text_is(head->method, head->method_len, "HEAD"));
    assert_int_equal(head->method_id, HTTP_METHOD_HEAD);
    assert_true(text_is(head->uri, head->uri_len, "/a?b"));
    assert_true(text_is(head->protocol, head->protocol_len, "HTTP/1.1"));
    assert_int_equal(head->major * 10 + head->minor, 11);
    assert_int_equal(head->n_fields, 6);
    assert_int_equal(head->close + head->keep_alive + head->upgrade, 3);
    assert_int_equal(head->repeated, 1);
    assert_int_equal(head->has_body, 1);
    assert_int_equal(head->content_length, 12);
    assert_int_equal(head->known[HTTP_F_HOST], 0);
    assert_int_equal(head->known[HTTP_F_CONNECTION], 1);
    assert_int_equal(head->known[HTTP_F_RANGE], -1);
    field = &head->field[head->known[HTTP_F_IF_UNMODIFIED_SINCE]];
    assert_true(text_is(field->value, field->value_len, "x y"));
    assert_true(text_is(head->field[3].value, head->field[3].value_len, ""));
    assert_true(text_is(head->field[3].name, head->field[3].name_len, "X"));
    free(head);
}

static void test_field_ids(void **state)
{
    static const struct {
        const char *name;
        http_field_id id;
    } names[] = {{"TE", HTTP_F_TE},
                 {"host", HTTP_F_HOST},
                 {"RANGE", HTTP_F_RANGE},
                 {"Accept", HTTP_F_ACCEPT},
                 {"Cookie", HTTP_F_COOKIE},
                 {"Expect", HTTP_F_EXPECT},
                 {"Pragma", HTTP_F_PRAGMA},
                 {"Referer", HTTP_F_REFERER},
                 {"Upgrade", HTTP_F_UPGRADE},
                 {"Trailer", HTTP_F_TRAILER},
                 {"If-Range", HTTP_F_IF_RANGE},
                 {"If-Match", HTTP_F_IF_MATCH},
                 {"Connection", HTTP_F_CONNECTION},
                 {"User-Agent", HTTP_F_USER_AGENT},
                 {"Keep-Alive", HTTP_F_KEEP_ALIVE},
                 {"If-None-Match", HTTP_F_IF_NONE_MATCH},
                 {"Cache-Control", HTTP_F_CACHE_CONTROL},
                 {"Authorization", HTTP_F_AUTHORIZATION},
                 {"Content-Length", HTTP_F_CONTENT_LENGTH},
                 {"Accept-Encoding", HTTP_F_ACCEPT_ENCODING},
                 {"Accept-Language", HTTP_F_ACCEPT_LANGUAGE},
                 {"X-Forwarded-For", HTTP_F_X_FORWARDED_FOR},
                 {"If-Modified-Since", HTTP_F_IF_MODIFIED_SINCE},
                 {"If-Unmodified-Since", HTTP_F_IF_UNMODIFIED_SINCE},
                 {"Hose", HTTP_F_OTHER},
                 {"Content-Lengtg", HTTP_F_OTHER},
                 {"Dontent-Length", HTTP_F_OTHER},
                 {"Xost", HTTP_F_OTHER}};
    http_head *head = malloc(sizeof(*head));

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[100] = "GET / HTTP/1.0\r\n";
        size_t scanned = 0;

        strcat(strcat(text, names[i].name), ": 1\r\n\r\n");
        assert_int_equal(h1_parse(head, text, strlen(text), &scanned, &strict), H1_DONE);
        assert_int_equal(head->field[0].id, names[i].id);
        if (names[i].id)
            assert_int_equal(head->known[names[i].id], 0);
    }
    free(head);
}

/* What is kept for the log when the line itself is bad. */
static void test_bad_line_kept(void **state)
{
    static const char text[] = "\r\nGET  / HTTP/1.1\r\n\r\n";
    http_head *head = malloc(sizeof(*head));
    size_t scanned = 0;

    assert_int_equal(h1_parse(head, text, sizeof(text) - 1, &scanned, &strict), H1_BAD);
    assert_true(text_is(head->line, head->line_len, "GET  / HTTP/1.1"));
    free(head);
}

/* Log parsers know the reasons by Apache's numbers. */
static void test_why(void **state)
{
    static const struct {
        const char *text, *why, *bad;
        const h1_limits *limits;
    } rows[] = {
        {"G(T / HTTP/1.1\r\n\r\n", "AH03445", "G(T", &strict},
        {"POST /\r\n\r\n", "AH03444", "POST", &strict},
        {" GET / HTTP/1.1\r\n\r\n", "AH03447", NULL, &strict},
        {"GET  / HTTP/1.1\r\n\r\n", "AH03448", NULL, &strict},
        {"GET / x HTTP/1.1\r\n\r\n", "AH03448", NULL, &strict},
        {"GET / x HTTP/1.1\r\n\r\n", "AH03449", "HTTP/1.1", &unsafe},
        {"GET / HTTP/11\r\n\r\n", "AH02418", "HTTP/11", &strict},
        {"GET /a\x01z HTTP/1.1\r\n\r\n", "AH03454", "/a\x01z", &strict},
        {"GET /a#z HTTP/1.1\r\n\r\n", "AH02421", NULL, &strict},
        {"GET / HTTP/1.1\n\n", "AH00566", NULL, &strict},
        {G "A : b\r\n\r\n", "AH02426", "A : b", &strict},
        {G ": b\r\n\r\n", "AH02426", ": b", &strict},
        {G "A: b\x01\r\n\r\n", "AH02427", "b\x01", &strict},
        {G "A : b\r\n\r\n", "AH03452", NULL, &unsafe},
        {G ": b\r\n\r\n", "AH03453", NULL, &unsafe},
        {G "A b\r\n\r\n", "AH00564", "A b", &unsafe},
        {G "A: b\vc\r\n\r\n", "AH03451", NULL, &unsafe},
        {G H "Content-Length: x\r\n\r\n", "AH10242", "x", &strict},
        {G H "Transfer-Encoding: x\r\n\r\n", "AH02539", "x", &strict},
        {G "Host: a/b\r\n\r\n", "AH00550", "a/b", &strict},
    };
    http_head *head = malloc(sizeof(*head));

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t scanned = 0;

        assert_int_equal(
            h1_parse(head, rows[i].text, strlen(rows[i].text), &scanned, rows[i].limits), H1_BAD);
        assert_memory_equal(head->why, rows[i].why, 7);
        if (rows[i].bad)
            assert_true(text_is(head->bad, head->bad_len, rows[i].bad));
    }
    free(head);
}

/* ---- request lines that are read in a few steps ---- */

#define LINE(head, base, part) ((head)->part - (base)), (head)->part##_len

static void check_same(const char *line, const h1_limits *limits)
{
    http_head *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
    char text[256], after[sizeof text + 2];
    size_t scanned = 0;
    h1_result res;

    snprintf(text, sizeof text, "%s" H "\r\n", line);
    snprintf(after, sizeof after, "\r\n%s", text);
    res = h1_parse(a, text, strlen(text), &scanned, limits);
    scanned = 0;
    /* Behind an empty line a request line is read element by element. */
    if (h1_parse(b, after, strlen(after), &scanned, limits) != res)
        fail_msg("not the same behind an empty line: %s", line);
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->method_id, b->method_id);
    assert_int_equal(a->major, b->major);
    assert_int_equal(a->minor, b->minor);
    if (res == H1_DONE) {
        const char *base = after + 2;
        const size_t of_a[] = {(size_t)LINE(a, text, line), (size_t)LINE(a, text, method),
                               (size_t)LINE(a, text, uri), (size_t)a->head_len, a->n_fields};
        const size_t of_b[] = {(size_t)LINE(b, base, line), (size_t)LINE(b, base, method),
                               (size_t)LINE(b, base, uri), (size_t)b->head_len - 2, b->n_fields};

        assert_memory_equal(of_a, of_b, sizeof of_a);
        assert_int_equal(a->protocol_len, b->protocol_len);
        assert_memory_equal(a->protocol, b->protocol, a->protocol_len);
    }
    free(a);
    free(b);
}

static void test_plain_lines(void **state)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT",
                                          "get", "GETS", "GE",   "HEAD:"};
    static const char *const gaps[] = {" ", "  ", "\t", ""};
    static const char *const targets[] = {"/",
                                          "/a",
                                          "*",
                                          "/a#b",
                                          "/a\x7f",
                                          "/0123456789abcdef0123456789",
                                          "/0123456789abcdef0123456789ab",
                                          "/0123456789abcdef0123456789abc",
                                          "/0123456789abcdef0123456789abcd",
                                          "/\xff"};
    static const char *const ends[] = {" HTTP/1.1\r\n",  " HTTP/1.0\r\n",   " HTTP/1.9\r\n",
                                       " HTTP/1.x\r\n",  " HTTP/2.0\r\n",   " http/1.1\r\n",
                                       " HTTP/1.1 \r\n", " HTTP/1.1\n",     "  HTTP/1.1\r\n",
                                       " HTTP/1.10\r\n", " HTTP/1.1\r\r\n", "\r\n"};
    static const h1_limits short_lines = {.line = 42, .field_size = 100, .fields = 3};
    static const h1_limits *const limits[] = {&strict, &unsafe, &short_lines};
    char line[128];

    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
            for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
                for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
                    for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
                        snprintf(line, sizeof line, "%s%s%s%s", methods[m], gaps[g], targets[t],
                                 ends[e]);
                        check_same(line, limits[l]);
                    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),         cmocka_unit_test(test_coding_is_kept_as_a_word),
        cmocka_unit_test(test_nul),           cmocka_unit_test(test_plain_lines),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_too_many_without_end),
        cmocka_unit_test(test_result),        cmocka_unit_test(test_field_ids),
        cmocka_unit_test(test_bad_line_kept), cmocka_unit_test(test_room),
        cmocka_unit_test(test_why),           cmocka_unit_test(test_coding_is_kept_as_a_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
