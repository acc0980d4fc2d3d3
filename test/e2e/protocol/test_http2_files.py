# SPDX-License-Identifier: Apache-2.0
"""Files that are too long for memory, and several parts of files, over HTTP/2: from the response cache, as in full."""
import os
import re
import struct

import pytest

import brigade
from cache_site import await_hits, one_loop, settle
from h2_client import DATA, HEADERS, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE, Client, Connection, frame

pytestmark = [pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module"), pytest.mark.threads]
BIG = os.urandom(1_500_000)
CONFIG = """
Protocols h2c http/1.1
<Location /metrics>
SetHandler metrics
</Location>
"""
KEPT = "FileCacheMaxFile 1000\n"  # then it is a descriptor that is stored
FILES = {"big.bin": BIG, "other.bin": BIG[::-1], "big.html": BIG}
RANGES = ["0-9,100000-", "0-0,-5", "5-900000,1000000-1000005,1499999-", "0-9,20-29,40-49,60-69"]


def made(serve, config):
    server = one_loop(serve, CONFIG + config, files=FILES)
    settle(server.path("htdocs"))
    return server


def answer(server, path, ranges=None):
    """Without the boundary, which has another length in each server process."""
    with Client("127.0.0.1", server.port, brigade.PATIENCE) as c:
        got = c.get(path, {"range": "bytes=" + ranges} if ranges else {})
    assert got["content-length"] == str(len(got.body))
    fields = sorted(line for line in got.head.split(b"\r\n") if not line.startswith((b"date:", b"content-length:")))
    boundary = re.search(rb"boundary=(\S+)", got.head)
    return (got.status, *(re.sub(boundary[1], b"-", text) if boundary else text for text in (b"\n".join(fields), got.body)))


@pytest.mark.parametrize("config", ["", KEPT, KEPT + "H2Padding 5\n"], ids=["memory", "file", "file, padded"])
def test_several_parts_as_in_full(serve, config):
    server, full = made(serve, config), made(serve, "FileCacheEntries 0\n")
    for path in "/big.bin", "/big.html":
        for ranges in RANGES:
            want = answer(full, path, ranges)
            assert want[0] == 206 and b"multipart/byteranges" in want[1]
            for _ in range(4):
                assert answer(server, path, ranges) == want
    await_hits(server, 2 * (4 * len(RANGES) - 3))


def test_a_file_that_is_kept_open(serve):
    server, full = made(serve, KEPT), made(serve, "FileCacheEntries 0\n")
    for ranges in None, "1000000-", "70000-200000":
        want = answer(full, "/big.bin", ranges)
        for _ in range(5):
            assert answer(server, "/big.bin", ranges) == want
    await_hits(server, 3 * 5 - 5)


@pytest.mark.parametrize("ranges", [(), [("range", "bytes=3-40000,50000-90000,100000-1400000")]], ids=["whole", "parts"])
def test_windows_of_kept_files(serve, ranges):
    """Two files side by side, windows of 3000 bytes that open bit by bit."""
    server = made(serve, KEPT)
    want = {}
    for _ in range(4):
        with Client("127.0.0.1", server.port, brigade.PATIENCE) as c:
            want = {1: c.get("/big.bin", ranges).body, 3: c.get("/other.bin", ranges).body}
    with Connection(server.port, preface=False) as h2:
        h2.send(PREFACE + frame(SETTINGS, payload=struct.pack("!HI", 4, 3000)) + frame(WINDOW_UPDATE, payload=struct.pack("!I", 1 << 30)))
        for stream, path in (1, "/big.bin"), (3, "/other.bin"):
            h2.request(stream, path=path, fields=ranges)
        got, left = {1: b"", 3: b""}, {1: 3000, 3: 3000}
        while got != want:
            _, _, stream, payload = h2.expect(DATA)
            got[stream], left[stream] = got[stream] + payload, left[stream] - len(payload)
            assert left[stream] >= 0 and want[stream].startswith(got[stream])
            if left[stream] < 1500:
                h2.send(frame(WINDOW_UPDATE, stream=stream, payload=struct.pack("!I", 90001)))
                left[stream] += 90001
    await_hits(server, 2 * 5 - 6)


def evict(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def test_a_worker_asks_the_disk(serve):
    server = made(serve, KEPT)
    path = server.path("htdocs/big.bin")
    with Client("127.0.0.1", server.port, brigade.PATIENCE) as c:
        for _ in range(4):
            assert c.get("/big.bin").body == BIG
        for _ in range(3):
            evict(path)
            assert c.get("/big.bin").body == BIG
    for _ in range(20):  # clients that leave while it does
        with Connection(server.port) as h2:
            evict(path)
            h2.request(1, path="/big.bin")
            h2.request(3, path="/big.bin")
            h2.send(frame(RST_STREAM, stream=1, payload=struct.pack("!I", 8)))
    assert answer(server, "/big.bin")[2] == BIG


def test_a_file_that_becomes_shorter(serve):
    """What is missing cannot come: the stream is reset, and others of its connection go on."""
    server = made(serve, KEPT)
    for _ in range(4):
        answer(server, "/big.bin")
    with Connection(server.port, settings=struct.pack("!HI", 4, 0)) as h2:
        h2.request(1, path="/big.bin")
        h2.expect(HEADERS, stream=1)
        os.truncate(server.path("htdocs/big.bin"), 20_000)
        h2.send(frame(WINDOW_UPDATE, stream=1, payload=struct.pack("!I", 60_000)))
        h2.expect(RST_STREAM, stream=1)
        h2.request(3, path="/nothing", method="HEAD")
        assert h2.response(3)[0] == 404
    assert b"became shorter" in server.error_log()
