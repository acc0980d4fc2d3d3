/* SPDX-License-Identifier: Apache-2.0 */
/* A module that does what an attacker would who runs code in a server process. GET /escape?WAY answers with what came of it. */
#define _GNU_SOURCE
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
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

/* A port that takes connections: of @a port, or one that the system chooses. */
static int escape_take_connections(int protocol, int bound)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, protocol), rc = fd < 0 ? -1 : 0, error;

    if (!rc && bound)
        rc = bind(fd, (struct sockaddr *)&any, sizeof any);
    if (!rc)
        rc = listen(fd, 1);
    error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return rc;
}

static int escape_abstract(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *name = getenv("ESCAPE_ABSTRACT");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), rc, error;

    memcpy(to.sun_path + 1, name, strlen(name));
    rc = connect(fd, (struct sockaddr *)&to,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
    error = errno;
    close(fd);
    errno = error;
    return rc;
}

/* Signals that the kernel sends: for a socket's readers. */
static int escape_owner(int command, int argument)
{
    int fds[2], rc = socketpair(AF_UNIX, SOCK_STREAM, 0, fds);

    return rc ? rc : fcntl(fds[0], command, argument);
}

static int escape_option(int level, int option)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), value = 255, rc, error;

    rc = setsockopt(fd, level, option, &value, sizeof value);
    error = errno;
    close(fd);
    errno = error;
    return rc;
}

/* A process of the same user that is outside. */
static pid_t escape_other(void)
{
    return atoi(getenv("ESCAPE_PID"));
}

static int escape_of_others(const char *way)
{
    struct rlimit64 limit = {1, 1};
    struct sched_param param = {0};
    const pid_t pid = escape_other();
    cpu_set_t one;
    siginfo_t info = {.si_code = SI_QUEUE, .si_signo = SIGTERM};
    long robust, n = 1;
    void *page = NULL;
    int status;

    if (!strcmp(way, "kill"))
        return kill(pid, 0);
    if (!strcmp(way, "tgkill"))
        return (int)syscall(SYS_tgkill, pid, pid, 0);
    if (!strcmp(way, "sigqueue"))
        return (int)syscall(SYS_rt_sigqueueinfo, pid, SIGWINCH, &info);
    if (!strcmp(way, "prlimit"))
        return prlimit64(pid, RLIMIT_CORE, &limit, NULL);
    if (!strcmp(way, "priority"))
        return setpriority(PRIO_PROCESS, (id_t)pid, 19);
    if (!strcmp(way, "priorities"))
        return setpriority(PRIO_USER, 0, 19);
    if (!strcmp(way, "ioprio"))
        return (int)syscall(SYS_ioprio_set, 1, pid, 2 << 13);
    if (!strcmp(way, "affinity")) {
        sched_getaffinity(0, sizeof one, &one);
        return sched_setaffinity(pid, sizeof one, &one);
    }
    if (!strcmp(way, "scheduler"))
        return sched_setscheduler(pid, SCHED_BATCH, &param);
    if (!strcmp(way, "pages"))
        return (int)syscall(SYS_move_pages, pid, 1, &page, NULL, &status, 0);
    if (!strcmp(way, "migrate"))
        return (int)syscall(SYS_migrate_pages, pid, 64, &n, &n);
    if (!strcmp(way, "robust"))
        return (int)syscall(SYS_get_robust_list, pid, &robust, &n);
    errno = 0;
    return -1;
}

static int escape_of_itself(void)
{
    struct rlimit64 limit;
    cpu_set_t all;

    if (prlimit64(0, RLIMIT_CORE, NULL, &limit) || prlimit64(getpid(), RLIMIT_CORE, NULL, &limit))
        return -1;
    if (sched_getaffinity(0, sizeof all, &all) || sched_setaffinity(0, sizeof all, &all))
        return -1;
    if (setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)))
        return -1;
    return kill(getpid(), 0) | (int)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0);
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
    if (!strcmp(way, "port"))
        return escape_take_connections(0, 1);
    if (!strcmp(way, "unbound"))
        return escape_take_connections(0, 0);
    if (!strcmp(way, "mptcp"))
        return escape_take_connections(262, 1);
    if (!strcmp(way, "sctp"))
        return escape_take_connections(IPPROTO_SCTP, 1);
    if (!strcmp(way, "udplite"))
        return escape_socket(AF_INET, SOCK_DGRAM, 136);
    if (!strcmp(way, "ping"))
        return escape_socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
    if (!strcmp(way, "udp"))
        return escape_socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    if (!strcmp(way, "tcp"))
        return escape_socket(AF_INET6, SOCK_STREAM, IPPROTO_TCP);
    if (!strcmp(way, "netlink"))
        return escape_socket(AF_NETLINK, SOCK_RAW, 9 /* audit */);
    if (!strcmp(way, "routes"))
        return escape_socket(AF_NETLINK, SOCK_DGRAM, 0);
    if (!strcmp(way, "abstract"))
        return escape_abstract();
    if (!strcmp(way, "owner"))
        return escape_owner(F_SETOWN, escape_other());
    if (!strcmp(way, "sigio"))
        return escape_owner(F_SETSIG, SIGKILL);
    if (!strcmp(way, "lease"))
        return escape_owner(F_SETLEASE, F_WRLCK);
    if (!strcmp(way, "bpf-filter"))
        return escape_option(SOL_SOCKET, SO_ATTACH_FILTER);
    if (!strcmp(way, "hops"))
        return escape_option(IPPROTO_IP, 21 /* IP_MINTTL */);
    if (!strcmp(way, "option"))
        return escape_option(SOL_SOCKET, SO_KEEPALIVE);
    if (!strcmp(way, "log"))
        return escape_open(getenv("ESCAPE_LOG"), O_RDONLY);
    if (!strcmp(way, "log-replaced"))
        return rename(getenv("ESCAPE_LOG"), getenv("ESCAPE_LOG_MOVED"));
    if (!strcmp(way, "fifo"))
        return mkfifo(getenv("ESCAPE_FIFO"), 0600);
    if (!strcmp(way, "sibling"))
        return (int)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) < 0 ? -1 : 0;
    if (!strcmp(way, "itself"))
        return escape_of_itself();
    if (!strncmp(way, "other-", 6))
        return escape_of_others(way + 6);
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
