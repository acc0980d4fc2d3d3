# SPDX-License-Identifier: Apache-2.0
"""Large bodies from memory, which the kernel sends without a copy: what a client gets is one version of the file, whole."""
import os
import random
import socket

import pytest

from cache_site import one_loop, settle
from http_client import request_bytes

pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads]

SIZES = [16383, 16384, 16385, 40000, 65535, 65536, 65537, 131071, 131072, 1 << 20]


def content(size, version=0):
    return random.Random(size * 7 + version).randbytes(size)


def start(serve, more=""):
    server = one_loop(serve, f"MaxKeepAliveRequests 0\n{more}", files={f"{size}.bin": content(size) for size in SIZES})
    settle(server.path("htdocs"))
    return server


@pytest.fixture
def server(serve):
    return start(serve)


def test_whole_and_in_parts(server):
    rng = random.Random(1)
    with server.connect() as c:
        for _ in range(4):
            for size in SIZES:
                assert c.get(f"/{size}.bin").body == content(size)
        for _ in range(200):
            size = rng.choice(SIZES)
            first = rng.randrange(size)
            last = rng.choice([size - 1, min(size - 1, first + 16383), min(size - 1, first + 16384), rng.randrange(first, size)])
            answer = c.get(f"/{size}.bin", {"Range": f"bytes={first}-{last}"})
            assert (answer.status, answer.body) == (206, content(size)[first:last + 1])


def test_pipelined_with_small_ones(server):
    with server.connect() as c:
        for _ in range(4):
            for size in SIZES:
                c.get(f"/{size}.bin")
        wanted = [random.Random(n).choice(SIZES) for n in range(64)]
        c.send(b"".join(request_bytes("GET", f"/{size}.bin") if n % 3 else request_bytes("GET", "/none") for n, size in enumerate(wanted)))
        for n, size in enumerate(wanted):
            answer = c.read_response()
            assert (answer.status, answer.body) == (200, content(size)) if n % 3 else answer.status == 404


@pytest.mark.parametrize("asked", [65536, 1 << 20])
def test_a_slow_client_gets_what_it_asked_for(serve, asked):
    """The file changes, and its memory is used for others, while a part of the answer waits in sockets or for them."""
    server = start(serve, "SendBufferSize 40000\n")
    for _ in range(4):
        assert server.get(f"/{asked}.bin").body == content(asked)
    slow = []
    for _ in range(20):
        c = server.connect()
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        c.send(request_bytes("GET", f"/{asked}.bin"))
        slow.append(c)
    for c in slow:
        assert c.read_until(b"\r\n\r\n").startswith(b"HTTP/1.1 200")
    for version in range(1, 6):
        for size in SIZES:
            with open(server.path(f"htdocs/{size}.new"), "wb") as f:
                f.write(content(size, version))
            os.replace(server.path(f"htdocs/{size}.new"), server.path(f"htdocs/{size}.bin"))
        settle(server.path("htdocs"))
        for _ in range(4):
            for size in SIZES:
                assert server.get(f"/{size}.bin").body == content(size, version)
    for c in slow:
        assert c.read_exactly(asked) == content(asked)
        c.close()
