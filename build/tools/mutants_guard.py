# SPDX-License-Identifier: Apache-2.0
"""Runs a program; ends whatever it started and left behind, and nothing else.

    mutants_guard.py CPU-SECONDS PROGRAM ARGUMENT ...

A mutant may run without end, take all memory, or leave servers behind. Orphans come to this process, which reaps them. SIGTERM ends all.
"""
import contextlib
import ctypes
import os
import resource
import signal
import sys

PR_SET_CHILD_SUBREAPER = 36
MEMORY = 6 << 30


def children():
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError):
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == os.getpid():
                    found.append(int(name))
    return found


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    seconds = int(sys.argv[1])
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.execvp(sys.argv[2], sys.argv[2:])
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
    status, pid = 0, 0
    while pid != child:
        pid, status = os.wait()
    while left := children():
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
