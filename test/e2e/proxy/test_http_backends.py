# SPDX-License-Identifier: Apache-2.0
"""Requests that an HTTP backend answers: what it gets, what the client gets, and connections that are kept."""
import os
import select
import subprocess
import tempfile
import threading

import pytest

from backend import Backend, answer, proxied as config
from brigade import APACHE_MODULES, wait_until

pytestmark = pytest.mark.only("brigade")


@pytest.fixture
def backend():
    with Backend() as backend:
        yield backend


def test_what_the_backend_gets(serve, backend):
    server = serve(config(backend))
    got = server.get("/p/a%20b?x=1", headers={"X-A": "1", "Connection": "X-A", "Cookie": "a=b", "X-Forwarded-For": "192.0.2.1"})
    assert got.status == 200 and got.body == b"ok\n"
    request = backend.requests[0]
    assert request.line == "GET /a%20b?x=1 HTTP/1.1"
    assert request["Host"] == f"127.0.0.1:{backend.port}"
    assert request["X-A"] is None and request["Cookie"] == "a=b"
    assert request["X-Forwarded-For"] == "192.0.2.1, 127.0.0.1"
    assert request["X-Forwarded-Server"] and request["X-Forwarded-Host"]
    assert request["Connection"] == "Keep-Alive"


def test_what_the_client_gets(serve, backend):
    backend.scripts["/x"] = answer(b"gone\n", "410 Away", [("Server", "theirs"), ("Set-Cookie", "a=b"), ("Set-Cookie", "c=d"),
                                                           ("X-Hop", "1"), ("Connection", "X-Hop"), ("Keep-Alive", "timeout=5"), ("Upgrade", "h2")])
    server = serve(config(backend))
    got = server.get("/p/x")
    assert (got.status, got.reason, got.body) == (410, "Away", b"gone\n")
    assert got["Server"] == "theirs" and got.all("Set-Cookie") == ["a=b", "c=d"]
    assert got["X-Hop"] is None and got["Keep-Alive"] != "timeout=5" and got["Upgrade"] is None


def test_one_connection_serves_many(serve, backend):
    server = serve(config(backend))
    for n in range(20):
        assert server.get(f"/p/{n}").body == b"ok\n"
    assert backend.connections == 1 and len(backend.requests) == 20


def test_no_reuse(serve, backend):
    server = serve(config(backend, parameters="disablereuse=on"))
    for n in range(3):
        assert server.get(f"/p/{n}").body == b"ok\n"
    assert backend.connections == 3 and all(r["Connection"] == "close" for r in backend.requests)


SIZES = [0, 1, 4096, 70000, 3000000]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_bodies_of_answers(serve, backend, size, framing):
    body = bytes(i * 7 & 255 for i in range(256)) * (size // 256 + 1)
    body = body[:size]

    def script(connection, request):
        if framing == "length":
            return answer(body)
        if framing == "close":
            connection.send(b"HTTP/1.1 200 OK\r\n\r\n" + body)
            return False
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        at, n = 0, 1
        while at < size:
            piece = body[at:at + n]
            connection.send(b"%x;x=y\r\n" % len(piece) + piece + b"\r\n")
            at, n = at + n, n * 3 + 1
        return b"0\r\nX-Trailer: 1\r\n\r\n"
    backend.scripts["/body"] = script
    server = serve(config(backend))
    for _ in range(3):
        assert server.get("/p/body").body == body
    assert backend.connections == (3 if framing == "close" else 1)
    head = server.request("HEAD", "/p/none")
    assert head.status == 200 and head.body == b""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_bodies_of_requests(serve, backend, size, framing):
    body = bytes(i * 11 & 255 for i in range(256)) * (size // 256 + 1)
    body = body[:size]
    server = serve(config(backend))
    with server.connect() as client:
        client.send(b"POST /p/post HTTP/1.1\r\nHost: x\r\n")
        if framing == "length":
            client.send(b"Content-Length: %d\r\n\r\n" % size + body)
        else:
            client.send(b"Transfer-Encoding: chunked\r\n\r\n")
            for at in range(0, size, 9000):
                piece = body[at:at + 9000]
                client.send(b"%x\r\n" % len(piece) + piece + b"\r\n")
            client.send(b"0\r\n\r\n")
        assert client.read_response().status == 200
        client.send(b"GET /p/next HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.read_response().status == 200
    assert backend.requests[0].body == body
    assert [r.line for r in backend.requests] == ["POST /post HTTP/1.1", "GET /next HTTP/1.1"]


def test_pieces_are_sent_at_once(serve, backend):
    go = threading.Event()

    def script(connection, request):
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        assert go.wait(20)
        return b"6\r\nsecond\r\n0\r\n\r\n"
    backend.scripts["/events"] = script
    server = serve(config(backend))
    with server.connect() as client:
        client.send(b"GET /p/events HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.read_until(b"first\r\n")
        go.set()
        assert client.read_until(b"0\r\n\r\n")


def test_expect(serve, backend):
    def script(connection, request):
        connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return answer(backend.body(connection, request))
    backend.scripts["/c"] = script
    backend.scripts["/no"] = lambda connection, request: connection.send(answer(b"", "413 Too Large")) or False
    server = serve(config(backend))
    with server.connect() as client:
        client.send(b"PUT /p/c HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        assert b" 100 " in client.read_until(b"\r\n\r\n")
        client.send(b"hello")
        assert client.read_response().body == b"hello"
    with server.connect() as client:
        client.send(b"PUT /p/no HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        assert client.read_response().status == 413


def test_interim_answers(serve, backend):
    backend.scripts["/hints"] = (b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" + answer())
    backend.scripts["/many"] = b"HTTP/1.1 102 Processing\r\n\r\n" * 100000 + answer()
    server = serve(config(backend))
    with server.connect() as client:
        client.send(b"GET /p/hints HTTP/1.1\r\nHost: x\r\n\r\n")
        hints = client.read_until(b"\r\n\r\n")
        assert b" 103 " in hints and b"Link: </a.css>" in hints
        assert client.read_response().body == b"ok\n"
    with server.connect() as client:
        client.send(b"GET /p/many HTTP/1.1\r\nHost: x\r\n\r\n")
        status = 102
        while status < 200:
            status = int(client.read_until(b"\r\n\r\n").split()[1])
        assert status == 502


def test_websocket(serve, backend):
    def script(connection, request):
        connection.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello")
        while True:
            try:
                connection.more()
            except Exception:
                return False
            connection.send(connection.buffer.upper())
            connection.buffer = b""
    backend.scripts["/ws"] = script
    server = serve(config(backend, parameters="upgrade=websocket"))
    with server.connect() as client:
        client.send(b"GET /p/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly")
        head = client.read_until(b"\r\n\r\n")
        assert b" 101 " in head and b"websocket" in head
        assert client.read_until(b"hello") is not None
        assert client.read_until(b"EARLY") is not None
        for n in range(10):
            client.send(b"ping%d!" % n)
            assert client.read_until(b"PING%d!" % n) is not None
    wait_until(lambda: backend.open == 0, "the backend's connection ends with the client's")


def test_max(serve):
    """No more connections than that, whoever waits."""
    most, lock, now = [0], threading.Lock(), [0]

    def script(connection, request):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        threading.Event().wait(0.01)
        with lock:
            now[0] -= 1
        return answer()
    with Backend({"*": script}) as backend:
        server = serve(config(backend, parameters="max=3"))
        results = []

        def client():
            for _ in range(5):
                results.append(server.get("/p/x").status)
        threads = [threading.Thread(target=client) for _ in range(12)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert results == [200] * 60 and most[0] <= 3 and backend.connections <= 3


def test_unix_socket(serve):
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    path = f"{folder}/s"
    with Backend(address=path) as backend:
        os.chmod(path, 0o777)
        server = serve(f"ProxyPass /p/ unix:{path}|http://app/base/")
        assert server.get("/p/x").body == b"ok\n"
        assert backend.requests[0].line == "GET /base/x HTTP/1.1" and backend.requests[0]["Host"] == "app"


def test_included(serve, backend):
    backend.scripts["/part"] = answer(b"part")
    server = serve(config(backend, "<Location />\nAddOutputFilter INCLUDES .shtml\nOptions +Includes\n</Location>"),
                   {"p.shtml": "[<!--#include virtual='/p/part' -->|<!--#include virtual='/p/part' -->]"})
    for _ in range(3):
        assert server.get("/p.shtml").body == b"[part|part]"


def test_http2(serve, backend):
    backend.scripts["/big"] = answer(b"x" * 1000000)
    server = serve(config(backend, "Protocols h2c http/1.1"))
    import h2_client
    with h2_client.Client("127.0.0.1", server.port, 20) as client:
        assert client.get("/p/big").body == b"x" * 1000000
        assert client.request("POST", "/p/post", body=b"y" * 200000).status == 200
    assert backend.requests[-1].body == b"y" * 200000


@pytest.mark.parametrize("scheme", ["h2c", "h2"])
def test_http2_backends(serve, scheme, request):
    """To a server of our own: heads, bodies of every size in both directions, connections that are kept."""
    tls = ""
    if scheme == "h2":
        site = request.getfixturevalue("certificate_folder")
        tls = f"SSLEngine on\nSSLCertificateFile {site}/cert.pem\nSSLCertificateKeyFile {site}/key.pem\n"
    files = {f"{n}.bin": bytes(i * 7 & 255 for i in range(256)) * (n // 256 + 1) for n in (1, 5000, 70000, 3000000)}
    with Backend({"*": lambda connection, r: answer(r.method.encode() + b" %d" % len(r.body))}) as last:
        behind = serve(f"EventLoops 1\nProtocols h2 h2c http/1.1\n{tls}ProxyPass /p/ http://127.0.0.1:{last.port}/\n", files)
        front = serve(f"EventLoops 1\nSSLProxyEngine on\nProxyPass / {scheme}://127.0.0.1:{behind.port}/\n")
        for _ in range(2):
            for name, content in files.items():
                assert front.get("/" + name).body == content
        assert front.get("/none").status == 404
        assert front.request("HEAD", "/70000.bin").body == b""
        for n in (1, 5000, 70000, 3000000):
            assert front.request("POST", "/p/x", body=b"z" * n).body == b"POST %d" % n
        assert front.get("/p/x").body == b"GET 0"


@pytest.fixture(scope="module")
def certificate_folder():
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"], check=True, capture_output=True)
    return folder


def test_tls_backends(serve, certificate_folder):
    """Bodies both ways over records of our own."""
    with Backend({"*": lambda connection, r: answer(r.method.encode() + b" %d" % len(r.body))}) as last:
        behind = serve(f"EventLoops 1\nSSLEngine on\nSSLCertificateFile {certificate_folder}/cert.pem\nSSLCertificateKeyFile {certificate_folder}/key.pem\n"
                       f"ProxyPass /p/ http://127.0.0.1:{last.port}/\n", {"big.bin": b"0123456789" * 500000})
        front = serve(f"EventLoops 1\nSSLProxyEngine on\nSSLProxyVerify require\nSSLProxyCACertificateFile {certificate_folder}/cert.pem\n"
                      f"ProxyPass / https://127.0.0.1:{behind.port}/\n")
        for _ in range(3):
            assert front.get("/big.bin").body == b"0123456789" * 500000
            assert front.request("POST", "/p/x", body=b"z" * 1000000).body == b"POST 1000000"


@pytest.mark.parametrize("more", ["", "ProxyPass /s/ scgi://127.0.0.1:{port}/\n"], ids=["http", "scgi"])
def test_a_body_that_does_not_come(serve, backend, more):
    """RequestReadTimeout holds for a body that a loop waits for, which the backend has a part of, or nothing yet."""
    server = serve(config(backend, "RequestReadTimeout body=1\n" + more.replace("{port}", str(backend.port))))
    for body in (b"", b"some"):
        with server.connect() as c:
            c.send(f"POST /{'s' if more else 'p'}/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n".encode() + body)
            assert c.read_response().status == 408 and c.at_end()
    wait_until(lambda: backend.open == 0, "the backend's connections are closed")
    assert server.error_log().count(b"Request body read timeout") == 2


def test_a_body_below_the_rate(serve, backend):
    server = serve(config(backend, "RequestReadTimeout body=1-2,MinRate=5000\n"))
    with server.connect() as c:
        c.send("POST /p/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
        while not select.select([c.socket], [], [], 0.01)[0]:
            c.send(b"x")
        assert c.read_response().status == 408


def test_a_body_that_comes_in_time(serve, backend):
    """Bytes buy time; and behind an answer of the backend's that has begun none is needed."""
    server = serve(config(backend, "RequestReadTimeout body=1,MinRate=10\n"))
    with server.connect() as c:
        c.send("POST /p/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40\r\n\r\n" + "a" * 30)
        assert not select.select([c.socket], [], [], 2)[0], "30 bytes are worth three seconds"
        c.send("a" * 10)
        assert c.read_response().status == 200
    assert backend.requests[0].raw_body == b"a" * 40


WORKERS = {  # what makes requests run on a worker
    "loop": "",
    "dumpio": f"LoadModule dumpio_module {APACHE_MODULES}/mod_dumpio.so",
    "session": f"LoadModule session_module {APACHE_MODULES}/mod_session.so\n<Location /p/>\nSession On\n</Location>",
    "ext_filter": f"LoadModule ext_filter_module {APACHE_MODULES}/mod_ext_filter.so\nExtFilterDefine cat cmd=/bin/cat\n<Location /p/>\nSetOutputFilter cat\n</Location>",
}


@pytest.mark.parametrize("where", WORKERS)
@pytest.mark.parametrize("size, late", [(5, False), (300_000, False), (300_000, True)], ids=["small", "large", "late"])
def test_expect_on_a_worker(serve, backend, where, size, late):
    """The client waits for its 100; the backend's comes at once, or when the body is on its way."""
    body = b"b" * size

    def script(connection, request):
        if not late:
            connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        got = backend.body(connection, request)
        if late:
            connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return answer(got)
    backend.scripts["/c"] = script
    server = serve(config(backend, WORKERS[where]))
    with server.connect() as client:
        for chunked in (True,) if late else (False, True, False):
            client.send(b"PUT /p/c HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n" +
                        (b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % size) + b"\r\n\r\n")
            assert b" 100 " in client.read_until(b"\r\n\r\n")
            client.send(b"%x\r\n%s\r\n0\r\n\r\n" % (size, body) if chunked else body)
            got = client.read_response().body
            assert len(got) == size and got == body


@pytest.mark.parametrize("where", WORKERS)
def test_expect_that_the_backend_refuses(serve, backend, where):
    """The body is neither asked for nor waited for, however long the answer; none of it is an answer's beginning."""
    page = b"n" * 100_000
    backend.scripts["/no"] = lambda connection, request: connection.send(answer(page, "413 Too Large")) or False
    server = serve(config(backend, WORKERS[where]))
    with server.connect() as client:
        client.send(b"PUT /p/no HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        got = client.read_response()
        assert got.status == 413 and len(got.body) == len(page)


def test_reasons_under_error_override(serve, backend):
    for status in ("418 I'm a teapot", "404 Not Here", "599 Odd", "503 Service Unavailable"):
        backend.scripts["/x"] = answer(b"theirs", status)
        server = serve(config(backend, "ProxyErrorOverride On"))
        got = server.get("/p/x")
        assert f"{got.status} {got.reason}" == status and f"<title>{status}</title>" in got.body.decode().replace("&#39;", "'"), got


@pytest.mark.parametrize("fields", ["Content-Length: 5", "Content-Length: x", "Transfer-Encoding: chunked", "Content-Length: 5\r\nTransfer-Encoding: chunked"])
def test_an_interim_answer_has_no_framing(serve, backend, fields):
    backend.scripts["/x"] = f"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n{fields}\r\n\r\n".encode() + answer()
    server = serve(config(backend))
    with server.connect() as client:
        client.send("GET /p/x HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.read_until(b"\r\n\r\n") == b"HTTP/1.1 103 Early Hints\r\nLink: </a>"
        assert client.read_response().body == b"ok\n"


def test_expect_without_a_body(serve, backend):
    """There is nothing to wait for: no 100, and the connection stays."""
    server = serve(config(backend))
    with server.connect() as client:
        for method in ("GET", "GET", "PUT"):
            client.send(f"{method} /p/x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n")
            got = client.read_response()
            assert got.status == 200 and got["Connection"] is None


@pytest.mark.slow
def test_no_100_for_a_backend_that_says_its_own(serve, backend):
    """It refuses an upload after a while: its client is not told to send it."""
    go = threading.Event()
    backend.scripts["/no"] = lambda connection, request: go.wait(20) and connection.send(answer(b"", "403 Forbidden")) or False
    server = serve(config(backend))
    with server.connect() as client:
        head = b" HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"
        client.send(b"PUT /p/yes" + head)
        assert b" 100 " in client.read_until(b"\r\n\r\n")
        client.send(b"a")
        assert client.read_response().status == 200
        client.send(b"PUT /p/no" + head)
        assert not select.select([client.socket], [], [], 1.8)[0], "a 100"
        go.set()
        assert client.read_response().status == 403


def test_trace_off_holds_for_backends(serve, backend):
    for setting, status in (("Off", 405), ("On", 200)):
        server = serve(config(backend, f"RewriteEngine On\nRewriteRule ^/r/(.*) http://127.0.0.1:{backend.port}/$1 [P]\nTraceEnable {setting}"))
        for path in ("/p/x", "/r/x"):
            assert server.request("TRACE", path).status == status
    assert len(backend.requests) == 2


def test_multiviews_on_a_proxied_site(serve, backend):
    server = serve(config(backend, "<Location /p/>\nOptions +MultiViews\n</Location>"))
    assert server.get("/p/x").body == b"ok\n"


def test_no_tag_of_a_backend_on_a_page_with_includes(serve, backend):
    backend.scripts["/x"] = answer(b'<!--#echo var="DATE_GMT" -->', fields=[("Content-Type", "text/html"), ("ETag", '"a"'), ("Last-Modified", "Fri, 20 Nov 2026 08:00:00 GMT")])
    server = serve(config(backend, "<Location /p/>\nSetOutputFilter INCLUDES\nOptions +Includes\n</Location>"))
    got = server.get("/p/x")
    assert got["ETag"] is None and got["Last-Modified"] is None and b"echo" not in got.body
