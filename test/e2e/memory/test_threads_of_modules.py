# SPDX-License-Identifier: Apache-2.0
"""What threads cost that modules start: mod_http2 has dozens."""
import struct

import pytest

import brigade

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="Brigade's own memory")


def thread_local_bytes(path):
    """Size of the program's thread-local storage: each thread of the process has it, and the C library writes all of it."""
    with open(path, "rb") as f:
        elf = f.read(64)
        offset, = struct.unpack_from("<Q", elf, 32)
        size, n = struct.unpack_from("<HH", elf, 54)
        f.seek(offset)
        heads = f.read(size * n)
    for i in range(n):
        kind, = struct.unpack_from("<I", heads, i * size)
        if kind == 7:
            return struct.unpack_from("<Q", heads, i * size + 40)[0]
    return 0


def test_thread_local_storage_is_small():
    assert 0 < thread_local_bytes(brigade.BINARY) <= 20 * 1024
