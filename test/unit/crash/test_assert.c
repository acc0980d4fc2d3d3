/* SPDX-License-Identifier: Apache-2.0 */
/* What a failed assertion writes, and how its process ends; in a child process each. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "brigade/assert.h"

typedef struct tagged {
    uint32_t tag;
} tagged;

static char output[4096];

/* Run @a fn in a child; its standard error goes to output. @return the status that wait() told */
static int in_child(void (*fn)(void))
{
    int pipe_fds[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t pid;

    assert_int_equal(pipe(pipe_fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGABRT, SIG_DFL);
        dup2(pipe_fds[1], STDERR_FILENO);
        fn();
        _exit(0);
    }
    close(pipe_fds[1]);
    while ((got = read(pipe_fds[0], output + n, sizeof output - 1 - n)) > 0)
        n += (size_t)got;
    output[n] = '\0';
    close(pipe_fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void fails(void)
{
    int answer = 41;

    BRG_ASSERT(answer == 42);
}

static void wrong_tag(void)
{
    tagged t = {1};

    BRG_ASSERT_TAG(&t, 2);
}

static void no_object(void)
{
    tagged *none = NULL;

    BRG_ASSERT_TAG(none, 2);
}

static void holds(void)
{
    tagged t = {2};
    int n = 0;

    BRG_ASSERT(1);
    BRG_ASSERT_TAG(&t, 2);
    BRG_ASSERT_DEBUG(++n); /* evaluated in builds with such assertions only */
    _exit(n);
}

static void test_report(void **state)
{
    int status = in_child(fails);

    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(output, "assertion failed: answer == 42 at "));
    assert_non_null(strstr(output, "test_assert.c:"));
    assert_non_null(strstr(output, " in fails"));
    assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);
}

static void test_tags(void **state)
{
    assert_true(WIFSIGNALED(in_child(wrong_tag)));
    assert_non_null(strstr(output, "tag"));
    assert_true(WIFSIGNALED(in_child(no_object)));
    assert_non_null(strstr(output, "NULL"));
}

static void test_what_holds(void **state)
{
#ifdef BRG_DEBUG_ASSERTIONS
    int evaluated = 1;
#else
    int evaluated = 0;
#endif
    int status = in_child(holds);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), evaluated);
    assert_string_equal(output, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_what_holds),
    };

    return cmocka_run_group_tests_name("assert", tests, NULL, NULL);
}
