/* SPDX-License-Identifier: Apache-2.0 */
/* The limit is raised for this process, and is as it was in those that it forks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>
#include "descriptor_limit.h"

#define SOFT 100
#define HARD 200

static struct rlimit limit_of_child(void)
{
    struct rlimit limit = {0, 0};
    int fds[2];
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        getrlimit(RLIMIT_NOFILE, &limit);
        _exit(write(fds[1], &limit, sizeof limit) != sizeof limit);
    }
    assert_int_equal(read(fds[0], &limit, sizeof limit), sizeof limit);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(fds[0]);
    close(fds[1]);
    return limit;
}

static void test_raised_here_alone(void **state)
{
    struct rlimit now;

    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){SOFT, HARD}), 0);
    assert_int_equal(limit_of_child().rlim_cur, SOFT);
    assert_int_equal(descriptor_limit_raise(), HARD);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    assert_int_equal(now.rlim_cur, HARD);
    assert_int_equal(limit_of_child().rlim_cur, SOFT);
    assert_int_equal(limit_of_child().rlim_max, HARD);
    /* Raised already: the limit of the start stays known. */
    assert_int_equal(descriptor_limit_raise(), HARD);
    assert_int_equal(limit_of_child().rlim_cur, SOFT);
}

/* A limit that was lowered since cannot be exceeded. */
static void test_lowered_since(void **state)
{
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){SOFT / 2, SOFT / 2}), 0);
    assert_int_equal(limit_of_child().rlim_cur, SOFT / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_raised_here_alone),
        cmocka_unit_test(test_lowered_since),
    };

    return cmocka_run_group_tests_name("descriptor_limit", tests, NULL, NULL);
}
