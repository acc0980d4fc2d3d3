/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of system calls, tried by a child that makes them: what it refuses, with which error, and what it leaves. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sandbox.h"

/* A call with arguments that fail harmlessly where the filter lets it pass. */
typedef struct call {
    long number, arg[5];
} call;

#define BAD (-1L)
#define SELF (-2L)   /* of an argument: the child's number */
#define PARENT (-3L) /* the number of its parent */
#define NOBODY 0x3ffffffeL

static long argument(long arg)
{
    return arg == SELF ? (long)getpid() : arg == PARENT ? (long)getppid() : arg;
}

/* @return the errno of the call in a child with these limits; 0: it worked */
static int tried(sandbox_limits limits, call c)
{
    int status;
    pid_t child = fork();

    if (!child) {
        long rc;

        alarm(30);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || sandbox_filter(&limits))
            _exit(254);
        rc = syscall(c.number, argument(c.arg[0]), argument(c.arg[1]), argument(c.arg[2]), c.arg[3],
                     c.arg[4]);
        if (!rc && (c.number == SYS_clone || c.number == SYS_fork))
            _exit(0);
        _exit(rc < 0 ? errno : 0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 254);
    return WEXITSTATUS(status);
}

static const sandbox_limits tight = {.signals_held = 1};

static int refused(call c)
{
    return tried(tight, c) == EPERM;
}

static int socket_is_refused(long family, long type, long protocol)
{
    return refused((call){SYS_socket, {family, type, protocol}});
}

static void test_sockets(void **state)
{
    for (long family = AF_INET; family == AF_INET || family == AF_INET6;
         family += AF_INET6 - AF_INET) {
        assert_false(socket_is_refused(family, SOCK_STREAM, 0));
        assert_false(
            socket_is_refused(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
        assert_false(socket_is_refused(family, SOCK_DGRAM, 0));
        assert_false(socket_is_refused(family, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP));
        assert_true(socket_is_refused(family, SOCK_STREAM, IPPROTO_SCTP));
        assert_true(socket_is_refused(family, SOCK_STREAM, 262 /* MPTCP */));
        assert_true(socket_is_refused(family, SOCK_DGRAM, IPPROTO_ICMP));
        assert_true(socket_is_refused(family, SOCK_DGRAM, IPPROTO_TCP));
        assert_true(socket_is_refused(family, SOCK_RAW, IPPROTO_TCP));
        assert_true(socket_is_refused(family, SOCK_SEQPACKET, 0));
    }
    assert_false(socket_is_refused(AF_UNIX, SOCK_STREAM, 0));
    assert_false(socket_is_refused(AF_UNIX, SOCK_SEQPACKET, 0));
    assert_false(socket_is_refused(AF_NETLINK, SOCK_RAW, 0));
    assert_true(socket_is_refused(AF_NETLINK, SOCK_RAW, 9 /* audit */));
    assert_true(socket_is_refused(AF_PACKET, SOCK_RAW, 0));
    assert_true(socket_is_refused(38 /* AF_ALG */, SOCK_SEQPACKET, 0));
    assert_true(socket_is_refused(40 /* AF_VSOCK */, SOCK_STREAM, 0));
    assert_false(refused((call){SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, BAD}}));
}

static void test_threads_and_processes(void **state)
{
    static const long kinds[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                 CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET, CLONE_PARENT};

    assert_int_equal(tried(tight, (call){SYS_clone3, {0, 0}}), ENOSYS);
    assert_int_equal(tried(tight, (call){SYS_clone, {SIGCHLD}}), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_true(refused((call){SYS_clone, {kinds[i] | SIGCHLD}}));
    assert_true(refused((call){SYS_unshare, {0}}));
    assert_true(refused((call){SYS_setns, {BAD, 0}}));
}

static void test_other_processes(void **state)
{
    static const long calls[] = {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
                                 SYS_pidfd_getfd};
    static const long own[] = {SYS_prlimit64, SYS_sched_setparam, SYS_sched_setaffinity,
                               SYS_get_robust_list};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        assert_true(refused((call){calls[i], {BAD, BAD, BAD, BAD, BAD}}));
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        assert_true(refused((call){own[i], {PARENT, BAD, 0, 0}}));
        assert_true(refused((call){own[i], {NOBODY, BAD, 0, 0}}));
        assert_false(refused((call){own[i], {SELF, BAD, 0, 0}}));
        assert_false(refused((call){own[i], {0, BAD, 0, 0}}));
    }
}

static void test_priorities(void **state)
{
    assert_false(refused((call){SYS_setpriority, {PRIO_PROCESS, 0, 19}}));
    assert_false(refused((call){SYS_setpriority, {PRIO_PROCESS, SELF, 19}}));
    assert_true(refused((call){SYS_setpriority, {PRIO_PROCESS, PARENT, 19}}));
    assert_true(refused((call){SYS_setpriority, {PRIO_PGRP, 0, 19}}));
    assert_true(refused((call){SYS_setpriority, {PRIO_USER, 0, 19}}));
    assert_false(refused((call){SYS_ioprio_set, {1, 0, 0}}));
    assert_false(refused((call){SYS_ioprio_set, {1, SELF, 0}}));
    assert_true(refused((call){SYS_ioprio_set, {1, PARENT, 0}}));
    assert_true(refused((call){SYS_ioprio_set, {2, 0, 0}}));
}

static void test_programs(void **state)
{
    const sandbox_limits exec = {.exec = 1, .signals_held = 1};

    assert_true(refused((call){SYS_execve, {0, 0, 0}}));
    assert_true(refused((call){SYS_execveat, {BAD, 0, 0, 0, 0}}));
    assert_int_equal(tried(exec, (call){SYS_execve, {0, 0, 0}}), EFAULT);
    assert_int_not_equal(tried(exec, (call){SYS_execveat, {BAD, 0, 0, 0, 0}}), EPERM);
}

static void test_ports(void **state)
{
    const sandbox_limits listens = {.listens = 1, .signals_held = 1};

    assert_true(refused((call){SYS_listen, {BAD, 1}}));
    assert_int_equal(tried(listens, (call){SYS_listen, {BAD, 1}}), EBADF);
    assert_int_equal(tried(tight, (call){SYS_bind, {BAD, 0, 0}}), EBADF);
}

/* A listening socket is shared; one of its own is not. */
static void test_options_of_sockets(void **state)
{
    static const int refused_ones[][2] = {{SOL_SOCKET, SO_ATTACH_FILTER},
                                          {SOL_SOCKET, SO_LOCK_FILTER},
                                          {SOL_SOCKET, SO_ATTACH_BPF},
                                          {SOL_SOCKET, SO_BINDTODEVICE},
                                          {IPPROTO_IP, 21},
                                          {IPPROTO_IPV6, 73}};
    const sandbox_limits own = {.own_sockets = 1, .signals_held = 1};

    for (size_t i = 0; i < sizeof refused_ones / sizeof *refused_ones; i++) {
        const call c = {SYS_setsockopt, {BAD, refused_ones[i][0], refused_ones[i][1], 0, 0}};

        assert_true(refused(c));
        assert_int_equal(tried(own, c), EBADF);
    }
    assert_int_equal(tried(tight, (call){SYS_setsockopt, {BAD, SOL_SOCKET, SO_KEEPALIVE, 0, 0}}),
                     EBADF);
    assert_int_equal(
        tried(tight, (call){SYS_setsockopt, {BAD, IPPROTO_TCP, SO_ATTACH_FILTER, 0, 0}}), EBADF);
    assert_int_equal(tried(tight, (call){SYS_setsockopt, {BAD, IPPROTO_IP, 22, 0, 0}}), EBADF);
}

static void test_descriptors(void **state)
{
    static const long fcntls[] = {8, 10, 15, 1024}, ioctls[] = {0x8901, 0x8902, 0x5412, 0x541c};

    for (int i = 0; i < 4; i++) {
        assert_true(refused((call){SYS_fcntl, {BAD, fcntls[i], 0}}));
        assert_true(refused((call){SYS_ioctl, {BAD, ioctls[i], 0}}));
    }
    assert_int_equal(tried(tight, (call){SYS_fcntl, {BAD, F_GETFL, 0}}), EBADF);
    assert_int_equal(tried(tight, (call){SYS_ioctl, {BAD, 0x5401, 0}}), EBADF);
    assert_true(refused((call){SYS_prctl, {62, 0, 0, 0, 0}}));
    assert_false(refused((call){SYS_prctl, {PR_GET_DUMPABLE, 0, 0, 0, 0}}));
}

/* Landlock holds signals where it can; elsewhere the filter does. */
static void test_signals(void **state)
{
    const sandbox_limits loose = {.signals_held = 0}, programs = {.exec = 1};

    assert_int_equal(tried(tight, (call){SYS_kill, {PARENT, 0}}), 0);
    assert_int_equal(tried(loose, (call){SYS_kill, {PARENT, 0}}), EPERM);
    assert_int_equal(tried(loose, (call){SYS_kill, {0, 0}}), EPERM);
    assert_int_equal(tried(loose, (call){SYS_kill, {NOBODY, 0}}), EPERM);
    assert_int_equal(tried(loose, (call){SYS_kill, {SELF, 0}}), 0);
    assert_int_equal(tried(loose, (call){SYS_tkill, {SELF, 0}}), EPERM);
    assert_int_equal(tried(loose, (call){SYS_tgkill, {SELF, SELF, 0}}), 0);
    assert_int_equal(tried(loose, (call){424, {BAD, 0, 0, 0}}), EPERM);
    assert_int_not_equal(tried(tight, (call){424, {BAD, 0, 0, 0}}), EPERM);
    /* programs signal each other, but not the supervisor */
    assert_int_equal(tried(programs, (call){SYS_kill, {PARENT, 0}}), EPERM);
    assert_int_equal(tried(programs, (call){SYS_kill, {0, 0}}), EPERM);
    assert_int_equal(tried(programs, (call){SYS_kill, {BAD, 0}}), EPERM);
    assert_int_equal(tried(programs, (call){SYS_kill, {NOBODY, 0}}), ESRCH);
    assert_int_equal(tried(programs, (call){SYS_kill, {SELF, 0}}), 0);
    assert_int_equal(tried(programs, (call){SYS_tkill, {PARENT, 0}}), EPERM);
    assert_int_equal(tried(programs, (call){SYS_tkill, {SELF, 0}}), 0);
}

static void test_the_kernel(void **state)
{
    static const long calls[] = {
        SYS_bpf,       SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_keyctl,
        SYS_mount,     SYS_umount2,         SYS_chroot,      SYS_setuid,         SYS_setgid,
        SYS_setgroups, SYS_personality,     SYS_fsopen,      SYS_add_key,        SYS_open_tree};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        assert_true(refused((call){calls[i], {BAD, BAD, BAD, BAD, BAD}}));
    assert_int_equal(tried(tight, (call){SYS_getpid, {0}}), 0);
    assert_int_equal(tried(tight, (call){SYS_close, {BAD}}), EBADF);
}

static int group_begin(void **state)
{
    return sandbox_has_filter() ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_threads_and_processes),
        cmocka_unit_test(test_other_processes),
        cmocka_unit_test(test_priorities),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_options_of_sockets),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_the_kernel),
    };

    return cmocka_run_group_tests(tests, group_begin, NULL);
}
