# SPDX-License-Identifier: Apache-2.0
"""Bodies that are not in the page cache: workers read them, and what comes is right."""
import os

import pytest

pytestmark = pytest.mark.only("brigade")

SIZE = 12 << 20


def evict(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


@pytest.mark.parametrize("config", ["", "EnableSendfile On\n", "ServerLimit 1\nThreadsPerChild 1\n"])
def test_a_large_file_that_is_not_in_memory(serve, config):
    content = bytes(range(256)) * (SIZE // 256)
    server = serve("EventLoops 1\nFileCacheEntries 0\n" + config, {"a.bin": content, "small.txt": "s\n"})
    clients = [server.connect() for _ in range(3)]
    for keep in (True, False):
        evict(server.path("htdocs/a.bin"))
        for c in clients:
            c.send("GET /a.bin HTTP/1.1\r\nHost: localhost\r\n" + ("" if keep else "Connection: close\r\n") + "\r\n")
        for c in clients:
            assert c.read_response().body == content
            if keep:
                assert c.get("/small.txt").body == b"s\n"
            evict(server.path("htdocs/a.bin"))
    for c in clients:
        assert c.at_end()
        c.close()


@pytest.mark.parametrize("sendfile", ["On", "Off"])
def test_a_stored_file_that_is_not_in_memory_any_more(serve, sendfile):
    """Its answer comes from the response cache, and the file is kept open."""
    content = bytes(range(256)) * (SIZE // 256)
    server = serve(f"EventLoops 1\nEnableSendfile {sendfile}\n", {"a.bin": content})
    path = server.path("htdocs/a.bin")
    os.utime(path, (1e9, 1e9))
    with server.connect() as c:
        for _ in range(6):
            assert c.get("/a.bin").body == content
        for _ in range(3):
            evict(path)
            assert c.get("/a.bin").body == content
