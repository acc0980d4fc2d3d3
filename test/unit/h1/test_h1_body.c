/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP_IN filter: bodies with a length and in chunks, cut in two at every byte while the reader
 * does not wait. The outcome must not depend on the cut, and nothing after the body may be taken.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_server.h"
#include "test_http.h"
#include "h1_chunked.h"

static brg_conn conn;
static int client;

typedef struct body_case {
    const char *field; /* what tells the length */
    const char *sent;
    const char *body;     /* what comes out */
    apr_status_t rv;      /* and how it ends */
    const char *left;     /* what the next request begins with */
    const char *trailers; /* "Name=value;" each */
} body_case;

#define CHUNKED "Transfer-Encoding: chunked\r\n"

static const body_case cases[] = {
    {"", "next", "", APR_SUCCESS, "next", ""},
    {"Content-Length: 0\r\n", "next", "", APR_SUCCESS, "next", ""},
    {"Content-Length: 5\r\n", "hellonext", "hello", APR_SUCCESS, "next", ""},
    {"Content-Length: 5\r\n", "hell", "hell", APR_INCOMPLETE, "", ""},
    {"Content-Length: 21\r\n", "hello", "", APR_ENOSPC, "hello", ""},
    {CHUNKED, "0\r\n\r\nnext", "", APR_SUCCESS, "next", ""},
    {CHUNKED, "5\r\nhello\r\n0\r\n\r\nnext", "hello", APR_SUCCESS, "next", ""},
    {CHUNKED, "5\r\nhello\r\n00A\r\n, my\r\nWorl\r\n1\r\nd\r\n0\r\n\r\nnext", "hello, my\r\nWorld",
     APR_SUCCESS, "next", ""},
    {CHUNKED, "5;a=b;c=\"d e\"\r\nhello\r\n0;x\r\n\r\nnext", "hello", APR_SUCCESS, "next", ""},
    {CHUNKED, "5 \t\r\nhello\r\n0\r\n\r\n", "hello", APR_SUCCESS, "", ""},
    {CHUNKED, "5 ;a\r\nhello\r\n0\r\n\r\n", "hello", APR_SUCCESS, "", ""},
    {CHUNKED, "1\r\na\r\n0\r\nFoo: bar\r\nX:  y z \r\n\r\nnext", "a", APR_SUCCESS, "next",
     "Foo=bar;X=y z;"},
    {CHUNKED, "1\r\na\r\n0\r\nFoo: 1\r\nFoo: 2\r\n\r\n", "a", APR_SUCCESS, "", "Foo=1, 2;"},
    {CHUNKED, "1\r\na\r\n0\r\nFoo : 1\r\n\r\n", "a", APR_EGENERAL, NULL, ""},
    {CHUNKED, "1\r\na\r\n0\r\nbad\r\n\r\n", "a", APR_EGENERAL, NULL, ""},
    {CHUNKED, "1\r\na\r\n0\r\n fold\r\n\r\n", "a", APR_EGENERAL, NULL, ""},
    {CHUNKED, "1\r\na\r\n0\r\nFoo: a\n\r\n", "a", APR_EGENERAL, NULL, ""},
    {CHUNKED, "1\r\na\r\n0\r\n\n", "a", APR_EGENERAL, NULL, ""},
    {CHUNKED, "5\nhello\r\n0\r\n\r\n", "", APR_EGENERAL, NULL, ""},
    {CHUNKED, "5\r\nhello\n0\r\n\r\n", "hello", APR_EGENERAL, NULL, ""},
    {CHUNKED, "5\r\nhelloX\r\n0\r\n\r\n", "hello", APR_EGENERAL, NULL, ""},
    {CHUNKED, "0x5\r\nhello\r\n", "", APR_EGENERAL, NULL, ""},
    {CHUNKED, "-5\r\nhello\r\n", "", APR_EGENERAL, NULL, ""},
    {CHUNKED, "+5\r\nhello\r\n", "", APR_EGENERAL, NULL, ""},
    {CHUNKED, " 5\r\nhello\r\n", "", APR_EGENERAL, NULL, ""},
    {CHUNKED, "\r\n", "", APR_EGENERAL, NULL, ""},
    {CHUNKED, "g\r\n", "", APR_EGENERAL, NULL, ""},
    {CHUNKED, "5\rhello\r\n", "", APR_EGENERAL, NULL, ""},
    {CHUNKED, "5;a\x01\r\nhello\r\n", "", APR_EGENERAL, NULL, ""},
    {CHUNKED, "5 5\r\nhello\r\n", "", APR_EGENERAL, NULL, ""},
    {CHUNKED, "FFFFFFFFFFFFFFFFF\r\n", "", APR_ENOSPC, NULL, ""},
    {CHUNKED, "8000000000000000\r\n", "", APR_ENOSPC, NULL, ""},
    {CHUNKED, "7fffffffffffffff\r\n", "", APR_ENOSPC, NULL, ""},
    {CHUNKED, "5\r\nhello\r\n7fffffffffffffff\r\nx", "hello", APR_ENOSPC, NULL, ""},
    {CHUNKED, "14\r\n", "", APR_INCOMPLETE, "", ""},
    {CHUNKED, "15\r\n", "", APR_ENOSPC, NULL, ""},
    {CHUNKED, "14\r\n01234567890123456789\r\n0\r\n\r\n", "01234567890123456789", APR_SUCCESS, "",
     ""},
    {CHUNKED, "15\r\n012345678901234567890\r\n", "", APR_ENOSPC, NULL, ""},
    {CHUNKED, "a\r\n0123456789\r\nb\r\n01234567890\r\n", "0123456789", APR_ENOSPC, NULL, ""},
    {CHUNKED, "5\r\nhel", "hel", APR_INCOMPLETE, "", ""},
    {CHUNKED, "5\r\nhello\r\n", "hello", APR_INCOMPLETE, "", ""},
    {CHUNKED, "5\r\nhello\r\n0\r\nFoo", "hello", APR_INCOMPLETE, "", ""},
};

static char body[4096];
static size_t body_len;

/* Read until the end, an error, or until nothing more is there. */
static apr_status_t drain(request_rec *r, apr_read_type_e block)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_status_t rv;
    int eos = 0;

    while (!eos) {
        apr_size_t n = sizeof body - body_len;

        rv = ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES, block, 3);
        if (rv != APR_SUCCESS)
            return rv;
        assert_false(APR_BRIGADE_EMPTY(bb));
        eos = APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(bb));
        assert_int_equal(apr_brigade_flatten(bb, body + body_len, &n), APR_SUCCESS);
        assert_true(n <= 3);
        body_len += n;
        apr_brigade_cleanup(bb);
    }
    return APR_SUCCESS;
}

static int add_trailer(void *text, const char *name, const char *value)
{
    strcat(strcat(strcat(strcat(text, name), "="), value), ";");
    return 1;
}

static void check(const body_case *c, size_t cut)
{
    char head[256] = "POST / HTTP/1.1\r\nHost: x\r\n", trailers[256] = "", rest[4096];
    apr_bucket_brigade *bb;
    const size_t len = strlen(c->sent);
    request_rec *r;
    apr_status_t rv;

    test_connect(&conn, &client);
    r = test_http_request(&conn, strcat(strcat(head, c->field), "\r\n"));
    body_len = 0;
    assert_int_equal(send(client, c->sent, cut, 0), cut);
    rv = drain(r, APR_NONBLOCK_READ);
    if (APR_STATUS_IS_EAGAIN(rv)) {
        assert_int_equal(send(client, c->sent + cut, len - cut, 0), len - cut);
        shutdown(client, SHUT_WR);
        rv = drain(r, APR_BLOCK_READ);
    } else {
        assert_int_equal(send(client, c->sent + cut, len - cut, 0), len - cut);
        shutdown(client, SHUT_WR);
    }
    body[body_len] = '\0';
    if (rv != c->rv || strcmp(body, c->body))
        print_error("%s cut at %zu: %d, \"%s\"\n", c->sent, cut, rv, body);
    assert_int_equal(rv, c->rv);
    assert_string_equal(body, c->body);
    assert_int_equal(conn.c->keepalive == AP_CONN_CLOSE, rv != APR_SUCCESS);
    /* The outcome stays what it was. */
    assert_int_equal(drain(r, APR_NONBLOCK_READ), c->rv);
    apr_table_do(add_trailer, trailers, r->trailers_in, NULL);
    assert_string_equal(trailers, c->trailers);
    if (c->left) {
        apr_size_t left_n = 0;

        bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
        while (ap_get_brigade(conn.c->input_filters, bb, AP_MODE_READBYTES, APR_BLOCK_READ, 100) ==
               APR_SUCCESS) {
            apr_size_t n = sizeof rest - 1 - left_n;

            assert_int_equal(apr_brigade_flatten(bb, rest + left_n, &n), APR_SUCCESS);
            left_n += n;
            apr_brigade_cleanup(bb);
        }
        rest[left_n] = '\0';
        assert_string_equal(rest, c->left);
    }
    apr_pool_destroy(r->pool);
    test_disconnect(&conn, client);
}

static void test_bodies(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t cut = 0; cut <= strlen(cases[i].sent); cut++)
            check(&cases[i], cut);
    }
}

/* A size line without end. */
static void test_long_extension(void **state)
{
    h1_chunked m = {0};
    size_t n = 0;

    assert_int_equal(h1_chunked_feed(&m, "1;", 2), 2);
    while (m.state != H1_CHUNK_BAD && n++ < 100000)
        h1_chunked_feed(&m, "a", 1);
    assert_int_equal(m.state, H1_CHUNK_BAD);
    assert_true(m.too_large);
    assert_true(n <= H1_CHUNK_LINE_MAX);
}

/* 100 Continue goes out once, when the body is first read. */
static void test_continue(void **state)
{
    request_rec *r;
    char buf[16];

    test_connect(&conn, &client);
    r = test_http_request(
        &conn, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n");
    assert_int_equal(r->status, HTTP_OK);
    assert_string_equal(test_http_seen(&conn, client), "");
    assert_int_equal(ap_setup_client_block(r, REQUEST_CHUNKED_ERROR), OK);
    assert_true(ap_should_client_block(r));
    assert_int_equal(send(client, "hello", 5, 0), 5);
    assert_int_equal(ap_get_client_block(r, buf, 3), 3);
    assert_int_equal(ap_get_client_block(r, buf + 3, 10), 2);
    assert_int_equal(ap_get_client_block(r, buf + 5, 10), 0);
    assert_memory_equal(buf, "hello", 5);
    assert_string_equal(test_http_seen(&conn, client), "HTTP/1.1 100 Continue\r\n\r\n");
    apr_pool_destroy(r->pool);
    test_disconnect(&conn, client);
}

/* A client that waits for leave gets none for a body that nobody reads, and the connection cannot
 * go on. */
static void test_continue_unread(void **state)
{
    request_rec *r;

    test_connect(&conn, &client);
    r = test_http_request(
        &conn, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    assert_int_equal(ap_discard_request_body(r), OK);
    assert_string_equal(test_http_seen(&conn, client), "");
    assert_int_equal(ap_set_keepalive(r), 0);
    assert_int_equal(conn.c->keepalive, AP_CONN_CLOSE);
    apr_pool_destroy(r->pool);
    test_disconnect(&conn, client);
}

static void test_policies(void **state)
{
    static const struct {
        const char *fields;
        int policy, want;
    } table[] = {{"", REQUEST_NO_BODY, OK},
                 {"Content-Length: 0\r\n", REQUEST_NO_BODY, OK},
                 {"Content-Length: 1\r\n", REQUEST_NO_BODY, HTTP_REQUEST_ENTITY_TOO_LARGE},
                 {CHUNKED, REQUEST_NO_BODY, HTTP_REQUEST_ENTITY_TOO_LARGE},
                 {CHUNKED, REQUEST_CHUNKED_ERROR, HTTP_LENGTH_REQUIRED},
                 {CHUNKED, REQUEST_CHUNKED_DECHUNK, OK},
                 {"Content-Length: 20\r\n", REQUEST_CHUNKED_ERROR, OK},
                 {"Content-Length: 21\r\n", REQUEST_CHUNKED_ERROR, HTTP_REQUEST_ENTITY_TOO_LARGE}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char head[256] = "POST / HTTP/1.1\r\nHost: x\r\n";
        request_rec *r;

        test_connect(&conn, &client);
        r = test_http_request(&conn, strcat(strcat(head, table[i].fields), "\r\n"));
        assert_int_equal(ap_setup_client_block(r, table[i].policy), table[i].want);
        apr_pool_destroy(r->pool);
        test_disconnect(&conn, client);
    }
}

static int set_up_server(void **state)
{
    test_server_up("LimitRequestBody 20\n");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies),   cmocka_unit_test(test_long_extension),
        cmocka_unit_test(test_continue), cmocka_unit_test(test_continue_unread),
        cmocka_unit_test(test_policies),
    };

    return cmocka_run_group_tests(tests, set_up_server, test_server_down);
}
