# SPDX-License-Identifier: Apache-2.0
"""RATE_LIMIT: pieces of a response, one each 200 ms, also of programs; other requests on the same loop do not wait."""
import os
import socket
import time

import pytest

import brigade

pytestmark = pytest.mark.threads
ONE_LOOP = "" if brigade.is_apache(brigade.BINARY) else "EventLoops 1\nServerProcesses 1\n"
CONFIG = f"""{ONE_LOOP}LogLevel ratelimit:debug
ServerTokens Prod
AddHandler cgi-script .cgi
<Directory @ROOT@/htdocs/slow>
Options +ExecCGI
SetOutputFilter RATE_LIMIT
SetEnvIf Request_URI . rate-limit=4
SetEnvIf Limit (.+) rate-limit=$1
SetEnvIf Burst (.+) rate-initial-burst=$1
</Directory>
"""
FILES = {"fast.txt": "fast\n", "slow/a.txt": "x" * 3000, "slow/empty.txt": "", "slow/flush.cgi": "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nhead -c 3000 /dev/zero | tr '\\0' x\n"}
PIECE = 4 * 1024 // 5


@pytest.fixture(scope="module")
def server(serve_module):
    made = serve_module.unstarted(CONFIG, FILES, modules=["ratelimit", "cgid"])
    os.chmod(made.path("htdocs", "slow/flush.cgi"), 0o755)
    return made.start()


def pieces(server, path, **fields):
    """(seconds, bytes) of each read until the end."""
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        more = "".join(f"{n}: {v}\r\n" for n, v in fields.items())
        began, found = time.monotonic(), []
        s.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n{more}\r\n".encode())
        while data := s.recv(65536):
            found.append((time.monotonic() - began, data))
    return found


def body(found):
    return b"".join(d for _, d in found).partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("path", ["/slow/a.txt", "/slow/flush.cgi"])
def test_pieces(server, path):
    if path.endswith("cgi") and brigade.is_apache(brigade.BINARY):
        pytest.skip("pieces of a program's output are what its pipe gives there")
    found = pieces(server, path)
    assert body(found) == b"x" * 3000
    came = 0
    for at, data in found:  # a client that the machine keeps waiting reads several at once
        came += len(data)
        assert came % PIECE == 0 or came == sum(len(d) for _, d in found)
        assert at >= 0.2 * ((came - 1) // PIECE) - 0.02
    assert -(-came // PIECE) == 4


@pytest.mark.parametrize("limit, burst, first", [("8", None, 2 * PIECE), ("4x", None, PIECE), ("4", "1", PIECE + 1024), ("4", "0", PIECE), ("4", "2097152", PIECE)])
def test_limits(server, limit, burst, first):
    found = pieces(server, "/slow/a.txt", Limit=limit, **({"Burst": burst} if burst else {}))
    # of a burst, Apache takes the head of the response twice
    assert first - 300 < len(found[0][1]) <= first and body(found) == b"x" * 3000


@pytest.mark.parametrize("limit", ["0", "-5", "abc", "2097152", "4194304"])
def test_no_limit(server, limit):
    assert body(pieces(server, "/slow/a.txt", Limit=limit)) == b"x" * 3000
    server.wait_for_log(rf"AH03488: rl: disabling: rate-limit = {limit} \(too high\?\)")


def test_a_body_without_bytes(server):
    assert body(pieces(server, "/slow/empty.txt")) == b""


def answers_between_pieces(server, path):
    with socket.create_connection(("127.0.0.1", server.port)) as s, server.connect() as other:
        other.get("/fast.txt")
        s.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        s.recv(65536)
        began = time.monotonic()
        for _ in range(5):
            assert other.get("/fast.txt?x").body == b"fast\n"
        took = time.monotonic() - began
        while s.recv(65536):
            pass
    return took < 0.15


@pytest.mark.parametrize("path", ["/slow/a.txt", "/slow/flush.cgi"])
def test_other_requests_do_not_wait(server, path):
    """There is one loop: it answers between the pieces."""
    if brigade.is_apache(brigade.BINARY):
        pytest.skip("it has no loops")
    assert any(answers_between_pieces(server, path) for _ in range(5))  # the machine may be busy with something else


def test_who_leaves_is_noticed(server):
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(b"GET /slow/a.txt HTTP/1.0\r\nHost: localhost\r\n\r\n")
        s.recv(100)
    assert server.get("/fast.txt").status == 200
