/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaving the terminal.
 *
 * The server forks before it opens anything that a fork would leave behind with the starter: piped
 * logs, pid file, processes of modules. The starter stays until the daemon says that it serves (or
 * dies trying), so its exit status tells the truth; messages of the start still reach the terminal.
 */
#include "mpm_settings.h"
#include "brigade/assert.h"

#include "http_log.h"
#include "http_main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

static int daemon_fd = -1;       /* the starter waits at the other end */
static int daemon_terminal = -1; /* standard error as it was before the error log became that */

/* ---- messages on the terminal ---- */

void daemon_keep_terminal(void)
{
    BRG_ASSERT(daemon_terminal < 0);
    daemon_terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

static void daemon_leave_for(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int daemon_sees_log(void)
{
    struct stat log, terminal;

    return fstat(STDERR_FILENO, &log) || fstat(daemon_terminal, &terminal) ||
           (log.st_dev == terminal.st_dev && log.st_ino == terminal.st_ino);
}

static void daemon_write(int fd, const char *text, size_t len)
{
    if (write(fd, text, len) != (ssize_t)len)
        errno = 0; /* nobody is there to be told */
}

void daemon_say(const char *text)
{
    if (daemon_fd >= 0)
        daemon_write(daemon_fd, text, strlen(text));
    else if (daemon_terminal >= 0 && !daemon_sees_log())
        daemon_write(daemon_terminal, text, strlen(text));
}

/* ---- leaving ---- */

/* Messages of the daemon before it serves are shown; a NUL says that it does. */
static void daemon_await(int fd, pid_t child)
{
    char said[1024];
    ssize_t n;
    int status;

    BRG_ASSERT(child > 0);
    while ((n = read(fd, said, sizeof said)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0 && !said[n - 1])
            _exit(0);
        if (n > 0)
            daemon_write(daemon_terminal >= 0 ? daemon_terminal : STDERR_FILENO, said, (size_t)n);
    }
    if (waitpid(child, &status, 0) == child && WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    _exit(1);
}

/* Standard input and output of the starter are closed, so that a program that reads them sees their end. Messages of the
 * start go to standard error until the log is open. */
static void daemon_leave_terminal(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    close(null);
}

apr_status_t daemon_detach(apr_pool_t *p)
{
    int ends[2];
    pid_t child;

    BRG_ASSERT(daemon_fd < 0);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return errno;
    if ((child = fork()) < 0)
        return errno;
    if (child > 0) {
        close(ends[1]);
        daemon_await(ends[0], child);
    }
    close(ends[0]);
    daemon_leave_for(&daemon_terminal);
    daemon_fd = ends[1];
    /* At once: daemons of modules inherit open descriptors when they start. */
    daemon_leave_terminal();
    return setsid() < 0 ? errno : APR_SUCCESS;
}

void daemon_child(void)
{
    daemon_leave_for(&daemon_fd);
    daemon_leave_for(&daemon_terminal);
}

void daemon_ready(void)
{
    if (daemon_fd >= 0 && write(daemon_fd, "", 1) != 1)
        ap_log_error(APLOG_MARK, APLOG_DEBUG, errno, ap_server_conf,
                     "the program that started this server has ended already");
    daemon_child();
}
