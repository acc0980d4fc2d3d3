# SPDX-License-Identifier: Apache-2.0
"""Trailers and interim responses over HTTP/2, of modules and of backends, as with Apache's mod_http2."""
import os
import socket
import socketserver
import threading

import pytest

import brigade
import peer_module
from h2_client import (ACK, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, Connection, frame, line)
from hpack_decoder import Decoder
from test_compare import APACHE, pytestmark as compares

MODULES = brigade.APACHE_MODULES
pytestmark = [compares] if not isinstance(compares, list) else [*compares]
pytestmark.append(pytest.mark.skipif(not os.path.isdir(peer_module.INCLUDES[True]), reason="Apache's headers are not installed"))
CONFIG = """Protocols h2c http/1.1
H2Direct on
H2EarlyHints on
LoadModule testtrail_module {module}
LoadModule proxy_module {modules}/mod_proxy.so
LoadModule proxy_http_module {modules}/mod_proxy_http.so
LoadModule proxy_http2_module {modules}/mod_proxy_http2.so
ProxyPass /one/ http://127.0.0.1:{one}/
ProxyPass /two/ h2c://127.0.0.1:{two}/
<Location /trail>
SetHandler testtrail
</Location>
"""
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


class OverHttp1(socketserver.StreamRequestHandler):
    def handle(self):
        while (asked := self.rfile.readline()):
            while self.rfile.readline().strip():
                pass
            body = b"" if b"none" in asked else b"5\r\nhello\r\n"
            self.wfile.write(CHUNKED + body + b"0\r\nX-Late: two\r\ngrpc-status: 0\r\n\r\n")


class OverHttp2(socketserver.StreamRequestHandler):
    def handle(self):
        assert self.rfile.read(len(PREFACE)) == PREFACE
        self.decoder = Decoder()
        self.wfile.write(frame(SETTINGS))
        while len(head := self.rfile.read(9)) == 9:
            self.take(head[3], head[4], int.from_bytes(head[5:9], "big"), self.rfile.read(int.from_bytes(head[:3], "big")))

    def take(self, kind, flags, stream, payload):
        if kind in (SETTINGS, PING) and not flags & ACK:
            self.wfile.write(frame(kind, ACK, payload=payload if kind == PING else b""))
        elif kind == HEADERS:
            path = dict(self.decoder.decode(payload[5:] if flags & 0x20 else payload))[":path"]
            self.answer(stream, path)

    def answer(self, stream, path):
        def block(*fields):
            return b"".join(line(n, v) for n, v in fields)
        head = [(":status", "200"), ("content-type", "application/grpc")] + ([("content-length", "5")] if "length" in path else [])
        if "hint" in path:
            self.wfile.write(frame(HEADERS, END_HEADERS, stream, block((":status", "103"), ("link", "</a.css>; rel=preload"))))
        self.wfile.write(frame(HEADERS, END_HEADERS, stream, block(*head)) + frame(DATA, 0, stream, b"hello") +
                         frame(HEADERS, END_HEADERS | END_STREAM, stream, block(("x-late", "two"), ("grpc-status", "0"))))


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    backends, made = [], []
    for handler in (OverHttp1, OverHttp2):
        backend = socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)
        backend.daemon_threads = True
        threading.Thread(target=backend.serve_forever, daemon=True).start()
        backends.append(backend)
    one, two = (b.server_address[1] for b in backends)
    for binary in (APACHE, brigade.BINARY):
        apache = brigade.is_apache(binary)
        module = peer_module.build("mod_testtrail", apache, str(tmp_path_factory.mktemp("modules")))
        made.append(brigade.Server(CONFIG.format(module=module, modules=MODULES, one=one, two=two), {"a": "a"}, binary=binary, modules=["http2"]).start())
    yield made
    for each in (*made, *backends):
        (each.close if isinstance(each, brigade.Server) else each.shutdown)()


def over_http2(server, path, method="GET"):
    """Statuses, body and trailers; "reset" where the response was not completed."""
    with Connection(server.port) as c:
        c.request(1, path=path, method=method)
        decoder, blocks, body = Decoder(), [], b""
        while True:
            kind, flags, _, payload = c.expect(HEADERS, DATA, RST_STREAM, stream=1)
            if kind == RST_STREAM:
                return "reset"
            if kind == HEADERS:
                blocks.append(dict(decoder.decode(payload)))
            else:
                body += payload
            if flags & END_STREAM:
                break
    heads = [b for b in blocks if ":status" in b]
    return [h[":status"] for h in heads], heads[-1].get("content-length"), body, [b for b in blocks if ":status" not in b]


def over_http1(server, path):
    with socket.create_connection(("127.0.0.1", server.port), timeout=brigade.PATIENCE) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nTE: trailers\r\nConnection: TE, close\r\n\r\n".encode())
        return b"".join(iter(lambda: s.recv(65536), b"")).partition(b"\r\n\r\n")[2]


ASKED = [f"/trail?{q}" for q in ("early", "early,length", "early,flush", "late", "late,length", "late,flush", "early,late", "early,none", "early,204",
                                 "early,bad,flush", "none", "flush", "hint", "hint,late", "length")] + \
        ["/one/some", "/one/none", "/two/some", "/two/length"]  # a 103 of an HTTP/2 backend goes on here, which mod_proxy_http2 drops


@pytest.mark.parametrize("path", ASKED)
def test_as_with_apache(servers, path):
    apache, ours = (over_http2(server, path) for server in servers)
    assert ours == apache
    if "hint" not in path:
        apache, ours = (over_http1(server, path) for server in servers)
        assert ours == apache


def test_there_are_trailers(servers):
    assert over_http2(servers[1], "/trail?early,late,length") == (["200"], "5", b"hello", [{"x-early": "one", "x-late": "two"}])
    assert over_http2(servers[1], "/two/some")[3] == [{"x-late": "two", "grpc-status": "0"}]


def test_what_frames_a_body_is_no_trailer(servers):
    """Apache sends it; libnghttp2's clients take such a response for malformed."""
    assert over_http2(servers[1], "/trail?frame") == (["200"], "5", b"hello", [])
    assert over_http2(servers[1], "/trail?frame,late")[3] == [{"x-late": "two"}]
