# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 and 1.0: what is well formed, what is not, and that nothing is ever read in two ways."""
import os
import socket
import time

import pytest

import brigade
from http_client import split_responses

FILES = {"a.txt": "text of a\n", "index.html": "home\n"}


@pytest.fixture(scope="module")
def server(serve_module):
    return serve_module("KeepAliveTimeout 5\n", FILES)


def first(server, data, half_close=False):
    answer = server.raw(data, half_close)
    return split_responses(answer)[0] if answer else None


GET = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n"
END = b"Connection: close\r\n\r\n"

# ---- The request line -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("line,status", [
    (b"GET /a.txt HTTP/1.1", 200),
    (b"GET /a.txt HTTP/1.0", 200),
    (b"GET /a.txt HTTP/1.2", 200),
    (b"GET /a.txt HTTP/1.9", 200),
    (b"GET /a.txt HTTP/2.0", (200, 505)),
    (b"GET /a.txt HTTP/3.1", (200, 505)),
    (b"GET /a.txt HTTP/0.9", 400),
    (b"GET /a.txt http/1.1", 400),
    (b"GET /a.txt HTTP/1.1x", 400),
    (b"GET /a.txt HTTP/11", 400),
    (b"GET /a.txt HTTP/1", 400),
    (b"GET /a.txt HTTP/1.", 400),
    (b"GET /a.txt HTTP/01.1", 400),
    (b"GET /a.txt FTP/1.1", 400),
    (b"GET  /a.txt HTTP/1.1", 400),
    (b"GET /a.txt  HTTP/1.1", 400),
    (b"GET\t/a.txt HTTP/1.1", 400),
    (b"GET /a.txt\tHTTP/1.1", 400),
    (b" GET /a.txt HTTP/1.1", 400),
    (b"GET /a.txt HTTP/1.1 ", 400),
    (b"GET /a b HTTP/1.1", 400),
    (b"GET /a\x00b HTTP/1.1", 400),
    (b"GET /a\x01b HTTP/1.1", 400),
    (b"GET /a\x7fb HTTP/1.1", 400),
    (b"GET /a\rb HTTP/1.1", 400),
    (b"G\x00T /a.txt HTTP/1.1", 400),
    (b"G@T /a.txt HTTP/1.1", 400),
    (b"GET", 400),
    (b"GET HTTP/1.1", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 400),
    (b"{}", 400),
    (b"GET ?x HTTP/1.1", (200, 400)),
    (b"GET #x HTTP/1.1", 400),
    (b"GET /a.txt#frag HTTP/1.1", 400),
    (b"OPTIONS * HTTP/1.1", 200),
    (b"GET * HTTP/1.1", (400, 403, 404)),
    (b"GET http://localhost/a.txt HTTP/1.1", 200),
    (b"GET http:///a.txt HTTP/1.1", (200, 400)),
    (b"GET ftp://localhost/a.txt HTTP/1.1", (400, 403, 404)),
    (b"CONNECT localhost:80 HTTP/1.1", (400, 405)),
])
def test_request_line(server, line, status):
    r = first(server, line + b"\r\nHost: localhost\r\n" + END)
    assert r.status in (status if isinstance(status, tuple) else (status,)), r


@pytest.mark.parametrize("blank", [b"\r\n", b"\r\n\r\n", b"\r\n" * 5])
def test_blank_lines_before_a_request(server, blank):
    assert first(server, blank + GET + END).status == 200


def test_bare_lf_as_line_end(server):
    """Apache takes it; a strict server may refuse it. Either way there is one reading."""
    answer = server.raw(b"GET /a.txt HTTP/1.1\nHost: localhost\nConnection: close\n\n")
    assert split_responses(answer)[0].status in (200, 400) and len(split_responses(answer)) == 1


# ---- Header fields --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("fields,status", [
    (b"X: y\r\n", 200),
    (b"X:y\r\n", 200),
    (b"X:\r\n", 200),
    (b"X: \t y \t\r\n", 200),
    (b"x-\xe9: y\r\n", 400),
    (b"X: \xe9\xff\r\n", 200),
    (b"X : y\r\n", 400),
    (b"X\t: y\r\n", 400),
    (b" X: y\r\n", 400),
    (b": y\r\n", 400),
    (b"X\r\n", 400),
    (b"X y\r\n", 400),
    (b"X: a\x00b\r\n", 400),
    (b"X: a\x01b\r\n", 400),
    (b"X: a\x7fb\r\n", 400),
    (b"X: a\rb\r\n", 400),
    (b"X@Y: a\r\n", 400),
    (b"X(Y): a\r\n", 400),
    (b'"X": a\r\n', 400),
    (b"\r: a\r\n", 400),
])
def test_field(server, fields, status):
    assert first(server, GET + fields + END).status == status


def test_folded_field_is_refused_or_one_value(server):
    r = first(server, GET + b"X: a\r\n b\r\n" + END)
    assert r.status in (200, 400)


def test_folding_of_framing_fields_is_never_read_twice(server):
    answer = split_responses(server.raw(GET + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + GET + END))
    assert len(answer) == 1 if answer[0].status == 400 else len(answer) == 2


# ---- Limits ---------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def limited(serve_module):
    return serve_module("LimitRequestLine 200\nLimitRequestFields 10\nLimitRequestFieldSize 300\nLimitRequestBody 50\n",
                        FILES)


@pytest.mark.parametrize("data,status", [
    (b"GET /a.txt?" + b"x" * 175 + b" HTTP/1.1\r\nHost: localhost\r\n" + END, 200),
    (b"GET /a.txt?" + b"x" * 300 + b" HTTP/1.1\r\nHost: localhost\r\n" + END, 414),
    (b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n" + END, 414),
    (GET + b"X: " + b"y" * 250 + b"\r\n" + END, 200),
    (GET + b"X: " + b"y" * 400 + b"\r\n" + END, 400),
    (GET + b"X" * 400 + b": y\r\n" + END, 400),
    (GET + b"".join(b"X%d: y\r\n" % i for i in range(8)) + END, 200),
    (GET + b"".join(b"X%d: y\r\n" % i for i in range(20)) + END, 400),
    (b"POST /a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 51\r\nConnection: close\r\n\r\n" + b"x" * 51, 413),
])
def test_limits(limited, data, status):
    assert first(limited, data).status == status


@pytest.mark.only("brigade")
def test_a_chunk_beyond_what_lengths_can_be(limited):
    """Refused before it is read; the log's sum is no negative number."""
    assert first(limited, b"POST /a.txt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                 b"5\r\nhello\r\n7fffffffffffffff\r\nx").status == 413
    limited.wait_for_log(r"AH01591: Read content length of 9223372036854775807 is larger than the configured limit of 50\n")


def test_default_limits(server):
    assert first(server, b"GET /a.txt?" + b"x" * 8100 + b" HTTP/1.1\r\nHost: localhost\r\n" + END).status == 200
    assert first(server, b"GET /a.txt?" + b"x" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n" + END).status == 414
    assert first(server, GET + b"".join(b"X%d: y\r\n" % i for i in range(95)) + END).status == 200
    assert first(server, GET + b"".join(b"X%d: y\r\n" % i for i in range(120)) + END).status == 400
    assert first(server, GET + b"X: " + b"y" * 9000 + b"\r\n" + END).status == 400


# ---- Framing of request bodies --------------------------------------------------------------------------------

def post(fields, body=b""):
    return b"POST /a.txt HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n" + body


AFTER = b"GET /index.html HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("fields,body", [
    (b"Content-Length: 0\r\n", b""),
    (b"Content-Length: 5\r\n", b"hello"),
    (b"content-length:5\r\n", b"hello"),
    (b"Content-Length: 005\r\n", b"hello"),
    (b"Content-Length: 10000\r\n", b"x" * 10000),
    (b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
    (b"Transfer-Encoding: Chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"A\r\n0123456789\r\n00\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"a;ext=1\r\n0123456789\r\n0;last\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b'5;q="a b"\r\nhello\r\n0\r\n\r\n'),
    (b"Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"00000005\r\nhello\r\n0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"1\r\na\r\n" * 300 + b"0\r\n\r\n"),
])
def test_body_is_skipped(server, fields, body):
    """A handler that does not read its body: the next request begins after it."""
    found = split_responses(server.raw(post(fields, body) + AFTER))
    assert [r.status for r in found] == [200, 200]
    assert found[1].body == b"home\n"


def strict(value):
    """Refused here, though Apache takes it."""
    return pytest.param(value, marks=pytest.mark.only("brigade"))


AMBIGUOUS = [
    strict(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
    strict(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
    b"Content-Length: 5\r\nContent-Length: 6\r\n",
    b"Content-Length: 5, 6\r\n",
    b"Content-Length: -5\r\n",
    b"Content-Length: +5\r\n",
    b"Content-Length: 5 5\r\n",
    b"Content-Length: 0x5\r\n",
    b"Content-Length: 5.0\r\n",
    b"Content-Length: five\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    strict(b"Transfer-Encoding: chunked, chunked\r\n"),
    b"Transfer-Encoding: chunked, identity\r\n",
    b"Transfer-Encoding: gzip\r\n",
    b"Transfer-Encoding: identity\r\n",
    b"Transfer-Encoding: xchunked\r\n",
    b"Transfer-Encoding: chunked x\r\n",
    b"Transfer-Encoding: \x0bchunked\r\n",
    b"Transfer-Encoding : chunked\r\n",
    b"Transfer-Encoding\t: chunked\r\n",
    b"Content-Length : 5\r\n",
]


@pytest.mark.parametrize("fields", AMBIGUOUS)
def test_ambiguous_framing_has_one_reading(server, fields):
    """An error and the end of the connection: what follows is never taken for a request."""
    hidden = b"GET /index.html HTTP/1.1\r\nHost: localhost\r\n\r\n"
    found = split_responses(server.raw(post(fields, b"0\r\n\r\n" + hidden + AFTER)))
    assert len(found) == 1, found
    assert found[0].status in (400, 413, 501), found
    assert found[0]["Connection"] == "close"


@pytest.mark.parametrize("fields", [b"Content-Length: 5\r\nContent-Length: 5\r\n", b"Content-Length: 5, 5\r\n",
                                    b"Transfer-Encoding: gzip, chunked\r\n", b"Content-Length: \r\n",
                                    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                                    b"Transfer-Encoding:\r\n"])
def test_odd_framing_is_an_error_or_read_once(server, fields):
    found = split_responses(server.raw(post(fields, b"hello" + AFTER)))
    assert found[0].status >= 400 or found[-1].body == b"home\n"


@pytest.mark.parametrize("body", [
    b"5\r\nhelloX\r\n0\r\n\r\n", b"5\r\nhell\r\n0\r\n\r\n", b"g\r\nhello\r\n0\r\n\r\n", b"-5\r\nhello\r\n0\r\n\r\n",
    b"0x5\r\nhello\r\n0\r\n\r\n", b"+5\r\nhello\r\n0\r\n\r\n", b" 5\r\nhello\r\n0\r\n\r\n", b"\r\nhello\r\n0\r\n\r\n",
    b"5\rhello\r\n0\r\n\r\n", b"ffffffffffffffff\r\nhello\r\n0\r\n\r\n", b"11111111111111111\r\nhello\r\n0\r\n\r\n",
    b"5;\x00\r\nhello\r\n0\r\n\r\n", b"5hello\r\n0\r\n\r\n",
])
def test_bad_chunks_end_the_connection(server, body):
    found = split_responses(server.raw(post(b"Transfer-Encoding: chunked\r\n", body + AFTER)))
    assert all(r.body != b"home\n" for r in found), found
    assert len(found) <= 2


def test_transfer_encoding_in_http_10(server):
    data = (b"POST /a.txt HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"0\r\n\r\n" + AFTER)
    found = split_responses(server.raw(data))
    assert found[0].status in (200, 400) and len(found) <= 2


# ---- Expect ---------------------------------------------------------------------------------------------------

def test_expect_100(server):
    with server.connect() as c:
        c.send(post(b"Expect: 100-continue\r\nContent-Length: 5\r\n"))
        r = c.read_response(interim=True)
        if r.status == 100:
            c.send(b"hello")
            r = c.read_response()
        assert r.status == 200
        if r["Connection"] != "close":
            assert c.get("/index.html").status == 200


def test_unknown_expectation(server):
    assert server.get("/a.txt", {"Expect": "miracle"}).status == 417


def test_expect_without_body(server):
    assert server.get("/a.txt", {"Expect": "100-continue"}).status == 200


# ---- Methods that need settings -------------------------------------------------------------------------------

def test_trace_echoes_where_it_is_on(serve):
    server = serve("TraceEnable On\n", FILES)
    r = server.request("TRACE", "/a.txt", {"X-Test": "yes"})
    assert r.status == 200 and r["Content-Type"] == "message/http"
    assert r.body.startswith(b"TRACE /a.txt HTTP/1.1\r\n") and b"X-Test: yes\r\n" in r.body
    assert server.request("TRACE", "/a.txt", body=b"x").status == 413


@pytest.mark.parametrize("option,data,status", [
    ("Unsafe", GET + b"X : y\r\n" + END, (200, 400)),
    ("Unsafe", b"GET /a.txt  HTTP/1.1\r\nHost: localhost\r\n" + END, (200,)),
    ("Strict", b"GET /a.txt  HTTP/1.1\r\nHost: localhost\r\n" + END, (400,)),
    ("RegisteredMethods", b"FROB /a.txt HTTP/1.1\r\nHost: localhost\r\n" + END, (501,)),
    ("LenientMethods", b"FROB /a.txt HTTP/1.1\r\nHost: localhost\r\n" + END, (501, 405)),
    ("Require1.0", b"GET /a.txt\r\n", (400,)),
])
def test_protocol_options(serve, option, data, status):
    r = first(serve(f"HttpProtocolOptions {option}\n", FILES), data)
    assert r.status in status


# ---- Clients in trouble ---------------------------------------------------------------------------------------

@pytest.mark.threads
def test_byte_by_byte(server):
    with server.connect() as c:
        for b in GET + b"Connection: close\r\n\r\n":
            c.send(bytes([b]))
        assert c.read_response().body == b"text of a\n"


@pytest.mark.parametrize("cut", range(1, len(GET) + 2, 5))
def test_half_a_request(server, cut):
    """The client ends in the middle: an error at most, never a response to a request that was not made."""
    data = (GET + b"\r\n")[:cut]
    answer = server.raw(data, half_close=True)
    assert answer == b"" or split_responses(answer)[0].status in (400, 408), answer


def test_split_everywhere(server):
    data = GET + b"\r\n"
    with server.connect() as c:
        for cut in range(1, len(data)):
            c.send(data[:cut])
            c.send(data[cut:])
            assert c.read_response().body == b"text of a\n"


@pytest.mark.threads
def test_clients_that_vanish(server):
    for data in (b"", b"GET", GET, GET + b"\r\n", post(b"Content-Length: 100\r\n", b"half"), (GET + b"\r\n") * 50):
        for linger in (None, b"\x01\0\0\0\0\0\0\0"):
            c = server.connect()
            if linger:
                c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            c.send(data)
            c.close()
    assert server.get("/a.txt").body == b"text of a\n"


def test_client_that_vanishes_in_mid_response(serve):
    server = serve("", {"big.bin": b"x" * 5_000_000, "a.txt": "A"})
    for _ in range(20):
        c = server.connect()
        c.send("GET /big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        c.read_head()
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        c.close()
    assert server.get("/a.txt").body == b"A"


@pytest.mark.slow
@pytest.mark.parametrize("config,data", [
    pytest.param("AcceptFilter http none\nRequestReadTimeout header=1\n", b"", marks=pytest.mark.only("brigade")),
    ("RequestReadTimeout header=1\n", b"GET /a.txt HTTP/1.1\r\n"),
    ("RequestReadTimeout header=1-2,MinRate=100000\n", b"GET /a.txt HTTP/1.1\r\n"),
    ("Timeout 1\n", b"GET /a.txt HTTP/1.1\r\nHost: loc"),
])
def test_silent_client(serve, config, data):
    server = serve(config, FILES)
    begin = time.monotonic()
    answer = server.raw(data)
    assert 0.5 < time.monotonic() - begin < 15
    assert answer == b"" or split_responses(answer)[0].status == 408, answer
    assert server.get("/a.txt").status == 200


def test_silent_client_in_its_body(serve):
    server = serve("RequestReadTimeout header=5 body=1\n", FILES)
    answer = server.raw(post(b"Content-Length: 100\r\n", b"some"))
    assert split_responses(answer)[0].status in (200, 408)
    assert len(split_responses(answer)) == 1


def test_many_connections_at_once(server):
    clients = [server.connect() for _ in range(150)]
    try:
        for c in clients:
            c.send(GET + b"\r\n")
        for c in clients:
            assert c.read_response().body == b"text of a\n"
    finally:
        for c in clients:
            c.close()


@pytest.mark.threads
def test_garbage(server):
    """Bytes of every kind: an error or silence, and the server goes on."""
    import random
    rng = random.Random(7)
    for i in range(150):
        data = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 400)))
        if i % 3 == 0:
            data = GET + data + b"\r\n\r\n"
        answer = server.raw(data, half_close=True)
        if answer.startswith(b"HTTP/"):
            assert split_responses(answer)[0].status < 600
    assert server.get("/a.txt").status == 200


@pytest.mark.parametrize("target", ["/a.txt", "/none", "/dir"])
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("before", [0, 3])
def test_body_of_head_is_no_request(server, target, chunked, before):
    """A HEAD request may have a body; it is never read as the next request."""
    inner = b"GET /secret.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
    framing = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(inner), inner)
    if not chunked:
        framing = b"Content-Length: %d\r\n\r\n%s" % (len(inner), inner)
    for _ in range(before):
        server.get(target)
    head = b"HEAD " + target.encode() + b" HTTP/1.1\r\nHost: localhost\r\n"
    last = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answers = server.raw(head + framing + last)
    assert answers.count(b"HTTP/1.1 ") == 2
    assert b"secret" not in answers


# ---- Answers that fail half way -------------------------------------------------------------------------------

@pytest.mark.only("brigade")
@pytest.mark.parametrize("document", ["", "ErrorDocument 400 /a.txt\n", "ErrorDocument 400 told\n"])
def test_an_answer_that_was_begun_is_cut_off(serve, document):
    """No error page in it, no last chunk behind it, and nothing more on the connection."""
    if not os.path.exists(f"{brigade.APACHE_MODULES}/mod_reflector.so"):
        pytest.skip("no mod_reflector")
    server = serve("LoadModule reflector_module @MODULES@/mod_reflector.so\n" + document +
                   "CustomLog logs/access \"%>s %X\"\n<Location /echo>\nSetHandler reflector\n</Location>\n", FILES)
    head = b"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    begun = server.raw(head + b"5\r\nhello\r\nzz\r\n\r\n" + GET + END)
    assert begun.count(b"HTTP/1.1 ") == 1 and begun.startswith(b"HTTP/1.1 200 ")
    assert begun.partition(b"\r\n\r\n")[2] == b"5\r\nhello\r\n"
    unbegun = server.raw(head + b"zz\r\n\r\n" + GET + END)
    assert unbegun.count(b"HTTP/1.1 ") == 1 and unbegun.startswith(b"HTTP/1.1 400 ")
    assert server.raw(head + b"5\r\nhello\r\n0\r\n\r\n" + GET + END).count(b"HTTP/1.1 200 ") == 2
