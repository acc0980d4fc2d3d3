/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbrigade-memory.so: the pools of this directory under any program that uses APR, by LD_PRELOAD.
 *
 *     BRIGADE_MEMORY         the memory system: "tracking arena"; "arena" when it is not set
 *     BRIGADE_MEMORY_REPORT  when to report, and where, separated by commas: "exit", the name or number
 *                            of a signal ("USR2"), "file=PATH" (appended to; standard error without it)
 *
 * The signal handler writes a byte to a pipe. A thread, which every process starts for itself, reads it
 * and reports.
 */
#include "allocator_private.h"
#include "memory_scope.h"
#include "preload_private.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/uio.h>
#include <fcntl.h>
#include <unistd.h>

static char *preload_file;
static int preload_at_exit;
static int preload_signal;
static int preload_pipe[2] = {-1, -1};

static __attribute__((noreturn)) void preload_refuse(const char *variable, const char *value,
                                                     const char *why)
{
    fprintf(stderr, "%s='%s': %s\n", variable, value, why);
    _exit(2);
}

/* ---- on a signal ---- */

static void preload_on_signal(int number)
{
    char byte = 0;

    if (write(preload_pipe[1], &byte, 1) < 0)
        return; /* a report is due already */
}

static void *preload_wait(void *unused)
{
    char byte;

    while (read(preload_pipe[0], &byte, 1) == 1)
        preload_report(preload_file);
    return NULL;
}

static void preload_listen(void)
{
    sigset_t all, before;
    pthread_attr_t detached;
    pthread_t thread;

    if (preload_pipe[0] >= 0) {
        close(preload_pipe[0]);
        close(preload_pipe[1]);
    }
    if (pipe2(preload_pipe, O_CLOEXEC) != 0)
        return;
    fcntl(preload_pipe[1], F_SETFL, O_NONBLOCK);
    sigfillset(&all);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (pthread_create(&thread, &detached, preload_wait, NULL) != 0)
        preload_signal = 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
}

/* ---- the environment ---- */

static int preload_signal_number(const char *word)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {{"USR1", SIGUSR1},   {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"QUIT", SIGQUIT},
                 {"WINCH", SIGWINCH}, {"IO", SIGIO},     {"PWR", SIGPWR}};
    char *end;
    long number = strtol(word, &end, 10);
    size_t i;

    if (*end == '\0' && number > 0 && number < NSIG)
        return (int)number;
    if (strncasecmp(word, "SIG", 3) == 0)
        word += 3;
    for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcasecmp(word, known[i].name) == 0)
            return known[i].number;
    return 0;
}

static char *preload_file_missing(const char *value)
{
    preload_refuse("BRIGADE_MEMORY_REPORT", value, "file= has no path");
}

static void preload_read_report(const char *value)
{
    char *copy = strdup(value), *word, *rest = copy;

    while ((word = strsep(&rest, ",")) != NULL) {
        if (strcmp(word, "exit") == 0)
            preload_at_exit = 1;
        else if (strncmp(word, "file=", 5) == 0)
            preload_file = word[5] != '\0' ? strdup(word + 5) : preload_file_missing(value);
        else if ((preload_signal = preload_signal_number(word)) == 0)
            preload_refuse("BRIGADE_MEMORY_REPORT", value,
                           "words are exit, file=PATH, or a signal: USR1, USR2, HUP, QUIT, WINCH, "
                           "IO, PWR or a number");
    }
    if (preload_file != NULL && preload_signal == 0)
        preload_at_exit = 1; /* a file was named, so a report is wanted */
    free(copy);
}

/* Pools whose program gave them no function for this go on with NULL, as ever; few programs expect
 * it. */
static int preload_refused(int error)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    static const char text[] = "brigade memory: a pool was refused memory (BRIGADE_MEMORY='";
    const char *spec = brg_scope_spec(BRG_SCOPE_PROCESS);
    const struct iovec parts[] = {
        {(void *)text, sizeof(text) - 1}, {(void *)spec, strlen(spec)}, {(void *)"')\n", 3}};

    if (!atomic_flag_test_and_set(&told) && writev(STDERR_FILENO, parts, 3) < 0)
        return error; /* standard error is closed */
    return error;
}

static void preload_end(void)
{
    preload_report(preload_file);
}

static void __attribute__((constructor)) preload_begin(void)
{
    const char *spec = getenv("BRIGADE_MEMORY");
    const char *report = getenv("BRIGADE_MEMORY_REPORT");
    struct sigaction action = {0};
    const char *error;

    error = memory_scopes_begin(spec != NULL && *spec != '\0' ? spec : MEMORY_DEFAULT_SPEC);
    if (error != NULL)
        preload_refuse("BRIGADE_MEMORY", spec != NULL ? spec : "", error);
    pool_root_abort = preload_refused;
    if (report != NULL && *report != '\0')
        preload_read_report(report);
    if (preload_at_exit)
        atexit(preload_end);
    if (preload_signal == 0)
        return;
    preload_listen();
    pthread_atfork(NULL, NULL, preload_listen);
    action.sa_handler = preload_on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(preload_signal, &action, NULL);
}
