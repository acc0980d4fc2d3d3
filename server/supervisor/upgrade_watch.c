/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that takes over may end without a word: by _exit(), by SIGKILL, as a script that passes its trial. Nothing in it leads
 * back then. So the program before it stays as another process, which watches, until the new one says that it serves:
 *
 *   what happens                        the watcher
 *   ----------------------------------  ------------------------------------------------------------------
 *   upgrade_watch_done()                ends
 *   the supervisor's process ends       is the supervisor: it has the sockets and knows the server processes
 *
 * It is no child of the supervisor, which is not to wait for it. As a supervisor it has another process number, and the server
 * processes are not its children: it learns of their ends from their sockets.
 */
#include "supervisor_parts.h"
#include "brigade/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WATCH_END_MS 5000

static int watch_fd = -1; /* in the process that is watched */

int upgrade_watch_fd(void)
{
    return watch_fd;
}

void upgrade_watch_take(int fd)
{
    watch_fd = fd;
}

void upgrade_watch_done(void)
{
    if (watch_fd < 0)
        return;
    if (write(watch_fd, "", 1) < 0)
        errno = 0; /* it is gone */
    close(watch_fd);
    watch_fd = -1;
}

/* @return once the supervisor is gone */
static void watch_wait(int said, int supervisor)
{
    struct pollfd fds[] = {{.fd = said, .events = POLLIN}, {.fd = supervisor, .events = POLLIN}};
    char byte;

    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        continue;
    if (fds[0].revents && read(said, &byte, 1) == 1)
        _exit(0);
    /* A process that ends closes its descriptors first. */
    if (!fds[1].revents && poll(fds + 1, 1, WATCH_END_MS) <= 0)
        _exit(0);
    close(said);
    close(supervisor);
}

/* In a grandchild. @return its number's sign as fork() has it */
static pid_t watch_fork(void)
{
    pid_t pid = fork();

    if (pid == 0 && (pid = fork()) != 0)
        _exit(0);
    if (pid > 0)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    return pid;
}

int upgrade_watch(void)
{
    int supervisor = (int)syscall(SYS_pidfd_open, getpid(), 0), ends[2];
    pid_t pid;

    BRG_ASSERT(watch_fd < 0);
    if (supervisor < 0 || pipe2(ends, O_CLOEXEC)) {
        if (supervisor >= 0)
            close(supervisor);
        return 0;
    }
    pid = watch_fork();
    if (pid == 0) {
        close(ends[1]);
        watch_wait(ends[0], supervisor);
        return 1;
    }
    close(supervisor);
    close(ends[0]);
    watch_fd = ends[1];
    if (pid < 0)
        upgrade_watch_done();
    return 0;
}
