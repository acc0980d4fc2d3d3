# SPDX-License-Identifier: Apache-2.0
"""Files that filters read again and again are kept in memory, and never older than they are."""
import os
import time

import pytest

import brigade
from file_content import content

MODULE = f"{brigade.APACHE_MODULES}/mod_case_filter.so"
pytestmark = [pytest.mark.only("brigade"), pytest.mark.threads, pytest.mark.skipif(not os.path.exists(MODULE), reason=f"{MODULE} is not installed")]
CONFIG = f"EventLoops 1\nLoadModule case_filter_module {MODULE}\nCaseFilter On\n"
SIZES = [16384, 16385, 31999, 32000, 32001, 64000, 1048576, 2 << 20, (2 << 20) + 1]
OLD = (1.7e9, 1.7e9)


def write(server, name, data, way="w"):
    path = server.path("htdocs", name)
    if way == "rename":
        server.write(name + ".new", data)
        os.rename(path + ".new", path)
    else:
        server.write(name, data)
    os.utime(path, OLD)


def ask(server, target, body, least=0.1):
    """Until the change is old enough for the file to be kept, and then some."""
    end = time.monotonic() + least
    while time.monotonic() < end:
        assert server.get(target).body == body


@pytest.mark.parametrize("kept", [None, 0, 100000])
def test_all_sizes(serve, kept):
    server = serve(CONFIG + (f"FileKeptForFilters {kept}\n" if kept is not None else ""), files={f"{size}.bin": content(size) for size in SIZES})
    for size in SIZES:
        os.utime(server.path(f"htdocs/{size}.bin"), OLD)
    ask(server, "/16385.bin", content(16385).upper())
    with server.connect() as c:
        for _ in range(4):
            for size in SIZES:
                assert c.get(f"/{size}.bin").body == content(size).upper(), size


@pytest.mark.parametrize("way", ["w", "rename"])
def test_changes_are_seen(serve, way):
    """Size and modification time stay the same."""
    server = serve(CONFIG, files={"a.bin": ""})
    for letter in "abcdefgh":
        write(server, "a.bin", letter * 50000, way)
        ask(server, "/a.bin", letter.upper().encode() * 50000)


def test_more_than_is_kept(serve):
    server = serve(CONFIG + "FileKeptForFilters 300000\n", files={f"{i}.bin": bytes([97 + i % 26]) * (20000 + i) for i in range(80)})
    for i in range(80):
        os.utime(server.path(f"htdocs/{i}.bin"), OLD)
    ask(server, "/0.bin", b"A" * 20000)
    for _ in range(3):
        with server.connect() as c:
            for i in range(80):
                assert c.get(f"/{i}.bin").body == bytes([65 + i % 26]) * (20000 + i)


def test_slow_readers_have_what_they_began(serve):
    server = serve(CONFIG, files={"a.bin": b"a" * 2000000})
    os.utime(server.path("htdocs/a.bin"), OLD)
    ask(server, "/a.bin", b"A" * 2000000)
    with server.connect() as slow:
        slow.send(b"GET /a.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        slow.read_until(b"\r\n\r\n")
        os.truncate(server.path("htdocs/a.bin"), 100000)
        assert server.get("/a.bin").body == b"A" * 100000
        assert slow.read_exactly(2000000) == b"A" * 2000000
