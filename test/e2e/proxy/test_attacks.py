# SPDX-License-Identifier: Apache-2.0
"""Clients that would have a backend see another request than the proxy, and backends that would have a client see another answer."""
import socket
import threading

import h2_client
import pytest

from backend import Backend, answer
from h2_client import CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, frame, line

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def site(serve, backend, more=""):
    return serve(f"EventLoops 1\nProtocols h2c http/1.1\n{more}ProxyPass /p/ http://127.0.0.1:{backend.port}/\n")


# ---- what the client frames ----

EVIL = b"GET /evil HTTP/1.1\r\nHost: x\r\n\r\n"
SMUGGLED = {
    "length and chunks": b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "two lengths": b"Content-Length: 0\r\nContent-Length: 30\r\n\r\n",
    "plus": b"Content-Length: +0\r\n\r\n", "hexadecimal": b"Content-Length: 0x1e\r\n\r\n", "list": b"Content-Length: 0, 30\r\n\r\n", "empty": b"Content-Length:\r\n\r\n",
    "minus": b"Content-Length: -1\r\n\r\n", "coding": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "codings": b"Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "vertical tab": b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "blank before the colon": b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "fold": b"X: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bare CR": b"X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "NUL": b"X: a\0\r\nContent-Length: 0\r\n\r\n", "no colon": b"Transfer-Encoding\r\n\r\n",
    "chunk size 0x": b"Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n", "chunk size +": b"Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n",
    "chunk size too long": b"Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n", "CR in an extension": b"Transfer-Encoding: chunked\r\n\r\n0;a\rb\r\n\r\n",
    "chunk without CR": b"Transfer-Encoding: chunked\r\n\r\n1\nx\n0\r\n\r\n", "negative chunk": b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
    "underscore": b"Content_Length: 30\r\nContent-Length: 0\r\n\r\n", "named by Connection": b"Content-Length: 0\r\nConnection: Content-Length\r\n\r\n",
    "expectation": b"Expect: 100-continue\r\nContent-Length: 0\r\n\r\n", "unknown expectation": b"Expect: y\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("kind", SMUGGLED)
def test_one_request_or_none(serve, backend, kind, method):
    server = site(serve, backend)
    got = server.raw(f"{method} /p/a HTTP/1.1\r\nHost: x\r\n".encode() + SMUGGLED[kind] + EVIL, half_close=True)
    assert got.startswith(b"HTTP/1.1 ")
    assert [r.target for r in backend.requests] in ([], ["/a"])  # what follows is a request to this server, or nothing
    for request in backend.requests:
        assert len(request.all("Content-Length") + request.all("Transfer-Encoding")) <= 1 and b"evil" not in request.body
    assert server.get("/p/next").status == 200 and backend.requests[-1].target == "/next"


@pytest.mark.parametrize("start", [b"GET /p/a\r\n", b"GET /p/a HTTP/0.9\r\n", b"GET /p/a b HTTP/1.1\r\n", b"GET\t/p/a\tHTTP/1.1\r\n", b"GET /p/a\x0b HTTP/1.1\r\n",
                                   b"GET /p/a HTTP/1.1 \r\n", b"GET /p/a\rX HTTP/1.1\r\n", b"GET /p/a HTTP/3.1\r\n", b" GET /p/a HTTP/1.1\r\n"])
def test_request_lines(serve, backend, start):
    server = site(serve, backend)
    server.raw(start + b"Host: x\r\n\r\n" + EVIL, half_close=True)
    assert all(r.line in ("GET /a HTTP/1.1",) for r in backend.requests)


FIELDS = [(b"a\r\nx", b"b"), (b"a", b"b\r\nEvil: 1"), (b"a", b"b\nEvil: 1"), (b"a", b"b\0"), (b"a:b", b"c"), (b"", b"x"), (b"A", b"b"), (b"a b", b"c"), (b"a", b" b"),
          (b"a", b"b "), (b"connection", b"close"), (b"transfer-encoding", b"chunked"), (b"te", b"gzip"), (b"upgrade", b"websocket"), (b"host", b"other"),
          (b"content-length", b"5"), (b":path", b"/evil"), (b":evil", b"x")]


@pytest.mark.parametrize("name,value", FIELDS)
def test_fields_of_http2(serve, backend, name, value):
    """What is no field of HTTP/1 does not become one."""
    server = site(serve, backend)
    literal = b"\0" + h2_client.integer(len(name), 7) + name + h2_client.integer(len(value), 7) + value
    block = h2_client.request_block(path="/p/a") + literal
    with h2_client.Connection(server.port) as client:
        client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
        status, _ = client.response()
        assert status in (None, 400)
        client.request(stream=3, path="/p/next")
        assert client.response(3)[0] == 200
    assert [r.target for r in backend.requests] == ["/next"]


def test_connection_does_not_take_out_what_counts(serve, backend):
    server = site(serve, backend)
    got = server.get("/p/a", headers={"Connection": "X-Forwarded-For, X-Forwarded-Host, Host, Authorization, Cookie, X-Own", "Authorization": "Basic eDp5",
                                      "Cookie": "a=b", "X-Own": "1", "X-Forwarded-For": "192.0.2.9"})
    assert got.status == 200
    request = backend.requests[0]
    assert request["X-Forwarded-For"].startswith("192.0.2.9, ") and request["Authorization"] == "Basic eDp5" and request["Cookie"] == "a=b"
    assert request["X-Forwarded-Host"] and request["Host"].startswith("127.0.0.1:") and request["X-Own"] is None


def test_trailers_are_no_fields(serve, backend):
    server = site(serve, backend)
    got = server.raw(b"POST /p/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\nx\r\n0\r\nAuthorization: Basic eDp5\r\nX-T: 1\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 200 ")
    assert backend.requests[0]["Authorization"] is None and backend.requests[0]["X-T"] is None


@pytest.mark.parametrize("target", ["http://127.0.0.1:@OTHER@/p/x", "/p/unix:/run/x|http://127.0.0.1:@OTHER@/", "/p/@127.0.0.1:@OTHER@/", "/p//127.0.0.1:@OTHER@/",
                                    "/p/%0d%0aHost:%20y", "/m/@127.0.0.1:@OTHER@/", "/m/%0d%0aX:y", "/r/%0aX:y", "/r/a%3fb", "/r//127.0.0.1:@OTHER@/"])
def test_nobody_else_is_asked(serve, backend, target):
    with Backend() as other:
        server = site(serve, backend, f"""ProxyPassMatch ^/m/(.*)$ http://127.0.0.1:{backend.port}/$1
RewriteEngine On
RewriteRule ^/r/(.*)$ http://127.0.0.1:{backend.port}/$1 [P]
""")
        server.raw(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".replace("@OTHER@", str(other.port)).encode())
        assert other.connections == 0
        for request in backend.requests:
            assert request["Host"] == f"127.0.0.1:{backend.port}" and request["X"] is None and request["X:y"] is None


def test_trailers_of_answers_are_no_fields(serve, backend):
    backend.scripts["/t"] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nSet-Cookie: evil=1\r\nContent-Length: 9\r\n\r\n"
    server = site(serve, backend)
    for _ in range(2):
        got = server.get("/p/t")
        assert got.body == b"ok" and got["Set-Cookie"] is None
        assert server.get("/p/next").body == b"ok\n"


@pytest.mark.parametrize("head", ["204 No Content", "304 Not Modified", "204 No Content\r\nContent-Length: 38", "304 Not Modified\r\nTransfer-Encoding: chunked"])
def test_answers_that_have_no_body(serve, backend, head):
    """What follows is neither their body nor the next answer."""
    backend.scripts["/none"] = f"HTTP/1.1 {head}\r\n\r\n".encode() + answer(b"evil\n")
    server = site(serve, backend)
    for _ in range(3):
        got = server.raw(b"GET /p/none HTTP/1.1\r\nHost: x\r\n\r\nGET /p/next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert got.count(b"HTTP/1.1 ") == 2 and b"evil" not in got and got.endswith(b"ok\n")


@pytest.mark.parametrize("field,value", [("Upgrade", "websocket"), ("Upgrade", "h3"), ("Upgrade", "TLS/1.0")])
def test_upgrades_that_nobody_configured(serve, backend, field, value):
    """Without ProxyPass ws: or upgrade= no Upgrade goes on, and a 101 is no answer."""
    backend.scripts["/evil"] = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + value.encode() + b"\r\n\r\n"
    server = site(serve, backend)
    assert server.get("/p/a", headers={"Connection": "Upgrade, HTTP2-Settings", field: value, "HTTP2-Settings": "AAMAAABkAAQAAP__"}).status == 200
    request = backend.requests[0]
    assert request["Upgrade"] is None and request["HTTP2-Settings"] is None and "pgrade" not in (request["Connection"] or "")
    assert server.get("/p/evil", headers={"Connection": "Upgrade", field: value}).status == 502
    assert server.get("/p/next").status == 200


@pytest.mark.parametrize("early", [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", b"HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n"])
@pytest.mark.parametrize("framing", ["length", "chunks", "expectation"])
def test_an_early_answer_ends_the_connection(serve, early, framing):
    """What a client sends of its body behind the backend's answer is nobody's request, at either connection."""
    def script(connection, request):
        connection.send(early)
        return None
    with Backend({"/early": script}, bodies=False) as backend:
        server = site(serve, backend, "Proxy100Continue On\n")
        fields = {"length": b"Content-Length: 1000000\r\n", "chunks": b"Transfer-Encoding: chunked\r\n", "expectation": b"Expect: 100-continue\r\nContent-Length: %d\r\n" % len(EVIL)}[framing]
        with server.connect() as client:
            client.send(b"POST /p/early HTTP/1.1\r\nHost: x\r\n" + fields + b"\r\n" + (b"" if framing == "expectation" else b"5\r\nabcde\r\n"))
            assert client.read_response().status in (200, 417)
            try:
                client.send(EVIL)
                client.read_to_end()
            except OSError:
                pass
        for _ in range(3):
            assert server.get("/p/next").status == 200
        assert [r.target for r in backend.requests if r.target not in ("/early", "/next")] == []
        assert backend.requests[-1].target == "/next" and backend.requests[-1].connection != backend.requests[0].connection


@pytest.mark.parametrize("target,sent", [("/p/a;x=1", "/a;x=1"), ("/p/a%2fb", None), ("/p/a%00b", None), ("/p/..%2fsecret", None), ("/p/%2e%2e/secret", None), ("/p/./a", "/a"),
                                         ("/p/a/../b", "/b"), ("/p/a%3b.css", "/a;.css"), ("/p//a", "/a"), ("/p/%61", "/a"), ("/p/a%20b", "/a%20b"), ("/p/a%25b", "/a%25b"),
                                         ("/p/a%5cb", "/a%5Cb"), ("/p/a#b", None), ("/P/a", None)])
def test_one_path_decides(serve, backend, target, sent):
    """Sections see the path that the backend gets: what is denied by its name cannot be written in another way."""
    server = site(serve, backend, '<Location "/p/secret">\nRequire all denied\n</Location>\n')
    got = server.raw(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    if sent is None:
        assert got.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 ", b"HTTP/1.1 404 ")) and not backend.requests
    else:
        assert got.startswith(b"HTTP/1.1 200 ") and [r.target for r in backend.requests] == [sent]
    for hidden in ("/p/secret", "/p/./secret", "/p/a/../secret", "/p/%73ecret", "/p//secret", "/p/secret/", "/p/secret/a", "/p/secret%2fa", "/p/secret;x"):
        server.raw(f"GET {hidden} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert not [r for r in backend.requests if r.target.split(";")[0].rstrip("/") == "/secret" and ";" not in r.target or r.target.startswith("/secret/")]


# ---- backends of HTTP/2 ----

def head(*lines, flags=END_HEADERS, first=line(":status", "200")):
    return frame(HEADERS, flags, 1, first + b"".join(lines))


def raw_line(name, value):
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


NUMBER = (1).to_bytes(4, "big")
OF_HTTP2 = {
    "nothing": b"", "garbage": b"HTTP/1.1 200 OK\r\n\r\n", "no status": head(line("a", "b"), first=b"", flags=END_HEADERS | END_STREAM),
    "status of HTTP/1": head(first=line(":status", "101"), flags=END_HEADERS), "two statuses": head(line(":status", "404"), flags=END_HEADERS | END_STREAM),
    "line end in a value": head(raw_line(b"a", b"b\r\nc: d"), flags=END_HEADERS | END_STREAM), "line end in a name": head(raw_line(b"a\nb", b"c"), flags=END_HEADERS | END_STREAM),
    "capitals": head(raw_line(b"Aa", b"c"), flags=END_HEADERS | END_STREAM), "two lengths": head(line("content-length", "1"), line("content-length", "2")) + frame(DATA, END_STREAM, 1, b"x"),
    "more than the length": head(line("content-length", "1")) + frame(DATA, END_STREAM, 1, b"xHTTP/1.1 200 OK"), "less than the length": head(line("content-length", "9")) + frame(DATA, END_STREAM, 1, b"x"),
    "204 with a body": head(first=line(":status", "204")) + frame(DATA, END_STREAM, 1, b"x"), "data first": frame(DATA, END_STREAM, 1, b"x"),
    "trailers that end nothing": (head() + head(line("a", "b"), first=b"") * 2), "another stream": frame(HEADERS, END_HEADERS | END_STREAM, 3, line(":status", "200")),
    "a push": frame(5, END_HEADERS, 1, (2).to_bytes(4, "big") + line(":status", "200")), "refused": frame(RST_STREAM, 0, 1, (7).to_bytes(4, "big")),
    "reset": head() + frame(DATA, 0, 1, b"x") + frame(RST_STREAM, 0, 1, NUMBER), "gone": frame(GOAWAY, 0, 0, bytes(8)),
    "1xx without end": head(first=line(":status", "103")) * 100, "head without end": head(flags=0) + frame(CONTINUATION, 0, 1, line("a", "b" * 100)) * 4000,
    "pings without end": frame(PING, 0, 0, bytes(8)) * 20000, "empty data without end": head() + frame(DATA, 0, 1, b"") * 20000,
    "settings": frame(SETTINGS, 0, 0, b"\0\5\0\0\0\1"), "window": frame(8, 0, 0, b"\x7f\xff\xff\xff") * 2, "padding": head() + frame(DATA, 8, 1, b"\xffx"),
    "large frame": (1 << 20).to_bytes(3, "big") + bytes([HEADERS, END_HEADERS]) + NUMBER, "dynamic table": frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\xff\xff\xff\xff\x0f"),
    "cut": head() + frame(DATA, 0, 1, b"x"),
    "settings without end": frame(SETTINGS) * 20000, "credit without end": frame(8, 0, 0, NUMBER) * 20000, "no credit": frame(8, 0, 1, bytes(4)),
    "resets without end": frame(RST_STREAM, 0, 1, NUMBER) * 20000, "unknown frames without end": frame(99, 0, 0, b"x" * 100) * 20000,
    "priorities without end": frame(2, 0, 1, bytes(5)) * 20000, "a window of 4 GB": frame(SETTINGS, 0, 0, b"\0\4\xff\xff\xff\xff"),
    "a frame size of 0": frame(SETTINGS, 0, 0, b"\0\5\0\0\0\0"), "half a setting": frame(SETTINGS, 0, 0, b"\0\5\0"), "continuation of nothing": frame(CONTINUATION, END_HEADERS, 1, b""),
    "a frame within a head": head(flags=0) + frame(PING, 0, 0, bytes(8)) + frame(CONTINUATION, END_HEADERS, 1, b""), "a stream of its own": frame(HEADERS, END_HEADERS, 2, line(":status", "200")),
    "a head of stream 0": frame(HEADERS, END_HEADERS, 0, line(":status", "200")), "data of stream 0": head() + frame(DATA, END_STREAM, 0, b"x"),
    "a status in the trailers": head() + frame(HEADERS, END_HEADERS | END_STREAM, 1, line(":status", "200")), "trailers of HTTP/1": head() + head(raw_line(b"a", b"b\r\nc: d"), first=b"", flags=END_HEADERS | END_STREAM),
    "connection": head(line("connection", "close"), flags=END_HEADERS | END_STREAM), "transfer-encoding": head(line("transfer-encoding", "chunked"), flags=END_HEADERS | END_STREAM),
    "an index of nothing": frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\xff\x80\x01"), "half a string": frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\0\x05ab"),
    "a bomb": head(b"\x40\x01a\x7f\x81\x1e" + b"b" * 4000, b"\xbe" * 12000, flags=END_HEADERS | END_STREAM),
    "a larger table than was allowed": frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x3f\xe1\xff\x03" + line(":status", "200")),
}
BEGUN = ("reset", "cut", "less than the length", "empty data without end", "a status in the trailers", "trailers of HTTP/1", "data of stream 0")


class Http2Backend:
    """Each connection gets SETTINGS and these bytes behind the client's preface; then it ends. The last one gets a good answer."""

    def __init__(self, data, slow=False):
        self.data, self.slow, self.good = data, slow, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        with sock:
            try:
                held = b""
                while HEADERS not in kinds(held):
                    more = sock.recv(65536)
                    if not more:
                        return
                    held += more
                good = head(flags=END_HEADERS) + frame(DATA, END_STREAM, 1, b"good")
                data = frame(SETTINGS) + (good if self.good else self.data)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for i in range(0, len(data), 1 if self.slow else len(data)):
                    sock.sendall(data[i:i + 1] if self.slow else data)
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(65536):
                    pass
            except OSError:
                pass


def kinds(data):
    """Kinds of whole frames behind the preface."""
    found, at = [], 24
    while len(data) >= at + 9 and len(data) >= at + 9 + int.from_bytes(data[at:at + 3], "big"):
        found.append(data[at + 3])
        at += 9 + int.from_bytes(data[at:at + 3], "big")
    return found


@pytest.mark.parametrize("kind", OF_HTTP2)
@pytest.mark.parametrize("slow", [False, True], ids=["at-once", "bytewise"])
def test_backends_of_http2(serve, kind, slow):
    """502, or an answer that is seen to be cut; and the next request is answered."""
    if slow and len(OF_HTTP2[kind]) > 300:
        pytest.skip("it would take long")
    backend = Http2Backend(OF_HTTP2[kind], slow)
    server = serve(f"EventLoops 1\nProxyPass /p/ h2c://127.0.0.1:{backend.port}/\n")
    with server.connect() as client:
        client.send(b"GET /p/x HTTP/1.1\r\nHost: x\r\n\r\n")
        got = client.read_to_end() if kind in BEGUN else None
        if slow and kind == "more than the length":  # its head may have left: what is too much goes to nobody
            got = client.read_to_end()
            assert got.startswith(b"HTTP/1.1 502 ") or got.endswith(b"\r\n\r\nx")
        elif got is None or got.startswith(b"HTTP/1.1 502 "):
            assert got or client.read_response().status in (502, 503)
        else:
            assert not got.endswith(b"0\r\n\r\n") and b"Content-Length: 1\r\n" not in got
    backend.good = True
    assert server.get("/p/next").body == b"good"
    backend.listener.close()


@pytest.mark.parametrize("client_kind", ["http1", "http2"])
def test_an_answer_of_http2_that_ends_anywhere(serve, client_kind):
    """At each of its bytes: 502, or what is seen to be cut, never a whole answer."""
    whole = head(line("content-length", "10")) + frame(DATA, 0, 1, b"01234") + frame(DATA, END_STREAM, 1, b"56789")
    backend = Http2Backend(b"")
    server = serve(f"EventLoops 1\nProtocols h2c http/1.1\nProxyPass /p/ h2c://127.0.0.1:{backend.port}/ retry=0\n")
    for at in range(len(whole)):
        backend.data = whole[:at]
        if client_kind == "http1":
            got = server.raw(b"GET /p/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert got.startswith((b"HTTP/1.1 502 ", b"HTTP/1.1 503 ")) or (got.startswith(b"HTTP/1.1 200 ") and not got.endswith(b"56789")), (at, got)
        else:
            with h2_client.Connection(server.port) as client:
                client.request(path="/p/x")
                status, body = client.response()
                assert status in (502, 503, None) or body != b"0123456789", (at, status, body)
    backend.good = True
    assert server.get("/p/next").body == b"good"
    backend.listener.close()
