/* SPDX-License-Identifier: Apache-2.0 */
/* A file on its way to a socket, with a page cache that ends where a test says. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "file_output.h"
#include "thread_self.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define LENGTH (3 * 1024 * 1024 + 5)

static off_t cold_from; /* what lies behind is on the disk */
static int interrupts;
static int file, sockets[2];

ssize_t preadv2(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
    assert_int_equal(flags, RWF_NOWAIT);
    assert_int_equal(n, 1);
    if (interrupts && interrupts--) {
        errno = EINTR;
        return -1;
    }
    if (off >= cold_from) {
        errno = EAGAIN;
        return -1;
    }
    return pread(fd, iov->iov_base, iov->iov_len, off);
}

static int setup(void **state)
{
    static char bytes[LENGTH];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i % 251);
    file = memfd_create("file-output", 0);
    cold_from = LENGTH;
    interrupts = 0;
    return file < 0 || write(file, bytes, sizeof bytes) != LENGTH ||
           socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets);
}

static int teardown(void **state)
{
    close(file);
    close(sockets[0]);
    close(sockets[1]);
    return 0;
}

static void test_reads_wait_as_they_are_told(void **state)
{
    char buf[16];

    cold_from = 10;
    interrupts = 2;
    assert_int_equal(file_output_read(file, buf, 8, 3, FILE_CACHED), 8);
    assert_int_equal(interrupts, 0);
    assert_memory_equal(buf, "\3\4\5\6\7\10\11\12", 8);
    for (file_wait wait = FILE_CACHED; wait <= FILE_OWN_CACHED; wait++) {
        errno = 0;
        assert_int_equal(file_output_read(file, buf, 8, 10, wait), -1);
        assert_int_equal(errno, EAGAIN);
    }
    assert_int_equal(file_output_read(file, buf, 8, 10, FILE_WAITS), 8);
    assert_int_equal(file_output_read(file, buf, 8, LENGTH, FILE_WAITS), 0);
}

static void test_bytes_are_read_or_mapped(void **state)
{
    file_window w;

    assert_int_equal(file_output_open(&w, file, 7, LENGTH, FILE_BY_READS, FILE_CACHED), 0);
    assert_null(w.map);
    assert_int_equal(w.len, THREAD_BUFFER_BYTES);
    assert_int_equal(w.data[0], 7);
    file_window_close(&w);
    assert_int_equal(file_output_open(&w, file, 251, LENGTH - 251, FILE_BY_WINDOW, FILE_CACHED), 0);
    assert_non_null(w.map);
    assert_int_equal(w.len, LENGTH - 251);
    assert_int_equal(w.data[1], 1);
    file_window_close(&w);
    assert_int_equal(file_output_open(&w, file, LENGTH, 9, FILE_BY_READS, FILE_WAITS), 0);
    assert_int_equal(w.len, 0); /* it ends here */
}

static void test_a_window_ends_where_the_disk_begins(void **state)
{
    file_window w;

    cold_from = LENGTH - 1;
    assert_int_equal(file_output_open(&w, file, 0, LENGTH, FILE_BY_WINDOW, FILE_CACHED), 0);
    assert_int_equal(w.len, FILE_OUTPUT_MOST);
    file_window_close(&w);
    assert_int_equal(file_output_open(&w, file, 0, LENGTH, FILE_BY_WINDOW, FILE_WAITS), 0);
    assert_int_equal(w.len, LENGTH);
    file_window_close(&w);
    cold_from = FILE_OUTPUT_MOST - 1;
    for (file_way way = FILE_BY_WINDOW; way <= FILE_BY_READS; way++) {
        errno = 0;
        assert_int_equal(file_output_open(&w, file, cold_from - (way == FILE_BY_WINDOW), LENGTH,
                                          way, FILE_CACHED),
                         -1);
        assert_int_equal(errno, EAGAIN);
        assert_null(w.map);
    }
}

static void test_what_cannot_be_mapped_is_read(void **state)
{
    int pipes[2];
    file_window w;

    assert_int_equal(pipe(pipes), 0);
    errno = 0;
    assert_int_equal(file_output_open(&w, pipes[0], 0, 5, FILE_BY_WINDOW, FILE_WAITS), -1);
    assert_int_equal(errno, ESPIPE); /* of pread(), after mmap() failed */
    assert_null(w.map);
    close(pipes[0]);
    close(pipes[1]);
}

static void test_sendfile_asks_for_both_ends(void **state)
{
    static brg_conn bc;
    char got[64];
    int pipes[2];

    bc.fd = sockets[0];
    bc.cold = 0;
    assert_int_equal(file_output_sendfile(&bc, -1, file, 5, 20, FILE_CACHED), 20);
    assert_int_equal(read(sockets[1], got, sizeof got), 20);
    assert_int_equal(got[0], 5);
    assert_false(bc.cold);
    cold_from = 24; /* the last byte */
    errno = 0;
    assert_int_equal(file_output_sendfile(&bc, -1, file, 5, 20, FILE_CACHED), -1);
    assert_int_equal(errno, EAGAIN);
    assert_true(bc.cold);
    assert_int_equal(file_output_sendfile(NULL, sockets[0], file, 5, 20, FILE_WAITS), 20);
    assert_int_equal(pipe(pipes), 0);
    errno = 0;
    assert_int_equal(file_output_sendfile(NULL, sockets[0], pipes[0], 0, 20, FILE_WAITS), -1);
    assert_true(errno == EINVAL || errno == ESPIPE);
    close(pipes[0]);
    close(pipes[1]);
}

static void test_a_full_socket_is_not_the_disk(void **state)
{
    static brg_conn bc;
    ssize_t n;

    bc.fd = sockets[0];
    do
        n = file_output_sendfile(&bc, -1, file, 0, LENGTH, FILE_CACHED);
    while (n > 0);
    assert_int_equal(n, -1);
    assert_int_equal(errno, EAGAIN);
    assert_false(bc.cold);
    file_output_warm(file, 0, LENGTH); /* reads, and ends */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reads_wait_as_they_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bytes_are_read_or_mapped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_window_ends_where_the_disk_begins, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_mapped_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sendfile_asks_for_both_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_full_socket_is_not_the_disk, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
