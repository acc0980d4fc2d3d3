# SPDX-License-Identifier: Apache-2.0
"""Which calls fail how: what the manual pages list and what can happen to a server, by what the descriptor is."""
from errno import (EACCES, EADDRINUSE, EADDRNOTAVAIL, EAGAIN, EBADF, EBUSY, ECONNABORTED, ECONNREFUSED, ECONNRESET, EDQUOT, EFAULT, EINTR,
                   EINVAL, EIO, ELOOP, EMFILE, EMSGSIZE, ENAMETOOLONG, ENETUNREACH, ENFILE, ENOBUFS, ENOENT, ENOMEM, ENOSPC, ENOSYS, ENOTCONN,
                   ENOTDIR, EOVERFLOW, EPERM, EPIPE, EPROTO, EPROTOTYPE, EROFS, ESPIPE, ESTALE, ESRCH, ETIMEDOUT, EXDEV)

SHORT = ["short-1", "short-half"]
LOOKUP = [EACCES, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, EIO, ESTALE]
NO_ROOM = [ENOSPC, EDQUOT, EIO]
SEND = [EAGAIN, EINTR, EPIPE, ECONNRESET, ENOBUFS, ENOMEM, ETIMEDOUT]
RECEIVE = [EAGAIN, EINTR, ECONNRESET, ENOMEM, ENOTCONN, ETIMEDOUT]
NEW_FD = [EMFILE, ENFILE, ENOMEM]

FAULTS = {
    ("open", "none"): [*LOOKUP, EMFILE, ENFILE, EINTR, EPERM, EOVERFLOW],
    ("fopen", "none"): [EACCES, EMFILE, ENFILE, ENOENT, ENOMEM, EIO],
    ("opendir", "none"): [EACCES, EMFILE, ENFILE, ENOENT, ENOMEM, EIO],
    ("readdir", "none"): [EIO, ENOENT],
    ("fstat", "*"): [EIO, ENOMEM, EOVERFLOW, ESTALE],
    ("stat", "none"): [*LOOKUP, EOVERFLOW],
    ("access", "none"): LOOKUP,
    ("readlink", "none"): [EACCES, EINVAL, EIO, ELOOP, ENOENT, ENOMEM],
    ("statfs", "*"): [EACCES, EINTR, EIO, ENOMEM, ENOSYS],
    ("read", "file"): [EIO, EINTR, ESTALE, *SHORT],
    ("read", "log"): [EIO, EINTR, *SHORT],
    # read() of a socket is that of modules (mod_cgid) through APR, which asks poll() when there is nothing and then reads once more:
    # what poll() has promised is there.
    ("read", "socket"): [*(error for error in RECEIVE if error != EAGAIN), *SHORT],
    ("read", "pipe"): [EINTR, EIO, *SHORT],
    ("read", "other"): [EAGAIN, EINTR],
    ("readv", "*"): [EIO, EINTR, *SHORT],
    ("pread", "file"): [EIO, EINTR, ESTALE, *SHORT],
    ("preadv", "file"): [EIO, EINTR, EAGAIN, ENOSYS, *SHORT],
    ("write", "file"): [*NO_ROOM, EINTR, *SHORT],
    ("write", "log"): [*NO_ROOM, EINTR, *SHORT],
    ("write", "pipe"): [EAGAIN, EINTR, EPIPE, EIO, *SHORT],
    ("write", "socket"): [*SEND, *SHORT],
    ("write", "other"): [EAGAIN, EINTR],
    ("writev", "file"): [*NO_ROOM, EINTR, *SHORT],
    ("writev", "log"): [*NO_ROOM, EINTR, *SHORT],
    ("writev", "pipe"): [EAGAIN, EINTR, EPIPE, EIO, *SHORT],
    ("writev", "socket"): [*SEND, *SHORT],
    ("pwrite", "file"): [*NO_ROOM, EINTR, *SHORT],
    ("send", "socket"): [*SEND, *SHORT],
    ("sendmsg", "socket"): [*SEND, EFAULT, *SHORT],
    ("sendfile", "socket"): [*SEND, EINVAL, ENOSYS, EIO, EOVERFLOW, *SHORT],
    ("recv", "socket"): [*RECEIVE, *SHORT],
    ("sendmmsg", "socket"): [EAGAIN, EINTR, ENOBUFS, ENOMEM, EPERM, EINVAL, EIO, EMSGSIZE, ENETUNREACH, ECONNREFUSED, *SHORT],
    ("recvmmsg", "socket"): [EAGAIN, EINTR, ENOBUFS, ENOMEM, ECONNREFUSED, *SHORT],
    ("epoll_create", "none"): NEW_FD,
    ("epoll_ctl", "*"): [ENOMEM, ENOSPC, EPERM],
    ("epoll_wait", "none"): [EINTR, EBADF],
    ("poll", "none"): [EINTR, ENOMEM],
    ("accept", "socket"): [EAGAIN, EINTR, ECONNABORTED, EMFILE, ENFILE, ENOBUFS, ENOMEM, EPERM, EPROTO],
    ("inotify_init", "none"): NEW_FD,
    ("io_uring", "none"): [EPERM, ENOSYS, ENOMEM, EAGAIN, EINTR],
    ("inotify_add_watch", "none"): [EACCES, ENOENT, ENOMEM, ENOSPC, ENOTDIR],
    ("inotify_add_watch", "other"): [EACCES, ENOENT, ENOMEM, ENOSPC, ENOTDIR],
    ("inotify_rm_watch", "*"): [EINVAL],
    ("fork", "none"): [EAGAIN, ENOMEM, ENOSYS],
    ("waitpid", "none"): [EINTR],
    ("mmap", "*"): [ENOMEM, EAGAIN, ENFILE, EPERM],
    ("munmap", "none"): [ENOMEM],
    ("madvise", "none"): [EAGAIN, ENOMEM, EIO],
    ("mremap", "none"): [ENOMEM],
    ("pipe", "none"): [EMFILE, ENFILE],
    ("socketpair", "none"): NEW_FD,
    ("eventfd", "none"): NEW_FD,
    ("signalfd", "none"): NEW_FD,
    ("memfd_create", "none"): NEW_FD,
    ("getrandom", "none"): [EAGAIN, EINTR, ENOSYS, *SHORT],
    ("socket", "none"): [*NEW_FD, ENOBUFS, EACCES],
    ("bind", "socket"): [EACCES, EADDRINUSE, ENOMEM],
    ("listen", "socket"): [EADDRINUSE],
    ("setsockopt", "socket"): [EINVAL, ENOMEM, ENOBUFS],
    ("getsockname", "socket"): [ENOBUFS],
    ("getpeername", "socket"): [ENOTCONN, ENOBUFS],
    ("shutdown", "socket"): [ENOTCONN],
    ("close", "*"): [EIO, EINTR, ENOSPC],
    ("fcntl", "*"): [EPERM],
    ("dup", "*"): [EBUSY, EINTR, EMFILE],
    ("rename", "none"): [EACCES, ENOSPC, EIO, EROFS, EXDEV],
    ("unlink", "none"): [EACCES, EIO, EROFS, ENOENT],
    ("pthread_create", "none"): [EAGAIN, EPERM],
    ("kill", "none"): [EPERM, ESRCH],
    ("setuid", "none"): [EAGAIN, EPERM],
    ("setgid", "none"): [EPERM],
    ("initgroups", "none"): [ENOMEM, EPERM],
    ("chdir", "none"): [EACCES, ENOENT, EIO],
    ("setrlimit", "none"): [EPERM],
    ("prctl", "none"): [EINVAL],
    ("chown", "none"): [EPERM, EIO],
    ("lseek", "*"): [ESPIPE],
    ("ftruncate", "*"): [EIO, EINTR],
    ("execve", "none"): [EACCES, ENOENT, ENOMEM],
    ("execve", "*"): [EACCES, ENOENT, ENOMEM],
    ("connect", "socket"): [ECONNREFUSED, EACCES, EADDRNOTAVAIL, ENOENT, ENETUNREACH, EPROTOTYPE, ETIMEDOUT],
    ("getsockopt", "socket"): [ENOBUFS, ENOMEM],
    ("getaddrinfo", "none"): [ENOMEM, EMFILE],
}
# A call of which nobody can say how it ends; what goes on for ever may not, either.
NOT_FOREVER = {EINTR, EAGAIN, *SHORT}  # EAGAIN of fork and the like is tried once only, too


# Lasting faults with which no process can go on: it says so and ends, and the supervisor starts another.
ENDS_PROCESS = {
    ("epoll_wait", "none", EBADF): "a poll set that is lost does not come back, and with it the sockets of all connections",
}


def faults_for(call, kind):
    """errnos and shortnesses; everything may take its time."""
    found = FAULTS.get((call, kind)) or (FAULTS.get((call, "*")) if (call, "*") in FAULTS else None)
    return [*found, "delay"] if found else []


# Those that a signal interrupts, or that have nothing to do yet; elsewhere EINTR and EAGAIN are errors like others.
WAITING = {"read", "readv", "pread", "preadv", "write", "writev", "pwrite", "send", "sendmsg", "sendfile", "recv",
           "sendmmsg", "recvmmsg", "epoll_wait", "poll", "accept", "waitpid", "getrandom"}


def is_benign(call, fault):
    """A server is expected to go on as if nothing had happened."""
    return fault == "delay" or fault in SHORT or (fault in (EINTR, EAGAIN) and call in WAITING)
