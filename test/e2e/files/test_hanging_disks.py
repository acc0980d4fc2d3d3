# SPDX-License-Identifier: Apache-2.0
"""Files on file systems that do not answer, and files that are no files."""
import os
import time

import pytest

from brigade import wait_until
from fuse_fs import HangingFolder

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/fuse"), reason="needs root and /dev/fuse")

CONFIG = "EventLoops 2\nFileCacheEntries 0\n"


@pytest.fixture
def hanging(serve):
    server = serve(CONFIG, {"plain.txt": "P", "hung/below.txt": "not seen"})
    try:
        folder = HangingFolder(server.path("htdocs/hung"), {"a.txt": b"A" * 100, "b.txt": b"B", "big.bin": b"x" * 300000})
    except OSError as e:
        pytest.skip(f"no FUSE here: {e}")
    with folder:
        yield server, folder


def ask(server, target):
    c = server.connect()
    c.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return c


def serves_on(server, n=40):
    """Connections come to both loops."""
    for _ in range(n):
        began = time.monotonic()
        assert server.get("/plain.txt").body == b"P"
        assert time.monotonic() - began < 2


def test_it_serves_files_of_fuse(hanging):
    server, _ = hanging
    for _ in range(2):
        assert server.get("/hung/a.txt").body == b"A" * 100
        assert server.get("/hung/big.bin").body == b"x" * 300000
        assert server.get("/hung/nothing").status == 404


@pytest.mark.parametrize("known", [False, True], ids=["cold", "known to the kernel"])
def test_requests_for_files_that_hang_stop_nobody_else(hanging, known):
    server, folder = hanging
    if known:
        assert server.get("/hung/a.txt").body == b"A" * 100
        assert server.get("/hung/b.txt").body == b"B"
    folder.hang()
    stuck = [ask(server, target) for target in ["/hung/a.txt", "/hung/b.txt"] * 4]
    wait_until(lambda: folder.asked >= 1, "a request to come to the file system")
    serves_on(server)
    for c in stuck:
        c.close()


def test_fifos_and_devices_are_refused_at_once(serve):
    server = serve("", {"a.txt": "A"})
    os.mkfifo(server.path("htdocs/fifo"))
    os.mknod(server.path("htdocs/device"), 0o20644, os.makedev(5, 0))
    for target in ("/fifo", "/device"):
        assert server.get(target).status == 403
