/* SPDX-License-Identifier: Apache-2.0 */
/* Misuse that memory systems see, and copies of a process that has them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "sms_private.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static brg_sms *made(const char *spec)
{
    brg_sms *s;
    const char *message = brg_sms_create(&s, spec, NULL, NULL);

    if (message != NULL)
        fail_msg("%s: %s", spec, message);
    return s;
}

/* ---- misuse ends the program, with a word on what it was ---- */

static void misuse_overrun(brg_sms *s)
{
    char *block = brg_sms_allocate(s, 100);

    block[100] = 1;
    brg_sms_free(s, block, 100);
}

static void misuse_underrun(brg_sms *s)
{
    char *block = brg_sms_allocate(s, 100);

    block[-1] = 1;
    brg_sms_free(s, block, 100);
}

static void misuse_twice(brg_sms *s)
{
    char *block = brg_sms_allocate(s, 5000), *other = brg_sms_allocate(s, 5000);

    brg_sms_free(s, block, 5000);
    brg_sms_free(s, block, 5000);
    brg_sms_free(s, other, 5000);
}

static void misuse_wrong_size(brg_sms *s)
{
    brg_sms_free(s, brg_sms_allocate(s, 100), 99);
}

static void misuse_after_free(brg_sms *s)
{
    char *block = brg_sms_allocate(s, 100);

    brg_sms_free(s, block, 100);
    block[50] = 1;
    brg_sms_destroy(&s, NULL);
}

static void misuse_too_much(brg_sms *s)
{
    char *block = brg_sms_allocate(s, 100);

    brg_sms_free(s, block, 200);
}

static void run_misuse(const char *spec, void (*misuse)(brg_sms *), const char *says)
{
    char said[8192];
    int ends[2], status;
    ssize_t n, used = 0;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        misuse(made(spec));
        _exit(0);
    }
    close(ends[1]);
    while (used < (ssize_t)sizeof(said) - 1 &&
           (n = read(ends[0], said + used, sizeof(said) - 1 - (size_t)used)) > 0)
        used += n;
    said[used] = '\0';
    close(ends[0]);
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        fail_msg("%s: misuse was not seen", spec);
    if (!SMS_ASAN && strstr(said, says) == NULL)
        fail_msg("%s: said \"%s\"", spec, said);
}

static void misuse_is_seen(void **state)
{
    run_misuse("guard", misuse_overrun, "bytes behind a block were overwritten");
    run_misuse("guard", misuse_underrun, "bytes before a block were overwritten");
    run_misuse("guard", misuse_twice, "a block was freed twice");
    run_misuse("guard", misuse_after_free, "a block was written after it was freed");
    if (!SMS_ASAN)
        run_misuse("guard", misuse_wrong_size, "another size than it has");
    run_misuse("guard arena", misuse_overrun, "bytes behind a block were overwritten");
    run_misuse("tracking arena", misuse_wrong_size, "another size than it has");
    run_misuse("tracking arena", misuse_twice, "freed twice");
    run_misuse("arena", misuse_twice, "a block was freed twice");
    run_misuse("trivial", misuse_twice, "a block was freed twice");
    run_misuse("limit(1k) system", misuse_too_much, "more was freed than handed out");
}

/* ---- a copy of the process has no lock that nobody releases ---- */

static _Atomic int forking;

static void *use_while_forking(void *data)
{
    brg_sms *s = data;

    while (atomic_load(&forking))
        brg_sms_free(s, brg_sms_allocate(s, 5000), 5000);
    return NULL;
}

static void fork_leaves_no_lock_behind(void **state)
{
    static const char *const specs[] = {"trivial(shared)", "tracking(quiet) system", "guard",
                                        "arena"};
    pthread_t thread;
    size_t i;
    int n, status;
    pid_t pid;

    for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        brg_sms *s = made(specs[i]);

        atomic_store(&forking, 1);
        assert_int_equal(pthread_create(&thread, NULL, use_while_forking, s), 0);
        for (n = 0; n < 20; n++) {
            pid = fork();
            if (pid == 0) {
                alarm(20);
                brg_sms_free(s, brg_sms_allocate(s, 100), 100);
                _exit(0);
            }
            assert_int_equal(waitpid(pid, &status, 0), pid);
            assert_int_equal(status, 0);
        }
        atomic_store(&forking, 0);
        pthread_join(thread, NULL);
        brg_sms_destroy(&s, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misuse_is_seen),
        cmocka_unit_test(fork_leaves_no_lock_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
