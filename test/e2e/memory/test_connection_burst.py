# SPDX-License-Identifier: Apache-2.0
"""Ten thousand connections come and go, and their memory goes with them."""
import os
import resource
import selectors
import socket

import pytest

import brigade
from brigade import wait_until
from memory_site import is_stock
from trouble import STATUS, sanitizer, status, wait_for_connections, with_trouble

pytestmark = [pytest.mark.only("brigade"), pytest.mark.default_memory, pytest.mark.slow,
              pytest.mark.skipif(is_stock(), reason="built with stock APR pools"),
              pytest.mark.skipif(bool(sanitizer()), reason="sanitizers keep what is freed")]
WANTED = 10_000
DESCRIPTORS = WANTED * 4 // 3 + 1000  # a quarter of what a process may have is for files
AT_ONCE = 400  # connections that are being opened
SOFT, HARD = resource.getrlimit(resource.RLIMIT_NOFILE)
FILES = {"a.txt": "hello\n" * 100}


@pytest.fixture
def descriptors():
    if HARD < DESCRIPTORS:
        pytest.skip(f"needs {DESCRIPTORS} descriptors, and {HARD} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (HARD, HARD))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT, HARD))


def burst(server, target, wanted):
    """So many connections, each answered once and kept open."""
    request = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    selector = selectors.DefaultSelector()
    clients, answered = [], 0
    while answered < wanted:
        while len(clients) < wanted and len(clients) - answered < AT_ONCE:
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex((server.address, server.port))
            selector.register(s, selectors.EVENT_WRITE)
            clients.append(s)
        ready = selector.select(brigade.PATIENCE)
        assert ready, f"{answered} were answered"
        for key, events in ready:
            if events & selectors.EVENT_WRITE:
                key.fileobj.sendall(request)
                selector.modify(key.fileobj, selectors.EVENT_READ)
            else:
                assert key.fileobj.recv(10_000).startswith(b"HTTP/1.1 200 ")
                selector.unregister(key.fileobj)
                answered += 1
    selector.close()
    return clients


def resident(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


# The requests of "workers" run on threads of which each has its own memory: they are there before, too.
@pytest.mark.parametrize("way", ["remembered", "whole", "workers"])
def test_memory_after_a_burst(serve, descriptors, way):
    config = {"remembered": "", "whole": "FileCacheEntries 0\n", "workers": "ServerLimit 1\nThreadsPerChild 8\n"}[way]
    if way == "workers":
        config += with_trouble()
    server = serve("EventLoops 2\nKeepAliveTimeout 60\n" + STATUS + config, FILES,
                   limits={resource.RLIMIT_NOFILE: DESCRIPTORS})
    os.utime(server.path("htdocs/a.txt"), (1_500_000_000, 1_500_000_000))
    for s in burst(server, "/a.txt", 100):
        s.close()
    [child] = server.children()
    before = resident(child)
    clients = burst(server, "/a.txt", WANTED)
    wait_until(lambda: status(server)["totals"]["connections"]["keepalive"] >= WANTED, "workers to hand the last ones back")
    grown = resident(child)
    for s in clients:
        s.close()
    wait_for_connections(server, 0)
    wait_until(lambda: resident(child) < before * 1.2, f"{grown} bytes to become {before} again")
    assert grown > before * 1.3  # else this was no burst
    assert server.get("/a.txt").body == FILES["a.txt"].encode()
