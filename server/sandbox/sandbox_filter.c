/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of system calls lists refused calls, not allowed ones: any module may be loaded, and
 * the calls of a language's run-time system are not known here. It refuses calls that no web server
 * needs and attacks begin with, and calls that act on other processes; files are Landlock's.
 */
#include "sandbox.h"
#include "brigade/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define FILTER_ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define FILTER_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef FILTER_ARCH

/* Refused with EPERM, whatever the arguments. */
static const int filter_refused[] = {
    /* other processes */
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_pidfd_getfd,
    440 /* process_madvise */,
    448 /* process_mrelease */,
    /* file systems and namespaces */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_quotactl,
    SYS_swapon,
    SYS_swapoff,
    SYS_fanotify_init,
    442 /* mount_setattr */,
    443 /* quotactl_fd */,
    467 /* open_tree_attr */,
    /* the kernel */
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_syslog,
    SYS_acct,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_personality,
    SYS_lookup_dcookie,
    /* users */
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
#ifdef __x86_64__
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_uselib,
#endif
};

#define FILTER_REFUSED (sizeof filter_refused / sizeof *filter_refused)
#define FILTER_MOST (2 * FILTER_REFUSED + 512)

/* For itself alone, by 0 or its number: the first argument says for which process. */
static const int filter_for_itself[] = {
    SYS_prlimit64,         SYS_sched_setparam, SYS_sched_setscheduler, SYS_sched_setattr,
    SYS_sched_setaffinity, SYS_migrate_pages,  SYS_move_pages,         SYS_get_robust_list,
};

/* Of the kernels without scopes for them. */
static const int filter_signals[] = {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo,
                                     SYS_rt_tgsigqueueinfo};

/* A call is refused if both arguments have these values. */
typedef struct filter_values {
    int call, arg[2];
    unsigned value[2];
} filter_values;

#define FILTER_IF(call, arg, value) \
    {                               \
        call, {arg, arg},           \
        {                           \
            value, value            \
        }                           \
    }
#define FILTER_OPTION(level, option) \
    {                                \
        SYS_setsockopt, {1, 2},      \
        {                            \
            level, option            \
        }                            \
    }

static const filter_values filter_refused_values[] = {
    FILTER_IF(SYS_fcntl, 1, 8 /* F_SETOWN: signals, as the kernel sends them */),
    FILTER_IF(SYS_fcntl, 1, 10 /* F_SETSIG */),
    FILTER_IF(SYS_fcntl, 1, 15 /* F_SETOWN_EX */),
    FILTER_IF(SYS_fcntl, 1, 1024 /* F_SETLEASE: other openers of the file would wait */),
    FILTER_IF(SYS_ioctl, 1, 0x8901 /* FIOSETOWN */),
    FILTER_IF(SYS_ioctl, 1, 0x8902 /* SIOCSPGRP */),
    FILTER_IF(SYS_ioctl, 1, 0x5412 /* TIOCSTI: text put into a terminal's input runs there */),
    FILTER_IF(SYS_ioctl, 1, 0x541c /* TIOCLINUX */),
    FILTER_IF(SYS_prctl, 0, 62 /* PR_SCHED_CORE */),
};

/* A listening socket would keep them for the processes to come, and drop data of clients. */
static const filter_values filter_refused_options[] = {
    FILTER_OPTION(SOL_SOCKET, SO_ATTACH_FILTER),
    FILTER_OPTION(SOL_SOCKET, SO_LOCK_FILTER),
    FILTER_OPTION(SOL_SOCKET, SO_ATTACH_BPF),
    FILTER_OPTION(SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF),
    FILTER_OPTION(SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF),
    FILTER_OPTION(SOL_SOCKET, SO_BINDTODEVICE),
    FILTER_OPTION(SOL_SOCKET, 62 /* SO_BINDTOIFINDEX */),
    FILTER_OPTION(IPPROTO_IP, 21 /* IP_MINTTL */),
    FILTER_OPTION(IPPROTO_IPV6, 73 /* IPV6_MINHOPCOUNT */),
};

typedef struct filter {
    struct sock_filter op[FILTER_MOST];
    unsigned short n;
} filter;

#define FILTER_DATA(field) ((unsigned)offsetof(struct seccomp_data, field))
/* the lower half: both processors are little-endian */
#define FILTER_ARG(i) (FILTER_DATA(args) + (unsigned)(i)*8)
#define FILTER_FAIL(error) (SECCOMP_RET_ERRNO | (error))
/* CLONE_NEW*, as far as clone() takes them, and CLONE_PARENT: a child of the supervisor. */
#define FILTER_CLONE_REFUSED 0x7e028000u

static void filter_op(filter *f, int code, unsigned k, int yes, int no)
{
    BRG_ASSERT(f->n < FILTER_MOST);
    f->op[f->n++] = (struct sock_filter){
        .code = (unsigned short)code, .jt = (unsigned char)yes, .jf = (unsigned char)no, .k = k};
}

static void filter_load(filter *f, unsigned what)
{
    filter_op(f, BPF_LD | BPF_W | BPF_ABS, what, 0, 0);
}

static void filter_return(filter *f, unsigned verdict)
{
    filter_op(f, BPF_RET | BPF_K, verdict, 0, 0);
}

static void filter_equal(filter *f, unsigned value, int yes, int no)
{
    filter_op(f, BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
}

/* The call's number is loaded. */
static void filter_fail(filter *f, int call, int error)
{
    filter_equal(f, (unsigned)call, 0, 1);
    filter_return(f, FILTER_FAIL((unsigned)error));
}

static void filter_arch(filter *f)
{
    filter_load(f, FILTER_DATA(arch));
    filter_equal(f, FILTER_ARCH, 1, 0);
    filter_return(f, SECCOMP_RET_KILL_PROCESS);
    filter_load(f, FILTER_DATA(nr));
#ifdef __x86_64__
    filter_op(f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0,
              1); /* x32: the same calls by other numbers */
    filter_return(f, SECCOMP_RET_KILL_PROCESS);
#endif
}

/* Threads, and processes in the same namespaces. The arguments of clone3 cannot be seen; after
 * ENOSYS the C library takes clone. */
static void filter_clone(filter *f)
{
    filter_fail(f, SYS_clone3, ENOSYS);
    filter_equal(f, SYS_clone, 0, 4);
    filter_load(f, FILTER_ARG(0));
    filter_op(f, BPF_JMP | BPF_JSET | BPF_K, FILTER_CLONE_REFUSED, 0, 1);
    filter_return(f, FILTER_FAIL(EPERM));
    filter_return(f, SECCOMP_RET_ALLOW);
}

/* Jump to places of a block that begins at @a base. */
static void filter_jump(filter *f, int base, unsigned value, int yes, int no)
{
    int here = f->n - base + 1;

    BRG_ASSERT(yes >= here && no >= here);
    filter_equal(f, value, yes - here, no - here);
}

/* TCP and UDP over IP, local sockets, and the netlink of routes, which the resolver reads. */
static void filter_socket(filter *f)
{
    enum { PROTOCOL = 6, IP = 8, STREAM = 12, DATAGRAM = 15, FAIL = 18, PASS, END };
    const int base = f->n;

    filter_jump(f, base, SYS_socket, 1, END);
    filter_load(f, FILTER_ARG(0));
    filter_jump(f, base, AF_UNIX, PASS, 3);
    filter_jump(f, base, AF_INET, IP, 4);
    filter_jump(f, base, AF_INET6, IP, 5);
    filter_jump(f, base, AF_NETLINK, PROTOCOL, FAIL);
    filter_load(f, FILTER_ARG(2));
    filter_jump(f, base, 0 /* NETLINK_ROUTE */, PASS, FAIL);
    filter_load(f, FILTER_ARG(1));
    filter_op(f, BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
    filter_jump(f, base, SOCK_STREAM, STREAM, 11);
    filter_jump(f, base, SOCK_DGRAM, DATAGRAM, FAIL);
    filter_load(f, FILTER_ARG(2));
    filter_jump(f, base, 0, PASS, 14);
    filter_jump(f, base, IPPROTO_TCP, PASS, FAIL);
    filter_load(f, FILTER_ARG(2));
    filter_jump(f, base, 0, PASS, 17);
    filter_jump(f, base, IPPROTO_UDP, PASS, FAIL);
    filter_return(f, FILTER_FAIL(EPERM));
    filter_return(f, SECCOMP_RET_ALLOW);
    BRG_ASSERT(f->n - base == END);
}

/* Pass argument @a arg if it is one of two values. */
static void filter_one_of(filter *f, int call, int arg, pid_t a, pid_t b)
{
    filter_equal(f, (unsigned)call, 0, 5);
    filter_load(f, FILTER_ARG(arg));
    filter_equal(f, (unsigned)a, 2, 0);
    filter_equal(f, (unsigned)b, 1, 0);
    filter_return(f, FILTER_FAIL(EPERM));
    filter_return(f, SECCOMP_RET_ALLOW);
}

/* setpriority and ioprio_set: of processes, not of groups or users, and of this one. */
static void filter_priority(filter *f, int call, unsigned of_process, pid_t self)
{
    filter_equal(f, (unsigned)call, 0, 7);
    filter_load(f, FILTER_ARG(0));
    filter_equal(f, of_process, 0, 3);
    filter_load(f, FILTER_ARG(1));
    filter_equal(f, 0, 2, 0);
    filter_equal(f, (unsigned)self, 1, 0);
    filter_return(f, FILTER_FAIL(EPERM));
    filter_return(f, SECCOMP_RET_ALLOW);
}

/* The call's number is loaded again afterwards. */
static void filter_refuse_values(filter *f, const filter_values *v)
{
    filter_equal(f, (unsigned)v->call, 0, 6);
    filter_load(f, FILTER_ARG(v->arg[0]));
    filter_equal(f, v->value[0], 0, 3);
    filter_load(f, FILTER_ARG(v->arg[1]));
    filter_equal(f, v->value[1], 0, 1);
    filter_return(f, FILTER_FAIL(EPERM));
    filter_load(f, FILTER_DATA(nr));
}

/* Where Landlock does not hold them. Programs signal each other: then the supervisor and its group are all that is kept
 * from them. */
static void filter_no_signals(filter *f, int exec, pid_t self)
{
    const pid_t kept[] = {getppid(), 0, -1, -getpgrp()};

    filter_fail(f, 424 /* pidfd_send_signal */, EPERM);
    for (size_t i = 0; i < sizeof filter_signals / sizeof *filter_signals; i++)
        for (size_t k = 0; exec && k < sizeof kept / sizeof *kept; k++)
            filter_refuse_values(
                f, &(filter_values)FILTER_IF(filter_signals[i], 0, (unsigned)kept[k]));
    if (exec) {
        filter_refuse_values(f, &(filter_values)FILTER_IF(SYS_tkill, 0, (unsigned)kept[0]));
        return;
    }
    for (size_t i = 0; i < sizeof filter_signals / sizeof *filter_signals; i++)
        filter_one_of(f, filter_signals[i], 0, self, self);
    filter_fail(f, SYS_tkill, EPERM);
}

static void filter_make(filter *f, const sandbox_limits *limits)
{
    const pid_t self = getpid();

    filter_arch(f);
    for (size_t i = 0; i < FILTER_REFUSED; i++)
        filter_fail(f, filter_refused[i], EPERM);
    if (!limits->exec) {
        filter_fail(f, SYS_execve, EPERM);
        filter_fail(f, SYS_execveat, EPERM);
    }
    if (!limits->listens)
        filter_fail(f, SYS_listen, EPERM);
    for (size_t i = 0; i < sizeof filter_refused_values / sizeof *filter_refused_values; i++)
        filter_refuse_values(f, filter_refused_values + i);
    for (size_t i = 0; i < sizeof filter_refused_options / sizeof *filter_refused_options; i++)
        if (!limits->own_sockets)
            filter_refuse_values(f, filter_refused_options + i);
    for (size_t i = 0; i < sizeof filter_for_itself / sizeof *filter_for_itself; i++)
        filter_one_of(f, filter_for_itself[i], 0, 0, self);
    filter_priority(f, SYS_setpriority, 0 /* PRIO_PROCESS */, self);
    filter_priority(f, SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */, self);
    if (!limits->signals_held)
        filter_no_signals(f, limits->exec, self);
    filter_clone(f);
    filter_socket(f);
    filter_return(f, SECCOMP_RET_ALLOW);
}

int sandbox_has_filter(void)
{
    return 1;
}

int sandbox_filter(const sandbox_limits *limits)
{
    filter f = {.n = 0};
    struct sock_fprog program;

    filter_make(&f, limits);
    BRG_ASSERT(f.n > FILTER_REFUSED);
    program = (struct sock_fprog){.len = f.n, .filter = f.op};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

#else

int sandbox_has_filter(void)
{
    return 0;
}

int sandbox_filter(const sandbox_limits *limits)
{
    return 0;
}

#endif
