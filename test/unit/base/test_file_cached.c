/* SPDX-License-Identifier: Apache-2.0 */
/* Reading without waiting for a disk, on kernels and file systems of all kinds: preadv2() is this test's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "file_cached.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int error_of_calls; /* what the kernel says of any file */
static int error_of_none;  /* and where there is no file */

ssize_t preadv2(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
    (void)off;
    assert_int_equal(flags, RWF_NOWAIT);
    assert_true(iov && n == 1);
    errno = fd < 0 ? error_of_none : error_of_calls;
    return -1;
}

/* So many pages of a range are in memory; -1: those that the kernel says. */
static int pages_in_memory = -1;

int mincore(void *at, size_t len, unsigned char *in_memory)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (pages_in_memory < 0)
        return (int)syscall(SYS_mincore, at, len, in_memory);
    for (size_t i = 0; i * page < len; i++)
        in_memory[i] = i < (size_t)pages_in_memory;
    return 0;
}

/* What a kernel is found to know stays: each case is a process. */
static void in_a_kernel(int of_calls, int of_none, void (*run)(int fd))
{
    char name[] = "/var/tmp/file-cached-XXXXXX";
    int status, fd = mkstemp(name);
    pid_t pid;

    assert_true(fd >= 0);
    unlink(name);
    assert_int_equal(write(fd, "0123456789", 10), 10);
    error_of_calls = of_calls;
    error_of_none = of_none;
    if ((pid = fork()) == 0) {
        run(fd);
        _exit(0);
    }
    close(fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#define CHECK(x)                         \
    do {                                 \
        if (!(x)) {                      \
            fprintf(stderr, "%s\n", #x); \
            _exit(1);                    \
        }                                \
    } while (0)

static void reads(int fd)
{
    char buf[4];

    CHECK(file_read_cached(fd, buf, 4, 3) == 4 && !memcmp(buf, "3456", 4));
    CHECK(file_read_own_cached(fd, buf, 4, 8) == 2 && !memcmp(buf, "89", 2));
    CHECK(!file_is_cold(fd, 0, 10));
}

static void cannot_tell(int fd)
{
    char buf[4];

    errno = 0;
    CHECK(file_read_cached(fd, buf, 4, 0) == -1 && errno == EAGAIN);
    CHECK(file_is_cold(fd, 0, 10));
    /* It was just written, and is this process's own. */
    CHECK(file_read_own_cached(fd, buf, 4, 4) == 4 && !memcmp(buf, "4567", 4));
}

/* Each page counts that has a byte of the range. */
static void own_pages_are_asked_for(int fd)
{
    const off_t page = sysconf(_SC_PAGESIZE);
    const struct {
        off_t off;
        int pages;
    } ranges[] = {{0, 1}, {4, 1}, {page - 4, 1}, {page - 3, 2}, {page, 1}};
    char buf[4];

    CHECK(!ftruncate(fd, 2 * page));
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        pages_in_memory = ranges[i].pages - 1;
        CHECK(file_read_own_cached(fd, buf, 4, ranges[i].off) == -1 && errno == EAGAIN);
        pages_in_memory = ranges[i].pages;
        CHECK(file_read_own_cached(fd, buf, 4, ranges[i].off) == 4);
    }
}

static void in_memory_reads(int fd)
{
    char buf[4];
    int memory = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    (void)fd;
    CHECK(memory >= 0 && write(memory, "abcd", 4) == 4);
    CHECK(file_read_cached(memory, buf, 4, 1) == 3 && !memcmp(buf, "bcd", 3));
}

static void fails(int fd)
{
    char buf[4];

    CHECK(file_read_cached(fd, buf, 4, 0) == -1 && errno == EIO);
    CHECK(file_read_own_cached(fd, buf, 4, 0) == -1 && errno == EIO);
}

static void test_no_such_call(void **state)
{
    (void)state;
    in_a_kernel(ENOSYS, ENOSYS, reads);
    in_a_kernel(EOPNOTSUPP, EOPNOTSUPP, reads); /* as glibc says it */
}

static void test_file_systems_that_cannot_tell(void **state)
{
    (void)state;
    in_a_kernel(EOPNOTSUPP, EBADF, cannot_tell);
    in_a_kernel(EOPNOTSUPP, EBADF, own_pages_are_asked_for);
    in_a_kernel(EOPNOTSUPP, EBADF, in_memory_reads);
}

static void test_other_errors_are_told(void **state)
{
    (void)state;
    in_a_kernel(EIO, EBADF, fails);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_such_call),
        cmocka_unit_test(test_file_systems_that_cannot_tell),
        cmocka_unit_test(test_other_errors_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
