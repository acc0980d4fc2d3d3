# SPDX-License-Identifier: Apache-2.0
"""The kinds of cases of WebSocket conformance suites through tunnels: what a server (wsproto) reads and what its client gets is what they
would without a proxy between them, to the byte. WSPROTO=FOLDER names wsproto and h11, where Python has not got them."""
import os
import re
import select
import socket
import ssl
import sys
import threading

import pytest

import support  # noqa: F401 pylint: disable=unused-import
from support import brigade
from tls_site import certificate, start
from websocket_cases import cases

sys.path += [folder for folder in [os.environ.get("WSPROTO")] if folder]
wsproto = pytest.importorskip("wsproto")
from wsproto import events, extensions  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.only("brigade")]
PIECES = (0, 1, 1021)  # bytes of one send; 0: all
SITE = """ProxyPass /ws ws://127.0.0.1:@BACKEND@/
ProxyPass /up http://127.0.0.1:@BACKEND@/ upgrade=websocket
Listen 127.0.0.1:@TLS@
<VirtualHost *:@TLS@>
    ServerName localhost
    SSLEngine on
    SSLCertificateFile @ROOT@/conf/cert.pem
    SSLCertificateKeyFile @ROOT@/conf/key.pem
    ProxyPass /wss ws://127.0.0.1:@BACKEND@/
</VirtualHost>
"""


class Echo:
    """A server for WebSockets that sends messages back. Under /first it speaks first, in the segment of its 101."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.seen = {}  # a way -> bytes behind the handshake
        self.ended = threading.Semaphore(0)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                more = connection.recv(65536)
                if not more:
                    return
                head += more
            end = head.index(b"\r\n\r\n") + 4
            name = head.split(b"\r\nX-Case: ")[1].split(b"\r\n")[0].decode()
            seen = self.seen[name] = bytearray()
            ws = wsproto.WSConnection(wsproto.ConnectionType.SERVER)
            ws.receive_data(head[:end])
            self.talk(ws, connection, head[end:], seen)
        self.ended.release()

    def talk(self, ws, connection, data, seen):
        message, going = [], True
        connection.settimeout(brigade.PATIENCE)
        try:
            while going:
                if data:
                    seen += data
                    ws.receive_data(data)
                for event in ws.events():
                    connection.sendall(self.answer(ws, event, message))
                    going = going and not isinstance(event, events.CloseConnection)
                data = connection.recv(65536) if going else b""
                going = going and bool(data)
            connection.shutdown(socket.SHUT_WR)
            while data := connection.recv(65536):  # a close with unread bytes would be a reset
                seen += data
        except OSError:
            pass

    @staticmethod
    def answer(ws, event, message):
        if isinstance(event, events.Request):
            accepted = ws.send(events.AcceptConnection(extensions=[extensions.PerMessageDeflate()]))
            return accepted + (ws.send(events.TextMessage("first")) if event.target.endswith("/first") else b"")
        if isinstance(event, (events.Ping, events.CloseConnection)):
            return ws.send(event.response())
        if isinstance(event, events.Message):
            message.append(event.data)
            if event.message_finished:
                whole = message[0][:0].join(message)
                message.clear()
                return ws.send(type(event)(whole))
        return b""


def asked(port, path, case, piece, name, tls=False):
    """What comes back behind the head of the answer, until the connection ends."""
    _, data, _, extension = case
    with socket.create_connection(("127.0.0.1", port), timeout=brigade.PATIENCE) as s:
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            s = context.wrap_socket(s)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nX-Case: {name}\r\n"
                  f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{f'Sec-WebSocket-Extensions: {extension}{chr(13)}{chr(10)}' if extension else ''}\r\n".encode())
        got = b""
        while b"\r\n\r\n" not in got:
            more = s.recv(65536)
            assert more, (name, path, got)
            got += more
        assert got.startswith(b"HTTP/1.1 101 "), got
        return got.partition(b"\r\n\r\n")[2] + talked(s, data, piece)


def talked(s, data, piece):
    """Send it in pieces, and read meanwhile, until the connection ends. By one thread: connections of TLS are not made for two."""
    s.setblocking(False)
    view, got = memoryview(data), bytearray()
    while True:
        try:
            more = s.recv(262144)
            if not more:
                return bytes(got)
            got += more
            continue
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        except ConnectionError:
            return bytes(got) + b" reset"
        try:
            view = view[s.send(view[:piece or len(view)]):] if view else view
            ready = select.select([s], [s] if view else [], [], brigade.PATIENCE)
        except (BlockingIOError, ssl.SSLWantWriteError):
            ready = select.select([s], [s], [], brigade.PATIENCE)
        except ConnectionError:
            view = view[:0]  # the other side has refused and ended: what it said is still to be read
            continue
        assert any(ready), f"nothing more, after {bytes(got)[:100]!r}"


@pytest.fixture(name="site")
def fixture_site():
    echo = Echo()
    tls = brigade.free_port()
    server = brigade.Server(SITE.replace("@BACKEND@", str(echo.port)).replace("@TLS@", str(tls)))
    server.echo, server.tls = echo, tls
    certificate(server)
    start(server)
    yield server
    server.close()
    echo.listener.close()


def conversed(site, way, port, path, case, piece):
    """What its client got, what the server read. Where it stopped in a wrong text depends on how the bytes came."""
    got = asked(port, path, case, piece, way, tls=way == "/wss")
    assert site.echo.ended.acquire(timeout=brigade.PATIENCE), "the server's end of the connection did not end"
    return re.sub(rb"in position \d+(-\d+)?", b"", got) if case[2] else got, bytes(site.echo.seen[way])


def differences(site, case, piece, count):
    """In bytes between the server itself and each way through the proxy. A server that refuses need not have read all."""
    path = "/first" if count % 5 == 0 else "/echo"
    want, direct = conversed(site, "direct", site.echo.port, path, case, piece)
    for way, port in (("/ws", site.port), ("/up", site.port), ("/wss", site.tls)):
        got, read = conversed(site, way, port, way + path, case, piece)
        if got != want:
            yield f"{way} {case[0]} in pieces of {piece}: the client got {len(got)} bytes {got[:60]!r}, not {len(want)} {want[:60]!r}"
        if read != direct and not (case[2] and case[1].startswith(read)):
            yield f"{way} {case[0]} in pieces of {piece}: the server read {len(read)} bytes, not {len(direct)}"


def test_frames_through_tunnels(site):
    wrong, count = [], 0
    for case in cases():
        for piece in PIECES:
            if piece and len(case[1]) > piece * 6000:
                continue
            wrong += differences(site, case, piece, count)
            count += 1
    print(f"{count} conversations in 3 ways, {len(wrong)} differ")
    assert not wrong, "\n".join(wrong)
