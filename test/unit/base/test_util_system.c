/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, commands, threads and random bytes across a fork. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "httpd.h"
#include "apr_thread_proc.h"
#include "test_pool.h"

static void test_memory(void **state)
{
    char *mem = ap_calloc(4, 4);
    int i;

    for (i = 0; i < 16; i++)
        assert_int_equal(mem[i], 0);
    mem = ap_realloc(mem, 1000);
    assert_int_equal(mem[15], 0);
    free(mem);
    mem = ap_malloc(1);
    assert_non_null(mem);
    free(mem);
}

static void test_exec_line(void **state)
{
    static const char *const echo[] = {"/bin/echo", "one two", NULL};
    static const char *const none[] = {"/bin/true", NULL};
    char expected[64];

    assert_string_equal(ap_get_exec_line(test_pool, echo[0], echo), "one two");
    assert_null(ap_get_exec_line(test_pool, none[0], none));
    snprintf(expected, sizeof(expected), "file.%ld", (long)getpid());
    assert_string_equal(ap_append_pid(test_pool, "file", "."), expected);
}

static void test_load(void **state)
{
    ap_loadavg_t load = {-2, -2, -2};

    ap_get_loadavg(&load);
    assert_true(load.loadavg >= 0 && load.loadavg5 >= 0 && load.loadavg15 >= 0);
}

/* A child must not hand out the bytes that its parent will. */
static void test_random_fork(void **state)
{
    unsigned char mine[16], theirs[16];
    int fds[2], status;
    pid_t pid;

    ap_random_insecure_bytes(mine, sizeof(mine));
    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        ap_random_insecure_bytes(mine, sizeof(mine));
        _exit(write(fds[1], mine, sizeof(mine)) != sizeof(mine));
    }
    ap_random_insecure_bytes(mine, sizeof(mine));
    assert_int_equal(read(fds[0], theirs, sizeof(theirs)), sizeof(theirs));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_memory_not_equal(mine, theirs, sizeof(mine));
    close(fds[0]);
    close(fds[1]);
}

static void *APR_THREAD_FUNC thread_body(apr_thread_t *thread, void *data)
{
    *(int *)data = ap_thread_current() == thread;
    apr_thread_exit(thread, APR_SUCCESS);
    return NULL;
}

static void test_threads(void **state)
{
    apr_thread_t *thread, *self, *again;
    apr_status_t result;
    int known = 0;

    assert_int_equal(ap_thread_create(&thread, NULL, thread_body, &known, test_pool), APR_SUCCESS);
    apr_thread_join(&result, thread);
    assert_int_equal(known, 1);
    assert_null(ap_thread_current());
    assert_int_equal(ap_thread_main_create(&self, test_pool), APR_SUCCESS);
    assert_ptr_equal(ap_thread_current(), self);
    assert_int_equal(ap_thread_current_create(&again, NULL, test_pool), APR_EEXIST);
    assert_ptr_equal(again, self);
    ap_thread_current_after_fork();
    assert_null(ap_thread_current());
    apr_pool_destroy(apr_thread_pool_get(self));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory), TEST_WITH_POOL(test_exec_line),
        cmocka_unit_test(test_load),   TEST_WITH_POOL(test_random_fork),
        TEST_WITH_POOL(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
