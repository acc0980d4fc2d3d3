# SPDX-License-Identifier: Apache-2.0
"""WebSocket of HTTP/2 clients (RFC 8441): streams of the extended CONNECT become upgrades towards HTTP/1 backends."""
import base64

import h2_client
import pytest

from backend import Backend, answer, upper
from brigade import wait_until
from h2_client import DATA, END_STREAM, HEADERS, RST_STREAM, SETTINGS, frame, line

pytestmark = pytest.mark.only("brigade")

CONFIG = """EventLoops 1
Protocols h2c http/1.1
H2WebSockets On
ProxyPass /p/ http://127.0.0.1:@PORT@/ @MORE@
"""
CONNECT_PROTOCOL = 8
PROTOCOL_ERROR, FLOW_BYTES = 1, 300_000


@pytest.fixture
def backend():
    with Backend({"/ws": upper, "/plain": answer(), "/no": answer(b"no", "403 No")}) as backend:
        yield backend


def site(serve, backend, more="upgrade=websocket"):
    return serve(CONFIG.replace("@PORT@", str(backend.port)).replace("@MORE@", more))


def pseudo(path="/p/ws", protocol="websocket", method="CONNECT", fields=()):
    block = line(":method", method) + line(":scheme", "http") + line(":path", path) + line(":authority", "localhost")
    block += line(":protocol", protocol) if protocol else b""
    return block + b"".join(line(n, v) for n, v in fields)


def ask(client, stream=1, flags=h2_client.END_HEADERS, **more):
    client.send(frame(HEADERS, flags, stream, pseudo(**more)))


class Tunnel:
    """Bytes of a stream, with credit for what came."""

    def __init__(self, client, stream=1, **more):
        self.client, self.stream, self.data, self.ended = client, stream, b"", False
        ask(client, stream, **more)
        kind, flags, _, payload = client.expect(HEADERS, RST_STREAM, stream=stream)
        assert kind == HEADERS and not flags & END_STREAM
        self.head = payload
        assert self.read(5) == b"hello"  # before another stream has something to say

    def _more(self):
        kind, flags, _, payload = self.client.expect(DATA, RST_STREAM, stream=self.stream)
        assert kind == DATA, payload
        self.data += payload
        self.ended = bool(flags & END_STREAM)
        if payload:
            for stream in (0, self.stream):
                self.client.send(frame(h2_client.WINDOW_UPDATE, 0, stream, len(payload).to_bytes(4, "big")))

    def read(self, n):
        while len(self.data) < n:
            self._more()
        data, self.data = self.data[:n], self.data[n:]
        return data

    def send(self, data, end=False):
        self.client.send(frame(DATA, END_STREAM if end else 0, self.stream, data))

    def rest(self):
        while not self.ended:
            self._more()
        return self.data


def settings_of(client):
    payload = client.expect(SETTINGS)[3]
    return {int.from_bytes(payload[i:i + 2], "big"): int.from_bytes(payload[i + 2:i + 6], "big") for i in range(0, len(payload), 6)}


def test_it_is_offered_by_a_setting(serve, backend):
    with h2_client.Connection(site(serve, backend).port) as client:
        assert settings_of(client)[CONNECT_PROTOCOL] == 1
    off = serve("Protocols h2c http/1.1\n")
    with h2_client.Connection(off.port) as client:
        assert CONNECT_PROTOCOL not in settings_of(client)
        ask(client)
        assert client.response() == (None, PROTOCOL_ERROR)


def test_bytes_go_both_ways(serve, backend):
    server = site(serve, backend)
    with h2_client.Connection(server.port) as client:
        tunnels = [Tunnel(client, stream, fields=[("origin", "http://localhost"), ("sec-websocket-protocol", "chat"), ("sec-websocket-version", "13")])
                   for stream in (1, 3, 5)]
        for tunnel in tunnels:
            assert h2_client.status_of(tunnel.head) == 200 and b"x-a" in tunnel.head and b"sec-websocket" not in tunnel.head
        for n in range(20):
            for tunnel in tunnels:
                tunnel.send(b"ping%d!" % n)
                assert tunnel.read(5 + len(str(n))) == b"PING%d!" % n
        client.request(stream=7, path="/p/plain")  # beside them
        assert client.response(7) == (200, b"ok\n")
        tunnels[0].send(b"last", end=True)  # the client says no more; the backend does
        assert tunnels[0].rest() == b"LASTbye"
        client.send(frame(RST_STREAM, 0, 3, (8).to_bytes(4, "big")))
        assert wait_until(lambda: backend.open == 2, "the end of the connections of the first two")  # the third, and the one that is kept
        tunnels[2].send(b"still")
        assert tunnels[2].read(5) == b"STILL"
    request = backend.requests[0]
    assert request.line == "GET /ws HTTP/1.1" and request["Upgrade"] == "websocket" and request["Connection"] == "Upgrade"
    assert len(base64.b64decode(request["Sec-WebSocket-Key"])) == 16 and request["Sec-WebSocket-Protocol"] == "chat"
    assert request["Content-Length"] is None and request["Transfer-Encoding"] is None
    assert len({r["Sec-WebSocket-Key"] for r in backend.requests if r.target == "/ws"}) == 3
    assert wait_until(lambda: backend.open == 1, "the end of tunnels with their client's connection")


def test_much_goes_both_ways(serve, backend):
    """More than the windows of a stream and of the connection."""
    server = site(serve, backend)
    data = bytes(97 + i % 26 for i in range(FLOW_BYTES))
    with h2_client.Connection(server.port) as client:
        tunnel = Tunnel(client)
        for at in range(0, len(data), 10000):
            tunnel.send(data[at:at + 10000])
            assert tunnel.read(10000) == data[at:at + 10000].upper()
        tunnel.send(b"", end=True)
        assert tunnel.rest() == b"bye"


def test_what_is_no_tunnel(serve, backend):
    server = site(serve, backend)
    with h2_client.Connection(server.port) as client:
        ask(client, 1, path="/p/no")
        assert client.response(1) == (403, b"no")
        ask(client, 3, path="/p/plain")  # a 200 would tell the client that there is one
        assert client.response(3)[0] is None
        for stream, more in ((5, {"protocol": "chat"}), (7, {"method": "GET"})):
            ask(client, stream, **more)
            assert client.response(stream) == (None, PROTOCOL_ERROR)
        client.request(stream=11, path="/p/plain")
        assert client.response(11) == (200, b"ok\n")


def test_the_configuration_says_where(serve, backend):
    """Without upgrade= nothing of it goes to the backend."""
    server = site(serve, backend, more="")
    with h2_client.Connection(server.port) as client:
        ask(client, 1, path="/p/plain")
        assert client.response(1)[0] is None
    assert backend.requests[0]["Upgrade"] is None


def test_the_log_has_it(serve, backend):
    server = serve(CONFIG.replace("@PORT@", str(backend.port)).replace("@MORE@", "upgrade=ANY") + 'CustomLog @ROOT@/logs/a "%r %>s %{backend-tries}n"\n')
    with h2_client.Connection(server.port) as client:
        tunnel = Tunnel(client)
        tunnel.send(b"", end=True)
        tunnel.rest()
    assert server.wait_for_log(r"GET /p/ws HTTP/2\.0 101 1", "logs/a")
