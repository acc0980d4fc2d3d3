/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CORE output filter on real sockets. sendmsg() and sendfile() are this program's own, so that
 * a test decides how much of a call is taken and sees how many there were.
 */
#include <stdarg.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_output.h"

#include "http_connection.h"
#include "http_request.h"

static void attached_connection_is_whole(void **state)
{
    (void)state;
    assert_ptr_equal(connection_of(conn.c), &conn);
    assert_string_equal(conn.c->client_ip, "127.0.0.1");
    assert_string_equal(conn.c->local_ip, "127.0.0.1");
    assert_true(connection_is_plain(conn.c));
    assert_non_null(ap_get_conn_socket(conn.c));
    assert_null(conn.c->master);
    conn_rec copy = *conn.c; /* as modules make streams */
    assert_null(connection_of(&copy));
}

static void response_leaves_in_one_call(void **state)
{
    apr_bucket_brigade *bb = new_brigade(&conn);
    reader r;

    (void)state;
    reader_start(&r, client, 64);
    put(bb, apr_bucket_heap_create("head ", 5, NULL, conn.c->bucket_alloc));
    put(bb, immortal(&conn, "body", 4));
    put(bb, eos(&conn));
    assert_int_equal(pass(&conn, bb), APR_SUCCESS);
    assert_int_equal(sys.sendmsgs, 1);
    assert_false(core_output_pending(&conn));
    assert_int_equal(core_output_bytes(conn.c), 9);
    reader_check(&r, &conn, "head body", 9);
}

static void metadata_goes_after_the_bytes_before_it(void **state)
{
    /* Every size of partial write, with the socket full in between. */
    for (size_t most = 1; most <= 14; most++) {
        apr_bucket_brigade *bb;
        marker first, second;
        reader r;

        tear_down(state);
        set_up(state);
        become_loop();
        sys.most = most;
        sys.full_between = 1;
        reader_start(&r, client, 64);
        bb = new_brigade(&conn);
        put(bb, immortal(&conn, "abcde", 5));
        put(bb, marker_bucket(&first, &conn));
        put(bb, apr_bucket_transient_create("fghij", 5, conn.c->bucket_alloc));
        put(bb, immortal(&conn, "k", 1));
        put(bb, eos(&conn));
        assert_int_equal(pass(&conn, bb), APR_SUCCESS);
        bb = new_brigade(&conn);
        put(bb, marker_bucket(&second, &conn));
        assert_int_equal(pass(&conn, bb), APR_SUCCESS);
        flush_all(&conn);
        assert_in_range(first.sent, 5, 11);
        assert_int_equal(second.sent, 11);
        assert_int_equal(core_output_bytes(conn.c), 11);
        reader_check(&r, &conn, "abcdefghijk", 11);
    }
}

static void transient_data_is_copied_when_it_waits(void **state)
{
    apr_bucket_brigade *bb = new_brigade(&conn);
    char data[] = "transient";
    reader r;

    (void)state;
    become_loop();
    sys.most = 3;
    sys.full_between = 1;
    reader_start(&r, client, 64);
    put(bb, apr_bucket_transient_create(data, 9, conn.c->bucket_alloc));
    put(bb, eos(&conn));
    assert_int_equal(pass(&conn, bb), APR_SUCCESS);
    assert_true(core_output_pending(&conn));
    memset(data, '#', sizeof data);
    flush_all(&conn);
    reader_check(&r, &conn, "transient", 9);
}

static void nothing_follows_a_failure(void **state)
{
    apr_bucket_brigade *bb = new_brigade(&conn);
    marker m;

    (void)state;
    conn.c->aborted = 1;
    put(bb, immortal(&conn, "x", 1));
    put(bb, marker_bucket(&m, &conn));
    assert_int_equal(pass(&conn, bb), APR_ECONNABORTED);
    assert_true(APR_BRIGADE_EMPTY(bb));
    assert_int_equal(m.sent, 0);
    assert_int_equal(sys.sendmsgs, 0);
    assert_int_not_equal(core_output_flush(&conn), APR_SUCCESS);
}

static void worker_waits_for_a_slow_reader(void **state)
{
    apr_bucket_brigade *bb;
    reader r;

    (void)state;
    sys.most = 60000;
    sys.full_between = 1;
    reader_start(&r, client, sizeof pattern);
    for (size_t at = 0; at < sizeof pattern; at += 8192) {
        bb = new_brigade(&conn);
        put(bb, apr_bucket_heap_create(pattern + at, 8192, NULL, conn.c->bucket_alloc));
        assert_int_equal(pass(&conn, bb), APR_SUCCESS);
        assert_true(conn.out->memory <= 65535 + 8192);
    }
    bb = new_brigade(&conn);
    put(bb, apr_bucket_flush_create(conn.c->bucket_alloc));
    assert_int_equal(pass(&conn, bb), APR_SUCCESS);
    assert_false(core_output_pending(&conn));
    reader_check(&r, &conn, pattern, sizeof pattern);
}

static void worker_gives_up_on_a_dead_reader(void **state)
{
    apr_bucket_brigade *bb = new_brigade(&conn);

    (void)state;
    apr_socket_timeout_set(ap_get_conn_socket(conn.c), 20000);
    for (int i = 0; i < 8; i++)
        put(bb, immortal(&conn, pattern, sizeof pattern));
    put(bb, apr_bucket_flush_create(conn.c->bucket_alloc));
    assert_true(APR_STATUS_IS_TIMEUP(pass(&conn, bb)));
    assert_true(conn.c->aborted);
}

static void loop_never_waits(void **state)
{
    apr_bucket_brigade *bb = new_brigade(&conn);

    (void)state;
    become_loop();
    for (int i = 0; i < 8; i++)
        put(bb, apr_bucket_heap_create(pattern, 1000000, NULL, conn.c->bucket_alloc));
    put(bb, apr_bucket_flush_create(conn.c->bucket_alloc));
    put(bb, eos(&conn));
    assert_int_equal(pass(&conn, bb), APR_SUCCESS);
    assert_true(core_output_pending(&conn));
    assert_true(conn.c->data_in_output_filters);
    assert_int_equal(core_output_flush(&conn), APR_EAGAIN);
}

static void loop_shares_its_turn(void **state)
{
    apr_bucket_brigade *bb = new_brigade(&conn);
    apr_pool_t *p;
    reader r;

    (void)state;
    become_loop();
    reader_start(&r, client, sizeof pattern * 4);
    apr_pool_create(&p, conn.c->pool);
    for (int i = 0; i < 4; i++)
        put(bb, immortal(&conn, pattern, sizeof pattern));
    put(bb, eos(&conn));
    assert_int_equal(pass(&conn, bb), APR_SUCCESS);
    while (core_output_flush(&conn) == APR_EAGAIN)
        if (loop.turn.again) { /* as the next turn would */
            loop.turn.again = NULL;
            loop.turn.again_tail = &loop.turn.again;
            conn.queued = 0;
        }
    assert_int_equal(core_output_bytes(conn.c), (apr_off_t)sizeof pattern * 4);
    shutdown(conn.fd, SHUT_WR);
    pthread_join(r.thread, NULL);
    assert_int_equal(r.n, sizeof pattern * 4);
    free(r.data);
    apr_pool_destroy(p);
}

static void pipelined_answers_share_a_call(void **state)
{
    apr_bucket_brigade *bb = new_brigade(&conn);
    static char next_request[] = "GET / HTTP/1.1\r\n";
    reader r;

    (void)state;
    become_loop();
    reader_start(&r, client, 64);
    conn.c->keepalive = AP_CONN_KEEPALIVE;
    conn.input.at = strdup(next_request);
    conn.input.len = conn.input.cap = sizeof next_request - 1;
    put(bb, immortal(&conn, "one", 3));
    put(bb, eos(&conn));
    assert_int_equal(pass(&conn, bb), APR_SUCCESS);
    assert_int_equal(sys.sendmsgs, 0);
    conn.input.off = conn.input.len; /* no more requests wait */
    bb = new_brigade(&conn);
    put(bb, immortal(&conn, "two", 3));
    put(bb, eos(&conn));
    assert_int_equal(pass(&conn, bb), APR_SUCCESS);
    assert_int_equal(sys.sendmsgs, 1);
    reader_check(&r, &conn, "onetwo", 6);
}

static void pipes_are_read_as_they_fill(void **state)
{
    apr_bucket_brigade *bb = new_brigade(&conn);
    apr_file_t *in, *out;
    apr_size_t n;
    reader r;

    (void)state;
    reader_start(&r, client, 64);
    assert_int_equal(apr_file_pipe_create(&in, &out, conn.c->pool), APR_SUCCESS);
    assert_int_equal(apr_file_write_full(out, "from a pipe", 11, &n), APR_SUCCESS);
    apr_file_close(out);
    put(bb, immortal(&conn, "<", 1));
    put(bb, apr_bucket_pipe_create(in, conn.c->bucket_alloc));
    put(bb, immortal(&conn, ">", 1));
    put(bb, eos(&conn));
    assert_int_equal(pass(&conn, bb), APR_SUCCESS);
    reader_check(&r, &conn, "<from a pipe>", 13);
}

static void shutdown_sends_what_waits(void **state)
{
    apr_bucket_brigade *bb = new_brigade(&conn);
    reader r;

    (void)state;
    reader_start(&r, client, 64);
    put(bb, immortal(&conn, "rest", 4));
    assert_int_equal(pass(&conn, bb), APR_SUCCESS);
    assert_true(core_output_pending(&conn)); /* too little for a call of its own */
    ap_flush_conn(conn.c);
    assert_false(core_output_pending(&conn));
    reader_check(&r, &conn, "rest", 4);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        CONNECTED(attached_connection_is_whole),
        CONNECTED(response_leaves_in_one_call),
        CONNECTED(metadata_goes_after_the_bytes_before_it),
        CONNECTED(transient_data_is_copied_when_it_waits),
        CONNECTED(nothing_follows_a_failure),
        CONNECTED(worker_waits_for_a_slow_reader),
        CONNECTED(worker_gives_up_on_a_dead_reader),
        CONNECTED(loop_never_waits),
        CONNECTED(loop_shares_its_turn),
        CONNECTED(pipelined_answers_share_a_call),
        CONNECTED(pipes_are_read_as_they_fill),
        CONNECTED(shutdown_sends_what_waits),
    };

    return cmocka_run_group_tests(tests, group_set_up, test_server_down);
}
