/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests from heads that no HTTP/1 parser made, as another version of HTTP would: no request line, a host named
 * beside the fields, fields that lie anywhere and are not NUL-terminated.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_server.h"
#include "test_http.h"
#include "request_context.h"
#include "http_request.h"

static brg_conn conn;
static int client;
static http_head head;
static char *pieces[64];
static int n_pieces;

/* A copy of its own size on the heap: what reads behind it is found by the sanitizers. */
static const char *piece(const char *text)
{
    const size_t len = strlen(text);

    assert_true(n_pieces < 64);
    pieces[n_pieces] = malloc(len ? len : 1);
    return memcpy(pieces[n_pieces++], text, len);
}

static void add_field(const char *name, const char *value)
{
    http_field *f = &head.field[head.n_fields];

    f->name = piece(name);
    f->name_len = (uint32_t)strlen(name);
    f->value = piece(value);
    f->value_len = (uint32_t)strlen(value);
    f->id = (uint8_t)http_field_id_of(name, f->name_len);
    if (f->id && head.known[f->id] < 0)
        head.known[f->id] = (int16_t)head.n_fields;
    head.n_fields++;
}

static void set_line(const char *method, const char *uri, const char *authority)
{
    head.method = method ? piece(method) : NULL;
    head.method_len = method ? (uint32_t)strlen(method) : 0;
    head.uri = uri ? piece(uri) : NULL;
    head.uri_len = uri ? (uint32_t)strlen(uri) : 0;
    head.authority = authority ? piece(authority) : NULL;
    head.authority_len = authority ? (uint32_t)strlen(authority) : 0;
    head.protocol = piece("HTTP/2.0");
    head.protocol_len = 8;
    head.major = 2;
    head.scheme = "https";
}

static int begin(void **state)
{
    memset(&head, 0, sizeof head);
    memset(head.known, 0xff, sizeof head.known);
    head.field = head.own;
    n_pieces = 0;
    test_connect(&conn, &client);
    conn.c->keepalive = AP_CONN_UNKNOWN;
    return 0;
}

static int end(void **state)
{
    test_disconnect(&conn, client);
    while (n_pieces)
        free(pieces[--n_pieces]);
    return 0;
}

static void test_request(void **state)
{
    request_rec *r;

    set_line("GET", "/a%20b?q=1", "Named.Example:8443");
    head.method_id = HTTP_METHOD_GET;
    add_field("accept", "text/html");
    add_field("cookie", "a=1");
    add_field("x-empty", "");
    add_field("cookie", "b=2");
    r = request_create(conn.c, &head);
    assert_int_equal(r->status, HTTP_OK);
    assert_string_equal(r->the_request, "GET /a%20b?q=1 HTTP/2.0");
    assert_string_equal(r->method, "GET");
    assert_int_equal(r->method_number, M_GET);
    assert_string_equal(r->protocol, "HTTP/2.0");
    assert_int_equal(r->proto_num, HTTP_VERSION(2, 0));
    assert_false(r->assbackwards);
    assert_string_equal(r->unparsed_uri, "/a%20b?q=1");
    assert_string_equal(r->uri, "/a%20b");
    assert_string_equal(r->args, "q=1");
    assert_string_equal(r->hostname, "named.example");
    assert_string_equal(apr_table_get(r->headers_in, "Host"), "Named.Example:8443");
    assert_string_equal(apr_table_get(r->headers_in, "Accept"), "text/html");
    assert_string_equal(apr_table_get(r->headers_in, "Cookie"), "a=1, b=2");
    assert_string_equal(apr_table_get(r->headers_in, "X-Empty"), "");
    assert_int_equal(apr_table_elts(r->headers_in)->nelts, 4);
}

/* Modules change uri and args in their places. */
static void test_the_target_has_copies_of_its_own(void **state)
{
    request_rec *r;

    set_line("GET", "//a/b?q=1", "plain.example");
    head.method_id = HTTP_METHOD_GET;
    r = request_create(conn.c, &head);
    assert_string_equal(r->uri, "/a/b");
    assert_ptr_equal(r->uri, r->parsed_uri.path);
    memset(r->uri, 'u', strlen(r->uri));
    memset(r->args, 'a', strlen(r->args));
    assert_string_equal(r->args, "aaa");
    assert_string_equal(r->unparsed_uri, "//a/b?q=1");
    assert_string_equal(r->the_request, "GET //a/b?q=1 HTTP/2.0");
}

static void begin_anew(void **state)
{
    end(state);
    begin(state);
}

/* No copy of a field that is the name, and one of what has to be changed. */
static void test_the_host_is_the_field_if_it_can_be(void **state)
{
    static const char *const names[][2] = {{"plain.example", "plain.example"},
                                           {"Plain.example", "plain.example"},
                                           {"plain.example:80", "plain.example"},
                                           {"plain.example.", "plain.example"}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        request_rec *r;

        begin_anew(state);
        set_line("GET", "/", names[i][0]);
        r = request_create(conn.c, &head);
        assert_string_equal(r->hostname, names[i][1]);
        assert_string_equal(apr_table_get(r->headers_in, "Host"), names[i][0]);
        assert_int_equal(r->hostname == apr_table_get(r->headers_in, "Host"), i == 0);
    }
}

static void test_what_has_no_body_is_marked(void **state)
{
    set_line("POST", "/", "localhost");
    assert_true(request_is_bodyless(request_create(conn.c, &head)));
    begin_anew(state);
    set_line("POST", "/", "localhost");
    add_field("content-length", "0");
    assert_true(head.known[HTTP_F_CONTENT_LENGTH] >= 0);
    assert_false(request_is_bodyless(request_create(conn.c, &head)));
    begin_anew(state);
    set_line("POST", "/", "localhost");
    head.has_body = 1;
    assert_false(request_is_bodyless(request_create(conn.c, &head)));
}

/* The authority outweighs a Host field (RFC 9113, 8.3.1); it chooses the virtual host. */
static void test_authority_before_host(void **state)
{
    request_rec *r;

    set_line("GET", "/", "other.example");
    add_field("host", "localhost");
    r = request_create(conn.c, &head);
    assert_string_equal(r->hostname, "other.example");
    assert_string_equal(r->server->server_hostname, "other.example");
    assert_string_equal(apr_table_get(r->headers_in, "Host"), "other.example");
}

static void test_expectations(void **state)
{
    request_rec *r;

    set_line("PUT", "/x", "localhost");
    add_field("expect", "100-continue");
    r = request_create(conn.c, &head);
    assert_int_equal(r->status, HTTP_OK);
    assert_true(r->expecting_100);
}

static void test_bad_expectation(void **state)
{
    set_line("PUT", "/x", "localhost");
    add_field("expect", "other");
    assert_int_equal(request_create(conn.c, &head)->status, HTTP_EXPECTATION_FAILED);
    assert_int_equal(conn.c->keepalive, AP_CONN_CLOSE);
}

/* A parser refused the head, and says why: what is known of it goes into the log. */
static void test_refused(void **state)
{
    request_rec *r;

    set_line("BREW", "/pot?x", NULL);
    head.status = HTTP_BAD_REQUEST;
    head.why = "a field of one connection: %.*s";
    head.bad = piece("upgrade");
    head.bad_len = 7;
    r = request_create(conn.c, &head);
    assert_int_equal(r->status, HTTP_BAD_REQUEST);
    assert_string_equal(r->method, "BREW");
    assert_string_equal(r->uri, "/pot");
    assert_string_equal(r->the_request, "BREW /pot?x HTTP/2.0");
    assert_int_equal(conn.c->keepalive, AP_CONN_CLOSE);
}

static void test_refused_before_anything(void **state)
{
    request_rec *r;

    set_line(NULL, NULL, NULL);
    head.status = HTTP_BAD_REQUEST;
    head.why = "no method";
    r = request_create(conn.c, &head);
    assert_int_equal(r->status, HTTP_BAD_REQUEST);
    assert_string_equal(r->method, "-");
    assert_string_equal(r->the_request, "");
}

static void test_targets(void **state)
{
    static const struct {
        const char *target, *uri, *args;
        int status;
    } rows[] = {
        {"/", "/", NULL, HTTP_OK},
        {"//a//b", "/a//b", NULL, HTTP_OK},
        {"///", "/", NULL, HTTP_OK},
        {"//?//", "/", "//", HTTP_OK},
        {"//host.example/a", "/host.example/a", NULL, HTTP_OK},
        {"*", "*", NULL, HTTP_BAD_REQUEST},
        {"a", "a", NULL, HTTP_BAD_REQUEST},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        request_rec *r;

        set_line("GET", rows[i].target, "localhost");
        r = request_create(conn.c, &head);
        assert_int_equal(r->status, rows[i].status);
        assert_string_equal(r->uri, rows[i].uri);
        assert_string_equal(r->args ? r->args : "none", rows[i].args ? rows[i].args : "none");
    }
}

static int up(void **state)
{
    test_server_up("<VirtualHost *>\nServerName localhost\n</VirtualHost>\n"
                   "<VirtualHost *>\nServerName other.example\n</VirtualHost>\n");
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_request),
        TEST(test_the_target_has_copies_of_its_own),
        TEST(test_the_host_is_the_field_if_it_can_be),
        TEST(test_what_has_no_body_is_marked),
        TEST(test_authority_before_host),
        TEST(test_expectations),
        TEST(test_bad_expectation),
        TEST(test_refused),
        TEST(test_refused_before_anything),
        TEST(test_targets),
    };

    return cmocka_run_group_tests(tests, up, test_server_down);
}
