/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that the CORE output filter writes: by sendfile(), by mappings, of pools that are gone, and cut while they are sent.
 * mmap() is this program's own, so that a test decides what can be read.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_output.h"

#include "apr_mmap.h"
#include "http_request.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef __SANITIZE_ADDRESS__
static int maps_unreadable;

/* The one that the server calls. */
void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
    if (maps_unreadable && fd >= 0 && (flags & MAP_SHARED)) {
        maps_unreadable++;
        prot = PROT_NONE;
    }
    return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}
#endif

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

/* It is read instead, and no more of the connection's files are mapped. */
static void a_mapping_that_cannot_be_read(void **state)
{
#ifndef __SANITIZE_ADDRESS__
    apr_bucket_brigade *bb = new_brigade(&conn);
    apr_pool_t *p;
    reader r;

    file_limits_now.window_least = 65536;
    maps_unreadable = 1;
    reader_start(&r, client, 200000);
    apr_pool_create(&p, conn.c->pool);
    put(bb, apr_bucket_file_create(pattern_file(p, 100000, 0), 0, 100000, p, conn.c->bucket_alloc));
    put(bb, eos(&conn));
    assert_int_equal(pass(&conn, bb), APR_SUCCESS);
    flush_all(&conn);
    assert_int_equal(maps_unreadable, 2);
    maps_unreadable = 0;
    file_limits_reset();
    reader_check(&r, &conn, pattern, 100000);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONNECTED(files_arrive_by_every_way),         CONNECTED(head_travels_with_a_small_file),
        CONNECTED(file_of_a_dead_pool_still_arrives), CONNECTED(truncated_file_ends_the_connection),
        CONNECTED(truncated_mapping_is_no_crash),     CONNECTED(a_mapping_that_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, group_set_up, test_server_down);
}
