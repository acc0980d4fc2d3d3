/* SPDX-License-Identifier: Apache-2.0 */
/* A module that does what an attacker would who runs code in a server process. GET /escape?WAY answers with what came of it. */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int escape_open(const char *path, int flags)
{
    int fd = open(path, flags, 0644);

    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

static int escape_shell(void)
{
    static char *const args[] = {"/bin/sh", "-c", "exit 0", NULL};
    int status;
    pid_t child = fork();

    if (!child) {
        execv(args[0], args);
        _exit(errno);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    errno = WEXITSTATUS(status);
    return errno ? -1 : 0;
}

static int escape_socket(int family, int type, int protocol)
{
    int fd = socket(family, type, protocol);

    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

static int escape_listen(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(47999)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), rc = bind(fd, (struct sockaddr *)&any, sizeof any),
        error = errno;

    close(fd);
    errno = error;
    return rc;
}

/* A log that could be read would tell what other clients do. */
static int escape_read_logs(void)
{
    char path[64], target[256];

    for (int fd = 0; fd < 256; fd++) {
        ssize_t n;

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        n = readlink(path, target, sizeof target - 1);
        if (n <= 0)
            continue;
        target[n] = 0;
        if (strstr(target, "_log") && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY)
            return 0;
    }
    errno = EPERM;
    return -1;
}

static int escape_supervisor(void)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/environ", getppid());
    return escape_open(path, O_RDONLY);
}

static int escape_try(const char *way)
{
    if (!strcmp(way, "passwd"))
        return escape_open("/etc/passwd", O_RDONLY);
    if (!strcmp(way, "list"))
        return escape_open("/etc", O_RDONLY | O_DIRECTORY);
    if (!strcmp(way, "write"))
        return escape_open(getenv("ESCAPE_FOLDER"), O_WRONLY | O_CREAT);
    if (!strcmp(way, "page"))
        return escape_open(getenv("ESCAPE_PAGE"), O_WRONLY);
    if (!strcmp(way, "supervisor"))
        return escape_supervisor();
    if (!strcmp(way, "shell"))
        return escape_shell();
    if (!strcmp(way, "ptrace"))
        return (int)ptrace(PTRACE_TRACEME, 0, 0, 0);
    if (!strcmp(way, "raw"))
        return escape_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    if (!strcmp(way, "packet"))
        return escape_socket(AF_PACKET, SOCK_DGRAM, 0);
    if (!strcmp(way, "vsock"))
        return escape_socket(40, SOCK_STREAM, 0);
    if (!strcmp(way, "listen"))
        return escape_listen();
    if (!strcmp(way, "mount"))
        return mount("none", "/tmp", "tmpfs", 0, NULL);
    if (!strcmp(way, "namespace"))
        return unshare(CLONE_NEWUSER);
    if (!strcmp(way, "clone"))
        return (int)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) < 0 ? -1 : 0;
    if (!strcmp(way, "signal"))
        return kill(getppid(), 0);
    if (!strcmp(way, "uring"))
        return (int)syscall(SYS_io_uring_setup, 0, NULL);
    if (!strcmp(way, "bpf"))
        return (int)syscall(SYS_bpf, 0, NULL, 0);
    if (!strcmp(way, "privileges"))
        return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? (errno = EPERM, -1) : 0;
    if (!strcmp(way, "logs"))
        return escape_read_logs();
    errno = 0;
    return -1;
}

static int escape_handler(request_rec *r)
{
    int rc;

    if (!r->handler || strcmp(r->handler, "escape"))
        return DECLINED;
    rc = escape_try(r->args ? r->args : "");
    ap_rputs(rc < 0 ? strerrorname_np(errno) : "out", r);
    return OK;
}

static void escape_hooks(apr_pool_t *p)
{
    ap_hook_handler(escape_handler, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(escape) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, escape_hooks, 0};
