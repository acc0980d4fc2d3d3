/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets, events, processes, threads and memory. */
#define _GNU_SOURCE
#include "faults.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- sockets ---- */

FAULT_FUNCTION(socket, int, -1, socket, (int family, int type, int protocol),
               (family, type, protocol), -1, NULL)
FAULT_FUNCTION(socketpair, int, -1, socketpair, (int family, int type, int protocol, int fd[2]),
               (family, type, protocol, fd), -1, NULL)
FAULT_FUNCTION(bind, int, -1, bind, (int fd, const struct sockaddr *a, socklen_t len), (fd, a, len),
               fd, NULL)
FAULT_FUNCTION(connect, int, -1, connect, (int fd, const struct sockaddr *a, socklen_t len),
               (fd, a, len), fd, NULL)
FAULT_FUNCTION(getsockopt, int, -1, getsockopt,
               (int fd, int level, int name, void *value, socklen_t *len),
               (fd, level, name, value, len), fd, NULL)
FAULT_FUNCTION(listen, int, -1, listen, (int fd, int backlog), (fd, backlog), fd, NULL)
FAULT_FUNCTION(accept, int, -1, accept, (int fd, struct sockaddr *a, socklen_t *len), (fd, a, len),
               fd, NULL)
FAULT_FUNCTION(accept, int, -1, accept4, (int fd, struct sockaddr *a, socklen_t *len, int flags),
               (fd, a, len, flags), fd, NULL)
FAULT_FUNCTION(setsockopt, int, -1, setsockopt,
               (int fd, int level, int name, const void *v, socklen_t len),
               (fd, level, name, v, len), fd, NULL)
FAULT_FUNCTION(getsockname, int, -1, getsockname, (int fd, struct sockaddr *a, socklen_t *len),
               (fd, a, len), fd, NULL)
FAULT_FUNCTION(getpeername, int, -1, getpeername, (int fd, struct sockaddr *a, socklen_t *len),
               (fd, a, len), fd, NULL)
FAULT_FUNCTION(shutdown, int, -1, shutdown, (int fd, int how), (fd, how), fd, NULL)

/* It reports in its own way. */
FAULT_NEXT(int, getaddrinfo,
           (const char *node, const char *service, const struct addrinfo *hints,
            struct addrinfo **found))
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found)
{
    fault_find_getaddrinfo();
    return fault_now(FAULT_getaddrinfo, -1, node) ? EAI_SYSTEM
                                                  : next_getaddrinfo(node, service, hints, found);
}

/* ---- events ---- */

FAULT_FUNCTION(epoll_create, int, -1, epoll_create1, (int flags), (flags), -1, NULL)
FAULT_FUNCTION(epoll_wait, int, -1, epoll_wait, (int fd, struct epoll_event *e, int n, int ms),
               (fd, e, n, ms), -1, NULL)
FAULT_FUNCTION(epoll_wait, int, -1, epoll_pwait,
               (int fd, struct epoll_event *e, int n, int ms, const sigset_t *mask),
               (fd, e, n, ms, mask), -1, NULL)
FAULT_FUNCTION(poll, int, -1, poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms), -1, NULL)
FAULT_FUNCTION(poll, int, -1, ppoll,
               (struct pollfd * p, nfds_t n, const struct timespec *t, const sigset_t *mask),
               (p, n, t, mask), -1, NULL)
FAULT_FUNCTION(eventfd, int, -1, eventfd, (unsigned value, int flags), (value, flags), -1, NULL)
FAULT_FUNCTION(signalfd, int, -1, signalfd, (int fd, const sigset_t *mask, int flags),
               (fd, mask, flags), -1, NULL)
FAULT_FUNCTION(inotify_init, int, -1, inotify_init1, (int flags), (flags), -1, NULL)
FAULT_FUNCTION(inotify_add_watch, int, -1, inotify_add_watch,
               (int fd, const char *path, uint32_t mask), (fd, path, mask), -1, path)
FAULT_FUNCTION(inotify_rm_watch, int, -1, inotify_rm_watch, (int fd, int watch), (fd, watch), -1,
               NULL)

FAULT_NEXT(int, epoll_ctl, (int epfd, int op, int fd, struct epoll_event *e))
int epoll_ctl(int epfd, int op, int fd, struct epoll_event *e)
{
    int done;

    fault_find_epoll_ctl();
    done = fault_now(FAULT_epoll_ctl, fd, NULL) ? -1 : next_epoll_ctl(epfd, op, fd, e);
    if (done == 0)
        fault_note_epoll(epfd, op, fd, e);
    return done;
}

/* ---- processes and threads ---- */

FAULT_NEXT(pid_t, fork, (void))
pid_t fork(void)
{
    pid_t pid;

    fault_find_fork();
    if (fault_now(FAULT_fork, -1, NULL))
        return -1;
    pid = next_fork();
    if (pid == 0)
        fault_forked();
    return pid;
}

FAULT_NEXT(int, pthread_create,
           (pthread_t * t, const pthread_attr_t *a, void *(*run)(void *), void *arg))
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg)
{
    fault_find_pthread_create();
    return fault_now(FAULT_pthread_create, -1, NULL) ? errno : next_pthread_create(t, a, run, arg);
}

FAULT_FUNCTION(waitpid, pid_t, -1, waitpid, (pid_t pid, int *status, int flags),
               (pid, status, flags), -1, NULL)
FAULT_FUNCTION(execve, int, -1, execve, (const char *path, char *const argv[], char *const env[]),
               (path, argv, fault_environment(env)), -1, path)
FAULT_FUNCTION(execve, int, -1, fexecve, (int fd, char *const argv[], char *const env[]),
               (fd, argv, fault_environment(env)), fd, NULL)
FAULT_FUNCTION(execve, int, -1, execv, (const char *path, char *const argv[]), (path, argv), -1,
               path)
FAULT_FUNCTION(kill, int, -1, kill, (pid_t pid, int number), (pid, number), -1, NULL)
FAULT_FUNCTION(setuid, int, -1, setuid, (uid_t id), (id), -1, NULL)
FAULT_FUNCTION(setgid, int, -1, setgid, (gid_t id), (id), -1, NULL)
FAULT_FUNCTION(initgroups, int, -1, initgroups, (const char *name, gid_t id), (name, id), -1, name)
FAULT_FUNCTION(setrlimit, int, -1, setrlimit, (__rlimit_resource_t what, const struct rlimit *r),
               (what, r), -1, NULL)
FAULT_FUNCTION(pipe, int, -1, pipe, (int fd[2]), (fd), -1, NULL)
FAULT_FUNCTION(pipe, int, -1, pipe2, (int fd[2], int flags), (fd, flags), -1, NULL)
FAULT_FUNCTION(memfd_create, int, -1, memfd_create, (const char *name, unsigned flags),
               (name, flags), -1, name)

FAULT_NEXT(int, prctl, (int what, ...))
int prctl(int what, ...)
{
    va_list list;
    unsigned long arg[4];

    va_start(list, what);
    for (int i = 0; i < 4; i++)
        arg[i] = va_arg(list, unsigned long);
    va_end(list);
    fault_find_prctl();
    return fault_now(FAULT_prctl, -1, NULL) ? -1 : next_prctl(what, arg[0], arg[1], arg[2], arg[3]);
}

/* ---- memory ---- */

FAULT_FUNCTION(mmap, void *, MAP_FAILED, mmap,
               (void *a, size_t len, int prot, int flags, int fd, off_t at),
               (a, len, prot, flags, fd, at), fd, NULL)
FAULT_FUNCTION(mmap, void *, MAP_FAILED, mmap64,
               (void *a, size_t len, int prot, int flags, int fd, off_t at),
               (a, len, prot, flags, fd, at), fd, NULL)
FAULT_FUNCTION(munmap, int, -1, munmap, (void *a, size_t len), (a, len), -1, NULL)
FAULT_FUNCTION(madvise, int, -1, madvise, (void *a, size_t len, int advice), (a, len, advice), -1,
               NULL)

FAULT_NEXT(void *, mremap, (void *a, size_t old, size_t len, int flags, ...))
void *mremap(void *a, size_t old, size_t len, int flags, ...)
{
    va_list list;
    void *to = NULL;

    va_start(list, flags);
    if (flags & MREMAP_FIXED)
        to = va_arg(list, void *);
    va_end(list);
    fault_find_mremap();
    return fault_now(FAULT_mremap, -1, NULL) ? MAP_FAILED : next_mremap(a, old, len, flags, to);
}

/* ---- calls by number, where libc has no function ---- */

FAULT_NEXT(long, syscall, (long number, ...))
long syscall(long number, ...)
{
    va_list list;
    long arg[6];

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arg[i] = va_arg(list, long);
    va_end(list);
    fault_find_syscall();
    if (number == SYS_openat2 && fault_now(FAULT_open, -1, (const char *)arg[1]))
        return -1;
    if (number == SYS_statx && fault_now(FAULT_stat, -1, (const char *)arg[1]))
        return -1;
    if ((number == SYS_io_uring_setup || number == SYS_io_uring_enter) &&
        fault_now(FAULT_io_uring, -1, NULL))
        return -1;
    return next_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
