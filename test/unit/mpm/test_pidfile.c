/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "pidfile.h"
#include "test_pool.h"

#include <apr_strings.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/brigade-pid-XXXXXX";
static char path[64];

static int group_set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/pid", dir);
    return 0;
}

static int group_tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir);
}

static void write_text(const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void what_was_written_is_read(void **state)
{
    pid_t pid = 0;
    struct stat st;

    (void)state;
    assert_int_equal(pidfile_write(test_pool, path, 4711), APR_SUCCESS);
    assert_int_equal(pidfile_read(test_pool, path, &pid), APR_SUCCESS);
    assert_int_equal(pid, 4711);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    assert_int_equal(st.st_size, 5); /* number and newline: tools read it as a line */
    assert_int_equal(pidfile_write(test_pool, path, 12), APR_SUCCESS);
    assert_int_equal(pidfile_read(test_pool, path, &pid), APR_SUCCESS);
    assert_int_equal(pid, 12);
}

static const struct {
    const char *text;
    pid_t pid; /* 0: not sensible */
} texts[] = {
    {"17\n", 17},
    {"17", 17},
    {"  17 \n\n", 17},
    {"", 0},
    {"\n", 0},
    {"abc\n", 0},
    {"17x\n", 0},
    {"0\n", 0},
    {"-5\n", 0},
    {"99999999999\n", 0},
    {"17\n18\n", 0},
    {"1                                                                        ", 0},
};

static void nonsense_is_no_process(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        pid_t pid = -1;
        apr_status_t rv;
        write_text(texts[i].text);
        rv = pidfile_read(test_pool, path, &pid);
        assert_int_equal(rv == APR_SUCCESS, texts[i].pid != 0);
        assert_int_equal(pid, texts[i].pid ? texts[i].pid : -1);
    }
}

static void only_the_owner_removes_it(void **state)
{
    pid_t pid;

    (void)state;
    assert_int_equal(pidfile_write(test_pool, path, 5), APR_SUCCESS);
    pidfile_remove(test_pool, path, 6);
    assert_int_equal(pidfile_read(test_pool, path, &pid), APR_SUCCESS);
    assert_int_equal(pidfile_remove(test_pool, path, 5), APR_SUCCESS);
    assert_true(APR_STATUS_IS_ENOENT(pidfile_read(test_pool, path, &pid)));
    assert_true(APR_STATUS_IS_ENOENT(pidfile_remove(test_pool, path, 5)));
}

static void failure_leaves_nothing_behind(void **state)
{
    const char *nowhere = apr_pstrcat(test_pool, dir, "/none/pid", NULL);

    (void)state;
    assert_int_not_equal(pidfile_write(test_pool, nowhere, 5), APR_SUCCESS);
}

/* In a folder of an unprivileged server's anything may lie. */
static void a_pipe_holds_up_nobody(void **state)
{
    pid_t pid = -1;

    (void)state;
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pidfile_read(test_pool, path, &pid), EINVAL);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(pidfile_read(test_pool, path, &pid), EINVAL);
    rmdir(path);
    assert_int_equal(pid, -1);
}

/* Root signals for another user what that one might signal himself. */
static void a_file_of_another_user_names_his_processes_alone(void **state)
{
    const uid_t other = 65534;
    pid_t child;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(pidfile_write(test_pool, path, getpid()), APR_SUCCESS);
    assert_true(pidfile_is_believed(path, getpid()));
    assert_int_equal(chown(path, other, other), 0);
    assert_false(pidfile_is_believed(path, getpid()));
    child = fork();
    if (!child) {
        if (setuid(other))
            _exit(1);
        pause();
    }
    assert_int_equal(pidfile_write(test_pool, path, child), APR_SUCCESS);
    assert_int_equal(chown(path, other, other), 0);
    for (int i = 0; i < 10000 && !pidfile_is_believed(path, child); i++)
        usleep(1000);
    assert_true(pidfile_is_believed(path, child));
    assert_false(pidfile_is_believed(path, 1));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Real and effective user have to be the owner: a program of his that is set-user-ID is somebody else's process. */
static void a_process_that_is_half_of_another_user_is_not_his(void **state)
{
    const uid_t other = 4711;
    const uid_t owners[] = {other, other + 1, 0};
    char byte;
    int ready[2], believed = 0;
    pid_t child;

    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (!child) {
        if (setresuid(other, other + 1, 0) || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(pidfile_write(test_pool, path, child), APR_SUCCESS);
    for (unsigned i = 0; i < 3; i++)
        believed |=
            !chown(path, owners[i], owners[i]) && pidfile_is_believed(path, child) ? 1 << i : 0;
    kill(child, SIGKILL); /* before anything fails: it would outlive this program */
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(believed, 1 << 2);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(what_was_written_is_read),
        TEST_WITH_POOL(nonsense_is_no_process),
        TEST_WITH_POOL(only_the_owner_removes_it),
        TEST_WITH_POOL(failure_leaves_nothing_behind),
        TEST_WITH_POOL(a_pipe_holds_up_nobody),
        TEST_WITH_POOL(a_file_of_another_user_names_his_processes_alone),
        TEST_WITH_POOL(a_process_that_is_half_of_another_user_is_not_his),
    };

    return cmocka_run_group_tests(tests, group_set_up, group_tear_down);
}
