/* SPDX-License-Identifier: Apache-2.0 */
/* CORE_IN in all its modes, over a connection's buffer and over a plain socket. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_server.h"
#include "http_connection.h"

#include <apr_portable.h>

static brg_conn conn;
static int client;
static apr_bucket_brigade *bb;

static int set_up(void **state)
{
    (void)state;
    test_connect(&conn, &client);
    bb = apr_brigade_create(conn.c->pool, conn.c->bucket_alloc);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_disconnect(&conn, client);
    return 0;
}

static void say(const char *text)
{
    size_t n = strlen(text);
    assert_int_equal(send(client, text, n, MSG_NOSIGNAL), n);
}

static void hang_up(void)
{
    shutdown(client, SHUT_WR);
}

static apr_status_t get(ap_input_mode_t mode, apr_read_type_e block, apr_off_t n)
{
    apr_brigade_cleanup(bb);
    return ap_get_brigade(conn.c->input_filters, bb, mode, block, n);
}

static void expect(const char *text)
{
    char got[16384];
    apr_size_t n = sizeof got - 1;

    assert_int_equal(apr_brigade_flatten(bb, got, &n), APR_SUCCESS);
    got[n] = '\0';
    assert_string_equal(got, text);
}

/* What the driver sees of the buffer: filters must leave there what they did not take. */
static void expect_left(const char *text)
{
    assert_int_equal(conn_in_size(&conn), strlen(text));
    assert_memory_equal(conn.input.at + conn.input.off, text, strlen(text));
}

static void lines_are_taken_one_by_one(void **state)
{
    (void)state;
    say("one\r\ntwo\nrest");
    assert_int_equal(get(AP_MODE_GETLINE, APR_BLOCK_READ, 0), APR_SUCCESS);
    expect("one\r\n");
    expect_left("two\nrest");
    assert_int_equal(get(AP_MODE_GETLINE, APR_BLOCK_READ, 0), APR_SUCCESS);
    expect("two\n");
    hang_up();
    assert_int_equal(get(AP_MODE_GETLINE, APR_BLOCK_READ, 0), APR_SUCCESS);
    expect("rest");
    assert_int_equal(get(AP_MODE_GETLINE, APR_BLOCK_READ, 0), APR_EOF);
}

static void long_line_comes_in_pieces(void **state)
{
    char line[10001];
    apr_off_t n;

    (void)state;
    memset(line, 'x', 10000);
    line[9999] = '\n';
    line[10000] = '\0';
    say(line);
    assert_int_equal(get(AP_MODE_GETLINE, APR_BLOCK_READ, 0), APR_SUCCESS);
    assert_int_equal(apr_brigade_length(bb, 1, &n), APR_SUCCESS);
    assert_int_equal(n, 8192);
    assert_int_equal(get(AP_MODE_GETLINE, APR_BLOCK_READ, 0), APR_SUCCESS);
    assert_int_equal(apr_brigade_length(bb, 1, &n), APR_SUCCESS);
    assert_int_equal(n, 10000 - 8192);
}

static void bytes_up_to_a_number(void **state)
{
    (void)state;
    say("abcdefgh");
    assert_int_equal(get(AP_MODE_READBYTES, APR_BLOCK_READ, 3), APR_SUCCESS);
    expect("abc");
    expect_left("defgh");
    assert_int_equal(get(AP_MODE_SPECULATIVE, APR_BLOCK_READ, 2), APR_SUCCESS);
    expect("de");
    expect_left("defgh");
    assert_int_equal(get(AP_MODE_READBYTES, APR_BLOCK_READ, 100), APR_SUCCESS);
    expect("defgh");
    assert_int_not_equal(get(AP_MODE_READBYTES, APR_BLOCK_READ, 0), APR_SUCCESS);
}

static void data_outlives_the_buffer(void **state)
{
    apr_bucket_brigade *first = apr_brigade_create(conn.c->pool, conn.c->bucket_alloc);
    char got[8];
    apr_size_t n = sizeof got;

    (void)state;
    say("first");
    assert_int_equal(
        ap_get_brigade(conn.c->input_filters, first, AP_MODE_READBYTES, APR_BLOCK_READ, 5),
        APR_SUCCESS);
    say("other");
    assert_int_equal(get(AP_MODE_READBYTES, APR_BLOCK_READ, 5), APR_SUCCESS);
    expect("other");
    assert_int_equal(apr_brigade_flatten(first, got, &n), APR_SUCCESS);
    assert_memory_equal(got, "first", 5);
}

static void nothing_yet_is_an_empty_success(void **state)
{
    (void)state;
    assert_int_equal(get(AP_MODE_READBYTES, APR_NONBLOCK_READ, 10), APR_SUCCESS);
    assert_true(APR_BRIGADE_EMPTY(bb));
    assert_int_equal(get(AP_MODE_GETLINE, APR_NONBLOCK_READ, 0), APR_SUCCESS);
    assert_true(APR_BRIGADE_EMPTY(bb));
    assert_int_equal(get(AP_MODE_SPECULATIVE, APR_NONBLOCK_READ, 1), APR_SUCCESS);
    assert_true(APR_BRIGADE_EMPTY(bb));
    assert_true(APR_STATUS_IS_EAGAIN(get(AP_MODE_EATCRLF, APR_NONBLOCK_READ, 0)));
}

static void blank_lines_are_eaten(void **state)
{
    (void)state;
    say("\r\n\n\r\nGET");
    assert_int_equal(get(AP_MODE_SPECULATIVE, APR_BLOCK_READ, 1), APR_SUCCESS);
    assert_int_equal(get(AP_MODE_EATCRLF, APR_NONBLOCK_READ, 0), APR_SUCCESS);
    expect_left("GET");
}

static void waiting_has_an_end(void **state)
{
    (void)state;
    apr_socket_timeout_set(ap_get_conn_socket(conn.c), 10000);
    assert_true(APR_STATUS_IS_TIMEUP(get(AP_MODE_READBYTES, APR_BLOCK_READ, 1)));
}

static void end_is_said_each_time(void **state)
{
    (void)state;
    hang_up();
    assert_int_equal(get(AP_MODE_READBYTES, APR_BLOCK_READ, 1), APR_EOF);
    assert_int_equal(get(AP_MODE_READBYTES, APR_BLOCK_READ, 1), APR_EOF);
    assert_int_equal(get(AP_MODE_GETLINE, APR_BLOCK_READ, 0), APR_EOF);
    assert_int_equal(get(AP_MODE_SPECULATIVE, APR_NONBLOCK_READ, 1), APR_EOF);
}

static void everything_at_once(void **state)
{
    (void)state;
    say("now ");
    assert_int_equal(get(AP_MODE_SPECULATIVE, APR_BLOCK_READ, 1), APR_SUCCESS);
    assert_int_equal(get(AP_MODE_EXHAUSTIVE, APR_BLOCK_READ, 0), APR_SUCCESS);
    say("later");
    hang_up();
    expect("now later");
}

static void initialising_reads_nothing(void **state)
{
    (void)state;
    say("x");
    assert_int_equal(get(AP_MODE_INIT, APR_BLOCK_READ, 0), APR_SUCCESS);
    assert_true(APR_BRIGADE_EMPTY(bb));
}

/* A connection that a module opened to somebody else: same hooks, same filters, no loop below. */
static void outgoing_connection_works_alike(void **state)
{
    apr_bucket_alloc_t *alloc = apr_bucket_alloc_create(conn.c->pool);
    apr_os_sock_info_t info = {.family = APR_INET, .type = SOCK_STREAM};
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    apr_bucket_brigade *got;
    apr_socket_t *csd;
    int ours, theirs;
    conn_rec *c;
    char text[16];
    apr_size_t n = sizeof text;

    (void)state;
    test_tcp_pair(&ours, &theirs);
    info.os_sock = &ours;
    info.remote = (struct sockaddr *)&peer;
    info.local = (struct sockaddr *)&peer;
    assert_int_equal(apr_os_sock_make(&csd, &info, conn.c->pool), APR_SUCCESS);
    c = ap_run_create_connection(conn.c->pool, ap_server_conf, csd, 7, NULL, alloc);
    assert_non_null(c);
    assert_true(ap_pre_connection(c, csd) == OK || c->output_filters);
    assert_null(connection_of(c));
    assert_int_equal(send(theirs, "ab\ncd", 5, 0), 5);
    got = apr_brigade_create(c->pool, alloc);
    assert_int_equal(ap_get_brigade(c->input_filters, got, AP_MODE_GETLINE, APR_BLOCK_READ, 0),
                     APR_SUCCESS);
    assert_int_equal(ap_get_brigade(c->input_filters, got, AP_MODE_READBYTES, APR_BLOCK_READ, 1),
                     APR_SUCCESS);
    assert_int_equal(apr_brigade_flatten(got, text, &n), APR_SUCCESS);
    assert_int_equal(n, 4);
    assert_memory_equal(text, "ab\nc", 4);
    apr_brigade_cleanup(got);
    APR_BRIGADE_INSERT_TAIL(got, apr_bucket_immortal_create("out", 3, alloc));
    APR_BRIGADE_INSERT_TAIL(got, apr_bucket_flush_create(alloc));
    assert_int_equal(ap_pass_brigade(c->output_filters, got), APR_SUCCESS);
    assert_int_equal(recv(theirs, text, sizeof text, 0), 3);
    apr_socket_close(csd);
    close(theirs);
}

/* Bytes of a body lie where they were read: buckets refer to the buffer, and what is read next goes behind them. */
static void long_pieces_are_shared(void **state)
{
    apr_bucket_brigade *first = apr_brigade_create(conn.c->pool, conn.c->bucket_alloc);
    char text[3001], got[3001];
    apr_size_t n = 2000;
    const char *data, *at;

    (void)state;
    memset(text, 'x', 1500);
    memset(text + 1500, 'y', 1500);
    text[3000] = '\0';
    say(text);
    assert_int_equal(
        ap_get_brigade(conn.c->input_filters, first, AP_MODE_READBYTES, APR_BLOCK_READ, 1500),
        APR_SUCCESS);
    assert_true(conn.input.shared);
    at = conn.input.at;
    assert_int_equal(apr_bucket_read(APR_BRIGADE_FIRST(first), &data, &n, APR_BLOCK_READ),
                     APR_SUCCESS);
    assert_ptr_equal(data, at);
    assert_int_equal(get(AP_MODE_READBYTES, APR_BLOCK_READ, 8192), APR_SUCCESS);
    expect(text + 1500);
    say("next"); /* behind what is referred to */
    assert_int_equal(get(AP_MODE_SPECULATIVE, APR_BLOCK_READ, 4), APR_SUCCESS);
    expect("next");
    assert_ptr_equal(conn.input.at + conn.input.off, at + 3000);
    say(text); /* more than there is room for: another buffer */
    while (conn_in_size(&conn) < 3004)
        assert_int_equal(conn_read(&conn, APR_BLOCK_READ, -1), APR_SUCCESS);
    assert_ptr_not_equal(conn.input.at, at);
    assert_false(conn.input.shared);
    n = sizeof got;
    assert_int_equal(apr_brigade_flatten(first, got, &n), APR_SUCCESS);
    assert_int_equal(n, 1500);
    assert_memory_equal(got, text, 1500);
    assert_memory_equal(conn.input.at + conn.input.off, "nextxxx", 7);
}

/* An idle connection holds no buffer. */
static void shared_input_is_let_go_when_the_connection_is_idle(void **state)
{
    char text[2001];
    const char *at;

    (void)state;
    memset(text, 'x', 2000);
    text[2000] = '\0';
    say(text);
    assert_int_equal(get(AP_MODE_READBYTES, APR_BLOCK_READ, 8192), APR_SUCCESS);
    at = ((apr_bucket_heap *)APR_BRIGADE_FIRST(bb)->data)->base;
    assert_int_equal(((apr_bucket_refcount *)APR_BRIGADE_FIRST(bb)->data)->refcount, 2);
    conn_in_release(&conn);
    connection_input_idle(&conn);
    assert_null(conn.input.at);
    assert_int_equal(((apr_bucket_refcount *)APR_BRIGADE_FIRST(bb)->data)->refcount, 1);
    assert_memory_equal(at, text, 2000);
}

/* The connection goes on after its conn_rec, with what nobody has read. */
static void shared_input_is_kept_when_the_connection_is_detached(void **state)
{
    char text[2004];

    (void)state;
    memset(text, 'x', 1999);
    memcpy(text + 1999, "head", 5);
    say(text);
    assert_int_equal(get(AP_MODE_READBYTES, APR_BLOCK_READ, 1999), APR_SUCCESS);
    assert_true(conn.input.shared);
    apr_brigade_destroy(bb);
    connection_detach(&conn);
    assert_false(conn.input.shared);
    expect_left("head");
    assert_int_equal(connection_attach(&conn), APR_SUCCESS);
    bb = apr_brigade_create(conn.c->pool, conn.c->bucket_alloc);
}

#define CONNECTED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static int group_set_up(void **state)
{
    (void)state;
    test_server_up("Timeout 20\n");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONNECTED(lines_are_taken_one_by_one),
        CONNECTED(long_line_comes_in_pieces),
        CONNECTED(bytes_up_to_a_number),
        CONNECTED(data_outlives_the_buffer),
        CONNECTED(long_pieces_are_shared),
        CONNECTED(shared_input_is_let_go_when_the_connection_is_idle),
        CONNECTED(shared_input_is_kept_when_the_connection_is_detached),
        CONNECTED(nothing_yet_is_an_empty_success),
        CONNECTED(blank_lines_are_eaten),
        CONNECTED(waiting_has_an_end),
        CONNECTED(end_is_said_each_time),
        CONNECTED(everything_at_once),
        CONNECTED(initialising_reads_nothing),
        CONNECTED(outgoing_connection_works_alike),
    };

    return cmocka_run_group_tests(tests, group_set_up, test_server_down);
}
