# SPDX-License-Identifier: Apache-2.0
"""Ports for the servers of tests: free, not handed out to another test that runs now, and none that the kernel gives to
the outgoing connections of others."""
import collections
import fcntl
import os
import random
import socket

import pytest


def resolves(name):
    try:
        return bool(socket.getaddrinfo(name, 1))
    except OSError:
        return False


# A minimal root has no /etc/hosts.
named_localhost = pytest.mark.skipif(not resolves("localhost"), reason="localhost has no address here")

FIRST, LAST = 12_000, 31_999  # below the kernel's range for outgoing connections, above what services and browsers forbid
KEPT = 200  # the newest ports of this process stay its own, until its servers listen there


class Ports:
    """One byte of a file stands for each port; a lock on the byte, which ends with the process, for its owner."""

    def __init__(self):
        self.fd = os.open(f"/tmp/brigade-test-ports-{os.getuid()}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.process = os.getpid()
        self.mine = collections.deque()

    def take(self):
        while True:
            port = random.randint(FIRST, LAST)
            if port not in self.mine and self.lock(port):
                break
        self.mine.append(port)
        if len(self.mine) > KEPT:
            fcntl.lockf(self.fd, fcntl.LOCK_UN, 1, self.mine.popleft())
        return port

    def lock(self, port):
        try:
            fcntl.lockf(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        except OSError:
            return False
        if is_free(port):
            return True
        fcntl.lockf(self.fd, fcntl.LOCK_UN, 1, port)
        return False


def is_free(port):
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


_ports = None


def free_port():
    """A port of 127.0.0.1 on which nobody listens, and that no other test gets meanwhile."""
    global _ports
    if _ports is None or _ports.process != os.getpid():
        _ports = Ports()
    return _ports.take()


def listeners(port):
    """Inodes of the sockets that listen on a port, whoever has them."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if os.path.exists(table):
            with open(table, encoding="ascii") as f:
                rows = [line.split() for line in f][1:]
            found |= {row[9] for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port}
    return found


def connected_to(port):
    """How many sockets still hold a connection to a port of this machine: open, or ended by the other side alone."""
    with open("/proc/net/tcp", encoding="ascii") as f:
        rows = [line.split() for line in f][1:]
    return sum(row[3] in ("01", "08") and int(row[2].rpartition(":")[2], 16) == port for row in rows)


def sockets_of(pid):
    """Inodes; none if the process is another user's, or gone."""
    found = set()
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                found.add(os.readlink(f"/proc/{pid}/fd/{fd}").removeprefix("socket:[").rstrip("]"))
            except OSError:
                pass  # closed meanwhile
    except OSError:
        pass
    return found


def session_of(pid):
    try:
        return os.getsid(pid)
    except OSError:
        return None


def is_heard_by(port, pid):
    """A process, or one of the session that it leads, listens on the port; yes, too, if that cannot be seen."""
    heard, own = listeners(port), sockets_of(pid)
    if not heard & own:  # it may have been started by another program
        own |= set().union(*(sockets_of(p) for p in os.listdir("/proc") if p.isdigit() and session_of(int(p)) == pid))
    return not heard or not own or bool(heard & own)
