# SPDX-License-Identifier: Apache-2.0
"""One fetch for many: clients that ask for what is on its way wait for it, on all loops, and get it while it comes."""
import contextlib
import os
import socket
import threading
import time

import pytest

from backend import Backend, answer
from brigade import wait_until
from cached_site import config, fields, kind

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def sockets(server):
    folder = f"/proc/{server.children()[0]}/fd"
    return sum("socket" in os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder) if os.path.islink(f"{folder}/{fd}"))


class Gate:
    """A script that answers when it is told to."""

    def __init__(self, result):
        self.result, self.open = result, threading.Event()

    def __call__(self, connection, request):
        assert self.open.wait(20)
        return self.result


def many(server, path, n, headers=None):
    got = [None] * n

    def one(i):
        try:
            got[i] = server.get(path, headers=headers or {})
        except Exception as e:  # noqa: BLE001
            got[i] = e

    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    return got, threads


def end(threads):
    for t in threads:
        t.join(30)
        assert not t.is_alive()


@pytest.mark.parametrize("loops", [1, 4])
def test_one_fetch_for_many(serve, backend, loops):
    gate = backend.scripts["/a"] = Gate(answer(b"once\n", fields=fields()))
    server = serve(config(backend, loops=loops))
    got, threads = many(server, "/p/a", 50)
    wait_until(lambda: backend.requests, "the first one")
    time.sleep(0.3)  # all others are there by now; if one was not, it hits
    gate.open.set()
    end(threads)
    assert len(backend.requests) == 1
    assert all(g.body == b"once\n" for g in got), got
    assert sorted({kind(g) for g in got}) == ["HIT", "MISS"] and sum(kind(g) == "MISS" for g in got) == 1


def test_what_cannot_be_stored_is_fetched_by_all_at_once(serve, backend):
    inside, most, lock = [0], [0], threading.Lock()

    def script(connection, request):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        time.sleep(0.3)
        with lock:
            inside[0] -= 1
        return answer(b"own\n", fields=[("Cache-Control", "no-store")])

    backend.scripts["/a"] = script
    server = serve(config(backend))
    got, threads = many(server, "/p/a", 10)
    end(threads)
    assert all(g.body == b"own\n" for g in got) and len(backend.requests) == 10 and most[0] >= 8


def test_body_comes_while_it_is_fetched(serve, backend):
    more = threading.Event()

    def script(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nContent-Length: 8\r\n\r\nhead")
        assert more.wait(20)
        return b"tail"

    backend.scripts["/a"] = script
    server = serve(config(backend, loops=2))
    sockets = []
    for _ in range(8):
        s = socket.create_connection(("127.0.0.1", server.port))
        s.settimeout(20)
        s.sendall(b"GET /p/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        sockets.append(s)
    data = [b""] * 8
    for i, s in enumerate(sockets):
        while not data[i].endswith(b"head"):
            data[i] += s.recv(4096)
    more.set()
    for i, s in enumerate(sockets):
        while True:
            piece = s.recv(4096)
            if not piece:
                break
            data[i] += piece
        assert data[i].endswith(b"headtail")
    assert len(backend.requests) == 1


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("begun", [False, True])
def test_the_first_client_leaves(serve, backend, begun, reset):
    """Others wait for its fetch, so that goes on."""
    more, half = threading.Event(), b"h" * 100000

    def script(connection, request):
        if begun:
            connection.send(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nContent-Length: 200000\r\n\r\n" + half)
        assert more.wait(20)
        return half if begun else answer(2 * half, fields=fields())

    backend.scripts["/a"] = script
    server = serve(config(backend))
    server.get("/p/other"), server.get("/p/other")
    open_before = sockets(server)
    first = socket.create_connection(("127.0.0.1", server.port))
    first.sendall(b"GET /p/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_until(lambda: len(backend.requests) > 2, "the first one")
    got, threads = many(server, "/p/a", 5)
    time.sleep(0.3)
    if reset:
        first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    first.close()
    time.sleep(0.2)
    more.set()
    end(threads)
    assert all(not isinstance(g, Exception) and g.body == 2 * half for g in got), got
    assert len(backend.requests) == 3
    assert kind(server.get("/p/a")) == "HIT"
    wait_until(lambda: sockets(server) <= open_before, "its connection is closed")


def test_the_only_client_leaves(serve, backend):
    """Nobody else wants it: the backend learns of it."""
    gone = threading.Event()

    def script(connection, request):
        try:
            connection.more()
        except Exception:  # noqa: BLE001
            gone.set()
        return False

    backend.scripts["/a"] = script
    server = serve(config(backend))
    first = socket.create_connection(("127.0.0.1", server.port))
    first.sendall(b"GET /p/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_until(lambda: backend.requests, "the first one")
    first.close()
    assert gone.wait(10)
    backend.scripts["/a"] = answer(fields=fields())
    assert kind(server.get("/p/a")) == "MISS"


def test_the_first_client_leaves_before_what_cannot_be_stored(serve, backend):
    more = threading.Event()

    def script(connection, request):
        assert len(backend.requests) > 1 or more.wait(20)
        return answer(b"own\n", fields=[("Cache-Control", "no-store")])

    backend.scripts["/a"] = script
    server = serve(config(backend))
    first = socket.create_connection(("127.0.0.1", server.port))
    first.sendall(b"GET /p/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_until(lambda: backend.requests, "the first one")
    got, threads = many(server, "/p/a", 5)
    time.sleep(0.3)
    first.close()
    time.sleep(0.1)
    more.set()
    end(threads)
    assert all(g.body == b"own\n" for g in got), got
    assert len(backend.requests) == 6


def test_the_backend_cuts_what_others_wait_for(serve, backend):
    more = threading.Event()

    def script(connection, request):
        if len(backend.requests) > 1:
            return answer(b"second\n", fields=fields())
        assert more.wait(20)
        connection.send(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nContent-Length: 10\r\n\r\n")
        return False

    backend.scripts["/a"] = script
    server = serve(config(backend))
    got, threads = many(server, "/p/a", 5)
    wait_until(lambda: backend.requests, "the first one")
    time.sleep(0.2)
    more.set()
    end(threads)
    assert sorted(g.status for g in got) == [200] * 4 + [502], got
    assert all(g.body == b"second\n" for g in got if g.status == 200)
    assert server.get("/p/a").body == b"second\n"


def test_variants_do_not_wait_for_each_other_for_ever(serve, backend):
    backend.scripts["/a"] = lambda c, r: time.sleep(0.2) or answer(r["Accept-Language"].encode(), fields=fields(("Vary", "Accept-Language")))
    server = serve(config(backend))
    de, one = many(server, "/p/a", 5, {"Accept-Language": "de"})
    fr, two = many(server, "/p/a", 5, {"Accept-Language": "fr"})
    end(one + two)
    assert {g.body for g in de} == {b"de"} and {g.body for g in fr} == {b"fr"}
    assert len(backend.requests) <= 4


SWR = [("Cache-Control", "max-age=1, stale-while-revalidate=60"), ("ETag", '"1"')]


@pytest.mark.parametrize("what", ["same", "changed", "gone", "failed", "cut"])
def test_stale_while_revalidate(serve, backend, what):
    """Nobody waits for the validation, whatever comes of it."""
    backend.scripts["/a"] = answer(b"old\n", fields=SWR)
    server = serve(config(backend))
    server.get("/p/a")
    answers = {"same": answer(b"", "304 Not Modified", SWR).replace(b"Content-Length: 0\r\n", b""),
               "changed": answer(b"new\n", fields=SWR), "gone": answer(b"gone\n", "404 Not Found", fields()),
               "failed": answer(b"bad\n", "503 No"), "cut": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nCache-Control: max-age=9\r\n\r\nxx"}
    gate = backend.scripts["/a"] = Gate(answers[what])
    time.sleep(1.1)
    with server.connect() as client:
        assert client.request("GET", "/p/a").body == b"old\n"
        wait_until(lambda: len(backend.requests) == 2, "it is validated")
        for _ in range(3):
            got = server.get("/p/a")
            assert got.body == b"old\n" and kind(got) == "HIT"
        gate.open.set()
        if what == "cut":
            backend.close_connections()
        wanted = {"same": b"old\n", "changed": b"new\n", "gone": b"gone\n"}.get(what, b"old\n")
        if what in ("same", "changed", "gone"):
            wait_until(lambda: client.request("GET", "/p/a").body == wanted and not kind(server.get("/p/a")) == "MISS", "it is stored")
            assert len(backend.requests) == 2
        else:
            backend.scripts["/a"] = answer(b"later\n", fields=SWR)
            assert client.request("GET", "/p/a").body in (b"old\n", b"later\n")
            wait_until(lambda: server.get("/p/a").body == b"later\n", "it is asked for anew")
    server.wait_for_log("GET /p/a cache hit TCP_" + ("NEGATIVE_HIT" if what == "gone" else "HIT"), "logs/access.log")
    lines = server.read("logs/access.log").decode().splitlines()
    assert all("TCP_" in line for line in lines)


def test_client_leaves_while_it_is_validated(serve, backend):
    backend.scripts["/a"] = answer(b"old\n", fields=SWR)
    server = serve(config(backend))
    server.get("/p/a")
    gate = backend.scripts["/a"] = Gate(answer(b"new\n", fields=SWR))
    time.sleep(1.1)
    client = socket.create_connection(("127.0.0.1", server.port))
    client.sendall(b"GET /p/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
    data = b""
    while not data.endswith(b"old\n"):
        data += client.recv(4096)
    client.close()
    wait_until(lambda: len(backend.requests) == 2, "it is validated")
    time.sleep(0.2)
    gate.open.set()
    wait_until(lambda: server.get("/p/a").body == b"new\n", "it is stored")
    assert len(backend.requests) == 2


@pytest.mark.parametrize("changed", [False, True])
def test_one_validation_for_many(serve, backend, changed):
    line = fields(("ETag", '"1"'), age=1)
    backend.scripts["/a"] = answer(b"old\n", fields=line)
    server = serve(config(backend, loops=2))
    server.get("/p/a")
    same = answer(b"", "304 Not Modified", fields(("ETag", '"1"'))).replace(b"Content-Length: 0\r\n", b"")
    gate = backend.scripts["/a"] = Gate(answer(b"new\n", fields=fields(("ETag", '"2"'))) if changed else same)
    time.sleep(1.1)
    got, threads = many(server, "/p/a", 20)
    wait_until(lambda: len(backend.requests) == 2, "it is validated")
    time.sleep(0.3)
    gate.open.set()
    end(threads)
    assert all((g.status, g.body) == (200, b"new\n" if changed else b"old\n") for g in got), got
    assert len(backend.requests) == 2 and backend.requests[1]["If-None-Match"] == '"1"'
    assert server.get("/p/a", headers={"If-None-Match": '"2"' if changed else '"1"'}).status == 304


def test_slow_clients(serve, backend):
    body = b"0123456789abcdef" * 65536 * 4  # 4 MiB
    backend.scripts["/a"] = lambda c, r: time.sleep(0.2) or answer(body, fields=fields())
    server = serve(config(backend, "CacheMaxFileSize 10000000"))
    got, threads = many(server, "/p/a", 6)
    end(threads)
    assert all(g.body == body for g in got) and len(backend.requests) == 1


def test_lock_off(serve, backend):
    gate = backend.scripts["/a"] = Gate(answer(b"each\n", fields=fields()))
    server = serve(config(backend, "CacheLock Off"))
    got, threads = many(server, "/p/a", 5)
    wait_until(lambda: len(backend.requests) == 5, "each one asks")
    gate.open.set()
    end(threads)
    assert all(g.body == b"each\n" for g in got)


def test_files_that_many_ask_for_at_once(serve):
    """Who waited for another loop's fetch of a file in vain runs the handlers, which count on r->handler: the configuration names none."""
    names = [f"f{i}.html" for i in range(90)]
    server = serve("EventLoops 2\nCacheEnable memory /\nRewriteEngine On\n<Directory @ROOT@/htdocs>\nRewriteEngine On\nRewriteRule ^none - [F]\nHeader set Cache-Control no-store\n</Directory>\n",
                   files={name: name * 2000 for name in names})
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(16)]
        for name in names:
            for client in clients:
                client.send(f"GET /{name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            for client in clients:
                assert client.read_response().body == name.encode() * 2000
