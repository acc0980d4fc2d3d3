/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nameless_file.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Kernels before 6.3 make one that somebody could make executable. */
static int kernel_knows(void)
{
    const int fd = memfd_create("known", 8);

    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno != EINVAL;
}

static void test_it_is_a_file_that_cannot_be_executed(void **state)
{
    const int fd = nameless_file("test", MFD_CLOEXEC);
    struct stat st;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(write(fd, "abc", 3), 3);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 3);
    if (kernel_knows()) {
        assert_int_equal(st.st_mode & 0111, 0);
        assert_int_equal(fchmod(fd, 0755), -1);
    }
    close(fd);
}

static void test_seals_can_be_set_where_they_are_asked_for(void **state)
{
    const int fd = nameless_file("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    assert_int_equal(ftruncate(fd, 0), -1);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_a_file_that_cannot_be_executed),
        cmocka_unit_test(test_seals_can_be_set_where_they_are_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
