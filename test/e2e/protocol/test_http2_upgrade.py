# SPDX-License-Identifier: Apache-2.0
"""The change from HTTP/1.1 to HTTP/2 by an Upgrade field, in the clear."""
import base64
import os
import re
import shutil
import struct
import subprocess

import pytest

import brigade
from cache_site import await_hits, one_loop, settle
from h2_client import DATA, END_STREAM, HEADERS, PREFACE, SETTINGS, Connection, frame, status_of

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module")
BIG = os.urandom(200000)
FILES = {"a.txt": "first\n", "big.bin": BIG, "page.shtml": '<!--#echo var="SERVER_PROTOCOL" --> <!--#echo var="HTTP_X_OWN" -->\n',
         "off/a.txt": "first\n"}
CONFIG = """
Protocols h2c http/1.1
AddOutputFilter INCLUDES .shtml
LogFormat "%H %m %U %>s" h2
CustomLog @ROOT@/logs/h2.log h2
<Directory @ROOT@/htdocs>
Options +Includes
</Directory>
<Location /off>
H2Upgrade off
</Location>
"""


@pytest.fixture(scope="module")
def server(serve_module):
    return serve_module(CONFIG, FILES)


def settings(*values):
    return base64.urlsafe_b64encode(b"".join(struct.pack("!HI", *v) for v in values)).decode().rstrip("=")


def ask(server, path, method="GET", fields=(), http2_settings=settings((3, 100))):
    """A connection that asked: what came of the answer's head, and the connection behind it."""
    c = Connection(server.port, preface=False)
    own = [f"HTTP2-Settings: {http2_settings}"] if http2_settings is not None else []
    head = "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", *own, *fields])
    c.send(head.encode() + b"\r\n\r\n")
    while b"\r\n\r\n" not in c.data:
        more = c.sock.recv(65536)
        assert more
        c.data += more
    head, c.data = c.data.split(b"\r\n\r\n", 1)
    return head.decode(), c


def test_the_request_is_stream_1(server):
    for path, body in (("/a.txt", b"first\n"), ("/page.shtml", b"HTTP/2.0 mine\n"), ("/a.txt", b"first\n"), ("/a.txt", b"first\n")):
        head, c = ask(server, path, fields=["X-Own: mine"])
        with c:
            assert head.split("\r\n")[0] == "HTTP/1.1 101 Switching Protocols"
            assert {"Upgrade: h2c", "Connection: Upgrade"} <= set(head.split("\r\n"))
            c.send(PREFACE + frame(SETTINGS))
            assert c.receive()[0] == SETTINGS
            assert c.response(1) == (200, body)
            c.request(3, path="/a.txt")
            assert c.response(3) == (200, b"first\n")
    server.wait_for_log("HTTP/2.0 GET /a.txt 200", "logs/h2.log")


def test_head_has_no_body(server):
    head, c = ask(server, "/a.txt", method="HEAD")
    with c:
        assert " 101 " in head
        c.send(PREFACE + frame(SETTINGS))
        _, flags, stream, block = c.expect(HEADERS)
        assert flags & END_STREAM and stream == 1 and status_of(block) == 200


def test_settings_hold(server):
    """A window of 10 bytes."""
    head, c = ask(server, "/big.bin", http2_settings=settings((4, 10)))
    with c:
        assert " 101 " in head
        c.send(PREFACE + frame(SETTINGS))
        assert len(c.expect(DATA, stream=1)[3]) == 10


@pytest.mark.parametrize("path,method,fields,http2_settings", [
    ("/off/a.txt", "GET", [], settings()), ("/a.txt", "GET", [], None), ("/a.txt", "GET", [], "AAMA"), ("/a.txt", "GET", [], "A%A="),
    ("/a.txt", "POST", ["Content-Length: 0", "Transfer-Encoding: x"], settings()), ("http://localhost/a.txt", "GET", [], settings())])
def test_what_stays_http1(server, path, method, fields, http2_settings):
    head, c = ask(server, path, method, fields, http2_settings)
    c.sock.close()
    assert " 101 " not in head


@pytest.mark.parametrize("connection,times,changes", [
    (["Upgrade, HTTP2-Settings"], 1, True), (["http2-settings", "upgrade"], 1, True), (["Upgrade"], 1, False), (["HTTP2-Settings"], 1, False),
    (["Upgrade, HTTP2-Settings-2"], 1, False), ([], 1, False), (["Upgrade, HTTP2-Settings"], 2, False)])
def test_connection_names_both_fields_and_one_has_the_settings(server, connection, times, changes):
    """A front that lets WebSockets through sends Upgrade and what it does not know: clients behind it are not to get past it by that."""
    lines = [f"Connection: {value}" for value in connection] + [f"HTTP2-Settings: {settings()}"] * times
    c = Connection(server.port, preface=False)
    with c:
        c.send("\r\n".join(["GET /a.txt HTTP/1.1", "Host: localhost", "Upgrade: h2c", *lines, "", ""]).encode())
        assert c.sock.recv(65536).startswith(b"HTTP/1.1 101 " if changes else b"HTTP/1.1 200 ")


def test_body_stays_http1(server):
    c = Connection(server.port, preface=False)
    with c:
        c.send(f"POST /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
               f"HTTP2-Settings: {settings()}\r\nContent-Length: 3\r\n\r\nabc".encode())
        assert c.sock.recv(65536).startswith(b"HTTP/1.1 200")


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_curl(server):
    done = subprocess.run(["curl", "-s", "--http2", "-o", "/dev/null", "-w", "%{http_version} %{size_download}\n", "--max-time",
                           str(int(brigade.PATIENCE)), f"http://127.0.0.1:{server.port}/big.bin"], capture_output=True)
    assert done.stdout == f"2 {len(BIG)}\n".encode()


# ---- what the first response of a connection tells ----

ASKS = [("GET", "/a.txt", "1.1", ""), ("GET", "/a.txt", "1.1", "Connection: keep-alive\r\n"), ("GET", "/a.txt", "1.1", "Connection: close\r\n"),
        ("GET", "/a.txt", "1.0", ""), ("GET", "/a.txt", "1.0", "Connection: keep-alive\r\n"), ("HEAD", "/a.txt", "1.1", ""),
        ("GET", "/a.txt", "1.1", "Range: bytes=1-2\r\nConnection: keep-alive\r\n"), ("GET", "/big.bin", "1.1", "Range: bytes=0-1,5-9\r\n"),
        ("GET", "/a.txt", "1.1", "If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT\r\n"), ("GET", "/dated.txt", "1.1", ""),
        ("GET", "/none", "1.1", ""), ("GET", "/paged/none", "1.1", ""), ("GET", "/denied", "1.1", ""), ("GET", "/dir", "1.1", ""), ("GET", "/dir/", "1.1", ""),
        ("GET", "/a.txt", "1.1", "Range: bytes=99-\r\n")]
FIRST = """
<Location /paged>
ErrorDocument 404 /a.txt
</Location>
<Location /denied>
Require all denied
</Location>
DirectoryIndex index.html
<Location /metrics>
SetHandler metrics
</Location>
<Location /dated.txt>
ExpiresActive On
ExpiresDefault A60
</Location>
"""


def first_two(server, method, path, version, fields):
    """Heads and bodies of the first two responses of a connection, without dates and boundaries; of one, if it ends with it."""
    said = f"{method} {path} HTTP/{version}\r\nHost: localhost\r\n{fields}\r\n" + f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    text = server.raw(said.encode())
    boundary = re.search(rb"boundary=(\S+)", text)
    text = text.replace(boundary[1], b"-") if boundary else text
    return re.sub(rb"(?m)^(Date|Expires|Content-Length): .*", rb"\1", text)


def test_first_responses_from_memory_as_in_full(serve):
    files = {**FILES, "dated.txt": "dated\n", "dir/index.html": "index\n"}
    with_cache, full = (one_loop(serve, "Protocols h2c http/1.1\n" + FIRST + more, files=files) for more in ("", "FileCacheEntries 0\n"))
    for one in with_cache, full:
        settle(one.path("htdocs"))
    for asked in ASKS:
        want = first_two(full, *asked)
        told = 0 if want.startswith((b"HTTP/1.1 4", b"HTTP/1.1 3")) and b" 304 " not in want[:20] and b"paged" not in asked[1].encode() else 1
        assert want.count(b"\r\nUpgrade: h2c\r\nConnection: Upgrade") == told, want
        for _ in range(4):
            assert first_two(with_cache, *asked) == want, asked
    await_hits(with_cache, sum(3 + 4 * (asked[2] == "1.1" and "close" not in asked[3]) for asked in ASKS[:10]) - 8)


def test_connections_of_one_request_fill_the_cache(serve):
    server = one_loop(serve, "Protocols h2c http/1.1\n" + FIRST, files=FILES)
    settle(server.path("htdocs"))
    for _ in range(8):
        assert b"\r\nUpgrade: h2c\r\n" in server.raw(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    await_hits(server, 4)
