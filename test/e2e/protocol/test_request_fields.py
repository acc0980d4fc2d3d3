# SPDX-License-Identifier: Apache-2.0
"""Fields of heads and trailers that come many times: what they cost together, and what is refused."""
import os

import pytest

import brigade
from http_client import split_responses

only_brigade = pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="figures and limits of Brigade's own")
FILES = {"a.txt": "text of a\n"}


def script(text):
    def write(path):
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o755)
    return write


def get(fields):
    return b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + fields + b"\r\n"


def answer(server, data):
    return split_responses(server.raw(data))[0]


@pytest.mark.parametrize("fields,status", [
    ((b"X: " + b"v" * 4094 + b"\r\n") * 2, 200),
    ((b"X: " + b"v" * 4095 + b"\r\n") * 2, 400),
    ((b"Cookie: " + b"v" * 8100 + b"\r\n") * 97, 400),
    (b"X: v\r\n" * 2000, 200),
    (b"X: v\r\nx: w\r\n" * 1500, 400),
    (b"".join(b"X%d: %s\r\n" % (i, b"v" * 4000) for i in range(20)), 200),
])
def test_fields_of_one_name_have_one_limit(serve, fields, status):
    server = serve("LimitRequestFields 0\nLogLevel info\n", FILES)
    # The file is in memory from the third request on, and what is refused stays refused.
    for _ in range(4):
        assert answer(server, get(b"")).status == 200
        assert answer(server, get(fields)).status == status
    if status == 400:
        server.wait_for_log("AH00560: Request header exceeds LimitRequestFieldSize after merging")


def test_many_different_fields_take_linear_time(serve):
    """32,000 names, which a comparison of each with each would take a second for."""
    server = serve("LimitRequestFields 0\n", FILES)
    fields = b"".join(b"x%d:\r\n" % i for i in range(32000))
    with server.connect() as c:
        for _ in range(10):
            c.send(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n")
            assert c.read_response().status == 200


# ---- trailers -------------------------------------------------------------------------------------------------

CGI = "LoadModule cgi_module @MODULES@/mod_cgi.so\nAddHandler cgi-script .cgi\n<Directory @ROOT@/htdocs>\nOptions +ExecCGI\n</Directory>\n"
READ = {"read.cgi": script("#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\ncat\n")}


def post(trailers):
    return (b"POST /read.cgi HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"5\r\nhello\r\n0\r\n" + trailers + b"\r\n")


@only_brigade
@pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_cgi.so"), reason="there is no mod_cgi")
@pytest.mark.parametrize("trailers,status", [
    (b"T: t\r\n" * 2000, 200),
    ((b"T: " + b"t" * 4000 + b"\r\n") * 3, 400),          # one value of more than LimitRequestFieldSize
    ((b"T: " + b"t" * 7900 + b"\r\n") * 99, 400),         # took 43 MB
    (b"".join(b"T%d: %s\r\n" % (i, b"t" * 800) for i in range(90)), 400),  # more than eight times that in all
    (b"T: t\r\n" * 33000, 400),
])
def test_trailers_cost_what_they_weigh(serve, trailers, status):
    server = serve(CGI + 'LimitRequestFields 0\nLogFormat "%>s %{bytes}M" m\nCustomLog logs/m m\n', READ)
    r = answer(server, post(trailers))
    assert r.status == status
    if status == 200:
        assert r.body == b"hello"
    used = int(server.wait_for_log(rf"^{status} (\d+)", "logs/m").group(1))
    assert used < 2_000_000, f"{used} bytes of memory for {len(trailers)} bytes of trailers"


@only_brigade
@pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_cgi.so"), reason="there is no mod_cgi")
def test_trailers_become_fields_once_they_are_complete(serve):
    files = {"read.cgi": script("#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\ncat\n")}
    server = serve(CGI + 'MergeTrailers On\nLogFormat "%{T}^ti|%{U}^ti|%{T}i|%{Host}i" t\nCustomLog logs/t t\n', files)
    assert answer(server, post(b"T: 1\r\nU: u\r\nt: 2\r\nHost: evil\r\n")).status == 200
    assert server.wait_for_log(r"(?m)^(.+)\n", "logs/t").group(1) == b"1, 2|u|1, 2|localhost"


# ---- what a script may not answer with ------------------------------------------------------------------------

@only_brigade
@pytest.mark.skipif(not os.path.exists(f"{brigade.APACHE_MODULES}/mod_cgi.so"), reason="there is no mod_cgi")
@pytest.mark.parametrize("status", ["100 Continue", "101 Switching Protocols", "103 Early Hints", "199 x"])
def test_a_script_has_no_interim_status(serve, status):
    server = serve(CGI, {"s.cgi": script(f"#!/bin/sh\nprintf 'Status: {status}\\nContent-Type: text/plain\\n\\nbody'\n"), **FILES})
    with server.connect() as c:
        c.send(b"GET /s.cgi HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert c.read_response().status == 500
    server.wait_for_log("Invalid status line from script")


# ---- refusals -------------------------------------------------------------------------------------------------

@only_brigade
def test_an_unknown_expectation_ends_the_connection(serve):
    """Its client may or may not send the body that it announced."""
    server = serve("", FILES)
    data = server.raw(b"POST /a.txt HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\nContent-Length: 60\r\n\r\n"
                      b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answers = split_responses(data)
    assert [a.status for a in answers] == [417]
    assert answers[0]["Connection"] == "close"


@pytest.mark.parametrize("line,logged", [
    (b"@GET /x?q HTTP/1.1", b"@GET /x ?q 400"),
    (b"G@T /x HTTP/1.1", b"G@T /x  400"),
    (b"{}", b"{} /  400"),
    (b"BREW /a.txt HTTP/1.1", b"BREW /a.txt  501"),
    (b"GET /" + b"x" * 9000 + b" HTTP/1.1", b"- -  414"),
])
def test_the_log_names_method_and_target_of_what_is_refused(serve, line, logged):
    server = serve('LogFormat "%m %U %q %>s" m\nCustomLog logs/m m\n', FILES)
    server.raw(line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert server.wait_for_log(r"(?m)^(.* \d+)$", "logs/m").group(1) == logged


@pytest.mark.only("brigade")
def test_a_head_has_a_limit_whatever_the_directives_say(serve):
    """One MiB; 16 MiB of fields are not even read."""
    server = serve("LimitRequestFields 0\nLimitRequestFieldSize 100000\n", FILES)
    line = b"X-Field: " + b"y" * 1000 + b"\r\n"
    start = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    assert server.raw(start + b"".join(b"%d" % i + line for i in range(900)) + b"\r\n").startswith(b"HTTP/1.1 200 ")
    assert server.raw(start + b"".join(b"%d" % i + line for i in range(16000))).startswith(b"HTTP/1.1 431 ")
