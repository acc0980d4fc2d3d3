/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that move bytes. A short one asks the kernel for less; one that fails moves nothing. */
#define _GNU_SOURCE
#include "faults.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define FAULT_IOV 1024

#define FAULT_BYTES(call, name, params, args, fd, len)                        \
    FAULT_NEXT(ssize_t, name, params)                                         \
    ssize_t name params;                                                      \
    ssize_t name params                                                       \
    {                                                                         \
        fault_find_##name();                                                  \
        return fault_now_len(FAULT_##call, fd, &len) ? -1 : next_##name args; \
    }

FAULT_BYTES(read, read, (int fd, void *buf, size_t len), (fd, buf, len), fd, len)
FAULT_BYTES(write, write, (int fd, const void *buf, size_t len), (fd, buf, len), fd, len)
FAULT_BYTES(pread, pread, (int fd, void *buf, size_t len, off_t at), (fd, buf, len, at), fd, len)
FAULT_BYTES(pread, pread64, (int fd, void *buf, size_t len, off_t at), (fd, buf, len, at), fd, len)
FAULT_BYTES(pwrite, pwrite, (int fd, const void *buf, size_t len, off_t at), (fd, buf, len, at), fd,
            len)
FAULT_BYTES(pwrite, pwrite64, (int fd, const void *buf, size_t len, off_t at), (fd, buf, len, at),
            fd, len)
FAULT_BYTES(send, send, (int fd, const void *buf, size_t len, int flags), (fd, buf, len, flags), fd,
            len)
FAULT_BYTES(send, sendto,
            (int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
             socklen_t to_len),
            (fd, buf, len, flags, to, to_len), fd, len)
FAULT_BYTES(recv, recv, (int fd, void *buf, size_t len, int flags), (fd, buf, len, flags), fd, len)
FAULT_BYTES(recv, recvfrom,
            (int fd, void *buf, size_t len, int flags, struct sockaddr *from, socklen_t *from_len),
            (fd, buf, len, flags, from, from_len), fd, len)
FAULT_BYTES(sendfile, sendfile, (int to, int fd, off_t *at, size_t len), (to, fd, at, len), to, len)
FAULT_BYTES(sendfile, sendfile64, (int to, int fd, off_t *at, size_t len), (to, fd, at, len), to,
            len)
FAULT_BYTES(getrandom, getrandom, (void *buf, size_t len, unsigned flags), (buf, len, flags), -1,
            len)

/* ---- vectors ---- */

static size_t fault_iov_bytes(const struct iovec *v, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += v[i].iov_len;
    return sum;
}

/* The first len bytes of a vector. @return how many pieces that is */
static int fault_iov_cut(struct iovec *to, const struct iovec *v, int n, size_t len)
{
    int i;

    for (i = 0; i < n && i < FAULT_IOV && len; i++) {
        to[i] = v[i];
        if (to[i].iov_len > len)
            to[i].iov_len = len;
        len -= to[i].iov_len;
    }
    return i;
}

#define FAULT_VECTOR(call, name, params, whole, cut)   \
    FAULT_NEXT(ssize_t, name, params)                  \
    ssize_t name params;                               \
    ssize_t name params                                \
    {                                                  \
        struct iovec part[FAULT_IOV];                  \
        size_t all = fault_iov_bytes(v, n), len = all; \
        fault_find_##name();                           \
        if (fault_now_len(FAULT_##call, fd, &len))     \
            return -1;                                 \
        if (len == all)                                \
            return next_##name whole;                  \
        n = fault_iov_cut(part, v, n, len);            \
        return next_##name cut;                        \
    }

FAULT_VECTOR(readv, readv, (int fd, const struct iovec *v, int n), (fd, v, n), (fd, part, n))
FAULT_VECTOR(writev, writev, (int fd, const struct iovec *v, int n), (fd, v, n), (fd, part, n))
FAULT_VECTOR(preadv, preadv, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at),
             (fd, part, n, at))
FAULT_VECTOR(preadv, preadv64, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at),
             (fd, part, n, at))
FAULT_VECTOR(preadv, preadv2, (int fd, const struct iovec *v, int n, off_t at, int flags),
             (fd, v, n, at, flags), (fd, part, n, at, flags))
FAULT_VECTOR(preadv, preadv64v2, (int fd, const struct iovec *v, int n, off_t at, int flags),
             (fd, v, n, at, flags), (fd, part, n, at, flags))

#define FAULT_MESSAGE(call, name, const_)                                                  \
    FAULT_NEXT(ssize_t, name, (int fd, const_ struct msghdr *m, int flags))                \
    ssize_t name(int fd, const_ struct msghdr *m, int flags);                              \
    ssize_t name(int fd, const_ struct msghdr *m, int flags)                               \
    {                                                                                      \
        struct iovec part[FAULT_IOV];                                                      \
        struct msghdr cut = *m;                                                            \
        size_t all = fault_iov_bytes(m->msg_iov, (int)m->msg_iovlen), len = all;           \
        fault_find_##name();                                                               \
        if (fault_now_len(FAULT_##call, fd, &len))                                         \
            return -1;                                                                     \
        if (len == all)                                                                    \
            return next_##name(fd, m, flags);                                              \
        cut.msg_iov = part;                                                                \
        cut.msg_iovlen = (size_t)fault_iov_cut(part, m->msg_iov, (int)m->msg_iovlen, len); \
        return next_##name(fd, &cut, flags);                                               \
    }

FAULT_MESSAGE(sendmsg, sendmsg, const)
FAULT_MESSAGE(recv, recvmsg, )

/* Short: fewer messages. */
#define FAULT_MESSAGES(name, params, args)         \
    FAULT_NEXT(int, name, params)                  \
    int name params;                               \
    int name params                                \
    {                                              \
        size_t len = n;                            \
        fault_find_##name();                       \
        if (fault_now_len(FAULT_##name, fd, &len)) \
            return -1;                             \
        n = (unsigned)len;                         \
        return next_##name args;                   \
    }

FAULT_MESSAGES(sendmmsg, (int fd, struct mmsghdr *v, unsigned n, int flags), (fd, v, n, flags))
FAULT_MESSAGES(recvmmsg,
               (int fd, struct mmsghdr *v, unsigned n, int flags, struct timespec *timeout),
               (fd, v, n, flags, timeout))
