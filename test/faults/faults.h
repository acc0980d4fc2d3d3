/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults in system calls, for tests: a library to be preloaded under a server. It counts the calls
 * of libc's functions that the program and its libraries make, and makes chosen ones fail, be
 * short, or take time.
 *
 * BRIGADE_FAULTS names a file of sizeof(struct fault_control) bytes which the test and the
 * processes of the server map. The test reads counts there and arms a fault; a fault that is not
 * armed changes nothing. Programs that the server starts do not get the library: it takes itself
 * out of the environment. A program that the supervisor becomes (an upgrade) does.
 *
 * Calls that libc makes inside of its own functions (fopen, opendir, getaddrinfo) do not come by;
 * those functions are in the list themselves.
 */
#ifndef BRIGADE_TEST_FAULTS_H
#define BRIGADE_TEST_FAULTS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FAULT_CALLS(X)                                                                             \
    X(open)                                                                                        \
    X(fopen)                                                                                       \
    X(opendir)                                                                                     \
    X(readdir) X(fstat) X(stat) X(access) X(readlink) X(statfs) X(read) X(readv) X(pread)          \
        X(preadv) X(write) X(writev) X(pwrite) X(send) X(sendmsg) X(sendfile) X(recv)              \
            X(epoll_create) X(epoll_ctl) X(epoll_wait) X(poll) X(accept) X(inotify_init)           \
                X(inotify_add_watch) X(inotify_rm_watch) X(fork) X(waitpid) X(mmap) X(munmap)      \
                    X(madvise) X(mremap) X(pipe) X(socketpair) X(eventfd) X(signalfd)              \
                        X(memfd_create) X(getrandom) X(socket) X(bind) X(listen) X(setsockopt)     \
                            X(getsockname) X(getpeername) X(shutdown) X(close) X(fcntl) X(dup)     \
                                X(rename) X(unlink) X(pthread_create) X(kill) X(setuid) X(setgid)  \
                                    X(initgroups) X(chdir) X(setrlimit) X(prctl) X(chown) X(lseek) \
                                        X(ftruncate) X(execve) X(getaddrinfo) X(io_uring)          \
                                            X(connect) X(getsockopt) X(sendmmsg) X(recvmmsg)

#define FAULT_ID(name) FAULT_##name,
enum fault_call { FAULT_CALLS(FAULT_ID) FAULT_CALLS_N };

/* What a descriptor is: a call on a socket fails in other ways than one on a file. */
#define FAULT_CLASSES(X) X(none) X(file) X(log) X(socket) X(pipe) X(other)
#define FAULT_CLASS_ID(name) FAULT_ON_##name,
enum fault_class {
    FAULT_CLASSES(FAULT_CLASS_ID) FAULT_CLASSES_N
}; /* log: a regular file open for appending */

enum fault_kind { FAULT_ERRNO, FAULT_SHORT_ONE, FAULT_SHORT_HALF, FAULT_DELAY };

#define FAULT_ROLES 3 /* 0: the supervisor; 1: its children; 2: what those fork */
#define FAULT_FRAMES 24
#define FAULT_NAME 24
#define FAULT_MAGIC 0x42464c54u

struct fault_control {
    uint32_t magic, calls_n, classes_n, roles_n; /* written by the library */
    /* Set by the test; `armed` comes last and goes first. */
    _Atomic uint32_t armed;
    uint32_t call, fd_class, kind;
    int32_t error, role, pid; /* pid 0: any of that role */
    uint32_t delay_ms;
    uint64_t first, last; /* of the matching calls since the fault was armed, from 1 */
    /* What happened. */
    _Atomic uint64_t seen, hits, returned; /* returned: delays that are over count here */
    int32_t hit_pid, hit_tid;
    uint64_t frames_n;
    uint64_t frames[FAULT_FRAMES]; /* offsets in the program's file; 0: in a library */
    char what[160];                /* of the last hit: the path, or what the descriptor refers to */
    _Atomic int32_t counted_pid;   /* set by the test: whose calls are counted; 0: all of the role */
    _Atomic uint64_t counts[FAULT_ROLES][FAULT_CALLS_N][FAULT_CLASSES_N];
    char call_names[FAULT_CALLS_N][FAULT_NAME];
    char class_names[FAULT_CLASSES_N][FAULT_NAME];
};

/*
 * To be asked before each call. Counts it.
 * @param fd, path  what it is about: a descriptor or -1; a name or NULL
 * @return 1 if the caller shall fail (errno is set then); delays are over when it returns
 */
int fault_now(enum fault_call call, int fd, const char *path);

/* As fault_now(), for calls that move bytes. @param len in: wanted; out: what to ask for */
int fault_now_len(enum fault_call call, int fd, size_t *len);

/* The epoll set that fd is in gets an edge again, as if the condition had come later. */
void fault_rearm(int fd);
void fault_note_epoll(int epfd, int op, int fd, const void *event);

/* To be called in the child after a fork. */
void fault_forked(void);

/* The environment of a program that is begun: the supervisor becomes one with this library, other processes without. */
char **fault_environment(char *const env[]);

/* The function that the library hides. */
void *fault_next(const char *name);

#define FAULT_NEXT(result, name, params)                                  \
    static result(*next_##name) params;                                   \
    __attribute__((constructor)) static void fault_find_##name(void)      \
    {                                                                     \
        if (!next_##name)                                                 \
            next_##name = (result(*) params)(uintptr_t)fault_next(#name); \
    }

/* A function that fails by returning `failed`. */
#define FAULT_FUNCTION(call, result, failed, name, params, args, fd, path)    \
    FAULT_NEXT(result, name, params)                                          \
    result name params;                                                       \
    result name params                                                        \
    {                                                                         \
        fault_find_##name();                                                  \
        return fault_now(FAULT_##call, fd, path) ? failed : next_##name args; \
    }

#endif
