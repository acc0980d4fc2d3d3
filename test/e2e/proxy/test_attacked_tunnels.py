# SPDX-License-Identifier: Apache-2.0
"""Tunnels behind an Upgrade, of HTTP/1 and of HTTP/2 clients: hostile, slow and cut, on both sides. What was refused is no tunnel."""
import json
import threading

import h2_client
import pytest

from backend import Backend, answer
from brigade import wait_until
from h2_client import DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, WINDOW_UPDATE, frame, line
from http_client import Truncated
from random_peers import reset
from ssi_site import resident_kb
from trouble import sanitizer

pytestmark = pytest.mark.only("brigade")

SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
ASK = b"GET /p/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
EVIL = b"GET /p/evil HTTP/1.1\r\nHost: x\r\n\r\n"
CONFIG = """EventLoops 1
Protocols h2c http/1.1
H2WebSockets On
ProxyPass /p/ http://127.0.0.1:@PORT@/ upgrade=websocket retry=0 @MORE@
<Location /metrics>
SetHandler metrics
</Location>
"""


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def site(serve, backend, more=""):
    return serve(CONFIG.replace("@PORT@", str(backend.port)).replace("@MORE@", more))


def at_rest(server, backend):
    wait_until(lambda: json.loads(server.get("/metrics?json").body)["backends"][0]["in_flight"] == 0, "no request is left")
    wait_until(lambda: backend.open == json.loads(server.get("/metrics?json").body)["backends"][0]["idle"], "no connection but idle ones is left")


def echo(connection, _request):
    connection.send(SWITCH)
    while True:
        data = connection.buffer or connection.socket.recv(65536)
        connection.buffer = b""
        if not data:
            return False
        connection.send(data)


REFUSED = {  # no tunnel, whatever the client thinks
    "200": answer(b"no"), "403": answer(b"no", "403 No"), "426": answer(b"no", "426 Upgrade Required", [("Upgrade", "websocket"), ("Connection", "Upgrade")]),
    "200 with Upgrade": answer(b"no", fields=[("Upgrade", "websocket"), ("Connection", "Upgrade")]), "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_bytes_behind_a_refusal_are_a_request(serve, backend, kind):
    """Seen and judged by this server, and not passed on as they are."""
    backend.scripts["/ws"] = REFUSED[kind]
    server = serve(CONFIG.replace("@PORT@", str(backend.port)).replace("@MORE@", "") + "<Location /p/evil>\nRequire all denied\n</Location>\n")
    with server.connect() as client:
        client.send(ASK + EVIL)
        assert client.read_response().body == b"no"
        try:
            client.send(EVIL)
            assert client.read_response().status == 403
        except (Truncated, OSError):
            pass
    assert [r.target for r in backend.requests] == ["/ws"]
    at_rest(server, backend)


BAD_SWITCHES = {
    "not asked for": (b"GET /p/ws HTTP/1.1\r\nHost: x\r\n\r\n", SWITCH + b"evil"),
    "half a head": (ASK, SWITCH[:-2]), "nothing": (ASK, b""), "no status line": (ASK, b"Upgrade: websocket\r\n\r\n"),
}


@pytest.mark.parametrize("kind", BAD_SWITCHES)
def test_switches_that_are_none(serve, backend, kind):
    asked, sent = BAD_SWITCHES[kind]
    backend.scripts["/ws"] = lambda connection, request: connection.send(sent) or False
    server = site(serve, backend)
    with server.connect() as client:
        client.send(asked)
        got = client.read_response()
        assert got.status == 502 and b"evil" not in got.body
    at_rest(server, backend)


@pytest.mark.parametrize("end", ["closes", "resets", "half"])
@pytest.mark.parametrize("who", ["client", "backend"])
def test_each_end_at_any_time(serve, backend, who, end):
    """The other side sees it, with all bytes before it where it is no reset."""
    seen, over = [], threading.Event()

    def script(connection, _request):
        connection.send(SWITCH + b"0123456789" * 1000)
        if who == "backend":
            if end == "resets":
                reset(connection.socket)
            elif end == "half":
                connection.socket.shutdown(1)
                connection.socket.settimeout(20)
                try:
                    connection.socket.recv(1)
                except OSError:
                    pass
            return False
        data = connection.buffer
        try:
            while more := connection.socket.recv(65536):
                data += more
        except OSError:
            pass
        seen.append(data)
        over.set()
        return False
    backend.scripts["/ws"] = script
    server = site(serve, backend)
    for n in (0, 1, 50_000):
        over.clear()
        with server.connect() as client:
            client.send(ASK)
            client.read_until(b"\r\n\r\n")
            if who == "backend":
                try:
                    data = client.read_to_end()
                    assert end == "resets" or len(data) == 10_000
                except OSError:
                    assert end == "resets"
                continue
            client.send(b"x" * n)
            if end == "resets":
                reset(client.socket)
            elif end == "half":
                client.half_close()
                over.wait(20)
        if who == "client":
            assert over.wait(20) and (end == "resets" or seen[-1] == b"x" * n)
    at_rest(server, backend)


def echo_chunks(connection, _request):
    """Each chunk of the request is one of the answer."""
    connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        line = connection.until(b"\r\n")
        connection.send(line + b"\r\n" + connection.exactly(int(line, 16) + 2))
        if int(line, 16) == 0:
            return None


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tunnel", "bodies"])
def test_small_pieces_cost_nothing_that_stays(kind, serve):
    asked = {"tunnel": ASK, "bodies": b"POST /p/ws HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"}[kind]
    piece, sizes = {"tunnel": b"x", "bodies": b"1\r\nx\r\n"}[kind], []
    with Backend({"/ws": echo if kind == "tunnel" else echo_chunks}, bodies=False) as backend, site(serve, backend).connect() as client:
        client.send(asked)
        client.read_until(b"\r\n\r\n")
        if kind == "bodies":
            client.read_exactly(len(piece))
        for _ in range(3):
            for _ in range(15_000):
                client.send(piece)
                assert client.read_exactly(len(piece)) == piece
            sizes.append(resident_kb(serve.running[0]) << 10)
    assert sizes[2] - sizes[1] < (8 << 20 if sanitizer() else 400_000), sizes


@pytest.mark.parametrize("slow", ["client", "backend"])
def test_who_does_not_read_is_waited_for(serve, backend, slow):
    """With bounded memory, and without a spinning loop; others are served."""
    go, much = threading.Event(), b"y" * 30_000_000

    def script(connection, _request):
        connection.send(SWITCH)
        if slow == "client":
            connection.send(much)
            return False
        go.wait(30)
        data = len(connection.buffer)
        while data < len(much):
            data += len(connection.socket.recv(1 << 20))
        connection.send(b"all")
        return False
    backend.scripts["/ws"] = script
    server = site(serve, backend)
    with server.connect() as client:
        client.send(ASK)
        client.read_until(b"\r\n\r\n")
        sender = threading.Thread(target=lambda: client.socket.sendall(much), daemon=True)
        if slow == "backend":
            sender.start()
        for _ in range(50):
            assert server.get("/p/other").status == 200
        assert resident_kb(server) << 10 < (600 if sanitizer() else 64) << 20
        go.set()
        assert client.read_to_end() == (much if slow == "client" else b"all")
    at_rest(server, backend)


def test_a_silent_tunnel_ends(serve, backend):
    backend.scripts["/ws"] = echo
    server = site(serve, backend, "timeout=1")
    with server.connect() as client:
        client.send(ASK)
        client.read_until(b"\r\n\r\n")
        assert client.read_to_end() == b""
    at_rest(server, backend)


def ask_stream(client, path="/p/ws", stream=1):
    block = line(":method", "CONNECT") + line(":scheme", "http") + line(":path", path) + line(":authority", "x") + line(":protocol", "websocket")
    client.send(frame(HEADERS, END_HEADERS, stream, block))


@pytest.mark.parametrize("how", ["reset", "closed", "window", "overrun", "data behind the end", "backend resets", "backend cut"])
def test_streams_that_are_tunnels(serve, backend, how):
    """A hostile client of HTTP/2, and a hostile backend behind one: the tunnel ends on both sides, and the connection serves on where it may."""
    def script(connection, request):
        if how == "backend resets":
            connection.send(SWITCH + b"a")
            reset(connection.socket)
            return False
        if how == "backend cut":
            connection.send(SWITCH + b"a")
            return False
        return echo(connection, request)
    backend.scripts["/ws"] = script
    server = site(serve, backend)
    with h2_client.Connection(server.port) as client:
        ask_stream(client)
        kind, flags, _, payload = client.expect(HEADERS, RST_STREAM, stream=1)
        assert kind == HEADERS or how == "backend resets"
        if how == "reset":
            client.send(frame(DATA, 0, 1, b"x" * 1000) + frame(RST_STREAM, 0, 1, b"\0\0\0\x08"))
        elif how == "closed":
            client.send(frame(DATA, 0, 1, b"x" * 1000))
            client.sock.close()
            at_rest(server, backend)
            return
        elif how == "window":
            client.send(frame(WINDOW_UPDATE, 0, 1, b"\x7f\xff\xff\xff") * 2)
        elif how == "overrun":
            client.send((frame(DATA, 0, 1, b"x" * 16000)) * 200)
            client.sock.settimeout(20)
        elif how == "data behind the end":
            client.send(frame(DATA, END_STREAM, 1, b"x") + frame(DATA, 0, 1, b"evil"))
        if how in ("backend cut", "backend resets", "reset"):
            client.request(stream=3, path="/p/other")
            assert client.response(3)[0] == 200
        else:
            try:  # a fault of the stream or of the connection
                while client.receive()[0] not in (RST_STREAM, h2_client.GOAWAY):
                    pass
            except (OSError, h2_client.Closed):
                pass
    assert server.get("/p/other").status == 200
    at_rest(server, backend)
