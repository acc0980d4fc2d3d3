# SPDX-License-Identifier: Apache-2.0
"""Backends and clients on bad days: answers that are none, that are cut, or that do not come; clients that leave."""
import os
import re
import signal
import socket
import struct
import threading

import pytest

from backend import Backend, answer, proxied as config
from brigade import wait_until
from http_client import Client
from ports import connected_to

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def garbage(data):
    return lambda connection, request: connection.send(data) or False


BAD = {
    "nothing": (b"", 502), "garbage": (b"garbage\r\n\r\n", 502), "half a line": (b"HTTP/1.1 20", 502), "half a head": (b"HTTP/1.1 200 OK\r\nA: b\r\n", 502),
    "two lengths": (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc", 502),
    "length and chunks": (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 502),
    "negative": (b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n", 502), "coding": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", 502),
    "uncalled 101": (b"HTTP/1.1 101 Switching\r\n\r\n", 502), "endless head": (b"HTTP/1.1 200 OK\r\n" + b"A: " + b"x" * 3000000, 502),
    "endless fields": (b"HTTP/1.1 200 OK\r\n" + b"A: x\r\n" * 300000, 502), "HTTP/2": (b"HTTP/2 200 OK\r\n\r\n", 502),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_answers(serve, backend, kind):
    data, status = BAD[kind]
    backend.scripts["/bad"] = garbage(data)
    server = serve(config(backend))
    got = server.get("/p/bad")
    assert got.status == status
    assert server.get("/p/good").status == 200
    assert re.search(rb"proxy.*127.0.0.1", server.read("logs/error_log"))


@pytest.mark.parametrize("data", [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
                                  b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"])
def test_cut_bodies(serve, backend, data):
    backend.scripts["/cut"] = garbage(data)
    server = serve(config(backend))
    with server.connect() as client:
        client.send(b"GET /p/cut HTTP/1.1\r\nHost: x\r\n\r\n")
        all_of_it = client.read_to_end()
    assert not all_of_it.endswith(b"0\r\n\r\n"), "a client must see that it was cut"
    assert server.get("/p/good").status == 200


def test_refused(serve):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    server = serve(f"ProxyPass /p/ http://127.0.0.1:{port}/ retry=0")
    assert server.get("/p/x").status == 503
    assert b"AH00957" in server.read("logs/error_log") and b"AH01114" in server.read("logs/error_log")


def test_no_name(serve):
    server = serve("ProxyPass /p/ http://no.such.host.invalid/")
    assert server.get("/p/x").status == 500  # as Apache
    assert server.get("/").status != 500


def test_silence(serve, backend):
    held = threading.Event()
    backend.scripts["/silent"] = lambda connection, request: held.wait(20) and False
    server = serve(config(backend, parameters="timeout=1"))
    assert server.get("/p/silent").status == 504
    held.set()
    assert server.get("/p/x").status == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
def test_a_kept_connection_that_closes(serve, backend, method):
    """It closes when the next request is on its way: nothing is lost, and POST is never sent twice."""
    seen = []

    def script(connection, request):
        if connection.served == 1:
            return answer()
        seen.append(request.line)
        if len(seen) == 1:
            return False
        return answer()
    backend.scripts["*"] = script
    server = serve(config(backend))
    assert server.get("/p/first").status == 200
    backend.scripts["*"] = lambda connection, request: False if connection.served == 2 and not seen.append(1) else answer()
    got = server.request(method, "/p/second", body=b"x" if method != "GET" else b"")
    assert got.status == (502 if method == "POST" else 200)
    assert len([r for r in backend.requests if r.target == "/second"]) == (1 if method == "POST" else 2)


def test_a_backend_that_goes_while_it_is_sent_to(serve, backend):
    """The request is in memory: another member gets it."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = serve(f"""EventLoops 1
<Proxy balancer://b>
BalancerMember http://127.0.0.1:{listener.getsockname()[1]} retry=0
BalancerMember http://127.0.0.1:{backend.port} retry=0 status=+H
</Proxy>
ProxyPass /p/ balancer://b/
""")
        body = bytes(range(256)) * 240
        with server.connect() as client:
            client.send(b"PUT /p/x HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            sock, _ = listener.accept()
            assert sock.recv(1000).startswith(b"PUT /x ")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
            got = client.read_response()
    assert got.status == 200 and got.body == b"ok\n"
    assert [request.body for request in backend.requests] == [body]


def test_a_backend_that_restarts(serve, backend):
    server = serve(config(backend))
    for _ in range(20):
        assert server.get("/p/x").status == 200
        backend.close_connections()
        # On a busy machine the end of a connection can come later than a request that was sent after it.
        wait_until(lambda: backend.open == 0 and not connected_to(backend.port), "closed by both")
        assert server.request("POST", "/p/x", body=b"data").status == 200


def test_unasked_bytes(serve, backend):
    """What follows an answer is not the next one's."""
    backend.scripts["/more"] = answer() + answer(b"evil\n")
    server = serve(config(backend))
    for _ in range(3):
        assert server.get("/p/more").body == b"ok\n"
        assert server.get("/p/next").body == b"ok\n"


@pytest.mark.parametrize("size", [70000, 98304, 400000])
def test_unasked_bytes_behind_a_long_answer(serve, backend, size):
    """A long body is read past its end: what stands there is nobody's, however long it is."""
    body = bytes(range(251)) * (size // 251) + b"z" * (size % 251)
    for n, more in enumerate((answer(b"evil\n"), b"y" * 3, answer(b"evil\n" * 30000))):
        backend.scripts[f"/more{n}"] = answer(body) + more
    server = serve(config(backend))
    for n in range(9):
        assert server.get(f"/p/more{n % 3}").body == body
        assert server.get("/p/next").body == b"ok\n"


@pytest.mark.parametrize("sent", [32768, 40000, 100000, 300000])
def test_long_answers_that_are_cut(serve, backend, sent):
    """What came of it goes to the client, who sees that it is cut."""
    whole = answer(bytes(range(256)) * 2000)
    backend.scripts["/cut"] = garbage(whole[:sent])
    server = serve(config(backend))
    for _ in range(3):
        with server.connect() as client:
            client.send(b"GET /p/cut HTTP/1.1\r\nHost: x\r\n\r\n")
            head, _, body = client.read_to_end().partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200") and b"Content-Length: 512000" in head
        assert body == whole[:sent].partition(b"\r\n\r\n")[2]
    assert server.get("/p/good").status == 200


def test_the_beginning_of_a_long_answer_is_sent_at_once(serve, backend):
    """Where the rest is not here yet."""
    go = threading.Event()
    whole = answer(b"a" * 32768 + b"b" * 300000)

    def script(connection, request):
        connection.send(whole[:32768])
        go.wait(30)
        return whole[32768:]
    backend.scripts["/slow"] = script
    server = serve(config(backend))
    with server.connect() as client:
        client.send(b"GET /p/slow HTTP/1.1\r\nHost: x\r\n\r\n")
        data = client.socket.recv(100)
        assert data.startswith(b"HTTP/1.1 200")
        go.set()
        while len(data) < len(whole):
            more = client.socket.recv(65536)
            assert more
            data += more
        assert data.endswith(b"b" * 300000)


def test_clients_that_leave(serve, backend):
    held = threading.Event()
    backend.scripts["/slow"] = lambda connection, request: held.wait(20) and answer()
    server = serve(config(backend))
    for _ in range(5):
        with server.connect() as client:
            client.send(b"GET /p/slow HTTP/1.1\r\nHost: x\r\n\r\n")
            n = len(backend.requests)
            wait_until(lambda: len(backend.requests) > n or backend.open, "the request is there")
    held.set()
    wait_until(lambda: backend.open == 0, "connections of clients that left are closed")
    assert server.get("/p/x").status == 200


@pytest.mark.parametrize("times", [1, 8])
@pytest.mark.parametrize("last", [False, True])
def test_clients_that_leave_with_their_request(serve, backend, last, times):
    """The end of their input is there when the request is read, also of what was asked for often enough for a plan. Who says that it is the
    last one may have ended its sending alone."""
    held = threading.Event()
    backend.scripts["/slow"] = lambda connection, request: (len(backend.requests) <= times or held.wait(40)) and answer(b"late")
    server = serve(config(backend))
    with Client("127.0.0.1", server.port, 20) as client:
        for _ in range(times):  # the loop waits for this connection's events
            assert client.get("/p/slow").status == 200
        for process in server.children():
            os.kill(process, signal.SIGSTOP)
        client.send(f"GET /p/slow HTTP/1.1\r\nHost: localhost\r\n{'Connection: close' if last else 'X-A: b'}\r\n\r\n")
        client.half_close()
        for process in server.children():
            os.kill(process, signal.SIGCONT)
        wait_until(lambda: len(backend.requests) == times + 1, "the request is there")
        if last:
            held.set()
            assert client.read_response().body == b"late"
        else:
            assert client.at_end()
            held.set()
    wait_until(lambda: backend.open == last, "its connection is closed")


def test_clients_that_do_not_read(serve, backend):
    backend.scripts["/big"] = answer(b"x" * 30000000)
    server = serve(config(backend))
    clients = [server.connect() for _ in range(20)]
    for client in clients:
        client.send(b"GET /p/big HTTP/1.1\r\nHost: x\r\n\r\n")
    assert server.get("/p/x").status == 200
    for client in clients[:5]:
        assert len(client.read_response().body) == 30000000
    for client in clients:
        client.close()
    assert server.get("/p/x").status == 200


def test_an_answer_before_the_body_ends(serve):
    def script(connection, request):
        connection.send(answer(b"early\n", "403 Forbidden"))
        return False
    with Backend({"/early": script}, bodies=False) as backend:
        server = serve(config(backend))
        with server.connect() as client:
            client.send(b"POST /p/early HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 100000)
            got = client.read_response()
            assert got.status == 403 and got.body == b"early\n"
        assert server.get("/p/x").status == 200
