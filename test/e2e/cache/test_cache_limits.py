# SPDX-License-Identifier: Apache-2.0
"""What the response cache may take: all that an entry needs is charged, errors have a small share, bodies are shared."""
import os
import socket

import pytest

from cache_site import one_loop, settle
from ssi_site import is_sanitized

pytestmark = [pytest.mark.only("brigade")]

MIB = 1 << 20


def resident(server):
    """Of all processes of the server, in bytes."""
    total = 0
    for pid in [server.process.pid, *server.children()]:
        with open(f"/proc/{pid}/statm") as f:
            total += int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total


def ask(server, targets, headers=""):
    """Pipelined over one connection. @return number of answers"""
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        stream = s.makefile("rb")
        for i in range(0, len(targets), 50):
            part = targets[i:i + 50]
            s.sendall(b"".join(f"GET {t} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode() for t in part))
            for _ in part:
                length = 0
                while (line := stream.readline()) not in (b"\r\n", b""):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                stream.read(length)


@pytest.mark.slow
def test_names_that_do_not_exist(serve):
    """One client asks for 10,000 of them, three times each, where every request is logged."""
    server = one_loop(serve, 'MaxKeepAliveRequests 0\nCustomLog "@ROOT@/logs/access_log" "%h %r %>s %b %{Content-Type}o"\n', files={"a.txt": "a"})
    ask(server, ["/a.txt"] * 200)
    before = resident(server)
    for i in range(0, 10000, 500):
        ask(server, [f"/none/{k}" for k in range(i, i + 500)] * 3)
    if is_sanitized(server):
        pytest.skip("a sanitizer keeps freed memory")
    assert resident(server) - before < 16 * MIB  # it was 55 MiB; the share of errors is 4 MiB


def test_query_strings_of_one_large_file(serve):
    server = one_loop(serve, "MaxKeepAliveRequests 0\n", files={"big.bin": "x" * MIB})
    settle(server.path("htdocs"))
    ask(server, ["/big.bin"] * 8)
    before = resident(server)
    ask(server, [f"/big.bin?{i}" for i in range(80)] * 5)
    if is_sanitized(server):
        pytest.skip("a sanitizer keeps freed memory")
    assert resident(server) - before < 8 * MIB  # it was 63 MiB


def test_log_of_stored_answers(serve):
    """A line made from a stored answer is that of a full run."""
    server = one_loop(serve, 'SetEnv WHO me\nCustomLog "@ROOT@/logs/access_log" "%r %>s %b %{Content-Type}o %{ETag}o %{Last-Modified}o %{Content-Length}o %{WHO}e %{Server}o %f %U %q"\n',
                      files={"a.txt": "a" * 100})
    settle(server.path("htdocs"))
    for _ in range(8):
        assert server.get("/a.txt?x=1").status == 200
    server.stop()
    lines = set(server.read("logs/access_log").splitlines())
    assert len(lines) == 1, lines


def test_revalidation_alone(serve):
    """A client that only revalidates is answered from memory, too, and sees changes."""
    server = one_loop(serve, "", files={"a.txt": "old"})
    settle(server.path("htdocs"))
    tag = server.get("/a.txt")["ETag"]
    for _ in range(6):
        answer = server.get("/a.txt", {"If-None-Match": tag})
        assert (answer.status, answer["ETag"]) == (304, tag)
    assert server.get("/a.txt").body == b"old"
    assert server.get("/a.txt", {"If-None-Match": '"other"'}).body == b"old"
    server.write("a.txt", "new!")
    answer = server.get("/a.txt", {"If-None-Match": tag})
    assert (answer.status, answer.body) == (200, b"new!")
