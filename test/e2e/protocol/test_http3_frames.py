# SPDX-License-Identifier: Apache-2.0
"""HTTP/3 by hand: what frames and field sections are refused with, and how (RFC 9114, RFC 9204, RFC 9218)."""
import shutil

import pytest

import brigade
from http3_client import http3_python, send
from http3_frames import DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID, PRIORITY_UPDATE, STREAM_CREATION, CLOSED_CRITICAL, FRAME_UNEXPECTED, FRAME_ERROR, EXCESSIVE_LOAD, ID_ERROR, SETTINGS_ERROR, MISSING_SETTINGS, INCOMPLETE, MESSAGE_ERROR, DECOMPRESSION, ENCODER, DECODER, number, frame, line, section, GET, POST, HEAD, CONTROL, ANSWER
from tls_site import certificate

PYTHON = http3_python(brigade.REPOSITORY)
pytestmark = [pytest.mark.skipif(not PYTHON, reason="no interpreter with aioquic and pycurl (http3_client.py)"),
              pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")]

CONFIG = """
Protocols h3 http/1.1
Listen 127.0.0.1:@TLS@ https
SSLCertificateFile @ROOT@/conf/cert.pem
SSLCertificateKeyFile @ROOT@/conf/key.pem
H3MaxRequestBodySize 1000
<VirtualHost *:@TLS@>
SSLEngine on
LogLevel debug
</VirtualHost>
"""


@pytest.fixture(scope="module")
def server(serve_module):
    tls = brigade.free_port()
    made = serve_module.unstarted(CONFIG.replace("@TLS@", str(tls)), {"a.txt": "first\n"})
    certificate(made)
    made.url = f"https://127.0.0.1:{tls}"
    return made.start()


def on_control(*frames):
    return [(True, b"\0" + b"".join(frames), False)]


def test_requests_in_pieces(server):
    """Unknown frames, empty ones, and long forms of numbers are no faults."""
    long_head = b"\x40\x01" + b"\x80\x00\x00" + bytes([len(section(*GET))]) + section(*GET)
    told = send(PYTHON, server.url, [CONTROL, (False, HEAD, True), (False, frame(0x21, b"grease") + HEAD + frame(0x21), True), (False, long_head, True), (True, b"\x21some", False)])
    assert told["error"] is None and [told["streams"][i]["data"][-12:] for i in ["0", "4", "8"]] == [ANSWER] * 3, told


@pytest.mark.parametrize("name,streams,error", [
    ("DATA first", [CONTROL, (False, frame(DATA, b"x"), False)], FRAME_UNEXPECTED),
    ("SETTINGS on a request", [CONTROL, (False, frame(SETTINGS), False)], FRAME_UNEXPECTED),
    ("a frame of HTTP/2", [CONTROL, (False, frame(6, b"12345678"), False)], FRAME_UNEXPECTED),
    ("PUSH_PROMISE", [CONTROL, (False, HEAD + frame(PUSH_PROMISE, b"\0"), False)], FRAME_UNEXPECTED),
    ("an end within a frame", [CONTROL, (False, HEAD[:-1], True)], FRAME_ERROR),
    ("three field sections", [CONTROL, (False, frame(HEADERS, section(*POST)) + 2 * frame(HEADERS, section(("x", "y"))), False)], FRAME_UNEXPECTED),
    ("no SETTINGS", on_control(frame(GOAWAY, b"\0")), MISSING_SETTINGS),
    ("SETTINGS twice", on_control(frame(SETTINGS), frame(SETTINGS)), FRAME_UNEXPECTED),
    ("a setting twice", on_control(frame(SETTINGS, b"\x06\x01\x06\x01")), SETTINGS_ERROR),
    ("a setting of HTTP/2", on_control(frame(SETTINGS, b"\x03\x01")), SETTINGS_ERROR),
    ("all settings that are taken, twice", on_control(frame(SETTINGS, b"".join(bytes((0x21 + n, 1)) for n in range(31)) + b"\1\1"), frame(SETTINGS)), FRAME_UNEXPECTED),
    ("too many settings", on_control(frame(SETTINGS, b"".join(bytes((0x21 + n, 1)) for n in range(31)) + b"\1\1\6\1")), SETTINGS_ERROR),
    ("half a setting", on_control(frame(SETTINGS, b"\x06")), SETTINGS_ERROR),
    ("HEADERS on the control stream", on_control(frame(SETTINGS), frame(HEADERS)), FRAME_UNEXPECTED),
    ("CANCEL_PUSH", on_control(frame(SETTINGS), frame(CANCEL_PUSH, b"\0")), ID_ERROR),
    ("MAX_PUSH_ID that falls", on_control(frame(SETTINGS), frame(MAX_PUSH_ID, b"\5"), frame(MAX_PUSH_ID, b"\4")), ID_ERROR),
    ("GOAWAY that rises", on_control(frame(SETTINGS), frame(GOAWAY, b"\0"), frame(GOAWAY, b"\4")), ID_ERROR),
    ("a number that is too long", on_control(frame(SETTINGS), frame(MAX_PUSH_ID, b"\4\4")), FRAME_ERROR),
    ("PRIORITY_UPDATE of no request", on_control(frame(SETTINGS), frame(PRIORITY_UPDATE, b"\2u=1")), ID_ERROR),
    ("PRIORITY_UPDATE of a push", on_control(frame(SETTINGS), frame(0xf0701, b"\0u=1")), ID_ERROR),
    ("two control streams", [CONTROL, CONTROL], STREAM_CREATION),
    ("a push stream", [CONTROL, (True, b"\1\0", False)], STREAM_CREATION),
    ("a control stream that ends", [(True, b"\0" + frame(SETTINGS), True)], CLOSED_CRITICAL),
    ("an entry for the dynamic table", [CONTROL, (True, b"\2\xc0\1x", False)], ENCODER),
    ("a section that is acknowledged", [CONTROL, (True, b"\3\x80", False)], DECODER),
    ("a line of the dynamic table", [CONTROL, (False, frame(HEADERS, b"\0\0\x80"), True)], DECOMPRESSION),
    ("an insert that is required", [CONTROL, (False, frame(HEADERS, b"\1\0"), True)], DECOMPRESSION)], ids=lambda v: v if isinstance(v, str) else "")
def test_faults_of_connections(server, name, streams, error):
    told = send(PYTHON, server.url, streams)
    assert told["error"] == error, told


def test_the_control_stream_of_the_server_is_read(server):
    """RFC 9114, 6.2.1. It opens no streams of QPACK, as RFC 9204, 4.2, lets it: who stops these names streams that there are not."""
    assert send(PYTHON, server.url, [CONTROL], stopped=[3])["error"] == CLOSED_CRITICAL
    server.wait_for_log("error 0x104: the control stream is not read")


@pytest.mark.parametrize("name,data,error", [
    ("a name with capitals", frame(HEADERS, section(*GET, ("X-Upper", "x"))), MESSAGE_ERROR),
    ("no path", frame(HEADERS, section(*GET[:3])), MESSAGE_ERROR),
    ("a connection's field", frame(HEADERS, section(*GET, ("connection", "close"))), MESSAGE_ERROR),
    ("a body that is too short", frame(HEADERS, section(*POST, ("content-length", "9"))) + frame(DATA, b"x"), MESSAGE_ERROR),
    ("a body that is too long", frame(HEADERS, section(*POST, ("content-length", "1"))) + frame(DATA, b"xyz"), MESSAGE_ERROR),
    ("pseudo fields as trailers", frame(HEADERS, section(*POST)) + frame(DATA, b"x") + frame(HEADERS, section((":path", "/"))), MESSAGE_ERROR),
    ("nothing", b"", INCOMPLETE),
    ("more than H3MaxRequestBodySize", frame(HEADERS, section(*POST)) + frame(DATA, 1200 * b"x"), EXCESSIVE_LOAD),
    ("a field section without an end", frame(HEADERS, section(*GET, ("x", "y" * 70000))), EXCESSIVE_LOAD)], ids=lambda v: v if isinstance(v, str) else "")
def test_faults_of_streams(server, name, data, error):
    """The connection goes on."""
    told = send(PYTHON, server.url, [CONTROL, (False, data, True), (False, HEAD, True)])
    assert told["error"] is None and told["streams"]["0"]["reset"] == error, told
    assert told["streams"]["4"]["data"].endswith(ANSWER), told


def test_goaway_of_a_client_cuts_no_answer(server):
    """One from memory is not at its end when it is written; the connection ends behind it."""
    for behind in (False, True):
        control, ask = (True, b"\0" + frame(SETTINGS) + frame(GOAWAY, b"\0"), False), (False, HEAD, True)
        told = send(PYTHON, server.url, [control, ask] if behind else [ask, control])
        assert told["streams"]["0"]["data"].endswith(ANSWER), told


def test_large_fields_are_answered(server):
    """431, as over HTTP/2."""
    told = send(PYTHON, server.url, [CONTROL, (False, frame(HEADERS, section(*GET, ("x", "y" * 9000))), True)])
    assert b"Request Header" in bytes.fromhex(told["streams"]["0"]["data"]), told


@pytest.mark.parametrize("name,streams", [
    ("malformed requests", [(False, frame(HEADERS, section(*GET[:3])), True)] * 20),
    ("frames of unknown types", [(False, 1100 * frame(0x21), False)]),
    ("PRIORITY_UPDATE", on_control(frame(SETTINGS), 1100 * frame(PRIORITY_UPDATE, b"\0u=1")))], ids=lambda v: v if isinstance(v, str) else "")
def test_floods(server, name, streams):
    told = send(PYTHON, server.url, streams if streams[0][0] else [CONTROL, *streams])
    assert told["error"] == EXCESSIVE_LOAD, told
    server.wait_for_log("HTTP/3 connection ended: .*again and again, client 127.0.0.1")
