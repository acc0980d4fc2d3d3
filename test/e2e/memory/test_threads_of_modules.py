# SPDX-License-Identifier: Apache-2.0
"""What threads cost that modules start: mod_http2 has dozens."""
import os
import socket
import struct
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

import brigade
from memory_site import is_stock

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


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


def fetch_over_http2(port, path, n, at_once=32):
    """GET it so often on one connection. Returns the number of streams that ended."""
    head = b"\x82\x86" + b"".join(bytes([name, len(value)]) + value for name, value in ((4, path), (1, b"localhost")))
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, struct.pack(">HI", 4, 2 ** 31 - 1)) +
                  frame(8, 0, 0, struct.pack(">I", 2 ** 31 - 1 - 65535)))
        with s.makefile("rb") as answers:
            sent = ended = 0
            while ended < n:
                wanted = min(n, ended + at_once)
                if sent < wanted:
                    s.sendall(b"".join(frame(1, 5, 2 * i + 1, head) for i in range(sent, wanted)))
                    sent = wanted
                size, kind, flags, _ = struct.unpack(">IBBI", b"\0" + answers.read(9))
                answers.read(size)
                assert kind not in (3, 7), "the stream or the connection was ended"
                if kind == 4 and not flags & 1:
                    s.sendall(frame(4, 1, 0))
                ended += kind in (0, 1) and flags & 1
    return ended


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_http2.so"), reason="no mod_http2.so")
@pytest.mark.skipif(bool(brigade.MEMORY) or is_stock() or any(kind in brigade.BINARY for kind in ("asan", "tsan")),
                    reason="resident memory is mostly the tool's")
def test_memory_of_idle_threads_is_given_back():
    """Streams of mod_http2, each by the full way, leave little of the peak when they have ended."""
    config = f"BuiltinModule http2_module Off\nLoadModule http2_module {brigade.APACHE_MODULES}/mod_http2.so\nProtocols h2c http/1.1\nFileCacheEntries 0\nMaxRequestWorkers 100\n"
    with brigade.Server(config, {"10k.html": "x" * 10240}) as server:
        child, = server.children()
        with ThreadPoolExecutor(8) as pool:
            clients = [pool.submit(fetch_over_http2, server.port, b"/10k.html", 500) for _ in range(8)]
            peak = anonymous_mb(child)
            while not all(client.done() for client in clients):
                wait(clients, 0.02)
                peak = max(peak, anonymous_mb(child))
            assert [client.result() for client in clients] == [500] * 8
        assert peak >= 20, "this load shows nothing"
        brigade.wait_until(lambda: anonymous_mb(child) <= min(20, peak / 2), f"memory after a peak of {peak} MB", 15)


def anonymous_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("RssAnon")) // 1024
