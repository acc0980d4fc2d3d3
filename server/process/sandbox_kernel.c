/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel is told. The C library has no calls for Landlock, and its headers may be older than the kernel.
 *
 * The filter names what is refused, not what is allowed: any module may be loaded, and the calls of a language's run-time system are not
 * known here. It refuses what no web server needs and attacks begin with; files are Landlock's.
 */
#include "sandbox.h"
#include "brigade/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Landlock ---- */

enum { LL_CREATE = 444, LL_ADD = 445, LL_RESTRICT = 446 }; /* the same on all processors */

#define LL_VERSION 1u  /* flag of LL_CREATE: tell the version */
#define LL_PATH 1      /* type of rule */
#define LL_PORT 2      /* type of rule */
#define LL_BIND_TCP 1u /* of ports */
#define LL_SIGNAL 2u   /* scope: no signals to processes outside */

#define FS_EXECUTE (1ull << 0)
#define FS_WRITE_FILE (1ull << 1)
#define FS_READ_FILE (1ull << 2)
#define FS_READ_DIR (1ull << 3)
#define FS_REFER (1ull << 13)
#define FS_TRUNCATE (1ull << 14)
#define FS_IOCTL_DEV (1ull << 15)
#define FS_MAKE_DEVICES (1ull << 6 | 1ull << 11)
#define FS_OF_FILES (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)

typedef struct ll_ruleset {
    uint64_t fs, net, scoped;
} ll_ruleset;

typedef struct __attribute__((packed)) ll_path {
    uint64_t access;
    int32_t fd;
} ll_path;

typedef struct ll_port {
    uint64_t access, port;
} ll_port;

int sandbox_landlock(void)
{
    long version = syscall(LL_CREATE, NULL, 0, LL_VERSION);

    return version > 0 ? (int)version : 0;
}

/* All rights over files that this version knows. */
static uint64_t rules_known(int version)
{
    uint64_t fs = FS_REFER - 1;

    BRG_ASSERT(version > 0);
    if (version >= 2)
        fs |= FS_REFER;
    if (version >= 3)
        fs |= FS_TRUNCATE;
    if (version >= 5)
        fs |= FS_IOCTL_DEV;
    return fs;
}

static uint64_t rules_access(sandbox_access access, uint64_t known)
{
    uint64_t read = FS_READ_FILE | FS_READ_DIR;

    switch (access) {
    case SANDBOX_WRITE:
        return known & ~(FS_EXECUTE | FS_IOCTL_DEV | FS_MAKE_DEVICES);
    case SANDBOX_EXEC:
        return read | FS_EXECUTE;
    default:
        return read;
    }
}

/* @return 0; a path that is not there is no failure */
static int rules_add(int rules, const sandbox_path *path, uint64_t known)
{
    ll_path rule = {.access = rules_access(path->access, known)};
    struct stat st;
    int rc = 0;

    BRG_ASSERT(*path->path == '/');
    rule.fd = open(path->path, O_PATH | O_CLOEXEC);
    if (rule.fd < 0)
        return 0;
    if (!fstat(rule.fd, &st)) {
        if (!S_ISDIR(st.st_mode))
            rule.access &= FS_OF_FILES;
        rc = (int)syscall(LL_ADD, rules, LL_PATH, &rule, 0);
    }
    close(rule.fd);
    return rc;
}

/* No port can be opened but one that the system chooses, as ProxySourceAddress and FTP need. */
static int rules_ports(int rules, int version)
{
    ll_port any = {.access = LL_BIND_TCP, .port = 0};

    return version < 4 ? 0 : (int)syscall(LL_ADD, rules, LL_PORT, &any, 0);
}

int sandbox_rules(const sandbox_conf *conf)
{
    int version = sandbox_landlock(), rules, rc, error;
    ll_ruleset set = {0};
    size_t size = version >= 6   ? sizeof set
                  : version >= 4 ? 2 * sizeof(uint64_t)
                                 : sizeof(uint64_t);

    if (!version) {
        errno = ENOSYS;
        return -1;
    }
    set.fs = rules_known(version);
    set.net = version >= 4 ? LL_BIND_TCP : 0;
    set.scoped = version >= 6 ? LL_SIGNAL : 0;
    if ((rules = (int)syscall(LL_CREATE, &set, size, 0)) < 0)
        return -1;
    rc = rules_ports(rules, version);
    for (int i = 0; !rc && i < conf->paths->nelts; i++)
        rc = rules_add(rules, &APR_ARRAY_IDX(conf->paths, i, sandbox_path), set.fs);
    if (!rc)
        return rules;
    error = errno;
    close(rules);
    errno = error;
    return -1;
}

/* ---- capabilities ---- */

void sandbox_drop_bounding(void)
{
    /* Refused to who has not CAP_SETPCAP: then a set-uid program is stopped by PR_SET_NO_NEW_PRIVS alone. */
    for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
        (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

static int lock_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};

    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (!syscall(SYS_capset, &header, none))
        return 0;
    /* A service manager's filter may refuse capset; who gave up being root has none left. */
    if (syscall(SYS_capget, &header, none))
        return -1;
    for (int i = 0; i < 2; i++)
        if (none[i].effective | none[i].permitted)
            return -1;
    return 0;
}

/* ---- the filter ---- */

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
#define FILTER_MOST (2 * FILTER_REFUSED + 64)

typedef struct filter {
    struct sock_filter op[FILTER_MOST];
    unsigned short n;
} filter;

#define FILTER_DATA(field) ((unsigned)offsetof(struct seccomp_data, field))
#define FILTER_ARG(i) \
    (FILTER_DATA(args) + (unsigned)(i)*8) /* the lower half: both processors are little-endian */
#define FILTER_FAIL(error) (SECCOMP_RET_ERRNO | (error))
/* CLONE_NEW*, as far as clone() takes them. */
#define FILTER_NAMESPACES 0x7e020000u

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

/* Threads, and processes in the same namespaces. What clone3 is asked cannot be seen; who gets ENOSYS takes clone. */
static void filter_clone(filter *f)
{
    filter_fail(f, SYS_clone3, ENOSYS);
    filter_equal(f, SYS_clone, 0, 4);
    filter_load(f, FILTER_ARG(0));
    filter_op(f, BPF_JMP | BPF_JSET | BPF_K, FILTER_NAMESPACES, 0, 1);
    filter_return(f, FILTER_FAIL(EPERM));
    filter_return(f, SECCOMP_RET_ALLOW);
}

/* Streams and datagrams of IP, local sockets, and the netlink of routes, which the resolver reads. */
static void filter_socket(filter *f)
{
    filter_equal(f, SYS_socket, 0, 13);
    filter_load(f, FILTER_ARG(0));
    filter_equal(f, AF_UNIX, 10, 0);
    filter_equal(f, AF_INET, 4, 0);
    filter_equal(f, AF_INET6, 3, 0);
    filter_equal(f, AF_NETLINK, 0, 6);
    filter_load(f, FILTER_ARG(2));
    filter_equal(f, 0, 5, 4); /* NETLINK_ROUTE */
    filter_load(f, FILTER_ARG(1));
    filter_op(f, BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
    filter_equal(f, SOCK_STREAM, 2, 0);
    filter_equal(f, SOCK_DGRAM, 1, 0);
    filter_return(f, FILTER_FAIL(EPERM));
    filter_return(f, SECCOMP_RET_ALLOW);
}

/* Characters that are put into a terminal's input run there. */
static void filter_ioctl(filter *f)
{
    filter_equal(f, SYS_ioctl, 0, 4);
    filter_load(f, FILTER_ARG(1));
    filter_equal(f, 0x5412 /* TIOCSTI */, 0, 1);
    filter_return(f, FILTER_FAIL(EPERM));
    filter_return(f, SECCOMP_RET_ALLOW);
}

static void filter_make(filter *f, int exec)
{
    filter_arch(f);
    for (size_t i = 0; i < FILTER_REFUSED; i++)
        filter_fail(f, filter_refused[i], EPERM);
    if (!exec) {
        filter_fail(f, SYS_execve, EPERM);
        filter_fail(f, SYS_execveat, EPERM);
    }
    filter_clone(f);
    filter_socket(f);
    filter_ioctl(f);
    filter_return(f, SECCOMP_RET_ALLOW);
}

int sandbox_has_filter(void)
{
    return 1;
}

static int lock_calls(int exec)
{
    filter f = {.n = 0};
    struct sock_fprog program;

    filter_make(&f, exec);
    BRG_ASSERT(f.n > FILTER_REFUSED);
    program = (struct sock_fprog){.len = f.n, .filter = f.op};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

#else

int sandbox_has_filter(void)
{
    return 0;
}

static int lock_calls(int exec)
{
    return 0;
}

#endif

/* ---- for good ---- */

const char *sandbox_lock(int fd, int exec)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return "PR_SET_NO_NEW_PRIVS";
    if (lock_capabilities())
        return "capset";
    if (fd >= 0 && syscall(LL_RESTRICT, fd, 0))
        return "landlock_restrict_self";
    if (lock_calls(exec))
        return "seccomp";
    return NULL;
}
