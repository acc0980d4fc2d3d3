/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored heads, in the form of HTTP/1 and in that of another protocol: "toy" here, which has names in lower case with
 * their lengths in front, as HPACK has, and nothing about connections. Both are made from one http_answer.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_server.h"
#include "test_http.h"
#include "http_answer.h"
#include "request_context.h"
#include "h1_response.h"
#include <ctype.h>

static brg_conn conn;
static int client;

/* ---- the toy ---- */

static char *toy_put(char *p, const char *text, size_t len, int lower)
{
    *p++ = (char)len;
    for (size_t i = 0; i < len; i++)
        *p++ = lower ? (char)tolower((unsigned char)text[i]) : text[i];
    return p;
}

static char *toy_field(char *p, const char *name, const char *value)
{
    p = toy_put(p, name, strlen(name), 1);
    return toy_put(p, value, strlen(value), 0);
}

static http_stored_head *toy_serialise(const http_answer *a, http_stored_head *room)
{
    http_stored_head *out = http_stored_head_new(room, HTTP_HEAD_ROOM);
    char *p = out->text;

    p = toy_put(p, ":status", 7, 0);
    p = toy_put(p, a->reason, 3, 0);
    p = toy_put(p, "date", 4, 0);
    *p++ = HTTP_DATE_LEN;
    out->date_off = (uint32_t)(p - out->text);
    p += HTTP_DATE_LEN;
    p = toy_field(p, "Server", a->server);
    for (int i = 0; i < a->n_fields; i++) {
        if (a->dated_name && !strcmp(a->dated_name, a->field[i].name))
            out->dated_off = (uint32_t)(p - out->text + (ptrdiff_t)strlen(a->dated_name) + 2);
        p = toy_field(p, a->field[i].name, a->field[i].value);
    }
    out->len = (uint32_t)(p - out->text);
    return out;
}

static size_t toy_answer(char *out, http_stored_head *head, const http_answer *a,
                         const http_answer_terms *t)
{
    memcpy(out, head->text, head->len);
    memcpy(out + head->date_off, http_date_now(t->now), HTTP_DATE_LEN);
    if (head->dated_off)
        memcpy(out + head->dated_off, http_date_now(t->now + a->dated_after), HTTP_DATE_LEN);
    return head->len;
}

static const http_codec toy_codec = {.serialise = toy_serialise, .put = toy_answer};

/* ---- what both make of an answer ---- */

static http_answer *make_answer(const char *dated)
{
    request_rec *r = test_http_request(&conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    http_answer *a;

    apr_table_setn(r->headers_out, "ETag", "\"1\"");
    apr_table_setn(r->headers_out, "Connection", "close");
    apr_table_setn(r->headers_out, "Expires", "Sun, 06 Nov 1994 08:50:37 GMT");
    apr_table_setn(r->headers_out, "Content-Type", "text/plain");
    request_set_connection(r, 1, NULL);
    a = http_answer_of(r, dated, apr_time_from_sec(60));
    assert_non_null(a);
    return a;
}

static const char *sent(const http_codec *codec, const http_answer *a, apr_time_t now, int close)
{
    static char out[HTTP_HEAD_ROOM + 1];
    const http_answer_terms terms = {.now = now, .close = close, .left = -1};
    http_stored_head *head = codec->serialise(a, NULL);

    assert_non_null(head);
    out[codec->put(out, head, a, &terms)] = '\0';
    free(head);
    return out;
}

#define SERVER "Brigade/" BRIGADE_VERSION
#define LATER (TEST_HTTP_NOW + apr_time_from_sec(3600))

static void test_two_forms(void **state)
{
    http_answer *a = make_answer("Expires");

    assert_string_equal(
        sent(&h1_codec, a, LATER, 1),
        "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 09:49:37 GMT\r\nServer: " SERVER
        "\r\nETag: \"1\"\r\nConnection: close\r\n"
        "Expires: Sun, 06 Nov 1994 09:50:37 GMT\r\nContent-Type: text/plain\r\n\r\n");
    assert_string_equal(
        sent(&h1_codec, a, LATER, 0),
        "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 09:49:37 GMT\r\nServer: " SERVER
        "\r\nETag: \"1\"\r\n"
        "Expires: Sun, 06 Nov 1994 09:50:37 GMT\r\nContent-Type: text/plain\r\n\r\n");
    assert_string_equal(
        sent(&toy_codec, a, LATER, 1),
        "\7:status\003200\4date\035Sun, 06 Nov 1994 09:49:37 GMT\6server\015" SERVER
        "\4etag\3\"1\"\7expires\035Sun, 06 Nov 1994 09:50:37 GMT\014content-type\ntext/plain");
    free(a);
}

/* Where no field goes with the date, its value stays as it was stored. */
static void test_without_dated_field(void **state)
{
    http_answer *a = make_answer(NULL);

    assert_non_null(
        strstr(sent(&h1_codec, a, LATER, 0), "Expires: Sun, 06 Nov 1994 08:50:37 GMT\r\n"));
    assert_non_null(
        strstr(sent(&toy_codec, a, LATER, 0), "\7expires\035Sun, 06 Nov 1994 08:50:37 GMT"));
    free(a);
}

static void test_too_long(void **state)
{
    request_rec *r = test_http_request(&conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    char *value = apr_palloc(r->pool, HTTP_HEAD_ROOM + 1);

    memset(value, 'v', HTTP_HEAD_ROOM);
    value[HTTP_HEAD_ROOM] = '\0';
    apr_table_setn(r->headers_out, "X-Long", value);
    assert_null(http_answer_of(r, NULL, 0));
}

static int up(void **state)
{
    test_server_up("");
    test_connect(&conn, &client);
    return 0;
}

static int down(void **state)
{
    test_disconnect(&conn, client);
    return test_server_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_forms),
        cmocka_unit_test(test_without_dated_field),
        cmocka_unit_test(test_too_long),
    };

    return cmocka_run_group_tests(tests, up, down);
}
