/* SPDX-License-Identifier: Apache-2.0 */
/* Responses as the client sees them, head and body, for what handlers may do and clients may ask.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_server.h"
#include "test_http.h"
#include "h1_response.h"
#include "http_connection.h"
#include "http_request.h"
#include "mod_core.h"

static brg_conn conn;
static int client;

typedef void handler_fn(request_rec *r);

static void say_hello(request_rec *r)
{
    ap_set_content_type(r, "text/plain");
    test_http_write(r, "hello", 1);
}

static void say_in_two(request_rec *r)
{
    ap_set_content_type(r, "text/plain");
    test_http_write(r, "hello", 0);
    test_http_write(r, "world", 1);
}

static void say_by_calls(request_rec *r)
{
    ap_set_content_type(r, "text/plain");
    ap_rputs("a", r);
    ap_rprintf(r, "%d-%s", 5, "x");
    ap_rputc('!', r);
    ap_rvputs(r, "b", "c", NULL);
    ap_finalize_request_protocol(r);
}

static void say_and_flush(request_rec *r)
{
    ap_rputs("a", r);
    ap_rflush(r);
    ap_rputs("b", r);
    ap_finalize_request_protocol(r);
}

static void say_nothing(request_rec *r)
{
    ap_finalize_request_protocol(r);
}

static void say_204(request_rec *r)
{
    r->status = HTTP_NO_CONTENT;
    ap_set_content_length(r, 5);
    test_http_write(r, "hello", 1);
}

/* The filter says the length that the handler said; a field of that name that came between goes. */
static void say_length_beside(request_rec *r)
{
    ap_set_content_length(r, 5);
    apr_table_addn(r->headers_out, "content-length", "7");
    test_http_write(r, "hello", 1);
}

/* A length that is no longer true. */
static void say_length_in_vain(request_rec *r)
{
    ap_set_content_length(r, 5);
    apr_table_setn(r->headers_out, "Content-Length", "7");
    ap_set_content_length(r, 6);
    ap_set_content_length(r, 5);
    test_http_write(r, "hello", 1);
}

static void say_304(request_rec *r)
{
    r->status = HTTP_NOT_MODIFIED;
    r->content_type = "text/plain";
    apr_table_setn(r->headers_out, "ETag", "\"x\"");
    ap_set_content_length(r, 5);
    test_http_write(r, "hello", 1);
}

static void vary_twice(request_rec *r)
{
    apr_table_addn(r->headers_out, "Vary", "a");
    apr_table_addn(r->headers_out, "Vary", "b, A");
    apr_table_addn(r->err_headers_out, "Vary", "c");
    test_http_write(r, "", 1);
}

static void many_languages(request_rec *r)
{
    r->content_languages = apr_array_make(r->pool, 2, sizeof(char *));
    *(const char **)apr_array_push(r->content_languages) = "fr";
    *(const char **)apr_array_push(r->content_languages) = "de";
    r->content_encoding = "gzip";
    r->no_cache = 1;
    apr_table_setn(r->headers_out, "Content-Language", "de, en");
    say_hello(r);
}

static void split_response(request_rec *r)
{
    apr_table_setn(r->headers_out, "Foo", "a\r\nSet-Cookie: b");
    say_hello(r);
}

static void bad_name(request_rec *r)
{
    apr_table_setn(r->err_headers_out, "Foo Bar", "a");
    say_hello(r);
}

static void own_status_line(request_rec *r)
{
    r->status_line = "200 Fine";
    say_hello(r);
}

static void wrong_status_line(request_rec *r)
{
    r->status_line = "404 Fine";
    say_hello(r);
}

static void die_404(request_rec *r)
{
    ap_die(HTTP_NOT_FOUND, r);
}

static void die_404_after_output(request_rec *r)
{
    ap_rputs("never seen", r);
    ap_die(HTTP_NOT_FOUND, r);
    ap_rputs("nor this", r);
}

static void die_405(request_rec *r)
{
    ap_allow_standard_methods(r, REPLACE_ALLOW, M_GET, M_POST, -1);
    ap_die(HTTP_METHOD_NOT_ALLOWED, r);
}

static void die_302(request_rec *r)
{
    apr_table_setn(r->headers_out, "Location", "http://a/<b>");
    ap_die(HTTP_MOVED_TEMPORARILY, r);
}

static void die_418(request_rec *r)
{
    ap_die(418, r);
}

static void send_options(request_rec *r)
{
    ap_allow_standard_methods(r, REPLACE_ALLOW, M_GET, M_OPTIONS, -1);
    assert_int_equal(ap_send_http_options(r), OK);
    ap_finalize_request_protocol(r);
}

static void send_trace(request_rec *r)
{
    assert_int_equal(ap_send_http_trace(r), DONE);
    ap_finalize_request_protocol(r);
}

static void send_interim(request_rec *r)
{
    r->status = HTTP_EARLY_HINTS;
    apr_table_setn(r->headers_out, "Link", "</a>");
    ap_send_interim_response(r, 1);
    r->status = HTTP_CONTINUE;
    ap_send_interim_response(r, 0); /* nobody waits for it */
    r->status = HTTP_OK;
    say_hello(r);
}

/* Metadata buckets alone: E an error (404), C the connection's end, S EOS. */
static void send_metadata(request_rec *r, const char *kinds)
{
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, alloc);

    for (; *kinds; kinds++) {
        apr_bucket *e = *kinds == 'E'   ? ap_bucket_error_create(404, NULL, r->pool, alloc)
                        : *kinds == 'C' ? ap_bucket_eoc_create(alloc)
                                        : apr_bucket_eos_create(alloc);

        APR_BRIGADE_INSERT_TAIL(bb, e);
    }
    ap_pass_brigade(r->output_filters, bb);
}

static void send_error(request_rec *r)
{
    send_metadata(r, "ES");
}

static void send_error_then_eoc(request_rec *r)
{
    send_metadata(r, "ECS");
}

static void send_eoc_then_error(request_rec *r)
{
    send_metadata(r, "CES");
}

static void send_eoc_after_eos(request_rec *r)
{
    send_metadata(r, "ESC");
}

#define OK_HEAD "HTTP/1.1 200 OK\r\n" TEST_HTTP_DATE
#define PLAIN "Content-Type: text/plain\r\n\r\n"
#define HTML "Content-Type: text/html; charset=iso-8859-1\r\n\r\n"
#define DOCTYPE                                            \
    "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" " \
    "\"http://www.w3.org/TR/html4/strict.dtd\">\n"
#define NOT_FOUND                                                                             \
    DOCTYPE "<html><head>\n<title>404 Not Found</title>\n</head><body>\n<h1>Not Found</h1>\n" \
            "<p>The requested URL was not found on this server.</p>\n</body></html>\n"
#define TOO_LARGE                                                                              \
    DOCTYPE                                                                                    \
    "<html><head>\n<title>413 Request Entity Too Large</title>\n</head><body>\n<h1>Request "   \
    "Entity Too Large</h1>\n"                                                                  \
    "The requested resource does not allow request data with POST requests, or the amount of " \
    "data provided in\n"                                                                       \
    "the request exceeds the capacity limit.\n</body></html>\n"
#define INTERNAL                                                                                   \
    DOCTYPE                                                                                        \
    "<html><head>\n<title>500 Internal Server Error</title>\n</head><body>\n<h1>Internal Server "  \
    "Error</h1>\n"                                                                                 \
    "<p>The server encountered an internal error or\nmisconfiguration and was unable to "          \
    "complete\n"                                                                                   \
    "your request.</p>\n<p>Please contact the server administrator at \n a@b.c to inform them of " \
    "the time this "                                                                               \
    "error occurred,\n and the actions you performed just before this error.</p>\n"                \
    "<p>More information about this error may be available\nin the server error "                  \
    "log.</p>\n</body></html>\n"

#define GET11 "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
#define GET10 "GET / HTTP/1.0\r\n\r\n"
#define HEAD11 "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"

static const struct response_case {
    const char *name, *request;
    handler_fn *handler;
    const char *seen;
    int keeps;
} cases[] = {
    {"length", GET11, say_hello, OK_HEAD "Content-Length: 5\r\n" PLAIN "hello", 1},
    {"1.0", GET10, say_hello, OK_HEAD "Content-Length: 5\r\nConnection: close\r\n" PLAIN "hello",
     0},
    {"1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", say_hello,
     OK_HEAD "Content-Length: 5\r\nKeep-Alive: timeout=7, max=3\r\nConnection: Keep-Alive\r\n" PLAIN
             "hello",
     1},
    {"1.1 keep-alive named", "GET / HTTP/1.1\r\nHost: x\r\nConnection: foo, keep-alive\r\n\r\n",
     say_hello,
     OK_HEAD "Content-Length: 5\r\nKeep-Alive: timeout=7, max=3\r\nConnection: Keep-Alive\r\n" PLAIN
             "hello",
     1},
    {"1.1 close", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", say_hello,
     OK_HEAD "Content-Length: 5\r\nConnection: close\r\n" PLAIN "hello", 0},
    {"0.9", "GET /\r\n", say_hello, "hello", 0},
    {"HEAD", HEAD11, say_hello, OK_HEAD "Content-Length: 5\r\n" PLAIN, 1},
    {"HEAD in two", HEAD11, say_in_two, OK_HEAD PLAIN, 1},
    {"HEAD nothing", HEAD11, say_nothing, OK_HEAD "\r\n", 1},
    {"nothing", GET11, say_nothing, OK_HEAD "Content-Length: 0\r\n\r\n", 1},
    {"chunked", GET11, say_in_two,
     OK_HEAD "Transfer-Encoding: chunked\r\n" PLAIN "5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n", 1},
    {"to the end", GET10, say_in_two, OK_HEAD "Connection: close\r\n" PLAIN "helloworld", 0},
    {"ap_r*", GET11, say_by_calls, OK_HEAD "Content-Length: 7\r\n" PLAIN "a5-x!bc", 1},
    {"flush", GET11, say_and_flush,
     OK_HEAD "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n", 1},
    {"length", GET11, say_length_beside, OK_HEAD "Content-Length: 5\r\n\r\nhello", 1},
    {"lengths", GET11, say_length_in_vain, OK_HEAD "Content-Length: 5\r\n\r\nhello", 1},
    {"204", GET11, say_204, "HTTP/1.1 204 No Content\r\n" TEST_HTTP_DATE "\r\n", 1},
    {"304", GET11, say_304, "HTTP/1.1 304 Not Modified\r\n" TEST_HTTP_DATE "ETag: \"x\"\r\n\r\n",
     1},
    {"Vary", GET11, vary_twice, OK_HEAD "Vary: c,a,b\r\nContent-Length: 0\r\n\r\n", 1},
    {"languages", GET11, many_languages,
     OK_HEAD
     "Content-Language: fr,de,en\r\nContent-Length: 5\r\nExpires: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
     "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\nhello",
     1},
    {"split", "GET / HTTP/1.0\r\n\r\n", split_response,
     "HTTP/1.1 500 Internal Server Error\r\n" TEST_HTTP_DATE "Connection: close\r\n" HTML INTERNAL,
     0},
    {"bad name", "GET / HTTP/1.0\r\n\r\n", bad_name,
     "HTTP/1.1 500 Internal Server Error\r\n" TEST_HTTP_DATE "Connection: close\r\n" HTML INTERNAL,
     0},
    {"status line", GET11, own_status_line,
     "HTTP/1.1 200 Fine\r\n" TEST_HTTP_DATE "Content-Length: 5\r\n" PLAIN "hello", 1},
    {"wrong status line", GET11, wrong_status_line, OK_HEAD "Content-Length: 5\r\n" PLAIN "hello",
     1},
    {"404", GET11, die_404,
     "HTTP/1.1 404 Not Found\r\n" TEST_HTTP_DATE "Content-Length: 236\r\n" HTML NOT_FOUND, 1},
    {"404 HEAD", HEAD11, die_404, "HTTP/1.1 404 Not Found\r\n" TEST_HTTP_DATE HTML, 1},
    {"404 after output", GET11, die_404_after_output,
     "HTTP/1.1 404 Not Found\r\n" TEST_HTTP_DATE "Content-Length: 236\r\n" HTML NOT_FOUND, 1},
    {"error bucket", GET11, send_error,
     "HTTP/1.1 404 Not Found\r\n" TEST_HTTP_DATE "Transfer-Encoding: chunked\r\n" HTML
     "ec\r\n" NOT_FOUND "\r\n0\r\n\r\n",
     1},
    {"error, EOC", GET11, send_error_then_eoc, "", 0},
    {"EOC, error", GET11, send_eoc_then_error, "", 0},
    {"error, EOS, EOC", GET11, send_eoc_after_eos, "", 0},
    {"body announced as too large",
     "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000000\r\n\r\n", say_nothing,
     "HTTP/1.1 413 Request Entity Too Large\r\n" TEST_HTTP_DATE
     "Connection: close\r\n" HTML TOO_LARGE,
     0},
    {"405", HEAD11, die_405,
     "HTTP/1.1 405 Method Not Allowed\r\n" TEST_HTTP_DATE "Allow: GET,POST,HEAD,TRACE\r\n" HTML, 1},
    {"302", GET11, die_302,
     "HTTP/1.1 302 Found\r\n" TEST_HTTP_DATE
     "Location: http://a/<b>\r\nContent-Length: 242\r\n" HTML DOCTYPE
     "<html><head>\n<title>302 Found</title>\n</head><body>\n<h1>Found</h1>\n"
     "<p>The document has moved <a href=\"http://a/&lt;b&gt;\">here</a>.</p>\n</body></html>\n",
     1},
    {"no such status", GET10, die_418,
     "HTTP/1.1 500 Internal Server Error\r\n" TEST_HTTP_DATE
     "Content-Length: 558\r\nConnection: close\r\n" HTML INTERNAL,
     0},
    {"OPTIONS", "OPTIONS / HTTP/1.1\r\nHost: x\r\n\r\n", send_options,
     OK_HEAD "Allow: GET,OPTIONS,HEAD,TRACE\r\nContent-Length: 0\r\n\r\n", 1},
    {"TRACE", "TRACE / HTTP/1.0\r\nFoo: a\r\n\r\n", send_trace,
     OK_HEAD
     "Connection: close\r\nContent-Type: message/http\r\n\r\nTRACE / HTTP/1.0\r\nFoo: a\r\n\r\n",
     0},
    {"interim", GET11, send_interim,
     "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" OK_HEAD "Content-Length: 5\r\n" PLAIN "hello",
     1},
    {"interim 1.0", GET10, send_interim,
     OK_HEAD "Link: </a>\r\nContent-Length: 5\r\nConnection: close\r\n" PLAIN "hello", 0},
};

static void test_responses(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *seen;
        request_rec *r;

        test_connect(&conn, &client);
        r = test_http_request(&conn, cases[i].request);
        assert_int_equal(r->status, HTTP_OK);
        cases[i].handler(r);
        seen = test_http_seen(&conn, client);
        if (strcmp(seen, cases[i].seen))
            print_error("%s:\n%s\n", cases[i].name, seen);
        assert_string_equal(seen, cases[i].seen);
        assert_int_equal(conn.c->keepalive == AP_CONN_KEEPALIVE, cases[i].keeps);
        apr_pool_destroy(r->pool);
        test_disconnect(&conn, client);
    }
}

/* Refused requests: what is known of them, and the pages that say why. */
static void test_refusals(void **state)
{
    static const struct {
        const char *request;
        int status;
        const char *note;
    } table[] = {
        {"GET  / HTTP/1.1\r\n\r\n", 400, NULL},
        {"BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 200, NULL},
        {"GET / HTTP/1.1\r\nHost: x\r\nExpect: wonder\r\n\r\n", 417, NULL},
        {"GET / HTTP/2.0\r\n\r\n", 505, NULL},
        {"GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400, NULL},
        {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 200, NULL},
        {"GET / HTTP/1.1\r\nHost: x\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\nF: 6\r\n\r\n", 400,
         "The number of request header fields exceeds this server's limit."}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        request_rec *r;

        test_connect(&conn, &client);
        r = test_http_request(&conn, table[i].request);
        assert_int_equal(r->status, table[i].status);
        if (table[i].note)
            assert_string_equal(apr_table_get(r->notes, "error-notes"), table[i].note);
        apr_pool_destroy(r->pool);
        test_disconnect(&conn, client);
    }
}

static void test_request_fields(void **state)
{
    request_rec *r;

    test_connect(&conn, &client);
    r = test_http_request(
        &conn, "GET http://Other:81/a%20b?c=d HTTP/1.1\r\nHost: x\r\nCookie: a\r\nX-Y: 1\r\n"
               "cookie: b\r\nx-y: 2\r\nZ:\r\n\r\n");
    assert_int_equal(r->status, HTTP_OK);
    assert_string_equal(r->the_request, "GET http://Other:81/a%20b?c=d HTTP/1.1");
    assert_string_equal(r->unparsed_uri, "http://Other:81/a%20b?c=d");
    assert_string_equal(r->uri, "/a%20b");
    assert_string_equal(r->args, "c=d");
    assert_string_equal(r->hostname, "other");
    assert_string_equal(r->protocol, "HTTP/1.1");
    assert_int_equal(r->proto_num, 1001);
    assert_string_equal(apr_table_get(r->headers_in, "Cookie"), "a, b");
    assert_string_equal(apr_table_get(r->headers_in, "X-Y"), "1, 2");
    assert_string_equal(apr_table_get(r->headers_in, "Z"), "");
    apr_pool_destroy(r->pool);
    test_disconnect(&conn, client);
}

/* A stored head, with what changes from answer to answer: as it was sent when it was stored. */
static void test_stored_head(void **state)
{
    http_answer_terms terms = {.asked = 1, .keep_alive = apr_time_from_sec(7), .left = 3};
    http_stored_head *stored;
    char with[HTTP_HEAD_ROOM + 6], line[H1_CONNECTION_MAX];
    http_answer *answer;
    request_rec *r;
    size_t n;

    test_connect(&conn, &client);
    r = test_http_request(&conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n");
    say_hello(r);
    answer = http_answer_of(r, NULL, 0);
    assert_non_null(answer);
    assert_int_equal(answer->status, 200);
    stored = h1_codec.serialise(answer, NULL);
    assert_non_null(stored);
    terms.now = r->request_time;
    n = h1_codec.put(with, stored, answer, &terms);
    memcpy(with + n, "hello", 6);
    assert_string_equal(test_http_seen(&conn, client), with);
    terms.close = 1;
    n = h1_codec.put(with, stored, answer, &terms);
    with[n] = '\0';
    assert_non_null(strstr(with, "\r\nConnection: close\r\n"));
    assert_null(strstr(with, "Keep-Alive"));
    free(stored);
    free(answer);
    assert_int_equal(h1_format_connection(line, 1, 1, apr_time_from_sec(7), 3), 19);
    assert_memory_equal(line, "Connection: close\r\n", 19);
    assert_int_equal(h1_format_connection(line, 0, 0, apr_time_from_sec(7), 3), 0);
    n = h1_format_connection(line, 0, 1, apr_time_from_sec(12), -1);
    assert_int_equal(n, 48);
    assert_memory_equal(line, "Keep-Alive: timeout=12\r\nConnection: Keep-Alive\r\n", n);
    apr_pool_destroy(r->pool);
    test_disconnect(&conn, client);
}

static void test_date(void **state)
{
    assert_string_equal(http_date_now(TEST_HTTP_NOW), "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_string_equal(http_date_now(TEST_HTTP_NOW + 999999), "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_string_equal(http_date_now(TEST_HTTP_NOW + 1000000), "Sun, 06 Nov 1994 08:49:38 GMT");
    assert_string_equal(http_date_now(TEST_HTTP_NOW), "Sun, 06 Nov 1994 08:49:37 GMT");
}

static void test_status_numbers(void **state)
{
    static const struct {
        int status, index;
        const char *line, *line_ex;
    } table[] = {
        {100, 0, "100 Continue", "100 Continue"},
        {103, 3, "103 Early Hints", "103 Early Hints"},
        {104, 92, "500 Internal Server Error", "104 Status 104"},
        {200, 4, "200 OK", "200 OK"},
        {226, 30, "226 IM Used", "226 IM Used"},
        {227, 92, "500 Internal Server Error", "227 Status 227"},
        {306, 92, "500 Internal Server Error", "306 Status 306"},
        {308, 39, "308 Permanent Redirect", "308 Permanent Redirect"},
        {451, 91, "451 Unavailable For Legal Reasons", "451 Unavailable For Legal Reasons"},
        {500, 92, "500 Internal Server Error", "500 Internal Server Error"},
        {511, 103, "511 Network Authentication Required", "511 Network Authentication Required"},
        {512, 92, "500 Internal Server Error", "512 Status 512"},
        {600, 92, "500 Internal Server Error", "600 Status 600"},
        {99, 92, "500 Internal Server Error", "500 Internal Server Error"}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(ap_index_of_response(table[i].status), table[i].index);
        assert_string_equal(ap_get_status_line(table[i].status), table[i].line);
        assert_string_equal(ap_get_status_line_ex(ap_pglobal, table[i].status), table[i].line_ex);
    }
    assert_int_equal(RESPONSE_CODES, 104);
}

static void test_methods(void **state)
{
    ap_method_list_t *list = ap_make_method_list(ap_pglobal, 2),
                     *copy = ap_make_method_list(ap_pglobal, 2);
    const int brew = ap_method_register(ap_pglobal, "BREW");

    assert_true(brew > M_INVALID);
    assert_int_equal(ap_method_register(ap_pglobal, "BREW"), brew);
    assert_int_equal(ap_method_number_of("BREW"), brew);
    assert_string_equal(ap_method_name_of(ap_pglobal, brew), "BREW");
    assert_int_equal(ap_method_number_of("HEAD"), M_GET);
    assert_int_equal(ap_method_number_of("get"), M_INVALID);
    assert_string_equal(ap_method_name_of(ap_pglobal, M_BASELINE_CONTROL), "BASELINE-CONTROL");
    assert_null(ap_method_name_of(ap_pglobal, M_INVALID));
    ap_method_list_add(list, "PUT");
    ap_method_list_add(list, "STEEP");
    ap_method_list_add(list, "STEEP");
    assert_true(ap_method_in_list(list, "PUT") && ap_method_in_list(list, "STEEP"));
    assert_false(ap_method_in_list(list, "POST"));
    assert_int_equal(list->method_list->nelts, 1);
    ap_copy_method_list(copy, list);
    ap_method_list_remove(list, "PUT");
    ap_method_list_remove(list, "STEEP");
    assert_false(ap_method_in_list(list, "PUT") || ap_method_in_list(list, "STEEP"));
    assert_true(ap_method_in_list(copy, "PUT") && ap_method_in_list(copy, "STEEP"));
    ap_clear_method_list(copy);
    assert_int_equal(copy->method_mask, 0);
}

static int set_up_server(void **state)
{
    test_server_up(
        "BuiltinPages apache\n"
        "ServerAdmin a@b.c\nLimitRequestFields 6\nMaxKeepAliveRequests 3\nKeepAliveTimeout 7\n"
        "TraceEnable on\nServerTokens Min\n");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_responses),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_request_fields), cmocka_unit_test(test_stored_head),
        cmocka_unit_test(test_date),           cmocka_unit_test(test_status_numbers),
        cmocka_unit_test(test_methods),
    };

    return cmocka_run_group_tests(tests, set_up_server, test_server_down);
}
