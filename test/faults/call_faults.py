# SPDX-License-Identifier: Apache-2.0
"""The test's side of call_faults.h."""
import ctypes
import mmap
import os

import brigade
import module_source

MAGIC = 0x43464C54


def library(name):
    """Path of what is preloaded: "tls", "coder"."""
    return os.path.join(os.path.dirname(os.path.abspath(brigade.BINARY)), "test", f"libbrigade_{name}_faults.so")


def appears(condition, seconds=0.5):
    try:
        return brigade.wait_until(condition, seconds=seconds)
    except AssertionError:
        return False


class Control(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint32) for n in ("magic", "calls_n", "armed", "call")]
    _fields_ += [(n, ctypes.c_uint64) for n in ("first", "last", "seen", "hits")]
    _fields_ += [("counts", ctypes.c_uint64 * 64), ("names", ctypes.c_char * 40 * 64)]


class Faults:
    """What a server maps, with what it counts and what shall fail."""

    def __init__(self, library, path):
        self.library = library
        self.path = path
        with open(path, "wb") as f:
            f.write(b"\0" * ctypes.sizeof(Control))
        os.chmod(path, 0o666)
        with open(path, "r+b") as f:
            self.control = Control.from_buffer(mmap.mmap(f.fileno(), ctypes.sizeof(Control)))

    def environment(self, armed=""):
        return {"LD_PRELOAD": module_source.preloaded(self.library), "BRIGADE_CALL_FAULTS": self.path, "BRIGADE_CALL_FAULT": armed}

    def counts(self):
        c = self.control
        assert c.magic == MAGIC, "the library was not loaded"
        return [c.counts[i] for i in range(c.calls_n)]

    def name(self, call):
        return self.control.names[call].value.decode()

    def arm(self, call, n):
        c = self.control
        c.armed = 0
        c.call, c.first, c.last, c.seen, c.hits = call, n, n, 0, 0
        c.armed = 1

    def disarm(self):
        self.control.armed = 0
        return self.control.hits
