# SPDX-License-Identifier: Apache-2.0
"""Clients that are slow, silent, many, greedy or gone."""
import os
import random
import resource
import select
import socket
import threading
import time

import pytest

from brigade import wait_until
from http_client import Truncated, request_bytes
from trouble import (STATUS, answers, descriptors, memory, reset, sanitizer, slow_client, status,
                     wait_for_connections, with_trouble)

HALF = b"POST /a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf"


def pattern(n):
    """Bytes that differ everywhere, so that a piece at the wrong place is seen."""
    return b"".join(b"%07d\n" % i for i in range(n // 8 + 1))[:n]


FILES = {"index.html": "home\n", "a.txt": "A\n", "s.txt": pattern(900), "m.txt": pattern(30_000),
         "l.bin": pattern(200_000), "xl.bin": pattern(3_000_000), "d/one": "1", "d/two": "2"}


@pytest.fixture(scope="module", params=["remembered", "full"])
def server(serve_module, request):
    """One that answers from memory what it can, and one where a module that declares nothing forbids that."""
    server = serve_module("EventLoops 2\nServerLimit 1\nThreadsPerChild 16\nMaxKeepAliveRequests 0\nKeepAliveTimeout 20\n"
                          "SendBufferSize 60000\n" + STATUS + (with_trouble() if request.param == "full" else ""), FILES)
    server.remembers = request.param == "remembered"
    for name in FILES:
        os.utime(server.path("htdocs", name), (1_500_000_000, 1_500_000_000))
    return server


@pytest.fixture
def full(server):
    if server.remembers:
        pytest.skip("needs the module")
    return server


def need_module(server, target):
    if server.remembers and target.startswith("/trouble"):
        pytest.skip("needs the module")


# ---- Many requests on one connection --------------------------------------------------------------------------

KINDS = [
    ("GET", "/a.txt", {}, b""), ("GET", "/s.txt", {}, b""), ("GET", "/m.txt", {}, b""), ("HEAD", "/m.txt", {}, b""),
    ("GET", "/l.bin", {}, b""), ("GET", "/l.bin", {"Range": "bytes=1000-150999"}, b""), ("GET", "/missing", {}, b""),
    ("GET", "/s.txt", {"Range": "bytes=5-9"}, b""), ("POST", "/a.txt", {}, b"x" * 5000), ("GET", "/", {}, b""),
    ("OPTIONS", "/a.txt", {}, b""), ("GET", "/d/", {}, b""), ("GET", "/s.txt", {"If-None-Match": "*"}, b""),
    ("POST", "/s.txt", {"Transfer-Encoding": "chunked"}, b"5\r\nhello\r\n0\r\n\r\n"),
    ("POST", "/trouble?read", {}, b"y" * 3000), ("GET", "/trouble?lines=30", {}, b""), ("GET", "/trouble?wait=3", {}, b""),
]


class Pipeline:
    """Requests of all kinds in any order, and what must come back."""

    def __init__(self, server):
        self.kinds = [k for k in KINDS if not (server.remembers and k[1].startswith("/trouble"))]
        for _ in range(4):  # so that what may be remembered is
            found = [server.request(*kind) for kind in self.kinds]
        self.expected = [(r.status, r.body) for r in found]
        assert [s for s, _ in self.expected].count(200) == len(self.kinds) - 4

    def choose(self, seed, n):
        return random.Random(seed).choices(range(len(self.kinds)), k=n)

    def run(self, c, chosen, piece=1 << 20):
        data = b"".join(request_bytes(*self.kinds[kind]) for kind in chosen)

        def send():
            for at in range(0, len(data), piece):
                c.send(data[at:at + piece])
        sender = threading.Thread(target=send)
        sender.start()
        for n, kind in enumerate(chosen):
            r = c.read_response(self.kinds[kind][0])
            assert (r.status, r.body) == self.expected[kind], (n, self.kinds[kind], r, len(r.body))
        sender.join()


@pytest.fixture(scope="module")
def pipeline(server):
    return Pipeline(server)


@pytest.mark.threads
@pytest.mark.parametrize("seed", range(2))
def test_pipelined_mixture(server, pipeline, seed):
    """Hundreds of requests of all kinds sent at once: every answer, whole and in order."""
    with server.connect() as c:
        pipeline.run(c, pipeline.choose(seed, 200))


@pytest.mark.threads
@pytest.mark.parametrize("seed", range(2))
def test_pipelined_mixture_slowly_read(server, pipeline, seed):
    """As above, with a client that takes little at a time: nothing is lost, doubled or out of order."""
    with slow_client(server) as c:
        pipeline.run(c, pipeline.choose(100 + seed, 100))


@pytest.mark.threads
@pytest.mark.parametrize("piece", [1, 7, 61, 1000])
def test_pipelined_in_pieces(server, pipeline, piece):
    """Requests cut anywhere."""
    with server.connect() as c:
        pipeline.run(c, pipeline.choose(piece, 8 if piece == 1 else 40), piece)


@pytest.mark.parametrize("target", ["/a.txt", "/s.txt", "/l.bin", "/missing", "/trouble?lines=3"])
def test_hundreds_of_the_same(server, target):
    need_module(server, target)
    wanted = server.get(target).body
    with server.connect() as c:
        count = 20 if target == "/l.bin" else 400
        sender = threading.Thread(target=lambda: c.send(request_bytes("GET", target) * count))
        sender.start()
        for _ in range(count):
            assert c.read_response().body == wanted
        sender.join()


def test_requests_without_reading_are_not_kept_without_limit(server):
    """A client that asks and never reads: its questions stay in its own system, the answers are not piled up."""
    child = server.children()[0]
    server.get("/m.txt")
    before = memory(child)
    with slow_client(server) as c:
        c.socket.setblocking(False)
        data, sent = request_bytes("GET", "/m.txt") * 1000, 0
        while sent < 20_000_000 and select.select([], [c.socket], [], 0.3)[1]:
            sent += c.socket.send(data)
        assert sent < 20_000_000, "the server takes whatever is sent"
        assert memory(child) - before < (80 if sanitizer() else 12) << 20
    assert answers(server)


# ---- Slow and silent ------------------------------------------------------------------------------------------

@pytest.mark.slow
@pytest.mark.parametrize("target", ["/xl.bin", "/l.bin", "/m.txt"])
@pytest.mark.parametrize("config", ["", "EnableSendfile On\n"])
def test_reader_that_stops(serve, target, config):
    """After Timeout without progress the connection ends; what the client keeps sending does not prolong it."""
    server = serve("Timeout 1\n" + config + STATUS, FILES)
    with slow_client(server) as c:
        c.send(request_bytes("GET", target) * 400)
        wait_until(lambda: status(server)["totals"]["connections"]["writing"] == 1, "a blocked writer")

        def gone():
            try:
                c.socket.send(b"X", socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass
            except OSError:
                return True
            return False
        begin = time.monotonic()
        wait_until(lambda: gone() or not status(server)["totals"]["connections"]["writing"], "the end of the connection")
        assert 0.3 < time.monotonic() - begin < 8
    wait_for_connections(server, 0)


@pytest.mark.slow
def test_slow_reader_that_goes_on_is_served(serve):
    """Longer than Timeout in all, but never silent for so long."""
    server = serve("Timeout 1\nEnableSendfile On\nSendBufferSize 65536\n", {"xl.bin": pattern(8_000_000)})
    with slow_client(server, 200_000) as c:
        c.send(request_bytes("GET", "/xl.bin"))
        head = c.read_head()
        begin, got = time.monotonic(), [c.buffer]
        while time.monotonic() - begin < 2.5:
            select.select([], [], [], 0.1)
            got.append(c.socket.recv(50_000))
        c.buffer = b"".join(got)
        assert len(c.buffer) < 4_000_000
        assert c.read_exactly(int(head["Content-Length"])) == pattern(8_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("body,wanted", [(b"some", (408, 400)), (b"", (408, 400))])
def test_body_that_does_not_come(serve, body, wanted):
    server = serve("RequestReadTimeout header=5 body=1\n" + STATUS + with_trouble(), FILES)
    for target in ("/trouble?read", "/a.txt"):
        with server.connect() as c:
            c.send(f"POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n".encode() + body)
            begin = time.monotonic()
            r = c.read_response()
            assert r.status in wanted and c.at_end(), r
            assert 0.5 < time.monotonic() - begin < 8
    wait_for_connections(server, 0)


def test_body_below_the_rate(serve):
    """Bytes come all the time, but too few of them."""
    server = serve("RequestReadTimeout header=5 body=1-2,MinRate=5000\n" + with_trouble(), FILES)
    with server.connect() as c:
        c.send("POST /trouble?read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
        begin = time.monotonic()
        while not select.select([c.socket], [], [], 0.01)[0]:
            assert time.monotonic() - begin < 10, "no end"
            c.send(b"x")
        assert c.read_response().status in (400, 408)


def test_pipelining_does_not_use_up_the_time_of_a_head(serve):
    """A connection that always has the beginning of a next request in hand is not a slow one."""
    server = serve("RequestReadTimeout header=1\nMaxKeepAliveRequests 0\n", FILES)
    one = request_bytes("GET", "/a.txt")
    begin = time.monotonic()
    with server.connect() as c:
        c.send(one[:10])
        while time.monotonic() - begin < 2.2:
            c.send(one[10:] + one[:10])
            assert c.read_response().status == 200


def idle_clients(server, n):
    clients = []
    for _ in range(n):
        s = socket.create_connection((server.address, server.port), timeout=20)
        clients.append(s)
        s.sendall(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for s in clients:
        assert s.recv(1000).endswith(b"A\n")
    return clients


@pytest.mark.threads
@pytest.mark.parametrize("remembered,bytes_each", [(True, 1000), (False, 40_000)])
def test_thousands_of_idle_connections(serve, remembered, bytes_each):
    """10,000 if the system lets us: each costs little, others are served, and their end gives everything back."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wanted = min(10_000 if remembered and not sanitizer() else 2_000, hard // 2 - 500)
    server = serve("KeepAliveTimeout 60\n" + STATUS + ("" if remembered else with_trouble()), FILES)
    os.utime(server.path("htdocs/a.txt"), (1_500_000_000, 1_500_000_000))
    for _ in range(20):
        server.get("/a.txt")
    child, clients = server.children()[0], []
    files, before = descriptors(child), memory(child)
    try:
        clients = idle_clients(server, wanted)
        wait_until(lambda: status(server)["totals"]["connections"]["keepalive"] >= wanted, "idle connections")
        if not sanitizer():
            assert (memory(child) - before) / wanted < bytes_each
        begin = time.monotonic()
        for _ in range(20):
            assert answers(server, "/m.txt", FILES["m.txt"])
        assert time.monotonic() - begin < 5
        for s in clients[::50]:
            s.sendall(b"GET /s.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert FILES["s.txt"] in s.recv(5000)
    finally:
        for s in clients:
            s.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    wait_for_connections(server, 0)
    wait_until(lambda: descriptors(child) <= files + 8, "descriptors to be closed")


# ---- Gone -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("target,length", [("/a.txt", 2), ("/xl.bin", 3_000_000), ("/trouble?lines=20", None)])
@pytest.mark.parametrize("when", ["together", "behind", "later"])
@pytest.mark.parametrize("warm", [False, True])
def test_half_close_gets_the_whole_answer(server, target, length, when, warm):
    """The client says that it sends no more, in the packet of its request or later: answer, then the end at once."""
    need_module(server, target)
    with server.connect() as c:
        if warm:
            assert c.get("/a.txt").status == 200
        if when == "together":
            c.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        c.send(request_bytes("GET", target))
        if when == "later":
            wait_until(lambda: select.select([c.socket], [], [], 0)[0], "the answer")
        begin = time.monotonic()
        c.half_close()
        r = c.read_response()
        assert length is None or len(r.body) == length
        assert c.at_end() and time.monotonic() - begin < 5


def test_half_close_between_requests(server):
    with server.connect() as c:
        c.get("/a.txt")
        begin = time.monotonic()
        c.half_close()
        assert c.at_end() and time.monotonic() - begin < 3


VANISH = [b"", b"G", request_bytes("GET", "/a.txt")[:-3], request_bytes("GET", "/a.txt"), request_bytes("GET", "/xl.bin"),
          request_bytes("GET", "/l.bin") * 30, HALF, request_bytes("POST", "/trouble?read", {"Content-Length": "9"}),
          request_bytes("GET", "/trouble?lines=5000"), request_bytes("GET", "/trouble?wait=20"),
          HALF.replace(b"Content-Length: 10", b"Transfer-Encoding: chunked"), request_bytes("GET", "/a.txt") * 100 + b"GET"]


@pytest.mark.threads
def test_flood_of_resets(server):
    """Clients that vanish at every moment: no descriptor and no connection is left behind."""
    child = server.children()[0]
    wait_for_connections(server, 0)
    before = descriptors(child)
    for turn in range(20 if sanitizer() else 40):
        clients = []
        for data in VANISH:
            c = slow_client(server) if turn % 3 == 0 else server.connect()
            c.send(data)
            clients.append(c)
        for n, c in enumerate(clients):
            if turn % 2:
                c.socket.setblocking(False)
                try:
                    c.socket.recv(10)
                except BlockingIOError:
                    pass
            reset(c) if (n + turn) % 2 else c.close()
    assert answers(server, "/xl.bin", FILES["xl.bin"])
    wait_for_connections(server, 0)
    wait_until(lambda: descriptors(child) <= before + 8, f"descriptors ({before} before, {descriptors(child)} after)")
    assert server.children() == [child]


# ---- Bodies ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("target", ["/a.txt", "/trouble?read", "/missing"])
def test_large_upload(server, target, chunked):
    """All of it is taken, and the connection goes on behind it."""
    need_module(server, target)
    size = 8_000_000
    body = pattern(size)
    with server.connect() as c:
        fields = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
        c.send(f"POST {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n\r\n")
        if chunked:
            for at in range(0, size, 100_000):
                piece = body[at:at + 100_000]
                c.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            c.send(b"0\r\nTrailer: x\r\n\r\n")
        else:
            c.send(body)
        r = c.read_response()
        if target == "/trouble?read":
            assert r.body == b"%d bytes, sum %d\n" % (size, sum(body))
        else:
            assert r.status == (404 if target == "/missing" else 200)
        if r["Connection"] != "close":
            assert c.get("/s.txt").body == FILES["s.txt"]


@pytest.mark.parametrize("target,interim", [("/trouble?read", True), ("/a.txt", None), ("/missing", None)])
def test_expectation(server, target, interim):
    """The body comes after 100, or not at all; then the connection ends, since nobody knows what is next."""
    need_module(server, target)
    with server.connect() as c:
        c.send(f"POST {target} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        r = c.read_response(interim=True)
        assert interim is None or (r.status == 100) == interim, r
        if r.status == 100:
            c.send(b"hello" + request_bytes("GET", "/s.txt"))
            assert c.read_response().status in (200, 404)
            assert c.read_response().body == FILES["s.txt"]
        else:
            assert r["Connection"] == "close" and c.at_end()


@pytest.mark.threads
def test_more_bodies_than_workers(serve):
    """More than ThreadsPerChild requests wait for their bodies; files are served meanwhile."""
    server = serve("EventLoops 1\nServerLimit 1\nThreadsPerChild 2\n" + STATUS, FILES)
    clients = [server.connect() for _ in range(40)]
    try:
        for c in clients:
            c.send("POST /s.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhel")
        wait_until(lambda: status(server)["totals"]["connections"]["reading"] >= 40, "requests that wait for their bodies")
        for _ in range(50):
            assert answers(server, "/a.txt", b"A\n")
        for c in clients:
            c.send("lo")
        for c in clients:
            assert c.read_response().body == FILES["s.txt"]
    finally:
        for c in clients:
            c.close()


@pytest.mark.threads
def test_many_at_once_on_workers(full):
    server = full
    failed = []

    def client(n):
        try:
            with server.connect() as c:
                for i in range(40):
                    body = pattern(n * 37 + i * 11)
                    r = c.request("POST", "/trouble?read", body=body, headers={"Content-Length": str(len(body))})
                    if r.body != b"%d bytes, sum %d\n" % (len(body), sum(body)):
                        failed.append((n, i, r))
        except (OSError, Truncated) as e:
            failed.append((n, e))
    threads = [threading.Thread(target=client, args=(n,)) for n in range(30)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failed == []
    # A client has its answer a moment before the loop has the connection back; the page itself runs on a worker.
    wait_until(lambda: status(server)["totals"]["connections"]["busy"] <= 1, "the workers to be done")
    assert status(server)["totals"]["duration"] > 0
