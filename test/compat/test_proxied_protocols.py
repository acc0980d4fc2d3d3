# SPDX-License-Identifier: Apache-2.0
"""What a backend gets, byte for byte, and what the client gets of its answer, whatever protocol the client speaks: as with Apache's mod_proxy."""
import os
import re
import shutil
import socket
import subprocess
import threading

import pytest

import brigade
from stock import driver
from tls_site import certificate

CURL = shutil.which("curl")
pytestmark = [
    pytest.mark.skipif(not os.access(driver.APACHE, os.X_OK) or brigade.is_apache(brigade.BINARY), reason="Apache beside Brigade"),
    pytest.mark.skipif(not CURL or b"HTTP2" not in subprocess.run([CURL, "-V"], capture_output=True).stdout, reason="no curl with HTTP/2"),
    pytest.mark.skipif(not os.path.exists(f"{driver.MODULES}/mod_http2.so"), reason="no mod_http2.so"),
]
MODULES = ["socache_shmcb", "ssl", "http2", "slotmem_shm", "proxy", "proxy_http", "proxy_balancer", "lbmethod_byrequests", "headers", "rewrite", "setenvif"]
CONFIG = """Listen 127.0.0.1:@TLS@
Protocols h2 h2c http/1.1
SSLSessionCache none
UseCanonicalName Off
ProxyPass /a/ http://127.0.0.1:@BACKEND@/
ProxyPass /host/ http://127.0.0.1:@BACKEND@/h/
<Location /host/>
    ProxyPreserveHost On
</Location>
ProxyPass /plain/ http://127.0.0.1:@BACKEND@/p/
<Location /plain/>
    ProxyAddHeaders Off
</Location>
<Proxy balancer://one>
    BalancerMember http://127.0.0.1:@BACKEND@ keepalive=On
    ProxySet stickysession=S
</Proxy>
ProxyPass /bal/ balancer://one/b/
ProxyPass /close/ http://127.0.0.1:@BACKEND@/c/ disablereuse=On
ProxyPassReverse /a/ http://127.0.0.1:@BACKEND@/
RewriteEngine On
RewriteRule ^/rw/(.*)$ http://127.0.0.1:@BACKEND@/rw/$1 [P,QSA]
RequestHeader set X-Set "by the proxy"
RequestHeader unset X-Gone
Header set X-Out "%{REQUEST_SCHEME}s %{request_method}s %{REQUEST_URI}s %{QUERY_STRING}s %{HTTP_USER_AGENT}s %{HTTP:X-Two}s %{IS_SUBREQ}s %{REMOTE_USER}s"
Header set X-TLS "%{ssl_protocol}s %{SSL_CIPHER_usekeysize}s %{https}s %{ENV:HTTPS}s %{SSL_PROTOCOL}s %{NOTHING}s"
SetEnvIf Request_URI "^/sendcl/" proxy-sendcl
SetEnvIf Request_URI "^/chunked/" proxy-sendchunked
SetEnvIf Request_URI "^/old/" force-proxy-request-1.0 proxy-nokeepalive
ProxyPass /sendcl/ http://127.0.0.1:@BACKEND@/
ProxyPass /chunked/ http://127.0.0.1:@BACKEND@/
ProxyPass /old/ http://127.0.0.1:@BACKEND@/
@VIA@
<VirtualHost *:@TLS@>
    SSLEngine on
    SSLCertificateFile @ROOT@/conf/cert.pem
    SSLCertificateKeyFile @ROOT@/conf/key.pem
    RewriteEngine On
    RewriteOptions Inherit
</VirtualHost>
"""
PROTOCOLS = {"http1": ["--http1.1"], "https": ["--http1.1", "-k"], "h2c": ["--http2-prior-knowledge"], "h2": ["--http2", "-k"]}
BODY = "0123456789" * 3000
REQUESTS = {
    **{f"get {path}": [path] for path in ("/a/x", "/a/x?y=1&z=%20", "/a/a%20b", "/a/", "/host/x", "/plain/x", "/bal/x;S=1.a", "/close/x", "/rw/a?b=c", "/old/x", "/a/redirect",
                                          "/a/cookies", "/a/hop", "/a/nothing", "/a/unchanged", "/a/endless", "/a/chunked", "/a/error")},
    "head": ["/a/x", "-I"],
    "fields": ["/a/x", "-H", "X-Gone: 1", "-H", "X-Two: a", "-H", "X-Two: b", "-H", "Accept-Encoding: gzip, br", "-H", "Cookie: a=b; c=d", "-H", "Referer: http://x/"],
    "forwarded": ["/a/x", "-H", "X-Forwarded-For: 192.0.2.1", "-H", "X-Forwarded-Host: other", "-H", "Via: 1.0 old", "-H", "Forwarded: for=192.0.2.1"],
    "conditional": ["/a/x", "-H", "If-None-Match: \"a\"", "-H", "If-Modified-Since: Thu, 26 Nov 2020 17:00:00 GMT", "-H", "Range: bytes=0-3"],
    "te": ["/a/x", "-H", "TE: trailers"],
    "expect": ["/a/x", "-d", "abc", "-H", "Expect: 100-continue"],
    "password": ["/a/x", "-u", "a:b"],
    "delete": ["/a/x", "-X", "DELETE"],
    "options": ["/a/x", "-X", "OPTIONS"],
    "own method": ["/a/x", "-X", "REPORT"],
    **{f"body {path}": [path, "--data-binary", BODY] for path in ("/a/x", "/sendcl/x", "/chunked/x", "/old/x", "/close/x")},
    "empty body": ["/a/x", "-d", ""],
    "put": ["/a/x", "-X", "PUT", "--data-binary", "abc", "-H", "Content-Type: text/plain"],
}
ANSWERS = {
    "/redirect": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:@PORT@/there\r\nContent-Length: 0\r\n\r\n",
    "/cookies": b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b; path=/\r\nSet-Cookie: c=d\r\nVary: Cookie\r\nContent-Length: 2\r\n\r\nok",
    "/hop": b"HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nX-Stays: 1\r\nContent-Length: 2\r\n\r\nok",
    "/nothing": b"HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n",
    "/unchanged": b"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n",
    "/endless": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\nall\n",
    "/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n3\r\nabc\r\n5;x=y\r\ndefgh\r\n0\r\n\r\n",
    "/error": b"HTTP/1.1 503 Busy\r\nRetry-After: 5\r\nContent-Length: 5\r\n\r\nbusy\n",
}
OK = b"HTTP/1.1 200 OK\r\nDate: Thu, 26 Nov 2020 17:00:00 GMT\r\nServer: backend\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nok\n"


class Recorder:
    """A backend that keeps the bytes of each request: its head, and its body by length or in chunks as it came."""

    def __init__(self):
        self.socket, self.bytes = socket.create_server(("127.0.0.1", 0)), []
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection = self.socket.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        with connection, connection.makefile("rb") as stream:
            while head := self.head(stream):
                fields = head.lower()
                told = re.search(rb"\r\ncontent-length: (\d+)", fields)
                if b"\r\nexpect: 100-continue" in fields:
                    connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = stream.read(int(told[1])) if told else self.chunks(stream) if b"\r\ntransfer-encoding: chunked" in fields else b""
                self.bytes.append((head, body))
                answer = ANSWERS.get(head.split(b" ")[1].decode("latin1").split("?")[0], OK).replace(b"@PORT@", str(self.port).encode())
                if head.startswith(b"HEAD "):
                    answer = answer.split(b"\r\n\r\n")[0] + b"\r\n\r\n"
                connection.sendall(answer)
                if b"\r\nConnection: close" in answer or b" HTTP/1.0" in head.split(b"\r\n")[0] or b"\r\nconnection: close" in fields:
                    return

    @staticmethod
    def head(stream):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = stream.readline()
            if not line:
                return b""
            head += line
        return head

    @staticmethod
    def chunks(stream):
        """The body without its framing: pieces are cut by what came at a time."""
        body = b""
        while size := int(stream.readline(), 16):
            body += stream.read(size)
            stream.readline()
        assert stream.readline() == b"\r\n"
        return body

    def take(self):
        taken, self.bytes = self.bytes, []
        return taken


class Sides:
    def __init__(self, via):
        self.backend, self.servers = Recorder(), []
        for binary in (driver.APACHE, brigade.BINARY):
            server = brigade.Server("", binary=binary, modules=MODULES)
            server.tls = brigade.free_port()
            loads = "" if server.apache else "".join(f"LoadModule {m}_module @MODULES@/mod_{m}.so\n" for m in MODULES)
            server.config = loads + CONFIG.replace("@TLS@", str(server.tls)).replace("@BACKEND@", str(self.backend.port)).replace("@VIA@", via)
            certificate(server)
            self.servers.append(server)

    def __enter__(self):
        for server in self.servers:
            server.start()
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.close()
        self.backend.socket.close()

    def ask(self, server, protocol, path, *options):
        """(what the client got, what the backend got)"""
        secure = protocol in ("https", "h2")
        port = server.tls if secure else server.port
        done = subprocess.run([CURL, "-s", "-i", "--path-as-is", "--max-time", "60", *PROTOCOLS[protocol], *options, "-A", "test",
                               f"{'https' if secure else 'http'}://127.0.0.1:{port}{path}"], capture_output=True, check=False)

        def plain(data):
            data = data.replace(str(port).encode(), b"PORT")
            data = re.sub(rb"(?im)^(date): [^\r]*", rb"\1: now", data)
            return re.sub(rb"(?:Apache|Brigade)/[0-9.]+", b"SERVER", re.sub(rb"(?im)^server: (?:Apache|Brigade)[^\r]*", b"Server: this", data))
        return done.returncode, plain(done.stdout), [(plain(head), body) for head, body in self.backend.take()]


@pytest.fixture(scope="module", params=["ProxyVia Off", "ProxyVia On", "ProxyVia Full"], ids=["off", "on", "full"])
def sides(request):
    with Sides(request.param) as both:
        yield both


def same(answer, protocol):
    """An answer without the differences that docs/differences-from-apache.md has: the place of cookies, the order of fields in HTTP/2, and
    the length of what is here as a whole."""
    code, data = answer
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    if protocol in ("h2c", "h2"):
        lines[1:] = sorted(line.lower() for line in lines[1:])
    lines.sort(key=lambda line: line.lower().startswith(b"set-cookie:"))
    whole = b"content-length: %d" % len(body)
    return code, [line for line in lines if line.lower() not in (whole, b"transfer-encoding: chunked")], body


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("request_of", REQUESTS)
def test_the_same_bytes(sides, protocol, request_of):
    apache, here = (sides.ask(server, protocol, *REQUESTS[request_of]) for server in sides.servers)
    assert apache[2] == [(head.replace(b"TE: trailers\r\nConnection: TE\r\n", b""), body) for head, body in here[2]]
    assert same(apache[:2], protocol) == same(here[:2], protocol)
