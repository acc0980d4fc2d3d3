# SPDX-License-Identifier: Apache-2.0
"""Responses of programs and modules over HTTP/2: heads that the server makes, and such that come as text of HTTP/1; bodies of
known and unknown length, and none; filters between a head and its stream."""
import os

import pytest

import brigade
import hpack_decoder
from h2_client import DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, Connection, frame, line

MODULES = brigade.APACHE_MODULES
pytestmark = [pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module"), pytest.mark.threads,
              pytest.mark.skipif(not os.path.exists(f"{MODULES}/mod_cgi.so"), reason="no mod_cgi")]
CONFIG = f"""
Protocols h2c http/1.1
LoadModule cgi_module {MODULES}/mod_cgi.so
LoadModule asis_module {MODULES}/mod_asis.so
LoadModule ratelimit_module {MODULES}/mod_ratelimit.so
LoadModule reflector_module {MODULES}/mod_reflector.so
AddHandler send-as-is .asis
<Directory @ROOT@/htdocs>
Options +ExecCGI
</Directory>
<FilesMatch "^(nph-)?[a-z0-9]+\\.sh$">
SetHandler cgi-script
</FilesMatch>
<Files slow.txt>
SetOutputFilter RATE_LIMIT
SetEnv rate-limit 4000
</Files>
<Files bad.txt>
Header always set "X Bad" y
</Files>
<Location /limited>
SetHandler reflector
LimitRequestBody 1000
</Location>
"""
SCRIPTS = {
    "plain.sh": "Content-Type: text/plain\n\nplain\n",
    "length.sh": "Content-Type: text/plain\nContent-Length: 6\n\nlength",
    "longer.sh": "Content-Type: text/plain\nContent-Length: 3\n\nlonger",
    "nothing.sh": "Status: 204 No Content\n\n",
    "teapot.sh": "Status: 418 I'm a teapot\nX-Two: a\nX-two: b\nSet-Cookie: a=b\nSet-Cookie: c=d\n\nshort and stout\n",
    "control.sh": "Content-Type: text/plain\nX-Bad: a\x01b\n\nbody\n",
    "nph-own.sh": "HTTP/1.1 201 Made\r\nContent-Length: 3\r\nX-Own: yes\r\n\r\nown",
    "nph-chunks.sh": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nown\r\n0\r\nX-End: 1\r\n\r\n",
    "nph-broken.sh": "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nown",
}
ASIS = "Status: 203 As it is\nX-AsIs: yes\nContent-Type: text/plain\n\nas it is\n"


@pytest.fixture(scope="module")
def server(serve_module):
    files = {"first.asis": ASIS, "slow.txt": "s" * 5000, "bad.txt": "bad\n", "limited": ""}
    for name, text in SCRIPTS.items():
        files[name] = f"#!/bin/sh\nprintf '%b' '{''.join(f'{chr(92)}0{ord(c):03o}' for c in text)}'\n"
    made = serve_module.unstarted(CONFIG, files, modules=["headers"])
    for name in SCRIPTS:
        os.chmod(made.path("htdocs", name), 0o755)
    return made.start()


def fields_of(block):
    """Our blocks use no table of the connection."""
    return [tuple(v.decode() if isinstance(v, bytes) else v for v in f) for f in hpack_decoder.Decoder().decode(block)]


def ask(server, path, method="GET"):
    """@return fields, body, trailers or None; the error of RST_STREAM in the place of the trailers"""
    with Connection(server.port) as c:
        c.request(1, path=path, method=method)
        head, body = None, b""
        while True:
            kind, flags, _, payload = c.expect(HEADERS, DATA, RST_STREAM)
            if kind == RST_STREAM:
                return head, body, int.from_bytes(payload, "big")
            if kind == DATA:
                body += payload
            elif head is not None:
                return head, body, fields_of(payload)
            else:
                head = fields_of(payload)
            if flags & END_STREAM:
                return head, body, None


@pytest.mark.parametrize("path, status, body", [
    ("/plain.sh", "200", b"plain\n"), ("/length.sh", "200", b"length"), ("/longer.sh", "200", b"longer"), ("/nothing.sh", "204", b""),
    ("/teapot.sh", "418", b"short and stout\n"), ("/nph-own.sh", "201", b"own"), ("/nph-chunks.sh", "200", b"own"),
    ("/first.asis", "203", b"as it is\n"), ("/slow.txt", "200", b"s" * 5000)])
def test_responses(server, path, status, body):
    head, came, end = ask(server, path)
    fields = dict(head)
    assert fields[":status"] == status and came == body
    assert not {"connection", "keep-alive", "transfer-encoding"} & set(fields)
    assert end == ([("x-end", "1")] if path == "/nph-chunks.sh" else None)
    names = [n for n, _ in head]
    if "nph" not in path:
        assert names[1:3] == ["date", "server"] and names.count("date") == 1
    if path == "/teapot.sh":
        assert {("set-cookie", "a=b"), ("set-cookie", "c=d")} <= set(head)


@pytest.mark.parametrize("path", ["/plain.sh", "/length.sh", "/teapot.sh", "/first.asis", "/slow.txt"])
def test_head_has_no_body(server, path):
    head, body, end = ask(server, path, "HEAD")
    got = dict(ask(server, path)[0])
    assert dict(head)[":status"] == got[":status"] and body == b"" and end is None


def test_half_a_response_is_reset(server):
    _, body, error = ask(server, "/nph-broken.sh")  # with its head, or before that left
    assert error and len(body) < 30


def test_fields_that_cannot_be_sent(server):
    head, _, error = ask(server, "/control.sh")
    assert dict(head)[":status"] == "500" and error is None and "x-bad" not in dict(head)
    head, body, error = ask(server, "/bad.txt")  # the error page has it as well
    assert dict(head)[":status"] == "500" and body == b"" and error is None
    assert dict(head)["content-length"] == "0"


@pytest.mark.parametrize("pieces", [[b"x" * 1000], [b"x"] * 10, [b"x" * 500, b"y" * 500]])
@pytest.mark.parametrize("trailers", [False, True])
def test_bodies_of_unknown_length_within_a_limit(server, pieces, trailers):
    with Connection(server.port) as c:
        c.request(1, path="/limited", method="POST", end=False)
        for i, piece in enumerate(pieces):
            c.send(frame(DATA, END_STREAM if i == len(pieces) - 1 and not trailers else 0, 1, piece))
        if trailers:
            c.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, line("x-end", "1")))
        assert c.response(1) == (200, b"".join(pieces))


def test_body_of_unknown_length_over_a_limit(server):
    with Connection(server.port) as c:
        c.request(1, path="/limited", method="POST", end=False)
        c.send(frame(DATA, END_STREAM, 1, b"x" * 1001))
        assert c.response(1)[0] == 413
