# SPDX-License-Identifier: Apache-2.0
"""Connections whose input and output pass Debian's mod_ssl: requests are read through connection filters."""
import json
import os
import shutil
import socket
import ssl
import time

import pytest

import brigade
from http_client import Client, request_bytes, split_responses
from tls_site import certificate

MODULE = f"{brigade.APACHE_MODULES}/mod_ssl.so"
pytestmark = [pytest.mark.skipif(not os.path.exists(MODULE), reason=f"{MODULE} is not installed"),
              pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]

LARGE = 3_000_000
CONFIG = """
LoadModule socache_shmcb_module @MODULES@/mod_socache_shmcb.so
LoadModule ssl_module @MODULES@/mod_ssl.so
SSLSessionCache none
SSLEngine On
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
KeepAliveTimeout 2
Timeout 2
LogLevel ssl:error
<Location /status>
SetHandler server-status
</Location>
"""


class TLSClient(Client):
    def __init__(self, port, timeout=brigade.PATIENCE):
        super().__init__("127.0.0.1", port, timeout)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.socket = context.wrap_socket(self.socket, server_hostname="localhost", suppress_ragged_eofs=False)

    def _fill(self):
        try:
            data = self.socket.recv(65536)
        except (ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            data = b""
        self.buffer += data
        return bool(data)


@pytest.fixture(scope="module", params=["binary", "builtin"])
def server(serve_module, request):
    if request.param == "builtin" and brigade.is_apache(brigade.BINARY):
        pytest.skip("Apache has one module")
    files = {"a.txt": "text of a\n", "large.bin": os.urandom(LARGE), "dir/index.html": "index\n"}
    choice = "" if request.param == "builtin" or brigade.is_apache(brigade.BINARY) else "BuiltinModule ssl_module Off\n"
    made = serve_module.unstarted(choice + CONFIG, files, modules=())
    certificate(made)
    return made.start()


@pytest.fixture
def client(server):
    with TLSClient(server.port) as c:
        yield c


def test_get(client):
    r = client.get("/a.txt")
    assert (r.status, r.body) == (200, b"text of a\n")


def test_statuses(client):
    assert [client.get(t).status for t in ("/none", "/dir", "/dir/", "/a.txt")] == [404, 301, 200, 200]


def test_redirect_says_https(client):
    assert client.get("/dir")["Location"].startswith("https://localhost")


def test_keep_alive(client):
    for _ in range(20):
        assert client.get("/a.txt").body == b"text of a\n"


def test_close(client):
    assert client.get("/a.txt", {"Connection": "close"})["Connection"] == "close"
    assert client.at_end()


def test_http10(client):
    assert client.get("/a.txt", version="1.0").body == b"text of a\n"
    assert client.at_end()


def test_pipelining(client):
    one, two = request_bytes("GET", "/a.txt"), request_bytes("GET", "/none")
    client.send(one + two + one)
    assert [client.read_response().status for _ in range(3)] == [200, 404, 200]


@pytest.mark.parametrize("length", [0, 1, 10_000, 300_000])
def test_post(client, length):
    assert client.request("POST", "/a.txt", body=b"x" * length).status == 200
    assert client.get("/a.txt").body == b"text of a\n"


def test_post_in_chunks(client):
    client.send(b"POST /a.txt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(5):
        client.send(b"5\r\nhello\r\n")
    client.send(b"0\r\nX: y\r\n\r\n")
    assert client.read_response().status == 200
    assert client.get("/a.txt").status == 200


def test_large_download(server, client):
    expected = server.read("htdocs/large.bin")
    for _ in range(2):
        assert client.get("/large.bin").body == expected


def test_ranges(server, client):
    r = client.get("/large.bin", {"Range": "bytes=1000000-1999999"})
    assert r.status == 206
    assert r.body == server.read("htdocs/large.bin")[1000000:2000000]


def test_slow_reader(server):
    with TLSClient(server.port) as c:
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        c.send(request_bytes("GET", "/large.bin", {"Connection": "close"}))
        head = c.read_head()
        left = int(head["Content-Length"])
        for _ in range(10):
            c.read_exactly(1000)
            left -= 1000
            time.sleep(0.01)
        assert len(c.read_exactly(left)) == left


def test_head_in_pieces(client):
    for byte in request_bytes("GET", "/a.txt"):
        client.send(bytes([byte]))
    assert client.read_response().body == b"text of a\n"


@pytest.mark.parametrize("data", [b"GET  /a.txt HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /a.txt HTTP/1.1\r\n\r\n", b"BAD\r\n\r\n",
                                  b"GET /a.txt HTTP/1.1\r\nHost: x\r\nA b\r\n\r\n"])
def test_malformed(client, data):
    client.send(data)
    assert client.read_response().status == 400
    assert client.at_end()


def test_silence_in_a_head(client):
    client.send(b"GET /a.txt HTTP/1.1\r\nHost: lo")
    answers = split_responses(client.read_to_end())
    assert [r.status for r in answers] == [408]


def test_silence_before_a_request(client):
    assert client.get("/a.txt").status == 200
    began = time.monotonic()
    assert client.at_end()
    assert time.monotonic() - began < brigade.PATIENCE


def test_plain_http_is_told(server):
    assert b"400" in server.raw(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")[:20]


def test_client_that_leaves(server):
    for _ in range(5):
        with TLSClient(server.port) as c:
            c.send(request_bytes("GET", "/large.bin"))
            c.read_exactly(10)
    with TLSClient(server.port) as c:
        assert c.get("/a.txt").status == 200


@pytest.mark.only("brigade")
def test_requests_are_counted(server):
    """The status page knows of requests on connections in which modules take part, and of their bytes."""
    def figures():
        with TLSClient(server.port) as c:
            body = c.request("GET", "/status?json").body
        return json.loads(body)["totals"]
    before = figures()
    with TLSClient(server.port) as c:
        for _ in range(5):
            assert c.request("GET", "/large.bin").status == 200
    after = figures()
    assert after["accesses"] - before["accesses"] in (5, 6)
    assert after["bytes"] - before["bytes"] > 5 * LARGE
