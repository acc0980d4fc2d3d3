# SPDX-License-Identifier: Apache-2.0
"""Which of the streams of a connection goes first, where the client says nothing of it; parts of files over HTTP/2; logs and figures that tell
streams apart."""
import contextlib
import json
import mmap
import os
import re
import shutil
import struct
import subprocess

import pytest

import brigade
from cache_site import one_loop, settle
from h2_client import DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, WINDOW_UPDATE, Connection, frame, request_block

pytestmark = [pytest.mark.skipif(brigade.is_apache(brigade.BINARY), reason="the built-in module"), pytest.mark.threads]
BIG = os.urandom(400_000)
FILES = {"big.bin": BIG, "a.png": b"p" * 40000, "a.css": b"c" * 40000, "a.html": b"h" * 40000, "a.js": b"j" * 40000,
         "page.shtml": "<!--#echo var=\"REQUEST_METHOD\" -->\n"}
CONFIG = "Protocols h2c http/1.1\nAddOutputFilter INCLUDES .shtml\n<Directory @ROOT@/htdocs>\nOptions +Includes\n</Directory>\n"
STATUS = "<Location /status>\nSetHandler server-status\n</Location>\n"
RECORD = 16384


@pytest.fixture
def server(serve):
    made = one_loop(serve, CONFIG, files=FILES)
    settle(made.path("htdocs"))
    return made


def order(server, asks):
    """Requests in one packet, with windows for all: (stream, bytes) of the frames of data that come."""
    with Connection(server.port, preface=False) as h2:
        more = struct.pack("!I", 1 << 24)
        h2.send(PREFACE + frame(SETTINGS, payload=struct.pack("!HI", 4, 1 << 24)) + frame(WINDOW_UPDATE, payload=more) +
                b"".join(frame(HEADERS, END_HEADERS | END_STREAM, 1 + 2 * i, request_block(path=path, fields=fields))
                         for i, (path, fields) in enumerate(asks)))
        seen, left = [], len(asks)
        while left:
            _, flags, stream, payload = h2.expect(DATA)
            seen.append((stream, len(payload)))
            left -= bool(flags & END_STREAM)
        return seen


def in_full_and_from_memory(server, asks):
    for _ in range(3):
        yield order(server, asks)


def ends(seen):
    """Streams in the order in which their last frames came."""
    return sorted({s for s, _ in seen}, key=lambda s: max(i for i, (at, _) in enumerate(seen) if at == s))


def test_style_sheets_and_scripts_before_documents_before_images(server):
    asks = [("/a.png", ()), ("/a.html", ()), ("/a.css", ()), ("/a.js", ())]
    for seen in in_full_and_from_memory(server, asks):
        assert ends(seen) == [5, 7, 3, 1], seen


def test_what_the_client_says_counts(server):
    asks = [("/a.png", [("priority", "u=0")]), ("/a.css", [("priority", "u=6")]), ("/a.html", ())]
    for seen in in_full_and_from_memory(server, asks):
        assert ends(seen) == [1, 5, 3], seen


def test_a_big_download_holds_up_a_small_answer_by_a_record(server):
    for small in ("/a.html", "/page.shtml"):
        for seen in in_full_and_from_memory(server, [("/big.bin", ()), (small, ())]):
            last = max(i for i, (stream, _) in enumerate(seen) if stream == 3)
            frames = sum(stream == 3 for stream, _ in seen)
            assert sum(n for stream, n in seen[:last] if stream == 1) <= frames * RECORD, seen
            first = min(i for i, (stream, _) in enumerate(seen) if stream == 3)
            assert sum(n for stream, n in seen[:first] if stream == 1) <= RECORD, seen


# ---- parts ----

def curl(server, *args):
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    done = subprocess.run(["curl", "-s", "-i", "--http2-prior-knowledge", "--max-time", str(int(brigade.PATIENCE)), *args,
                           f"http://127.0.0.1:{server.port}/big.bin"], capture_output=True)
    assert done.returncode == 0, done
    head, body = done.stdout.split(b"\r\n\r\n", 1)
    return sorted(line for line in head.split(b"\r\n") if not line.startswith(b"date:")), body


PARTS = {"0-9": BIG[:10], "100000-": BIG[100000:], "-5": BIG[-5:], "999999-": None}


def test_parts_from_memory_as_in_full(serve):
    with_cache = one_loop(serve, CONFIG, files=FILES)
    without = one_loop(serve, CONFIG + "FileCacheEntries 0\n", files=FILES)
    for one in with_cache, without:
        settle(one.path("htdocs"))
    for part, body in PARTS.items():
        want = curl(without, "-r", part)
        tag = next(line for line in want[0] if line.startswith(b"etag")).decode()[6:] if body else '"x"'
        conditional = curl(without, "-r", part, "-H", f"If-Range: {tag}")
        for _ in range(4):
            assert curl(with_cache, "-r", part) == want
            assert curl(with_cache, "-r", part, "-H", f"If-Range: {tag}") == conditional
        assert body is None or want[1] == body


def test_parts_come_from_memory(server):
    """A change that inotify does not tell of (through a mapping) is not seen by what is stored."""
    for _ in range(6):
        assert curl(server, "-r", "5-9")[1] == BIG[5:10]
    with open(server.path("htdocs/big.bin"), "r+b") as f, mmap.mmap(f.fileno(), 0) as view:
        view[5:10] = b"-----"
        assert curl(server, "-r", "5-9")[1] == BIG[5:10]


# ---- logs and figures ----

LOG = """
LogFormat "%U %{H2_STREAM_ID}e %{H2_STREAM_TAG}e %{HTTP2}e" streams
CustomLog @ROOT@/logs/streams.log streams
<Location /metrics>
SetHandler metrics
</Location>
"""


def test_streams_from_memory_have_their_own_numbers(serve):
    server = one_loop(serve, CONFIG + LOG, files=FILES)
    settle(server.path("htdocs"))
    with Connection(server.port) as h2:
        for stream in range(1, 21, 2):
            h2.request(stream, path="/page.shtml" if stream == 1 else "/a.js", method="HEAD")
            assert h2.response(stream) == (200, b"")
    samples = server.get("/metrics").body.decode()
    assert 'protocol="h2",tls="no",code="2xx"} 10\n' in samples and 'protocol="h2",tls="yes"' not in samples
    server.stop()
    lines = [line.split() for line in server.read("logs/streams.log").decode().splitlines() if "/metrics" not in line]
    assert [int(line[1]) for line in lines] == list(range(1, 21, 2))
    assert len({line[2].partition("-")[0] for line in lines}) == 1 and all(line[2].endswith("-" + line[1]) and line[3] == "on" for line in lines)


def test_connections_and_their_streams_are_told(serve):
    """By the status page at once: two connections of HTTP/2, one with three streams that wait for their windows."""
    server = one_loop(serve, CONFIG + STATUS, files=FILES)
    process = lambda: json.loads(server.get("/status?json").body)["processes"][0]
    told = lambda: process()["http2"]
    each = lambda: [(c["client"], c["protocol"], c["streams"], c["streams_total"]) for c in process()["http2_connections"]]
    closed = struct.pack("!HI", 4, 0)
    with Connection(server.port, settings=closed) as first, Connection(server.port, settings=closed) as second:
        for stream in 1, 3, 5:
            first.request(stream, path="/a.png")
            first.expect(HEADERS, stream=stream)
        second.expect(SETTINGS)
        assert told() == {"connections": 2, "streams": 3}
        assert each() == [("127.0.0.1", "h2c", 3, 3), ("127.0.0.1", "h2c", 0, 0)]
        assert re.search(rb"<td>127.0.0.1</td><td>h2c</td><td>\d+</td><td>3</td><td>3</td></tr>", server.get("/status").body)
        first.send(frame(WINDOW_UPDATE, stream=3, payload=struct.pack("!I", 1 << 20)))
        while not first.expect(DATA, stream=3)[1] & END_STREAM:
            pass
        brigade.wait_until(lambda: told() == {"connections": 2, "streams": 2}, "the end of a stream")
        assert ("127.0.0.1", "h2c", 2, 3) in each()
    brigade.wait_until(lambda: told() == {"connections": 0, "streams": 0}, "the end of both")
    assert each() == []


def test_a_connection_without_a_place_on_the_status_page_takes_one_that_becomes_free(serve):
    """64 are told one by one. With ExtendedStatus Off none is, not even that its list is empty."""
    server = one_loop(serve, CONFIG + STATUS, files=FILES)
    process = lambda: json.loads(server.get("/status?json").body)["processes"][0]
    totals = lambda: sorted(c["streams_total"] for c in process()["http2_connections"])
    closed = struct.pack("!HI", 4, 0)
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(Connection(server.port, settings=closed)) for _ in range(66)]
        for c in held:
            c.expect(SETTINGS)
        brigade.wait_until(lambda: process()["http2"]["connections"] == 66, "all of them")
        assert totals() == [0] * 64
        held[0].sock.close()
        brigade.wait_until(lambda: len(totals()) == 63, "the end of one")
        for stream in 1, 3:
            held[65].request(stream, path="/a.png")
            held[65].expect(HEADERS, stream=stream)
        brigade.wait_until(lambda: totals() == [0] * 63 + [2], "the place of the first")
    server.stop()
    server = one_loop(serve, CONFIG + STATUS + "ExtendedStatus Off\n", files=FILES)
    with Connection(server.port) as c:
        c.expect(SETTINGS)
        assert process()["http2"]["connections"] == 1 and "http2_connections" not in process()
