/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CORE output filter on real sockets. sendmsg() and sendfile() are this program's own, so that
 * a test decides how much of a call is taken and sees how many there were.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_server.h"
#include "test_socket.h"
#include "core_output_private.h"
#include "loop.h"
#include "thread_self.h"

#include "apr_mmap.h"
#include "http_connection.h"
#include "http_request.h"

#include <errno.h>

/* ---- buckets ---- */

/* A metadata bucket that remembers how much had been sent when it was destroyed. */
typedef struct marker {
    const struct core_output *out;
    apr_off_t sent; /* -1: lives */
} marker;

static void marker_destroy(void *data)
{
    marker *m = data;
    m->sent = m->out->bytes;
}

static apr_status_t marker_read(apr_bucket *b, const char **s, apr_size_t *n, apr_read_type_e block)
{
    *s = NULL;
    *n = 0;
    return APR_SUCCESS;
}

static const apr_bucket_type_t marker_type = {"MARKER",
                                              5,
                                              APR_BUCKET_METADATA,
                                              marker_destroy,
                                              marker_read,
                                              apr_bucket_setaside_noop,
                                              apr_bucket_split_notimpl,
                                              apr_bucket_copy_notimpl};

static apr_bucket *marker_bucket(marker *m, const brg_conn *bc)
{
    apr_bucket *b = apr_bucket_alloc(sizeof *b, bc->c->bucket_alloc);

    APR_BUCKET_INIT(b);
    b->free = apr_bucket_free;
    b->list = bc->c->bucket_alloc;
    b->type = &marker_type;
    b->length = 0;
    b->start = 0;
    b->data = m;
    *m = (marker){.out = bc->out, .sent = -1};
    return b;
}

static char pattern[4 * 1024 * 1024];

static apr_file_t *pattern_file(apr_pool_t *p, size_t n, int sendfile_flag)
{
    char *path = apr_pstrcat(p, test_dir, "/file-XXXXXX", NULL);
    apr_size_t written;
    apr_file_t *f;
    int fd = mkstemp(path);

    close(fd);
    assert_int_equal(apr_file_open(&f, path,
                                   APR_FOPEN_READ | APR_FOPEN_WRITE | APR_FOPEN_BINARY |
                                       (sendfile_flag ? APR_FOPEN_SENDFILE_ENABLED : 0),
                                   APR_FPROT_OS_DEFAULT, p),
                     APR_SUCCESS);
    assert_int_equal(apr_file_write_full(f, pattern, n, &written), APR_SUCCESS);
    return f;
}

static apr_bucket_brigade *new_brigade(const brg_conn *bc)
{
    return apr_brigade_create(bc->c->pool, bc->c->bucket_alloc);
}

static void put(apr_bucket_brigade *bb, apr_bucket *e)
{
    APR_BRIGADE_INSERT_TAIL(bb, e);
}

static apr_bucket *eos(const brg_conn *bc)
{
    return apr_bucket_eos_create(bc->c->bucket_alloc);
}

static apr_bucket *immortal(const brg_conn *bc, const char *s, size_t n)
{
    return apr_bucket_immortal_create(s, n, bc->c->bucket_alloc);
}

static apr_status_t pass(const brg_conn *bc, apr_bucket_brigade *bb)
{
    return ap_pass_brigade(bc->c->output_filters, bb);
}

/* Write what waits, as the event loop does, until nothing does. */
static void flush_all(brg_conn *bc)
{
    int turns = 0;
    apr_status_t rv;

    while ((rv = core_output_flush(bc)) == APR_EAGAIN)
        assert_true(++turns < 1000000);
    assert_int_equal(rv, APR_SUCCESS);
    assert_false(core_output_pending(bc));
}

/* ---- tests ---- */

static brg_conn conn;
static int client;

static int set_up(void **state)
{
    (void)state;
    memset(&sys, 0, sizeof sys);
    test_connect(&conn, &client);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    thread_self_end();
    test_disconnect(&conn, client);
    return 0;
}

static brg_loop loop;
static loop_figures figures;

static void become_loop(void)
{
    memset(&loop, 0, sizeof loop);
    loop.config = test_loop()->config;
    loop.figures = &figures;
    loop.again_tail = &loop.again;
    conn.loop = &loop;
    thread_self_set(&loop, 0);
    assert_true(conn_on_loop());
}

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

/* How a file is to travel, and the calls that this may take. */
static const struct file_case {
    const char *name;
    size_t size, offset, length, most;
    int sendfile_flag, refuse, expect_sendfile;
} file_cases[] = {
    {"inline", 3000, 0, 3000, 0, 1, 0, 0},
    {"inline part", 3000, 100, 2000, 0, 1, 0, 0},
    {"sendfile", 300000, 0, 300000, 0, 1, 0, 1},
    {"sendfile part", 300000, 70000, 200001, 0, 1, 0, 1},
    {"sendfile piecewise", 100000, 3, 99990, 777, 1, 0, 1},
    {"read", 300000, 0, 300000, 0, 0, 0, 0},
    {"read piecewise", 100000, 5, 90001, 4999, 0, 0, 0},
    {"sendfile refused", 300000, 11, 250000, 0, 1, EINVAL, 1},
    {"empty", 0, 0, 0, 0, 1, 0, 0},
};

static void files_arrive_by_every_way(void **state)
{
    for (size_t i = 0; i < sizeof file_cases / sizeof *file_cases; i++) {
        const struct file_case *fc = &file_cases[i];
        apr_bucket_brigade *bb;
        apr_pool_t *p;
        reader r;

        tear_down(state);
        set_up(state);
        become_loop();
        sys.most = fc->most;
        sys.full_between = fc->most != 0;
        sys.sendfile_errno = fc->refuse;
        reader_start(&r, client, fc->length + 64);
        apr_pool_create(&p, conn.c->pool);
        bb = new_brigade(&conn);
        put(bb, apr_bucket_file_create(pattern_file(p, fc->size, fc->sendfile_flag),
                                       (apr_off_t)fc->offset, fc->length, p, conn.c->bucket_alloc));
        put(bb, eos(&conn));
        assert_int_equal(pass(&conn, bb), APR_SUCCESS);
        flush_all(&conn);
        assert_int_equal(sys.sendfiles > 0, fc->expect_sendfile);
        reader_check(&r, &conn, pattern + fc->offset, fc->length);
        apr_pool_destroy(p);
    }
}

static void head_travels_with_a_small_file(void **state)
{
    apr_bucket_brigade *bb = new_brigade(&conn);
    apr_pool_t *p;
    reader r;

    (void)state;
    reader_start(&r, client, 8192);
    apr_pool_create(&p, conn.c->pool);
    put(bb, immortal(&conn, pattern, 100));
    put(bb, apr_bucket_file_create(pattern_file(p, 4096, 1), 100, 3900, p, conn.c->bucket_alloc));
    put(bb, eos(&conn));
    assert_int_equal(pass(&conn, bb), APR_SUCCESS);
    assert_int_equal(sys.sendmsgs, 1);
    assert_int_equal(sys.sendfiles, 0);
    reader_check(&r, &conn, pattern, 4000);
}

static void file_of_a_dead_pool_still_arrives(void **state)
{
    apr_bucket_brigade *bb = new_brigade(&conn);
    apr_pool_t *p;
    reader r;

    (void)state;
    become_loop();
    sys.most = 10000;
    sys.full_between = 1;
    reader_start(&r, client, 200000);
    apr_pool_create(&p, conn.c->pool);
    put(bb, apr_bucket_file_create(pattern_file(p, 100000, 1), 0, 100000, p, conn.c->bucket_alloc));
    put(bb, eos(&conn));
    assert_int_equal(pass(&conn, bb), APR_SUCCESS);
    assert_true(core_output_pending(&conn));
    apr_pool_destroy(p); /* a sub-request's */
    flush_all(&conn);
    reader_check(&r, &conn, pattern, 100000);
}

static void truncated_file_ends_the_connection(void **state)
{
    for (int by_sendfile = 0; by_sendfile < 2; by_sendfile++) {
        apr_bucket_brigade *bb;
        apr_file_t *f;
        apr_pool_t *p;
        marker m;
        reader r;

        tear_down(state);
        set_up(state);
        reader_start(&r, client, 200000);
        apr_pool_create(&p, conn.c->pool);
        f = pattern_file(p, 100000, by_sendfile);
        assert_int_equal(apr_file_trunc(f, 40000), APR_SUCCESS);
        bb = new_brigade(&conn);
        put(bb, apr_bucket_file_create(f, 0, 100000, p, conn.c->bucket_alloc));
        put(bb, immortal(&conn, "next", 4));
        put(bb, marker_bucket(&m, &conn));
        put(bb, eos(&conn));
        assert_int_not_equal(pass(&conn, bb), APR_SUCCESS);
        assert_true(conn.c->aborted);
        assert_true(conn.failed);
        assert_int_equal(m.sent, 40000); /* destroyed, not leaked */
        reader_check(&r, &conn, pattern, 40000);
    }
}

static void truncated_mapping_is_no_crash(void **state)
{
    apr_bucket_brigade *bb = new_brigade(&conn);
    apr_mmap_t *mm;
    apr_file_t *f;
    apr_pool_t *p;
    reader r;

    (void)state;
    reader_start(&r, client, 200000);
    apr_pool_create(&p, conn.c->pool);
    f = pattern_file(p, 65536, 0);
    assert_int_equal(apr_mmap_create(&mm, f, 0, 65536, APR_MMAP_READ, p), APR_SUCCESS);
    assert_int_equal(apr_file_trunc(f, 8192), APR_SUCCESS);
    put(bb, apr_bucket_mmap_create(mm, 0, 65536, conn.c->bucket_alloc));
    put(bb, eos(&conn));
    assert_int_not_equal(pass(&conn, bb), APR_SUCCESS);
    assert_true(conn.c->aborted);
    assert_in_range(core_output_bytes(conn.c), 0, 8192); /* as much as the kernel could read */
    reader_check(&r, &conn, pattern, (size_t)core_output_bytes(conn.c));
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
        if (loop.again) { /* as the next turn would */
            loop.again = NULL;
            loop.again_tail = &loop.again;
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
    conn.in = strdup(next_request);
    conn.in_len = conn.in_cap = sizeof next_request - 1;
    put(bb, immortal(&conn, "one", 3));
    put(bb, eos(&conn));
    assert_int_equal(pass(&conn, bb), APR_SUCCESS);
    assert_int_equal(sys.sendmsgs, 0);
    conn.in_off = conn.in_len; /* no more requests wait */
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

#define CONNECTED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static int group_set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (char)(i * 31 + i / 251);
    test_server_up("Timeout 20\n");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONNECTED(attached_connection_is_whole),
        CONNECTED(response_leaves_in_one_call),
        CONNECTED(metadata_goes_after_the_bytes_before_it),
        CONNECTED(transient_data_is_copied_when_it_waits),
        CONNECTED(files_arrive_by_every_way),
        CONNECTED(head_travels_with_a_small_file),
        CONNECTED(file_of_a_dead_pool_still_arrives),
        CONNECTED(truncated_file_ends_the_connection),
        CONNECTED(truncated_mapping_is_no_crash),
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
