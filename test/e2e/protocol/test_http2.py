# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 of the server's own: requests from memory and in full, bodies, windows, priorities, what is malformed, floods, and the
end of a process. Over TLS: ../tls/test_http2_tls.py."""
import os
import re
import shutil
import signal
import struct
import subprocess

import pytest

import brigade
import h2_client
from h2_client import (ACK, CANCEL, COMPRESSION_ERROR, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM,
                       FLOW_CONTROL_ERROR, GOAWAY, H2SPEC, HEADERS, NO_ERROR, PING, PRIORITY, PRIORITY_UPDATE, PROTOCOL_ERROR, REFUSED_STREAM,
                       RST_STREAM, SETTINGS, STREAM_CLOSED, WINDOW_UPDATE, Connection, frame, line, request_block)

pytestmark = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module")

CONFIG = """
Protocols h2c http/1.1
LoadModule reflector_module @MODULES@/mod_reflector.so
H2MaxSessionStreams 20
LogFormat "%H %m %U %>s %{HTTP2}e" h2
CustomLog @ROOT@/logs/h2.log h2
AddOutputFilter INCLUDES .shtml
LimitRequestFieldSize 4000
<Location /echo>
SetHandler reflector
LimitRequestBody 1000000
</Location>
<Location /page.shtml>
Options +Includes
</Location>
"""
BIG = os.urandom(300000)
FILES = {"a.txt": "first\n", "b.txt": "b" * 10240, "big.bin": BIG, "echo": "", "empty.txt": "",
         "page.shtml": "<!--#echo var=\"SERVER_PROTOCOL\" --> <!--#echo var=\"HTTP2\" --> <!--#echo var=\"REQUEST_METHOD\" -->\n"}


@pytest.fixture(scope="module")
def server(serve_module):
    made = serve_module.unstarted(CONFIG, FILES, modules=["reflector"])
    for name in FILES:  # a file that is new has a weak tag for a second
        os.utime(made.path("htdocs", name), (1_600_000_000, 1_600_000_000))
    return made.start()


@pytest.fixture
def h2(server):
    with Connection(server.port) as c:
        yield c


def curl(server, *args, data=None):
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    done = subprocess.run(["curl", "-s", "--http2-prior-knowledge", "--max-time", str(int(brigade.PATIENCE)), *args],
                          input=data, capture_output=True)
    assert done.returncode == 0, done
    return done.stdout


def url(server, path):
    return f"http://127.0.0.1:{server.port}{path}"


# ---- requests ----------------------------------------------------------------------------------------------------------

def test_from_memory_as_in_full(server, h2):
    answers = []
    for i in range(4):  # armed, filled, and from memory
        h2.request(1 + 2 * i, path="/a.txt")
        answers.append(h2.response(1 + 2 * i))
    assert answers == [(200, b"first\n")] * 4
    server.wait_for_log("HTTP/2.0 GET /a.txt 200", "logs/h2.log")


def test_fields_from_memory_as_in_full(server):
    heads = [curl(server, "-D", "-", "-o", "/dev/null", "-H", "Accept-Encoding: identity", url(server, "/b.txt")) for _ in range(4)]
    heads = [sorted(n for n in h.lower().split(b"\r\n") if not n.startswith(b"date:")) for h in heads]
    assert heads[0] == heads[1] == heads[2] == heads[3]
    assert b"content-length: 10240" in heads[0] and not any(n.startswith((b"connection", b"keep-alive", b"transfer")) for n in heads[0])


def test_from_memory_in_either_order_of_protocols(serve):
    """A stream is no connection that could be upgraded, which would be for one answer alone."""
    server = serve("Protocols http/1.1 h2c\nEventLoops 1\n<Location /metrics>\nSetHandler metrics\n</Location>\n", FILES)

    def hits():
        found = re.search(rb"^brigade_cache_hits_total (\d+)", server.get("/metrics").body, re.M)
        return int(found[1]) if found else 0
    os.utime(server.path("htdocs/a.txt"), (1e9, 1e9))  # what has just changed is not kept
    with Connection(server.port) as c:
        for i in range(20):
            c.request(1 + 2 * i, path="/a.txt")
            assert c.response(1 + 2 * i)[0] == 200
    brigade.wait_until(lambda: hits() >= 15, "answers from memory")


def test_methods_and_conditions(server):
    tag = next(n for n in curl(server, "-I", url(server, "/a.txt")).split(b"\r\n") if n.startswith(b"etag: "))[6:].decode()
    for _ in range(3):
        assert b"HTTP/2 304" in curl(server, "-D", "-", "-H", f"If-None-Match: {tag}", url(server, "/a.txt"))
        assert curl(server, "-r", "1-3", url(server, "/a.txt")) == b"irs"
        assert b"HTTP/2 404" in curl(server, "-D", "-", url(server, "/missing"))
        head = curl(server, "-I", url(server, "/b.txt"))
        assert b"HTTP/2 200" in head and b"content-length: 10240" in head
        assert curl(server, url(server, "/empty.txt")) == b""


def test_page_with_includes(server):
    for _ in range(3):
        assert curl(server, url(server, "/page.shtml")) == b"HTTP/2.0 on GET\n"


def test_large_file(server):
    for _ in range(3):
        assert curl(server, url(server, "/big.bin")) == BIG


def test_many_streams_at_once(h2):
    paths = {1: "/a.txt", 3: "/big.bin", 5: "/b.txt", 7: "/page.shtml", 9: "/missing"}
    h2.send(frame(WINDOW_UPDATE, payload=struct.pack("!I", 1 << 20)))
    for stream, path in paths.items():
        h2.request(stream, path=path)
        h2.send(frame(WINDOW_UPDATE, stream=stream, payload=struct.pack("!I", 1 << 20)))
    bodies, statuses = dict.fromkeys(paths, b""), {}
    open_streams = set(paths)
    while open_streams:
        kind, flags, stream, payload = h2.expect(HEADERS, DATA)
        if kind == HEADERS:
            statuses[stream] = h2_client.status_of(payload)
        else:
            bodies[stream] += payload
        if flags & END_STREAM:
            open_streams.remove(stream)
    assert statuses == {1: 200, 3: 200, 5: 200, 7: 200, 9: 404}
    assert bodies[3] == BIG and bodies[1] == b"first\n" and len(bodies[5]) == 10240


# ---- bodies ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("fields", [(), ("-H", "Transfer-Encoding: chunked"), ("-H", "Expect: 100-continue")], ids=["length", "none", "expect"])
def test_body_is_echoed(server, fields):
    assert curl(server, *fields, "--data-binary", "@-", url(server, "/echo"), data=BIG) == BIG


def test_many_bodies_on_one_connection(h2):
    """Each of them gives the connection's window back what it took."""
    body = b"x" * 10000
    for stream in range(1, 301, 2):
        h2.request(stream, end=False, path="/echo", method="POST")
        h2.send(frame(DATA, END_STREAM, stream, body) + frame(WINDOW_UPDATE, payload=struct.pack("!I", len(body))))
        assert h2.response(stream) == (200, body)


def test_body_that_nobody_reads(h2):
    h2.request(1, path="/a.txt", method="POST", end=False)
    h2.send(frame(DATA, 0, 1, b"x" * 10000) + frame(DATA, END_STREAM, 1, b"y" * 10000))
    assert h2.response(1)[0] == 200


def test_body_over_the_limit(h2):
    h2.request(1, path="/echo", method="POST", fields=[("content-length", "1000001")], end=False)
    h2.send(frame(DATA, 0, 1, b"x" * 16384))
    assert h2.response(1)[0] == 413


def test_body_with_padding_and_trailers(h2):
    h2.request(1, path="/echo", method="POST", end=False)
    h2.send(frame(DATA, h2_client.PADDED, 1, b"\x05abcde" + bytes(5)) + frame(HEADERS, END_STREAM | END_HEADERS, 1, line("x-end", "1")))
    assert h2.response(1) == (200, b"abcde")


@pytest.mark.parametrize("length,sent", [(4, 5), (6, 5)])
def test_body_of_another_length_than_it_said(h2, length, sent):
    h2.request(1, path="/echo", method="POST", fields=[("content-length", str(length))], end=False)
    h2.send(frame(DATA, END_STREAM, 1, b"x" * sent))
    assert h2.response(1) == (None, PROTOCOL_ERROR)


def test_body_beyond_its_window(server):
    with Connection(server.port, settings=struct.pack("!HI", 4, 0)) as c:  # the echo is not taken, so the body is not read
        c.request(1, path="/echo", method="POST", fields=[("content-length", "900000")], end=False)
        for _ in range(40):
            c.send(frame(DATA, 0, 1, b"x" * 16384))
        assert struct.unpack("!I", c.expect(RST_STREAM)[3])[0] == FLOW_CONTROL_ERROR


def test_reset_while_a_worker_waits_for_the_body(server, h2):
    for i in range(10):
        h2.request(1 + 2 * i, path="/echo", method="POST", end=False)
        h2.send(frame(DATA, 0, 1 + 2 * i, b"part") + frame(RST_STREAM, 0, 1 + 2 * i, struct.pack("!I", CANCEL)))
    h2.request(51, path="/a.txt")
    assert h2.response(51) == (200, b"first\n")


def test_client_that_leaves_while_workers_wait(server):
    for _ in range(5):
        with Connection(server.port) as c:
            for i in range(5):
                c.request(1 + 2 * i, path="/echo", method="POST", end=False)
            c.send(frame(PING, payload=bytes(8)))
            c.expect(PING)
    assert server.get("/a.txt").body == b"first\n"


# ---- windows and priorities ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("path", ["/b.txt", "/big.bin"])
def test_nothing_is_sent_beyond_a_window(server, path):
    want = BIG if path == "/big.bin" else b"b" * 10240
    for _ in range(3):
        with Connection(server.port, settings=struct.pack("!HI", 4, 0)) as c:
            c.request(1, path=path)
            assert h2_client.status_of(c.expect(HEADERS)[3]) == 200
            got = b""
            for step in (1, 7, 1000):
                c.send(frame(PING, payload=bytes(8)))
                assert c.expect(DATA, PING)[0] == PING
                c.send(frame(WINDOW_UPDATE, stream=1, payload=struct.pack("!I", step)))
                part = c.expect(DATA)[3]
                assert len(part) == step
                got += part
            assert got == want[:1008]
            c.send(frame(SETTINGS, payload=struct.pack("!HI", 4, 65535 - 1008)))
            while len(got) < min(len(want), 65535):
                got += c.expect(DATA)[3]
            assert got == want[:65535]


def test_urgent_streams_first(server):
    with Connection(server.port, settings=struct.pack("!HI", 4, 1 << 20)) as c:
        c.send(b"".join([
            frame(HEADERS, END_HEADERS | END_STREAM, 1, request_block("/big.bin", fields=[("priority", "u=5")])),
            frame(HEADERS, END_HEADERS | END_STREAM, 3, request_block("/b.txt", fields=[("priority", "u=0")])),
            frame(HEADERS, END_HEADERS | END_STREAM, 5, request_block("/big.bin", fields=[("priority", "u=6")])),
            frame(PRIORITY_UPDATE, payload=struct.pack("!I", 5) + b"u=1"), frame(WINDOW_UPDATE, payload=struct.pack("!I", 1 << 20))]))
        done = []
        while len(done) < 3:
            kind, flags, stream, _ = c.expect(DATA)
            if flags & END_STREAM:
                done.append(stream)
        assert done == [3, 5, 1]


# ---- what is malformed ---------------------------------------------------------------------------------------------------

MALFORMED = {
    "upper case": [("X-A", "1")], "connection": [("connection", "close")], "te": [("te", "gzip")],
    "pseudo late": [(":x", "1")], "line end": [("x-a", "1\r\nb: 2")], "nul": [("x-a", "\0")], "empty name": [("", "x")],
    "transfer-encoding": [("transfer-encoding", "chunked")], "second host": [("host", "a"), ("host", "b")], "other host": [("host", "x")],
    "two lengths": [("content-length", "0"), ("content-length", "5")], "a length twice": [("content-length", "0")] * 2,
    "length without a body": [("content-length", "5")],
}


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_requests(h2, fields):
    h2.request(1, path="/a.txt", fields=fields)
    assert h2.response(1) == (None, PROTOCOL_ERROR)
    h2.request(3, path="/a.txt")
    assert h2.response(3)[0] == 200


@pytest.mark.parametrize("path,method", [("", "GET"), ("a.txt", "GET"), ("/a b", "GET"), ("*", "GET"), ("/a.txt", "G T"), ("/a.txt", "")])
def test_malformed_targets(h2, path, method):
    h2.request(1, path=path, method=method)
    assert h2.response(1) == (None, PROTOCOL_ERROR)


@pytest.mark.parametrize("scheme,answer", [("https", 200), ("HTTP", 200), ("ftp", 400), ("httpx", 400), ("", None)])
def test_schemes(h2, scheme, answer):
    h2.request(1, path="/a.txt", scheme=scheme)
    assert h2.response(1)[0] == answer


def test_extended_connect_is_refused(h2):
    block = request_block("/a.txt", "CONNECT")
    h2.send(frame(HEADERS, END_HEADERS, 1, block[:block.index(b"CONNECT") + 7] + line(":protocol", "websocket") + block[block.index(b"CONNECT") + 7:]))
    assert h2.response(1) == (None, PROTOCOL_ERROR)


def test_limits_of_heads(h2):
    h2.request(1, path="/" + "a" * 9000)
    assert h2.response(1)[0] == 414
    h2.request(3, path="/a.txt", fields=[("x-a", "b" * 4001)])
    assert h2.response(3)[0] == 431
    h2.request(5, path="/a.txt", fields=[(f"x-{i}", "b") for i in range(150)])
    assert h2.response(5)[0] == 431
    h2.request(7, path="/a.txt")
    assert h2.response(7)[0] == 200


def test_bomb_of_indexed_fields(h2):
    block = request_block("/a.txt") + b"\x40" + h2_client.integer(1, 7) + b"a" + h2_client.integer(3000, 7) + b"x" * 3000 + b"\xbe" * 8000
    h2.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
    assert h2.response(1)[0] == 431
    h2.request(3, path="/a.txt")
    assert h2.response(3)[0] == 200


FATAL = {
    "data on 0": (frame(DATA, 0, 0, b"x"), PROTOCOL_ERROR), "no such index": (frame(HEADERS, 5, 1, b"\xff\xff\x7f"), COMPRESSION_ERROR),
    "even stream": (frame(HEADERS, 5, 2, request_block()), PROTOCOL_ERROR),
    "window": (frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", 0x7fffffff)), FLOW_CONTROL_ERROR),
    "push": (frame(h2_client.PUSH_PROMISE, 4, 1, bytes(4)), PROTOCOL_ERROR), "late continuation": (frame(CONTINUATION, 4, 1, b""), PROTOCOL_ERROR),
}


@pytest.mark.parametrize("bad,code", FATAL.values(), ids=FATAL.keys())
def test_errors_of_the_connection(h2, bad, code):
    h2.send(bad)
    assert h2.goaway() == code


# ---- floods --------------------------------------------------------------------------------------------------------------

def rapid_reset(i):
    return frame(HEADERS, END_HEADERS, 1 + 2 * i, request_block("/echo", "POST")) + frame(RST_STREAM, 0, 1 + 2 * i, struct.pack("!I", CANCEL))


def provoked_reset(i):
    return frame(HEADERS, END_HEADERS, 1 + 2 * i, request_block("/echo", "POST")) + \
        frame(WINDOW_UPDATE, 0, 1 + 2 * i, bytes(4))


def short_priority(i):
    return frame(HEADERS, END_HEADERS, 1 + 2 * i, request_block("/echo", "POST")) + frame(PRIORITY, 0, 1 + 2 * i, bytes(4))


FLOODS = {
    "rapid reset": (rapid_reset, "(streams reset by the client|more streams than)"),
    "provoked reset": (provoked_reset, "(wrong WINDOW_UPDATE|more streams than)"),
    "short priority": (short_priority, "PRIORITY frames of a wrong length"),
    "malformed": (lambda i: frame(HEADERS, 5, 1 + 2 * i, request_block("x")), "malformed requests"),
    "ping": (lambda i: frame(PING, payload=bytes(8)), "PING, again"),
    "ping ack": (lambda i: frame(PING, ACK, payload=bytes(8)), "PING, again"),
    "settings": (lambda i: frame(SETTINGS, payload=struct.pack("!HI", 4, 1000)), "SETTINGS, again"),
    "settings ack": (lambda i: frame(SETTINGS, ACK), "SETTINGS that acknowledge"),
    "priority": (lambda i: frame(PRIORITY, 0, 1 + 2 * i, bytes(5)), "PRIORITY frames"),
    "priority update": (lambda i: frame(PRIORITY_UPDATE, payload=struct.pack("!I", 99) + b"u=1"), "PRIORITY_UPDATE frames"),
    "empty data": (lambda i: frame(HEADERS, END_HEADERS, 1, request_block("/echo", "POST")) if not i else frame(DATA, 0, 1), "without data"),
    "continuation": (lambda i: frame(HEADERS, 0, 1, request_block()) if not i else frame(CONTINUATION, 0, 1), "CONTINUATION without end"),
    "long block": (lambda i: frame(HEADERS, 0, 1, request_block()) if not i else frame(CONTINUATION, 0, 1, line("a", "b" * 16000)), "H2MaxHeaderBlockLen"),
    "too many streams": (lambda i: frame(HEADERS, END_HEADERS, 1 + 2 * i, request_block("/echo", "POST")), "more streams than"),
    "unknown": (lambda i: frame(77), "unknown types"),
}


@pytest.mark.parametrize("make,said", FLOODS.values(), ids=FLOODS.keys())
def test_floods(server, make, said):
    with Connection(server.port) as c:
        try:
            for start in range(0, 3000, 50):
                c.send(b"".join(make(i) for i in range(start, start + 50)))
        except OSError:
            pass
        assert c.goaway() in (ENHANCE_YOUR_CALM, None)
    server.wait_for_log(f"HTTP/2 connection ended: .*{said}")
    assert server.get("/a.txt").body == b"first\n"


def test_tiny_data(server):
    """A body that comes in bytes is one; tens of thousands of such frames in a second are a flood."""
    byte = frame(DATA, 0, 1, b"x")
    with Connection(server.port) as c:
        c.request(1, path="/echo", method="POST", end=False)
        c.send(byte * 2000 + frame(DATA, END_STREAM, 1))
        assert c.response(1)[1] == b"x" * 2000
    with Connection(server.port) as c:
        c.request(1, path="/echo", method="POST", end=False)
        try:
            for _ in range(30):
                c.send(byte * 2000)
        except OSError:
            pass
        assert c.goaway() in (ENHANCE_YOUR_CALM, None)
    server.wait_for_log("HTTP/2 connection ended: .*tiny DATA")


def test_streams_beyond_the_limit_are_refused(h2):
    for i in range(25):
        h2.request(1 + 2 * i, path="/echo", method="POST", end=False)
    refused = {h2.expect(RST_STREAM)[2:] for _ in range(5)}
    assert refused == {(1 + 2 * i, struct.pack("!I", REFUSED_STREAM)) for i in range(20, 25)}
    h2.send(frame(DATA, END_STREAM, 1, b"x"))
    assert h2.response(1) == (200, b"x")


def test_late_data_on_a_closed_stream(h2):
    h2.request(1, path="/a.txt")
    assert h2.response(1)[0] == 200
    h2.send(frame(DATA, 0, 1, b"x"))
    assert h2.response(1) == (None, STREAM_CLOSED)


# ---- ends ----------------------------------------------------------------------------------------------------------------

def test_reload_finishes_streams(serve):
    server = serve(CONFIG, FILES, modules=["reflector"])
    with Connection(server.port) as c:
        c.request(1, path="/echo", method="POST", end=False)
        c.send(frame(PING, payload=bytes(8)))
        c.expect(PING)
        server.signal(signal.SIGUSR1)
        assert struct.unpack("!II", c.expect(GOAWAY)[3][:8]) == (0x7fffffff, NO_ERROR)
        c.request(3, path="/a.txt")  # was on its way
        assert c.response(3) == (200, b"first\n")
        c.send(frame(PING, ACK, payload=b"leaving\0"))
        assert struct.unpack("!II", c.expect(GOAWAY)[3][:8]) == (3, NO_ERROR)
        c.request(5, path="/a.txt")  # is not taken, and may be sent again on another connection
        c.send(frame(DATA, END_STREAM, 1, b"last words"))
        assert c.response(1) == (200, b"last words")
        with pytest.raises(h2_client.Closed):
            while True:
                c.receive()
    brigade.wait_until(lambda: server.get("/a.txt").body == b"first\n", "the new generation")


def test_reload_ends_connections_whose_clients_say_nothing(serve):
    """An idle one, one that has not sent SETTINGS, and one with a stream that then ends: no client answers PING."""
    server = serve(CONFIG, FILES, modules=["reflector"])
    with Connection(server.port) as idle, Connection(server.port, preface=False) as begun, Connection(server.port) as busy:
        idle.request(1, path="/a.txt")
        assert idle.response(1)[0] == 200
        begun.send(h2_client.PREFACE)
        begun.expect(SETTINGS)
        busy.request(1, path="/echo", method="POST", end=False)
        busy.send(frame(PING, payload=bytes(8)))
        busy.expect(PING)
        server.signal(signal.SIGUSR1)
        told = [[struct.unpack("!I", c.expect(GOAWAY)[3][:4])[0] for _ in range(2)] for c in (idle, begun, busy)]
        assert told == [[0x7fffffff, 1], [0x7fffffff, 0], [0x7fffffff, 1]]
        for c in idle, begun:
            with pytest.raises(h2_client.Closed):
                c.receive()
        busy.send(frame(DATA, END_STREAM, 1, b"x"))
        assert busy.response(1) == (200, b"x")


@pytest.mark.slow
def test_idle_connections_end(serve):
    server = serve("KeepAliveTimeout 1\n" + CONFIG, FILES, modules=["reflector"])
    for requests in (1, 4):  # the last of four is answered from memory
        with Connection(server.port) as c:
            for i in range(requests):
                c.request(1 + 2 * i, path="/a.txt")
                assert c.response(1 + 2 * i)[0] == 200
            assert c.goaway() == NO_ERROR


def test_clients_that_say_nothing(serve):
    server = serve("RequestReadTimeout header=1\n" + CONFIG, FILES, modules=["reflector"])
    with Connection(server.port, preface=False) as c:
        c.send(h2_client.PREFACE[:10])
        assert c.goaway() in (NO_ERROR, None)


def test_off_without_protocols(serve):
    server = serve("", FILES)
    with Connection(server.port) as c:
        c.request(1, path="/a.txt")
        with pytest.raises((h2_client.Closed, AssertionError, OSError)):
            assert c.response(1)[0] == 200


def test_number_out_of_bounds(serve):
    done = serve.unstarted(CONFIG + "H2MaxSessionStreams 0\n", FILES, modules=["reflector"]).run("-t")
    assert done.returncode and "number from 1" in (done.stderr + done.stdout).decode()


@pytest.mark.skipif(not H2SPEC, reason="h2spec is not installed")
def test_h2spec(server):
    """All cases of its strict mode but http2/3.5/2; those of RFC 7540's priorities are among them."""
    done = subprocess.run([H2SPEC, "-S", "-h", "127.0.0.1", "-p", str(server.port), "-P", "/b.txt"], capture_output=True, timeout=60)
    # A preface that is none is a request of HTTP/1 here, and is answered as such.
    failed = [n.strip() for n in done.stdout.decode().split("Failures:")[-1].splitlines() if "\u00d7" in n]
    assert b"146 tests, 14" in done.stdout and failed in ([], ["\u00d7 2: Sends invalid connection preface"]), failed


@pytest.mark.skipif(not shutil.which("h2load"), reason="h2load is not installed")
def test_load(server):
    for path in ("/b.txt", "/page.shtml", "/big.bin"):
        done = subprocess.run(["h2load", "-n", "400", "-c", "4", "-m", "16", url(server, path)], capture_output=True, timeout=60)
        assert b"400 succeeded, 0 failed" in done.stdout, done.stdout
