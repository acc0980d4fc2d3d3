# SPDX-License-Identifier: Apache-2.0
"""WebSocket of HTTP/3 clients (RFC 9220): streams of the extended CONNECT become upgrades towards HTTP/1 backends, as those of HTTP/2."""
import base64

import pytest

import brigade
from backend import Backend, answer, upper
from http3_client import http3_python, tunnel
from tls_site import certificate

PYTHON = http3_python(brigade.REPOSITORY)
pytestmark = [pytest.mark.only("brigade"), pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)")]

CONFIG = """EventLoops 1
Protocols h3 http/1.1
@MORE@
Listen 127.0.0.1:@TLS@ https
SSLEngine on
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
ProxyPass /p/ http://127.0.0.1:@BACKEND@/ upgrade=websocket
"""
ENABLE_CONNECT_PROTOCOL, H3_MESSAGE_ERROR = 8, 0x10E


@pytest.fixture
def backend():
    with Backend({"/ws": upper, "/plain": answer(), "/no": answer(b"no", "403 No")}) as backend:
        yield backend


def site(serve, backend, more="H3WebSockets On"):
    tls = brigade.free_port()
    server = serve.unstarted(CONFIG.replace("@TLS@", str(tls)).replace("@BACKEND@", str(backend.port)).replace("@MORE@", more))
    certificate(server)
    server.url = f"https://127.0.0.1:{tls}"
    return server.start()


def head(path="/p/ws", protocol="websocket", method="CONNECT", fields=()):
    return [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path), (":protocol", protocol), *fields]


def test_bytes_go_both_ways(serve, backend):
    server = site(serve, backend)
    fields = [("origin", "https://localhost"), ("sec-websocket-protocol", "chat"), ("sec-websocket-version", "13")]
    turns, length = [(i, "", False, 5) for i in range(3)], [5] * 3
    for n in range(10):
        for i in range(3):
            length[i] += 6
            turns.append((i, f"ping{n}!", False, length[i]))
    turns += [(i, "last", True, None) for i in range(3)]
    told = tunnel(PYTHON, server.url, [head(fields=fields)] * 3, turns)
    assert told["settings"][str(ENABLE_CONNECT_PROTOCOL)] == 1
    for s in told["streams"]:
        assert s["headers"][":status"] == "200" and s["headers"]["x-a"] == "b" and not any(k.startswith("sec-websocket") for k in s["headers"])
        assert s["data"] == "hello" + "".join(f"PING{n}!" for n in range(10)) + "LASTbye" and s["ended"]
    request = backend.requests[0]
    assert request.line == "GET /ws HTTP/1.1" and request["Upgrade"] == "websocket" and request["Connection"] == "Upgrade"
    assert len(base64.b64decode(request["Sec-WebSocket-Key"])) == 16 and request["Sec-WebSocket-Protocol"] == "chat"
    assert len({r["Sec-WebSocket-Key"] for r in backend.requests}) == 3


def test_much_goes_both_ways(serve, backend):
    """More than the windows of a stream and of the connection."""
    data = "".join(chr(97 + i % 26) for i in range(1_500_000))
    step = 50_000
    turns = [(0, "", False, 5)] + [(0, data[at:at + step], False, 5 + at + step) for at in range(0, len(data), step)] + [(0, "", True, None)]
    told = tunnel(PYTHON, site(serve, backend).url, [head()], turns)["streams"][0]
    assert told["data"] == "hello" + data.upper() + "bye"


def test_what_is_no_tunnel(serve, backend):
    heads = [head("/p/no"), head("/p/plain"), head(protocol="chat"), head(method="GET")]
    told = tunnel(PYTHON, site(serve, backend).url, heads, [(i, "", False, None) for i in range(4)])["streams"]
    assert told[0]["headers"][":status"] == "403" and told[0]["data"] == "no"
    assert told[1]["headers"].get(":status") != "200"  # it would tell the client that there is a tunnel
    assert [s["reset"] for s in told[2:]] == [H3_MESSAGE_ERROR] * 2


def test_not_offered_without_the_directive(serve, backend):
    told = tunnel(PYTHON, site(serve, backend, "").url, [head()], [(0, "", False, None)])
    assert str(ENABLE_CONNECT_PROTOCOL) not in told["settings"]
    assert told["streams"][0]["reset"] == H3_MESSAGE_ERROR
