/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of one HTTP/2 connection to a backend: what is whose, in windows and frames, without a socket. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "proxy_h2_private.h"
#include "test_exchange.h"

static apr_pool_t *pool;
static upstream_conn *cc;
static proxy_exchange *x[3];
static uint8_t text[400000];
static size_t text_n;

/* Three requests; the first has a body of 100,000 bytes, the second one of 1,000. */
static int setup(void **state)
{
    exchange_server();
    apr_pool_create(&pool, test_process->pool);
    cc = apr_pcalloc(pool, sizeof *cc);
    x[0] = exchange_make_on(pool, &proxy_h2_codec, PROXY_SCHEME_H2C, "h2c", 100000, cc);
    x[1] = exchange_make_on(pool, &proxy_h2_codec, PROXY_SCHEME_H2C, "h2c", 1000, cc);
    x[2] = exchange_make_on(pool, &proxy_h2_codec, PROXY_SCHEME_H2C, "h2c", 0, cc);
    text_n = 0;
    return 0;
}

static int teardown(void **state)
{
    cc->session_end(cc->session);
    free(cc->block);
    for (int i = 0; i < 3; i++) {
        apr_brigade_destroy(x[i]->in);
        apr_brigade_destroy(x[i]->out);
    }
    apr_pool_destroy(pool);
    return 0;
}

static h2c_session *session(void)
{
    return cc->session;
}

static h2c_stream *stream(int i)
{
    return x[i]->script;
}

/* ---- what the backend sends ---- */

static void add(h2_frame_type type, unsigned flags, uint32_t id, const void *payload, size_t n)
{
    uint8_t *p = h2_put_frame(text + text_n, n, type, flags, id);

    memcpy(p, payload, n);
    text_n += H2_FRAME_HEAD + n;
}

static void add_data(uint32_t id, char c, size_t n, int ends)
{
    static char bytes[H2_FRAME_MAX];

    memset(bytes, c, n);
    add(H2_DATA, ends ? H2_END_STREAM : 0, id, bytes, n);
}

static void add_window(uint32_t id, uint32_t n)
{
    uint8_t value[4];

    h2_put32(value, n);
    add(H2_WINDOW_UPDATE, 0, id, value, 4);
}

static void add_setting(h2_setting name, uint32_t n)
{
    uint8_t value[6] = {0, (uint8_t)name};

    h2_put32(value + 2, n);
    add(H2_SETTINGS, 0, 0, value, 6);
}

/* ":status: 200", of the static table. */
static void add_head(uint32_t id)
{
    add(H2_HEADERS, H2_END_HEADERS, id, "\x88", 1);
}

/* All of it, in pieces of @a step bytes; each exchange then takes what is its own. */
static void come(size_t step)
{
    for (size_t at = 0; at < text_n; at += step) {
        exchange_append(cc, text + at, text_n - at < step ? text_n - at : step);
        h2c_demux(session());
    }
    text_n = 0;
}

static const char *body_of(int i)
{
    char *body;
    apr_size_t n;

    assert_int_equal(apr_brigade_pflatten(x[i]->in, &body, &n, pool), APR_SUCCESS);
    return apr_pstrmemdup(pool, body, n);
}

/* ---- tests ---- */

static void test_frames_go_to_their_streams(void **state)
{
    for (size_t step = 1; step < 40; step += 7) {
        if (step > 1) {
            teardown(state);
            setup(state);
        }
        add_head(5);
        add_data(5, 'c', 3, 0);
        add_head(1);
        add_data(1, 'a', 2, 0);
        add_data(5, 'C', 2, 1);
        add_head(3);
        add_data(1, 'A', 1, 1);
        come(step);
        assert_int_equal(h2c_take(x[0], stream(0)), APR_SUCCESS);
        assert_int_equal(h2c_take(x[1], stream(1)), APR_SUCCESS);
        assert_int_equal(h2c_take(x[2], stream(2)), APR_SUCCESS);
        assert_true(x[0]->answer.complete && !x[1]->answer.complete && x[2]->answer.complete);
        assert_string_equal(body_of(0), "aaA");
        assert_string_equal(body_of(1), "");
        assert_string_equal(body_of(2), "cccCC");
        assert_int_equal(h2c_take(x[1], stream(1)), APR_EAGAIN);
    }
}

/* "a: b" enters the dynamic table with the first block, which nobody takes before the second is there. */
static void test_the_table_is_the_connections(void **state)
{
    static const uint8_t first[] = {0x88, 0x40, 1, 'a', 1, 'b'}, second[] = {0x88, 0xbe};

    add(H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, 1, first, sizeof first);
    add(H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, 3, second, sizeof second);
    come(3);
    assert_int_equal(h2c_take(x[1], stream(1)), APR_SUCCESS);
    assert_string_equal(apr_table_get(x[1]->r->headers_out, "a"), "b");
    assert_int_equal(h2c_take(x[0], stream(0)), APR_SUCCESS);
    assert_string_equal(apr_table_get(x[0]->r->headers_out, "a"), "b");
}

static void test_a_stream_that_left(void **state)
{
    static const uint8_t first[] = {0x88, 0x40, 1, 'a', 1, 'b'}, second[] = {0x88, 0xbe};

    h2c_stream_leave(stream(0));
    add(H2_HEADERS, H2_END_HEADERS, 1, first, sizeof first);
    add_data(1, 'x', 1000, 1);
    add(H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, 3, second, sizeof second);
    come(100);
    assert_null(session()->bad);
    assert_int_equal(h2c_take(x[1], stream(1)), APR_SUCCESS);
    assert_string_equal(apr_table_get(x[1]->r->headers_out, "a"), "b");
    assert_int_equal(session()->streams_n, 2);
}

/* Within a frame of DATA, the rest of which is nobody's. */
static void test_a_stream_that_leaves_within_a_frame(void **state)
{
    add_head(1);
    add_data(1, 'x', 1000, 0);
    text_n -= 500;
    come(text_n);
    h2c_stream_leave(stream(0));
    memset(text, 'x', 500);
    text_n = 500;
    add_head(3);
    add_data(3, 'b', 1, 1);
    come(text_n);
    assert_null(session()->bad);
    assert_int_equal(h2c_take(x[1], stream(1)), APR_SUCCESS);
    assert_string_equal(body_of(1), "b");
}

static void body(int i, size_t n, int last)
{
    apr_bucket_alloc_t *alloc = x[i]->r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(pool, alloc);

    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_pool_create(apr_pcalloc(pool, n), n, pool, alloc));
    h2c_body(x[i], bb, last);
}

static void sent(void)
{
    session()->out_from = session()->out_to;
}

static void test_windows_of_streams_and_of_the_connection(void **state)
{
    sent();
    body(0, 100000, 1);
    sent();
    (void)h2c_flush(x[0], stream(0));
    sent();
    assert_int_equal(x[0]->body.held, 100000 - H2_WINDOW_DEFAULT); /* both windows */
    assert_int_equal(stream(0)->window, 0);
    body(1, 1000, 1);
    assert_int_equal(x[1]->body.held, 1000); /* its own has room, the connection's has none */
    add_window(0, 500);
    come(text_n);
    assert_false(h2c_flush(x[0], stream(0)));
    assert_true(h2c_flush(x[1], stream(1)));
    assert_int_equal(x[1]->body.held, 500);
    add_window(0, 100000);
    add_setting(H2_SET_INITIAL_WINDOW_SIZE, H2_WINDOW_DEFAULT + 10);
    come(text_n);
    assert_int_equal(stream(0)->window, 10);
    sent();
    assert_true(h2c_flush(x[0], stream(0)));
    assert_int_equal(x[0]->body.held, 100000 - H2_WINDOW_DEFAULT - 10);
    assert_true(h2c_flush(x[1], stream(1)) && stream(1)->ended && !stream(0)->ended);
}

static void test_who_sends_goes_behind_the_others(void **state)
{
    sent();
    body(0, 20000, 0);
    assert_ptr_equal(session()->first, stream(1));
    body(1, 1000, 0);
    assert_ptr_equal(session()->first, stream(2));
    assert_ptr_equal(session()->first->next, stream(0));
    assert_ptr_equal(stream(0)->next, stream(1));
}

/* A stream that is given more than its window lets; the others go on. */
static void test_more_than_the_window(void **state)
{
    add_head(1);
    add_head(3);
    for (int n = 0; n < H2C_WINDOW; n += H2_FRAME_MAX)
        add_data(1, 'x', H2_FRAME_MAX, 0);
    come(text_n);
    assert_null(stream(0)->bad);
    add_data(1, 'x', 1, 0);
    add_data(3, 'b', 1, 1);
    come(text_n);
    assert_non_null(stream(0)->bad);
    assert_null(session()->bad);
    assert_int_equal(h2c_take(x[1], stream(1)), APR_SUCCESS);
    assert_int_equal(h2c_take(x[0], stream(0)), APR_EGENERAL);
    assert_string_equal(x[0]->answer.bad, "more than the window lets");
}

/* What the exchange has taken is given back, in halves of the window; the connection's is given back as it comes. */
static void test_room_is_given_back(void **state)
{
    add_head(1);
    for (int n = 0; n < H2C_WINDOW / 2; n += H2_FRAME_MAX)
        add_data(1, 'x', H2_FRAME_MAX, 0);
    come(text_n);
    sent();
    assert_int_equal(h2c_take(x[0], stream(0)), APR_SUCCESS);
    assert_int_equal(session()->out_to - session()->out_from, H2_FRAME_HEAD + 4);
    assert_int_equal(h2_get_frame(session()->out + session()->out_from).stream, 1);
    assert_int_equal(stream(0)->owed, 0);
    assert_int_equal(session()->taken, H2C_WINDOW / 2);
}

static void test_goaway(void **state)
{
    uint8_t last[8] = {0, 0, 0, 3};

    add_head(5); /* it was looked at, whatever the backend says later */
    add(H2_GOAWAY, 0, 0, last, 8);
    add_head(1);
    come(text_n);
    assert_true(session()->leaving && !h2c_session_has_room(session()));
    assert_false(stream(0)->untouched || stream(1)->untouched || stream(2)->untouched);
    last[3] = 1;
    add(H2_GOAWAY, 0, 0, last, 8);
    come(text_n);
    assert_true(!stream(0)->untouched && stream(1)->untouched && !stream(2)->untouched);
    assert_int_equal(h2c_take(x[1], stream(1)), APR_EGENERAL);
    assert_true(x[1]->attempt.untouched);
}

static void test_refused(void **state)
{
    static const uint8_t code[4] = {0, 0, 0, H2_REFUSED_STREAM};

    add(H2_RST_STREAM, 0, 3, code, 4);
    come(text_n);
    assert_int_equal(h2c_take(x[1], stream(1)), APR_EGENERAL);
    assert_true(x[1]->attempt.untouched && stream(1)->ended && stream(1)->over);
    assert_int_equal(session()->most, 2);
    assert_false(h2c_session_has_room(session()));
    h2c_stream_leave(stream(1));
    assert_int_equal(session()->streams_n, 2);
}

static void test_streams_at_a_time(void **state)
{
    add_setting(H2_SET_MAX_CONCURRENT_STREAMS, 3);
    come(text_n);
    assert_false(h2c_session_has_room(session()));
    add_setting(H2_SET_MAX_CONCURRENT_STREAMS, 100000);
    come(text_n);
    assert_int_equal(session()->most, H2C_STREAMS_MOST);
    session()->next = H2_STREAM_MAX - 2;
    assert_false(h2c_session_has_room(session()));
}

static void test_faults_are_everybodys(void **state)
{
    add_data(7, 'x', 1, 0); /* a stream that nobody opened */
    come(text_n);
    assert_string_equal(session()->bad, "DATA that was not asked for");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(h2c_take(x[i], stream(i)), APR_EGENERAL);
        assert_string_equal(x[i]->answer.bad, session()->bad);
    }
}

/* Fields of a connection of HTTP/1 are none of HTTP/2: RFC 9113, 8.2.2. */
static void test_fields_of_a_connection(void **state)
{
    static const char *const names[] = {"connection", "keep-alive", "transfer-encoding"};

    for (int i = 0; i < 3; i++) {
        uint8_t block[32] = {0x88, 0, (uint8_t)strlen(names[i])}, *at = block + 3;

        at = (uint8_t *)memcpy(at, names[i], block[2]) + block[2];
        *at++ = 1;
        *at++ = 'x';
        add(H2_HEADERS, H2_END_HEADERS, 2 * (unsigned)i + 1, block, (size_t)(at - block));
        come(text_n);
        assert_int_equal(h2c_take(x[i], stream(i)), APR_EGENERAL);
        assert_non_null(x[i]->answer.bad);
    }
}

/* The body is as long as it was said to be, and its type is the response's. */
static void test_length_and_type(void **state)
{
    static const uint8_t head[] = "\x88\0\x0e"
                                  "content-length\x02"
                                  "12"
                                  "\0\x0c"
                                  "content-type\x0a"
                                  "text/plain";

    add(H2_HEADERS, H2_END_HEADERS, 1, head, sizeof head - 1);
    add_data(1, 'a', 12, 1);
    add(H2_HEADERS, H2_END_HEADERS, 3, head, sizeof head - 1);
    add_data(3, 'a', 11, 1);
    come(text_n);
    assert_int_equal(h2c_take(x[0], stream(0)), APR_SUCCESS);
    assert_true(x[0]->answer.complete);
    assert_string_equal(x[0]->r->content_type, "text/plain");
    (void)h2c_take(x[1], stream(1));
    assert_non_null(x[1]->answer.bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_frames_go_to_their_streams, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_table_is_the_connections, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_stream_that_left, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_stream_that_leaves_within_a_frame, setup, teardown),
        cmocka_unit_test_setup_teardown(test_windows_of_streams_and_of_the_connection, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_who_sends_goes_behind_the_others, setup, teardown),
        cmocka_unit_test_setup_teardown(test_more_than_the_window, setup, teardown),
        cmocka_unit_test_setup_teardown(test_room_is_given_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_goaway, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_streams_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fields_of_a_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(test_length_and_type, setup, teardown),
        cmocka_unit_test_setup_teardown(test_faults_are_everybodys, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
