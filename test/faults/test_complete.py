# SPDX-License-Identifier: Apache-2.0
"""No system call of the server passes the library by: what strace sees is what the library counted."""
import collections
import os
import re
import shutil
import signal
import subprocess

import pytest

from brigade import wait_until
from fault_control import LIBRARY, SERVER, Faults
from fault_site import SHAPES, Site, exchange

pytestmark = [pytest.mark.only("brigade"),
              pytest.mark.skipif(not os.path.exists(LIBRARY), reason=f"{LIBRARY} is not built"),
              pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")]

# System call: the name under which the library counts it. fstat (newfstatat without a name) and fcntl the library calls
# itself, to see what a descriptor is; opendir, threads and memory are libc's own affair, and so is what it opens and closes for them.
NAMES = {"openat": "open", "openat2": "open", "open": "open", "read": "read", "readv": "readv", "pread64": "pread",
         "preadv": "preadv", "preadv2": "preadv", "write": "write", "writev": "writev", "sendto": "send",
         "sendmsg": "sendmsg", "sendfile": "sendfile", "recvfrom": "recv", "recvmsg": "recv", "sendmmsg": "sendmmsg", "recvmmsg": "recvmmsg", "epoll_ctl": "epoll_ctl",
         "epoll_wait": "epoll_wait", "epoll_pwait": "epoll_wait", "accept4": "accept", "accept": "accept",
         "inotify_add_watch": "inotify_add_watch", "inotify_rm_watch": "inotify_rm_watch", "poll": "poll",
         "close": "close", "shutdown": "shutdown", "setsockopt": "setsockopt", "getpeername": "getpeername",
         "getsockname": "getsockname", "pipe2": "pipe", "stat": "stat", "lstat": "stat", "statx": "stat",
         "newfstatat": "stat", "readlink": "readlink", "io_uring_setup": "io_uring", "io_uring_enter": "io_uring"}
DIRECTORY = "O_DIRECTORY"  # an open and a close each that opendir() makes


def traced(pid, tmp_path, work):
    """Counts of system calls of a process and its threads, while work() runs."""
    log = str(tmp_path / "strace")
    tracer = subprocess.Popen(["strace", "-f", "-p", str(pid), "-o", log, "-e", f"trace={','.join(NAMES)}"],
                              stderr=subprocess.PIPE)
    try:
        attached = tracer.stderr.readline()
        if b"attached" not in attached:
            pytest.skip(f"strace cannot attach: {attached.decode()}")
        result = work()
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait(20)
        tracer.stderr.close()
    counts = collections.Counter()
    with open(log, encoding="utf-8", errors="replace") as f:
        for line in f:
            found = re.match(r"(\d+) +(\w+)\(", line)
            if found and not re.search(r'newfstatat\(\d+, ""', line):
                counts[NAMES[found[2]]] += 1
                counts["open"] -= DIRECTORY in line
                counts["close"] -= DIRECTORY in line
    return counts, result


@pytest.mark.parametrize("name", ["remembered", "cold", "full", "sendfile-cold", "listing", "page", "upload"])
def test_all_calls_are_counted(serve, tmp_path, name):
    shape = SHAPES[name]
    faults = Faults(str(tmp_path / "faults"))
    site = Site(serve, faults)
    site.server.start()
    pid = wait_until(site.processes, "a server process")[0]
    for _ in range(3):
        exchange(site, shape)

    def work():
        before = faults.counts(SERVER)
        for _ in range(3):
            site.touch(*shape.touched)
            assert exchange(site, shape).end == "whole"
        wait_until(lambda: len(os.listdir(f"/proc/{pid}/fd")), "quiet")
        return faults.counted(SERVER, before)
    seen, counted = traced(pid, tmp_path, work)
    told = collections.Counter()
    for (call, _), n in counted.items():
        told[call] += n
    for call in sorted(set(NAMES.values())):
        # a thread may be between two calls when the tracing begins or ends
        assert abs(seen[call] - told[call]) <= 2, f"{call}: strace {seen[call]}, the library {told[call]}: {seen} {told}"
