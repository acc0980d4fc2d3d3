# SPDX-License-Identifier: Apache-2.0
"""Handlers that wait on their event loop (brigade/wait.h): for time, descriptors, threads, bodies and room; with redirects, error
documents, HTTP/2, and clients that leave. Each with the handler on the loop and, where its module declares nothing, on a worker."""
import re
import signal
import socket
import threading

import pytest

import brigade
import h2_client
from brigade import wait_until
from trouble import compiled

pytestmark = pytest.mark.only("brigade")
CONFIG = """
<Location "/w/">
    SetHandler waits
</Location>
<Location "/page/">
    Options +Includes
    SetOutputFilter INCLUDES
</Location>
<Location "/auth/">
    Require expr "%{REMOTE_USER} == 'someone'"
</Location>
<Location "/any/">
    Satisfy any
    Require expr "%{REMOTE_USER} == 'someone'"
</Location>
<Location "/lost/">
    ErrorDocument 404 /auth/a.txt
</Location>
ErrorDocument 409 /w/twice
Alias /to /nowhere
Redirect 409 /teapot
CustomLog logs/access_log "status %>s of %U"
Timeout 20
Protocols h2c http/1.1
"""
FILES = {"a.txt": "plain\n", "auth/a.txt": "for users\n", "any/a.txt": "for any\n",
         "page/auth.shtml": '[<!--#include virtual="/auth/a.txt?1" -->]', "page/p.shtml": '[<!--#include virtual="/w/time?1" -->]'}


@pytest.fixture(params=["loop", "worker"])
def server(request, serve):
    env = {"WAITS_UNDECLARED": "1"} if request.param == "worker" else {}
    return serve(f'LoadModule waits_module "{compiled("mod_waits")}"\nEventLoops 1\n' + CONFIG, FILES, env=env)


def counts(server):
    return [int(n) for n in server.get("/w/count").body.split()]


@pytest.mark.parametrize("path, body", [("/w/time?5", b"time\n"), ("/w/pipe", b"pipe\n"), ("/w/thread?5", b"thread\n"),
                                        ("/w/thread?2000", b"time is up\n"), ("/w/twice", b"first time\n")])
def test_kinds(server, path, body):
    for _ in range(3):
        answer = server.get(path)
        assert answer.status == 200 and answer.body == body
    assert server.get("/a.txt").body == b"plain\n"
    began, went_on, gone = counts(server)
    assert began == went_on and gone == 0


def test_statuses(server):
    assert server.get("/w/status?503").status == 503
    assert server.get("/w/status?404").status == 404
    answer = server.get("/w/status?409")  # its error document waits, too
    assert answer.status == 409 and answer.body == b"first time\n"
    answer = server.get("/teapot")
    assert answer.status == 409 and answer.body == b"first time\n"
    logged = wait_until(lambda: (found := re.findall(r"status (\d+)", server.read("logs/access_log").decode())) and found[3:] and found, "log lines")
    assert logged == ["503", "404", "409", "409"]


def test_a_sub_request_cannot_wait(server):
    assert server.get("/page/p.shtml").body == b"[not possible\n]"


def test_pipelined_requests_keep_their_order(server):
    with server.connect() as client:
        client.send(b"".join(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path for path in
                             (b"/a.txt", b"/w/time?30", b"/a.txt", b"/w/pipe", b"/w/time?1", b"/a.txt")))
        assert [client.read_response().body for _ in range(6)] == [b"plain\n", b"time\n", b"plain\n", b"pipe\n", b"time\n", b"plain\n"]


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_body(server, framing):
    pieces = [bytes([65 + n]) * (n * 997 + 1) for n in range(20)]
    with server.connect() as client:
        head = b"Content-Length: %d" % sum(map(len, pieces)) if framing == "length" else b"Transfer-Encoding: chunked"
        client.send(b"POST /w/echo HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n\r\n")
        for piece in pieces:
            client.send(piece if framing == "length" else b"%x\r\n%b\r\n" % (len(piece), piece))
        if framing == "chunked":
            client.send(b"0\r\n\r\n")
        assert client.read_response().body == b"".join(pieces)
        client.send(b"GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.read_response().body == b"plain\n"


def test_room(server, request):
    """A client that reads slowly: the handler goes on when there is room, and memory is bounded."""
    answer = server.get("/w/flood?20000")
    assert len(answer.body) == 20000 * 1024 and set(answer.body) == {ord("f")}
    began, went_on, _ = counts(server)
    assert began == went_on
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(b"GET /w/flood?400000 HTTP/1.0\r\n\r\n")
        if "loop" in request.node.name:  # a worker waits by itself
            wait_until(lambda: counts(server)[0] > began, "the handler waits for room")
        assert server.get("/w/time?1").body == b"time\n"  # others are served meanwhile


def test_clients_that_leave(server):
    clients = []
    for _ in range(20):
        client = socket.create_connection(("127.0.0.1", server.port))
        client.sendall(b"GET /w/long HTTP/1.1\r\nHost: x\r\n\r\n")
        clients.append(client)
    wait_until(lambda: counts(server)[0] == 20, "they wait")
    for client in clients[:10]:
        client.close()
    wait_until(lambda: counts(server)[2] == 10, "ten are given up")
    for client in clients[10:]:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()  # a reset
    wait_until(lambda: counts(server)[2] == 20, "all are given up")
    assert server.get("/a.txt").body == b"plain\n"


def test_the_end_of_sending_is_no_leaving(server):
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET /w/time?200 HTTP/1.0\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        received = b""
        while data := client.recv(4096):
            received += data
    assert received.startswith(b"HTTP/1.1 200") and received.endswith(b"time\n")


def test_streams_wait_at_the_same_time(server):
    """Of 60 streams of one connection 20 are reset; the others come back, and the connection goes on."""
    with h2_client.Connection(server.port) as connection:
        for n in range(60):
            connection.request(stream=2 * n + 1, path="/w/time?50" if n % 3 else "/w/long")
        wait_until(lambda: counts(server)[0] == 60, "they wait")
        for n in range(0, 60, 3):
            connection.send(h2_client.frame(h2_client.RST_STREAM, stream=2 * n + 1, payload=b"\0\0\0\x08"))
        ended = set()
        while len(ended) < 40:
            _, flags, stream, _ = connection.expect(h2_client.HEADERS, h2_client.DATA)
            ended |= {stream} if flags & h2_client.END_STREAM else set()
        assert ended == {2 * n + 1 for n in range(60) if n % 3}
        wait_until(lambda: counts(server)[2] == 20, "twenty are given up")


def test_graceful_stop_waits(server):
    said = []
    thread = threading.Thread(target=lambda: said.append(server.get("/w/time?500").body))
    thread.start()
    wait_until(lambda: counts(server)[0] >= 1, "it waits")
    server.signal(signal.SIGWINCH)
    thread.join()
    assert said == [b"time\n"]


def test_stop_gives_up(server):
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET /w/long HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_until(lambda: counts(server)[0] == 1, "it waits")
        server.stop()
        assert client.recv(100) == b""


# ---- hooks of access control ----

def asked(server, path, waits):
    return server.get(path, headers={"X-Waits": waits})


@pytest.mark.parametrize("waits, status", [("user", 200), ("user twice", 200), ("user access", 200), ("user access twice", 200),
                                           ("nobody", 401), ("refuse", 403), ("refuse access", 403)])
def test_access(server, waits, status):
    for _ in range(3):
        answer = asked(server, "/auth/a.txt?5", waits)
        assert answer.status == status
        assert answer.body == b"for users\n" or status != 200
    began, went_on, gone = counts(server)
    assert began == went_on and began >= 3 * (1 + ("twice" in waits)) and gone == 0


def test_access_satisfy_any(server):
    """A wait is no refusal by address, after which the user would be asked for, and no permission."""
    assert asked(server, "/any/a.txt?5", "access").status == 200
    assert asked(server, "/any/a.txt?5", "access refuse").status == 403


def test_access_then_a_handler_that_waits(server):
    assert asked(server, "/w/time?5", "access").body == b"time\n"
    began, went_on, gone = counts(server)
    assert began == went_on == 2 and gone == 0


@pytest.mark.parametrize("path", ["/page/auth.shtml", "/lost/nothing"])
def test_access_of_sub_requests_and_redirects_cannot_wait(server, path):
    assert b"for users" not in server.get(path).body
    assert counts(server)[0] == 0


def test_access_clients_that_leave(server):
    clients = []
    for _ in range(10):
        client = socket.create_connection(("127.0.0.1", server.port))
        client.sendall(b"GET /auth/a.txt HTTP/1.1\r\nHost: x\r\nX-Waits: long\r\n\r\n")
        clients.append(client)
    wait_until(lambda: counts(server)[0] == 10, "they wait")
    for client in clients:
        client.close()
    wait_until(lambda: counts(server)[2] == 10, "all are given up")
    assert asked(server, "/auth/a.txt?1", "user").body == b"for users\n"


def test_access_of_streams(server):
    with h2_client.Connection(server.port) as connection:
        for n in range(20):
            connection.request(stream=2 * n + 1, path="/auth/a.txt?20", fields=[("x-waits", "user access")])
        ended = set()
        while len(ended) < 20:
            _, flags, stream, _ = connection.expect(h2_client.HEADERS, h2_client.DATA)
            ended |= {stream} if flags & h2_client.END_STREAM else set()
    assert counts(server)[2] == 0
