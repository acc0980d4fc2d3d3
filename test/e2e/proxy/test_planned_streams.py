# SPDX-License-Identifier: Apache-2.0
"""Requests of HTTP/2 streams that a loop sends to a backend by a plan, as test_planned.py has them of HTTP/1: held against a server
without plans, in the clear and over TLS."""
import re
import ssl
import struct

import h2_client
import planned_site
import pytest

from backend import Backend, answer
from brigade import PATIENCE, wait_until
from h2_client import DATA, END_STREAM, GOAWAY, HEADERS, RST_STREAM, WINDOW_UPDATE, Closed, Connection, frame
from http_client import Truncated
from planned_site import ANSWERS, DATED, figures_of, full_ways, neutral, NOT_WHOLE, PIECES, PLAIN, WHOLE
from processes import reload
from tls_site import certificate, start

pytestmark = pytest.mark.only("brigade")

TARGET = "/p/x"
TLS = "SSLEngine On\nSSLCertificateFile conf/cert.pem\nSSLCertificateKeyFile conf/key.pem\n"


@pytest.fixture
def backend():
    with Backend({"*": PLAIN}) as backend:
        yield backend


def config(backend, more="", **way):
    return planned_site.config(backend, "Protocols h2 h2c http/1.1\n" + more, **way)


def twins(serve, backend, more=""):
    return planned_site.twins(serve, backend, "Protocols h2 h2c http/1.1\n" + more)


def over_tls(sock):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context.wrap_socket(sock, server_hostname="localhost")


def connect(server, tls=None):
    return h2_client.Client("127.0.0.1", server.port, PATIENCE, tls)


def warm(client, target=TARGET):
    """From here on there is a plan, if there may be one, and a connection to the backend that waits."""
    for _ in range(4):
        client.get(target)


def what_comes(server, client, *request, **more):
    try:
        got = client.request(*request, **more)
        return neutral(server, got.head), got.body, got.trailers
    except (Truncated, OSError):
        return "it broke off"


def is_planned(server, target=TARGET, headers=()):
    before = full_ways(server)
    with connect(server) as client:
        warm(client, target)
        for _ in range(6):
            client.get(target, headers)
    return full_ways(server) <= before + 2


def test_no_phases_run(serve, backend):
    server, without = twins(serve, backend)
    assert is_planned(server) and not is_planned(without)
    assert is_planned(server, headers=[("Cookie", "a=b"), ("Cookie", "c=d"), ("Authorization", "Basic eDp5"), ("If-None-Match", '"x"')])
    assert is_planned(server, target=TARGET + "?q=1"), "one plan is for all queries"


REQUESTS = {
    "plain": ("GET", TARGET),
    "fields": ("GET", TARGET, [("Accept", "*/*"), ("User-Agent", "a b"), ("Cookie", "a=b"), ("Authorization", "Basic eDp5"), ("X-Real-IP", "192.0.2.1")]),
    "cookies": ("GET", TARGET, [("Cookie", "a=b"), ("X-A", "b"), ("Cookie", "c=d")]),
    "priority": ("GET", TARGET, [("Priority", "u=1, i")]),
    "query": ("GET", TARGET + "?a=b&c=%20d?e"),
    "query-empty": ("GET", TARGET + "?"),
    "forwarded": ("GET", TARGET, [("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-Host", "a"), ("X-Forwarded-Server", "b"), ("X-Forwarded-Proto", "https")]),
    "via": ("GET", TARGET, [("Via", "1.0 a")]),
    "max-forwards": ("GET", TARGET, [("Max-Forwards", "3")]),
    "proxy-authorization": ("GET", TARGET, [("Proxy-Authorization", "Basic eDp5")]),
    "te": ("GET", TARGET, [("TE", "trailers")]),
    "trailer": ("GET", TARGET, [("Trailer", "X-C")]),
    "twice": ("GET", TARGET, [("X-B", "1"), ("X-B", "2")]),
    "twice-known": ("GET", TARGET, [("User-Agent", "1"), ("User-Agent", "2")]),
    "empty": ("GET", TARGET, [("X-D", "")]),
    "range": ("GET", TARGET, [("Range", "bytes=1-2")]),
    "conditions": ("GET", TARGET, [("If-None-Match", '"x"'), ("If-Modified-Since", "Fri, 20 Nov 2026 08:00:00 GMT")]),
    "if-match": ("GET", TARGET, [("If-Match", '"x"')]),
    "expect": ("GET", TARGET, [("Expect", "100-continue")]),
    "large": ("GET", TARGET, [("X-B", "b" * 3900)]),
    "head": ("HEAD", TARGET),
    "post": ("POST", TARGET, [], b"abc"),
    "get-with-a-body": ("GET", TARGET, [], b"abc"),
    "empty-body": ("GET", TARGET, [("Content-Length", "0")]),
    "other-host": ("GET", TARGET, [("Host", "other:81")]),
    "encoded": ("GET", "/p/%78"),
    "elsewhere": ("GET", "/q"),
    "bad-host": ("GET", TARGET, [("Host", "a b")]),
}


def outcomes(server, backend, tls=None):
    for name, request in REQUESTS.items():
        with connect(server, tls) as client:
            warm(client)
            before = len(backend.requests)
            got = what_comes(server, client, *request)
            yield name, got, [(r.head, r.raw_body) for r in backend.requests[before:]]


def tls_twins(serve, backend):
    for more in ("", "FileCacheEntries 0\n"):
        server = serve.unstarted(config(backend, more + TLS))
        certificate(server)
        yield start(server)


@pytest.mark.parametrize("tls", [None, over_tls], ids=["clear", "tls"])
def test_requests_are_sent_and_answered_as_without_a_plan(serve, backend, tls):
    servers = list(tls_twins(serve, backend) if tls else twins(serve, backend))
    for first, second in zip(*(outcomes(server, backend, tls) for server in servers)):
        assert first == second


@pytest.mark.parametrize("more", ["", "ProxyPassReverse /p/ http://127.0.0.1:{port}/\nProxyPassReverseCookiePath / /p/\nProxyPassReverseCookieDomain inner outer\n"
                                  "H2EarlyHints On\n"], ids=["plain", "reverse"])
def test_answers_are_sent_as_without_a_plan(serve, backend, more):
    servers = twins(serve, backend, more.replace("{port}", str(backend.port)))
    for name, script in ANSWERS.items():
        got = []
        for server in servers:
            with connect(server) as client:
                backend.scripts["/x"] = PLAIN
                warm(client)
                backend.scripts["/x"] = script.replace(b"{port}", str(backend.port).encode()) if isinstance(script, bytes) else script
                got.append(what_comes(server, client, "GET", TARGET))
        assert got[0] == got[1], name


def test_whole_answers_need_no_request(serve, backend):
    server = serve(config(backend))
    for name in WHOLE:
        backend.scripts["/x"] = ANSWERS[name]
        assert is_planned(server), name
    for name in NOT_WHOLE:
        backend.scripts["/x"] = ANSWERS[name]
        assert not is_planned(server), name


@pytest.mark.parametrize("name", PIECES)
def test_pieces_are_sent_as_without_a_plan(serve, backend, name):
    got = []
    for server in twins(serve, backend):
        backend.scripts["/x"] = PLAIN
        with connect(server) as client:
            warm(client)
            backend.scripts["/x"] = PIECES[name]
            got.append(what_comes(server, client, "GET", TARGET))
            backend.scripts["/x"] = PLAIN
            assert client.get(TARGET).body == b"hello\n"
    if "chunk" in name or "closes" in name or "trailers" in name:
        got = [re.sub(r"\\r\\ncontent-length: \d+", "", repr(g)) for g in got]  # told where all came at once
    assert got[0] == got[1]


@pytest.mark.parametrize("name", ["head-alone", "two", "bytes", "middling", "long", "chunks", "chunks-in-pieces", "no-chunk", "trailers", "long-chunks"])
def test_pieces_need_no_request(serve, backend, name):
    server = serve(config(backend))
    with connect(server) as client:
        warm(client)
        backend.scripts["/x"] = PIECES[name]
        before = full_ways(server)
        for _ in range(6):
            client.get(TARGET)
    assert full_ways(server) == before


@pytest.mark.parametrize("length", [6, 5000, 20000, 32700, 60000])
def test_lengths_and_small_windows(serve, backend, length):
    """Each byte tells where it stands; the backend is free before the client has taken it."""
    body = b"".join(b"%07d\n" % i for i in range(length // 8 + 1))[:length]
    server = serve(config(backend))
    backend.scripts["/x"] = answer(body, fields=DATED)
    with connect(server) as client:
        warm(client)
        assert client.get(TARGET).body == body
    for window in (0, 1, 1000):
        with Connection(server.port, settings=struct.pack("!HI", 4, window)) as client:
            for number in (1, 3, 5):
                before = len(backend.requests)
                client.request(number, path=TARGET)
                wait_until(lambda n=before: len(backend.requests) > n, "it was asked")
            client.send(b"".join(frame(WINDOW_UPDATE, stream=n, payload=struct.pack("!I", 1 << 20)) for n in (0, 1, 3, 5)))
            came = {1: b"", 3: b"", 5: b""}
            over = set()
            while len(over) < 3:
                _, flags, number, payload = client.expect(DATA)
                came[number] += payload
                if flags & END_STREAM:
                    over.add(number)
            assert set(came.values()) == {body}
    assert backend.open <= 3


def chunked(body, size):
    pieces = (body[at:at + size] for at in range(0, len(body), size))
    return planned_site.CHUNKED + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


@pytest.mark.parametrize("length", [40000, 300000, 1500000])
@pytest.mark.parametrize("framed", ["chunks", "length"])
def test_answers_without_room(serve, backend, framed, length):
    """Longer than what a stream keeps, or of a length that is not told: the backend is free before its client has taken any of it, no phases run, and each byte comes."""
    body = b"".join(b"%07d\n" % i for i in range(length // 8 + 1))[:length]
    server = serve(config(backend))
    with connect(server) as client:
        warm(client)
        backend.scripts["/x"] = chunked(body, 5000) if framed == "chunks" else answer(body, fields=DATED)
        assert client.get(TARGET).body == body
    for window in (0, 1000):
        full = full_ways(server)
        with Connection(server.port, settings=struct.pack("!HI", 4, window)) as client:
            client.request(1, path="/elsewhere")  # the first of a connection takes the full way
            client.expect(HEADERS, stream=1)
            for number in (3, 5):
                client.request(number, path=TARGET)
            wait_until(lambda: in_flight(server, backend) == ["0"], "the backend is free")
            client.send(b"".join(frame(WINDOW_UPDATE, stream=n, payload=struct.pack("!I", 1 << 24)) for n in (0, 3, 5)))
            came, over = {3: b"", 5: b""}, set()
            while len(over) < 2:
                _, flags, number, payload = client.expect(DATA)
                if number in came:
                    came[number] += payload
                if flags & END_STREAM and number in came:
                    over.add(number)
            assert set(came.values()) == {body}
        assert full_ways(server) - full <= 1


@pytest.mark.parametrize("framed", ["chunks", "length"])
def test_clients_that_leave_within_an_answer_without_room(serve, backend, framed):
    """By a reset, or with their connection, with output in memory and on disk."""
    body = b"l" * 900000
    server = serve(config(backend))
    with connect(server) as client:
        warm(client)
    for n in range(8):
        with Connection(server.port, settings=struct.pack("!HI", 4, 100)) as client:
            backend.scripts["/x"] = PLAIN
            client.request(1, path=TARGET)
            assert client.response(1) == (200, b"hello\n")
            backend.scripts["/x"] = chunked(body, 70000) if framed == "chunks" else answer(body, fields=DATED)
            client.request(3, path=TARGET)
            client.expect(DATA, stream=3)
            if n % 4 > 1:
                wait_until(lambda: in_flight(server, backend) == ["0"], "the backend is free")
            if n % 2:
                client.send(frame(RST_STREAM, stream=3, payload=struct.pack("!I", 8)))
                backend.scripts["/x"] = PLAIN
                client.request(5, path=TARGET)
                assert client.response(5) == (200, b"hello\n")
    wait_until(lambda: in_flight(server, backend) == ["0"], "nothing is counted")


def test_logs_tell_the_same(serve, backend):
    more = "LogFormat \"%h %u %r %>s %b %B %I %O %S %k %m %U %q %H %f %R %X %{X-A}o %{Date}o %{Content-Length}o %{Referer}i %{backend-tries}n\" all\n" \
           "CustomLog logs/access.log all\nLogFormat \"%h %>s %b %I %O %k %U %q %f %R %X %{X-A}o %{Date}o %{Server}o %{Content-Length}o %{Referer}i %{X}e\" some\n" \
           "CustomLog logs/some.log some\nSetEnv X y\n"
    for formats in (more, more.replace("CustomLog logs/access.log all\n", "")):
        lines = []
        for server in twins(serve, backend, formats):
            with connect(server) as client:
                for n in range(6):
                    client.get(f"{TARGET}?{n}", [("Referer", "r")])
            wait_until(lambda s=server: s.read("logs/some.log").count(b"\n") == 6, "six lines")
            lines.append([server.read("logs/some.log"), server.read("logs/access.log") if formats == more else ""])
        assert lines[0] == lines[1]


def test_a_hundred_streams_at_once(serve, backend):
    backend.scripts["/x"] = lambda connection, request: answer(request.target.encode() * 200, fields=DATED)
    server = serve(config(backend))
    with Connection(server.port, settings=struct.pack("!HI", 4, 1 << 20)) as client:
        client.send(frame(WINDOW_UPDATE, payload=struct.pack("!I", 1 << 28)))
        for turn in range(5):
            numbers = range(1 + 200 * turn, 201 + 200 * turn, 2)
            client.send(b"".join(frame(HEADERS, 5, n, h2_client.request_block(path=f"{TARGET}?{n}")) for n in numbers))
            bodies, over = {n: b"" for n in numbers}, 0
            while over < 100:
                kind, flags, number, payload = client.expect(HEADERS, DATA, RST_STREAM, GOAWAY)
                assert kind in (HEADERS, DATA)
                bodies[number] += payload if kind == DATA else b""
                over += bool(flags & END_STREAM)
            assert bodies == {n: f"/x?{n}".encode() * 200 for n in numbers}


def silent(connection, request):
    connection.more()


def in_flight(server, backend):
    """Requests at the backend, as its server counts them. A page that full_ways() leaves out."""
    page = figures_of(server).page()
    return [line.rsplit(" ", 1)[1] for line in page.splitlines() if line.startswith("brigade_backend") and "in_flight" in line and str(backend.port) in line]


@pytest.mark.parametrize("how", ["reset", "close", "goaway-and-close"])
def test_a_client_that_does_not_wait(serve, backend, how):
    """Its connections to the backend end, nothing stays counted, and others are served."""
    server = serve(config(backend))
    with connect(server) as client:
        warm(client)
    assert in_flight(server, backend) == ["0"]
    for _ in range(3):
        with Connection(server.port) as client:
            client.request(1, path=TARGET)
            assert client.response(1) == (200, b"hello\n")
            before, backend.scripts["/x"] = len(backend.requests), silent
            for number in (3, 5, 7):
                client.request(number, path=TARGET)
            wait_until(lambda n=before: len(backend.requests) == n + 3, "they were asked")
            assert in_flight(server, backend) == ["3"]
            if how == "reset":
                client.send(b"".join(frame(RST_STREAM, stream=n, payload=struct.pack("!I", 8)) for n in (3, 5, 7)))
                wait_until(lambda: backend.open == 0, "the backend's connections are closed")
                backend.scripts["/x"] = PLAIN
                client.request(9, path=TARGET)
                assert client.response(9) == (200, b"hello\n")
            elif how == "goaway-and-close":
                client.send(frame(GOAWAY, payload=struct.pack("!II", 0, 0)))
        wait_until(lambda: backend.open == (how == "reset"), "the backend's connections are closed")
        backend.scripts["/x"] = PLAIN
        wait_until(lambda: in_flight(server, backend) == ["0"], "nothing is counted")


def test_a_reset_behind_the_answer(serve, backend):
    """It waits for the client's window."""
    backend.scripts["/x"] = answer(b"m" * 30000, fields=DATED)
    server = serve(config(backend))
    with connect(server) as client:
        warm(client)
    with Connection(server.port, settings=struct.pack("!HI", 4, 100)) as client:
        for number in range(1, 41, 2):
            client.request(number, path=TARGET)
            client.expect(HEADERS, stream=number)
            client.send(frame(RST_STREAM, stream=number, payload=struct.pack("!I", 8)))
        backend.scripts["/x"] = PLAIN
        client.request(41, path=TARGET)
        assert client.response(41) == (200, b"hello\n")
    assert in_flight(server, backend) == ["0"]


def test_a_client_that_says_it_leaves(serve, backend):
    """What it asked for before is answered."""
    server = serve(config(backend))
    with Connection(server.port) as client:
        for number in (1, 3, 5, 7):
            client.request(number, path=TARGET)
            assert client.response(number) == (200, b"hello\n")
        go = []
        backend.scripts["/x"] = lambda connection, request: wait_until(lambda: go, "the rest") and PLAIN
        client.request(9, path=TARGET)
        client.send(frame(GOAWAY, payload=struct.pack("!II", 0, 0)))
        go.append(1)
        _, _, number, _ = client.expect(HEADERS)
        assert number == 9 and client.expect(DATA)[3] == b"hello\n"
        with pytest.raises(Closed):
            while True:
                client.receive()


def test_a_backend_that_closes_without_an_answer(serve, backend):
    server = serve(config(backend))
    with connect(server) as client:
        warm(client)
        before = len(backend.requests)
        backend.scripts["/x"] = lambda connection, request: False if connection.served > 1 else PLAIN
        assert client.get(TARGET).status == 200
        assert len(backend.requests) == before + 2, "a kept connection was tried, then a new one"


def test_a_backend_that_does_not_answer_in_time(serve, backend):
    server = serve(config(backend, parameters="timeout=1"))
    with connect(server) as client:
        warm(client)
        backend.scripts["/x"] = silent
        assert client.get(TARGET).status in (502, 504)
    assert wait_until(lambda: b"AH01102" in server.error_log(), "the reason")


def test_a_piece_is_not_waited_for(serve, backend):
    server = serve(config(backend))
    with connect(server) as client:
        warm(client)
    came = []

    def pausing(connection, request):
        connection.send(PLAIN[:-3])
        wait_until(lambda: came, "the client has it")
        connection.send(PLAIN[-3:])
    with Connection(server.port) as client:
        client.request(1, path=TARGET)
        assert client.response(1) == (200, b"hello\n")
        backend.scripts["/x"] = pausing
        client.request(3, path=TARGET)
        assert client.expect(DATA)[3] == PLAIN[-6:-3]
        came.append(1)
        assert client.expect(DATA)[3] == PLAIN[-3:]


def test_a_reload_while_streams_wait(serve, backend):
    """They are answered by the processes of before; those behind have plans of their own."""
    server = serve(config(backend))
    go = []
    with Connection(server.port) as client:
        for number in (1, 3, 5, 7):
            client.request(number, path=TARGET)
            assert client.response(number) == (200, b"hello\n")
        backend.scripts["/x"] = lambda connection, request: wait_until(lambda: go, "the reload") and PLAIN
        asked = len(backend.requests)
        client.request(9, path=TARGET)
        wait_until(lambda: len(backend.requests) > asked, "it was asked")
        before = reload(server, config(backend, "ProxyAddHeaders Off"))
        go.append(1)
        kinds = [client.expect(HEADERS, DATA, RST_STREAM, stream=9)[0] for _ in range(2)]
        assert kinds == [HEADERS, DATA]
    wait_until(lambda: not before & set(server.children()), "the processes of before have ended")
    backend.scripts["/x"] = PLAIN
    with connect(server) as client:
        warm(client)
    assert b"X-Forwarded" not in backend.requests[-1].head
