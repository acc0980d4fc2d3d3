# SPDX-License-Identifier: Apache-2.0
"""The test's side of faults.h: a file that a server maps, with what it counts and what shall fail.

    faults = Faults(path)                      # before the server starts; faults.environment() for its processes
    with faults.armed("pread", "file", errno.EIO, pid=server.children()[0]):
        ...
    faults.hits, faults.what, faults.where()
"""
import contextlib
import ctypes
import errno
import functools
import mmap
import os
import subprocess

import brigade
import module_source
from brigade import wait_until

LIBRARY = os.environ.get("BRIGADE_FAULTS_LIBRARY") or os.path.join(os.path.dirname(os.path.abspath(brigade.BINARY)),
                                                                     "test", "libbrigade_faults.so")
MAGIC = 0x42464C54
ROLES, FRAMES, NAME = 3, 24, 24
KINDS = {"short-1": 1, "short-half": 2, "delay": 3}
FOREVER = 2 ** 63
SUPERVISOR, SERVER = 0, 1


def _calls():
    """Names of calls and classes, as faults.h lists them."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.h"), encoding="ascii") as f:
        text = f.read().replace("\\\n", " ")

    def listed(macro):
        line = next(line for line in text.splitlines() if line.startswith(f"#define {macro}(X)"))
        return [word.strip("()X ") for word in line.split("(X)", 1)[1].split() if word.startswith("X(")]
    return listed("FAULT_CALLS"), listed("FAULT_CLASSES")


CALLS, CLASSES = _calls()


class Control(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint32) for n in ("magic", "calls_n", "classes_n", "roles_n", "armed", "call", "fd_class",
                                               "kind")]
    _fields_ += [(n, ctypes.c_int32) for n in ("error", "role", "pid")] + [("delay_ms", ctypes.c_uint32)]
    _fields_ += [(n, ctypes.c_uint64) for n in ("first", "last", "seen", "hits", "returned")]
    _fields_ += [("hit_pid", ctypes.c_int32), ("hit_tid", ctypes.c_int32), ("frames_n", ctypes.c_uint64),
                 ("frames", ctypes.c_uint64 * FRAMES), ("what", ctypes.c_char * 160), ("counted_pid", ctypes.c_int32),
                 ("counts", ctypes.c_uint64 * len(CLASSES) * len(CALLS) * ROLES),
                 ("call_names", ctypes.c_char * NAME * len(CALLS)), ("class_names", ctypes.c_char * NAME * len(CLASSES))]


def name_of(fault):
    return fault if isinstance(fault, str) else errno.errorcode[fault]


@functools.lru_cache(None)
def function_at(offset):
    """Name of the program's function that an address lies in."""
    shown = subprocess.run(["addr2line", "-f", "-e", brigade.BINARY, hex(offset - 1)], capture_output=True, text=True)
    name, place = (shown.stdout.splitlines() + ["?", "?"])[:2]
    return f"{name}@{os.path.basename(place.split(' ')[0])}"


class Faults:
    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.write(b"\0" * ctypes.sizeof(Control))
        os.chmod(path, 0o666)  # a process that has dropped its privileges has it mapped already; one that runs CGI not
        with open(path, "r+b") as f:
            self._map = mmap.mmap(f.fileno(), ctypes.sizeof(Control))
        self.control = Control.from_buffer(self._map)

    def environment(self):
        return {"LD_PRELOAD": module_source.preloaded(LIBRARY), "BRIGADE_FAULTS": self.path}

    def check(self):
        """The library is there, and is the one that this file knows."""
        c = self.control
        assert c.magic == MAGIC, f"{LIBRARY} was not loaded"
        assert (c.calls_n, c.classes_n, c.roles_n) == (len(CALLS), len(CLASSES), ROLES)
        assert [n.value.decode() for n in c.call_names] == CALLS

    # -- counts --

    def counts(self, role):
        """{(call, class): number} so far."""
        table = self.control.counts[role]
        return {(call, kind): table[i][k] for i, call in enumerate(CALLS) for k, kind in enumerate(CLASSES)
                if table[i][k]}

    def counted(self, role, before):
        return {key: n - before.get(key, 0) for key, n in self.counts(role).items() if n > before.get(key, 0)}

    def count_only(self, pid):
        """Other processes of its role make calls, too, which a fault for this one never meets."""
        self.control.counted_pid = pid

    # -- faults --

    def arm(self, call, kind, fault, first=1, last=None, role=SERVER, pid=0, delay_ms=200):
        """fault: an errno, or a name from KINDS."""
        c = self.control
        c.armed = 0
        c.call, c.fd_class = CALLS.index(call), CLASSES.index(kind)
        c.kind, c.error = KINDS.get(fault, 0), 0 if fault in KINDS else fault
        c.role, c.pid, c.delay_ms = role, pid, delay_ms
        c.first, c.last = first, first if last is None else last
        c.seen = c.hits = c.returned = c.frames_n = 0
        c.what = b""
        c.armed = 1

    def disarm(self):
        self.control.armed = 0

    @contextlib.contextmanager
    def armed(self, *args, **more):
        self.arm(*args, **more)
        try:
            yield self
        finally:
            self.disarm()

    @property
    def hits(self):
        return self.control.hits

    @property
    def what(self):
        return self.control.what.decode(errors="replace")

    def delays_over(self):
        c = self.control
        wait_until(lambda: c.kind != KINDS["delay"] or c.returned >= c.hits, "the end of delays")

    def where(self, most=4):
        """The program's functions that made the call, innermost first."""
        c = self.control
        return " < ".join(function_at(c.frames[i]) for i in range(min(c.frames_n, most)))
