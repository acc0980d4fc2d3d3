/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_OUTPUT_H
#define BRIGADE_TEST_OUTPUT_H

/**
 * @file test_output.h
 * Tests of the CORE output filter on a real connection: its buckets, and a loop or a worker that writes them. For one
 * file of tests in a program.
 */
#include "test_server.h"
#include "test_socket.h"
#include "core_output_private.h"
#include "loop.h"
#include "thread_self.h"
#include "apr_strings.h"

/* ---- buckets ---- */

/* A metadata bucket that remembers how much had been sent when it was destroyed. */
typedef struct marker {
    const struct core_output *out;
    apr_off_t sent; /* -1: lives */
} marker;

static inline void marker_destroy(void *data)
{
    marker *m = data;
    m->sent = m->out->bytes;
}

static inline apr_status_t marker_read(apr_bucket *b, const char **s, apr_size_t *n,
                                       apr_read_type_e block)
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

static inline apr_bucket *marker_bucket(marker *m, const brg_conn *bc)
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

static inline apr_file_t *pattern_file(apr_pool_t *p, size_t n, int sendfile_flag)
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

static inline apr_bucket_brigade *new_brigade(const brg_conn *bc)
{
    return apr_brigade_create(bc->c->pool, bc->c->bucket_alloc);
}

static inline void put(apr_bucket_brigade *bb, apr_bucket *e)
{
    APR_BRIGADE_INSERT_TAIL(bb, e);
}

static inline apr_bucket *eos(const brg_conn *bc)
{
    return apr_bucket_eos_create(bc->c->bucket_alloc);
}

static inline apr_bucket *immortal(const brg_conn *bc, const char *s, size_t n)
{
    return apr_bucket_immortal_create(s, n, bc->c->bucket_alloc);
}

static inline apr_status_t pass(const brg_conn *bc, apr_bucket_brigade *bb)
{
    return ap_pass_brigade(bc->c->output_filters, bb);
}

/* Write what waits, as the event loop does, until nothing does. */
static inline void flush_all(brg_conn *bc)
{
    int turns = 0;
    apr_status_t rv;

    while ((rv = core_output_flush(bc)) == APR_EAGAIN)
        assert_true(++turns < 1000000);
    assert_int_equal(rv, APR_SUCCESS);
    assert_false(core_output_pending(bc));
}

/* ---- a connection for each test ---- */

static brg_conn conn;
static int client;

static inline int set_up(void **state)
{
    (void)state;
    memset(&sys, 0, sizeof sys);
    test_connect(&conn, &client);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    thread_self_end();
    test_disconnect(&conn, client);
    return 0;
}

static brg_loop loop;
static loop_figures figures;

static inline void become_loop(void)
{
    memset(&loop, 0, sizeof loop);
    loop.config = test_loop()->config;
    loop.figures = &figures;
    loop.turn.again_tail = &loop.turn.again;
    conn.loop = &loop;
    thread_self_set(&loop, 0);
    assert_true(conn_on_loop());
}

#define CONNECTED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static inline int group_set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (char)(i * 31 + i / 251);
    test_server_up("Timeout 20\n");
    return 0;
}

#endif
