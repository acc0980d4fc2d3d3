# SPDX-License-Identifier: Apache-2.0
"""A FUSE file system of one flat folder, which stops to answer when it is told to: a disk that hangs.

Speaks the kernel's protocol (linux/fuse.h) over /dev/fuse, so it needs no library; it needs root.
"""
import collections
import ctypes
import errno
import os
import select
import struct
import threading

LIBC = ctypes.CDLL(None, use_errno=True)
MNT_FORCE, MNT_DETACH = 1, 2
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, INIT, OPENDIR, RELEASEDIR, BATCH_FORGET = (
    1, 2, 3, 14, 15, 17, 18, 26, 27, 29, 42)
NAMES = {LOOKUP: "lookup", GETATTR: "getattr", OPEN: "open", READ: "read", RELEASE: "release", STATFS: "statfs", OPENDIR: "opendir"}
HEADER = struct.Struct("<IIQQIIIHH")
ATTR = struct.Struct("<QQQQQQIIIIIIIIII")
ATTR_VALID = 3600  # seconds for which the kernel believes what it was told


class HangingFolder:
    """files: name -> bytes. .hang() and it never answers again; .asked counts requests since then. .trips counts what the kernel asked, by
    name: what a file system of a network would have asked its server. valid: seconds for which the kernel believes what it was told."""

    def __init__(self, path, files, valid=ATTR_VALID):
        self.path, self.files, self.hung, self.asked, self.valid = path, files, False, 0, valid
        self.trips = collections.Counter()
        self.names = sorted(files)
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        if LIBC.mount(b"hanging", path.encode(), b"fuse.hanging", 0, options.encode()):
            error = ctypes.get_errno()
            os.close(self.fd)
            raise OSError(error, "mount: " + os.strerror(error))
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def hang(self):
        self.hung = True

    def close(self):
        LIBC.umount2(self.path.encode(), MNT_FORCE | MNT_DETACH)
        os.close(self.fd)
        self.thread.join(5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _serve(self):
        while True:
            try:
                select.select([self.fd], [], [])
                request = os.read(self.fd, 1 << 17)
            except (OSError, ValueError):
                return
            _, opcode, unique, node = HEADER.unpack_from(request)[:4]
            if self.hung:
                self.asked += 1
                continue
            if opcode in (FORGET, BATCH_FORGET):
                continue
            self.trips[NAMES.get(opcode, str(opcode))] += 1
            answer = self._answer(opcode, node, request[HEADER.size:])
            error = -answer if isinstance(answer, int) else 0
            data = b"" if error else answer
            try:
                os.write(self.fd, struct.pack("<IiQ", 16 + len(data), error, unique) + data)
            except OSError:
                return

    def _attr(self, node):
        size = 0 if node == 1 else len(self.files[self.names[node - 2]])
        mode = 0o40755 if node == 1 else 0o100644
        return ATTR.pack(node, size, 1, 1000000000, 1000000000, 1000000000, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def _answer(self, opcode, node, body):
        if opcode == INIT:
            return struct.pack("<IIIIHHIIHHI", 7, 31, 65536, 0, 16, 12, 65536, 1, 32, 0, 0) + bytes(24)
        if opcode == LOOKUP:
            name = body.rstrip(b"\0").decode()
            if name not in self.files:
                return errno.ENOENT
            found = self.names.index(name) + 2
            return struct.pack("<QQQQII", found, 0, self.valid, self.valid, 0, 0) + self._attr(found)
        if opcode == GETATTR:
            return struct.pack("<QII", self.valid, 0, 0) + self._attr(node)
        if opcode in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 0, 0)
        if opcode == READ:
            offset, size = struct.unpack_from("<QI", body, 8)
            return self.files[self.names[node - 2]][offset:offset + size]
        if opcode in (RELEASE, RELEASEDIR):
            return b""
        if opcode == STATFS:
            return bytes(80)
        return errno.ENOSYS
