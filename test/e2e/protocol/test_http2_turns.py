# SPDX-License-Identifier: Apache-2.0
"""Connections with many streams, and others: whose requests run when, what is not run at all, and which streams count as open."""
import os
import struct

import pytest

import brigade
from brigade import wait_until
from cache_site import one_loop, settle
from h2_client import DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, RST_STREAM, Connection, frame, request_block
from trouble import compiled

pytestmark = [pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module"), pytest.mark.threads]
STREAMS = 80
FILES = {"a.txt": "a\n", "run/script": "#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\nx'\n"}
WAITS = """#!/bin/sh
mkdir "$DOCUMENT_ROOT/made/$QUERY_STRING"
while [ $(ls "$DOCUMENT_ROOT/made" | wc -l) -lt 7 ]; do sleep 0.01; done
printf 'Content-Type: text/plain\\r\\n\\r\\nx'
"""
CONFIG = """Protocols h2c http/1.1
LogFormat "%U,%>s %{tid}P" turns
CustomLog @ROOT@/logs/turns.log turns
LoadModule cgi_module @MODULES@/mod_cgi.so
ThreadsPerChild 8
<Location /busy>
SetHandler busy
</Location>
<Directory @ROOT@/htdocs/run>
Options +ExecCGI
SetHandler cgi-script
</Directory>
"""


def started(serve, more="", files=None):
    server = one_loop(serve, CONFIG + more, files={**FILES, **(files or {})}, modules=["cgi"])
    os.chmod(server.path("htdocs/run/script"), 0o755)
    return server


@pytest.fixture
def server(serve):
    """Its handler "busy" computes on a loop."""
    made = started(serve, f'LoadModule busy_module "{compiled("mod_busy")}"\n')
    settle(made.path("htdocs"))
    return made


def asked(path, first=1, n=STREAMS):
    return b"".join(frame(HEADERS, END_HEADERS | END_STREAM, first + 2 * i, request_block(path)) for i in range(n))


def logged(server, *least):
    """Paths and threads of all lines with status 200, as soon as these paths are among them."""
    def lines():
        with open(server.path("logs/turns.log"), encoding="ascii") as f:
            found = [line.split() for line in f.read().replace(",200 ", " ").splitlines()]
        return found if all([p for p, _ in found].count(path) >= n for path, n in least) else None
    return wait_until(lines, "lines in the log")


def paths(server, *least):
    return [path for path, _ in logged(server, *least)]


def read_all(c, n):
    """The codes of the streams that were reset, of n that end."""
    codes = []
    while n:
        kind, flags, stream, payload = c.receive()
        assert kind != GOAWAY, payload
        if kind == RST_STREAM:
            codes.append(int.from_bytes(payload, "big"))
        n -= kind == RST_STREAM or (kind in (HEADERS, DATA) and flags & END_STREAM)
    return codes


def wide(port):
    c = Connection(port, settings=struct.pack("!HI", 4, 0x7fffffff))
    c.send(frame(8, payload=struct.pack("!I", 0x7fff0000 - 65535)))
    return c


@pytest.mark.parametrize("ms", [1, 10])
def test_others_are_answered_before_all_streams_of_one(server, ms):
    with wide(server.port) as many, server.connect() as other:
        assert other.get("/a.txt").status == 200
        many.send(asked(f"/busy?{ms}"))
        assert other.get("/a.txt").status == 200
        assert not read_all(many, STREAMS)
    assert paths(server, ("/busy", STREAMS), ("/a.txt", 2))[1:].index("/a.txt") < STREAMS / 2


def test_what_the_client_reset_is_not_run(server):
    with wide(server.port) as c:
        c.send(asked("/busy?5") + b"".join(frame(RST_STREAM, 0, 1 + 2 * i, b"\0\0\0\x08") for i in range(STREAMS)) +
               frame(HEADERS, END_HEADERS | END_STREAM, 1001, request_block("/a.txt")))
        assert c.response(1001) == (200, b"a\n")
    assert paths(server, ("/a.txt", 1)).count("/busy") < STREAMS / 2


@pytest.mark.parametrize("ms", [1, 10])
def test_what_a_client_that_left_asked_for_is_not_run(server, ms):
    with server.connect() as other:
        assert other.get("/a.txt").status == 200
        with wide(server.port) as c:
            c.send(asked(f"/busy?{ms}"))
            read_all(c, 1)
        for _ in range(10):  # turns that the rest would have had
            assert other.get("/a.txt").status == 200
    ran = paths(server, ("/a.txt", 11))
    # However late the client left: what is read behind its end is answered when nothing is left but what workers are at.
    assert ran[ran.index("/a.txt", 1):].count("/busy") <= 8, ran


def test_a_client_within_the_limit_is_never_refused(serve):
    """Scripts run on workers, which have a request for some time after its response has ended."""
    server = started(serve, "H2MaxSessionStreams 4\n")
    with wide(server.port) as c:
        c.send(asked("/run/script", n=4))
        codes = []
        for i in range(4, 200):
            codes += read_all(c, 1)
            c.send(asked("/run/script", 1 + 2 * i, 1))
        codes += read_all(c, 4)
    assert not codes


def test_streams_of_one_connection_run_at_once(serve):
    """Each waits for the others."""
    server = started(serve, files={"run/script": WAITS, "made/.keep": ""})
    os.chmod(server.path("htdocs/made"), 0o777)
    with wide(server.port) as c:
        c.send(b"".join(asked(f"/run/script?{i}", 1 + 2 * i, 1) for i in range(7)))
        assert not read_all(c, 7)


def test_what_takes_long_goes_to_a_worker(server):
    """The loop runs it twice, and workers after that, over HTTP/1 and HTTP/2 alike, until one finds that it is quick."""
    with server.connect() as other, wide(server.port) as c:
        for _ in range(6):
            assert other.get("/busy?20").status == 200
        c.send(asked("/busy?20", n=6))
        assert not read_all(c, 6)
        for _ in range(3):
            assert other.get("/busy?0").status == 200
        assert other.get("/a.txt").status == 200
    lines = logged(server, ("/busy", 15), ("/a.txt", 1))
    loop = [thread for path, thread in lines if path == "/a.txt"][0]
    runs = [thread for path, thread in lines if path == "/busy"].count(loop)
    # On a machine that is short of processors a worker may get so little of one that it takes for quick what waits.
    assert 3 <= runs <= 10, lines
