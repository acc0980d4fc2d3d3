/* SPDX-License-Identifier: Apache-2.0 */
/* The calls to the kernel. The C library has no calls for Landlock, and its headers may be older
 * than the kernel. */
#include "sandbox.h"
#include "brigade/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Landlock ---- */

enum { LL_CREATE = 444, LL_ADD = 445, LL_RESTRICT = 446 }; /* the same on all processors */

#define LL_VERSION 1u  /* flag of LL_CREATE: tell the version */
#define LL_PATH 1      /* type of rule */
#define LL_PORT 2      /* type of rule */
#define LL_BIND_TCP 1u /* of ports */
#define LL_ABSTRACT 1u /* scope: no abstract sockets of processes outside */
#define LL_SIGNAL 2u   /* scope: no signals to processes outside */
#define LL_SCOPES 6    /* the version that has these */

#define FS_EXECUTE (1ull << 0)
#define FS_WRITE_FILE (1ull << 1)
#define FS_READ_FILE (1ull << 2)
#define FS_READ_DIR (1ull << 3)
#define FS_REFER (1ull << 13)
#define FS_TRUNCATE (1ull << 14)
#define FS_IOCTL_DEV (1ull << 15)
/* A pipe in place of a file holds up whoever opens it. */
#define FS_MAKE_DEVICES (1ull << 6 | 1ull << 10 | 1ull << 11)
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

/* No port can be opened except one that the system chooses, as ProxySourceAddress and FTP need. */
static int rules_ports(int rules, int version, int listens)
{
    ll_port any = {.access = LL_BIND_TCP, .port = 0};

    return version < 4 || listens ? 0 : (int)syscall(LL_ADD, rules, LL_PORT, &any, 0);
}

int sandbox_rules(const apr_array_header_t *paths, int listens)
{
    int version = sandbox_landlock(), rules, rc, error;
    ll_ruleset set = {0};
    size_t size = version >= LL_SCOPES ? sizeof set
                  : version >= 4       ? 2 * sizeof(uint64_t)
                                       : sizeof(uint64_t);

    if (!version) {
        errno = ENOSYS;
        return -1;
    }
    set.fs = rules_known(version);
    set.net = version >= 4 && !listens ? LL_BIND_TCP : 0;
    set.scoped = version >= LL_SCOPES ? LL_SIGNAL | LL_ABSTRACT : 0;
    if ((rules = (int)syscall(LL_CREATE, &set, size, 0)) < 0)
        return -1;
    rc = rules_ports(rules, version, listens);
    for (int i = 0; !rc && i < paths->nelts; i++)
        rc = rules_add(rules, &APR_ARRAY_IDX(paths, i, sandbox_path), set.fs);
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
    /* Refused without CAP_SETPCAP: then a set-uid program is stopped by PR_SET_NO_NEW_PRIVS alone.
     */
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
    /* A service manager's filter may refuse capset; after setuid() there are no capabilities to drop. */
    if (syscall(SYS_capget, &header, none))
        return -1;
    for (int i = 0; i < 2; i++)
        if (none[i].effective | none[i].permitted)
            return -1;
    return 0;
}

/* ---- for good ---- */

const char *sandbox_lock(int fd, sandbox_limits limits)
{
    limits.signals_held = fd >= 0 && sandbox_landlock() >= LL_SCOPES;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return "PR_SET_NO_NEW_PRIVS";
    if (lock_capabilities())
        return "capset";
    if (fd >= 0 && syscall(LL_RESTRICT, fd, 0))
        return "landlock_restrict_self";
    if (sandbox_filter(&limits))
        return "seccomp";
    return NULL;
}
