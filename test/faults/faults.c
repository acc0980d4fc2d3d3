/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control block, and the decision for each call. What runs here may run between fork and exec
 * and in signal handlers: system calls by number, no locks, no memory; but for the hit itself,
 * which notes where it came from.
 */
#define _GNU_SOURCE
#include "faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FAULT_FDS 65536

static struct fault_control *fault_shared;
static int fault_role, fault_pid;
static _Thread_local int fault_inside; /* calls of our own are no calls of the program */
static struct {
    int epfd;
    struct epoll_event event;
} fault_epoll[FAULT_FDS];

static const char *const fault_call_names[] = {
#define FAULT_TEXT(name) #name,
    FAULT_CALLS(FAULT_TEXT)};
static const char *const fault_class_names[] = {FAULT_CLASSES(FAULT_TEXT)};

/* As they were, for the program that the supervisor becomes. */
static char fault_preload[4096] = "LD_PRELOAD=", fault_path[4096] = "BRIGADE_FAULTS=";

static void fault_keep(char *to, size_t room, const char *value)
{
    if (value)
        strncat(to, value, room - strlen(to) - 1);
}

static void fault_names(char (*to)[FAULT_NAME], const char *const *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        snprintf(to[i], FAULT_NAME, "%s", from[i]);
}

/* dladdr() and backtrace() load and lock things when they are first used: now. */
static void fault_warm_up(void)
{
    void *frames[2];
    Dl_info info;

    if (backtrace(frames, 2) > 0)
        dladdr(frames[0], &info);
}

__attribute__((constructor)) static void fault_begin(void)
{
    const char *path = getenv("BRIGADE_FAULTS");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;
    void *block;

    fault_keep(fault_preload, sizeof fault_preload, getenv("LD_PRELOAD"));
    fault_keep(fault_path, sizeof fault_path, path);
    unsetenv("LD_PRELOAD");
    unsetenv("BRIGADE_FAULTS");
    if (fd < 0)
        return;
    block = (void *)syscall(SYS_mmap, NULL, sizeof *fault_shared, PROT_READ | PROT_WRITE,
                            MAP_SHARED, fd, 0L);
    syscall(SYS_close, fd);
    if (block == MAP_FAILED)
        return;
    fault_pid = (int)syscall(SYS_getpid);
    fault_warm_up();
    fault_shared = block;
    fault_names(fault_shared->call_names, fault_call_names, FAULT_CALLS_N);
    fault_names(fault_shared->class_names, fault_class_names, FAULT_CLASSES_N);
    fault_shared->calls_n = FAULT_CALLS_N;
    fault_shared->classes_n = FAULT_CLASSES_N;
    fault_shared->roles_n = FAULT_ROLES;
    fault_shared->magic = FAULT_MAGIC;
}

void fault_forked(void)
{
    fault_pid = (int)syscall(SYS_getpid);
    if (fault_role < FAULT_ROLES - 1)
        fault_role++;
}

char **fault_environment(char *const env[])
{
    static char *with[2048]; /* it may run in the handler of a signal */
    size_t n = 0;

    while (fault_shared && !fault_role && env[n] && n < sizeof with / sizeof *with - 3) {
        with[n] = env[n];
        n++;
    }
    if (!n)
        return (char **)(uintptr_t)env;
    with[n++] = fault_preload;
    with[n++] = fault_path;
    with[n] = NULL;
    return with;
}

void *fault_next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static enum fault_class fault_class_of(int fd)
{
    struct stat st;

    if (fd < 0 || syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) < 0)
        return FAULT_ON_none;
    switch (st.st_mode & S_IFMT) {
    case S_IFREG:
        return syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND ? FAULT_ON_log : FAULT_ON_file;
    case S_IFSOCK:
        return FAULT_ON_socket;
    case S_IFIFO:
        return FAULT_ON_pipe;
    default:
        return FAULT_ON_other;
    }
}

/* ---- a hit ---- */

static void fault_note_where(struct fault_control *c)
{
    static const char marker;
    void *frames[FAULT_FRAMES];
    Dl_info own, program, info;
    void *start = dlsym(RTLD_DEFAULT, "main"); /* exported with the rest of the program */
    int n = backtrace(frames, FAULT_FRAMES), kept = 0;

    dladdr(&marker, &own);
    if (!start || !dladdr(start, &program))
        program.dli_fbase = NULL;
    for (int i = 0; i < n; i++) {
        if (!dladdr(frames[i], &info) || info.dli_fbase == own.dli_fbase)
            continue;
        if (!program.dli_fbase && info.dli_fname && strstr(info.dli_fname, "brigade"))
            program.dli_fbase = info.dli_fbase;
        if (info.dli_fbase == program.dli_fbase)
            c->frames[kept++] = (uint64_t)((char *)frames[i] - (char *)info.dli_fbase);
    }
    c->frames_n = (uint64_t)kept;
}

static void fault_note_what(struct fault_control *c, int fd, const char *path)
{
    char name[32];
    long n = 0;

    if (path) {
        snprintf(c->what, sizeof c->what, "%s", path);
        return;
    }
    if (fd >= 0) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        n = syscall(SYS_readlinkat, AT_FDCWD, name, c->what, sizeof c->what - 1);
    }
    c->what[n > 0 ? n : 0] = '\0';
}

static void fault_wait(struct fault_control *c)
{
    struct timespec left = {.tv_sec = c->delay_ms / 1000,
                            .tv_nsec = (long)(c->delay_ms % 1000) * 1000000L};

    while (syscall(SYS_nanosleep, &left, &left) < 0 && errno == EINTR)
        continue;
    atomic_fetch_add(&c->returned, 1);
}

static void fault_hit(struct fault_control *c, int fd, const char *path)
{
    if (atomic_fetch_add(&c->hits, 1) == 0) {
        c->hit_pid = fault_pid;
        c->hit_tid = (int)syscall(SYS_gettid);
        fault_note_what(c, fd, path);
        fault_note_where(c);
    }
}

/* ---- the decision ---- */

static int fault_matches(const struct fault_control *c, enum fault_call call,
                         enum fault_class class)
{
    return atomic_load(&c->armed) && c->call == call && c->fd_class == class &&
           c->role == fault_role && (!c->pid || c->pid == fault_pid);
}

static void fault_count(struct fault_control *c, enum fault_call call, enum fault_class class)
{
    int of = atomic_load(&c->counted_pid);

    if (!of || of == fault_pid)
        atomic_fetch_add(&c->counts[fault_role][call][class], 1);
}

/* What does not block never says so. */
static int fault_possible(const struct fault_control *c, int fd)
{
    return c->kind != FAULT_ERRNO || c->error != EAGAIN || fd < 0 ||
           (syscall(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK) != 0;
}

/* The fault for this call, or NULL. */
static struct fault_control *fault_take(enum fault_call call, int fd, const char *path)
{
    struct fault_control *c = fault_shared;
    enum fault_class class;
    uint64_t n;
    int saved = errno;

    if (!c || fault_inside)
        return NULL;
    class = fault_class_of(fd);
    fault_count(c, call, class);
    errno = saved;
    if (!fault_matches(c, call, class) || !fault_possible(c, fd))
        return NULL;
    n = atomic_fetch_add(&c->seen, 1) + 1;
    if (n < c->first || n > c->last)
        return NULL;
    fault_inside = 1;
    fault_hit(c, fd, path);
    if (c->kind == FAULT_DELAY)
        fault_wait(c);
    fault_inside = 0;
    errno = saved;
    return c;
}

static int fault_fails(const struct fault_control *c, int fd)
{
    if (!c || c->kind != FAULT_ERRNO)
        return 0;
    if (c->error == EAGAIN)
        fault_rearm(fd);
    errno = c->error;
    return 1;
}

int fault_now(enum fault_call call, int fd, const char *path)
{
    return fault_fails(fault_take(call, fd, path), fd);
}

int fault_now_len(enum fault_call call, int fd, size_t *len)
{
    const struct fault_control *c = fault_take(call, fd, NULL);

    if (c && *len > 1 && (c->kind == FAULT_SHORT_ONE || c->kind == FAULT_SHORT_HALF)) {
        *len = c->kind == FAULT_SHORT_ONE ? 1 : *len / 2;
        fault_rearm(fd);
    }
    return fault_fails(c, fd);
}

/* ---- edges ---- */

void fault_note_epoll(int epfd, int op, int fd, const void *event)
{
    if (fd < 0 || fd >= FAULT_FDS)
        return;
    fault_epoll[fd].epfd = op == EPOLL_CTL_DEL ? 0 : epfd;
    if (event && op != EPOLL_CTL_DEL)
        fault_epoll[fd].event = *(const struct epoll_event *)event;
}

/* The kernel would tell of a socket that was full, or had no more, when that changes. This one was
 * not. */
void fault_rearm(int fd)
{
    int saved = errno;

    if (fd >= 0 && fd < FAULT_FDS && fault_epoll[fd].epfd > 0)
        syscall(SYS_epoll_ctl, fault_epoll[fd].epfd, EPOLL_CTL_MOD, fd, &fault_epoll[fd].event);
    errno = saved;
}
