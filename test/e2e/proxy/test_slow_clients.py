# SPDX-License-Identifier: Apache-2.0
"""Clients that take a backend's answer slowly: the rest waits on disk within bounds, and the backend is free long before."""
import os
import re
import resource
import socket
import threading
import time

import pytest

import effort
from backend import Backend, answer
from brigade import wait_until
from fuse_fs import HangingFolder
from h2_client import Connection as H2
from http_client import request_bytes
from tls_site import TLSClient, certificate
from trouble import filters_are_checked, sanitizer

pytestmark = pytest.mark.only("brigade")

MIB = 1 << 20
BODY = b"".join(b"%15d\n" % i for i in range(MIB // 16))


def config(backend, more="", parameters=""):
    return f"EventLoops 1\nServerLimit 1\nTimeout 600\nProxyPass /p/ http://127.0.0.1:{backend.port}/ {parameters}\n{more}\n"


@pytest.fixture
def backend():
    with Backend({"*": answer(BODY)}) as backend:
        yield backend


def slow(server, target="/p/x"):
    """A client that has asked and reads nothing yet; little of the answer fits into its socket."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(60)
    sock.connect(("127.0.0.1", server.port))
    sock.sendall(request_bytes("GET", target, headers={"Connection": "close"}))
    return sock


def rest(sock):
    data = bytearray()
    with sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        while True:
            piece = sock.recv(1 << 16)
            if not piece:
                return bytes(data).split(b"\r\n\r\n", 1)[1]
            data += piece


def resident(server, what="VmHWM"):
    """Bytes of the largest process of the server."""
    most = 0
    for pid in server.children():
        with open(f"/proc/{pid}/status") as f:
            most = max(most, int(re.search(what + r":\s+(\d+) kB", f.read())[1]) * 1024)
    return most


def spools(server):
    """Sizes of files without a name, of all processes of the server."""
    sizes = []
    for pid in server.children():
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                if re.search(r"/#\d+ \(deleted\)|brigade-output", os.readlink(f"/proc/{pid}/fd/{fd}")):
                    sizes.append(os.stat(f"/proc/{pid}/fd/{fd}").st_size)
            except OSError:
                pass
    return sizes


def served(backend, n):
    """All of so many answers were taken from the backend."""
    wait_until(lambda: len(backend.requests) == n and backend.open == backend.idle(), f"{n} answers", 60)


@pytest.fixture(autouse=True)
def answers_that_are_sent(monkeypatch):
    """Backend.idle(): connections whose last answer was taken whole."""
    busy, lock = [0], threading.Lock()
    plain = Backend._one

    def one(self, connection):
        head = connection.socket.recv(1, socket.MSG_PEEK)
        if not head:
            return False
        with lock:
            busy[0] += 1
        try:
            return plain(self, connection)
        finally:
            with lock:
                busy[0] -= 1
    monkeypatch.setattr(Backend, "_one", one)
    monkeypatch.setattr(Backend, "idle", lambda self: self.open - busy[0], raising=False)


def descriptors(n):
    """As many as there may be, at least n, for this process and the server that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < n:
        pytest.skip("too few descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def test_a_thousand_slow_clients(serve, backend):
    """Twenty connections to the backend are enough for all of them, although none has read its answer; memory stays small."""
    n = 1000
    descriptors(4 * n)
    # The sockets take little: what they took would be in none of the figures, and as much as there is memory for.
    server = serve(config(backend, "MaxRequestWorkers 64\nAsyncRequestWorkerFactor 20\nSendBufferSize 16384\n", "max=20"))
    assert server.get("/p/x").body == BODY
    clients = [slow(server) for _ in range(n)]
    served(backend, n + 1)
    assert backend.connections <= 20
    # Of 1,000. Checks between filters keep lists of buckets, and freed ones, for each connection.
    assert resident(server) < (600 if sanitizer() else 96 if filters_are_checked() else 64) * MIB
    for sock in clients[::10]:
        assert rest(sock) == BODY
    for sock in clients:
        sock.close()
    wait_until(lambda: not spools(server), "the files to go")
    assert server.get("/p/x").body == BODY


@pytest.mark.skipif(not effort.everything("minutes"), reason="a minute (TEST_LONG=minutes)")
@pytest.mark.parametrize("size", [100000, 300000])
def test_ten_thousand_clients_that_stop_reading(serve, backend, size):
    """Each has had an answer, asked for another one and reads nothing more: by a plan, and the full way."""
    n = min(10000, descriptors(10000) // 2 - 100)  # each has a socket and a file
    body = BODY[:size]
    server = serve(config(backend, "MaxRequestWorkers 64\nAsyncRequestWorkerFactor 200\nSendBufferSize 16384\nMaxKeepAliveRequests 0\n"
                          "KeepAliveTimeout 600\n", "max=20"))
    clients = []
    for _ in range(n):
        backend.scripts["*"] = answer(b"first\n")
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(60)
        sock.connect(("127.0.0.1", server.port))
        sock.sendall(request_bytes("GET", "/p/x"))
        while not sock.recv(4096).endswith(b"first\n"):
            pass
        clients.append(sock)
    backend.scripts["*"] = answer(body)
    for sock in clients:
        sock.sendall(request_bytes("GET", "/p/x", headers={"Connection": "close"}))
    served(backend, 2 * n)
    assert backend.connections <= 20
    assert resident(server) < n * MIB // 8
    for sock in clients[::100]:
        assert rest(sock) == body
    for sock in clients:
        sock.close()
    wait_until(lambda: not spools(server), "the files to go")
    assert server.get("/p/x").body == body


def tls(serve, backend, more=""):
    server = serve.unstarted("BuiltinModule ssl_module On\nLoadModule ssl_module @MODULES@/mod_ssl.so\nSSLEngine on\n"
                             "SSLCertificateFile @ROOT@/conf/cert.pem\nSSLCertificateKeyFile @ROOT@/conf/key.pem\n" + config(backend, more), modules=())
    certificate(server)
    return server.start()


def test_over_tls(serve, backend):
    backend.scripts["*"] = answer(BODY * 24)
    server = tls(serve, backend)
    clients = [TLSClient(server) for _ in range(4)]
    for c in clients:
        c.send(request_bytes("GET", "/p/x"))
    wait_until(lambda: len(spools(server)) == 4, "four files")
    served(backend, 4)
    for c in clients:
        assert c.read_response().body == BODY * 24
        c.close()
    wait_until(lambda: not spools(server), "the files to go")


def test_over_http2(serve, backend):
    """Streams whose windows stay shut."""
    backend.scripts["*"] = answer(BODY * 8)
    server = serve(config(backend, "Protocols h2c http/1.1\n"))
    with H2(server.port) as c:
        for i in range(8):
            c.request(2 * i + 1, path="/p/x")
        wait_until(lambda: len(spools(server)) == 8, "eight files")
        served(backend, 8)
    wait_until(lambda: not spools(server), "the files to go")


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_what_is_read_late_is_whole(serve, backend, framing):
    """An answer that is made in pieces, some of which are sent while others go to disk."""
    def script(connection, request):
        head = {"length": f"Content-Length: {12 * MIB}", "chunked": "Transfer-Encoding: chunked", "close": "Connection: close"}[framing]
        connection.send(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode())
        for _ in range(12):
            connection.send(b"%x\r\n%s\r\n" % (MIB, BODY) if framing == "chunked" else BODY)
        if framing == "chunked":
            connection.send(b"0\r\n\r\n")
        return None if framing != "close" else False
    backend.scripts["*"] = script
    server = serve(config(backend))
    with server.connect() as c:
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        for _ in range(2):
            c.send(request_bytes("GET", "/p/x"))
            head = c.read_exactly(1)
            wait_until(lambda: spools(server), "the file")
            c.buffer = head + c.buffer
            assert c.read_response().body == BODY * 12
    wait_until(lambda: not spools(server), "the files to go")


def test_there_is_a_limit(serve, backend):
    """Beyond it the backend waits, and all answers come whole."""
    backend.scripts["*"] = answer(BODY * 12)
    server = serve(config(backend, "OutputSpoolSize 1048576 4194304\n"))
    clients = [slow(server) for _ in range(12)]
    server.wait_for_log("OutputSpoolSize: all responses together have reached their limit")
    assert sum(spools(server)) <= 4 * MIB and all(size <= MIB for size in spools(server))
    assert server.get("/").status in (200, 403, 404)
    for sock in clients:
        assert rest(sock) == BODY * 12
    wait_until(lambda: not spools(server), "the files to go")


@pytest.mark.parametrize("how", ["off", "gone"])
def test_without_a_file_the_backend_waits(serve, backend, how):
    backend.scripts["*"] = answer(BODY * 8)
    server = serve.unstarted(config(backend, "OutputSpoolSize 0\n" if how == "off" else "OutputSpoolDir @ROOT@/gone\n"))
    os.mkdir(server.path("gone"))
    server.start()
    assert server.get("/p/x").body == BODY * 8
    os.rmdir(server.path("gone"))
    sock = slow(server)
    if how == "gone":
        server.wait_for_log("cannot write output")
    assert backend.idle() < backend.open or not spools(server)
    assert rest(sock) == BODY * 8


@pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/fuse"), reason="needs root and /dev/fuse")
def test_a_disk_that_hangs_stops_nobody(serve, backend):
    """What was given to it is sent from memory."""
    backend.scripts["*"] = answer(BODY * 8)
    server = serve.unstarted(config(backend, "OutputSpoolDir @ROOT@/hung\n"))
    os.mkdir(server.path("hung"))
    server.start()
    assert server.get("/p/x").body == BODY * 8  # the configuration was read twice
    try:
        folder = HangingFolder(server.path("hung"), {"a": b"a"})
    except OSError as e:
        pytest.skip(f"no FUSE here: {e}")
    with folder:
        folder.hang()
        clients = [slow(server) for _ in range(4)]
        wait_until(lambda: folder.asked >= 1, "the disk to be asked")
        began = time.monotonic()
        for _ in range(20):
            assert server.get("/p/x").body == BODY * 8
        assert time.monotonic() - began < 20
        for sock in clients:
            assert rest(sock) == BODY * 8


def test_a_client_that_leaves_takes_its_file_along(serve, backend):
    backend.scripts["*"] = answer(BODY * 8)
    server = serve(config(backend))
    clients = [slow(server) for _ in range(4)]
    served(backend, 4)
    wait_until(lambda: len(spools(server)) == 4, "four files")
    for sock in clients:
        sock.close()
    wait_until(lambda: not spools(server), "the files to go")
